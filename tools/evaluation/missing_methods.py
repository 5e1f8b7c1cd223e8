"""Methods that go on without some of the markers, behind one Protocol.

`hold` and `linear` put a missing marker somewhere and let the local model solve for all of them, the made-up ones with a wide
sigma. `local` is the estimator as it is without a style, `style` the style alone, `both` the estimator with the style to fill in
at one weight, `chosen` the same at the weight that its rehearsals tell, as in live capture.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from capture.packets import MarkerFrame
from config.errors import DatabaseError
from config.settings import Settings
from database.rotations import Floats, matrix_from_rotvec
from reconstruct.basis import Basis
from reconstruct.estimator import Estimator
from reconstruct.fill_in import Filler, Record
from reconstruct.fill_in_style import StyleModel
from reconstruct.history import History, Moment
from reconstruct.observations import observations_from_markers
from reconstruct.style.constraints import Constraints, Handles, RootPrior
from reconstruct.style.features import STEP_S, static_features
from reconstruct.style.model import Style
from reconstruct.style.synthesis import Past, Synthesis, Synthesizer
from tools.evaluation.queries import FPS, RIG, Query

Answer = tuple[Moment, Floats]  # the pose, and where its markers are, (M, 3) [m]
FILLED_SIGMA_M = 0.05  # of a marker that is held or interpolated, for the solver
ROBUST_SIGMAS = 3.0
ASTRAY = 0.3  # variance of a synthesis, as a share of the largest, from which on the next starts anew
BOTH_WEIGHT = 0.0625  # of the style's guess; the middle of those that are tried in rehearsals
STEP_FRAMES = round(STEP_S * FPS)


class MissingMethod(Protocol):
    """Finds the pose and all markers of one frame after the other."""

    def step(self, n: int, frame: MarkerFrame) -> Answer:
        """Give the answer to frame n of the query."""


@dataclass(frozen=True, slots=True)
class Given:
    """What a method is made for: the query with its gaps, the basis of its subject, settings, and the style, None without.

    record: of the style's rehearsals on what was seen whole before.
    """

    query: Query
    basis: Basis
    settings: Settings
    style: Style | None
    record: Record | None = None

    def estimator(self) -> Estimator:
        """Give an estimator as live capture has it."""
        return Estimator(self.query.subject, self.basis.examples, RIG, self.settings.solve, self.basis.search())


class Local:
    """The estimator, with a style to fill in or without."""

    def __init__(self, given: Given) -> None:
        self.query, self.estimator = given.query, given.estimator()

    def step(self, n: int, frame: MarkerFrame) -> Answer:
        """Estimate, and take it into the history; where there is no estimate the predicted pose stands."""
        estimate = self.estimator.estimate(frame, self.query.start if n == 0 else None)
        if estimate is None:
            moment = self.estimator.predict(frame.t_capture_ns) or self.query.start
            return moment, self.estimator.world(moment)
        self.estimator.accept(estimate)
        return estimate.moment, estimate.marker_m


class Filled(Local):
    """Markers put somewhere where they are missing, and all of them solved for."""

    def step(self, n: int, frame: MarkerFrame) -> Answer:
        """Fill, solve; what was filled is the answer for those markers."""
        missing = ~frame.valid
        place = self.place_m(n, frame)
        covariance = np.where(missing[:, None, None], FILLED_SIGMA_M**2 * np.eye(3), frame.covariance_m2)
        point, shown = np.where(missing[:, None], place, frame.point_m), np.ones(len(missing), bool)
        filled = replace(frame, valid=shown, seen=np.stack([shown, shown]), point_m=point, covariance_m2=covariance)
        moment, marker_m = super().step(n, filled)
        self.note(frame, moment)
        return moment, np.where(missing[:, None], place, marker_m)

    def place_m(self, n: int, frame: MarkerFrame) -> Floats:
        """Give places for the missing markers, (M, 3) [m]; the others' are not used."""
        raise NotImplementedError

    def note(self, frame: MarkerFrame, moment: Moment) -> None:
        """Note what was seen and the pose it gave."""


class Hold(Filled):
    """Where a marker was last seen, in the root's frame; the root is that which the estimator expects."""

    def __init__(self, given: Given) -> None:
        super().__init__(given)
        start = given.query.start
        self._last_m = (given.query.marker_m[0] - start.position_m) @ start.rotation

    def place_m(self, n: int, frame: MarkerFrame) -> Floats:
        """Carry the last places along with the root."""
        root = self.estimator.predict(frame.t_capture_ns) or self.query.start
        return np.asarray(self._last_m @ root.rotation.T + root.position_m)

    def note(self, frame: MarkerFrame, moment: Moment) -> None:
        """Keep what is seen in the solved root's frame."""
        local_m = (frame.point_m - moment.position_m) @ moment.rotation
        self._last_m = np.where(frame.valid[:, None], local_m, self._last_m)


