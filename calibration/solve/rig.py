"""Solve for a rig of two cameras, or for one, from views of a board: lens models, intrinsics, relative pose, covariances.

A covariance is (J' W J)^-1 with the board's poses unknown too. At the true parameters, with inverse variances as weights, it is
the Cramer-Rao bound; at a solution it is the covariance of the estimate.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from calibration.board.pattern import Board
from calibration.board.views import BoardView, ViewPair
from calibration.camera import Camera, Rig, title
from calibration.solve.adjust import (
    IntrinsicsPrior,
    RobustFit,
    adjust,
    good_views,
    inflate_noise,
    normal_equations,
    shared_covariance,
    view_distances_px,
)
from calibration.solve.board_pose import least_corners, refine_board_poses
from calibration.solve.checks import check_enough, check_intrinsics, check_shared, check_sides, check_views
from calibration.solve.equations import N_FORM, BundleState, CornerObservations, FreeParameters, formed_points, residual_px
from calibration.solve.initial import (
    MAX_BAD_SHARE,
    adjust_unmirrored,
    determines_pose,
    initial_lens,
    initial_state,
    motion_px,
    observations,
    solve_single_camera,
)
from calibration.solve.lens_choice import CORNERS_FOR_FORM, choose_lenses
from calibration.solve.solution import N_INTRINSICS, BoardForm, DroppedPair, DropReason, LensKind, RigSolution, describe_dropped
from calibration.solve.start import as_camera, weak_prior
from config.arrays import Floats
from config.errors import CalibrationError
from config.settings import CAMERAS
from database.geometry.rotations import rotvec_from_matrix, skew

Size = tuple[int, int]
Progress = Callable[[str], None]
FORM_STEPS = 10
WIDE_FOCAL = 0.7  # of the longer side: about 70 degrees across, 80 of a fisheye; narrower lenses are no fisheyes
FISHEYE_GAIN = 0.95  # of the pinhole's held-out error, below which the fisheye is taken
MAX_FISHEYE_RMS_PX = 2.0  # where no pinhole fits at all


@dataclass(frozen=True, slots=True)
class _Adjustment:
    """An adjustment under way.

    fit: what was found; freedom, prior: of its parameters; pairs: the views it rests on; motion_px: of the board in them, (C, V)
    or None; held_out_px: as in `RigSolution`; dropped: pairs that were left out.
    """

    fit: RobustFit
    freedom: FreeParameters
    prior: IntrinsicsPrior
    pairs: tuple[ViewPair, ...]
    motion_px: Floats | None = None
    held_out_px: Mapping[str, float] = field(default_factory=dict)
    dropped: tuple[DroppedPair, ...] = ()


def solve_rig(
    board: Board,
    pairs: Sequence[ViewPair],
    sizes: tuple[Size, Size],
    *,
    intrinsics: tuple[Camera, Camera] | None = None,
    intrinsic_sigma: Floats | None = None,
    solve_offset: bool = False,
    lens: LensKind = "auto",
    progress: Progress = lambda message: None,
) -> RigSolution:
    """Solve for two cameras; the world is the left camera's frame.

    sizes: width and height of each camera's pictures; intrinsics: of an earlier calibration, kept fixed, or with intrinsic_sigma
    (2, 9) a first guess with these standard deviations; solve_offset: estimate by how much the right camera's timestamps are
    late, from views in motion with known `velocity_px_s`; lens: the model; progress: receives a message for each step.

    Raises CalibrationError: too few or too similar views, corners that do not fit the pictures, cameras swapped, an absurd lens.
    """
    _check_input(board, pairs, sizes, intrinsics)

    def solve(fisheye: bool) -> RigSolution:
        return _solve_pair(board, pairs, sizes, intrinsics, intrinsic_sigma, solve_offset, fisheye, progress)

    return solve(False) if intrinsics is not None else _with_lens_kind(solve, lens)


def _with_lens_kind(solve: Callable[[bool], RigSolution], kind: LensKind) -> RigSolution:
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


def _solve_pair(
    board: Board,
    pairs: Sequence[ViewPair],
    sizes: tuple[Size, Size],
    intrinsics: tuple[Camera, Camera] | None,
    intrinsic_sigma: Floats | None,
    solve_offset: bool,
    fisheye: bool,
    progress: Progress,
) -> RigSolution:
    """Solve for two cameras with one of the lens models, which is not chosen where the intrinsics are known."""
    seen = observations(board, pairs, solve_offset)
    lenses = []
    for c, name in enumerate(CAMERAS):
        progress(f"solving for {title(name)} alone")
        lenses.append(initial_lens(board, seen.of_camera(c), sizes[c], c, intrinsics, intrinsic_sigma, fisheye))
    progress("solving for both cameras together")
    state, kept, dropped = initial_state(lenses, seen, pairs)
    freedom = FreeParameters(tuple(lens.lens for lens in lenses), offset=solve_offset)
    mean, weight = (np.concatenate([getattr(lens.prior, name) for lens in lenses]) for name in ("mean", "weight"))
    prior, used = IntrinsicsPrior(mean, weight), tuple(pairs[v] for v in kept)
    motion = None if solve_offset else motion_px(used)
    fit = adjust_unmirrored(state, seen.at(kept), freedom, prior, motion)
    found = _Adjustment(fit, freedom, prior, used, motion, dropped=dropped)
    if intrinsics is None:
        progress("choosing the lens models by views left out")
        found = _with_chosen_lenses(found)
    found = _without_outliers(found)
    state = found.fit.state
    check_sides(-state.rotation.T @ state.translation, CAMERAS)
    for c, name in enumerate(CAMERAS):
        check_intrinsics(state.intrinsics[c], sizes[c], name, board)
    return _solution(board, sizes, CAMERAS, found, intrinsics is not None)


def solve_camera(
    board: Board, views: Sequence[BoardView], size: Size, *, name: str = "left", lens: LensKind = "auto"
) -> RigSolution:
    """Solve for one camera alone: a rig of one camera, whose frame is the world. Raises CalibrationError as `solve_rig` does."""
    check_views(board, views, size, name)
    usable = [view for view in views if determines_pose(board, view)]
    check_enough(board, usable, name)
    pairs = tuple(ViewPair(view, None) for view in usable)
    seen = observations(board, pairs, False).of_camera(0)

    def solve(fisheye: bool) -> RigSolution:
        single = solve_single_camera(board, seen, size, name, fisheye)
        freedom = FreeParameters((single.lens,), relative=False)
        found = _with_chosen_lenses(_Adjustment(single.fit, freedom, weak_prior(size, fisheye), pairs))
        found = _without_outliers(found)
        check_intrinsics(found.fit.state.intrinsics[0], size, name, board)
        return _solution(board, (size, size), (name, name), found, False)

    return _with_lens_kind(solve, lens)


def _check_input(
    board: Board, pairs: Sequence[ViewPair], sizes: tuple[Size, Size], intrinsics: tuple[Camera, Camera] | None
) -> None:
    """Raise CalibrationError if the views cannot be solved from."""
    for c, name in enumerate(CAMERAS):
        views = [view for pair in pairs if (view := pair.views[c]) is not None]
        check_views(board, views, sizes[c], name)
        if intrinsics is None:
            check_enough(board, [view for view in views if determines_pose(board, view)], name)
        elif intrinsics[c].size != tuple(sizes[c]):
            known, size = intrinsics[c].size, sizes[c]
            raise CalibrationError(
                f"{title(name)}'s earlier calibration is for pictures of {known[0]}x{known[1]}, these are "
                f"{size[0]}x{size[1]}: use the same mode of the camera or calibrate the lens again"
            )
    least = least_corners(len(board))
    seen = [(p.left, p.right) for p in pairs if p.left is not None and p.right is not None and p.n_shared >= least]
    check_shared(sum(determines_pose(board, left) and determines_pose(board, right) for left, right in seen))


def _with_chosen_lenses(found: _Adjustment) -> _Adjustment:
    """Choose the lens models by the views that fit, and adjust with them."""
    fit = found.fit
    good = fit.at(good_views(fit))
    choice = choose_lenses(good.state, good.seen, found.prior, found.freedom)
    state = replace(choice.state, board_rotation=fit.state.board_rotation, board_translation=fit.state.board_translation)
    state = refine_board_poses(state, fit.seen)[0]
    fit = adjust_unmirrored(state, fit.unweighted, choice.freedom, found.prior, found.motion_px)
    return replace(found, fit=fit, freedom=choice.freedom, held_out_px=choice.held_out_px)


def _without_outliers(found: _Adjustment) -> _Adjustment:
    """Leave out views that fit far worse than the others, and adjust again. Raises CalibrationError: too many do."""
    n_all, n_before = len(found.pairs), len(found.dropped)
    for _ in range(4):
        good = good_views(found.fit)
        if good.all():
            break
        off = view_distances_px(found.fit)
        usual = float(np.median(off))
        outliers = [DroppedPair(found.pairs[v], DropReason.OUTLIER, float(off[v]), usual) for v in np.flatnonzero(~good)]
        pairs, dropped = tuple(found.pairs[v] for v in np.flatnonzero(good)), (*found.dropped, *outliers)
        if len(pairs) < (1.0 - MAX_BAD_SHARE) * n_all or len(pairs) < 3:
            raise CalibrationError(
                f"{len(dropped) - n_before} of {n_all} views of the board contradict the others: was the board flat and still, "
                f"did no camera move, and do left and right pictures belong together? ({describe_dropped(dropped[n_before])})"
            )
        part, motion = found.fit.at(good), None if found.motion_px is None else found.motion_px[:, good]
        fit = adjust_unmirrored(part.state, part.unweighted, found.freedom, found.prior, motion)
        found = replace(found, fit=fit, pairs=pairs, motion_px=motion, dropped=dropped)
    return found


def _solution(
    board: Board, sizes: tuple[Size, Size], names: tuple[str, str], found: _Adjustment, fixed_intrinsics: bool
) -> RigSolution:
    """Put the result together with its covariances."""
    fit, freedom = found.fit, found.freedom
    state, C, V = fit.state, fit.seen.n_cameras, len(found.pairs)
    uncertainty = uncertainty_at(state, inflate_noise(fit, freedom), freedom, found.prior)
    poses = [(np.eye(3), np.zeros(3)), (state.rotation, state.translation)]
    cameras = [as_camera(names[c], sizes[c], state.intrinsics[c], *poses[c]) for c in range(C)]
    residual, used, weight = np.zeros((2, V, len(board), 2)), np.zeros((2, V, len(board)), bool), np.zeros((2, V, len(board)))
    residual[:C], used[:C] = np.where(fit.used[..., None], residual_px(state, fit.seen), 0.0), fit.used
    weight[:C] = fit.seen.weight
    models = [lens.coefficients for lens in freedom.lenses]
    return RigSolution(
        board=board,
        rig=Rig(tuple(cameras), float(np.sqrt((residual**2).sum() / max(int(used.sum()), 1)))),
        pairs=found.pairs,
        board_to_world=np.hstack([rotvec_from_matrix(state.board_rotation), state.board_translation]),
        residual_px=residual,
        used=used,
        sigma_px=np.array([*fit.sigma_px, *([0.0] if C == 1 else [])]),
        lenses=(models[0], models[-1]),
        held_out_px=found.held_out_px,
        intrinsic_sigma=uncertainty.intrinsic_sigma,
        relative_covariance=uncertainty.relative_covariance,
        fixed_intrinsics=fixed_intrinsics,
        dropped=found.dropped,
        offset_s=state.offset_s if freedom.offset else float("nan"),
        offset_sigma_s=uncertainty.offset_sigma_s,
        form=board_form(fit, freedom, found.prior) if len(board) >= CORNERS_FOR_FORM else None,
        board_form=state.form if freedom.form else np.zeros(N_FORM),
        weight=weight,
    )


@dataclass(frozen=True, slots=True)
class BundleUncertainty:
    """Standard deviations and covariances.

    intrinsic_sigma: (2, 9), in the order of INTRINSICS, 0 where fixed; relative_covariance: of the right camera's rotation
    vector and translation in the left camera's frame, (6, 6) [rad, m]; offset_sigma_s: of the time offset, NaN where not free.
    """

    intrinsic_sigma: Floats
    relative_covariance: Floats
    offset_sigma_s: float


def uncertainty_at(
    state: BundleState, seen: CornerObservations, freedom: FreeParameters, prior: IntrinsicsPrior | None = None
) -> BundleUncertainty:
    """Return the uncertainty at a state, for observations whose weights are inverse variances."""
    covariance = shared_covariance(normal_equations(state, seen, freedom, prior))
    sigma, column = np.zeros((2, N_INTRINSICS)), 0
    for c, lens in enumerate(freedom.lenses):
        S, at = lens.directions, slice(column, column + lens.n_free)
        sigma[c] = np.sqrt(np.einsum("ij,jk,ik->i", S, covariance[at, at], S))
        column += lens.n_free
    offset = float(np.sqrt(covariance[-1, -1])) if freedom.offset else float("nan")
    if not freedom.relative:
        return BundleUncertainty(sigma, np.zeros((6, 6)), offset)
    to_rotvec = np.eye(6)
    to_rotvec[:3, :3] = _rotvec_derivative(rotvec_from_matrix(state.rotation))
    return BundleUncertainty(sigma, to_rotvec @ covariance[column : column + 6, column : column + 6] @ to_rotvec.T, offset)


def _rotvec_derivative(rotvec: Floats) -> Floats:
    """Return d rotvec / d w of exp([w]x) exp([rotvec]x) at w = 0, (3, 3): the inverse left Jacobian of SO(3)."""
    angle, K = float(np.linalg.norm(rotvec)), skew(rotvec)
    if angle < 1e-6:
        return np.asarray(np.eye(3) - 0.5 * K)
    return np.asarray(np.eye(3) - 0.5 * K + (1.0 / angle**2 - 0.5 / angle / np.tan(0.5 * angle)) * K @ K)


def board_form(fit: RobustFit, freedom: FreeParameters, prior: IntrinsicsPrior | None) -> BoardForm:
    """Estimate how the board is stretched and bent: the adjustment from the fit on, with the board's form free.

    The board's size cannot be estimated: a board, a room and a baseline all twice as large give the same pictures.
    """
    seen, flat, formed = inflate_noise(fit, freedom), replace(freedom, form=False), replace(freedom, form=True)
    state = adjust(replace(fit.state, form=np.zeros(N_FORM)), seen, flat, prior, FORM_STEPS).state
    state = adjust(state, seen, formed, prior, FORM_STEPS).state
    at = flat.n_shared - int(flat.offset)
    covariance = shared_covariance(normal_equations(state, seen, formed, prior))[at : at + N_FORM, at : at + N_FORM]
    heights_by_form = _heights_by_form(seen.points_m)
    heights = heights_by_form @ state.form[1:]
    worst = int(np.abs(heights).argmax())
    bend_sigma = float(np.sqrt(heights_by_form[worst] @ covariance[1:, 1:] @ heights_by_form[worst]))
    stretch_sigma = 2.0 * float(np.sqrt(covariance[0, 0]))
    return BoardForm(2.0 * float(state.form[0]), stretch_sigma, float(abs(heights[worst])), bend_sigma)


def _heights_by_form(points_m: Floats) -> Floats:
    """Return the corners' heights over the best plane by curvature along x, along y and twist, (N, 3) [m per 1/m]."""
    heights = np.stack([formed_points(points_m, form)[:, 2] for form in np.eye(4)[1:]], axis=1)
    plane = np.column_stack([points_m[:, :2], np.ones(len(points_m))])
    return np.asarray(heights - plane @ np.linalg.lstsq(plane, heights)[0])
