"""Where the joint adjustment starts: each camera solved for alone, the observations as arrays, and the views that are consistent.

Any two cameras that see the board together are a link; the cameras' poses follow from the strongest links that connect all of
them (a spanning tree). Poses of the board that are mirrored are detected and corrected after every adjustment.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calibration.board.pattern import Board
from calibration.board.views import BoardMoment, BoardView
from calibration.camera import Camera
from calibration.pairs import find_spanning_tree
from calibration.solve.adjust import MEDIAN_DISTANCE, BundleProblem, IntrinsicsPrior, RobustFit, adjust_bundle, adjust_robustly
from calibration.solve.board_pose import (
    PoseCandidates,
    count_least_corners,
    find_pose_candidates,
    mirror_board_pose,
    refine_board_poses,
)
from calibration.solve.checks import MIN_SHARED, check_fits, check_intrinsics, check_linked, check_tilt
from calibration.solve.equations import (
    BundleState,
    CornerMotion,
    CornerObservations,
    FreeParameters,
    compute_residual_px,
    make_flat_board_state,
    select_state_views,
)
from calibration.solve.initial_values import PoseVote, cap_weights, find_initial_camera, make_weak_prior, vote_relative_pose
from calibration.solve.solution import FIXED, N_INTRINSICS, DroppedMoment, DropReason, LensModel, list_intrinsic_names
from config.arrays import Floats
from config.errors import CalibrationError
from numerics.least_squares import compute_shared_covariance

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
    """Solve for one camera with a plain lens model.

    Args:
        board: the board that is looked for.
        seen: corners of that camera, weight 1 where a corner was seen.
        size: width and height of the picture [px].
        name: of the camera.
        fisheye: it has a fisheye lens.
    Raises: CalibrationError: the corners are not those of the board, the views do not determine the focal length, an absurd
        lens.
    """
    views = np.asarray((seen.weight[0] > 0).sum(axis=1) >= count_least_corners(len(board)))
    mine, prior = seen.at(views), make_weak_prior(size, fisheye)
    lens = LensModel(("k1",) if mine.n_views < FEW_VIEWS else ("k1", "k2"), fisheye=fisheye)
    freedom = FreeParameters((lens,), relative=False)
    start = find_initial_camera(mine, size, lens)
    fit = adjust_unmirrored(select_state_views(start.state, np.arange(mine.n_views)), mine, freedom, prior)
    check_fits(fit, size, name, board)
    covariance = compute_shared_covariance(BundleProblem(fit.seen, freedom, prior).linearise(fit.state))
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
    """Adjust robustly, and again for as long as some pose of the board fits better mirrored.

    Args:
        state: where to begin.
        seen: the corners seen, with their weights.
        freedom: what may change besides the board's poses.
        prior: what is known of the intrinsics.
        motion_px: of the board between pictures, by camera (C, V).
    """
    fit = adjust_robustly(state, seen, freedom, prior, motion_px)
    for _ in range(3):
        state, n_changed = unmirror_poses(fit.state, fit.seen)
        if not n_changed:
            break
        fit = adjust_robustly(state, seen, freedom, prior, motion_px)
    return fit


def unmirror_poses(state: BundleState, seen: CornerObservations) -> tuple[BundleState, int]:
    """Try every board pose mirrored as each camera would mistake it, and take what fits better; return how many changed."""
    centre, n_changed = seen.points_m.mean(axis=0), 0
    state, costs = refine_board_poses(state, seen)
    for Rc, tc in zip(state.rotation, state.translation, strict=True):
        R, t = mirror_board_pose(Rc @ state.board_rotation, state.board_translation @ Rc.T + tc, centre)
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
class KnownLens:
    """A lens of an earlier calibration; sigma: how far it may be off, (9,) in the order of INTRINSICS, None: not at all."""

    camera: Camera
    sigma: Floats | None = None


@dataclass(frozen=True, slots=True)
class InitialLens:
    """A camera before the joint adjustment: its intrinsics, (10,), which of them are free, and the prior."""

    intrinsics: Floats
    lens: LensModel
    prior: IntrinsicsPrior


def find_initial_lens(
    board: Board, seen: CornerObservations, size: tuple[int, int], name: str, known: KnownLens | None, fisheye: bool = False
) -> InitialLens:
    """Return one camera's lens, solved for or taken from an earlier calibration.

    Args:
        board: the board that is looked for.
        seen: corners of that camera, weight 1 where a corner was seen.
        size: width and height of the picture [px].
        name: of the camera.
        known: the lens of an earlier calibration; None: there is none.
        fisheye: it has a fisheye lens.
    """
    if known is None:
        single = solve_single_camera(board, seen, size, name, fisheye)
        return InitialLens(single.fit.state.intrinsics[0], single.lens, make_weak_prior(size, fisheye))
    intrinsics, fisheye, sigma = known.camera.intrinsics, known.camera.fisheye, known.sigma
    mean = intrinsics[None, :N_INTRINSICS]
    if sigma is None:
        return InitialLens(intrinsics, FIXED, IntrinsicsPrior(mean, np.zeros((1, N_INTRINSICS))))
    names = list_intrinsic_names(fisheye)
    coefficients = tuple(name for name, one in zip(names[4:], sigma[4 : len(names)], strict=True) if one > 0)
    weight = np.where(sigma > 0, 1.0 / np.maximum(sigma, 1e-12) ** 2, 1e12)
    return InitialLens(intrinsics, LensModel(coefficients, square=False, fisheye=fisheye), IntrinsicsPrior(mean, weight[None]))


def pack_observations(board: Board, moments: Sequence[BoardMoment], solve_offset: bool) -> CornerObservations:
    """Return all corners as arrays, weight 1 where seen.

    Args:
        board: the board that is looked for.
        moments: what the cameras saw together.
        solve_offset: velocities and lags are wanted too, as time offsets are solved for.
    """
    C, V, N = len(moments[0].views), len(moments), len(board)
    px, weight = np.zeros((C, V, N, 2)), np.zeros((C, V, N))
    for v, moment in enumerate(moments):
        for c, view in enumerate(moment.views):
            if view is not None and determines_pose(board, view):
                weight[c, v] = view.seen
                px[c, v, view.seen] = view.corners_px[view.seen]
    return CornerObservations(board.points_m, px, weight, _compute_corner_motion(moments, N) if solve_offset else None)


def _compute_corner_motion(moments: Sequence[BoardMoment], n_corners: int) -> CornerMotion:
    """Return how corners moved. Raises CalibrationError: it is known of no view that two cameras share."""
    C, V = len(moments[0].views), len(moments)
    velocity, lag_s, reference = np.zeros((C, V, n_corners, 2)), np.zeros((C, V)), np.zeros(V, np.intp)
    for v, moment in enumerate(moments):
        (reference[v], first), *others = [(c, view) for c, view in enumerate(moment.views) if view is not None]
        for c, view in others:
            if view.velocity_px_s is not None:
                velocity[c, v] = np.where(view.seen[:, None], view.velocity_px_s, 0.0)
                lag_s[c, v] = 1e-9 * (view.t_ns - first.t_ns)
    if not velocity.any():
        which = "the right camera" if C == 2 else "two cameras"
        raise CalibrationError(
            f"the time offset cannot be solved for: no view of {which} shows the board in motion with its speed known; "
            "give videos in which it is moved slowly, or leave the offset alone"
        )
    return CornerMotion(velocity, lag_s, reference)


def determines_pose(board: Board, view: BoardView) -> bool:
    """Return whether the corners seen are enough, and not all in one line, to determine the board's pose."""
    if view.n_seen < count_least_corners(len(board)):
        return False
    points = board.points_m[view.seen, :2]
    spread = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)[1] / np.sqrt(len(points))
    return bool(spread > MIN_SPREAD * board.square_m)