class Linear(Filled):
    """On the straight line from where a marker was last seen to where it will be seen next: not to be had live."""

    def __init__(self, given: Given) -> None:
        super().__init__(given)
        self._place_m = interpolated(given.query)

    def place_m(self, n: int, frame: MarkerFrame) -> Floats:
        """Look up."""
        return np.asarray(self._place_m[n])


def interpolated(query: Query) -> Floats:
    """Give the markers with their gaps bridged by straight lines, (N, M, 3) [m]; ends are held."""
    place, frames = query.marker_m.copy(), np.arange(len(query))
    for m in range(place.shape[1]):
        seen = query.visible[:, m]
        for axis in range(3):
            place[:, m, axis] = np.interp(frames, frames[seen], query.marker_m[seen, m, axis])
    return place


class StyleAlone:
    """The style's synthesis from the seen markers and its own past, frame after frame; no database.

    Where it comes to be far from all training poses, its past has led it astray: the next frame is sought anew.
    """

    def __init__(self, given: Given) -> None:
        assert given.style is not None
        self._settings, self._query = given.settings.solve, given.query
        self._synthesizer = Synthesizer([given.style], skeleton=given.query.subject.skeleton)
        self._estimator = given.estimator()  # for the kinematics of the markers
        self._static: list[Floats] = []
        self._history = History()
        self._last: Synthesis | None = None

    def step(self, n: int, frame: MarkerFrame) -> Answer:
        """Synthesize, warm from the last frame; the root is expected where it was heading."""
        s, subject = self._settings, self._query.subject
        expected = self._history.predict(frame.t_capture_ns, s.velocity_gain) or self._query.start
        sigma = np.where(subject.markers.torso, s.torso_sigma_m, s.limb_sigma_m)
        seen = observations_from_markers(frame, RIG, sigma)
        prior = RootPrior(expected.rotation, expected.position_m, s.root_sigma_rad, s.root_sigma_m)
        handles = Handles(subject.joint, subject.offset_m)
        asked = Constraints(handles, seen, root=prior, robust_sigmas=ROBUST_SIGMAS)
        found = self._synthesizer.synthesize(asked, self._last, self._past())
        self._last = found if found.variance < ASTRAY else None
        self._static.append(static_features(found.rotvec))
        moment = Moment(frame.t_capture_ns, found.rotvec, matrix_from_rotvec(found.rotvec[0]), found.root_m)
        self._history = self._history.then(moment, s.velocity_share)
        return moment, self._estimator.world(moment)

    def _past(self) -> Past | None:
        """Give the features one and two steps before, None while there are not so many frames."""
        if len(self._static) < 2 * STEP_FRAMES:
            return None
        return Past(self._static[-STEP_FRAMES], self._static[-2 * STEP_FRAMES])


class Steady(Record):
    """A record that has made up its mind: one weight for all limbs, whatever rehearsals say."""

    def weights(self) -> Floats:
        """Give the weight of a guess for every limb and the trunk, (L + 1,)."""
        return np.full(len(self.count), BOTH_WEIGHT)


class Chosen(Local):
    """The estimator with the style to fill in, as live: how much it counts, its rehearsals tell."""

    def __init__(self, given: Given) -> None:
        super().__init__(given)
        assert given.style is not None
        self.filler = Filler(StyleModel(given.style), given.query.subject, deepcopy(given.record))
        self.estimator.filler = self.filler


class Both(Chosen):
    """The estimator with the style to fill in, which always counts the same."""

    def __init__(self, given: Given) -> None:
        super().__init__(replace(given, record=Steady()))


def rehearsed(given: Given) -> Record:
    """Give the record of rehearsals after a query with every marker in sight."""
    chosen = Chosen(given)
    for n in range(len(given.query)):
        chosen.step(n, given.query.frame(n))
    return chosen.filler.record


METHODS: dict[str, Callable[[Given], MissingMethod]] = {
    "hold": Hold,
    "linear": Linear,
    "local": Local,
    "style": StyleAlone,
    "both": Both,
    "chosen": Chosen,
}
OF_STYLE = ("style", "both", "chosen")


def method(name: str, given: Given) -> MissingMethod:
    """Make a method by its name. Raises DatabaseError: no such method."""
    if name not in METHODS:
        raise DatabaseError(f"{name!r} is no method; take {', '.join(METHODS)}")
    return METHODS[name](given)
