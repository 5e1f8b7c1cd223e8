"""The bundle adjustment as a least-squares problem, and its robust form.

What all views share is a system of some 25 unknowns, each pose of the board a block of six. Robust: noise by camera from
the median distance of the corners (of two-dimensional normal noise it is 1.1774 sigma), weights after Huber 1964, far corners
left out.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calibration.solve.equations import (
    BundleState,
    CornerObservations,
    FreeParameters,
    Views,
    apply_step,
    compute_residual_px,
    compute_view_equations,
    select_state_views,
)
from calibration.solve.solution import N_INTRINSICS
from config.arrays import Floats
from numerics.least_squares import MAX_STEPS, MIN_GAIN, Damping, LeastSquaresFit, NormalEquations, OwnBlocks, Step, minimise_cost

DAMPING = Damping(1e-7, 10.0, 0.1)
MEDIAN_DISTANCE = 1.1774  # of a two-dimensional normal, in sigmas
HUBER = 3.0  # distance in sigmas from which a corner has less weight
OUTLIER_SIGMAS = 6.0  # and from which it has none
MIN_SIGMA_PX = 0.02  # lowest estimate of the noise
ROUNDS = 4
BAD_VIEW, BAD_VIEW_PX = 8.0, 1.0  # a view farther off than so many times the median, and than this, is left out
MIN_USED = 0.6  # of a view's corners
LAG_SHARE = 0.29  # standard deviation of the lag between two free-running cameras, as a share of the frame time
MIN_MOTION_PX, MIN_MOVING = 2.0, 10  # from so many views in motion the lag is estimated
ORDINARY = 1.25  # factor by which a view is noisier than its camera by chance


@dataclass(frozen=True, slots=True)
class IntrinsicsPrior:
    """Prior knowledge of the intrinsics: mean and inverse variance, both (C, 9), weight 0 where there is none."""

    mean: Floats
    weight: Floats


@dataclass(frozen=True, slots=True)
class BundleProblem:
    """The bundle adjustment as least squares: the observations, what is free, and what is known of the intrinsics.

    Shared unknowns are the free parameters (G,), each view has the six of the board's pose.
    """

    seen: CornerObservations
    freedom: FreeParameters
    prior: IntrinsicsPrior | None = None

    def cost(self, state: BundleState) -> float:
        """Return half the weighted sum of squares of residuals and prior; infinite where the state is impossible."""
        if not (state.intrinsics[:, :2] > 0).all():
            return float("inf")
        seen, prior = self.seen, self.prior
        residual = compute_residual_px(state, seen)
        used = seen.weight > 0
        cost = 0.5 * float(seen.weight[used] @ (residual[used] ** 2).sum(axis=1))
        if prior is not None:
            cost += 0.5 * float((prior.weight * (state.intrinsics[:, :N_INTRINSICS] - prior.mean) ** 2).sum())
        return cost

    def linearise(self, state: BundleState) -> NormalEquations:
        """Return the normal equations, the blocks being the board's poses."""
        seen, freedom, prior = self.seen, self.freedom, self.prior
        G = freedom.n_shared
        H, b = compute_view_equations(state, seen, freedom, compute_residual_px(state, seen))
        shared, gradient = H[:, :G, :G].sum(axis=0), -b[:, :G].sum(axis=0)
        if prior is not None:
            for c, lens in enumerate(freedom.lenses):
                S, at = lens.directions, freedom.lens_columns(c)
                shared[at, at] += (S * prior.weight[c][:, None]).T @ S
                gradient[at] += S.T @ (prior.weight[c] * (state.intrinsics[c, :N_INTRINSICS] - prior.mean[c]))
        return NormalEquations(shared, gradient, (OwnBlocks(H[:, :G, G:], H[:, G:, G:], -b[:, G:]),))

    def move(self, state: BundleState, step: Step) -> BundleState:
        """Return the state after a step."""
        return apply_step(state, self.freedom, step.shared, step.own[0])