def compute_motion_px(moments: Sequence[BoardMoment]) -> Floats:
    """Return the board's motion between pictures, by camera (C, V) [px]; 0 where it was still or one camera alone saw it."""
    out = np.zeros((len(moments[0].views), len(moments)))
    for v, moment in enumerate(moments):
        for c, view in enumerate(moment.views):
            if view is not None and moment.n_shared and np.isfinite(view.moved_px):
                out[c, v] = view.moved_px
    return out


def find_initial_state(
    lenses: Sequence[InitialLens], seen: CornerObservations, moments: Sequence[BoardMoment], names: Sequence[str]
) -> tuple[BundleState, NDArray[np.intp], tuple[DroppedMoment, ...]]:
    """Return the poses of the cameras and the board's pose in every view, without views that are inconsistent.

    Args:
        lenses: of the cameras.
        seen: the corners seen, with their weights.
        moments: what the cameras saw together.
        names: of the cameras.
    Returns: The state of the views kept, their indices, and the views left out.
    Raises: CalibrationError: too many were, or no chain of views links all cameras.
    """
    seen_by = (seen.weight > 0).sum(axis=2) >= count_least_corners(len(seen.points_m))
    candidates = [find_pose_candidates(lens.intrinsics, seen.of_camera(c)) for c, lens in enumerate(lenses)]
    links = find_spanning_links(seen_by, names)
    votes = [vote_relative_pose(candidates[a], candidates[b], seen_by[a] & seen_by[b]) for a, b in links]
    state, agrees = _chain_state(lenses, candidates, seen_by, links, votes)
    n_seeing = seen_by.sum(axis=0)
    shared = np.asarray(n_seeing > 1)
    state, fits = _find_consistent_views(state, seen, shared, agrees)
    if fits.sum() < max(3, (1.0 - MAX_BAD_SHARE) * shared.sum()):
        which, sides = ("pairs", "left and right pictures") if len(lenses) == 2 else ("sets", "the cameras' pictures")
        raise CalibrationError(
            f"only {int(fits.sum())} of {int(shared.sum())} {which} of pictures agree on where the cameras stand: do {sides} "
            f"belong together, was the board still, did no camera move, and does neither mirror?"
        )
    keep = np.flatnonzero(fits | (n_seeing == 1))
    find_spanning_links(seen_by & (fits | (n_seeing == 1)), names)
    dropped = tuple(DroppedMoment(moments[v], DropReason.INCONSISTENT) for v in np.flatnonzero(shared & ~fits).tolist())
    return select_state_views(state, keep), keep, dropped


