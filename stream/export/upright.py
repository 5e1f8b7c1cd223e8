"""A level take from a rig whose floor is unknown: rotated by the T-pose's up direction and by the standing feet."""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from config.arrays import Floats
from config.joints import JOINT_INDEX
from database.geometry.rotations import matrix_from_rotvec, rotation_between, rotvec_from_matrix
from database.geometry.skeleton import REFERENCE
from stream.export.take import Take

STANDING_M_S = 0.25
PATCH_M = 0.1
FLOOR_SIGMA_M = 0.03
TILT_SIGMA_RAD = 0.08  # of a T-pose's up direction
TRUNK_SIGMA_RAD = 0.2  # of the lean of the trunk while standing or walking
UP = (0.0, 1.0, 0.0)


def upright(take: Take, up: ArrayLike | None = None) -> Take:
    """Rotate a take whose floor is unknown so that it is level, with the lowest joint of all frames at 0.

    up: the world's up direction by the T-pose, (3,); None: by the mean direction of the performer's trunk. Either is accurate to
    some degrees only and is refined by the positions of the standing feet. Heading and horizontal position are kept.
    """
    sigma_rad = TRUNK_SIGMA_RAD if up is None else TILT_SIGMA_RAD
    level = _rotated(take, rotation_between(trunk_up(take) if up is None else up, UP))
    level = _rotated(level, rotation_between(floor_normal(standing_points_m(level), sigma_rad), UP))
    lowest_m = level.positions_m()[~level.lost, :, 1].min(initial=np.inf)
    if np.isfinite(lowest_m):
        level = _moved(level, np.eye(3), np.array([0.0, -lowest_m, 0.0]))
    return replace(level, info=replace(level.info, floor_known=True))


def trunk_up(take: Take) -> Floats:
    """Return the mean direction from hips to chest, (3,), by iteratively reweighted means that reduce the weight of bends."""
    positions_m = take.positions_m()[~take.lost]
    if not len(positions_m):
        return np.array(UP)
    trunk = positions_m[:, JOINT_INDEX["upperChest"]] - positions_m[:, JOINT_INDEX["hips"]]
    trunk = trunk / np.maximum(np.linalg.norm(trunk, axis=1, keepdims=True), 1e-9)
    mean = np.median(trunk, axis=0)
    for _ in range(10):
        angle_rad = np.linalg.norm(trunk - mean, axis=1)
        mean = np.average(trunk, axis=0, weights=1.0 / (1.0 + (angle_rad / TRUNK_SIGMA_RAD) ** 2))
        mean = mean / np.linalg.norm(mean)
    return np.asarray(mean)


def _rotated(take: Take, R: Floats) -> Take:
    """Rotate a take about the origin."""
    return _moved(take, R, np.zeros(3))


def _moved(take: Take, R: Floats, t_m: Floats) -> Take:
    """Transform a take: x becomes R x + t."""
    rotvec = take.rotvec.copy()
    rotvec[:, 0] = rotvec_from_matrix(REFERENCE[0].T @ R @ REFERENCE[0] @ matrix_from_rotvec(take.rotvec[:, 0]))
    markers = take.markers
    if markers is not None:
        point_m = np.where(markers.valid[..., None], markers.point_m @ R.T + t_m, 0.0)
        markers = replace(markers, point_m=np.ascontiguousarray(point_m))
    forces = None if take.forces is None else take.forces.moved(R, t_m)
    root_m = np.ascontiguousarray(take.root_m @ R.T + t_m)
    return replace(take, rotvec=rotvec, root_m=root_m, markers=markers, forces=forces)


def standing_points_m(take: Take) -> Floats:
    """Return the positions of the balls of the feet in frames in which they hardly move, (S, 3) [m]."""
    if len(take) < 3:
        return np.zeros((0, 3))
    feet = take.positions_m()[:, [JOINT_INDEX["leftToes"], JOINT_INDEX["rightToes"]]]
    speed = np.linalg.norm(feet[2:] - feet[:-2], axis=2) / (take.seconds[2:] - take.seconds[:-2])[:, None]
    still = (speed < STANDING_M_S) & ~take.lost[1:-1, None]
    return np.asarray(feet[1:-1][still])


def floor_normal(points_m: Floats, tilt_sigma_rad: float = TILT_SIGMA_RAD) -> Floats:
    """Return the normal of a nearly level plane y = c + a x + b z fitted to standing feet, (3,).

    The slopes have a normal prior with `tilt_sigma_rad`, so that feet in one position leave the floor level; each patch of 10 cm
    counts once; Cauchy weights reduce the influence of feet in the air.
    """
    if not len(points_m):
        return np.array([0.0, 1.0, 0.0])
    _, patch = np.unique(np.round(points_m[:, [0, 2]] / PATCH_M).astype(np.int64), axis=0, return_inverse=True)
    patch = patch.ravel()
    n = np.bincount(patch)
    mean = np.stack([np.bincount(patch, points_m[:, i]) / n for i in range(3)], axis=1)
    A = np.column_stack([mean[:, 0] - mean[:, 0].mean(), mean[:, 2] - mean[:, 2].mean(), np.ones(len(mean))])
    prior = np.diag([tilt_sigma_rad**-2.0, tilt_sigma_rad**-2.0, 0.0])
    weight = np.ones(len(mean))
    for _ in range(10):
        W = weight / FLOOR_SIGMA_M**2
        plane = np.linalg.solve(A.T @ (W[:, None] * A) + prior, A.T @ (W * mean[:, 1]))
        weight = 1.0 / (1.0 + ((A @ plane - mean[:, 1]) / FLOOR_SIGMA_M) ** 2)
    normal = np.array([-plane[0], 1.0, -plane[1]])
    return np.asarray(normal / np.linalg.norm(normal))
