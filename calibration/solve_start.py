"""Where the joint adjustment starts: each camera's lens, all corners as arrays, and the pairs that are of one place."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calibration.board import Board
from calibration.board_pose import MIN_CORNERS, refined_places
from calibration.bundle import BundleState, Freedom, Observations, residual_px, views_of
from calibration.bundle_robust import MEDIAN_DISTANCE
from calibration.bundle_solve import Prior, adjusted
from calibration.bundle_start import agreed_pose, capped, sighting, weak_prior
from calibration.camera import Camera
from calibration.lens import HELD, LensModel
from calibration.solve_lone import lone_camera, unmirrored
from calibration.views import BoardView, ViewPair
from config.errors import CalibrationError
from database.rotations import Floats

LARGEST_SHARE_BAD = 0.4  # of the views: with more, nothing is to be believed
ONE_PLACE, ONE_PLACE_PX = 10.0, 2.0  # a pair is of one place if it is off by at most so many times the usual, or so much
START_STEPS = 10
LEAST_SPREAD = 0.4  # of a square: two rows of corners spread by half of one


@dataclass(frozen=True, slots=True)
class StartLens:
    """A camera before the joint adjustment: its nine numbers, which are free, and what is known of them beforehand."""

    intrinsics: Floats
    lens: LensModel
    prior: Prior


def start_lens(
    board: Board,
    seen: Observations,
    size: tuple[int, int],
    name: str,
    camera: int,
    intrinsics: tuple[Camera, Camera] | None,
    sigma: Floats | None,
) -> StartLens:
    """Solve for one camera's lens, or take it from earlier."""
    if intrinsics is None:
        lone = lone_camera(board, seen, size, name)
        return StartLens(lone.fit.state.intrinsics[0], lone.lens, weak_prior(size))
    known = intrinsics[camera].intrinsics
    if sigma is None:
        return StartLens(known, HELD, Prior(known[None], np.zeros((1, 9))))
    free = LensModel(tuple(np.array(("k1", "k2", "p1", "p2", "k3"))[sigma[camera, 4:] > 0]), square=False)
    weight = np.where(sigma[camera] > 0, 1.0 / np.maximum(sigma[camera], 1e-12) ** 2, 1e12)
    return StartLens(known, free, Prior(known[None], weight[None]))


def observations(board: Board, pairs: Sequence[ViewPair], solve_offset: bool) -> Observations:
    """Give all corners as arrays, weight 1 where seen; velocities and lags where the offset is to be solved for."""
    V, N = len(pairs), len(board)
    px, weight, velocity, lag_s = np.zeros((2, V, N, 2)), np.zeros((2, V, N)), np.zeros((V, N, 2)), np.zeros(V)
    for v, pair in enumerate(pairs):
        for c, view in enumerate(pair.views):
            if view is not None and tells_a_place(board, view):
                weight[c, v] = view.seen
                px[c, v, view.seen] = view.corners_px[view.seen]
        if pair.left is not None and pair.right is not None and pair.right.velocity_px_s is not None:
            velocity[v] = np.where(pair.right.seen[:, None], pair.right.velocity_px_s, 0.0)
            lag_s[v] = 1e-9 * (pair.right.t_ns - pair.left.t_ns)
    if not solve_offset:
        return Observations(board.points_m, px, weight)
    if not velocity.any():
        raise CalibrationError(
            "the time offset cannot be solved for: no view of the right camera shows the board in motion with its speed known; "
            "give videos in which it is moved slowly, or leave the offset alone"
        )
    return Observations(board.points_m, px, weight, velocity, lag_s)


def tells_a_place(board: Board, view: BoardView) -> bool:
    """Tell whether the corners seen are enough, and not all in one line, to say where the board is."""
    if view.n_seen < MIN_CORNERS:
        return False
    points = board.points_m[view.seen, :2]
    spread = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)[1] / np.sqrt(len(points))
    return bool(spread > LEAST_SPREAD * board.square_m)


def moved_px(pairs: Sequence[ViewPair]) -> Floats:
    """Give how far the board moved between pictures, by camera (2, V) [px], 0 where still or one camera alone saw it."""
    out = np.zeros((2, len(pairs)))
    for v, pair in enumerate(pairs):
        for c, view in enumerate(pair.views):
            if view is not None and pair.n_shared and np.isfinite(view.moved_px):
                out[c, v] = view.moved_px
    return out


def joint_start(
    lenses: Sequence[StartLens], seen: Observations, pairs: Sequence[ViewPair]
) -> tuple[BundleState, NDArray[np.intp], tuple[str, ...]]:
    """Find the pose between the cameras and every place of the board; leave out pairs that are not of one place.

    Returns the state with the places kept, their indices, and in words what was left out. Raises CalibrationError: too much was.
    """
    V = seen.n_views
    sights = [sighting(lens.intrinsics, seen.of_camera(c)) for c, lens in enumerate(lenses)]
    seen_by = [(seen.weight[c] > 0).sum(axis=1) >= MIN_CORNERS for c in range(2)]
    shared = np.asarray(seen_by[0] & seen_by[1])
    R, t, choice, agrees = agreed_pose(sights[0], sights[1], shared)
    index = np.arange(V) + V * choice
    Rb, tb = sights[0].state.board_rotation[index], sights[0].state.board_translation[index]
    lone = ~seen_by[0]
    Rb[lone] = R.T @ sights[1].state.board_rotation[:V][lone]
    tb[lone] = (sights[1].state.board_translation[:V][lone] - t) @ R
    state = BundleState(np.stack([lens.intrinsics for lens in lenses]), R, t, Rb, tb)
    state, fits = _one_place(state, seen, shared, agrees)
    if fits.sum() < max(3, (1.0 - LARGEST_SHARE_BAD) * shared.sum()):
        raise CalibrationError(
            f"only {int(fits.sum())} of {int(shared.sum())} pairs of pictures agree on where the cameras stand: do left and "
            f"right pictures belong together, was the board still, and did no camera move?"
        )
    keep = np.flatnonzero(fits | (seen_by[0] ^ seen_by[1]))
    apart = np.flatnonzero(shared & ~fits).tolist()
    words = tuple(f"{pair_name(pairs[v])}: the two pictures do not show the board in one place" for v in apart)
    return views_of(state, keep), keep, words


def _one_place(
    state: BundleState, seen: Observations, shared: NDArray[np.bool_], agrees: NDArray[np.bool_]
) -> tuple[BundleState, NDArray[np.bool_]]:
    """Better the cameras' pose by the places that agree, then see which of all that are shared fit it, (V,)."""
    sure = np.flatnonzero(agrees)
    if not len(sure):
        return state, agrees
    part, seen_there = refined_places(views_of(state, sure), seen.at(sure))[0], seen.at(sure)
    held = Freedom((HELD, HELD))
    part = adjusted(part, capped(part, seen_there), held, None, START_STEPS).state
    state, _ = unmirrored(replace(state, rotation=part.rotation, translation=part.translation), seen)
    distance = np.where(seen.weight > 0, np.linalg.norm(residual_px(state, seen), axis=-1), np.nan)
    off = np.array([np.nanmedian(distance[:, v], axis=1).max() if shared[v] else np.inf for v in range(seen.n_views)])
    usual = float(np.median(off[sure])) / MEDIAN_DISTANCE
    return state, np.asarray(shared & (off <= max(ONE_PLACE * usual, ONE_PLACE_PX)))


def pair_name(pair: ViewPair) -> str:
    """Name a place by its pictures."""
    return " and ".join(dict.fromkeys(view.name for view in pair.views if view is not None and view.name)) or "a view"
