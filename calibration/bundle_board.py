"""Is the board what it is said to be: squares as wide as high, flat, of the right size, and evenly measured.

Its size itself cannot be told from pictures of it: a board, a room and a baseline all twice as large look the same. A known
distance tells; without one only what is uneven shows. Stretch and bend are four more numbers of the adjustment
(`calibration.bundle`), kept there where views left out are explained better with them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from calibration.board import Board
from calibration.bundle import N_FORM, Freedom, formed_points
from calibration.bundle_robust import RobustFit, realistic
from calibration.bundle_solve import Prior, adjusted, normal_equations, shared_covariance
from calibration.camera import Rig
from calibration.triangulate import triangulate
from database.rotations import Floats

SURE = 4.0  # sigmas from which something is said
STRETCH_TOLD, BEND_TOLD_M, SCALE_TOLD = 0.002, 5e-4, 0.01
FORM_STEPS = 10


@dataclass(frozen=True, slots=True)
class BoardForm:
    """How the board differs from what it should be.

    stretch: by how much its squares are wider than high, relative; bend_m: how far its corners lie off the best plane, at most;
    each with its sigma; cost_share: of the adjustment's cost that this explains.
    """

    stretch: float
    stretch_sigma: float
    bend_m: float
    bend_sigma_m: float
    cost_share: float


def board_form(fit: RobustFit, freedom: Freedom, prior: Prior | None) -> BoardForm:
    """Let the board's form move too, and see how far it goes."""
    seen, held, free = realistic(fit, freedom), replace(freedom, form=False), replace(freedom, form=True)
    flat = adjusted(replace(fit.state, form=np.zeros(N_FORM)), seen, held, prior, FORM_STEPS)
    formed = adjusted(flat.state, seen, free, prior, FORM_STEPS)
    at = held.n_shared - int(held.offset)
    covariance = shared_covariance(normal_equations(formed.state, seen, free, prior))[at : at + N_FORM, at : at + N_FORM]
    stretch, stretch_sigma = 2.0 * formed.state.form[0], 2.0 * float(np.sqrt(covariance[0, 0]))
    off = _off_plane(seen.points_m)
    heights = off @ formed.state.form[1:]
    worst = int(np.abs(heights).argmax())
    bend_sigma = float(np.sqrt(off[worst] @ covariance[1:, 1:] @ off[worst]))
    share = 1.0 - formed.cost / max(flat.cost, 1e-300)
    return BoardForm(float(stretch), stretch_sigma, float(abs(heights[worst])), bend_sigma, share)


def form_words(form: BoardForm) -> tuple[tuple[str, str], ...]:
    """Say what is worth telling of a board's form that was allowed for: what it is, and what to do about it."""
    words: list[tuple[str, str]] = []
    if abs(form.stretch) > max(SURE * form.stretch_sigma, STRETCH_TOLD):
        longer, shorter = ("wider", "high") if form.stretch > 0 else ("higher", "wide")
        percent, sigma = 100 * abs(form.stretch), 100 * form.stretch_sigma
        text = f"the board's squares are {percent:.2f} % {longer} than {shorter} (+- {sigma:.2f} %)"
        fix = "allowed for, but measure some of them along both sides, and print at 100 %, without fitting to the page"
        words.append((text, fix))
    if form.bend_m > max(SURE * form.bend_sigma_m, BEND_TOLD_M):
        text = f"the board is bent by {1e3 * form.bend_m:.1f} mm (+- {1e3 * form.bend_sigma_m:.1f} mm)"
        words.append((text, "allowed for, but fix it to a stiff flat plate"))
    return tuple(words)


def edge_figures(rig: Rig, fit: RobustFit, board: Board) -> Mapping[str, float]:
    """Give the triangulated edges of squares that both cameras see whole: mean, spread, and along each side [mm]."""
    both = np.asarray(fit.used.all(axis=0))
    X = np.full((*both.shape, 3), np.nan)
    X[both] = triangulate(rig, fit.seen.px[0][both], fit.seen.px[1][both], *fit.sigma_px)[0]
    X = X.reshape(-1, board.rows, board.columns, 3)
    along = [1e3 * np.linalg.norm(np.diff(X, axis=axis), axis=-1).ravel() for axis in (2, 1)]
    x, y = (np.asarray(edges[np.isfinite(edges)]) for edges in along)
    if not x.size or not y.size:
        return {}
    every = np.concatenate([x, y])
    return {
        "edge_mean_mm": float(every.mean()),
        "edge_sd_mm": float(every.std()),
        "edge_x_mm": float(x.mean()),
        "edge_y_mm": float(y.mean()),
    }


def scale_words(board: Board, baseline_m: float, sigma_m: float, known_m: float) -> tuple[str, ...]:
    """Compare the distance of the cameras with one that was measured with a tape."""
    scale = known_m / baseline_m
    if abs(scale - 1.0) <= max(SCALE_TOLD, SURE * sigma_m / baseline_m):
        return ()
    return (
        f"by the board the cameras are {100 * baseline_m:.1f} cm apart, measured were {100 * known_m:.1f} cm: squares of "
        f"{1e3 * board.square_m * scale:.2f} mm would explain it, {1e3 * board.square_m:g} mm were given; measure the board",
    )


def _off_plane(points_m: Floats) -> Floats:
    """Give what curvatures along x, along y and twist lift each corner off the best plane, (N, 3) [m for 1/m]."""
    heights = np.stack([formed_points(points_m, form)[:, 2] for form in np.eye(4)[1:]], axis=1)
    plane = np.column_stack([points_m[:, :2], np.ones(len(points_m))])
    return np.asarray(heights - plane @ np.linalg.lstsq(plane, heights)[0])
