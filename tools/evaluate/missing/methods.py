"""Methods that find poses while some of the markers are missing.

`hold` and `linear` give missing markers a position with a large sigma, and the local model solves for all of them. `local` is
the estimator without a pose model, `synthesis` a style alone, `fixed` the estimator with the style filling in at a fixed weight.
As in live capture, weighted by held-out checks, fill in: in `style` the style, in `sparse` a dictionary, in `choice` whichever of
the two these checks favour for a limb.
"""

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

import numpy as np

from capture.packets import MarkerFrame
from config.arrays import Floats
from config.settings import Settings
from database.geometry.rotations import matrix_from_rotvec
from reconstruct.body_state import BodyState
from reconstruct.constraints import Constraints, Handles, RootConstraint
from reconstruct.missing.fill_in import FillIn, HeldOutRecord
from reconstruct.missing.pose_model import PoseModel
from reconstruct.missing.sparse import SparsePoseModel
from reconstruct.missing.style import StyleModel
from reconstruct.models.sparse.model import PoseDictionary
from reconstruct.models.style.features import STEP_S, compute_static_features
from reconstruct.models.style.model import Style
from reconstruct.models.style.synthesis.synthesizer import PastFeatures, Synthesis, Synthesizer
from reconstruct.observations import observations_from_markers
from reconstruct.search.index import SearchIndex
from reconstruct.track.estimator import Estimator
from tools.evaluate.constant_velocity import VELOCITY_GAIN, VELOCITY_SHARE, MotionHistory
from tools.evaluate.queries import FPS, RIG, MotionQuery

FILLED_SIGMA_M = 0.05  # of a marker whose position is held or interpolated
ROBUST_SIGMAS = 3.0
MAX_VARIANCE = 0.3  # of a synthesis, as a share of the largest possible, for the next to start from it
BOTH_WEIGHT = 0.0625  # of the style's prediction; the middle of those that held-out checks try
STEP_FRAMES = round(STEP_S * FPS)


@dataclass(frozen=True, slots=True)
class Answer:
    """A pose, its markers, (M, 3) [m], and how far off its joints may be, (J,) [m], None where nobody knows."""

    state: BodyState
    marker_m: Floats
    error_m: Floats | None = None


@dataclass(frozen=True, slots=True)
class SolvedMarkers:
    """Poses of N frames.

    Attributes:
        rotvec: (N, J, 3) [rad].
        root_m: (N, 3) [m].
        marker_m: (N, M, 3) [m].
        error_m: expected of the joints, (N, J) [m], NaN where nobody knows.
        frame_ms: mean processor time of a frame.
    """

    rotvec: Floats
    root_m: Floats
    marker_m: Floats
    error_m: Floats
    frame_ms: float


class MissingMethod(Protocol):
    """Finds the pose and all markers of consecutive frames."""

    def step(self, n: int, frame: MarkerFrame) -> Answer:
        """Return the pose and all markers of frame n of the query."""


@dataclass(frozen=True, slots=True)
class MethodInput:
    """Inputs of a method: the query with its gaps, the search index of its subject, settings, and the style, if any.

    Attributes:
        dictionary: dictionary of poses, if any.
        records: records of the held-out checks of both on the motion seen whole before, by `style` and `sparse`.
    """

    query: MotionQuery
    index: SearchIndex
    settings: Settings
    style: Style | None
    dictionary: PoseDictionary | None = None
    records: Mapping[str, HeldOutRecord] = field(default_factory=dict)

    def estimator(self) -> Estimator:
        """Return the estimator of live capture."""
        return Estimator(self.query.subject, self.index.examples, RIG, self.settings.solve, self.index.search())


class LocalMethod:
    """The estimator, with a style filling in or without."""

    def __init__(self, given: MethodInput) -> None:
        self.query, self.estimator = given.query, given.estimator()

    def step(self, n: int, frame: MarkerFrame) -> Answer:
        """Estimate, and add the estimate to the history; where there is none, return the predicted pose."""
        estimate = self.estimator.estimate(frame, self.query.start if n == 0 else None)
        if estimate is None:
            state = self.estimator.predict(frame.t_capture_ns) or self.query.start
            return Answer(state, self.estimator.world(state))
        self.estimator.accept(estimate)
        return Answer(estimate.state, estimate.marker_m, self.estimator.error_m(estimate))


class SolvedFillMethod(LocalMethod):
    """Missing markers are given a position, and all of them are solved for."""

    def step(self, n: int, frame: MarkerFrame) -> Answer:
        """Fill in and solve; the returned markers are the filled ones where they are missing."""
        missing = ~frame.valid
        filled_m = self.fill(n, frame)
        covariance = np.where(missing[:, None, None], FILLED_SIGMA_M**2 * np.eye(3), frame.covariance_m2)
        point, shown = np.where(missing[:, None], filled_m, frame.point_m), np.ones(len(missing), bool)
        filled = replace(frame, valid=shown, seen=np.stack([shown, shown]), point_m=point, covariance_m2=covariance)
        found = super().step(n, filled)
        self.observe(frame, found.state)
        return replace(found, marker_m=np.where(missing[:, None], filled_m, found.marker_m))

    def fill(self, n: int, frame: MarkerFrame) -> Floats:
        """Return positions for the missing markers, (M, 3) [m]; those of the others are not used."""
        raise NotImplementedError

    def observe(self, frame: MarkerFrame, state: BodyState) -> None:
        """Take notice of the markers seen and of their pose."""


