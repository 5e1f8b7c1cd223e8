"""Paths: what is kept of every moment by which a hypothesis came to be, so that what comes later decides what was earlier.

`Delay` keeps so much that a moment can be published some time after it, as the hypothesis has it that is the likeliest by then,
smoothed backwards from there (`smooth`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TypeVar

import numpy as np

from capture.packets import Views
from config.settings import SolveSettings
from database.geometry.rigid import RigidMotion
from reconstruct.track.backward_smoothing import Moment, carry_moment, smooth_backwards
from reconstruct.track.hypotheses import Hypothesis
from reconstruct.track.tracker import TrackedMoment

Kept = TypeVar("Kept")


def extend_paths(
    paths: Sequence[tuple[Kept, ...]], parents: Sequence[int | None], kept: Sequence[Kept]
) -> list[tuple[Kept, ...]]:
    """Return the paths of all hypotheses after a moment, from those before, each with its first moment first.

    Where the body is found anew its path goes on from the likeliest until then, the first.

    Args:
        paths: before the moment.
        parents: hypothesis that each one goes on from, None where it was found anew.
        kept: of each, what is kept of the moment.
    """
    return [(*paths[parent or 0], each) for parent, each in zip(parents, kept, strict=True)]


def find_parents(before: Sequence[Hypothesis], after: Sequence[Hypothesis]) -> list[int | None]:
    """Return which hypothesis of the moment before each goes on from, None where the body was found anew."""
    beliefs = [id(each.belief) for each in before]
    origins = [id(each.estimate.origin) for each in after]
    return [beliefs.index(origin) if origin in beliefs else None for origin in origins]


@dataclass(frozen=True, slots=True)
class KeptMoment:
    """A moment as one hypothesis has it.

    Attributes:
        tracked: the moment as all hypotheses together had it at the time.
        views: views in which it was labelled.
        hypothesis, moment: None for nobody.
    """

    tracked: TrackedMoment
    views: Views
    hypothesis: Hypothesis | None
    moment: Moment | None

    def moved(self, motion: RigidMotion) -> "KeptMoment":
        """Return it in a world that is moved; smoothing begins anew."""
        if self.hypothesis is None:
            return self
        hypothesis = self.hypothesis.moved(motion)
        estimate = replace(hypothesis.estimate, frame=hypothesis.frame.moved(motion))
        hypothesis = replace(hypothesis, estimate=estimate)
        return replace(self, hypothesis=hypothesis, moment=Moment(hypothesis.belief))


class Delay:
    """Keeps the moments of some time; the oldest one is published with the knowledge of all of them."""

    def __init__(self, lag_s: float, settings: SolveSettings) -> None:
        self._lag_ns, self._settings = round(lag_s * 1e9), settings
        self.forget()

    def forget(self) -> None:
        """Forget all moments."""
        self._paths: list[tuple[KeptMoment, ...]] = [()]  # of all hypotheses, the likeliest first
        self._last_ns: int | None = None
        self._told: KeptMoment | None = None  # that was published last

    def move(self, motion: RigidMotion) -> None:
        """Go on in a world that is moved."""
        moved = {id(each): each.moved(motion) for path in self._paths for each in path}
        self._paths = [tuple(moved[id(each)] for each in path) for path in self._paths]
        self._told = None if self._told is None else moved.get(id(self._told))

    def step(self, before: Sequence[Hypothesis], tracked: TrackedMoment, views: Views) -> tuple[TrackedMoment, Views]:
        """Take a moment and return the newest that is old enough, smoothed, and its views.

        Before there is one: a moment of nobody, as long ago. before: hypotheses of the last moment.
        """
        parents = find_parents(before, tracked.hypotheses) or [None]
        kept = [
            KeptMoment(tracked, views, each, self._carry(each, None if parent is None else before[parent]))
            for each, parent in zip(tracked.hypotheses, parents, strict=False)
        ]
        self._paths = extend_paths(self._paths, parents, kept or [KeptMoment(tracked, views, None, None)])
        now_ns = views.t_capture_ns
        step_ns = 0 if self._last_ns is None else max(now_ns - self._last_ns, 0)
        self._last_ns = now_ns
        due_ns = now_ns - self._lag_ns + step_ns // 2  # the nearest, where frames do not come evenly
        whole = self._paths[0]
        self._paths = [_trim_path(path, due_ns) for path in self._paths]
        if self._paths[0][0].views.t_capture_ns > due_ns:
            nothing = tracked.frame.only(np.zeros(len(tracked.frame.valid), bool))
            return TrackedMoment(replace(nothing, t_capture_ns=now_ns - self._lag_ns), ()), views
        return self._tell(switched=self._told is not None and all(each is not self._told for each in whole))

    def rest(self) -> Iterator[tuple[TrackedMoment, Views]]:
        """Yield the moments that are still to be published, each with its views, once nothing more comes."""
        if self._told is None and self._paths[0]:
            yield self._tell(switched=False)
        while len(self._paths[0]) > 1:
            self._paths = [path[1:] for path in self._paths]
            yield self._tell(switched=False)

    def _carry(self, hypothesis: Hypothesis, parent: Hypothesis | None) -> Moment:
        """Return what smoothing needs of a hypothesis after a moment, which goes on from another, None if found anew."""
        if parent is None:
            return Moment(hypothesis.belief)
        return carry_moment(parent.belief, hypothesis.estimate.prior.predicted, hypothesis.belief, self._settings)

    def _tell(self, switched: bool) -> tuple[TrackedMoment, Views]:
        """Return the oldest moment as the likeliest hypothesis has it by now, others as far as they differ; and its views."""
        oldest = self._told = self._paths[0][0]
        if oldest.hypothesis is None:
            return replace(oldest.tracked, hypotheses=(), switched=False), oldest.views
        found = dict[int, Hypothesis]()  # with how likely each is by now
        for path in self._paths:
            first, last = path[0].hypothesis, path[-1].hypothesis
            if first is not None and last is not None:
                found.setdefault(id(path[0]), replace(first, score=last.score))
        followed = takewhile(lambda each: each is not None, (each.moment for each in self._paths[0]))
        smoothed = smooth_backwards([each for each in followed if each is not None])
        memory = replace(oldest.hypothesis.memory, belief=smoothed)
        found[id(oldest)] = replace(found.get(id(oldest), oldest.hypothesis), memory=memory)
        hypotheses = tuple(sorted(found.values(), key=lambda each: each.memory is not memory))
        told = replace(oldest.tracked, frame=oldest.hypothesis.frame, hypotheses=hypotheses, switched=switched)
        return told, oldest.views


def _trim_path(path: tuple[KeptMoment, ...], due_ns: int) -> tuple[KeptMoment, ...]:
    """Return a path from its newest moment that is no later than some time, all of it where there is none."""
    early = sum(each.views.t_capture_ns <= due_ns for each in path)
    return path[max(early - 1, 0) :]
