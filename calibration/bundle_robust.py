"""The adjustment among corners of which some are wrong: noise estimated robustly, Huber's weights, far corners left out.

Noise by camera from the median distance (of two-dimensional normal noise it is 1.1774 sigma); weights after Huber 1964.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calibration.bundle import BundleState, Freedom, Observations, Views, residual_px, views_of
from calibration.bundle_solve import Prior, adjusted
from database.rotations import Floats

MEDIAN_DISTANCE = 1.1774  # of a two-dimensional normal, in sigmas
HUBER = 3.0  # distances, in sigmas, from which a corner counts for less
FARTHEST = 6.0  # and from which it does not count
LEAST_SIGMA_PX = 0.02  # noise is never believed to be less
ROUNDS = 4
BAD_VIEW = 8.0  # times the usual distance: a view that is further off is left out
BAD_VIEW_PX = 1.0  # though no view for less than this
LEAST_USED = 0.6  # of a view's corners
LAG_SHARE = 0.29  # of a picture's time: how far apart two free cameras' moments lie, as a standard deviation, if nothing tells
LEAST_MOVED_PX, LEAST_MOVING = 2.0, 10  # so many views moving so far tell how far apart they lie
ORDINARY = 1.25  # a view may be this much noisier than its camera by chance


@dataclass(frozen=True, slots=True)
class RobustFit:
    """The adjusted state, the observations with their final weights, the corners seen and in use, and the noise by camera.

    mask, used: (C, V, N); sigma_px: (C,).
    """

    state: BundleState
    seen: Observations
    mask: NDArray[np.bool_]
    used: NDArray[np.bool_]
    sigma_px: Floats

    def at(self, views: Views) -> "RobustFit":
        """Give some of the places, by index or mask."""
        state, seen = views_of(self.state, views), self.seen.at(views)
        return replace(self, state=state, seen=seen, mask=self.mask[:, views], used=self.used[:, views])

    @property
    def unweighed(self) -> Observations:
        """The observations as they came: weight 1 where a corner was seen."""
        return replace(self.seen, weight=self.mask.astype(float))


def robustly_adjusted(
    state: BundleState,
    seen: Observations,
    freedom: Freedom,
    prior: Prior | None = None,
    moved_px: Floats | None = None,
    rounds: int = ROUNDS,
) -> RobustFit:
    """Adjust, estimate the noise, weigh anew, until that changes little.

    seen: with weight 1 where a corner was seen and 0 elsewhere; moved_px: of each place between pictures, by camera (C, V), 0
    where the board was still or both cameras see the same moment.
    """
    mask = seen.weight > 0
    weighed, sigma, used = weights(state, seen, mask, freedom, moved_px)
    fit = adjusted(state, weighed, freedom, prior)
    for _ in range(rounds - 1):
        before = sigma
        weighed, sigma, used = weights(fit.state, seen, mask, freedom, moved_px)
        fit = adjusted(fit.state, weighed, freedom, prior)
        if np.abs(sigma / before - 1.0).max() < 1e-3:
            break
    return RobustFit(fit.state, weighed, mask, used, sigma)


def weights(
    state: BundleState, seen: Observations, mask: NDArray[np.bool_], freedom: Freedom, moved_px: Floats | None
) -> tuple[Observations, Floats, NDArray[np.bool_]]:
    """Weigh corners by how far they are off: the observations with weights [px^-2], sigma (C,) and which are in use."""
    distance = np.where(mask, np.linalg.norm(residual_px(state, seen), axis=-1), 0.0)
    moved = np.zeros(mask.shape[:2]) if moved_px is None else moved_px
    still = mask & (LAG_SHARE * moved < 0.5)[..., None]
    sigma = np.array([noise_px(d[m], freedom, m) for d, m in zip(distance, still if still.any() else mask, strict=True)])
    spread = view_spreads_px(distance, mask, sigma, moved)[..., None]
    relative = distance / spread
    used = mask & (relative < FARTHEST)
    weight = np.where(used, np.minimum(1.0, HUBER / np.maximum(relative, 1e-9)) / spread**2, 0.0)
    return replace(seen, weight=weight), sigma, used


def view_spreads_px(distance: Floats, mask: NDArray[np.bool_], sigma_px: Floats, moved_px: Floats) -> Floats:
    """Give the noise to be expected of each view, (C, V) [px]: its camera's, and more where the view contradicts itself.

    A board that moved while two cameras took it one after the other, or was bent by a hand, is off as a whole; so is what a view
    of a moving board would be off by, judged from the others that moved.
    """
    own = np.zeros(mask.shape[:2])
    for c, v in zip(*np.nonzero(mask.any(axis=2)), strict=True):
        own[c, v] = np.median(distance[c, v, mask[c, v]]) / MEDIAN_DISTANCE
    if not np.isfinite(own).all():
        own = np.where(np.isfinite(own), own, sigma_px[:, None])
    more = np.maximum(own**2 - (ORDINARY * sigma_px[:, None]) ** 2, 0.0)
    moving = moved_px > LEAST_MOVED_PX
    share = LAG_SHARE
    if moving.sum() >= LEAST_MOVING:  # a lag along the epipolar line is not seen, hence twice
        excess = 2.0 * (own**2 - sigma_px[:, None] ** 2)[moving]
        share = float(np.sqrt(np.clip(np.median(excess / moved_px[moving] ** 2), 0.0, LAG_SHARE**2)))
    return np.asarray(np.sqrt(sigma_px[:, None] ** 2 + np.maximum(more, (share * moved_px) ** 2)))


def noise_px(distance: Floats, freedom: Freedom, mask: NDArray[np.bool_]) -> float:
    """Estimate the noise of a coordinate from the corners' distances, what was fitted to them taken into account."""
    if not len(distance) or not np.isfinite(distance).all():
        return 0.5 if not len(distance) else max(float(np.median(distance)), LEAST_SIGMA_PX)
    numbers = 2.0 * len(distance)
    per_camera = (freedom.n_shared + 6.0 * int(mask.any(axis=1).sum())) / len(freedom.lenses)
    left = max(numbers - per_camera, 0.25 * numbers)
    return max(float(np.median(distance)) / MEDIAN_DISTANCE * float(np.sqrt(numbers / left)), LEAST_SIGMA_PX)


