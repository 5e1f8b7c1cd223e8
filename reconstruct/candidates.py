"""Candidates of acquisition: solved labellings, when one goes on from frame to frame, and when the best may be trusted."""

from dataclasses import dataclass

import numpy as np

from database.rotations import Floats
from reconstruct.history import Moment
from reconstruct.hypotheses import Ints

SURE, HARDLY = 9.0, 10.0  # energies a marker, of those that have a point
INCOMPLETE = 8.0  # how much less, as a divisor, a labelling may leave for the share of markers missing and points left over
HARDLY_CLEAR, PATIENCE_S = 0.8, 0.5  # share of that which will do after waiting in vain, where no point is in question
SAME_M = 0.10  # markers of one labelling move no farther than this from frame to frame


@dataclass(frozen=True, slots=True)
class Found:
    """A labelling found from nothing: point of each marker, (M,), -1 for none or unsure, and the pose solved from it.

    energy: what the solver left, and how unlike any example it is, a labelled marker; incomplete: markers without a point and as
    many points left over, as a share of all markers; margin: how much more, in all, the next labelling has that differs in more
    than the unsure markers, and clear: how much would do; waited_s: since the search began.
    """

    point_of_marker: Ints
    moment: Moment
    energy: float
    incomplete: float
    margin: float
    clear: float
    waited_s: float

    @property
    def trusted(self) -> bool:
        """Tell whether to go by it, the less surely the longer nothing better was found.

        What is missing and what is left over together are where a false point passes for a marker: the rest must fit better then.
        """
        energy = self.energy * (1.0 + INCOMPLETE * self.incomplete)
        if energy < SURE and self.margin > self.clear:
            return True
        clear = self.clear if self.incomplete else HARDLY_CLEAR * self.clear
        return self.waited_s > PATIENCE_S and energy < HARDLY and self.margin > clear


@dataclass(frozen=True, slots=True)
class Candidate:
    """A solved labelling: point of each marker, (M,), pose, its markers (M, 3) [m] and their points (M, 3), energy.

    beside: part of the energy for markers without a point and points left over, `incomplete` of them.
    """

    choice: Ints
    moment: Moment
    marker_m: Floats
    point_m: Floats
    energy: float
    beside: float
    incomplete: int

    def follows(self, other: "Candidate") -> bool:
        """Tell whether it is the same labelling a frame later."""
        both = (self.choice >= 0) & (other.choice >= 0)
        if both.sum() < 0.7 * max((self.choice >= 0).sum(), (other.choice >= 0).sum()):
            return False
        return bool((np.linalg.norm(self.point_m - other.point_m, axis=1)[both] < SAME_M).all())
