"""Paths: what is kept of every moment by which a hypothesis came to be, so that what comes later decides what was earlier.

`Paths` are those of all hypotheses, whatever is kept. `Delay` keeps so much that a moment can be published some time after it,
as the hypothesis has it that is the likeliest by then, smoothed backwards from there (`smooth`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Generic, TypeVar

import numpy as np

from capture.packets import Views
from config.settings import SolveSettings
from database.geometry.rigid import RigidMotion
from reconstruct.track.hypotheses import Hypothesis
from reconstruct.track.smooth import Moment, carry_moment, smooth_backwards
from reconstruct.track.tracker import TrackedMoment

Kept = TypeVar("Kept")


class Paths(Generic[Kept]):
    """What is kept of the moments of every hypothesis, the first moment first.

    Where the body is found anew its path goes on from the likeliest until then; where there is none, that one goes on.
    """

    def __init__(self) -> None:
        self._paths: list[tuple[Kept, ...]] = [()]

    @property
    def likeliest(self) -> tuple[Kept, ...]:
        """The path of the likeliest hypothesis."""
        return self._paths[0]

    @property
    def every(self) -> list[tuple[Kept, ...]]:
        """The paths of all hypotheses, the likeliest first."""
        return self._paths

    def follow(self, parents: Sequence[int | None], kept: Sequence[Kept]) -> None:
        """Go on by a moment; parents: of every hypothesis, the one it goes on from, None where it was found anew."""
        self._paths = [(*self._paths[parent or 0], each) for parent, each in zip(parents, kept, strict=True)]

    def replace(self, paths: Sequence[tuple[Kept, ...]]) -> None:
        """Take other paths for those there are, such as shorter ones."""
        self._paths = list(paths)


def find_parents(before: Sequence[Hypothesis], after: Sequence[Hypothesis]) -> list[int | None]:
    """Return which hypothesis of the moment before each goes on from, None where the body was found anew."""
    beliefs = [id(each.belief) for each in before]
    origins = [None if each.estimate is None else each.estimate.origin for each in after]
    return [beliefs.index(id(origin)) if id(origin) in beliefs else None for origin in origins]


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
        """Return it in a world that is moved; what is smoothed begins anew."""
        if self.hypothesis is None:
            return self
        hypothesis = self.hypothesis.moved(motion)
        if hypothesis.frame is not None:
            hypothesis = replace(hypothesis, frame=hypothesis.frame.moved(motion))
        return replace(self, hypothesis=hypothesis, moment=Moment(hypothesis.belief))


class Delay:
    """Keeps the moments of some time; what is published of the oldest has seen all of them."""

    def __init__(self, lag_s: float, settings: SolveSettings) -> None:
        self._lag_ns, self._settings = round(lag_s * 1e9), settings
        self.forget()

    def forget(self) -> None:
        """Forget all moments."""
        self._paths = Paths[KeptMoment]()
        self._last_ns: int | None = None
        self._told: KeptMoment | None = None  # that was published last

    def move(self, motion: RigidMotion) -> None:
        """Go on in a world that is moved."""
        moved = {id(each): each.moved(motion) for path in self._paths.every for each in path}
        self._paths.replace([tuple(moved[id(each)] for each in path) for path in self._paths.every])
        self._told = None if self._told is None else moved.get(id(self._told))

    def step(self, before: Sequence[Hypothesis], tracked: TrackedMoment, views: Views) -> tuple[TrackedMoment, Views]:
        """Take a moment and return the newest that is old enough, smoothed, and its views.

        Before there is one: a moment of nobody, as long ago. before: hypotheses of the last moment.
        """
        kept = [self._keep(before, tracked, each, views) for each in tracked.hypotheses]
        nobody = KeptMoment(tracked, views, None, None)
        self._paths.follow(find_parents(before, tracked.hypotheses) or [None], kept or [nobody])
        now_ns = views.t_capture_ns
        step_ns = 0 if self._last_ns is None else max(now_ns - self._last_ns, 0)
        self._last_ns = now_ns
        due_ns = now_ns - self._lag_ns + step_ns // 2  # the nearest, where frames do not come evenly
        whole = self._paths.likeliest
        self._paths.replace([_trim_path(path, due_ns) for path in self._paths.every])
        oldest = self._paths.likeliest[0]
        if oldest.views.t_capture_ns > due_ns:
            nothing = tracked.frame.only(np.zeros(len(tracked.frame.valid), bool))
            return TrackedMoment(replace(nothing, t_capture_ns=now_ns - self._lag_ns), ()), views
        switched = self._told is not None and all(each is not self._told for each in whole)
        return self._tell(oldest, switched)

    def rest(self) -> Iterator[tuple[TrackedMoment, Views]]:
        """Yield the moments that are still to be published, each with its views, once nothing more comes."""
        if self._told is None and self._paths.likeliest:
            yield self._tell(self._paths.likeliest[0], switched=False)
        while len(self._paths.likeliest) > 1:
            self._paths.replace([path[1:] for path in self._paths.every])
            yield self._tell(self._paths.likeliest[0], switched=False)

    def _tell(self, oldest: KeptMoment, switched: bool) -> tuple[TrackedMoment, Views]:
        """Return the oldest moment as it is published, and its views."""
        self._told = oldest
        return self._published(oldest, switched), oldest.views

    def _keep(self, before: Sequence[Hypothesis], tracked: TrackedMoment, hypothesis: Hypothesis, views: Views) -> KeptMoment:
        """Return what is kept of a hypothesis after a moment."""
        estimate, parent = hypothesis.estimate, find_parents(before, [hypothesis])[0]
        moment = Moment(hypothesis.belief)
        if estimate is not None and parent is not None:
            moment = carry_moment(before[parent].belief, estimate.prior.predicted, hypothesis.belief, self._settings)
        return KeptMoment(tracked, views, hypothesis, moment)

    def _published(self, oldest: KeptMoment, switched: bool) -> TrackedMoment:
        """Return the oldest moment as the likeliest hypothesis has it by now, and others as far as they differ."""
        if oldest.hypothesis is None or oldest.hypothesis.frame is None:
            return replace(oldest.tracked, hypotheses=(), switched=False)
        found = dict[int, Hypothesis]()  # with how likely each is by now
        for path in self._paths.every:
            first, last = path[0].hypothesis, path[-1].hypothesis
            if first is not None and last is not None:
                found.setdefault(id(path[0]), replace(first, score=last.score))
        memory = replace(oldest.hypothesis.memory, belief=smooth_backwards(self._moments(), covariance=False))
        found[id(oldest)] = replace(found.get(id(oldest), oldest.hypothesis), memory=memory)
        hypotheses = tuple(sorted(found.values(), key=lambda each: each.memory is not memory))
        return replace(oldest.tracked, frame=oldest.hypothesis.frame, hypotheses=hypotheses, switched=switched)

    def _moments(self) -> list[Moment]:
        """Return the moments of the likeliest path up to where nobody was followed."""
        followed = takewhile(lambda each: each is not None, (each.moment for each in self._paths.likeliest))
        return [each for each in followed if each is not None]


def _trim_path(path: tuple[KeptMoment, ...], due_ns: int) -> tuple[KeptMoment, ...]:
    """Return a path from its newest moment that is no later than some time, all of it where there is none."""
    early = sum(each.views.t_capture_ns <= due_ns for each in path)
    return path[max(early - 1, 0) :]
