"""The step from the cameras' blobs to a pose: match, label, solve, finish. Live, replay and simulation all go through it."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

import numpy as np

from calibration.camera import Rig
from calibration.subject.subject import Subject
from calibration.world import move_rig
from capture.packets import MarkerFrame, Points, Views, find_lone_view
from capture.stereo.choice import leave_out_wrong
from capture.stereo.labels import ExpectedMarkers, frame_of_view, marker_frame
from capture.stereo.matching import match, with_rig_error
from config.arrays import Floats, all_finite
from config.joints import N_JOINTS
from config.settings import Settings
from database.geometry.kinematics import charted
from database.geometry.rigid import RigidMotion
from reconstruct.doubt import NO_DOUBT, Doubt
from reconstruct.estimator import Estimate, Estimator
from reconstruct.finish.stage import Finish
from reconstruct.history import BodyState
from reconstruct.labelling.acquisition import Acquirer
from reconstruct.labelling.alternatives import Alternatives
from reconstruct.labelling.false_detections import FalseDetections
from reconstruct.labelling.fit import Fit
from reconstruct.labelling.labeller import Labeller, opposite_markers
from reconstruct.labelling.monocular import ViewAcquirer
from reconstruct.labelling.plausibility import Plausibility, fits_poorly, residuals_m, same_labels
from reconstruct.labelling.rivals import Rivals
from reconstruct.labelling.shape import body_shape
from reconstruct.levelling import MovingWorld
from reconstruct.missing.fill_in import FillIn
from reconstruct.missing.pose_model import PoseModel
from reconstruct.missing.sparse import SparsePoseModel
from reconstruct.missing.style import StyleModel
from reconstruct.models.local.neighbourhood import Neighbourhood
from reconstruct.models.sparse.model import read_dictionary
from reconstruct.models.style.model import Style
from reconstruct.observations import monocular_rays
from reconstruct.pose import JointSource, Pose, TrackingState, pose_packet
from reconstruct.search.examples import PoseTable, root_rotvec
from reconstruct.search.index import search_index
from reconstruct.solve.certainty import MAX_ERROR_M
from reconstruct.tracking import Phase, Tracker
from reconstruct.warm import project_tpose, warm_estimator

Clock = Callable[[], int]
HELD_M_S = 0.5  # by which the expected error of a held pose grows
SCANT_ERROR = 2.0  # by which a pose that few markers hold is worse than its expected error


def _no_clock() -> int:
    """Return zero where nobody measures."""
    return 0


@dataclass
class Pipeline:
    """Turns views into poses for one rig, subject and database; remembers the last poses.

    hidden: names of markers kept from the published poses, which a second estimator solves: labels are made with all markers, so
    that the prediction of the hidden ones can be scored; clock: nanoseconds, for the latencies by stage; markers, views: of the
    last views, its labels and what these were chosen from. Where the rig knows no floor it is moved, between two steps, into the
    world that the first poses show.
    """

    rig: Rig
    subject: Subject
    database: PoseTable
    settings: Settings
    hidden: Collection[str] = ()
    clock: Clock = _no_clock
    markers: MarkerFrame | None = field(default=None, init=False)
    views: Views | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        index = search_index(self.subject, self.database)
        solve, label_settings = self.settings.solve, self.settings.label
        self._visible = np.array([name not in self.hidden for name in self.subject.markers.names])
        self._all_visible = bool(self._visible.all())
        # One estimator for labels and, where markers are hidden, another for what is published.
        n_estimators = 1 if self._all_visible else 2
        self._estimators = [Estimator(self.subject, index.examples, self.rig, solve, index.search()) for _ in range(n_estimators)]
        self._estimator = self._estimators[0]
        upright = root_rotvec(self.database)
        self._acquirer = Acquirer(self.subject, index.examples, self._estimator, solve, upright)
        self._view_acquirer = ViewAcquirer(self.subject, index.examples)
        shape = body_shape(self.subject, index.examples.pose)
        self._labeller = Labeller(label_settings, self.subject.markers.torso, opposite_markers(self.subject), shape)
        labelled = (self._labeller, self._estimator, self._estimate)
        self._rivals = Rivals(*labelled)
        self._alternatives = Alternatives(*labelled, self._rivals.may_be_exchanged)
        self._plausibility = Plausibility()
        self._fit = Fit(self.rig, self.subject)
        self._false_detections = FalseDetections(len(self.rig))
        self._tracker = Tracker(label_settings.coast_seconds)
        self._error_m: Floats | None = None  # of the pose that was published last
        self._finish = Finish(self.subject, self.database, self.settings)
        self._dictionary: SparsePoseModel | None = None
        if self.settings.fill.uses_dictionary and self._estimator.joins_models:
            self._dictionary = SparsePoseModel(read_dictionary(Path(self.settings.fill.dictionary)), self.subject.skeleton)
        self._first_rig = self.rig
        self._begin_world()
        self.take_style(None)

    @property
    def label_switches(self) -> int:
        """How often rival labels were found to be the right ones."""
        return self._rivals.switches

    def warm(self, views: Views | None = None) -> None:
        """Compile and run every kernel once, on synthetic markers of the T-pose, and forget it again."""
        views = project_tpose(self.rig, self.subject) if views is None else views
        clock, self.clock = self.clock, _no_clock
        fills_in = self._estimator.joins_models and (self.settings.fill.uses_style or self._dictionary is not None)
        for _ in range(3):
            pose = self.step(views)
        warm_estimator(self._estimator, self.rig, self._alternatives, fills_in)
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
        self.rig = self._fit.rig = rig
        for estimator in self._estimators:
            estimator.rig = rig
        self._acquirer.viewpoint_m = rig.middle_m

    def recentre(self) -> bool:
        """From the next step on have the performer stand over the origin and look along +Z; False where nobody was seen yet."""
        if self._tracker.published is None:
            return False
        self._world.recentre(self._tracker.published.state)
        return True

    def _move_world(self, motion: RigidMotion) -> None:
        """Go on in a world that is moved; what is filtered and what was doubted begins anew."""
        self._take_rig(replace(move_rig(self.rig, motion), floor_known=self._world.level))
        for estimator in self._estimators:
            estimator.move(motion, self.rig)
        self._tracker.move(motion)
        self._labeller.move(motion)
        for part in (self._rivals, self._plausibility, self._acquirer, self._finish):
            part.forget()

    def forget(self) -> None:
        """Forget all frames."""
        self._begin_world()
        self.markers = self._error_m = None
        self._tracker.reset()
        parts = (
            self._labeller,
            self._rivals,
            self._plausibility,
            self._fit,
            self._false_detections,
            self._view_acquirer,
            self._acquirer,
            self._finish,
        )
        for part in parts:
            part.forget()
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
        """Match, label and solve one moment. Never raises for what the cameras see: a lost marker is a status."""
        t0 = self.clock()
        if (motion := self._world.take()) is not None:
            self._move_world(motion)
        self._tracker.begin(views.t_capture_ns)
        views = with_rig_error(views, self.settings.match.rig_sigma_px)
        expected = self._expected(views.t_capture_ns)
        views = views if expected is None else leave_out_wrong(views, self.rig, expected.point_m)
        everything, views = views, self._false_detections.without(views, self.rig, expected)
        points = match(views, self.rig, self.settings.match, None if expected is None else expected.point_m)
        t1 = self.clock()
        frame, start = self._labelled(views, points, expected)
        t2 = self.clock()
        frame = self._false_detections.agreed(frame)
        estimate = self._estimate(frame, start)
        proposed, switches = None, self._rivals.switches
        if estimate is not None and start is None:
            frame, estimate, proposed = self._alternatives.best(frame, estimate)
        if start is None and expected is not None:
            frame, estimate = self._rivals.best(views, points, (frame, estimate), proposed)
        else:
            self._rivals.forget()
        self.markers, self.views = frame, views
        switches = self._rivals.switches - switches
        pose = self._missed(frame) if estimate is None else self._followed(frame, estimate, start is not None)
        doubts = self._doubts_of(frame, estimate, switches > 0)
        t3 = self.clock()
        self._false_detections.learn(everything, frame, pose.state is TrackingState.TRACKING)
        near = (None, None) if estimate is None else (estimate.near.rows, estimate.near.weights)
        pose = self._finish.step(pose, *near)
        self._world.add(pose)
        t4 = self.clock()
        latency_ns = {"match": t1 - t0, "label": t2 - t1, "solve": t3 - t2, "finish": t4 - t3}
        return replace(pose, doubts=doubts, latency_ns=latency_ns, n_views=len(views.present))

    def _expected(self, t_ns: int) -> ExpectedMarkers | None:
        """Predict every marker from the followed pose's motion and the residual it was last seen with."""
        followed, last, predicted = self._tracker.followed, self._estimator.history.last, self._estimator.predict(t_ns)
        if followed is None or last is None or predicted is None:
            return None
        ahead_s = (t_ns - last.t_ns) * 1e-9
        return self._labeller.expected(self._estimator.world(predicted), ahead_s, followed.marker_sigma_m)

    def _labelled(self, views: Views, points: Points, expected: ExpectedMarkers | None) -> tuple[MarkerFrame, BodyState | None]:
        """Label by the prediction, or by acquisition where there is none or it does not explain what is seen.

        Returns the frame and, after acquisition, the pose to start from.
        """
        frame = None if expected is None else self._labeller.label(views, points, self.rig, expected)
        camera = find_lone_view(views, self.settings.label.min_markers)
        if frame is not None and not (self._tracker.interrupted(views.t_capture_ns) or self._doubted(views, frame, camera)):
            return frame, None
        found = self._acquired(views, points, frame) if camera is None else self._acquired_in_view(views, frame, camera)
        if found is not None:
            return found
        if frame is None:
            frame = marker_frame(views, points, self.rig, np.full(len(self.subject.markers), -1, np.int64), None)
        return frame, None

    def _doubted(self, views: Views, frame: MarkerFrame, camera: int | None) -> bool:
        """Return whether labels leave too many points over, or blobs of the one camera that sees the performer."""
        if camera is None or frame.any_valid:
            if self._fit.seeks(views.t_capture_ns):
                return True
            return self._labeller.doubts(frame.valid, len(frame.extra_m))
        if self._tracker.rays_are_poor:
            return True
        seen = frame.seen[camera]
        return self._labeller.doubts(seen, len(views[camera]) - int(seen.sum()))

    def _acquired(self, views: Views, points: Points, frame: MarkerFrame | None) -> tuple[MarkerFrame, BodyState | None] | None:
        """Label by acquisition; None where what there is is better."""
        if frame is not None:
            # The performer may be elsewhere: then what was expected has led the matching of the views astray.
            points = match(views, self.rig, self.settings.match, None)
        found = self._acquirer.acquire(
            points.point_m,
            lambda choice: marker_frame(views, points, self.rig, choice, None),
            views.t_capture_ns,
            self._estimator.history.last,
        )
        if found is None or not found.trusted:
            return None
        if frame is not None and (found.point_of_marker >= 0).sum() < frame.valid.sum():
            return None
        new = marker_frame(views, points, self.rig, found.point_of_marker, None)
        return None if frame is not None and same_labels(new, frame) else (new, found.state)

    def _acquired_in_view(
        self, views: Views, frame: MarkerFrame | None, camera: int
    ) -> tuple[MarkerFrame, BodyState | None] | None:
        """Label the blobs of the one camera that sees the performer by acquisition; None where what there is is better."""
        t_ns, blobs = views.t_capture_ns, views[camera]
        misled = self._tracker.rays_are_poor
        if misled:
            self._tracker.retry()
        found = self._view_acquirer.acquire(self.rig.cameras[camera], blobs.points_px, self._estimator.history.last, misled)
        waited_s = np.inf if misled else 0.0 if frame is not None else self._tracker.searching_s(t_ns)
        if found is None or not found.trusted(waited_s):
            return None
        start = BodyState(t_ns, found.joints, found.rotation, found.position_m)
        new = frame_of_view(views, camera, found.blob_of_marker)
        if frame is not None and new.seen.sum() < frame.seen[camera].sum() - 1:
            return None
        estimate = self._estimate(new, start)
        return None if estimate is None or fits_poorly(estimate, new) else (new, start)

    def _estimate(self, frame: MarkerFrame, start: BodyState | None, near: Neighbourhood | None = None) -> Estimate | None:
        """Solve; None where too few markers are seen or the fit is implausible."""
        if self._is_scant(frame):
            if start is not None or not self._tracker.holds(int(frame.valid.sum()), frame.t_capture_ns):
                return None
        elif not (frame.any_valid or start is not None or self._tracker.followed is not None):
            return None
        estimate = self._estimator.estimate(frame, start, near)
        if estimate is None or not all_finite(estimate.marker_m):
            return None
        residual = residuals_m(frame, estimate.marker_m, self.rig)
        if len(residual) and median(residual.tolist()) > self.settings.label.max_residual_m:
            return None
        return estimate

    def _is_scant(self, frame: MarkerFrame) -> bool:
        """Return whether what is seen does not tell where the body is, but at most how the followed pose goes on.

        Hands and feet alone do not, unless it was known a moment ago.
        """
        if np.count_nonzero(frame.shown) < self.settings.label.min_markers:
            return True
        if np.count_nonzero(frame.shown & self.subject.markers.torso):
            return False
        both = np.count_nonzero(frame.valid) >= self.settings.label.min_markers
        return not (both and self._tracker.torso_is_recent(frame.t_capture_ns))

    def _followed(self, frame: MarkerFrame, estimate: Estimate, acquired: bool) -> Pose:
        """Remember a solved pose for the next frame, and build the packet of it, or of the last plausible one."""
        self._estimator.accept(estimate)
        rays = None if frame.any_valid else monocular_rays(frame, self.rig)
        self._labeller.remember(frame, estimate.marker_m, rays)
        torso_seen = bool(np.count_nonzero(frame.shown & self.subject.markers.torso))
        poor_rays = rays is not None and fits_poorly(estimate, frame)
        self._tracker.follow(frame.t_capture_ns, estimate.near.sigma_m, torso_seen, poor_rays)
        state = self._without_hidden_markers(frame, estimate)
        fits = self._fit.step(frame, estimate.marker_m, acquired)
        if not (self._plausibility.step(frame, estimate, acquired) and fits):
            self._tracker.withhold(frame.t_capture_ns, self._plausibility.astray)
            return self._last(frame)
        scant = self._is_scant(frame)
        publish = self._tracker.doubt if scant or self._rivals.unsettled else self._tracker.publish
        publish(state, frame.t_capture_ns)
        sigma_m = estimate.near.sigma_m if self._all_visible else None
        error_m = self._estimator.error_m(estimate)
        self._error_m = np.minimum(SCANT_ERROR * error_m, MAX_ERROR_M) if scant and error_m is not None else error_m
        pose = self._packet(frame, state, sigma_m, self._error_m)
        if self._tracker.phase is Phase.COASTING:  # of this frame all the same
            return replace(pose, joint_source=np.full(N_JOINTS, JointSource.INFERRED, np.uint8))
        return pose

    def _doubts_of(self, frame: MarkerFrame, estimate: Estimate | None, exchanged: bool) -> frozenset[Doubt]:
        """Return what speaks against the last frame; exchanged: other labels have turned out to be right."""
        if estimate is None:
            return NO_DOUBT
        fits = not (self._fit.doubted or self._plausibility.doubted)
        told = {Doubt.FIT: not fits, Doubt.FEW: self._is_scant(frame), Doubt.EXCHANGED: exchanged, **self._rivals.doubts}
        return frozenset(doubt for doubt, holds in told.items() if holds)

    def _without_hidden_markers(self, frame: MarkerFrame, estimate: Estimate) -> BodyState:
        """Return the pose as it is solved without the hidden markers; the last one where the others are too few."""
        if self._all_visible:
            return estimate.state
        blind = self._estimators[1]
        start = estimate.state if estimate.anew or blind.history.last is None else None
        own = blind.estimate(self._visible_part(frame), start)
        if own is not None:
            blind.accept(own)
        return estimate.state if blind.history.last is None else blind.history.last

    def _missed(self, frame: MarkerFrame) -> Pose:
        """Build the packet of a frame that was not solved."""
        self._labeller.coast()
        self._tracker.miss(frame.t_capture_ns)
        return self._last(frame)

    def _last(self, frame: MarkerFrame) -> Pose:
        """Build the packet of the last plausible pose."""
        if self._tracker.phase is Phase.SEARCHING:
            self._labeller.forget()
        published = self._tracker.published
        if published is None:
            rest = charted(np.broadcast_to(np.eye(3), (N_JOINTS, 3, 3)))
            return self._packet(frame, BodyState(frame.t_capture_ns, rest, np.eye(3), np.zeros(3)))
        held_s = 1e-9 * (frame.t_capture_ns - published.state.t_ns)
        error_m = None if self._error_m is None else np.minimum(self._error_m + HELD_M_S * max(held_s, 0.0), MAX_ERROR_M)
        return self._packet(frame, replace(published.state, t_ns=frame.t_capture_ns), error_m=error_m)

    def _packet(self, frame: MarkerFrame, state: BodyState, sigma_m: Floats | None = None, error_m: Floats | None = None) -> Pose:
        """Build the packet of a pose, with the markers that may be used.

        sigma_m: of the markers that were predicted, (M,) [m]; error_m: of the joints, (J,) [m].
        """
        phase, marker_m = self._tracker.phase.published, self._estimator.world(state)
        return pose_packet(self._visible_part(frame), phase, state, marker_m, self.rig, self.subject, sigma_m, error_m)

    def _visible_part(self, frame: MarkerFrame) -> MarkerFrame:
        """Return a frame without the hidden markers."""
        if self._all_visible:
            return frame
        return replace(frame, valid=frame.valid & self._visible, seen=frame.seen & self._visible)
