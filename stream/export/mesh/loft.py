"""Solids with an oval cross-section of varying size along an axis, and how they blend into each other."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import PchipInterpolator

from config.arrays import Floats

PROFILE_KNOTS = 25
TINY = 1e-9
REACH_M, FAR_M = 0.2, 10.0


@dataclass(frozen=True, slots=True)
class Loft:
    """A solid around an axis, belonging to one joint.

    frame: rows are the directions of width, depth and axis, (3, 3), unit vectors; length_m: of the axis; profile_m: half width,
    half depth and shift of the middle in the direction of depth at PROFILE_KNOTS even points along the axis, (3, K) [m]; caps_m:
    extent of the rounded ends beyond start and end; power: 2 for ellipses, larger for more rectangular ovals; blend_m: width of
    the transition to other lofts; soft_m: distance beyond its surface in which it has skin weight.
    """

    joint: str
    start_m: Floats
    frame: Floats
    length_m: float
    profile_m: Floats
    caps_m: tuple[float, float]
    power: float
    blend_m: float
    soft_m: float

    def distance_m(self, points_m: Floats) -> Floats:
        """Return the approximate distance to the surface, negative inside: (N, 3) -> (N,); FAR_M where it exceeds REACH_M."""
        middle = self.start_m + 0.5 * self.length_m * self.frame[2]
        around = 0.5 * self.length_m + max(*self.caps_m, float(np.abs(self.profile_m).sum(axis=0).max())) + REACH_M
        near = ((points_m - middle) ** 2).sum(axis=1) < around**2
        distances = np.full(len(points_m), FAR_M)
        distances[near] = self._near_m(points_m[near])
        return distances

    def _near_m(self, points_m: Floats) -> Floats:
        """Return the approximate distance to the surface.

        With rho = |(u / w, v / d, e / c)|_p, e the distance beyond the ends, the surface is rho = 1 and the distance to first
        order (rho - 1) / |grad rho|.
        """
        u, v, along = ((points_m - self.start_m) @ self.frame.T).T
        inside = np.clip(along, 0.0, self.length_m)
        position = inside * ((PROFILE_KNOTS - 1) / max(self.length_m, TINY))
        knots = np.arange(PROFILE_KNOTS)
        wide, deep, shift = (np.interp(position, knots, row) for row in self.profile_m)
        cap = np.where(along < 0.0, self.caps_m[0], self.caps_m[1])
        ratios = np.abs(np.stack([u / wide, (v - shift) / deep, (along - inside) / cap])) + TINY
        rho = (ratios**self.power).sum(axis=0) ** (1.0 / self.power)
        gradient = (ratios / rho) ** (self.power - 1.0) / np.stack([wide, deep, cap])
        return np.asarray((rho - 1.0) / np.sqrt((gradient**2).sum(axis=0)))


def build_loft(
    joint: str,
    start_m: ArrayLike,
    end_m: ArrayLike,
    deep: ArrayLike,
    rows: Sequence[tuple[float, ...]],
    caps_m: tuple[float, float],
    *,
    blend_m: float,
    soft_m: float,
    power: float = 2.0,
) -> Loft:
    """Return a loft from rows of (position 0..1, half width, half depth[, shift]) [m], interpolated smoothly.

    Args:
        joint: joint that it is attached to.
        start_m: start of the axis, (3,) [m].
        end_m: end of the axis, (3,) [m].
        deep: approximate direction of the depth, made perpendicular to the axis.
        rows: (position 0..1, half width, half depth[, shift]) [m].
        caps_m: depth of the rounded ends [m].
        blend_m: length over which it blends with its neighbours [m].
        soft_m: length over which its skin weights change [m].
        power: exponent of the superellipse; 2 for an ellipse.
    """
    start, end = np.asarray(start_m, float), np.asarray(end_m, float)
    length = float(np.linalg.norm(end - start))
    table = np.array([(*row, 0.0)[:4] for row in rows])
    even = np.linspace(0.0, 1.0, PROFILE_KNOTS)
    profile = PchipInterpolator(table[:, 0], table[:, 1:])(even).T
    return Loft(joint, start, compute_axes(end - start, deep), length, profile, caps_m, power, blend_m, soft_m)


def compute_axes(along: ArrayLike, deep: ArrayLike) -> Floats:
    """Return unit vectors of width, depth and axis as rows; where `deep` is parallel to the axis, another direction is used."""
    w = np.asarray(along, float)
    w = w / np.linalg.norm(w) if np.linalg.norm(w) > TINY else np.array([0.0, 1.0, 0.0])
    for hint in (np.asarray(deep, float), np.eye(3)[int(np.argmin(np.abs(w)))]):
        v = hint - (hint @ w) * w
        if np.linalg.norm(v) > 0.05:
            break
    v = v / np.linalg.norm(v)
    return np.stack([np.cross(v, w), v, w])


def blend_distances(first: Floats, second: Floats, width_m: float) -> Floats:
    """Return the distance to the union of two solids, blended where their distances differ by less than the width.

    Args:
        first: signed distances to the first solid [m], of any shape.
        second: signed distances to the second solid [m], of the same shape.
        width_m: difference of the distances below which they are blended [m].
    """
    overlap = np.maximum(width_m - np.abs(first - second), 0.0)
    return np.asarray(np.minimum(first, second) - overlap**2 / (4.0 * width_m))


def scale_profile(rows: Sequence[tuple[float, ...]], size: float) -> list[tuple[float, ...]]:
    """Scale the rows of a profile except their positions along the axis."""
    return [(row[0], *(size * value for value in row[1:])) for row in rows]
