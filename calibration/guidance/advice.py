"""What somebody is told who moves a board or stands for a T-pose before the cameras: the words, and how far it has come."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

ARMED_NS = 700_000_000  # words that change faster cannot be read


@dataclass(frozen=True, slots=True)
class Requirement:
    """One thing that is needed. name: for the meter; have: 0..1, 1 is enough; words: what to do for it; figure: what there is."""

    name: str
    have: float
    words: str = ""
    figure: str = ""


@dataclass(frozen=True, slots=True)
class Advice:
    """What to tell now.

    words: the one thing to do, large; good: it is fine as it is; taken: this view was kept just now; needs: all of them; counts:
    in words; done: nothing more is needed; cover: by camera how well each cell of the picture is covered, (rows, columns) 0..1.
    """

    words: str
    good: bool = False
    taken: bool = False
    needs: tuple[Requirement, ...] = ()
    counts: str = ""
    done: bool = False
    cover: tuple[NDArray[np.float64], ...] = field(default=())

    @property
    def progress(self) -> float:
        """How far it has come, 0..1; 1 only where it is done."""
        if self.done or not self.needs:
            return float(self.done)
        return min(float(np.mean([min(need.have, 1.0) for need in self.needs])), 0.99)

    @property
    def missing(self) -> list[str]:
        """What is not there yet, in words, the farthest from enough first."""
        return [f"{need.name} {need.figure}".strip() for need in sort_by_need(self.needs) if need.have < 1.0]


def sort_by_need(needs: Sequence[Requirement]) -> list[Requirement]:
    """Sort needs, the farthest from enough first; of two alike the first."""
    return sorted(needs, key=lambda need: min(need.have, 1.0))


class SteadyText:
    """Words that are shown for a moment, so that they can be read; urgent ones are shown at once."""

    def __init__(self, hold_ns: int = ARMED_NS) -> None:
        self._hold_ns, self._words, self._since_ns = hold_ns, "", 0

    def say(self, words: str, t_ns: int, urgent: bool = False) -> str:
        """Take what would be said now; return what is to be shown.

        Args:
            words: what would be said now.
            t_ns: the time.
            urgent: it is said at once.
        """
        if words != self._words and (urgent or not self._words or not 0 <= t_ns - self._since_ns < self._hold_ns):
            self._words, self._since_ns = words, t_ns
        return self._words
