"""A wand's adjustment in rounds: read at the time offset found, markers told apart anew, what does not fit left out."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calibration.bundle_start import as_camera
from calibration.camera import Camera
from calibration.wand import WandTrack, WandViews
from calibration.wand_bundle import WandFit, WandProblem, WandState, adjust, residuals
from calibration.wand_essential import sampson2
from calibration.wand_start import POINT_PX, enough, exchanged, placed, usual_length
from calibration.wand_tracks import views_at
from database.rotations import skew

STIFFNESS = 1e-3  # standard deviation of the wand's length as a share of it
OUTLIER, OUTLIER_PX = 4.0, 0.4  # sigmas, and at least so much, by which an observation may be off
ROUNDS = 4


def quick_fit(
    views: WandViews, state: WandState, sigma_px: float, focal: bool = False, offset: bool = False, max_steps: int = 40
) -> WandFit:
    """Adjust robustly, everything in use."""
    used = np.ones(views.points_px.shape[1:3], bool)
    rigid = max(STIFFNESS, 0.02 * min(sigma_px / 5.0, 1.0)) if sigma_px > POINT_PX else STIFFNESS
    problem = WandProblem(views.points_px, views.velocity_px_s, used, sigma_px, max(rigid * state.length, 1e-9), focal, offset)
    return adjust(state, problem, True, max_steps)


@dataclass(frozen=True, slots=True)
class Refined:
    """What the adjustment came to: the views it rests on, which observations fit, (F, K), noise, and time offset in all."""

    views: WandViews
    fit: WandFit
    used: NDArray[np.bool_]
    sigma_px: float
    offset_s: float


def refined(
    tracks: tuple[WandTrack, WandTrack],
    cameras: tuple[Camera, Camera],
    state: WandState,
    offset_s: float,
    free: tuple[bool, bool],
) -> Refined:
    """Adjust in rounds: read the right track anew at the offset found, tell the markers apart, leave out what does not fit.

    free: whether focal lengths and the time offset may move. Raises CalibrationError: at the offset found hardly anything is
    seen.
    """
    for _ in range(ROUNDS):
        offset_s, state = offset_s + state.delta_s, replace(state, delta_s=0.0)
        views = _rigidly_told_apart(enough(views_at(*tracks, offset_s)), cameras, state)
        points = placed(views, state.intrinsics, cameras, state.rotation, state.translation)
        state = replace(state, points=points, length=usual_length(points))
        state = quick_fit(views, state, _noise(state, views), *free, max_steps=20).state
    all_used = np.ones(views.points_px.shape[1:3], bool)
    rigid = max(STIFFNESS * state.length, 1e-9)
    problem = WandProblem(views.points_px, views.velocity_px_s, all_used, _noise(state, views), rigid, *free)
    for _ in range(2):
        problem = replace(problem, used=_fitting(state, problem))
        fit = adjust(state, problem, robust=False, max_steps=20)
        state = fit.state
        problem = replace(problem, sigma_px=_chi(fit, problem))
    fit = adjust(state, problem, False, 5)
    return Refined(views, fit, problem.used, problem.sigma_px, offset_s + fit.state.delta_s)


def _rigidly_told_apart(views: WandViews, cameras: tuple[Camera, Camera], state: WandState) -> WandViews:
    """Exchange the markers of the right view where that agrees better with pose and length together."""
    if views.points_px.shape[2] == 1:
        return views
    both = (views, exchanged(views, np.ones(len(views), bool)))
    costs = []
    for one in both:
        points = placed(one, state.intrinsics, cameras, state.rotation, state.translation)
        problem = WandProblem(one.points_px, one.velocity_px_s, np.ones(points.shape[:2], bool), 1.0)
        px, stretch = residuals(replace(state, points=points, delta_s=0.0), problem)
        usual = max(state.length, 1e-9)
        costs.append(np.minimum((px**2).sum(axis=(0, 2, 3)), 1e4) + 25.0 * np.minimum((20.0 * stretch / usual) ** 2, 100.0))
    return exchanged(views, np.asarray(costs[1] < costs[0]))


def _noise(state: WandState, views: WandViews) -> float:
    """Estimate the noise of a coordinate robustly: a point's four residuals have one degree of freedom."""
    E = (skew(state.translation) @ state.rotation)[None]
    focal = float(state.intrinsics[:, :2].mean())
    cameras = [as_camera("", (1, 1), row, np.eye(3), np.zeros(3)) for row in state.intrinsics]
    left, right = (camera.rays(px.reshape(-1, 2)) for camera, px in zip(cameras, views.points_px, strict=True))
    return max(1.4826 * focal * float(np.median(np.sqrt(sampson2(E, left, right)[0]))), 0.02)


def _fitting(state: WandState, problem: WandProblem) -> NDArray[np.bool_]:
    """Tell which observations fit: near in both images, and of a wand of the right length."""
    px, stretch = residuals(state, problem)
    near = (px**2).sum(axis=(0, 3)) < max(OUTLIER * problem.sigma_px, OUTLIER_PX) ** 2
    if problem.n_markers == 2:
        near &= near.all(axis=1, keepdims=True)
        near &= (np.abs(stretch) < 10.0 * problem.length_sigma)[:, None]
    return np.asarray(near)


def _chi(fit: WandFit, problem: WandProblem) -> float:
    """Give the noise of a coordinate from what is left over and the degrees of freedom."""
    px, _ = residuals(fit.state, problem)
    K, n = problem.n_markers, int(problem.used.sum())
    free = 4 * n - 3 * n + (n // 2 if K == 2 else 0) - problem.n_shared
    return max(float(np.sqrt((px[:, problem.used] ** 2).sum() / max(free, 1))), 0.01)