def adjust_bundle(
    state: BundleState,
    seen: CornerObservations,
    freedom: FreeParameters,
    prior: IntrinsicsPrior | None = None,
    max_steps: int = MAX_STEPS,
    smallest_gain: float = MIN_GAIN,
) -> LeastSquaresFit[BundleState]:
    """Minimise the cost until a step gains less than a share of it; the cost never rises.

    Args:
        state: where to begin.
        seen: the corners seen, with their weights.
        freedom: what may change besides the board's poses.
        prior: what is known of the intrinsics.
        max_steps: number of steps at most.
        smallest_gain: of the cost in one step, relative.
    """
    return minimise_cost(BundleProblem(seen, freedom, prior), state, DAMPING, max_steps, smallest_gain)


@dataclass(frozen=True, slots=True)
class RobustFit:
    """Result of a robust bundle adjustment of C cameras, V views and N corners.

    Attributes:
        state: the adjusted state.
        seen: observations with their final weights.
        mask: corners that were seen, (C, V, N).
        used: corners in use, (C, V, N).
        sigma_px: noise of the observations by camera, (C,) [px].
    """

    state: BundleState
    seen: CornerObservations
    mask: NDArray[np.bool_]
    used: NDArray[np.bool_]
    sigma_px: Floats

    def at(self, views: Views) -> "RobustFit":
        """Return some of the views, by index or mask."""
        state, seen = select_state_views(self.state, views), self.seen.at(views)
        return replace(self, state=state, seen=seen, mask=self.mask[:, views], used=self.used[:, views])

    @property
    def unweighted(self) -> CornerObservations:
        """The observations as they came: weight 1 where a corner was seen."""
        return replace(self.seen, weight=self.mask.astype(float))


def adjust_robustly(
    state: BundleState,
    seen: CornerObservations,
    freedom: FreeParameters,
    prior: IntrinsicsPrior | None = None,
    motion_px: Floats | None = None,
) -> RobustFit:
    """Alternate adjustment and estimation of noise and weights until the noise changes little.

    Args:
        state: where to begin.
        seen: the corners, with weight 1 where one was seen and 0 elsewhere.
        freedom: what may change besides the board's poses.
        prior: what is known of the intrinsics.
        motion_px: of the board between pictures, by camera (C, V), 0 where it was still or both cameras expose together.
    """
    mask = seen.weight > 0
    weighed, sigma, used = _compute_robust_weights(state, seen, mask, freedom, motion_px)
    fit = adjust_bundle(state, weighed, freedom, prior)
    for _ in range(ROUNDS - 1):
        before = sigma
        weighed, sigma, used = _compute_robust_weights(fit.state, seen, mask, freedom, motion_px)
        fit = adjust_bundle(fit.state, weighed, freedom, prior)
        if np.abs(sigma / before - 1.0).max() < 1e-3:
            break
    return RobustFit(fit.state, weighed, mask, used, sigma)


def _compute_robust_weights(
    state: BundleState, seen: CornerObservations, mask: NDArray[np.bool_], freedom: FreeParameters, motion_px: Floats | None
) -> tuple[CornerObservations, Floats, NDArray[np.bool_]]:
    """Return the observations with robust weights [px^-2], the noise (C,) [px] and which corners are in use, (C, V, N).

    Args:
        state: what is fitted.
        seen: the corners seen, with their weights.
        mask: which corners were seen, (C, V, N).
        freedom: what may change besides the board's poses.
        motion_px: of the board between pictures, by camera (C, V).
    """
    distance = np.where(mask, np.linalg.norm(compute_residual_px(state, seen), axis=-1), 0.0)
    motion = np.zeros(mask.shape[:2]) if motion_px is None else motion_px
    still = mask & (LAG_SHARE * motion < 0.5)[..., None]
    sigma = np.array([estimate_noise_px(d[m], freedom, m) for d, m in zip(distance, still if still.any() else mask, strict=True)])
    spread = estimate_view_noise_px(distance, mask, sigma, motion)[..., None]
    relative = distance / spread
    used = mask & (relative < OUTLIER_SIGMAS)
    weight = np.where(used, np.minimum(1.0, HUBER / np.maximum(relative, 1e-9)) / spread**2, 0.0)
    return replace(seen, weight=weight), sigma, used


