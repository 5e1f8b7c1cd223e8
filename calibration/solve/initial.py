"""Where the joint adjustment starts: each camera solved for alone, the observations as arrays, and the pairs that are consistent.

Poses of the board that are mirrored are detected and corrected after every adjustment.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calibration.board.pattern import Board
from calibration.board.views import BoardView, ViewPair
from calibration.camera import Camera
from calibration.solve.adjust import (
    MEDIAN_DISTANCE,
    BundleProblem,
    IntrinsicsPrior,
    RobustFit,
    adjust,
    adjust_robustly,
)
from calibration.solve.board_pose import least_corners, mirrored, refine_board_poses
from calibration.solve.checks import check_fits, check_intrinsics, check_tilt
from calibration.solve.equations import BundleState, CornerObservations, FreeParameters, residual_px, subset
from calibration.solve.solution import FIXED, N_INTRINSICS, DroppedPair, DropReason, LensModel, intrinsic_names
from calibration.solve.start import cap_weights, initial_camera, pose_candidates, vote_relative_pose, weak_prior
from config.arrays import Floats
from config.errors import CalibrationError
from config.settings import CAMERAS
from numerics.least_squares import shared_covariance

MIRRORED_SHARE = 0.99  # a mirrored pose must cost less than this share to be taken
FEW_VIEWS = 8  # with fewer, one coefficient of distortion is enough to begin with
MAX_BAD_SHARE = 0.4  # of the views: with more, nothing is reliable
CONSISTENT, CONSISTENT_PX = 10.0, 2.0  # a pair is consistent up to so many times the usual error, or so many pixels
START_STEPS = 10
MIN_SPREAD = 0.4  # of a square: two rows of corners spread by half of one


@dataclass(frozen=True, slots=True)
class SingleCamera:
    """One camera solved for alone: its fit over the views it sees, and its lens model."""

    fit: RobustFit
    lens: LensModel


def solve_single_camera(
    board: Board, seen: CornerObservations, size: tuple[int, int], name: str, fisheye: bool = False
) -> SingleCamera:
    """Solve for one camera with a plain lens model: seen is of that camera, weight 1 where a corner was seen.

    Raises CalibrationError: the corners are not those of the board, the views do not determine the focal length, an absurd lens.
    """
    views = np.asarray((seen.weight[0] > 0).sum(axis=1) >= least_corners(len(board)))
    mine, prior = seen.at(views), weak_prior(size, fisheye)
    lens = LensModel(("k1",) if mine.n_views < FEW_VIEWS else ("k1", "k2"), fisheye=fisheye)
    freedom = FreeParameters((lens,), relative=False)
    start = initial_camera(mine, size, lens)
    fit = adjust_unmirrored(subset(start.state, np.arange(mine.n_views)), mine, freedom, prior)
    check_fits(fit, size, name, board)
    covariance = shared_covariance(BundleProblem(fit.seen, freedom, prior).linearise(fit.state))
    check_tilt(fit.state.board_rotation[:, :, 2], name, float(np.sqrt(covariance[0, 0]) / fit.state.intrinsics[0, 0]))
    check_intrinsics(fit.state.intrinsics[0], size, name, board)
    return SingleCamera(fit, lens)


def adjust_unmirrored(
    state: BundleState,
    seen: CornerObservations,
    freedom: FreeParameters,
    prior: IntrinsicsPrior | None,
    motion_px: Floats | None = None,
) -> RobustFit:
    """Adjust robustly, and again for as long as some pose of the board fits better mirrored."""
    fit = adjust_robustly(state, seen, freedom, prior, motion_px)
    for _ in range(3):
        state, n_changed = unmirror(fit.state, fit.seen)
        if not n_changed:
            break
        fit = adjust_robustly(state, seen, freedom, prior, motion_px)
    return fit


def unmirror(state: BundleState, seen: CornerObservations) -> tuple[BundleState, int]:
    """Try every board pose mirrored as each camera would mistake it, and take what fits better; return how many changed."""
    centre, n_changed = seen.points_m.mean(axis=0), 0
    state, costs = refine_board_poses(state, seen)
    for c in range(seen.n_cameras):
        Rc, tc = (np.eye(3), np.zeros(3)) if c == 0 else (state.rotation, state.translation)
        R, t = mirrored(Rc @ state.board_rotation, state.board_translation @ Rc.T + tc, centre)
        other, other_costs = refine_board_poses(replace(state, board_rotation=Rc.T @ R, board_translation=(t - tc) @ Rc), seen)
        better = other_costs < MIRRORED_SHARE * costs
        n_changed += int(better.sum())
        costs = np.where(better, other_costs, costs)
        state = replace(
            state,
            board_rotation=np.where(better[:, None, None], other.board_rotation, state.board_rotation),
            board_translation=np.where(better[:, None], other.board_translation, state.board_translation),
        )
    return state, n_changed


@dataclass(frozen=True, slots=True)
class InitialLens:
    """A camera before the joint adjustment: its intrinsics, (10,), which of them are free, and the prior."""

    intrinsics: Floats
    lens: LensModel
    prior: IntrinsicsPrior


def initial_lens(
    board: Board,
    seen: CornerObservations,
    size: tuple[int, int],
    camera: int,
    intrinsics: tuple[Camera, Camera] | None,
    sigma: Floats | None,
    fisheye: bool = False,
) -> InitialLens:
    """Solve for one camera's lens, or take it from an earlier calibration."""
    if intrinsics is None:
        single = solve_single_camera(board, seen, size, CAMERAS[camera], fisheye)
        return InitialLens(single.fit.state.intrinsics[0], single.lens, weak_prior(size, fisheye))
    known, fisheye = intrinsics[camera].intrinsics, intrinsics[camera].fisheye
    mean = known[None, :N_INTRINSICS]
    if sigma is None:
        return InitialLens(known, FIXED, IntrinsicsPrior(mean, np.zeros((1, N_INTRINSICS))))
    names = intrinsic_names(fisheye)
    coefficients = tuple(name for name, one in zip(names[4:], sigma[camera, 4 : len(names)], strict=True) if one > 0)
    weight = np.where(sigma[camera] > 0, 1.0 / np.maximum(sigma[camera], 1e-12) ** 2, 1e12)
    return InitialLens(known, LensModel(coefficients, square=False, fisheye=fisheye), IntrinsicsPrior(mean, weight[None]))


