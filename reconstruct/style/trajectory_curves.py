"""Curves that points of the body shall follow: keys over time, and what is between them (Grochow et al. 2004, section 7.2)."""

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline, PchipInterpolator

from database.rotations import Floats
from reconstruct.style.model import StyleError

WAYS = ("monotone", "smooth", "linear")
EDGE_S = 1e-9  # times of frames are rounded


@dataclass(frozen=True, slots=True)
class Curve:
    """Keys of a point: times, (K,) [s], rising, two or more, and places, (K, 3) [m].

    way: between the keys `monotone` (Fritsch & Carlson 1980: never beyond them, so that a foot stands between two equal keys),
    `smooth` (a natural cubic spline: steady acceleration, but it swings beyond) or `linear`.
    """

    time_s: Floats
    position_m: Floats
    way: str = "monotone"

    def __post_init__(self) -> None:
        if len(self.time_s) < 2:
            raise StyleError(
                f"a curve needs two keys or more, this has {len(self.time_s)}; a single place is asked of a pose: [[point]]"
            )
        if self.position_m.shape != (len(self.time_s), 3):
            raise StyleError(f"{len(self.time_s)} times and {len(self.position_m)} places; a curve needs a place at every time")
        if not (np.isfinite(self.time_s).all() and np.isfinite(self.position_m).all()):
            raise StyleError("a time or place that is not finite")
        if not np.all(np.diff(self.time_s) > 0.0):
            raise StyleError("the times do not rise from key to key")

    def at(self, seconds: Floats) -> Floats:
        """Give the places at times, (T,) [s] -> (T, 3) [m]; NaN before the first key and after the last."""
        inside = (seconds >= self.time_s[0] - EDGE_S) & (seconds <= self.time_s[-1] + EDGE_S)
        t = np.clip(seconds, self.time_s[0], self.time_s[-1])
        if self.way == "linear" or len(self.time_s) == 2:
            places = np.stack([np.interp(t, self.time_s, column) for column in self.position_m.T], axis=-1)
        elif self.way == "smooth":
            places = np.asarray(CubicSpline(self.time_s, self.position_m, bc_type="natural")(t))
        else:
            places = np.asarray(PchipInterpolator(self.time_s, self.position_m)(t))
        return np.where(inside[:, None], places, np.nan)


def span_s(curves: list[Curve]) -> tuple[float, float]:
    """Give the first and the last time at which any curve asks for something, [s]."""
    return min(float(c.time_s[0]) for c in curves), max(float(c.time_s[-1]) for c in curves)
