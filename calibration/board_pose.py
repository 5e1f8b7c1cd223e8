"""Where a flat board is, from its corners: by homography, and the mirror image that fits nearly as well.

Seen from afar a plane and its mirror image across the picture plane look alike (Schweighofer & Pinz 2006; Collins & Bartoli
2014): both are kept until another camera, or the residual, tells which is true.
"""

from dataclasses import replace

import numpy as np

from calibration.bundle import BundleState, Freedom, Observations, moved, residual_px
from calibration.bundle_solve import normal_equations
from calibration.homography import homography
from calibration.lens import HELD
from database.rotations import Floats

MIN_CORNERS = 6  # a view with fewer is of no use
POSE_STEPS = 30
SMALLEST_GAIN = 1e-7  # of a place's cost in one step


def pose_from_homography(H: Floats, centre_m: Floats) -> tuple[Floats, Floats]:
    """Give the pose of a plane in front of the camera from its map to ideal image points (x/z, y/z): (3, 3) -> (3, 3), (3,)."""
    scale = np.sqrt(np.linalg.norm(H[:, 0]) * np.linalg.norm(H[:, 1]))
    H = H / scale
    if H[2] @ np.array([centre_m[0], centre_m[1], 1.0]) < 0:
        H = -H
    U, _, Vt = np.linalg.svd(np.column_stack([H[:, 0], H[:, 1], np.cross(H[:, 0], H[:, 1])]))
    return np.asarray(U @ np.diag([1.0, 1.0, np.linalg.det(U @ Vt)]) @ Vt), H[:, 2].copy()


def mirrored(rotation: Floats, translation: Floats, centre_m: Floats) -> tuple[Floats, Floats]:
    """Give the other pose that looks alike: the board mirrored across the plane through its middle that faces the camera.

    rotation: (..., 3, 3); translation: (..., 3) [m], both board to camera; centre_m: middle of the board, (3,).
    """
    middle = rotation @ centre_m + translation
    d = middle / np.linalg.norm(middle, axis=-1, keepdims=True)
    mirror = np.eye(3) - 2.0 * d[..., :, None] * d[..., None, :]
    other = mirror @ rotation @ np.diag([1.0, 1.0, -1.0])
    return other, middle - other @ centre_m


def view_costs(state: BundleState, seen: Observations) -> Floats:
    """Give half the weighted squares of every place, (V,), infinite where corners are not in front of a camera."""
    squares = np.where(seen.weight > 0, (residual_px(state, seen) ** 2).sum(axis=-1), 0.0)
    return np.asarray(0.5 * np.where(seen.weight > 0, seen.weight * squares, 0.0).sum(axis=(0, 2)))


def refined_places(state: BundleState, seen: Observations, steps: int = POSE_STEPS) -> tuple[BundleState, Floats]:
    """Move every place of the board on its own to its least cost, cameras held; return the state and the costs (V,)."""
    still = Freedom(tuple(HELD for _ in range(seen.n_cameras)), relative=False)
    damping, costs = np.full(seen.n_views, 1e-6), view_costs(state, seen)
    for _ in range(steps):
        normal = normal_equations(state, seen, still)
        diagonal = np.einsum("vii->vi", normal.place)
        damped = normal.place + np.einsum("vi,ij->vij", damping[:, None] * diagonal + 1e-12, np.eye(6))
        step = np.linalg.solve(damped, normal.place_gradient[..., None])[..., 0]
        tried = moved(state, still, np.zeros(0), step)
        new = view_costs(tried, seen)
        better = new < costs
        R = np.where(better[:, None, None], tried.board_rotation, state.board_rotation)
        t = np.where(better[:, None], tried.board_translation, state.board_translation)
        state = replace(state, board_rotation=R, board_translation=t)
        foreseen = (step * normal.place_gradient).sum(axis=1)
        costs, damping = np.where(better, new, costs), np.where(better, damping * 0.1, damping * 10.0)
        if (foreseen <= SMALLEST_GAIN * costs + 1e-14).all():
            break
    return state, costs


def both_places(intrinsics: Floats, seen: Observations, ideal: Floats) -> tuple[BundleState, Floats]:
    """Give both poses of every place as one camera sees it, the better first, refined.

    intrinsics: (9,); seen: of one camera; ideal: the corners as x/z, y/z, (V, N, 2). Returns a state with 2 V places, first the
    better of each, then the others, and their costs (2 V,); places with fewer than `MIN_CORNERS` corners cost infinity.
    """
    V, centre = seen.n_views, seen.points_m.mean(axis=0)
    R, t = np.tile(np.eye(3), (V, 1, 1)), np.tile([0.0, 0.0, 1.0], (V, 1))
    enough = (seen.weight[0] > 0).sum(axis=1) >= MIN_CORNERS
    for v in np.flatnonzero(enough):
        R[v], t[v] = pose_from_homography(homography(seen.points_m[:, :2], ideal[v], seen.weight[0, v]), centre)
    Rm, tm = mirrored(R, t, centre)
    state = BundleState(intrinsics[None], np.eye(3), np.zeros(3), np.concatenate([R, Rm]), np.concatenate([t, tm]))
    state, costs = refined_places(state, seen.at(np.tile(np.arange(V), 2)))
    costs[~np.tile(enough, 2)] = np.inf
    swap = costs[V:] < costs[:V]
    order = np.where(np.tile(swap, 2), np.roll(np.arange(2 * V), V), np.arange(2 * V))
    return replace(state, board_rotation=state.board_rotation[order], board_translation=state.board_translation[order]), costs[
        order
    ]