def observations(board: Board, pairs: Sequence[ViewPair], solve_offset: bool) -> CornerObservations:
    """Return all corners as arrays, weight 1 where seen; with velocities and lags if the offset is to be solved for."""
    V, N = len(pairs), len(board)
    px, weight, velocity, lag_s = np.zeros((2, V, N, 2)), np.zeros((2, V, N)), np.zeros((V, N, 2)), np.zeros(V)
    for v, pair in enumerate(pairs):
        for c, view in enumerate(pair.views):
            if view is not None and determines_pose(board, view):
                weight[c, v] = view.seen
                px[c, v, view.seen] = view.corners_px[view.seen]
        if pair.left is not None and pair.right is not None and pair.right.velocity_px_s is not None:
            velocity[v] = np.where(pair.right.seen[:, None], pair.right.velocity_px_s, 0.0)
            lag_s[v] = 1e-9 * (pair.right.t_ns - pair.left.t_ns)
    if not solve_offset:
        return CornerObservations(board.points_m, px, weight)
    if not velocity.any():
        raise CalibrationError(
            "the time offset cannot be solved for: no view of the right camera shows the board in motion with its speed known; "
            "give videos in which it is moved slowly, or leave the offset alone"
        )
    return CornerObservations(board.points_m, px, weight, velocity, lag_s)


