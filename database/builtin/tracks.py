"""Values over time made of smooth moves, and the slow noise that keeps a body from standing dead still."""

import zlib
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import BPoly

from database.rotations import Floats


def minimum_jerk(phase: ArrayLike) -> Floats:
    """Give 10 s^3 - 15 s^4 + 6 s^5, from 0 to 1 with no velocity or acceleration at the ends (Flash & Hogan 1985, eq. 5)."""
    s = np.clip(np.asarray(phase, float), 0.0, 1.0)
    return np.asarray(s**3 * (10.0 + s * (6.0 * s - 15.0)))


def bump(phase: ArrayLike) -> Floats:
    """Give 64 s^3 (1 - s)^3: 0 at both ends, 1 in the middle, no velocity or acceleration at the ends."""
    s = np.clip(np.asarray(phase, float), 0.0, 1.0)
    return np.asarray(64.0 * (s * (1.0 - s)) ** 3)


@dataclass(slots=True)
class Track:
    """One value over time: it starts at `start`; each move (t0, t1, target) draws what came before to its target.

    Moves may overlap, the value stays smooth: v <- v + s(t) (target - v). Bumps (t0, t1, height) are added on top.
    """

    start: float = 0.0
    moves: list[tuple[float, float, float]] = field(default_factory=list)
    bumps: list[tuple[float, float, float]] = field(default_factory=list)

    def sample(self, t: Floats) -> Floats:
        """Give the value at the ascending times `t`, (N,) [s] -> (N,)."""
        value = np.full(len(t), self.start)
        for t0, t1, target in self.moves:
            k = int(np.searchsorted(t, t0))
            value[k:] += minimum_jerk((t[k:] - t0) / (t1 - t0)) * (target - value[k:])
        for t0, t1, height in self.bumps:
            i, k = np.searchsorted(t, (t0, t1))
            value[i:k] += height * bump((t[i:k] - t0) / (t1 - t0))
        return value


def hermite_track(keys: list[tuple[float, float, float, float]], t: Floats) -> Floats:
    """Give the quintic spline through keys (time, value, velocity, acceleration); 0 outside of them. (N,) -> (N,)."""
    times = [key[0] for key in keys]
    inside = (t >= times[0]) & (t <= times[-1])
    value = np.zeros(len(t))
    value[inside] = BPoly.from_derivatives(times, [list(key[1:]) for key in keys])(t[inside])
    return value


def slow_noise(name: str, seed: int, t: Floats) -> Floats:
    """Give a smooth random value of unit deviation: six sines of 0.1 to 0.9 Hz drawn from `seed` and `name`. (N,) -> (N,)."""
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    hertz, phase = rng.uniform(0.1, 0.9, 6), rng.uniform(0.0, 2.0 * np.pi, 6)
    return np.asarray(np.sin(2.0 * np.pi * hertz * t[:, None] + phase).sum(axis=1) / np.sqrt(3.0))