class HoldMethod(SolvedFillMethod):
    """A missing marker stays where it was last seen, in the frame of the root that the estimator predicts."""

    def __init__(self, given: MethodInput) -> None:
        super().__init__(given)
        start = given.query.start
        self._last_m = (given.query.marker_m[0] - start.position_m) @ start.rotation

    def fill(self, n: int, frame: MarkerFrame) -> Floats:
        """Move the last positions with the root."""
        root = self.estimator.predict(frame.t_capture_ns) or self.query.start
        return np.asarray(self._last_m @ root.rotation.T + root.position_m)

    def observe(self, frame: MarkerFrame, state: BodyState) -> None:
        """Store the seen markers in the frame of the solved root."""
        local_m = (frame.point_m - state.position_m) @ state.rotation
        self._last_m = np.where(frame.valid[:, None], local_m, self._last_m)


class LinearMethod(SolvedFillMethod):
    """A missing marker moves in a straight line from where it was last seen to where it is seen next; impossible live."""

    def __init__(self, given: MethodInput) -> None:
        super().__init__(given)
        self._filled_m = interpolated(given.query)

    def fill(self, n: int, frame: MarkerFrame) -> Floats:
        """Look up."""
        return np.asarray(self._filled_m[n])


def interpolated(query: MotionQuery) -> Floats:
    """Return the markers with gaps interpolated linearly, (N, M, 3) [m], and constant at the ends."""
    filled_m, frames = query.marker_m.copy(), np.arange(len(query))
    for m in range(filled_m.shape[1]):
        seen = query.visible[:, m]
        for axis in range(3):
            filled_m[:, m, axis] = np.interp(frames, frames[seen], query.marker_m[seen, m, axis])
    return filled_m


class SynthesisMethod:
    """The style's synthesis from the seen markers and its own past poses; no database.

    Where the result is far from all training poses, the past was misleading: the next frame does not start from it.
    """

    def __init__(self, given: MethodInput) -> None:
        assert given.style is not None
        self._settings, self._query = given.settings.solve, given.query
        self._synthesizer = Synthesizer([given.style], skeleton=given.query.subject.skeleton)
        self._estimator = given.estimator()  # for the kinematics of the markers
        self._static: list[Floats] = []
        self._history = MotionHistory()
        self._last: Synthesis | None = None

    def step(self, n: int, frame: MarkerFrame) -> Answer:
        """Synthesize, starting from the last frame, with the predicted root as a prior."""
        s, subject = self._settings, self._query.subject
        expected = self._history.predict(frame.t_capture_ns, VELOCITY_GAIN) or self._query.start
        sigma = np.full(len(subject.markers), s.marker_sigma_m)
        seen = observations_from_markers(frame, RIG, sigma)
        prior = RootConstraint(expected.rotation, expected.position_m, s.root_sigma_rad, s.root_sigma_m)
        handles = Handles(subject.joint, subject.offset_m)
        constraints = Constraints(handles, seen, root=prior, robust_sigmas=ROBUST_SIGMAS)
        found = self._synthesizer.synthesize(constraints, self._last, self._past())
        self._last = found if found.variance < MAX_VARIANCE else None
        self._static.append(compute_static_features(found.rotvec))
        state = BodyState(frame.t_capture_ns, found.rotvec, matrix_from_rotvec(found.rotvec[0]), found.root_m)
        self._history = self._history.then(state, VELOCITY_SHARE)
        return Answer(state, self._estimator.world(state))

    def _past(self) -> PastFeatures | None:
        """Return the features one and two steps before, None at the beginning."""
        if len(self._static) < 2 * STEP_FRAMES:
            return None
        return PastFeatures(self._static[-STEP_FRAMES], self._static[-2 * STEP_FRAMES])


class FixedRecord(HeldOutRecord):
    """A record with the same weight for all limbs, whatever held-out checks find."""

    def weights(self) -> tuple[Floats, Floats]:
        """Return the weight of a prediction for every limb and the trunk, (L + 1,), and that no loss is left, (L + 1,)."""
        return np.full(len(self.count), BOTH_WEIGHT), np.zeros(len(self.count))


class FillMethod(LocalMethod):
    """The estimator with pose models filling in, `style`, `sparse` or both, weighted by their records."""

    def __init__(self, given: MethodInput, names: tuple[str, ...], fixed: bool = False) -> None:
        super().__init__(given)
        subject, models = given.query.subject, dict[str, PoseModel]()
        if "style" in names and given.style is not None:
            models["style"] = StyleModel(given.style)
        if "sparse" in names and given.dictionary is not None:
            models["sparse"] = SparsePoseModel(given.dictionary, subject.skeleton)
        records = {name: FixedRecord() for name in names} if fixed else deepcopy(dict(given.records))
        self.filler = FillIn(models, subject, records)
        self.estimator.filler = self.filler


def checked_records(given: MethodInput) -> dict[str, HeldOutRecord]:
    """Return the records of held-out checks of all pose models after a query with all markers seen."""
    method = FillMethod(given, ("style", "sparse"))
    for n in range(len(given.query)):
        method.step(n, given.query.frame(n))
    return method.filler.records


METHODS: dict[str, Callable[[MethodInput], MissingMethod]] = {
    "hold": HoldMethod,
    "linear": LinearMethod,
    "local": LocalMethod,
    "synthesis": SynthesisMethod,
    "fixed": partial(FillMethod, names=("style",), fixed=True),
    "style": partial(FillMethod, names=("style",)),
    "sparse": partial(FillMethod, names=("sparse",)),
    "choice": partial(FillMethod, names=("style", "sparse")),
}
WITH_STYLE, WITH_DICTIONARY = ("synthesis", "fixed", "style", "choice"), ("sparse", "choice")