def determines_pose(board: Board, view: BoardView) -> bool:
    """Return whether the corners seen are enough, and not all in one line, to determine the board's pose."""
    if view.n_seen < least_corners(len(board)):
        return False
    points = board.points_m[view.seen, :2]
    spread = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)[1] / np.sqrt(len(points))
    return bool(spread > MIN_SPREAD * board.square_m)


def motion_px(pairs: Sequence[ViewPair]) -> Floats:
    """Return the board's motion between pictures, by camera (2, V) [px]; 0 where it was still or one camera alone saw it."""
    out = np.zeros((2, len(pairs)))
    for v, pair in enumerate(pairs):
        for c, view in enumerate(pair.views):
            if view is not None and pair.n_shared and np.isfinite(view.moved_px):
                out[c, v] = view.moved_px
    return out


def initial_state(
    lenses: Sequence[InitialLens], seen: CornerObservations, pairs: Sequence[ViewPair]
) -> tuple[BundleState, NDArray[np.intp], tuple[DroppedPair, ...]]:
    """Find the pose between the cameras and the board's pose in every view; leave out pairs that are inconsistent.

    Returns the state of the views kept, their indices, and the pairs left out. Raises CalibrationError: too many were.
    """
    V = seen.n_views
    candidates = [pose_candidates(lens.intrinsics, seen.of_camera(c)) for c, lens in enumerate(lenses)]
    seen_by = [(seen.weight[c] > 0).sum(axis=1) >= least_corners(len(seen.points_m)) for c in range(2)]
    shared = np.asarray(seen_by[0] & seen_by[1])
    R, t, choice, agrees = vote_relative_pose(candidates[0], candidates[1], shared)
    index = np.arange(V) + V * choice
    Rb, tb = candidates[0].state.board_rotation[index], candidates[0].state.board_translation[index]
    right_only = ~seen_by[0]
    Rb[right_only] = R.T @ candidates[1].state.board_rotation[:V][right_only]
    tb[right_only] = (candidates[1].state.board_translation[:V][right_only] - t) @ R
    state = BundleState(np.stack([lens.intrinsics for lens in lenses]), R, t, Rb, tb)
    state, fits = _consistent_views(state, seen, shared, agrees)
    if fits.sum() < max(3, (1.0 - MAX_BAD_SHARE) * shared.sum()):
        raise CalibrationError(
            f"only {int(fits.sum())} of {int(shared.sum())} pairs of pictures agree on where the cameras stand: do left and "
            f"right pictures belong together, was the board still, did no camera move, and does neither mirror?"
        )
    keep = np.flatnonzero(fits | (seen_by[0] ^ seen_by[1]))
    dropped = tuple(DroppedPair(pairs[v], DropReason.INCONSISTENT) for v in np.flatnonzero(shared & ~fits).tolist())
    return subset(state, keep), keep, dropped


def _consistent_views(
    state: BundleState, seen: CornerObservations, shared: NDArray[np.bool_], agrees: NDArray[np.bool_]
) -> tuple[BundleState, NDArray[np.bool_]]:
    """Improve the relative pose by the views that agree, and return which of all shared views fit it, (V,)."""
    sure = np.flatnonzero(agrees)
    if not len(sure):
        return state, agrees
    part, seen_there = refine_board_poses(subset(state, sure), seen.at(sure))[0], seen.at(sure)
    pose_only = FreeParameters((FIXED, FIXED))
    part = adjust(part, cap_weights(part, seen_there), pose_only, None, START_STEPS).state
    state, _ = unmirror(replace(state, rotation=part.rotation, translation=part.translation), seen)
    distance = np.where(seen.weight > 0, np.linalg.norm(residual_px(state, seen), axis=-1), np.nan)
    off = np.array([np.nanmedian(distance[:, v], axis=1).max() if shared[v] else np.inf for v in range(seen.n_views)])
    usual = float(np.median(off[sure])) / MEDIAN_DISTANCE
    return state, np.asarray(shared & (off <= max(CONSISTENT * usual, CONSISTENT_PX)))