def find_spanning_links(seen_by: NDArray[np.bool_], names: Sequence[str]) -> list[tuple[int, int]]:
    """Return the pairs of cameras that link all of them by as many shared views as possible, from the first camera on.

    seen_by: which views each camera sees, (C, V). Raises CalibrationError: some cameras share no views with the others.
    """
    n_shared = seen_by.astype(int) @ seen_by.T.astype(int)
    links = find_spanning_tree(n_shared)
    if any(n_shared[link] < MIN_SHARED for link in links):
        check_linked(n_shared, names)
    return links


def _chain_state(
    lenses: Sequence[InitialLens],
    candidates: Sequence[PoseCandidates],
    seen_by: NDArray[np.bool_],
    links: Sequence[tuple[int, int]],
    votes: Sequence[PoseVote],
) -> tuple[BundleState, NDArray[np.bool_]]:
    """Chain the cameras' poses along the links; return the state, and which views agree with a link.

    A view's board pose is that of the first link that sees it, else of the one camera that does.
    """
    C, V = seen_by.shape
    R, t = np.tile(np.eye(3), (C, 1, 1)), np.zeros((C, 3))
    by, choice = seen_by.argmax(axis=0), np.zeros(V, np.intp)
    settled, agrees = np.zeros(V, bool), np.zeros(V, bool)
    for (a, b), vote in zip(links, votes, strict=True):
        R[b], t[b] = vote.rotation @ R[a], vote.rotation @ t[a] + vote.translation
        new = seen_by[a] & seen_by[b] & ~settled
        by[new], choice[new] = a, vote.choice[new]
        settled |= new
        agrees |= vote.agrees
    Rb, tb = np.tile(np.eye(3), (V, 1, 1)), np.tile([0.0, 0.0, 1.0], (V, 1))
    for c, alone in enumerate(candidates):
        mine = np.flatnonzero(by == c)
        at = mine + V * choice[mine]
        Rb[mine] = R[c].T @ alone.state.board_rotation[at]
        tb[mine] = (alone.state.board_translation[at] - t[c]) @ R[c]
    return make_flat_board_state(np.stack([lens.intrinsics for lens in lenses]), R, t, Rb, tb), agrees


def _find_consistent_views(
    state: BundleState, seen: CornerObservations, shared: NDArray[np.bool_], agrees: NDArray[np.bool_]
) -> tuple[BundleState, NDArray[np.bool_]]:
    """Improve the cameras' poses by the views that agree, and return which of all shared views fit them, (V,)."""
    sure = np.flatnonzero(agrees)
    if not len(sure):
        return state, agrees
    part, seen_there = refine_board_poses(select_state_views(state, sure), seen.at(sure))[0], seen.at(sure)
    pose_only = FreeParameters((FIXED,) * state.n_cameras)
    part = adjust_bundle(part, cap_weights(part, seen_there), pose_only, None, START_STEPS).state
    state, _ = unmirror_poses(replace(state, rotation=part.rotation, translation=part.translation), seen)
    distance = np.where(seen.weight > 0, np.linalg.norm(compute_residual_px(state, seen), axis=-1), np.nan)
    off = np.full(seen.n_views, np.inf)
    for v in np.flatnonzero(shared):
        off[v] = max(float(np.nanmedian(each)) for each in distance[:, v] if np.isfinite(each).any())
    usual = float(np.median(off[sure])) / MEDIAN_DISTANCE
    return state, np.asarray(shared & (off <= max(CONSISTENT * usual, CONSISTENT_PX)))
