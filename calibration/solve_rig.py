"""Solve for a rig of two cameras, or one camera, from views of a board: lens models, intrinsics, relative pose, covariances."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from calibration.board import Board
from calibration.board_pose import MIN_CORNERS, refined_places
from calibration.bundle import Freedom
from calibration.bundle_robust import RobustFit, good_views, view_distances_px
from calibration.bundle_solve import Prior
from calibration.bundle_start import weak_prior
from calibration.camera import Camera, called
from calibration.lens_choice import chosen_lenses
from calibration.rig_solution import RigSolution
from calibration.solve_checks import check_enough, check_intrinsics, check_shared, check_sides, check_views
from calibration.solve_lone import lone_camera, settled
from calibration.solve_result import rig_solution, with_scale
from calibration.solve_start import LARGEST_SHARE_BAD, joint_start, moved_px, observations, pair_name, start_lens, tells_a_place
from calibration.views import BoardView, ViewPair
from config.errors import CalibrationError
from database.rotations import Floats

Progress = Callable[[str], None]


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
        progress(f"solving for {called(names[c])} alone")
        lenses.append(start_lens(board, seen.of_camera(c), sizes[c], names[c], c, intrinsics, intrinsic_sigma))
    progress("solving for both cameras together")
    state, kept, dropped = joint_start(lenses, seen, pairs)
    seen = seen.at(kept)
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
    solution = rig_solution(
        board, used_pairs, sizes, names, fit, freedom, prior, held_out, (*dropped, *more), intrinsics is not None
    )
    return solution if known_baseline_m is None else with_scale(solution, known_baseline_m)


def solve_camera(board: Board, views: Sequence[BoardView], size: tuple[int, int], *, name: str = "left") -> RigSolution:
    """Solve for one camera alone: a rig of one camera, whose frame is the world. Raises CalibrationError as `solve_rig` does."""
    check_views(board, views, size, name)
    check_enough([view for view in views if tells_a_place(board, view)], name)
    pairs = [ViewPair(view, None) for view in views if tells_a_place(board, view)]
    seen = observations(board, pairs, False).of_camera(0)
    lone = lone_camera(board, seen, size, name)
    prior = weak_prior(size)
    fit, freedom, held_out = _with_lenses(lone.fit, Freedom((lone.lens,), relative=False), prior, None)
    fit, good, dropped = _without_bad(fit, freedom, prior, None, pairs)
    check_intrinsics(fit.state.intrinsics[0], size, name, board)
    kept = tuple(pairs[v] for v in good)
    return rig_solution(board, kept, (size, size), (name, name), fit, freedom, prior, held_out, dropped, False)


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
            check_enough([view for view in views if tells_a_place(board, view)], names[c])
        elif intrinsics[c].size != tuple(sizes[c]):
            known, size = intrinsics[c].size, sizes[c]
            raise CalibrationError(
                f"{called(names[c])}'s earlier calibration is for pictures of {known[0]}x{known[1]}, these are "
                f"{size[0]}x{size[1]}: use the same mode of the camera or calibrate the lens again"
            )
    seen = [(p.left, p.right) for p in pairs if p.left is not None and p.right is not None and p.n_shared >= MIN_CORNERS]
    check_shared(sum(tells_a_place(board, left) and tells_a_place(board, right) for left, right in seen))


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
            f"{pair_name(pairs[kept[v]])}: corners are {off[v]:.2f} px off, usual are {np.median(off):.2f} px"
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
