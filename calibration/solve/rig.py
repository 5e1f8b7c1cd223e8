"""Solve for a rig of one to eight cameras from views of a board: lens models, intrinsics, relative pose, covariances.

A covariance is (J' W J)^-1 with the board's poses unknown too. At the true parameters, with inverse variances as weights, it is
the Cramer-Rao bound; at a solution it is the covariance of the estimate.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from calibration.board.pattern import Board
from calibration.board.views import BoardMoment, BoardView
from calibration.camera import Rig, camera_from_intrinsics, format_camera_name
from calibration.solve.adjust import (
    BundleProblem,
    IntrinsicsPrior,
    RobustFit,
    adjust_bundle,
    compute_view_distances_px,
    find_good_views,
    inflate_noise,
)
from calibration.solve.board_pose import count_least_corners, refine_board_poses
from calibration.solve.checks import check_enough, check_intrinsics, check_linked, check_sides, check_views
from calibration.solve.equations import (
    N_FORM,
    BundleState,
    CornerObservations,
    FreeParameters,
    compute_residual_px,
    deform_points,
)
from calibration.solve.initial_values import make_weak_prior
from calibration.solve.lens_choice import CORNERS_FOR_FORM, choose_lenses
from calibration.solve.single_camera import (
    MAX_BAD_SHARE,
    KnownLens,
    adjust_unmirrored,
    compute_motion_px,
    determines_pose,
    find_initial_lens,
    find_initial_state,
    find_spanning_links,
    pack_observations,
    solve_single_camera,
)
from calibration.solve.solution import N_INTRINSICS, BoardForm, DroppedMoment, DropReason, LensKind, RigSolution, describe_dropped
from config.arrays import Floats
from config.errors import CalibrationError
from config.settings import CAMERA_NAMES
from database.geometry.rotations import rotvec_from_matrix, skew_from_vector
from numerics.least_squares import compute_shared_covariance

Size = tuple[int, int]
Progress = Callable[[str], None]
FORM_STEPS = 10
WIDE_FOCAL = 0.7  # of the longer side: about 70 degrees across, 80 of a fisheye; narrower lenses are no fisheyes
FISHEYE_GAIN = 0.95  # of the pinhole's held-out error, below which the fisheye is taken
MAX_FISHEYE_RMS_PX = 2.0  # where no pinhole fits at all


@dataclass(frozen=True, slots=True)
class _Adjustment:
    """An adjustment under way.

    fit: what was found; freedom, prior: of its parameters; moments: the views it rests on; motion_px: of the board in them,
    (C, V) or None; held_out_px: as in `RigSolution`; dropped: moments that were left out.
    """

    fit: RobustFit
    freedom: FreeParameters
    prior: IntrinsicsPrior
    moments: tuple[BoardMoment, ...]
    motion_px: Floats | None = None
    held_out_px: Mapping[str, float] = field(default_factory=dict)
    dropped: tuple[DroppedMoment, ...] = ()


@dataclass(frozen=True, slots=True)
class RigProblem:
    """What is asked of `solve_rig`; known: the lens of an earlier calibration by camera, None where there is none."""

    board: Board
    moments: Sequence[BoardMoment]
    sizes: Sequence[Size]
    names: Sequence[str]
    known: Sequence[KnownLens | None]
    solve_offset: bool
    progress: Progress


def solve_rig(
    board: Board,
    moments: Sequence[BoardMoment],
    sizes: Sequence[Size],
    *,
    names: Sequence[str] = CAMERA_NAMES[:2],
    known: Sequence[KnownLens] | None = None,
    solve_offset: bool = False,
    lens: LensKind = "auto",
    progress: Progress = lambda message: None,
) -> RigSolution:
    """Solve for two to eight cameras; the world is the first camera's frame.

    Args:
        board: that was seen.
        moments: what the cameras saw of it; any two that see it together are a link.
        sizes: width and height of each camera's pictures.
        names: of the cameras.
        known: lenses of an earlier calibration.
        solve_offset: estimate by how much the cameras' timestamps are late, from views in motion with known `velocity_px_s`.
        lens: the model.
        progress: receives a message for each step.
    Raises: CalibrationError: too few or too similar views, cameras that no views link, corners that do not fit the pictures, two
        cameras swapped, an absurd lens.
    """
    problem = RigProblem(board, moments, sizes, names, [None] * len(sizes) if known is None else known, solve_offset, progress)
    _check_input(problem)

    def solve(fisheye: bool) -> RigSolution:
        return _solve_cameras(problem, fisheye)

    return solve(False) if known is not None else _solve_with_lens_kind(solve, lens)


def _solve_with_lens_kind(solve: Callable[[bool], RigSolution], kind: LensKind) -> RigSolution:
    """Solve with one lens model; of wide lenses, or where the pinhole fails, with either, and return what fits held-out views."""
    if kind != "auto":
        return solve(kind == "fisheye")
    try:
        pinhole = solve(False)
    except CalibrationError:
        try:
            fisheye = solve(True)
        except CalibrationError:
            fisheye = None
        if fisheye is None or not _is_wide(fisheye.rig) or fisheye.rms_px > MAX_FISHEYE_RMS_PX:
            raise
        return fisheye
    if not _is_wide(pinhole.rig):
        return pinhole
    try:
        fisheye = solve(True)
    except CalibrationError:
        return pinhole
    both = {**pinhole.held_out_px, **fisheye.held_out_px}
    better = min(fisheye.held_out_px.values()) < FISHEYE_GAIN * min(pinhole.held_out_px.values())
    return replace(fisheye if better else pinhole, held_out_px=both)


def _is_wide(rig: Rig) -> bool:
    """Return whether a camera sees so much that it may be a fisheye."""
    return any(camera.focal_px < WIDE_FOCAL * max(camera.size) for camera in rig.cameras)


def _solve_cameras(problem: RigProblem, fisheye: bool) -> RigSolution:
    """Solve for all cameras with one of the lens models, which is not chosen where the intrinsics are known."""
    board, moments, names = problem.board, problem.moments, problem.names
    seen = pack_observations(board, moments, problem.solve_offset)
    lenses = []
    for c, name in enumerate(names):
        problem.progress(f"solving for {format_camera_name(name)} alone")
        lenses.append(find_initial_lens(board, seen.of_camera(c), problem.sizes[c], name, problem.known[c], fisheye))
    problem.progress("solving for all cameras together")
    state, kept, dropped = find_initial_state(lenses, seen, moments, names)
    freedom = FreeParameters(tuple(lens.lens for lens in lenses), offset=problem.solve_offset)
    mean, weight = (np.concatenate([getattr(lens.prior, name) for lens in lenses]) for name in ("mean", "weight"))
    prior, used = IntrinsicsPrior(mean, weight), tuple(moments[v] for v in kept)
    motion = None if problem.solve_offset else compute_motion_px(used)
    fit = adjust_unmirrored(state, seen.at(kept), freedom, prior, motion)
    found = _Adjustment(fit, freedom, prior, used, motion, dropped=dropped)
    fixed = any(known is not None for known in problem.known)
    if not fixed:
        problem.progress("choosing the lens models by views left out")
        found = _choose_lenses(found)
    found = _remove_outliers(found)
    find_spanning_links(found.fit.used.sum(axis=2) >= count_least_corners(len(board)), names)
    state = found.fit.state
    if len(names) == 2:
        check_sides(-state.rotation[1].T @ state.translation[1])
    for c, name in enumerate(names):
        check_intrinsics(state.intrinsics[c], problem.sizes[c], name, board)
    return _build_solution(board, problem.sizes, names, found, fixed)


def solve_camera(
    board: Board, views: Sequence[BoardView], size: Size, *, name: str = "left", lens: LensKind = "auto"
) -> RigSolution:
    """Solve for one camera alone: a rig of one camera, whose frame is the world.

    Args:
        board: the board that is looked for.
        views: what the camera saw.
        size: width and height of the picture [px].
        name: of the camera.
        lens: the model.
    Raises: CalibrationError: as `solve_rig`.
    """
    check_views(board, views, size, name)
    usable = [view for view in views if determines_pose(board, view)]
    check_enough(board, usable, name)
    moments = tuple(BoardMoment((view,)) for view in usable)
    seen = pack_observations(board, moments, False)

    def solve(fisheye: bool) -> RigSolution:
        single = solve_single_camera(board, seen, size, name, fisheye)
        freedom = FreeParameters((single.lens,), relative=False)
        found = _choose_lenses(_Adjustment(single.fit, freedom, make_weak_prior(size, fisheye), moments))
        found = _remove_outliers(found)
        check_intrinsics(found.fit.state.intrinsics[0], size, name, board)
        return _build_solution(board, (size,), (name,), found, False)

    return _solve_with_lens_kind(solve, lens)


def _check_input(problem: RigProblem) -> None:
    """Raise CalibrationError if the views cannot be solved from."""
    board, moments = problem.board, problem.moments
    for c, name in enumerate(problem.names):
        views = [view for moment in moments if (view := moment.views[c]) is not None]
        check_views(board, views, problem.sizes[c], name)
        lens = problem.known[c]
        if lens is None:
            check_enough(board, [view for view in views if determines_pose(board, view)], name)
        elif lens.camera.size != tuple(problem.sizes[c]):
            known, size = lens.camera.size, problem.sizes[c]
            raise CalibrationError(
                f"{format_camera_name(name)}'s earlier calibration is for pictures of {known[0]}x{known[1]}, these are "
                f"{size[0]}x{size[1]}: use the same mode of the camera or calibrate the lens again"
            )
    sees = np.array([[view is not None and determines_pose(board, view) for view in moment.views] for moment in moments])
    sees &= np.array([[moment.n_shared >= count_least_corners(len(board))] for moment in moments])
    check_linked(sees.T.astype(int) @ sees.astype(int), problem.names)


def _choose_lenses(found: _Adjustment) -> _Adjustment:
    """Choose the lens models by the views that fit, and adjust with them."""
    fit = found.fit
    good = fit.at(find_good_views(fit))
    choice = choose_lenses(good.state, good.seen, found.prior, found.freedom)
    state = replace(choice.state, board_rotation=fit.state.board_rotation, board_translation=fit.state.board_translation)
    state = refine_board_poses(state, fit.seen)[0]
    fit = adjust_unmirrored(state, fit.unweighted, choice.freedom, found.prior, found.motion_px)
    return replace(found, fit=fit, freedom=choice.freedom, held_out_px=choice.held_out_px)


def _remove_outliers(found: _Adjustment) -> _Adjustment:
    """Leave out views that fit far worse than the others, and adjust again. Raises CalibrationError: too many do."""
    n_all, n_before = len(found.moments), len(found.dropped)
    for _ in range(4):
        good = find_good_views(found.fit)
        if good.all():
            break
        off = compute_view_distances_px(found.fit)
        usual = float(np.median(off))
        outliers = [DroppedMoment(found.moments[v], DropReason.OUTLIER, float(off[v]), usual) for v in np.flatnonzero(~good)]
        moments, dropped = tuple(found.moments[v] for v in np.flatnonzero(good)), (*found.dropped, *outliers)
        if len(moments) < (1.0 - MAX_BAD_SHARE) * n_all or len(moments) < 3:
            sides = "left and right pictures" if found.fit.seen.n_cameras == 2 else "the cameras' pictures"
            raise CalibrationError(
                f"{len(dropped) - n_before} of {n_all} views of the board contradict the others: was the board flat and still, "
                f"did no camera move, and do {sides} belong together? ({describe_dropped(dropped[n_before])})"
            )
        part, motion = found.fit.at(good), None if found.motion_px is None else found.motion_px[:, good]
        fit = adjust_unmirrored(part.state, part.unweighted, found.freedom, found.prior, motion)
        found = replace(found, fit=fit, moments=moments, motion_px=motion, dropped=dropped)
    return found


def _build_solution(
    board: Board, sizes: Sequence[Size], names: Sequence[str], found: _Adjustment, fixed_intrinsics: bool
) -> RigSolution:
    """Return the solution with its covariances."""
    fit, freedom = found.fit, found.freedom
    state = fit.state
    uncertainty = compute_uncertainty(state, inflate_noise(fit, freedom), freedom, found.prior)
    poses = zip(names, sizes, state.intrinsics, state.rotation, state.translation, strict=True)
    cameras = tuple(camera_from_intrinsics(name, size, K, R, t) for name, size, K, R, t in poses)
    residual = np.where(fit.used[..., None], compute_residual_px(state, fit.seen), 0.0)
    return RigSolution(
        board=board,
        rig=Rig(cameras, float(np.sqrt((residual**2).sum() / max(int(fit.used.sum()), 1)))),
        moments=found.moments,
        board_to_world=np.hstack([rotvec_from_matrix(state.board_rotation), state.board_translation]),
        residual_px=residual,
        used=fit.used,
        sigma_px=fit.sigma_px,
        lenses=tuple(lens.coefficients for lens in freedom.lenses),
        held_out_px=found.held_out_px,
        intrinsic_sigma=uncertainty.intrinsic_sigma,
        pose_covariance=uncertainty.pose_covariance,
        fixed_intrinsics=fixed_intrinsics,
        dropped=found.dropped,
        offset_s=state.offset_s if freedom.offset else np.zeros(0),
        offset_sigma_s=uncertainty.offset_sigma_s,
        form=estimate_board_form(fit, freedom, found.prior) if len(board) >= CORNERS_FOR_FORM else None,
        board_form=state.form if freedom.form else np.zeros(N_FORM),
        weight=fit.seen.weight,
    )


@dataclass(frozen=True, slots=True)
class BundleUncertainty:
    """Standard deviations and covariances, as in `RigSolution`."""

    intrinsic_sigma: Floats
    pose_covariance: Floats
    offset_sigma_s: Floats


def compute_uncertainty(
    state: BundleState, seen: CornerObservations, freedom: FreeParameters, prior: IntrinsicsPrior | None = None
) -> BundleUncertainty:
    """Return the uncertainty at a state.

    Args:
        state: the fitted one.
        seen: the corners seen, whose weights are inverse variances.
        freedom: what may change besides the board's poses.
        prior: what is known of the intrinsics.
    """
    covariance = compute_shared_covariance(BundleProblem(seen, freedom, prior).linearise(state))
    sigma = np.zeros((state.n_cameras, N_INTRINSICS))
    for c, lens in enumerate(freedom.lenses):
        S, at = lens.directions, freedom.lens_columns(c)
        sigma[c] = np.sqrt(np.einsum("ij,jk,ik->i", S, covariance[at, at], S))
    offset = np.zeros(0)
    if freedom.offset:
        offset = np.append(0.0, np.sqrt(np.diag(covariance)[freedom.form_columns.stop :]))
    if not freedom.relative:
        return BundleUncertainty(sigma, np.zeros((0, 0)), offset)
    at = freedom.pose_columns
    to_rotvec = np.eye(at.stop - at.start)
    for c, R in enumerate(state.rotation[1:]):
        to_rotvec[6 * c : 6 * c + 3, 6 * c : 6 * c + 3] = _compute_rotvec_derivative(rotvec_from_matrix(R))
    return BundleUncertainty(sigma, to_rotvec @ covariance[at, at] @ to_rotvec.T, offset)


def _compute_rotvec_derivative(rotvec: Floats) -> Floats:
    """Return d rotvec / d w of exp([w]x) exp([rotvec]x) at w = 0, (3, 3): the inverse left Jacobian of SO(3)."""
    angle, K = float(np.linalg.norm(rotvec)), skew_from_vector(rotvec)
    if angle < 1e-6:
        return np.asarray(np.eye(3) - 0.5 * K)
    return np.asarray(np.eye(3) - 0.5 * K + (1.0 / angle**2 - 0.5 / angle / np.tan(0.5 * angle)) * K @ K)


def estimate_board_form(fit: RobustFit, freedom: FreeParameters, prior: IntrinsicsPrior | None) -> BoardForm:
    """Return how the board is stretched and bent: the adjustment goes on from the fit, with the board's form free.

    The board's size cannot be estimated: a board, a room and a baseline all twice as large give the same pictures.

    Args:
        fit: with the form fixed.
        freedom: what may change besides the board's poses.
        prior: what is known of the intrinsics.
    """
    seen, flat, formed = inflate_noise(fit, freedom), replace(freedom, form=False), replace(freedom, form=True)
    state = adjust_bundle(replace(fit.state, form=np.zeros(N_FORM)), seen, flat, prior, FORM_STEPS).state
    state = adjust_bundle(state, seen, formed, prior, FORM_STEPS).state
    at = formed.form_columns
    covariance = compute_shared_covariance(BundleProblem(seen, formed, prior).linearise(state))[at, at]
    heights_by_form = _compute_heights_by_form(seen.points_m)
    heights = heights_by_form @ state.form[1:]
    worst = int(np.abs(heights).argmax())
    bend_sigma = float(np.sqrt(heights_by_form[worst] @ covariance[1:, 1:] @ heights_by_form[worst]))
    stretch_sigma = 2.0 * float(np.sqrt(covariance[0, 0]))
    return BoardForm(2.0 * float(state.form[0]), stretch_sigma, float(abs(heights[worst])), bend_sigma)


def _compute_heights_by_form(points_m: Floats) -> Floats:
    """Return the corners' heights over the best plane by curvature along x, along y and twist, (N, 3) [m per 1/m]."""
    heights = np.stack([deform_points(points_m, form)[:, 2] for form in np.eye(4)[1:]], axis=1)
    plane = np.column_stack([points_m[:, :2], np.ones(len(points_m))])
    return np.asarray(heights - plane @ np.linalg.lstsq(plane, heights)[0])
