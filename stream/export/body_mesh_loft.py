"""Lofts: ovals of changing size along an axis, as approximate distances that melt into one another."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import PchipInterpolator

from database.rotations import Floats

PROFILE_KNOTS = 25
TINY = 1e-9
REACH_M, FAR_M = 0.2, 10.0


@dataclass(frozen=True, slots=True)
class Loft:
    """A solid around the axis from `start` to `end`, belonging to one joint.

    frame: rows are wide, deep and along, (3, 3), unit vectors; length_m: of the axis; profile_m: at PROFILE_KNOTS even places
    along the axis half width, half depth and the shift of the middle in the deep direction, (3, K) [m];
    caps_m: how far the rounded ends reach beyond start and end; power: 2 for ellipses, more for boxier ovals;
    melt_m: how wide it melts into what it is joined to; soft_m: how far beyond its surface it moves skin.
    """

    joint: str
    start_m: Floats
    frame: Floats
    length_m: float
    profile_m: Floats
    caps_m: tuple[float, float]
    power: float
    melt_m: float
    soft_m: float

    def distance_m(self, points_m: Floats) -> Floats:
        """Give about the distance to the surface, negative inside: (N, 3) -> (N,); FAR_M where it is surely beyond REACH_M."""
        middle = self.start_m + 0.5 * self.length_m * self.frame[2]
        around = 0.5 * self.length_m + max(*self.caps_m, float(np.abs(self.profile_m).sum(axis=0).max())) + REACH_M
        near = ((points_m - middle) ** 2).sum(axis=1) < around**2
        distances = np.full(len(points_m), FAR_M)
        distances[near] = self._near_m(points_m[near])
        return distances

    def _near_m(self, points_m: Floats) -> Floats:
        """Give about the distance to the surface.

        With rho = |(u / w, v / d, e / c)|_p, e the way beyond the ends, the surface is rho = 1 and the distance to first
        order (rho - 1) / |grad rho|.
        """
        u, v, along = ((points_m - self.start_m) @ self.frame.T).T
        inside = np.clip(along, 0.0, self.length_m)
        places = inside * ((PROFILE_KNOTS - 1) / max(self.length_m, TINY))
        knots = np.arange(PROFILE_KNOTS)
        wide, deep, shift = (np.interp(places, knots, row) for row in self.profile_m)
        cap = np.where(along < 0.0, self.caps_m[0], self.caps_m[1])
        ratios = np.abs(np.stack([u / wide, (v - shift) / deep, (along - inside) / cap])) + TINY
        rho = (ratios**self.power).sum(axis=0) ** (1.0 / self.power)
        gradient = (ratios / rho) ** (self.power - 1.0) / np.stack([wide, deep, cap])
        return np.asarray((rho - 1.0) / np.sqrt((gradient**2).sum(axis=0)))


def loft(
    joint: str,
    start_m: ArrayLike,
    end_m: ArrayLike,
    deep: ArrayLike,
    rows: Sequence[tuple[float, ...]],
    caps_m: tuple[float, float],
    *,
    melt_m: float,
    soft_m: float,
    power: float = 2.0,
) -> Loft:
    """Make a loft from rows of (place 0..1, half width, half depth[, shift]) [m], joined by a smooth curve.

    deep: about the direction of the depth, made perpendicular to the axis.
    """
    start, end = np.asarray(start_m, float), np.asarray(end_m, float)
    length = float(np.linalg.norm(end - start))
    table = np.array([(*row, 0.0)[:4] for row in rows])
    even = np.linspace(0.0, 1.0, PROFILE_KNOTS)
    profile = PchipInterpolator(table[:, 0], table[:, 1:])(even).T
    return Loft(joint, start, axes(end - start, deep), length, profile, caps_m, power, melt_m, soft_m)


def axes(along: ArrayLike, deep: ArrayLike) -> Floats:
    """Give unit vectors wide, deep, along as rows; where `deep` points along the axis, some other direction is taken."""
    w = np.asarray(along, float)
    w = w / np.linalg.norm(w) if np.linalg.norm(w) > TINY else np.array([0.0, 1.0, 0.0])
    for hint in (np.asarray(deep, float), np.eye(3)[int(np.argmin(np.abs(w)))]):
        v = hint - (hint @ w) * w
        if np.linalg.norm(v) > 0.05:
            break
    v = v / np.linalg.norm(v)
    return np.stack([np.cross(v, w), v, w])


def melted(first: Floats, second: Floats, width_m: float) -> Floats:
    """Give the distance to two solids that melt into one where their distances differ by less than the width."""
    overlap = np.maximum(width_m - np.abs(first - second), 0.0)
    return np.asarray(np.minimum(first, second) - overlap**2 / (4.0 * width_m))
