"""The tracker: hypotheses from moment to moment, begun by acquisition, which is asked again where none explains what is seen."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calibration.subject.subject import Subject
from capture.packets import MarkerFrame, Points, Views, find_lone_view
from capture.stereo.marker_frames import build_marker_frame, frame_from_view
from capture.stereo.matching import match
from config.settings import Settings
from database.geometry.rigid import RigidMotion
from reconstruct.acquire.monocular import ViewAcquirer
from reconstruct.body_state import BodyState
from reconstruct.track.acquisition import Acquirer
from reconstruct.track.association import ExpectedMarkers, Sighting, compute_label_cost
from reconstruct.track.estimator import Estimate, Estimator, EstimatorMemory
from reconstruct.track.hypotheses import UNUSUAL, Branch, Hypothesis, compute_misfit, follow_branch, predict_markers, track
from reconstruct.track.landmarks import find_body, is_turned

MIN_BLOBS = 4  # of a view for a body to be sought in it
MAX_GAP_S = 1.0  # after a longer pause all begins anew
AVERAGE_S, SEEK_S = 0.2, 0.25  # time constant of the misfit, and how often a body is sought while it is high
MANY_TIMES = 6  # in vain until it is sought no oftener than that; each interval before is half as long as the next
OTHER_M = 0.1  # a pose is another one if a marker is so far off
NEVER_NS = -(10**18)
ANEW = 5.0  # by how much less likely a pose that was found anew is, as a natural logarithm


@dataclass(frozen=True, slots=True)
class TrackedMoment:
    """Result of tracking a moment.

    Attributes:
        frame: labelled markers.
        hypotheses: hypotheses after the moment, the likeliest first.
        acquired: whether the first was found anew.
        switched: whether it does not go on from the first of the moment before.
        unusual: whether the pose is far from the observations.
    """

    frame: MarkerFrame
    hypotheses: tuple[Hypothesis, ...]
    acquired: bool = False
    switched: bool = False
    unusual: bool = False

    @property
    def estimate(self) -> Estimate | None:
        """The pose of the likeliest hypothesis."""
        return self.hypotheses[0].estimate if self.hypotheses else None


class Tracker:
    """Follows one subject; hypotheses: after the last moment; rig: in the world."""

    def __init__(
        self, subject: Subject, estimator: Estimator, acquirer: Acquirer, view_acquirer: ViewAcquirer, settings: Settings
    ) -> None:
        self._subject, self._estimator, self._settings = subject, estimator, settings
        self._acquirer, self._view_acquirer = acquirer, view_acquirer
        self.forget()

    def forget(self) -> None:
        """Forget all moments."""
        self.hypotheses: tuple[Hypothesis, ...] = ()
        self._misfit, self._sought = 0.0, (NEVER_NS, 0, 0)
        self._last_ns: int | None = None
        self._estimator.forget()
        self._acquirer.forget()
        self._view_acquirer.forget()

    def move(self, motion: RigidMotion) -> None:
        """Go on in a world that is moved."""
        self.hypotheses = tuple(each.moved(motion) for each in self.hypotheses)
        self._acquirer.forget()

    def expect(self, t_ns: int) -> list[ExpectedMarkers]:
        """Return where each hypothesis expects the markers at a time."""
        if self._last_ns is not None and not 0 < t_ns - self._last_ns < MAX_GAP_S * 1e9:
            self.hypotheses = ()
        return [predict_markers(each, t_ns, self._estimator, self._settings.label) for each in self.hypotheses]

    def step(self, views: Views, points: Points, expected: Sequence[ExpectedMarkers]) -> TrackedMoment:
        """Track a moment; points: points of the views; expected: markers expected in this moment."""
        before, estimator, t_ns = self.hypotheses, self._estimator, views.t_capture_ns
        sighting = Sighting(views, estimator.rig, self._subject.markers, self._settings.label)
        found = track(before, expected, sighting, points, estimator) if before else []
        switched = bool(found) and len(before) > 1 and not _continues_from(found[0], before[0])
        acquired = False
        if not found or self._is_due(found[0], t_ns, len(points.point_m)):
            anew = self._acquired(sighting, points, found, expected)
            if anew:
                acquired = not found or anew[0].score > found[0].score
                found = sorted([*found, *anew], key=lambda each: -each.score)[: self._settings.label.beam]
            # What was in vain is tried again at longer and longer intervals, unless more is seen.
            self._sought = (NEVER_NS, 0, 0) if acquired else (t_ns, len(points.point_m), self._sought[2] + 1)
        self.hypotheses, self._last_ns = tuple(self._sure_enough(found)), t_ns
        if not self.hypotheses:
            markers = self._subject.markers
            nothing = np.full(int(np.count_nonzero(markers.worn)), -1, np.int64)
            return TrackedMoment(build_marker_frame(views, points, nothing).spread(markers.worn), ())
        first = self.hypotheses[0]
        estimator.memory = first.memory
        estimator.teach(first.estimate)
        self._judge(first, acquired)
        return TrackedMoment(first.frame, self.hypotheses, acquired, switched, self._misfit > UNUSUAL)

    def _judge(self, first: Hypothesis, acquired: bool) -> None:
        """Average how far the likeliest pose is from what is seen."""
        now = compute_misfit(first)
        self._misfit = now if acquired else self._misfit + (1.0 - math.exp(-1.0 / (60.0 * AVERAGE_S))) * (now - self._misfit)

    def _is_due(self, first: Hypothesis, t_ns: int, n_points: int) -> bool:
        """Return whether a body is to be sought anywhere, among so many points."""
        sought_ns, among, times = self._sought
        is_new = n_points > among or t_ns - sought_ns > 1e9 * min(SEEK_S * 2.0 ** (times - MANY_TIMES), SEEK_S)
        return is_new and (is_turned(first.exchanged) or max(self._misfit, compute_misfit(first)) > UNUSUAL)

    def _sure_enough(self, found: Sequence[Hypothesis]) -> list[Hypothesis]:
        """Return the hypotheses that still say where the body is."""
        limit2 = self._settings.label.give_up_m**2
        return [each for each in found if np.trace(each.belief.covariance[69:72, 69:72]) < 3.0 * limit2]

    def _acquired(
        self, sighting: Sighting, points: Points, found: Sequence[Hypothesis], expected: Sequence[ExpectedMarkers]
    ) -> list[Hypothesis]:
        """Return hypotheses of a body that is sought anywhere, the likeliest first; none where there is none, or it is known."""
        self._estimator.memory = found[0].memory if found else EstimatorMemory()
        if not self._subject.markers.worn.all():
            return self._found_by_landmarks(sighting, found)
        views = sighting.views
        camera = find_lone_view(views, MIN_BLOBS)
        last = found[0].belief.state if found else None
        new = self._acquire(views, points, last) if camera is None else self._acquire_in_view(views, camera, last, bool(found))
        if new is None:
            return []
        frame, start = new
        estimate = self._estimator.estimate(frame, start)
        if estimate is None or not np.isfinite(estimate.marker_m).all() or _is_known(estimate, found):
            return []
        score = 0.0
        if found:
            score = found[0].score - ANEW + self._gain(estimate, expected[0]) - self._gain(found[0].estimate, expected[0])
        return [follow_branch(Branch(None, estimate, score), self._estimator)]

    def _found_by_landmarks(self, sighting: Sighting, found: Sequence[Hypothesis]) -> list[Hypothesis]:
        """Return hypotheses of bodies that the landmarks of two views show."""
        bodies = find_body(sighting, self._estimator)
        # Where what is followed was found again, the others are as likely beside it as they were found to be.
        known = [each.cost for each in bodies if _is_known(each.estimate, found[:1])]
        before, least = found[0].score - ANEW if found else 0.0, min(known or [each.cost for each in bodies], default=0.0)
        new = (body for body in bodies if not _is_known(body.estimate, found))
        branches = (Branch(None, body.estimate, before + least - body.cost, body.states) for body in new)
        anew = [follow_branch(branch, self._estimator) for branch in branches]
        return [each for each in anew if compute_misfit(each) < UNUSUAL]

    def _gain(self, estimate: Estimate, expected: ExpectedMarkers) -> float:
        """Return ln of the probability of a frame's labels and of the markers where they are."""
        return self._estimator.log_evidence(estimate) - compute_label_cost(estimate.frame, expected, self._settings.label)

    def _acquire(self, views: Views, points: Points, last: BodyState | None) -> tuple[MarkerFrame, BodyState] | None:
        """Return labels without a prediction, and the pose to start from."""
        rig = self._estimator.rig
        if last is not None:  # what was expected may have led the matching of the views astray
            points = match(views, rig, self._settings.match, None)
        found = self._acquirer.acquire(
            points.point_m, lambda choice: build_marker_frame(views, points, choice), views.t_capture_ns, last
        )
        if found is None or not found.trusted:
            return None
        return build_marker_frame(views, points, found.point_of_marker), found.state

    def _acquire_in_view(
        self, views: Views, camera: int, last: BodyState | None, followed: bool
    ) -> tuple[MarkerFrame, BodyState] | None:
        """Return labels of the one view that shows the performer, without a prediction, and the pose to start from."""
        found = self._view_acquirer.acquire(self._estimator.rig.cameras[camera], views[camera].points_px, last, followed)
        if found is None or not found.trusted:
            return None
        start = BodyState(views.t_capture_ns, found.joints, found.rotation, found.position_m)
        return frame_from_view(views, camera, found.blob_of_marker), start


def _is_known(estimate: Estimate, found: Sequence[Hypothesis]) -> bool:
    """Return whether a pose is one of a hypothesis."""
    known = (each.estimate.marker_m for each in found)
    return any(np.linalg.norm(marker_m - estimate.marker_m, axis=1).max() < OTHER_M for marker_m in known)


def _continues_from(after: Hypothesis, before: Hypothesis) -> bool:
    """Return whether a hypothesis goes on from another: its prediction began at that pose."""
    return after.estimate.origin is before.belief
