"""Motion from the paths of a few points: each frame goes on from those before it (Grochow et al. 2004, section 7.2).

The first frame has no past. What a cold start finds there may fit the points and yet be no pose from which the motion goes on, so
that the first frames are gone through forwards, then backwards, and only then for good.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, Self

import numpy as np

from database.rotations import Floats
from reconstruct.style.constraints import Constraints
from reconstruct.style.features import RATE_HZ, UP, static_features
from reconstruct.style.model import StyleError
from reconstruct.style.synthesis import Past, Synthesis

SETTLE_STEPS = 10  # of features.STEP_S that are gone through three times at the start


class Poser(Protocol):
    """What finds single poses: a Synthesizer."""

    def synthesize(self, constraints: Constraints, start: Synthesis | None = None, past: Past | None = None) -> Synthesis:
        """Find the pose."""
        ...

    def with_shares(self, shares: Sequence[float]) -> Self:
        """Give the same with other shares of the styles."""
        ...


def follow(
    poser: Poser,
    asked: Sequence[Constraints],
    rate_hz: float = RATE_HZ,
    shares: Floats | None = None,
    up: Floats | tuple[float, float, float] = UP,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Synthesis, ...]:
    """Find a pose for every frame, each from the one before and with its velocity and acceleration.

    asked: of N frames, rate_hz of them a second, RATE_HZ or more; shares: of the styles in each, (N, S), None: the poser's own.
    Raises StyleError: a rate below that of the features.
    """
    if rate_hz < RATE_HZ - 1e-9:
        raise StyleError(f"{rate_hz:g} frames a second are below the {RATE_HZ:g} of velocity and acceleration")
    posers = [poser] * len(asked) if shares is None else _with_shares(poser, shares)
    lag = rate_hz / RATE_HZ
    history = _settled(posers, asked, lag, up)
    found: list[Synthesis] = []
    for n, (each, constraints) in enumerate(zip(posers, asked, strict=True)):
        start = history.first if n == 0 else found[-1]
        found.append(each.synthesize(constraints, start, history.past(n)))
        history.add(found[-1])
        if progress is not None:
            progress(n + 1, len(asked))
    return tuple(found)


class _History:
    """Static features of the poses found so far, lengthened backwards from the first: straight on, as they began."""

    def __init__(self, lag: float, up: Floats | tuple[float, float, float], early: list[Synthesis]) -> None:
        """Begin. lag: frames in a step; early: first poses as found on the way back."""
        self.lag, self.up = lag, up
        self.first = early[0] if early else None
        self.rows: list[Floats] = []
        self.lead = int(np.ceil(2.0 * lag))
        if early:
            static = static_features(np.array([pose.rotvec for pose in early]), up)
            step = min(round(lag), len(early) - 1)
            slope = (static[step] - static[0]) / max(step, 1)
            self.rows = [static[0] - back * slope for back in range(self.lead, 0, -1)]

    def add(self, pose: Synthesis) -> None:
        """Take a pose."""
        self.rows.append(static_features(pose.rotvec, self.up))

    def past(self, n: int) -> Past | None:
        """Give the features one and two steps before frame n; None where they are not known."""
        at = np.array([n - self.lag, n - 2.0 * self.lag]) + self.lead
        if not self.rows or at[1] < 0.0:
            return None
        return Past(self._at(float(at[0])), self._at(float(at[1])))

    def _at(self, row: float) -> Floats:
        """Give the features at a fractional row."""
        below = min(int(row), len(self.rows) - 2)
        share = row - below
        return np.asarray((1.0 - share) * self.rows[below] + share * self.rows[below + 1])


def _settled(
    posers: Sequence[Poser], asked: Sequence[Constraints], lag: float, up: Floats | tuple[float, float, float]
) -> _History:
    """Give the history from which the motion begins: of the first frames found forwards and then backwards."""
    count = min(len(asked), int(SETTLE_STEPS * lag) + 1)
    pose: Synthesis | None = None
    for n in range(count):
        pose = posers[n].synthesize(asked[n], pose)
    early = [] if pose is None else [pose]
    for n in range(count - 2, -1, -1):
        early.insert(0, posers[n].synthesize(asked[n], early[0]))
    return _History(lag, up, early)


def _with_shares(poser: Poser, shares: Floats) -> list[Poser]:
    """Give the poser of every frame; neighbours with the same shares have the same."""
    posers: list[Poser] = []
    for n, row in enumerate(shares):
        same = n > 0 and np.array_equal(row, shares[n - 1])
        posers.append(posers[-1] if same else poser.with_shares(tuple(row.tolist())))
    return posers
