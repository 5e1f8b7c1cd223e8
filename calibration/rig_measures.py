"""What a solved calibration says in millimetres and degrees: edges of the board measured by the rig, its tilts and distances."""

from dataclasses import dataclass

import numpy as np

from calibration.rig_solution import RigSolution
from calibration.triangulate import triangulate
from database.rotations import Floats, matrix_from_rotvec


@dataclass(frozen=True, slots=True)
class Edges:
    """Sides of squares as both cameras measure them, along the board's rows and down its columns [m].

    mean_m, sigma_m: of all lengths; true_m: mean of their parts along the board's sides, which noise does not lengthen, and
    true_sigma_m: of such a part; n: how many.
    """

    mean_m: float
    sigma_m: float
    true_m: float
    true_sigma_m: float
    n: int


def edges_of(solution: RigSolution) -> Edges:
    """Triangulate the corners that both cameras saw and measure the sides of the squares."""
    board, shared = solution.board, solution.used[0] & solution.used[1]
    places = np.full((*shared.shape, 3), np.nan)
    if shared.any() and not solution.rig.is_lone:
        px = [corners_px(solution, side)[shared] for side in (0, 1)]
        places[shared] = triangulate(solution.rig, px[0], px[1])[0]
    grid = places.reshape(len(places), board.rows, board.columns, 3)
    R = matrix_from_rotvec(solution.board_to_world[:, :3])
    lengths, parts = [], []
    for axis, column in ((2, 0), (1, 1)):
        sides = np.diff(grid, axis=axis)
        parts.append(np.einsum("vrci,vi->vrc", sides, R[:, :, column]).ravel())
        lengths.append(np.linalg.norm(sides, axis=-1).ravel())
    length, part = np.concatenate(lengths), np.concatenate(parts)
    length, part = length[np.isfinite(length)], part[np.isfinite(part)]
    if not len(length):
        return Edges(float("nan"), float("nan"), float("nan"), float("nan"), 0)
    return Edges(float(length.mean()), float(length.std()), float(part.mean()), float(part.std()), len(length))


def corners_px(solution: RigSolution, side: int) -> Floats:
    """Give the measured corners of a camera, (V, N, 2) raw [px], zero where not seen."""
    out = np.zeros((*solution.used.shape[1:], 2))
    for v, pair in enumerate(solution.pairs):
        view = pair.views[side]
        if view is not None:
            out[v, view.seen] = view.corners_px[view.seen]
    return out


def view_rms_px(solution: RigSolution) -> Floats:
    """Give the RMS of each place by camera, (2, V) [px], NaN where a camera did not see it."""
    n = solution.used.sum(axis=2)
    squares = (solution.residual_px**2).sum(axis=(2, 3))
    return np.asarray(np.where(n > 0, np.sqrt(squares / np.maximum(n, 1)), np.nan))


def depth_ratio(solution: RigSolution, side: int) -> float:
    """Give how many times further the farthest corner seen was than the nearest, for a camera."""
    depths = board_points_m(solution, side)[..., 2][solution.used[side]]
    return float(np.percentile(depths, 98) / max(np.percentile(depths, 2), 1e-6)) if len(depths) else 1.0


def tilts_rad(solution: RigSolution, side: int) -> Floats:
    """Give by how much each board that a camera saw was turned away from facing it squarely, (V',) [rad]."""
    seen = solution.used[side].any(axis=1)
    camera = solution.rig.cameras[side]
    normals = matrix_from_rotvec(solution.board_to_world[seen, :3])[:, :, 2] @ camera.rotation.T
    middles = board_points_m(solution, side)[seen].mean(axis=1)
    cosines = (normals * middles).sum(axis=1) / np.maximum(np.linalg.norm(middles, axis=1), 1e-9)
    return np.asarray(np.arccos(np.clip(cosines, -1.0, 1.0)))


def board_points_m(solution: RigSolution, side: int) -> Floats:
    """Give the board's corners in a camera's frame, (V, N, 3) [m]."""
    R, t = matrix_from_rotvec(solution.board_to_world[:, :3]), solution.board_to_world[:, 3:]
    world = solution.board.points_m @ np.swapaxes(R, 1, 2) + t[:, None]
    return solution.rig.cameras[side].to_camera(world)
