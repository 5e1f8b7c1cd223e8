"""Soft constraints of a pose: points in space and in images, orientations, fixed joints (Grochow et al. 2004, section 6).

Points are handles: fixed on a joint, as markers are. One view of a handle is a ray it should lie on.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from config.arrays import Floats, Ints
from config.errors import DuocapError
from config.joints import JOINT_INDEX
from reconstruct.observations import Observations


def _build_no_joints() -> Ints:
    """Return no joint."""
    return np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class Handles:
    """Points on the body: joint of each, (P,) int64, and position in the joint's frame, (P, 3) [m]."""

    joint: Ints
    offset_m: Floats


@dataclass(frozen=True, slots=True)
class Orientations:
    """World orientations that joints should have: joint (O,), rotation (O, 3, 3), standard deviation (O,) [rad]."""

    joint: Ints = field(default_factory=_build_no_joints)
    rotation: Floats = field(default_factory=lambda: np.zeros((0, 3, 3)))
    sigma_rad: Floats = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True, slots=True)
class FixedJoints:
    """Joints that should have a rotation: joint (K,) > 0, charted rotation vector (K, 3) [rad], standard deviation (K,) [rad]."""

    joint: Ints = field(default_factory=_build_no_joints)
    rotvec: Floats = field(default_factory=lambda: np.zeros((0, 3)))
    sigma_rad: Floats = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True, slots=True)
class RootConstraint:
    """Where the root is expected: rotation (3, 3), position (3,) [m], standard deviations; infinite ones leave it free."""

    rotation: Floats = field(default_factory=lambda: np.eye(3))
    position_m: Floats = field(default_factory=lambda: np.zeros(3))
    sigma_rad: float = np.inf
    sigma_m: float = np.inf


@dataclass(frozen=True, slots=True)
class Constraints:
    """All constraints of one pose.

    handles and their observations: world points with their root information, or image points in either of two cameras (as the
    markers of live capture); robust_sigmas: distance beyond which a handle's energy grows linearly; n_kept: number of
    handles, the last ones, that only say what the pose should stay near: they have an energy, and need not be met.
    """

    handles: Handles
    observations: Observations
    orientations: Orientations = field(default_factory=Orientations)
    fixed: FixedJoints = field(default_factory=FixedJoints)
    root: RootConstraint = field(default_factory=RootConstraint)
    robust_sigmas: float = 1e3
    n_kept: int = 0


def build_point_handles(joint: Ints, offset_m: Floats, target_m: Floats, sigma_m: float = 0.01) -> Constraints:
    """Return constraints of handles at world points.

    Args:
        joint: joint of each handle, (P,).
        offset_m: place in the joint's frame, (P, 3) [m].
        target_m: world points, (P, 3) [m]; NaN for no constraint.
        sigma_m: standard deviation [m].
    """
    n = len(joint)
    known = np.asarray(np.isfinite(target_m).all(axis=1))
    info = np.where(known[:, None, None], np.eye(3) / sigma_m, 0.0)
    target = np.ascontiguousarray(np.where(known[:, None], target_m, 0.0))
    observations = Observations(
        target,
        np.ascontiguousarray(info),
        ideal=np.zeros((2, n, 2)),
        weight_px=np.zeros((2, n)),
        view_rotation=np.tile(np.eye(3), (2, 1, 1)),
        view_translation=np.zeros((2, 3)),
        view_focal=np.ones(2),
    )
    return Constraints(Handles(joint, np.ascontiguousarray(offset_m)), observations)


def build_joint_constraints(points: Mapping[str, ArrayLike], sigma_m: float = 0.01) -> Constraints:
    """Return constraints that place joints.

    points: target of each joint by name, (3,) [m] world; sigma_m: standard deviation [m]. Raises DuocapError: an unknown
    joint, or no place.
    """
    for name, point in points.items():
        if name not in JOINT_INDEX:
            raise DuocapError(f"{name!r}: no such joint; expected one of {', '.join(JOINT_INDEX)}")
        if np.shape(point) != (3,) or not np.isfinite(np.asarray(point, np.float64)).all():
            raise DuocapError(f"{name}: {np.asarray(point)} is no place; expected three metres, such as (0.4, 1.2, 0.3)")
    joint = np.array([JOINT_INDEX[name] for name in points], np.int64)
    target_m = np.array([np.asarray(point, np.float64) for point in points.values()]).reshape(-1, 3)
    return build_point_handles(joint, np.zeros((len(joint), 3)), target_m, sigma_m)
