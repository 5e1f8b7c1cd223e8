"""The step from the cameras' blobs to a pose: match, track, publish, finish. Live, replay and simulation all go through it."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from calibration.camera import Rig
from calibration.subject.subject import Subject
from calibration.world import move_rig
from capture.packets import MarkerFrame, Views
from capture.stereo.choice import drop_outvoted_views
from capture.stereo.matching import add_rig_error, match
from config.arrays import Floats
from config.joints import N_JOINTS
from config.settings import Settings
from database.geometry.rigid import RigidMotion
from reconstruct.acquire.monocular import ViewAcquirer
from reconstruct.body_state import BodyState, build_tpose
from reconstruct.doubt import Doubt
from reconstruct.finish.stage import Finish
from reconstruct.levelling import MovingWorld
from reconstruct.missing.fill_in import FillIn
from reconstruct.missing.pose_model import PoseModel
from reconstruct.missing.sparse import SparsePoseModel
from reconstruct.missing.style import StyleModel
from reconstruct.models.sparse.model import read_dictionary
from reconstruct.models.style.model import Style
from reconstruct.pose import Pose, TrackingState, build_pose_packet
from reconstruct.search.examples import PoseTable, collect_root_rotvec
from reconstruct.search.index import load_search_index
from reconstruct.solve.certainty import MAX_ERROR_M
from reconstruct.track.acquisition import Acquirer
from reconstruct.track.estimator import Estimator
from reconstruct.track.false_detections import FalseDetections
from reconstruct.track.landmarks import mark_absent
from reconstruct.track.paths import Delay
from reconstruct.track.publish import estimate_errors, judge_tracking_state
from reconstruct.track.tracker import TrackedMoment, Tracker
from reconstruct.warm import project_tpose, repeat_views, warm_estimator

Clock = Callable[[], int]
HELD_M_S = 0.5  # by which the expected error of a held pose grows


def _return_zero_clock() -> int:
    """Return zero where nobody measures."""
    return 0


@dataclass
class Pipeline:
    """Turns views into poses for one rig, subject and database; remembers the last poses.

    Where the rig knows no floor it is moved, between two steps, into the world that the first poses show.

    Attributes:
        hidden: names of markers kept from the published poses, which a second estimator solves: labels are made with all
            markers, so that the prediction of the hidden ones can be scored.
        clock: nanoseconds, for the latencies by stage.
        markers, views: labelled markers of the last views, and these views.
    """

    rig: Rig
    subject: Subject
    database: PoseTable
    settings: Settings
    hidden: Collection[str] = ()
    clock: Clock = _return_zero_clock
    markers: MarkerFrame | None = field(default=None, init=False)
    views: Views | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        index = load_search_index(self.subject, self.database)
        solve = self.settings.solve
        self._visible = np.array([name not in self.hidden for name in self.subject.markers.names])
        self._worn = self.subject.markers.worn
        self._all_visible = bool(self._visible.all())
        # One estimator for labels and, where markers are hidden, another for what is published.
        n_estimators = 1 if self._all_visible else 2
        self._estimators = [Estimator(self.subject, index.examples, self.rig, solve, index.search()) for _ in range(n_estimators)]
        self._estimator = self._estimators[0]
        acquirer = Acquirer(self.subject, index.examples, self._estimator, solve, collect_root_rotvec(self.database))
        self._acquirer, self._view_acquirer = acquirer, ViewAcquirer(self.subject, index.examples)
        self._tracker = Tracker(self.subject, self._estimator, acquirer, self._view_acquirer, self.settings)
        self._delay = Delay(self.settings.label.lag_s, solve) if self.settings.label.lag_s > 0.0 else None
        self._false_detections = FalseDetections(len(self.rig))
        self._finish = Finish(self.subject, self.database, self.settings)
        self._dictionary: SparsePoseModel | None = None
        if self.settings.fill.uses_dictionary and self._estimator.joins_models:
            self._dictionary = SparsePoseModel(read_dictionary(Path(self.settings.fill.dictionary)), self.subject.skeleton)
        self._first_rig = self.rig
        self._state: BodyState | None = None  # that was published last, with its expected errors
        self._error_m: Floats | None = None
        self._held_ns = 0
        self._begin_world()
        self.take_style(None)

    def warm(self, views: Views | None = None) -> None:
        """Compile and run every kernel once, on synthetic markers of the T-pose, and forget it again."""
        views = project_tpose(self.rig, self.subject) if views is None else views
        clock, self.clock = self.clock, _return_zero_clock
        fills_in = self._estimator.joins_models and (self.settings.fill.uses_style or self._dictionary is not None)
        for later in repeat_views(views, 3):
            pose = self.step(later)
        warm_estimator(self._estimator, self.rig, fills_in)
        self._finish.warm(pose)
        self._view_acquirer.acquire(self.rig.cameras[0], views[0].points_px)
        self.clock = clock
        self.forget()

    def _begin_world(self) -> None:
        """Begin in the world of the rig that was given."""
        self._world = MovingWorld(self.subject.skeleton, self._first_rig.floor_known, self._first_rig.tilt_sigma_rad)
        self._take_rig(self._first_rig)

    def _take_rig(self, rig: Rig) -> None:
        """Use cameras that stand elsewhere in the world."""
        self.rig = rig
        for estimator in self._estimators:
            estimator.rig = rig
        self._acquirer.viewpoint_m = rig.middle_m

    def recentre(self) -> bool:
        """From the next step on have the performer stand over the origin and look along +Z; False where nobody was seen yet."""
        if self._state is None:
            return False
        self._world.recentre(self._state)
        return True

    def _move_world(self, motion: RigidMotion) -> None:
        """Go on in a world that is moved; what is filtered begins anew."""
        self._take_rig(replace(move_rig(self.rig, motion), floor_known=self._world.level))
        for estimator in self._estimators:
            estimator.move(motion, self.rig)
        self._tracker.move(motion)
        if self._delay is not None:
            self._delay.move(motion)
        if self._state is not None:
            self._state = self._state.moved(motion)
        self._finish.forget()

    def forget(self) -> None:
        """Forget all frames."""
        self._begin_world()
        self.markers = self._state = self._error_m = None
        self._held_ns = 0
        for part in (self._tracker, self._false_detections, self._finish):
            part.forget()
        if self._delay is not None:
            self._delay.forget()
        for estimator in self._estimators:
            estimator.forget()

    def take_style(self, style: Style | None) -> None:
        """Fill in by a style from the next step on, beside the dictionary if there is one; None: by no style, as at the start.

        A later style goes on with the record of the one before. Raises StyleError: one of other features.
        """
        fills_in = self.settings.fill.uses_style and self._estimator.joins_models
        model = StyleModel(style) if fills_in and style is not None else None
        for estimator in self._estimators:
            models: dict[str, PoseModel] = {} if self._dictionary is None else {"sparse": self._dictionary}
            if model is not None:
                models["style"] = model.fresh()
            records = {} if estimator.filler is None or style is None else estimator.filler.records
            estimator.filler = FillIn(models, self.subject, records) if models else None

    def step(self, views: Views) -> Pose:
        """Match, track and publish one moment. Never raises for what the cameras see: a lost marker is a status."""
        t0 = self.clock()
        if (motion := self._world.take()) is not None:
            self._move_world(motion)
        views = add_rig_error(views, self.settings.match.rig_sigma_px)
        expected = self._tracker.expect(views.t_capture_ns)
        worn = [each.only(self._worn) for each in expected]
        first, before = worn[0] if worn else None, self._tracker.hypotheses
        views = views if first is None else drop_outvoted_views(views, self.rig, first.point_m)
        everything, views = views, self._false_detections.without(views, self.rig, first)
        points = match(views, self.rig, self.settings.match, [point_m for each in worn for point_m in each.point_m])
        points = self._false_detections.without_lone(views, points)
        t1 = self.clock()
        tracked = self._tracker.step(views, points, expected)
        t2 = self.clock()
        told, told_views = (tracked, views) if self._delay is None else self._delay.step(before, tracked, views)
        pose = self._tell(told, told_views)
        self._false_detections.learn(everything, tracked.frame, pose.state is TrackingState.TRACKING)
        self._world.add(pose)
        t3 = self.clock()
        latency_ns = {"match": t1 - t0, "label": 0, "solve": t2 - t1, "finish": t3 - t2}
        if self._delay is not None:
            latency_ns["lag"] = views.t_capture_ns - pose.t_capture_ns
        return replace(pose, latency_ns=latency_ns)

    def flush(self) -> Iterator[Pose]:
        """Yield the poses of the last moments, which a lag kept back, once nothing more comes."""
        for tracked, views in self._delay.rest() if self._delay is not None else ():
            yield self._tell(tracked, views)

    def _tell(self, tracked: TrackedMoment, views: Views) -> Pose:
        """Publish a moment and finish its pose."""
        self.markers, self.views = tracked.frame, views
        near = None if tracked.estimate is None else tracked.estimate.near
        rows, weights = (None, None) if near is None else (near.rows, near.weights)
        pose = self._finish.step(self._published(tracked), rows, weights)
        exchanged = pose.exchanged if not tracked.hypotheses else mark_absent(tracked.hypotheses[0].exchanged, views)
        return replace(pose, doubts=find_doubts(tracked), n_views=len(views.present), exchanged=exchanged)

    def _published(self, tracked: TrackedMoment) -> Pose:
        """Build the packet of the likeliest pose, or of the last one where there is none."""
        frame, estimate = tracked.frame, tracked.estimate
        if estimate is None:
            return self._held(frame)
        self._state, self._held_ns = self._without_hidden_markers(tracked), frame.t_capture_ns
        self._error_m = estimate_errors(tracked.hypotheses, self._estimator)
        return self._packet(frame.only(self._visible), self._state, self._error_m)

    def _held(self, frame: MarkerFrame) -> Pose:
        """Build the packet of the last pose, ever less sure."""
        if self._state is None:
            nobody = BodyState(frame.t_capture_ns, build_tpose(), np.eye(3), np.zeros(3))
            return self._packet(frame, nobody, np.full(N_JOINTS, MAX_ERROR_M))
        held_s = 1e-9 * max(frame.t_capture_ns - self._held_ns, 0)
        error_m = np.full(N_JOINTS, MAX_ERROR_M) if self._error_m is None else self._error_m + HELD_M_S * held_s
        return self._packet(frame, replace(self._state, t_ns=frame.t_capture_ns), np.minimum(error_m, MAX_ERROR_M))

    def _without_hidden_markers(self, tracked: TrackedMoment) -> BodyState:
        """Return the pose as it is solved without the hidden markers; the last one where the others are too few."""
        first = tracked.hypotheses[0]
        state = first.belief.state
        if self._all_visible:
            return state
        blind, anew = self._estimators[1], first.estimate.origin is None
        own = blind.estimate(tracked.frame.only(self._visible), state if anew or blind.last is None else None)
        if own is not None:
            blind.accept(own)
        return state if blind.last is None else blind.last

    def _packet(self, frame: MarkerFrame, state: BodyState, error_m: Floats | None) -> Pose:
        """Build the packet of a pose, with the markers that may be used; error_m: of the joints, (J,) [m]."""
        marker_m, limits = self._estimator.world(state), self.settings.label
        told = judge_tracking_state(frame, self.subject, error_m, limits)
        return build_pose_packet(frame, told, state, marker_m, self.rig, self.subject, error_m)


def find_doubts(tracked: TrackedMoment) -> frozenset[Doubt]:
    """Return the reasons to doubt the labels or the pose of a moment."""
    told = {
        Doubt.FIT: tracked.unusual,
        Doubt.RIVALS: len(tracked.hypotheses) > 1,
        Doubt.EXCHANGED: tracked.switched,
    }
    return frozenset(doubt for doubt, holds in told.items() if holds)