def realistic(fit: RobustFit, freedom: Freedom) -> Observations:
    """Give the observations with weights taken down where the residuals are larger than they say, for honest covariances.

    The noise is that of most corners; boards that bend and cameras that are not in step make whole views contradict each other.
    """
    squares = float((fit.seen.weight * np.where(fit.used, (residual_px(fit.state, fit.seen) ** 2).sum(axis=-1), 0.0)).sum())
    left = 2.0 * float(fit.used.sum()) - freedom.n_shared - 6.0 * fit.seen.n_views
    return replace(fit.seen, weight=fit.seen.weight / max(1.0, squares / max(left, 1.0)))


def view_distances_px(fit: RobustFit) -> Floats:
    """Give the median distance of every place's corners from where they should be, (V,) [px], of the worse camera."""
    distance = np.linalg.norm(residual_px(fit.state, fit.unweighed), axis=-1)
    out = np.zeros(fit.mask.shape[:2])
    for c, v in zip(*np.nonzero(fit.mask.any(axis=2)), strict=True):
        out[c, v] = np.median(distance[c, v, fit.mask[c, v]])
    return np.asarray(out.max(axis=0))


def good_views(fit: RobustFit) -> NDArray[np.bool_]:
    """Tell which places fit about as well as the others, (V,)."""
    off = view_distances_px(fit)
    share = fit.used.sum(axis=(0, 2)) / np.maximum(fit.mask.sum(axis=(0, 2)), 1)
    return np.asarray((off <= max(BAD_VIEW * float(np.median(off)), BAD_VIEW_PX)) & (share >= LEAST_USED))
