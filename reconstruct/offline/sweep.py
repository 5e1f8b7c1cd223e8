"""Labels of the tracks of a take by several hypotheses at once, from a frame with known labels to the last (multiple hypothesis
tracking; Reid 1979).

A hypothesis is a label for every track so far, with poses of its own. Where tracks begin, each goes on as several, by where it
expects the markers that it does not see, and how surely. What comes then tells them apart by the energy of all frames so far, so
that labels are decided that have to change together, such as those of a whole limb, and only once enough is seen.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from capture.packets import MarkerFrame
from config.arrays import Floats, Ints
from numerics.assignment import find_likeliest_assignments
from reconstruct.offline.chain import MARKER_SIGMA_M
from reconstruct.offline.forward_filter import HEAD, FilterState, TakeFilter
from reconstruct.offline.labels import NO_LABEL
from reconstruct.offline.motion import TakeMotion
from reconstruct.offline.tracks import PointTracks

FOLLOWED, BRANCHES = 6, 5  # hypotheses that are followed, and as how many each may go on where tracks begin
HOPELESS, FAR = 40.0, 80.0  # energy above the least beyond which a hypothesis, or a branch by what is expected, is dropped
UNLABELLED = 100.0  # cost of a track without a label
UNIT_M = 0.01  # standard deviation of a marker that costs nothing
TOGETHER = 6  # frames that are solved at a time
SAME_M = 0.04  # hypotheses of equal labels and with all markers nearer than this are one

FrameOf = Callable[[int, Ints], MarkerFrame]


@dataclass(frozen=True, slots=True)
class LabelHypothesis:
    """One way to label the tracks so far.

    Attributes:
        label: label of each track, (K,), NO_LABEL for later ones.
        cost: cost of these labels by themselves.
        state: state of the filter after the frames labelled so.
        path: the poses since the beginning, the last first, each with the path before it.
    """

    label: Ints
    cost: float
    state: FilterState
    path: tuple[TakeMotion, Any] | None = None

    @property
    def total(self) -> float:
        """The energy of the frames and the cost of the labels."""
        return self.state.belief.energy + self.cost

    def motion(self) -> TakeMotion:
        """Return the poses since the beginning."""
        parts, path = list[TakeMotion](), self.path
        while path is not None:
            part, path = path
            parts.append(part)
        result = parts.pop()
        while parts:
            result = result.then(parts.pop())
        return result


class LabelSweep:
    """Follows hypotheses through a take.

    Args:
        frame_of: returns a frame with labels of tracks.
        seconds: times of all frames, (N,) [s].
    """

    def __init__(self, tracks: PointTracks, frame_of: FrameOf, seconds: Floats, filtering: TakeFilter) -> None:
        self._tracks, self._frame_of, self._seconds, self._filter = tracks, frame_of, seconds, filtering
        self._begin = tracks.spans()[0]

    def run(self, first: int, last: int, motion: TakeMotion, label: Ints) -> LabelHypothesis:
        """Return the likeliest hypothesis after the frames from first to last - 1.

        Args:
            first: frame the sweep begins at.
            last: frame it ends before.
            motion: poses of the three frames before the first.
            label: label of each track; tracks that begin later are not used.
        """
        before = np.arange(first - HEAD, first)
        known = np.where(self._begin < first, label, NO_LABEL)
        state = self._filter.begin([self._frame_of(n, known) for n in before.tolist()], motion)
        beam = [LabelHypothesis(known, 0.0, state)]
        births = [*np.unique(self._begin[(self._begin >= first) & (self._begin < last)]).tolist(), last]
        at = first
        for birth in births:
            while at < birth:
                stop = min(at + TOGETHER, birth)
                beam = self._likeliest([self._advanced(each, at, stop) for each in beam], stop - 1)
                at = stop
            if birth < last:
                branches = [branch for each in beam for branch in self._branches(each, birth)]
                beam = self._likeliest([self._advanced(each, birth, birth + 1) for each in branches], birth)
                at = birth + 1
        return beam[0]

    def _advanced(self, hypothesis: LabelHypothesis, first: int, stop: int) -> LabelHypothesis:
        """Return a hypothesis after some frames more."""
        frames = [self._frame_of(n, hypothesis.label) for n in range(first, stop)]
        state, motion = self._filter.advance(hypothesis.state, frames, self._seconds[first:stop])
        return replace(hypothesis, state=state, path=(motion, hypothesis.path))

    def _likeliest(self, hypotheses: list[LabelHypothesis], n: int) -> list[LabelHypothesis]:
        """Return the hypotheses to follow on after frame n: no two with the same labels of what is seen and the same pose."""
        tracks, kept = self._tracks.track[self._tracks.of_frame(n)], list[tuple[LabelHypothesis, Floats]]()
        for each in sorted(hypotheses, key=lambda each: each.total):
            if len(kept) == FOLLOWED or (kept and each.total > kept[0][0].total + HOPELESS):
                break
            marker_m = self._filter.expected(each.state)[0]
            if not any(
                np.array_equal(each.label[tracks], other.label[tracks]) and np.linalg.norm(marker_m - m, axis=1).max() < SAME_M
                for other, m in kept
            ):
                kept.append((each, marker_m))
        return [each for each, _ in kept]

    def _branches(self, hypothesis: LabelHypothesis, n: int) -> list[LabelHypothesis]:
        """Return a hypothesis with the likeliest labels of the tracks that begin in frame n, by where it expects the markers."""
        here, label = self._tracks.of_frame(n), hypothesis.label
        tracks = self._tracks.track[here]
        born = np.flatnonzero(self._begin[tracks] == n)
        state = self._advanced(hypothesis, n, n + 1).state
        marker_m, covariance_m2 = self._filter.expected(state)
        S = covariance_m2 + self._tracks.covariance_m2[here][born][:, None] + MARKER_SIGMA_M**2 * np.eye(3)
        apart_m = self._tracks.point_m[here][born][:, None] - marker_m
        volume = 0.5 * np.linalg.slogdet(S / UNIT_M**2)[1]
        squared = np.einsum("bmi,bmij,bmj->bm", apart_m, np.linalg.inv(S), apart_m)
        cost, missed = volume + 0.5 * squared, np.full(len(born), UNLABELLED)
        cost[:, label[tracks[label[tracks] >= 0]]] = np.inf
        found = list[LabelHypothesis]()
        for _, choice in find_likeliest_assignments(cost, missed, BRANCHES, FAR):
            longer = label.copy()
            longer[tracks[born]] = choice
            # The energy tells the distances; what is left for the label itself is how much room there was.
            own = np.where(choice >= 0, volume[np.arange(len(born)), choice], missed)
            found.append(replace(hypothesis, label=longer, cost=hypothesis.cost + float(own.sum())))
        return found
