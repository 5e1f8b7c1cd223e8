"""One camera from its own views of a board: lens model, intrinsics, and the board's places."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calibration.board import Board
from calibration.board_pose import mirrored, refined_places, view_costs
from calibration.bundle import BundleState, Freedom, Observations, views_of
from calibration.bundle_robust import RobustFit, good_views, robustly_adjusted
from calibration.bundle_solve import Prior, normal_equations, shared_covariance
from calibration.bundle_start import lone_start, weak_prior
from calibration.lens import LADDER, LensModel
from calibration.lens_choice import chosen_lens
from calibration.solve_checks import check_intrinsics, check_tilt
from database.rotations import Floats

Progress = Callable[[str], None]
TRUST_RATIO = 0.99  # the mirrored place must cost less than this share to be taken


@dataclass(frozen=True, slots=True)
class LoneCamera:
    """One camera solved for: its fit over the places it sees, which they are (V,), its lens and the errors held out."""

    fit: RobustFit
    places: NDArray[np.bool_]
    lens: LensModel
    errors_px2: Mapping[LensModel, Floats]


def lone_camera(board: Board, seen: Observations, size: tuple[int, int], name: str) -> LoneCamera:
    """Solve for one camera: seen is of that camera, weight 1 where a corner was seen.

    Raises CalibrationError: the views do not tell the focal length, or no lens is like that.
    """
    places = (seen.weight[0] > 0).sum(axis=1) >= 6
    mine, prior = seen.at(places), weak_prior(size)
    few = int(places.sum()) < 8
    first = LensModel(("k1",) if few else ("k1", "k2"))
    start = lone_start(mine, size, first)
    state = views_of(start.state, np.arange(mine.n_views))
    fit = settled(state, mine, Freedom((first,), relative=False), prior)
    check_lone(fit, Freedom((first,), relative=False), prior, size, name, board)
    good = good_views(fit)
    choice = chosen_lens(views_of(fit.state, good), fit.seen.at(good), prior, LADDER)
    freedom = Freedom((choice.lens,), relative=False)
    state = replace(fit.state, intrinsics=choice.state.intrinsics)
    fit = settled(refined_places(state, mine)[0], mine, freedom, prior)
    return LoneCamera(fit, places, choice.lens, choice.errors_px2)


def check_lone(fit: RobustFit, freedom: Freedom, prior: Prior, size: tuple[int, int], name: str, board: Board) -> None:
    """Raise CalibrationError where the camera cannot be known from these views or came out absurd."""
    covariance = shared_covariance(normal_equations(fit.state, fit.seen, freedom, prior))
    focal = float(fit.state.intrinsics[0, 0])
    check_tilt(fit.state.board_rotation[:, :, 2], name, float(np.sqrt(covariance[0, 0])) / focal)
    check_intrinsics(fit.state.intrinsics[0], size, name, board)


def settled(
    state: BundleState, seen: Observations, freedom: Freedom, prior: Prior | None, moved_px: Floats | None = None
) -> RobustFit:
    """Adjust robustly, and again for as long as some place of the board fits better mirrored."""
    fit = robustly_adjusted(state, seen, freedom, prior, moved_px)
    for _ in range(3):
        state, n_changed = unmirrored(fit.state, fit.seen)
        if not n_changed:
            break
        fit = robustly_adjusted(state, seen, freedom, prior, moved_px)
    return fit


def unmirrored(state: BundleState, seen: Observations) -> tuple[BundleState, int]:
    """Try every place mirrored as each camera would mistake it, and take what fits better; say how many changed."""
    costs, centre, n_changed = view_costs(state, seen), seen.points_m.mean(axis=0), 0
    for c in range(seen.n_cameras):
        Rc, tc = (np.eye(3), np.zeros(3)) if c == 0 else (state.rotation, state.translation)
        R, t = mirrored(Rc @ state.board_rotation, state.board_translation @ Rc.T + tc, centre)
        other, other_costs = refined_places(replace(state, board_rotation=Rc.T @ R, board_translation=(t - tc) @ Rc), seen)
        better = other_costs < TRUST_RATIO * costs
        n_changed += int(better.sum())
        costs = np.where(better, other_costs, costs)
        state = replace(
            state,
            board_rotation=np.where(better[:, None, None], other.board_rotation, state.board_rotation),
            board_translation=np.where(better[:, None], other.board_translation, state.board_translation),
        )
    return state, n_changed
