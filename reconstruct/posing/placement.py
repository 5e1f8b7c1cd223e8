"""Known poses placed where they meet constraints best: rotated about the vertical and moved, their inclination kept."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from calibration.world import UP
from config.arrays import Floats, Ints
from database.geometry.kinematics import compute_local_markers
from database.geometry.rotations import matrix_from_rotvec
from database.geometry.skeleton import REFERENCE, Skeleton
from reconstruct.constraints import Constraints

COARSE = np.radians(np.arange(0.0, 360.0, 15.0))
FINE = np.radians(np.arange(-9.0, 10.0, 3.0))
REFINED = 50  # poses whose heading is refined
DEPTH_M = 4.0  # at which an image point's error counts
MIN_DEPTH_M = 0.3
SIGMA_M = 0.1  # by which a known pose differs from the one asked for, added to every handle's own


class PosePlacements(NamedTuple):
    """Poses in the world, best first: which row they are of those given (N,), root rotation (N, 3, 3), position (N, 3) [m], and
    squared error by the handles' deviations, (N,)."""

    row: Ints
    rotation: Floats
    root_m: Floats
    error2: Floats


class PlacementTargets(NamedTuple):
    """Where each of P handles should be: at `at_m`, (P, 3) [m], weighted by `information`, (P, 3, 3) [1/m^2]: of a point in all
    directions, of an image point across its ray, zero without either; direction of the ray from the camera, (P, 3), or zero."""

    at_m: Floats
    information: Floats
    direction: Floats


def compute_placement_targets(constraints: Constraints, extra_m: float = SIGMA_M) -> PlacementTargets:
    """Return the handles' targets; values that are not finite are none. extra_m: deviation added to each handle's own."""
    seen = constraints.observations
    n = len(seen.point_m)
    at_m, information, direction = np.zeros((n, 3)), np.zeros((n, 3, 3)), np.zeros((n, 3))
    for p in range(n):
        if seen.root_info[p, 0, 0] > 0.0 and np.isfinite(seen.point_m[p]).all():
            at_m[p] = seen.point_m[p]
            information[p] = np.linalg.inv(np.linalg.inv(seen.root_info[p].T @ seen.root_info[p]) + extra_m**2 * np.eye(3))
            continue
        for view in range(2):
            if seen.weight_px[view, p] > 0.0 and np.isfinite(seen.ideal[view, p]).all():
                R = seen.view_rotation[view]
                ray = R.T @ np.append(seen.ideal[view, p], 1.0)
                ray /= np.linalg.norm(ray)
                sigma_m = DEPTH_M / (seen.view_focal[view] * np.sqrt(seen.weight_px[view, p]))
                at_m[p], direction[p] = -R.T @ seen.view_translation[view], ray
                information[p] += (np.eye(3) - np.outer(ray, ray)) / (sigma_m**2 + extra_m**2)
    return PlacementTargets(at_m, information, direction)


def place_poses(skeleton: Skeleton, rotvec: ArrayLike, constraints: Constraints) -> PosePlacements:
    """Place poses, (N, J, 3) [rad], turned about the vertical.

    Args:
        skeleton: the skeleton.
        rotvec: joints of the poses, (N, J, 3) [rad].
        constraints: constraints that the pose is to meet.
    """
    handles, sight = constraints.handles, compute_placement_targets(constraints)
    poses = np.asarray(rotvec, np.float64)
    local = compute_local_markers(skeleton, poses, handles.joint, handles.offset_m)
    own = REFERENCE[0] @ matrix_from_rotvec(poses[:, 0])
    rotation, root_m, error2 = _try_turns(local, own, sight, COARSE)
    best = np.argsort(error2, kind="stable")[:REFINED]
    rotation[best], root_m[best], error2[best] = _try_turns(local[best], rotation[best], sight, FINE)
    order = np.argsort(error2, kind="stable")
    return PosePlacements(order, rotation[order], root_m[order], error2[order])


def _try_turns(local: Floats, own: Floats, sight: PlacementTargets, angles: Floats) -> tuple[Floats, Floats, Floats]:
    """Try angles about the vertical; return rotations (N, 3, 3), positions (N, 3) [m] and squared errors (N,) of the best."""
    turn = matrix_from_rotvec(angles[:, None] * UP)
    points = np.einsum("tij,njk,npk->ntpi", turn, own, local, optimize=True)
    total = sight.information.sum(axis=0) + 1e-9 * np.eye(3)
    pull = np.einsum("pij,ntpj->nti", sight.information, sight.at_m - points, optimize=True)
    root_m = pull @ np.linalg.inv(total).T
    off = points + root_m[:, :, None] - sight.at_m
    error2 = np.einsum("ntpi,pij,ntpj->nt", off, sight.information, off, optimize=True)
    behind = (np.einsum("ntpi,pi->ntp", off, sight.direction) < MIN_DEPTH_M) & sight.direction.any(axis=1)
    error2[behind.any(axis=2)] += 1e6
    best, rows = error2.argmin(axis=1), np.arange(len(local))
    return turn[best] @ own, root_m[rows, best], error2[rows, best]
