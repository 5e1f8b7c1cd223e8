"""What is asked of a pose, softly: points in space and in pictures, orientations, held joints (Grochow et al. 2004, section 6).

Points are handles: fixed on a joint, as markers are. One view of a handle is a line it shall lie on.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from database.rotations import Floats
from reconstruct.observations import Observations


def _no_rows() -> NDArray[np.int64]:
    """Give no joint."""
    return np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class Handles:
    """Points on the body: joint of each, (P,) int64, and where in the joint's frame, (P, 3) [m]."""

    joint: NDArray[np.int64]
    offset_m: Floats


@dataclass(frozen=True, slots=True)
class Orientations:
    """World orientations that joints shall have: joint (O,), rotation (O, 3, 3), how surely, (O,) [rad]."""

    joint: NDArray[np.int64] = field(default_factory=_no_rows)
    rotation: Floats = field(default_factory=lambda: np.zeros((0, 3, 3)))
    sigma_rad: Floats = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True, slots=True)
class FixedJoints:
    """Joints that shall keep their rotation: joint (K,) > 0, charted rotation vector (K, 3) [rad], how surely, (K,) [rad]."""

    joint: NDArray[np.int64] = field(default_factory=_no_rows)
    rotvec: Floats = field(default_factory=lambda: np.zeros((0, 3)))
    sigma_rad: Floats = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True, slots=True)
class RootPrior:
    """Where the root is expected: rotation (3, 3), place (3,) [m], sigmas [rad], [m]; infinite sigmas leave it free."""

    rotation: Floats = field(default_factory=lambda: np.eye(3))
    position_m: Floats = field(default_factory=lambda: np.zeros(3))
    sigma_rad: float = np.inf
    sigma_m: float = np.inf


@dataclass(frozen=True, slots=True)
class Constraints:
    """All that is asked of one pose.

    handles and their observations: world points with their root information, or image points in either of two cameras (as the
    solver of live capture has its markers); robust_sigmas: from where on a handle is pulled less than in proportion.
    """

    handles: Handles
    observations: Observations
    orientations: Orientations = field(default_factory=Orientations)
    fixed: FixedJoints = field(default_factory=FixedJoints)
    root: RootPrior = field(default_factory=RootPrior)
    robust_sigmas: float = 1e3


def points(joint: NDArray[np.int64], offset_m: Floats, target_m: Floats, sigma_m: float = 0.01) -> Constraints:
    """Ask for handles, (P,) on joints with offsets (P, 3) [m], at world points, (P, 3) [m]; NaN rows are asked for nothing."""
    n = len(joint)
    asked = np.asarray(np.isfinite(target_m).all(axis=1))
    info = np.where(asked[:, None, None], np.eye(3) / sigma_m, 0.0)
    nowhere = (np.zeros((2, n, 2)), np.zeros((2, n)), np.tile(np.eye(3), (2, 1, 1)), np.zeros((2, 3)), np.ones(2))
    target = np.ascontiguousarray(np.where(asked[:, None], target_m, 0.0))
    return Constraints(Handles(joint, np.ascontiguousarray(offset_m)), Observations(target, np.ascontiguousarray(info), *nowhere))
