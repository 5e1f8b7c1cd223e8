"""What the picture of a style shows: a plane through its latent space, how likely poses are there, and which to draw."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from config.arrays import Floats
from reconstruct.models.style.model import Style, StyleEvaluator, compute_latent_energy

RESOLUTION = 150  # points of the map along its longer side
MARGIN = 0.28  # of the training points' extent, shown around them
STRAY, FAR_OFF = 0.01, 2.0  # share of the points at each end that may stay off the map if all are so many times farther apart
DEPTHS = 20  # places across the plane that are tried at every point of it
LIKELY = 0.25  # of the training poses are less likely than what is shown as a new pose
BREAK_S = 0.5  # poses farther apart in time are not joined


@dataclass(frozen=True, slots=True)
class LatentPlane:
    """The plane of the two directions in which latent points spread most; with two dimensions the whole space.

    Attributes:
        middle: (Q,).
        axes: orthonormal rows, (Q, Q).
        points: training poses in the plane, (N, 2).
        depths: the other coordinates that are tried, (P, Q - 2).
        share: share of the variance that the plane shows.
    """

    middle: Floats
    axes: Floats
    points: Floats
    depths: Floats
    share: float

    def latent(self, flat: Floats, depth: Floats) -> Floats:
        """Return latent points, (..., Q), of points of the plane, (..., 2), at a depth, (Q - 2,)."""
        full = np.concatenate([flat, np.broadcast_to(depth, (*flat.shape[:-1], len(depth)))], axis=-1)
        return np.asarray(self.middle + full @ self.axes)


@dataclass(frozen=True, slots=True)
class LikelihoodMap:
    """How likely poses are over a plane of the latent space.

    Attributes:
        extent: left, right, bottom, top.
        value: -(D/2 ln s2 + |x|^2 / 2), (H, W), row 0 at the bottom.
        depth: depth of the likeliest point behind each, row of `LatentPlane.depths`, (H, W).
        dark: the value where the model knows nothing, at the usual |x|.
    """

    extent: tuple[float, float, float, float]
    value: Floats
    depth: NDArray[np.int64]
    dark: float

    def holds(self, points: Floats) -> NDArray[np.bool_]:
        """Return which points, (N, 2), are on the map."""
        left, right, bottom, top = self.extent
        return np.asarray(((points > [left, bottom]) & (points < [right, top])).all(axis=1))

    def places(self) -> Floats:
        """Return the points of the map, (H, W, 2)."""
        return _build_grid(self.extent, self.value.shape)


def fit_latent_plane(style: Style) -> LatentPlane:
    """Fit the plane by principal components; 1-d spaces get a second direction without extent."""
    X = style.latent if style.n_latent > 1 else np.column_stack([style.latent, np.zeros(len(style.latent))])
    middle = X.mean(axis=0)
    if X.shape[1] == 2:  # as it was learned
        return LatentPlane(np.zeros(2), np.eye(2), X, np.zeros((1, 0)), 1.0)
    _, singular, axes = np.linalg.svd(X - middle, full_matrices=False)
    turned = (X - middle) @ axes.T
    deep = turned[:, 2:]
    share = float((singular[:2] ** 2).sum() / max((singular**2).sum(), 1e-300))
    return LatentPlane(middle, axes, turned[:, :2], deep[select_farthest_points(deep, DEPTHS)], share)


def compute_likelihood_map(
    style: Style, level: StyleEvaluator, plane: LatentPlane, aspect: float = 1.0, step: Callable[[], None] | None = None
) -> LikelihoodMap:
    """Evaluate the model over a plane of its latent space, at every point at the depth where poses are likeliest.

    Args:
        style: the style.
        level: its model at one level of annealing.
        plane: plane through the latent space, with the depths to try.
        aspect: width of the map over its height.
        step: called after each depth.
    """
    extent = _compute_map_extent(plane.points, aspect)
    shape = (RESOLUTION, round(RESOLUTION * aspect)) if aspect < 1.0 else (round(RESOLUTION / aspect), RESOLUTION)
    flat = _build_grid(extent, shape).reshape(-1, 2)
    value, depth = np.full(len(flat), -np.inf), np.zeros(len(flat), np.int64)
    for k, each in enumerate(plane.depths):
        found = -compute_latent_energy(level, plane.latent(flat, each)[:, : style.n_latent])
        better = found > value
        value[better], depth[better] = found[better], k
        if step is not None:
            step()
    p = level.parameters
    dark = -0.5 * (len(level.mean) * np.log(p.alpha + 1.0 / p.beta) + np.mean(np.sum(style.latent**2, axis=1)))
    return LikelihoodMap(extent, value.reshape(shape), depth.reshape(shape), min(float(dark), float(np.median(value))))


def _compute_map_extent(points: Floats, aspect: float) -> tuple[float, float, float, float]:
    """Return left, right, bottom and top around points, (N, 2), to scale in a panel of that width over height.

    A few points far from all others are left outside, where they would make the rest too small to see.
    """
    low, high = points.min(axis=0), points.max(axis=0)
    inner_low, inner_high = np.quantile(points, (STRAY, 1.0 - STRAY), axis=0)
    if (high - low).max() > FAR_OFF * (inner_high - inner_low).max() > 0.0:
        low, high = inner_low, inner_high
    size = (high - low) + 2.0 * MARGIN * max(float((high - low).max()), 1e-6)
    size = np.maximum(size, size[::-1] * [aspect, 1.0 / aspect])
    (left, bottom), (right, top) = 0.5 * (low + high - size), 0.5 * (low + high + size)
    return float(left), float(right), float(bottom), float(top)


def _build_grid(extent: tuple[float, float, float, float], shape: tuple[int, ...]) -> Floats:
    """Return the middles of cells that fill an extent, (H, W, 2)."""
    left, right, bottom, top = extent
    x = left + (np.arange(shape[1]) + 0.5) * (right - left) / shape[1]
    y = bottom + (np.arange(shape[0]) + 0.5) * (top - bottom) / shape[0]
    return np.stack(np.meshgrid(x, y), axis=-1)


def select_farthest_points(points: Floats, most: int, taken: Floats | None = None) -> NDArray[np.int64]:
    """Choose points, (N, K), each the farthest from all before and from those taken, (T, K); the first else from the middle.

    Args:
        points: points to choose from, (N, K).
        most: greatest number of points.
        taken: points that are there already, (T, K).
    """
    free = taken is None or not len(taken)
    others = points.mean(axis=0)[None] if taken is None or free else taken
    nearest = np.min(np.linalg.norm(points[:, None] - others, axis=-1), axis=1)
    chosen: list[int] = []
    while len(chosen) < min(most, len(points)):
        best = int(nearest.argmax())
        if chosen and nearest[best] < 1e-9:
            break
        apart = np.linalg.norm(points - points[best], axis=1)
        nearest = apart if free and not chosen else np.minimum(nearest, apart)
        chosen.append(best)
    return np.array(chosen, np.int64)


def choose_spread_points(
    style: Style, level: StyleEvaluator, plane: LatentPlane, shown: LikelihoodMap, most: int, drawn: Floats
) -> tuple[Floats, Floats]:
    """Choose likely points of the plane where no training pose is: in the plane, (K, 2), and latent, (K, Q).

    Args:
        style: the style.
        level: model at one level of annealing.
        plane: plane through its latent space.
        shown: likelihood over the plane.
        most: greatest number of points.
        drawn: points of the plane that have a figure already, (T, 2).
    """
    usual = np.quantile(-compute_latent_energy(level, style.latent), LIKELY)
    places = shown.places()[shown.value > usual]
    if not len(places):
        return np.zeros((0, 2)), np.zeros((0, style.n_latent))
    away = np.min(np.linalg.norm(places[:, None] - plane.points[:: max(1, len(plane.points) // 400)], axis=-1), axis=1)
    far = np.flatnonzero(away >= np.quantile(away, 0.9))
    chosen = far[select_farthest_points(places[far], most, drawn)]
    depth = plane.depths[shown.depth[shown.value > usual][chosen]]
    full = np.concatenate([places[chosen], depth], axis=1)
    return places[chosen], np.asarray(plane.middle + full @ plane.axes)[:, : style.n_latent]


def find_time_runs(style: Style) -> list[NDArray[np.int64]]:
    """Return the rows of poses that follow each other, run by run; none where their times are unknown."""
    when = style.times
    if not len(when.stretch):
        return []
    order = np.lexsort((when.seconds, when.stretch))
    stretch, seconds = when.stretch[order], when.seconds[order]
    step = np.diff(seconds)
    usual = np.median(step[step > 0]) if (step > 0).any() else 0.0
    breaks = 1 + np.flatnonzero((np.diff(stretch) != 0) | (step > max(BREAK_S, 3.0 * usual)))
    return [rows for rows in np.split(order, breaks) if len(rows) > 1]
