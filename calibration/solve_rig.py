"""Solve for a rig of two cameras, or one camera, from views of a board: lens models, intrinsics, relative pose, covariances."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calibration.board import Board
from calibration.board_pose import MIN_CORNERS, refined_places
from calibration.bundle import N_FORM, BundleState, Freedom, Observations, residual_px
from calibration.bundle_board import board_form, edge_figures, form_words, scale_words
from calibration.bundle_bound import bound_at
from calibration.bundle_robust import RobustFit, good_views, realistic, view_distances_px
from calibration.bundle_solve import Prior
from calibration.bundle_start import agreed_pose, as_camera, nine_numbers, sighting, weak_prior
from calibration.camera import Camera, Rig
from calibration.lens import HELD, LensModel
from calibration.lens_choice import chosen_lenses
from calibration.rig_solution import RigSolution
from calibration.solve_checks import check_enough, check_intrinsics, check_shared, check_sides, check_views
from calibration.solve_lone import LoneCamera, lone_camera, settled
from calibration.views import BoardView, ViewPair
from config.errors import CalibrationError
from database.rotations import Floats, rotvec_from_matrix

LARGEST_SHARE_BAD = 0.4  # of the views: with more, nothing is to be believed
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class _Lens:
    """A camera before the joint adjustment: its nine numbers, which are free, and what is known of them beforehand."""

    intrinsics: Floats
    lens: LensModel
    prior: Prior


def solve_rig(
    board: Board,
    pairs: Sequence[ViewPair],
    sizes: tuple[tuple[int, int], tuple[int, int]],
    *,
    names: tuple[str, str] = ("left", "right"),
    intrinsics: tuple[Camera, Camera] | None = None,
    intrinsic_sigma: Floats | None = None,
    solve_offset: bool = False,
    known_baseline_m: float | None = None,
    progress: Progress = lambda words: None,
) -> RigSolution:
    """Solve for two cameras; the world is the left camera's frame.

    sizes: width and height of each camera's pictures; intrinsics: known from earlier, held, or with intrinsic_sigma (2, 9) a
    first guess that may move by that much; solve_offset: find by how much the right camera's stamps are late, from views in
    motion whose `velocity_px_s` is known; known_baseline_m: distance of the cameras' lenses as measured, to check the
    board's size with; progress: told in words what is being done.
    Raises CalibrationError: too few or too similar views, corners that do not fit the pictures, cameras swapped, an absurd lens.
    """
    check_both(board, pairs, sizes, names, intrinsics)
    seen = observations(board, pairs, solve_offset)
    lenses = []
    for c in range(2):
        progress(f"solving for the {names[c]} camera alone")
        lenses.append(_lens(board, seen.of_camera(c), sizes[c], names[c], c, intrinsics, intrinsic_sigma))
    progress("solving for both cameras together")
    state, seen, kept, dropped = _joint_start(lenses, seen, pairs, names)
    freedom = Freedom(tuple(lens.lens for lens in lenses), offset=solve_offset)
    prior = Prior(
        *(np.concatenate(both) for both in zip(*((lens.prior.mean, lens.prior.weight) for lens in lenses), strict=True))
    )
    left_in = [pairs[v] for v in kept]
    moved = None if solve_offset else moved_px(left_in)
    fit = settled(state, seen, freedom, prior, moved)
    held_out: Mapping[str, float] = {}
    if intrinsics is None:
        progress("choosing the lens models by views left out")
        fit, freedom, held_out = _with_lenses(fit, freedom, prior, moved)
    fit, good, more = _without_bad(fit, freedom, prior, moved, left_in)
    check_sides(-fit.state.rotation.T @ fit.state.translation, names)
    for c in range(2):
        check_intrinsics(fit.state.intrinsics[c], sizes[c], names[c], board)
    used_pairs = tuple(pairs[v] for v in kept[good])
    solution = _solution(
        board, used_pairs, sizes, names, fit, freedom, prior, held_out, (*dropped, *more), intrinsics is not None
    )
    return solution if known_baseline_m is None else with_scale(solution, known_baseline_m)


def solve_camera(board: Board, views: Sequence[BoardView], size: tuple[int, int], *, name: str = "left") -> RigSolution:
    """Solve for one camera alone: a rig of one camera, whose frame is the world. Raises CalibrationError as `solve_rig` does."""
    check_views(board, views, size, name)
    check_enough(views, name)
    pairs = [ViewPair(view, None) for view in views if view.n_seen >= MIN_CORNERS]
    seen = observations(board, pairs, False).of_camera(0)
    lone = lone_camera(board, seen, size, name)
    prior = weak_prior(size)
    fit, freedom, held_out = _with_lenses(lone.fit, Freedom((lone.lens,), relative=False), prior, None)
    fit, good, dropped = _without_bad(fit, freedom, prior, None, pairs)
    check_intrinsics(fit.state.intrinsics[0], size, name, board)
    kept = tuple(pairs[v] for v in good)
    return _solution(board, kept, (size, size), (name, name), fit, freedom, prior, held_out, dropped, False)


def with_scale(solution: RigSolution, known_m: float) -> RigSolution:
    """Add to the notes and figures how the distance of the cameras compares with a measured one."""
    if not 0.0 < known_m < np.inf:
        raise CalibrationError(
            f"a distance of {known_m:g} m between the cameras; expected what a tape shows between their lenses"
        )
    t, rig = solution.rig.right.translation, solution.rig
    sigma_m = float(np.sqrt(t @ solution.relative_covariance[3:, 3:] @ t)) / rig.baseline_m
    notes = (*solution.notes, *scale_words(solution.board, rig.baseline_m, sigma_m, known_m))
    return replace(solution, notes=notes, figures={**solution.figures, "known_over_solved": known_m / rig.baseline_m})


def check_both(
    board: Board,
    pairs: Sequence[ViewPair],
    sizes: tuple[tuple[int, int], tuple[int, int]],
    names: tuple[str, str],
    intrinsics: tuple[Camera, Camera] | None,
) -> None:
    """Raise CalibrationError where the views cannot be solved from."""
    for c in range(2):
        views = [view for pair in pairs if (view := pair.views[c]) is not None]
        check_views(board, views, sizes[c], names[c])
        if intrinsics is None:
            check_enough(views, names[c])
        elif intrinsics[c].size != tuple(sizes[c]):
            known, size = intrinsics[c].size, sizes[c]
            raise CalibrationError(
                f"the {names[c]} camera's earlier calibration is for pictures of {known[0]}x{known[1]}, these are "
                f"{size[0]}x{size[1]}: use the same mode of the camera or calibrate the lens again"
            )
    check_shared(sum(pair.n_shared >= MIN_CORNERS for pair in pairs))


def observations(board: Board, pairs: Sequence[ViewPair], solve_offset: bool) -> Observations:
    """Give all corners as arrays, weight 1 where seen; velocities and lags where the offset is to be solved for."""
    V, N = len(pairs), len(board)
    px, weight, velocity, lag_s = np.zeros((2, V, N, 2)), np.zeros((2, V, N)), np.zeros((V, N, 2)), np.zeros(V)
    for v, pair in enumerate(pairs):
        for c, view in enumerate(pair.views):
            if view is not None and view.n_seen >= MIN_CORNERS:
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


def moved_px(pairs: Sequence[ViewPair]) -> Floats:
    """Give how far the board moved between pictures, by camera (2, V) [px], 0 where still or one camera alone saw it."""
    out = np.zeros((2, len(pairs)))
    for v, pair in enumerate(pairs):
        for c, view in enumerate(pair.views):
            if view is not None and pair.n_shared and np.isfinite(view.moved_px):
                out[c, v] = view.moved_px
    return out


def _lens(
    board: Board,
    seen: Observations,
    size: tuple[int, int],
    name: str,
    camera: int,
    intrinsics: tuple[Camera, Camera] | None,
    sigma: Floats | None,
) -> _Lens:
    """Solve for one camera's lens, or take it from earlier."""
    if intrinsics is None:
        lone: LoneCamera = lone_camera(board, seen, size, name)
        return _Lens(lone.fit.state.intrinsics[0], lone.lens, weak_prior(size))
    known = nine_numbers(intrinsics[camera])
    if sigma is None:
        return _Lens(known, HELD, Prior(known[None], np.zeros((1, 9))))
    free = LensModel(tuple(np.array(("k1", "k2", "p1", "p2", "k3"))[sigma[camera, 4:] > 0]), square=False)
    weight = np.where(sigma[camera] > 0, 1.0 / np.maximum(sigma[camera], 1e-12) ** 2, 1e12)
    return _Lens(known, free, Prior(known[None], weight[None]))


