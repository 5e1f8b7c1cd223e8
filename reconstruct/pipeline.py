"""The step from two cameras' blobs to a pose: match, label, solve. Live, replay and simulation all go through it."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace

import numpy as np

from calibration.camera import Rig
from calibration.subject import Subject
from capture.labels import Expected, frame_of_view, label, marker_frame
from capture.matching import match, with_rig_error
from capture.packets import Floats, MarkerFrame, PairedBlobs, Points, lone_view
from config.joints import N_JOINTS
from config.settings import Settings
from database.kinematics import charted
from reconstruct.acquire import Acquirer
from reconstruct.acquire_view import ViewAcquirer
from reconstruct.basis import basis_for
from reconstruct.belief import Belief, alike, residuals_m, strained
from reconstruct.estimator import Estimate, Estimator
from reconstruct.examples import PoseTable
from reconstruct.fill_in import Filler
from reconstruct.fill_in_style import StyleModel
from reconstruct.finish import Finish
from reconstruct.history import Moment
from reconstruct.labeller import SECOND_OPINION, Labeller, exchanged, explained, opposite_markers
from reconstruct.neighbourhood import Neighbourhood
from reconstruct.packet import pose_packet
from reconstruct.pose import Pose, State
from reconstruct.reflections import Reflections
from reconstruct.sight import lines_of_sight
from reconstruct.style.model import Style
from reconstruct.warm import tpose_pair, warm_estimator

Clock = Callable[[], int]
ALIKE_ROWS = 16  # nearest poses that tell how likely these labels are at least
INTERRUPTED_S = 0.12  # labels are no longer sought by the last pose alone after a gap as long as this
STRAINED_FRAMES = 5  # for so long lines of sight may fit badly before others are looked for
LEVEL_COSINE = 0.998  # a vertical so near the world's Y is taken for it
NO_TORSO_S = 0.5  # for so long the other markers tell where the body is


def _no_clock() -> int:
    """Stand in for a clock where nobody measures."""
    return 0


@dataclass
class Pipeline:
    """Turns pairs of blobs into poses for one rig, subject and database; remembers the last poses.

    hidden: names of markers kept from the published poses, which a second, blind estimator solves: labels are made with all
    markers, so that the prediction of the hidden ones can be scored; clock: nanoseconds, for the latencies by stage.
    """

    rig: Rig
    subject: Subject
    database: PoseTable
    settings: Settings
    hidden: Collection[str] = ()
    clock: Clock = _no_clock
    up: Floats = field(init=False)  # of the world, (3,)
    markers: MarkerFrame | None = field(default=None, init=False)
    _tracked_ns: int | None = field(default=None, init=False)
    _torso_ns: int | None = field(default=None, init=False)
    _sought_ns: int | None = field(default=None, init=False)
    _shown: Moment | None = field(default=None, init=False)
    _shown_ns: int | None = field(default=None, init=False)
    _strained: int = field(default=0, init=False)
    _sigma_m: Floats | None = field(default=None, init=False)  # of the markers of the last tracked pose, if filled in
    _blind: Estimator | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        basis = basis_for(self.subject, self.database)
        examples = basis.examples
        self._estimator = Estimator(self.subject, examples, self.rig, self.settings.solve, basis.search())
        middle_m = 0.5 * (self.rig.left.center_m + self.rig.right.center_m)
        up = self.up = np.array([0.0, 1.0, 0.0]) if self.rig.floor_known else self.subject.up
        upright = self.database.rotvec[:, 0]
        self._acquirer = Acquirer(self.subject, examples, self._estimator, self.settings.solve, upright, middle_m, up)
        self._view_acquirer = ViewAcquirer(self.subject, examples, up)
        self._visible = np.array([name not in self.hidden for name in self.subject.markers.names])
        if not self._visible.all():
            self._blind = Estimator(self.subject, examples, self.rig, self.settings.solve, basis.search())
        for estimator in self._estimators():
            estimator.level = bool(up[1] > LEVEL_COSINE)
        self._labeller = Labeller(self.settings.label, self.subject.markers.torso, opposite_markers(self.subject))
        self._belief = Belief()
        self._reflections = Reflections()
        self._finish = Finish(self.subject, self.database, self.settings, self.rig.floor_known)

    def warm(self, pair: PairedBlobs | None = None) -> None:
        """Compile and run every kernel once, on synthetic markers of the T-pose, and forget it again."""
        pair = tpose_pair(self.rig, self.subject) if pair is None else pair
        hidden_clock, self.clock = self.clock, _no_clock
        for _ in range(3):
            pose = self.step(pair)
        warm_estimator(self._estimator, self.rig, self._fills)
        self._finish.warm(pose)
        self._view_acquirer.acquire(self.rig.left, pair.left.points_px)
        self.clock = hidden_clock
        self.forget()

    def forget(self) -> None:
        """Start anew, as with the first frame."""
        self._tracked_ns = self._torso_ns = self._sought_ns = self.markers = self._shown = self._shown_ns = self._sigma_m = None
        self._strained = 0
        parts = (self._labeller, self._belief, self._reflections, self._view_acquirer, self._acquirer, self._finish)
        for part in parts:
            part.forget()
        for estimator in self._estimators():
            estimator.forget()

    def take_style(self, style: Style | None) -> None:
        """Fill in by a style from the next step on; None: by the local model alone. Raises StyleError: one of other features."""
        model = StyleModel(style, self.up) if self._fills and style is not None else None
        for estimator in self._estimators():
            record = None if estimator.filler is None else estimator.filler.record
            estimator.filler = None if model is None else Filler(model.another(), self.subject, record)

    @property
    def _fills(self) -> bool:
        """Whether a style may fill in: the paper's model spans a few directions only, with no room for a guess beside them."""
        return self.settings.fill.style and self.settings.solve.model != "paper"

    def _estimators(self) -> list[Estimator]:
        """Give the estimator, and the blind one where there is one."""
        return [self._estimator] if self._blind is None else [self._estimator, self._blind]

    def step(self, pair: PairedBlobs) -> Pose:
        """Match, label and solve one pair. Never raises for what the cameras see: a lost marker is a status."""
        t0 = self.clock()
        pair = with_rig_error(pair, self.settings.match.rig_sigma_px)
        expected = self._expected(pair.t_capture_ns)
        whole, pair = pair, self._reflections.without(pair, self.rig, expected)
        points = match(pair, self.rig, self.settings.match, None if expected is None else expected.point_m)
        t1 = self.clock()
        frame, start = self._labelled(pair, points, expected)
        t2 = self.clock()
        frame, estimate = self._solved(self._reflections.agreed(frame), start)
        self.markers = frame
        pose = self._carried(frame) if estimate is None else self._tracked(frame, estimate, start is not None)
        t3 = self.clock()
        self._reflections.learn(whole, frame, pose.state is State.TRACKING)
        near = (None, None) if estimate is None else (estimate.near.rows, estimate.near.weights)
        pose = self._finish.step(pose, *near)
        t4 = self.clock()
        return replace(pose, latency_ns={"match": t1 - t0, "label": t2 - t1, "solve": t3 - t2, "finish": t4 - t3})

    def _expected(self, t_ns: int) -> Expected | None:
        """Predict every marker from the pose's motion and the residual it was last seen with."""
        last, predicted = self._estimator.history.last, self._estimator.predict(t_ns)
        if self._tracked_ns is None or last is None or predicted is None:
            return None
        return self._labeller.expected(self._estimator.world(predicted), (t_ns - last.t_ns) * 1e-9, self._sigma_m)

    def _labelled(self, pair: PairedBlobs, points: Points, expected: Expected | None) -> tuple[MarkerFrame, Moment | None]:
        """Label by the prediction, or by acquisition where there is none or it does not explain what is seen."""
        frame = None if expected is None else label(pair, points, self.rig, expected)
        camera = lone_view(pair, self.settings.label.min_markers)
        if frame is not None and not (self._interrupted(pair.t_capture_ns) or self._doubted(pair, frame, camera)):
            return frame, None
        if camera is not None:
            return self._acquired_in_view(pair, points, frame, camera)
        if expected is not None:
            # The performer may be elsewhere: then what was expected has led the matching of the views astray.
            points = match(pair, self.rig, self.settings.match, None)
        found = self._acquirer.seek(
            points.point_m,
            lambda choice: marker_frame(pair, points, self.rig, choice, None),
            pair.t_capture_ns,
            self._estimator.history.last,
        )
        fewer = found is not None and frame is not None and (found.point_of_marker >= 0).sum() < frame.valid.sum()
        if found is None or fewer or not found.trusted:
            nothing = np.full(len(self.subject.markers), -1, np.int64)
            return frame if frame is not None else marker_frame(pair, points, self.rig, nothing, None), None
        anew = marker_frame(pair, points, self.rig, found.point_of_marker, None)
        if frame is not None and alike(anew, frame):
            return frame, None
        return anew, found.moment

    def _interrupted(self, t_ns: int) -> bool:
        """Tell whether the last tracked pose is too old to label by: a limb has gone elsewhere by now."""
        return self._tracked_ns is not None and (t_ns - self._tracked_ns) * 1e-9 > INTERRUPTED_S

    def _doubted(self, pair: PairedBlobs, frame: MarkerFrame, camera: int | None) -> bool:
        """Tell whether labels leave too much over, of the points or of the blobs of the one camera that sees the performer."""
        if camera is None or frame.valid.any():
            return self._labeller.doubts(frame.valid, len(frame.extra_m))
        if self._strained >= STRAINED_FRAMES:
            return True
        seen = frame.seen[camera]
        return self._labeller.doubts(seen, len((pair.left, pair.right)[camera]) - int(seen.sum()))

    def _acquired_in_view(
        self, pair: PairedBlobs, points: Points, frame: MarkerFrame | None, camera: int
    ) -> tuple[MarkerFrame, Moment | None]:
        """Label the blobs of the one camera that sees the performer by acquisition; keep what there is if that is no better."""
        blobs = (pair.left, pair.right)[camera]
        misled = self._strained >= STRAINED_FRAMES
        self._strained -= 2 if misled else 0  # looks again the frame after next
        found = self._view_acquirer.acquire(self.rig.cameras[camera], blobs.points_px, self._estimator.history.last, misled)
        waited_s = np.inf if misled else 0.0 if frame is not None else self._waited_s(pair.t_capture_ns)
        if found is not None and found.trusted(waited_s):
            start = Moment(pair.t_capture_ns, found.joints, found.rotation, found.position_m)
            anew = frame_of_view(pair, camera, found.blob_of_marker)
            fewer = frame is not None and anew.seen.sum() < frame.seen[camera].sum() - 1
            estimate = None if fewer else self._believed(anew, start)
            if estimate is not None and not strained(estimate, anew):
                return anew, start
        nothing = np.full(len(self.subject.markers), -1, np.int64)
        return frame if frame is not None else marker_frame(pair, points, self.rig, nothing, None), None

    def _waited_s(self, t_ns: int) -> float:
        """Give how long the performer has been looked for in vain [s]."""
        if self._sought_ns is None:
            self._sought_ns = t_ns
        return (t_ns - self._sought_ns) * 1e-9

    def _solved(self, frame: MarkerFrame, start: Moment | None) -> tuple[MarkerFrame, Estimate | None]:
        """Solve, and once more with two near labels exchanged; None where too few are seen or the fit is not believed."""
        estimate = self._believed(frame, start)
        if estimate is not None and start is None:
            frame, estimate = explained(frame, estimate, self._labeller.rivals(frame), lambda other: self._believed(other, None))
        suspects = None if estimate is None or start is not None else self._suspects(frame, estimate)
        if estimate is None or suspects is None:
            return frame, estimate
        other_frame = exchanged(frame, *suspects)
        other = self._believed(other_frame, None, estimate.near)
        if other is None or other.energy >= estimate.energy - SECOND_OPINION:
            other = self._likelier(frame, other_frame, estimate, suspects)
        if other is None:
            return frame, estimate
        self._labeller.carry_m[list(suspects)] = 0.0
        return other_frame, other

    def _suspects(self, frame: MarkerFrame, estimate: Estimate) -> tuple[int, int] | None:
        """Give two markers whose labels may be exchanged; for one camera all that lie at one depth look near each other."""
        if frame.valid.any():
            return self._labeller.suspects(frame.valid, frame.point_m)
        sight = lines_of_sight(frame, self.rig)
        far = np.linalg.norm(estimate.moment.position_m - sight.from_m, axis=1, keepdims=True)
        return self._labeller.suspects(sight.alone, sight.from_m + far * sight.direction)

    def _likelier(self, frame: MarkerFrame, other: MarkerFrame, estimate: Estimate, suspects: tuple[int, int]) -> Estimate | None:
        """Start anew from other labels if the database has seen their like, but nothing near these: the past may be wrong too."""
        root = (estimate.moment.rotation, estimate.moment.position_m)
        near = estimate.near.rows[:ALIKE_ROWS]
        if frame.valid.any() and not self._estimator.may_be_likelier(frame, other, root, near, suspects):
            return None
        joints = self._estimator.likelier(frame, other, root)
        if joints is None:
            return None
        return self._believed(other, replace(estimate.moment, joints=joints))

    def _believed(self, frame: MarkerFrame, start: Moment | None, near: Neighbourhood | None = None) -> Estimate | None:
        """Solve; None where too few markers are seen or the fit is not believed."""
        s = self.settings.label
        seen = frame.seen.any(axis=0)
        if seen.sum() < s.min_markers or not (frame.valid.any() or start is not None or self._tracked_ns is not None):
            return None
        if not (seen & self.subject.markers.torso).any() and (start is not None or not self._place_known(frame)):
            return None  # hands and feet alone say nothing sure of where the body is
        estimate = self._estimator.estimate(frame, start, near)
        if estimate is None or not np.isfinite(estimate.marker_m).all():
            return None
        residual = residuals_m(frame, estimate.marker_m, self.rig)
        if len(residual) and float(np.median(residual)) > s.max_residual_m:
            return None
        return estimate

    def _place_known(self, frame: MarkerFrame) -> bool:
        """Tell whether the torso was seen a moment ago, and enough points are to go on from there."""
        enough = frame.valid.sum() >= self.settings.label.min_markers
        return bool(enough) and self._torso_ns is not None and (frame.t_capture_ns - self._torso_ns) * 1e-9 <= NO_TORSO_S

    def _without_hidden(self, frame: MarkerFrame) -> MarkerFrame:
        """Take the hidden markers away from a frame."""
        if self._visible.all():
            return frame
        return replace(frame, valid=frame.valid & self._visible, seen=frame.seen & self._visible)

    def _tracked(self, frame: MarkerFrame, estimate: Estimate, found: bool) -> Pose:
        """Assemble the packet and remember what the next frame needs. found: by acquisition."""
        self._estimator.accept(estimate)
        sight = None if frame.valid.any() else lines_of_sight(frame, self.rig)
        self._labeller.remember(frame, estimate.marker_m, sight)
        self._strained = self._strained + 1 if sight is not None and strained(estimate, frame) else 0
        if frame.seen[:, self.subject.markers.torso].any():
            self._torso_ns = frame.t_capture_ns
        self._tracked_ns, self._sought_ns, self._sigma_m = frame.t_capture_ns, None, estimate.near.sigma_m
        moment = estimate.moment if self._blind is None else self._blindly(self._blind, frame, estimate)
        if not self._belief.step(frame, estimate, found):
            return self._doubtful(frame)
        self._shown, self._shown_ns = moment, frame.t_capture_ns
        sigma_m = self._sigma_m if self._blind is None else None
        return self._packet(frame, State.TRACKING, moment, self._estimator.world(moment), sigma_m)

    def _blindly(self, blind: Estimator, frame: MarkerFrame, estimate: Estimate) -> Moment:
        """Solve the same frame without the hidden markers; hold the last pose where the others are too few."""
        anew = estimate.anew or blind.history.last is None
        own = blind.estimate(self._without_hidden(frame), estimate.moment if anew else None)
        if own is not None:
            blind.accept(own)
        return estimate.moment if blind.history.last is None else blind.history.last

    def _carried(self, frame: MarkerFrame) -> Pose:
        """Hold the last pose: coasting for a while, then lost."""
        self._labeller.coast()
        followed = self._state_since(self._tracked_ns, frame.t_capture_ns)
        return self._held(frame, self._state_since(self._shown_ns, frame.t_capture_ns), followed is State.LOST)

    def _doubtful(self, frame: MarkerFrame) -> Pose:
        """Hold the last pose that was believed; the solved one is followed, in case it comes right, until it is given up."""
        state = self._state_since(self._shown_ns, frame.t_capture_ns)
        return self._held(frame, state, state is State.LOST and self._belief.astray)

    def _state_since(self, believed_ns: int | None, t_ns: int) -> State:
        """Give the state of a pose that is held since a time, None: there was none."""
        lost = believed_ns is None or (t_ns - believed_ns) * 1e-9 > self.settings.label.coast_seconds
        return State.LOST if lost else State.COASTING

    def _held(self, frame: MarkerFrame, state: State, give_up: bool) -> Pose:
        """Build the packet of the last pose that was believed; give_up: label by the last pose no more."""
        if give_up:
            self._tracked_ns = None
            self._labeller.forget()
        rest = charted(np.broadcast_to(np.eye(3), (N_JOINTS, 3, 3)))
        last = self._shown or Moment(frame.t_capture_ns, rest, np.eye(3), np.zeros(3))
        return self._packet(frame, state, replace(last, t_ns=frame.t_capture_ns), self._estimator.world(last))

    def _packet(self, frame: MarkerFrame, state: State, moment: Moment, marker_m: Floats, sigma_m: Floats | None = None) -> Pose:
        """Build the pose packet, of the markers that may be used."""
        return pose_packet(self._without_hidden(frame), state, moment, marker_m, self.rig, self.subject, sigma_m)
