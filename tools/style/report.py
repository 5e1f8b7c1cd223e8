"""How far poses are off what was asked of them, in words."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calibration.camera import Rig
from config.arrays import Floats
from config.joints import JOINTS, PARENTS
from database.geometry.kinematics import compute_forward_kinematics, local_from_charted
from database.geometry.rotations import compute_geodesic_rad
from database.geometry.skeleton import Skeleton
from reconstruct.constraints import Constraints, RootConstraint
from reconstruct.posing.protocol import FoundPose
from tools.style.constraints import find_handle_offset
from tools.style.request import PointAsked, PoseAsked

FAR_SIGMAS = 3.0  # from where on something was not reached
FAR = {"m": 0.01, "px": 3.0, "deg": 5.0}  # and how near is always near enough
FAMILIAR = 0.5  # share of the variance from which on a style does not know a pose


@dataclass(frozen=True, slots=True)
class ConstraintResidual:
    """The distance from a constraint: name, distance (NaN: behind the camera), and from where on it counts as not reached."""

    name: str
    value: float
    unit: str
    allowed: float

    @property
    def reached(self) -> bool:
        """Return whether it was met."""
        return self.value <= self.allowed

    @property
    def words(self) -> str:
        """Describe the distance in words."""
        if math.isnan(self.value):
            return "behind the camera"
        if self.unit == "m":
            return f"{1e3 * self.value:.0f} mm" if self.value < 0.1 else f"{1e2 * self.value:.0f} cm"
        return f"{self.value:.1f} {'px' if self.unit == 'px' else 'degrees'}"


def measure_constraint_residuals(
    pose: FoundPose,
    asked: PoseAsked,
    constraints: Constraints,
    skeleton: Skeleton,
    rig: Rig | None = None,
    points: tuple[PointAsked, ...] = (),
) -> list[ConstraintResidual]:
    """Return how far a pose is off each of its constraints.

    Args:
        pose: the pose that was found.
        asked: what the pose is to meet.
        constraints: those made of `asked` and the further points.
        skeleton: skeleton of the body.
        rig: the cameras that image points are in.
        points: asked for as well.
    """
    G, p = compute_forward_kinematics(skeleton, pose.rotvec, pose.root_m)
    result = []
    for point in asked.points + points:
        if np.isfinite(point.position_m).all():
            at = p[point.handle.joint] + G[point.handle.joint] @ find_handle_offset(point.handle, skeleton)
            result.append(_build_residual(point.handle.name, float(np.linalg.norm(at - point.position_m)), "m", point.sigma_m))
    for image in asked.image_points:
        assert rig is not None
        at = p[image.handle.joint] + G[image.handle.joint] @ find_handle_offset(image.handle, skeleton)
        camera = rig.cameras[image.camera]
        seen = camera.project(at[None])[0]
        name = f"{image.handle.name} in the {'picture' if rig.is_monocular else ('left', 'right')[image.camera] + ' picture'}"
        result.append(_build_residual(name, float(np.linalg.norm(seen - image.px)), "px", image.sigma_px))
    for turned in asked.orientations:
        turn_deg = float(np.degrees(compute_geodesic_rad(G[turned.joint], turned.rotation)))
        result.append(_build_residual(f"{JOINTS[turned.joint]} turned", turn_deg, "deg", math.degrees(turned.sigma_rad)))
    for k, held in enumerate(asked.fixed):
        turn_deg = _measure_fixed_residual_deg(G, held.joint, constraints.fixed.rotvec[k])
        result.append(_build_residual(f"{JOINTS[held.joint]} held", turn_deg, "deg", math.degrees(held.sigma_rad)))
    return result + _measure_root_residuals(G[0], pose.root_m, constraints.root)


def _measure_root_residuals(rotation: Floats, place_m: Floats, asked: RootConstraint) -> list[ConstraintResidual]:
    """Return how far the root is off what is said of it."""
    result = []
    if math.isfinite(asked.sigma_m):
        result.append(_build_residual("root", float(np.linalg.norm(place_m - asked.position_m)), "m", asked.sigma_m))
    if math.isfinite(asked.sigma_rad):
        turn_deg = float(np.degrees(compute_geodesic_rad(rotation, asked.rotation)))
        result.append(_build_residual("root turned", turn_deg, "deg", math.degrees(asked.sigma_rad)))
    return result


def _measure_fixed_residual_deg(G: Floats, joint: int, rotvec: Floats) -> float:
    """Return how far a joint's rotation from its parent is from the charted one, [degrees]."""
    charted = np.zeros((len(JOINTS), 3))
    charted[joint] = rotvec
    wanted = local_from_charted(charted)[joint]
    return float(np.degrees(compute_geodesic_rad(G[PARENTS[joint]].T @ G[joint], wanted)))


def _build_residual(name: str, value: float, unit: str, sigma: float) -> ConstraintResidual:
    """Build the residual of one constraint."""
    return ConstraintResidual(name, value, unit, max(FAR_SIGMAS * sigma, FAR[unit]))


def format_pose_residuals(name: str, pose: FoundPose, found: Sequence[ConstraintResidual], model: str = "style") -> list[str]:
    """Return in words how far one pose is off each constraint, and how well its model knows such poses.

    Args:
        name: name of the pose.
        pose: the pose that was found.
        found: distances from its constraints.
        model: name of the model that made it, for the text.
    """
    known = f"the {model} knows poses like it ({100.0 * (1.0 - pose.variance):.0f}%)"
    if pose.variance > FAMILIAR:
        known = f"far from all poses the {model} was learned of ({100.0 * (1.0 - pose.variance):.0f}% known)"
    width = max([len(off.name) for off in found], default=0)
    return [f"{name}: {known}"] + [f"  {off.name:<{width}}  {off.words}" for off in found]


def format_pose_warning(name: str, pose: FoundPose, found: Sequence[ConstraintResidual]) -> str | None:
    """Describe what a pose does not reach; None where it reaches all.

    Args:
        name: name of the pose.
        pose: the pose that was found.
        found: distances from its constraints.
    """
    missed = [off for off in found if not off.reached]
    if missed:
        worst = sorted(missed, key=lambda off: off.value / off.allowed if off.value == off.value else math.inf, reverse=True)
        return f"{name}: cannot reach " + ", ".join(f"{off.name} ({off.words} off)" for off in worst)
    if not pose.reached:
        return f"{name}: what is asked for cannot be had together; this is the nearest pose"
    return None if pose.converged else f"{name}: the search ended before its minimum; the pose may not be the best"


def format_curve_residuals(names: Sequence[str], off_m: Floats) -> list[str]:
    """Return in words how well curves were followed; off_m: (N, C) [m], NaN where nothing was asked."""
    width = max(len(name) for name in names)
    return [
        f"  {name:<{width}}  off by {1e3 * np.nanmean(column):.0f} mm, at most {1e3 * np.nanmax(column):.0f} mm"
        for name, column in zip(names, off_m.T, strict=True)
        if np.isfinite(column).any()
    ]


def compute_acceleration_m_s2(positions_m: Floats, fps: float) -> float:
    """Return the root mean square acceleration of all joints of a motion, (N, J, 3) [m] -> [m/s^2]; 0 of fewer than 3 frames."""
    if len(positions_m) < 3:
        return 0.0
    second = np.diff(positions_m, 2, axis=0) * fps**2
    return float(np.sqrt((second**2).sum(axis=-1).mean()))