def _joint_start(
    lenses: Sequence[_Lens], seen: Observations, pairs: Sequence[ViewPair], names: tuple[str, str]
) -> tuple[BundleState, Observations, NDArray[np.intp], tuple[str, ...]]:
    """Find the pose between the cameras and every place of the board; leave out pairs that are not of one place."""
    V = seen.n_views
    sights = [sighting(lens.intrinsics, seen.of_camera(c)) for c, lens in enumerate(lenses)]
    seen_by = [(seen.weight[c] > 0).sum(axis=1) >= MIN_CORNERS for c in range(2)]
    shared = seen_by[0] & seen_by[1]
    R, t, choice, agrees = agreed_pose(sights[0], sights[1], shared)
    if agrees.sum() < max(3, (1.0 - LARGEST_SHARE_BAD) * shared.sum()):
        raise CalibrationError(
            f"only {int(agrees.sum())} of {int(shared.sum())} pairs of pictures agree on where the cameras stand: do left and "
            f"right pictures belong together, was the board still, and did no camera move?"
        )
    keep = np.flatnonzero(agrees | (seen_by[0] ^ seen_by[1]))
    dropped = tuple(
        f"{_pair_name(pairs[v])}: the two pictures do not show the board in one place"
        for v in np.flatnonzero(shared & ~agrees).tolist()
    )
    index = np.arange(V) + V * choice
    Rb, tb = sights[0].state.board_rotation[index], sights[0].state.board_translation[index]
    lone = ~seen_by[0]
    Rb[lone] = R.T @ sights[1].state.board_rotation[:V][lone]
    tb[lone] = (sights[1].state.board_translation[:V][lone] - t) @ R
    state = BundleState(np.stack([lens.intrinsics for lens in lenses]), R, t, Rb[keep], tb[keep])
    return refined_places(state, seen.at(keep))[0], seen.at(keep), keep, dropped


