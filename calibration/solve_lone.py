"""One camera from its own views of a board, and the mirrored places of the board told from the true ones."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calibration.board import Board
from calibration.board_pose import MIN_CORNERS, mirrored, refined_places
from calibration.bundle import BundleState, Freedom, Observations, views_of
from calibration.bundle_robust import RobustFit, robustly_adjusted
from calibration.bundle_solve import Prior, normal_equations, shared_covariance
from calibration.bundle_start import lone_start, weak_prior
from calibration.lens import LensModel
from calibration.solve_checks import check_fits, check_intrinsics, check_tilt
from database.rotations import Floats

MIRRORED_SHARE = 0.99  # a mirrored place must cost less than this share to be taken
FEW_VIEWS = 8  # with fewer, one coefficient of distortion is enough to begin with


@dataclass(frozen=True, slots=True)
class LoneCamera:
    """One camera solved for with a plain lens: its fit over the places it sees, which they are (V,), and the lens."""

    fit: RobustFit
    places: NDArray[np.bool_]
    lens: LensModel


def lone_camera(board: Board, seen: Observations, size: tuple[int, int], name: str) -> LoneCamera:
    """Solve for one camera: seen is of that camera, weight 1 where a corner was seen.

    Raises CalibrationError: the corners are not those of the board, the views do not tell the focal length, an absurd lens.
    """
    places = np.asarray((seen.weight[0] > 0).sum(axis=1) >= MIN_CORNERS)
    mine, prior = seen.at(places), weak_prior(size)
    lens = LensModel(("k1",) if mine.n_views < FEW_VIEWS else ("k1", "k2"))
    freedom = Freedom((lens,), relative=False)
    start = lone_start(mine, size, lens)
    fit = settled(views_of(start.state, np.arange(mine.n_views)), mine, freedom, prior)
    check_fits(fit, size, name, board)
    covariance = shared_covariance(normal_equations(fit.state, fit.seen, freedom, prior))
    check_tilt(fit.state.board_rotation[:, :, 2], name, float(np.sqrt(covariance[0, 0]) / fit.state.intrinsics[0, 0]))
    check_intrinsics(fit.state.intrinsics[0], size, name, board)
    return LoneCamera(fit, places, lens)


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
    centre, n_changed = seen.points_m.mean(axis=0), 0
    state, costs = refined_places(state, seen)
    for c in range(seen.n_cameras):
        Rc, tc = (np.eye(3), np.zeros(3)) if c == 0 else (state.rotation, state.translation)
        R, t = mirrored(Rc @ state.board_rotation, state.board_translation @ Rc.T + tc, centre)
        other, other_costs = refined_places(replace(state, board_rotation=Rc.T @ R, board_translation=(t - tc) @ Rc), seen)
        better = other_costs < MIRRORED_SHARE * costs
        n_changed += int(better.sum())
        costs = np.where(better, other_costs, costs)
        state = replace(
            state,
            board_rotation=np.where(better[:, None, None], other.board_rotation, state.board_rotation),
            board_translation=np.where(better[:, None], other.board_translation, state.board_translation),
        )
    return state, n_changed