def estimate_view_noise_px(distance: Floats, mask: NDArray[np.bool_], sigma_px: Floats, motion_px: Floats) -> Floats:
    """Return the expected noise of each view, (C, V) [px]: its camera's, and more where the view as a whole does not fit.

    A board that moved while two cameras took it one after the other, or was bent by a hand, is off as a whole; so is a view of
    a moving board, by as much as the others in motion show.

    Args:
        distance: of the corners from their predictions, (C, V, N) [px].
        mask: which corners were seen, (C, V, N).
        sigma_px: noise by camera, (C,).
        motion_px: of the board between pictures, by camera (C, V).
    """
    own = np.zeros(mask.shape[:2])
    for c, v in zip(*np.nonzero(mask.any(axis=2)), strict=True):
        own[c, v] = np.median(distance[c, v, mask[c, v]]) / MEDIAN_DISTANCE
    if not np.isfinite(own).all():
        own = np.where(np.isfinite(own), own, sigma_px[:, None])
    more = np.maximum(own**2 - (ORDINARY * sigma_px[:, None]) ** 2, 0.0)
    moving = motion_px > MIN_MOTION_PX
    share = LAG_SHARE
    if moving.sum() >= MIN_MOVING:  # a lag along the epipolar line is not seen, hence twice
        excess = 2.0 * (own**2 - sigma_px[:, None] ** 2)[moving]
        share = float(np.sqrt(np.clip(np.median(excess / motion_px[moving] ** 2), 0.0, LAG_SHARE**2)))
    return np.asarray(np.sqrt(sigma_px[:, None] ** 2 + np.maximum(more, (share * motion_px) ** 2)))


def estimate_noise_px(distance: Floats, freedom: FreeParameters, mask: NDArray[np.bool_]) -> float:
    """Return the noise of a coordinate from the corners' distances, corrected for the degrees of freedom [px].

    Args:
        distance: of the corners from their predictions, (K,) [px].
        freedom: what may change besides the board's poses.
        mask: which corners were seen, (V, N).
    """
    if not len(distance) or not np.isfinite(distance).all():
        return 0.5 if not len(distance) else max(float(np.median(distance)), MIN_SIGMA_PX)
    numbers = 2.0 * len(distance)
    n = len(freedom.lenses)  # a board's pose is shared by two cameras, or a few more of them
    per_camera = freedom.n_shared / n + 6.0 * int(mask.any(axis=1).sum()) / min(n, 2)
    left = max(numbers - per_camera, 0.25 * numbers)
    return max(float(np.median(distance)) / MEDIAN_DISTANCE * float(np.sqrt(numbers / left)), MIN_SIGMA_PX)


def inflate_noise(fit: RobustFit, freedom: FreeParameters) -> CornerObservations:
    """Return the observations with lower weights where the residuals are larger than the weights say, for realistic covariances.

    The noise is that of most corners; boards that bend and cameras that are not synchronised make whole views inconsistent.
    """
    squares = float(
        (fit.seen.weight * np.where(fit.used, (compute_residual_px(fit.state, fit.seen) ** 2).sum(axis=-1), 0.0)).sum()
    )
    left = 2.0 * float(fit.used.sum()) - freedom.n_shared - 6.0 * fit.seen.n_views
    return replace(fit.seen, weight=fit.seen.weight / max(1.0, squares / max(left, 1.0)))


def compute_view_distances_px(fit: RobustFit) -> Floats:
    """Return the median distance of each view's corners from their predictions, (V,) [px], of the worse camera."""
    distance = np.linalg.norm(compute_residual_px(fit.state, fit.unweighted), axis=-1)
    out = np.zeros(fit.mask.shape[:2])
    for c, v in zip(*np.nonzero(fit.mask.any(axis=2)), strict=True):
        out[c, v] = np.median(distance[c, v, fit.mask[c, v]])
    return np.asarray(out.max(axis=0))


def find_good_views(fit: RobustFit) -> NDArray[np.bool_]:
    """Return which views fit about as well as the others, (V,)."""
    off = compute_view_distances_px(fit)
    share = fit.used.sum(axis=(0, 2)) / np.maximum(fit.mask.sum(axis=(0, 2)), 1)
    return np.asarray((off <= max(BAD_VIEW * float(np.median(off)), BAD_VIEW_PX)) & (share >= MIN_USED))