def _with_lenses(
    fit: RobustFit, freedom: Freedom, prior: Prior, moved: Floats | None
) -> tuple[RobustFit, Freedom, Mapping[str, float]]:
    """Choose the lens models among the views that fit, and adjust with them."""
    good = fit.at(good_views(fit))
    choice = chosen_lenses(good.state, good.seen, prior, freedom)
    state = replace(choice.state, board_rotation=fit.state.board_rotation, board_translation=fit.state.board_translation)
    state = refined_places(state, fit.seen)[0]
    return settled(state, fit.unweighed, choice.freedom, prior, moved), choice.freedom, choice.held_out_px


def _without_bad(
    fit: RobustFit, freedom: Freedom, prior: Prior, moved: Floats | None, pairs: Sequence[ViewPair]
) -> tuple[RobustFit, NDArray[np.intp], tuple[str, ...]]:
    """Leave out views that fit far worse than the others and adjust again: the fit, the places kept, and words."""
    words: list[str] = []
    kept = np.arange(fit.seen.n_views)
    for _ in range(4):
        good = good_views(fit)
        if good.all():
            return fit, kept, tuple(words)
        off = view_distances_px(fit)
        words += [
            f"{_pair_name(pairs[kept[v]])}: corners are {off[v]:.2f} px off, usual are {np.median(off):.2f} px"
            for v in np.flatnonzero(~good)
        ]
        kept = kept[good]
        if len(kept) < (1.0 - LARGEST_SHARE_BAD) * len(pairs) or len(kept) < 3:
            raise CalibrationError(
                f"{len(words)} of {len(pairs)} views of the board contradict the others: was the board flat and still, did no "
                f"camera move, and do left and right pictures belong together? ({words[0]})"
            )
        part = fit.at(good)
        fit = settled(part.state, part.unweighed, freedom, prior, None if moved is None else moved[:, kept])
    return fit, kept, tuple(words)


def _solution(
    board: Board,
    pairs: tuple[ViewPair, ...],
    sizes: tuple[tuple[int, int], tuple[int, int]],
    names: tuple[str, str],
    fit: RobustFit,
    freedom: Freedom,
    prior: Prior,
    held_out_px: Mapping[str, float],
    dropped: tuple[str, ...],
    fixed: bool,
) -> RigSolution:
    """Put the result together with its covariances."""
    state, C = fit.state, fit.seen.n_cameras
    bound = bound_at(state, realistic(fit, freedom), freedom, prior)
    poses = [(np.eye(3), np.zeros(3)), (state.rotation, state.translation)]
    cameras = [as_camera(names[c], sizes[c], state.intrinsics[c], *poses[c]) for c in range(C)]
    residual, used = np.zeros((2, len(pairs), len(board), 2)), np.zeros((2, len(pairs), len(board)), bool)
    residual[:C], used[:C] = np.where(fit.used[..., None], residual_px(state, fit.seen), 0.0), fit.used
    rig = Rig(cameras[0], cameras[-1], float(np.sqrt((residual**2).sum() / max(int(used.sum()), 1))))
    form = board_form(fit, freedom, prior)
    figures = {
        "board_stretch_percent": 100.0 * form.stretch,
        "board_stretch_sigma_percent": 100.0 * form.stretch_sigma,
        "board_bend_mm": 1e3 * form.bend_m,
        "board_bend_sigma_mm": 1e3 * form.bend_sigma_m,
        **(edge_figures(rig, fit, board) if C == 2 else {}),
    }
    models = [lens.coefficients for lens in freedom.lenses]
    sigma = np.array([*fit.sigma_px, *([0.0] if C == 1 else [])])
    return RigSolution(
        board=board,
        rig=rig,
        pairs=pairs,
        board_to_world=np.hstack([rotvec_from_matrix(state.board_rotation), state.board_translation]),
        residual_px=residual,
        used=used,
        sigma_px=sigma,
        lenses=(models[0], models[-1]),
        held_out_px=held_out_px,
        intrinsic_sigma=bound.intrinsic_sigma,
        relative_covariance=bound.relative_covariance,
        fixed_intrinsics=fixed,
        dropped=dropped,
        offset_s=state.offset_s if freedom.offset else float("nan"),
        offset_sigma_s=bound.offset_sigma_s,
        n_parameters=freedom.n_shared + 6 * len(pairs),
        board_form=state.form if freedom.form else np.zeros(N_FORM),
        notes=form_words(form, freedom.form),
        figures=figures,
    )


def _pair_name(pair: ViewPair) -> str:
    """Name a place by its pictures."""
    return " and ".join(dict.fromkeys(view.name for view in pair.views if view is not None and view.name)) or "a view"
