"""From the blobs that the cameras' processes sent to the poses that the sink takes, without a queue.

Each turn groups what came into moments and steps on the newest of them. Where they come faster than they are solved, fewer views
of each are read, those that tell most (`capture/stereo/choice.py`); where that is not enough, older moments are dropped and
counted (`load.py`), and optional work rests. A moment has the views that there are, from all cameras to one; when none comes, the
last pose is published as `coasting` and then as `lost`.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple, Protocol

import numpy as np

from calibration.camera import Rig
from capture.clock import now_ns
from capture.notices import NoticeLog
from capture.packets import MarkerFrame, Views
from capture.process.control import MAX_OFFSET_MS, Details, SyncOrder
from capture.sockets.wire import SentBlobs
from capture.stereo.choice import choose_views
from capture.stereo.watch import RigWatch
from capture.timing.synchronise import Synchroniser
from config.settings import CAMERA_NAMES, TimeSettings
from reconstruct.doubt import DoubtfulSpan, DoubtLog
from reconstruct.models.style.model import Style, StyleError
from reconstruct.models.style.session import SessionStyle
from reconstruct.models.style.task import LearnedStyle
from reconstruct.pose import JointSource, Pose, TrackingState
from reconstruct.process.load import LoadWatch
from reconstruct.process.silence import FrameCount, SilenceWatch
from reconstruct.process.sink import RunStatus, Sink
from reconstruct.solve.certainty import MAX_ERROR_M

STATUS_PERIOD_NS = 1_000_000_000
LOST_NS = 600_000_000
COASTING_PERIOD_NS = 33_000_000
LOST_PERIOD_NS = 1_000_000_000
OPTIONAL = ("style", "rig", "clocks")  # what rests while frames come faster than they can be solved
GONE_NS = 5_000_000_000  # a camera that is silent this long is lost until it is back
PAST_NS = 1_000_000_000  # a moment that is older than the last pose by more than this has a clock that was set back


Received = tuple[SentBlobs, int]  # blobs, and when they came [ns]


class Stepper(Protocol):
    """The pipeline as live runs and replays drive it: one step for each moment.

    Attributes:
        rig: the rig in its present place in the world; None for a pipeline without cameras.
        markers: labelled markers of the last step, from which the time offsets of the cameras are learned.
    """

    @property
    def rig(self) -> Rig | None: ...

    @property
    def markers(self) -> MarkerFrame | None: ...

    def step(self, views: Views) -> Pose:
        """Return the pose of one moment."""

    def warm(self) -> None:
        """Compile every kernel."""

    def take_style(self, style: Style | None) -> None:
        """Use a style from the next step on, None: no longer any. Raises StyleError."""

    def recentre(self) -> bool:
        """From the next step on have the performer over the origin, looking along +Z; return whether somebody was seen."""


class WaitingViews(NamedTuple):
    """Views to step on, the blobs that completed them, and when these came [ns]."""

    views: Views
    sent: SentBlobs
    t_received_ns: int


class Reconstruction:
    """The reconstruction between the inbox and the sink; time is passed in.

    Poses depend on the calls of `set_budget`, `synchronise`, `recentre`, `turn` and `take_style`, their arguments and their
    order only (the clock is read for latencies only): a recorded session is replayed from a journal of these, to the bit.

    Dropped moments are counted as late, unpaired (of no moment), overrun (a newer moment was there already) or unread (views of
    which there was no time to read all).

    Args:
        budget_ns: largest skew of views of one moment.
        session_style: source of the styles that are learned, and of the one to begin with.
        n_cameras: number of cameras if the pipeline has no rig.
    """

    def __init__(
        self,
        pipeline: Stepper,
        sink: Sink,
        budget_ns: int,
        time: TimeSettings | None = None,
        session_style: SessionStyle | None = None,
        n_cameras: int = 2,
    ) -> None:
        self._pipeline, self._sink, self.session_style = pipeline, sink, session_style
        pipeline.take_style(None)  # the record of an earlier part of the session is forgotten
        if session_style is not None and session_style.style is not None:
            pipeline.take_style(session_style.style)
        self._rig = pipeline.rig
        n_cameras = n_cameras if pipeline.rig is None else len(pipeline.rig)
        self._names = CAMERA_NAMES[:n_cameras]
        self._synchroniser = Synchroniser(n_cameras, budget_ns, time or TimeSettings())
        self._last: Pose | None = None
        self._newest_ns: int | None = None  # of what was stepped on last
        self._t_last_step_ns = self._t_coasted_ns = 0
        self._n_overrun = self._n_unread = self._n_poses = self._n_alone = 0
        self._notices = NoticeLog()
        self._doubts = DoubtLog()
        self._state = TrackingState.LOST
        self._status_due_ns = 0
        self._skews_ns: deque[int] = deque(maxlen=120)
        self._seen = tuple(FrameCount() for _ in self._names)
        self._silence = SilenceWatch(self._seen)
        self._alone: int | None = None  # the camera that alone gave the last moment's view
        self._rig_watch = None if pipeline.rig is None or len(pipeline.rig) == 1 else RigWatch(pipeline.rig)
        self._rate = FrameCount()
        self._load = LoadWatch(n_cameras)
        self._details: dict[str, Details] = {name: {} for name in self._names}

    def describe(self, camera: str, details: Details) -> None:
        """Set the supervisor's details of a camera, such as its node's clock, for the status."""
        if camera in self._details:
            self._details[camera] = dict(details)

    def set_budget(self, budget_ns: int) -> None:
        """Set the largest skew of views of one moment, which is known once the cameras are open."""
        self._synchroniser.set_budget(budget_ns)

    @property
    def is_late(self) -> bool:
        """Whether frames come faster than they can be solved, so that optional work is to rest."""
        return self._load.late

    @property
    def counts(self) -> dict[str, int]:
        """Counts since the start, for the supervisor."""
        return {
            "poses": self._n_poses,
            "pairs": self._synchroniser.counts.moments,
            "overrun": self._n_overrun,
            "alone": self._n_alone,
        }

    def turn(self, received: list[Received], t_ns: int) -> None:
        """Step on the newest moments that the received blobs complete; watch for silence."""
        came = self._grouped(received)
        for waiting in self._take_newest(came, t_ns):
            self._step(waiting)
        for waiting in came:  # after the poses, which somebody waits for
            self._watch_rig(waiting)
        self._watch_silence(t_ns)
        if self._last is not None and t_ns - self._t_last_step_ns >= self._silent_ns:
            self._coast(self._last, t_ns)
        for text in self._notices.fetch():
            self._sink.event(t_ns, "camera", text)
        for text in self._synchroniser.notices():
            self._sink.event(t_ns, "time", text)

    @property
    def _silent_ns(self) -> int:
        """Time without a frame after which a camera is silent."""
        return self._synchroniser.grouping.silent_ns

    def _take_newest(self, came: list[WaitingViews], t_ns: int) -> list[WaitingViews]:
        """Return those moments of a turn that there is time for; tell when there is too little, and when no longer."""
        was_late, n_kept = self._load.late, self._load.take_turn(len(came), t_ns)
        if self._load.late is not was_late:
            self._sink.event(t_ns, "load", self._load.words())
        self._n_overrun += len(came) - n_kept
        return came[len(came) - n_kept :]

    def _grouped(self, received: Iterable[Received]) -> list[WaitingViews]:
        """Return the moments that the blobs complete."""
        moments: list[WaitingViews] = []
        for sent, t_received_ns in received:
            if sent.blobs.camera >= len(self._seen):
                continue  # of another rig
            self._seen[sent.blobs.camera].add(t_received_ns)
            views = self._synchroniser.push(sent.blobs)
            if views is not None:
                moments.append(WaitingViews(views, sent, t_received_ns))
        return moments

    def _watch_silence(self, t_ns: int) -> None:
        """Tell which cameras are silent, and when they send again."""
        apart = self._synchroniser.grouping.is_apart
        for key, text in self._silence.step(t_ns, self._silent_ns, self._alone if apart else None):
            self._notices.add(key, text, t_ns)

    def _watch_rig(self, waiting: WaitingViews) -> None:
        """Check whether the cameras are where they were at the calibration; a camera that was moved may be why poses are lost."""
        watch = self._rig_watch
        if watch is None or (self._load.late and self._state is TrackingState.TRACKING and not watch.moved):
            return
        watch.add(waiting.views)
        for text in watch.notices():
            self._sink.event(waiting.t_received_ns, "calibration", text)

    def _step(self, waiting: WaitingViews) -> None:
        """Solve one moment and publish the pose, with the latencies of the latest view.

        A moment older than the last pose is dropped, as when a slower camera is back. The view of a camera that was moved is
        left out.
        """
        views, sent, t_received_ns = waiting
        if self._newest_ns is not None and 0 <= self._newest_ns - views.t_capture_ns < PAST_NS:
            self._n_overrun += 1
            return
        views = self._take_affordable(self._without_moved(views))
        t_begin_ns = now_ns()
        pose = self._pipeline.step(views)
        if self._pipeline.rig is not None and self._pipeline.rig is not self._rig:
            self._rig = self._pipeline.rig
            self._sink.rig(self._rig)
        if self._pipeline.rig is not None and not self._load.late:
            self._synchroniser.learn(self._pipeline.markers, self._pipeline.rig)
        before = {
            "read": sent.t_read_ns - views.t_capture_ns,  # from the pose's time, so that all stages add up
            "detect": sent.t_sent_ns - sent.t_read_ns,
            "transport": t_received_ns - sent.t_sent_ns,
            "wait": t_begin_ns - t_received_ns,
        }
        pose = replace(pose, latency_ns={**before, **pose.latency_ns})
        self._last, self._state, self._t_last_step_ns = pose, pose.state, t_received_ns
        self._newest_ns = views.t_capture_ns
        self._alone = views.first.camera if len(views.present) == 1 < len(views) else None
        self._n_alone += self._alone is not None
        self._skews_ns.append(views.skew_ns)
        self._n_poses += 1
        self._rate.add(t_received_ns)
        self._sink.pose(pose)
        self._tell_doubts(self._doubts.add(pose.t_capture_ns, pose.doubts))
        if self.session_style is not None:
            self.session_style.add(pose)

    def _without_moved(self, views: Views) -> Views:
        """Return the views without those of cameras that were moved, where the others see something."""
        moved = () if self._rig_watch is None else self._rig_watch.moved
        if not any(len(blobs) for blobs in views.present if blobs.camera not in moved):
            return views
        return views.without(moved)

    def _take_affordable(self, views: Views) -> Views:
        """Return as many of the views as there is time to read, those that tell most of where the last pose's markers are."""
        rig, last, n_present = self._pipeline.rig, self._last, len(views.present)
        if rig is None or last is None or last.state is TrackingState.LOST or self._load.n_views >= n_present:
            return views
        views = choose_views(views, rig, last.marker_m, self._load.n_views)
        self._n_unread += n_present - len(views.present)
        return views

    def _tell_doubts(self, span: DoubtfulSpan | None) -> None:
        """Report a span of doubtful frames that is over."""
        if span is not None:
            self._sink.event(span.begin_ns, "doubt", f"doubtful {span.duration}: {span.words}")

    def take_style(self, learned: LearnedStyle, t_ns: int) -> bool:
        """Use a learned style from the next step on; return whether it fits the pending task and can be used."""
        style = None if self.session_style is None else self.session_style.take(learned)
        if style is None:
            return False
        try:
            self._pipeline.take_style(style)
        except StyleError as error:
            self._sink.event(t_ns, "style", str(error))
            return False
        self._sink.event(t_ns, "style", f"learned a style from {learned.n_poses} poses in {learned.seconds:.1f} s")
        return True

    def synchronise(self, order: SyncOrder) -> None:
        """Measure the time offset by a flash or a jump from now on, or set the one given."""
        if order.offset_ms is not None:
            if abs(order.offset_ms) <= MAX_OFFSET_MS:
                self._synchroniser.correct(order.offset_ms, camera=order.camera)
        elif order.method is not None:
            self._synchroniser.start_search(order.method)

    def recentre(self, t_ns: int) -> None:
        """Have the performer stand at the origin, facing forward."""
        seen = self._pipeline.recentre()
        self._sink.event(t_ns, "world", "the performer is the origin" if seen else "nobody was tracked yet to be the origin")

    def _coast(self, last: Pose, t_ns: int) -> None:
        """Publish the last pose as coasting, then as lost, while nothing comes to step on."""
        silence_ns = t_ns - self._t_last_step_ns
        before, self._state = self._state, TrackingState.COASTING if silence_ns < LOST_NS else TrackingState.LOST
        period_ns = COASTING_PERIOD_NS if self._state is TrackingState.COASTING else LOST_PERIOD_NS
        if self._state is not before or t_ns - self._t_coasted_ns >= period_ns:
            self._t_coasted_ns = t_ns
            self._sink.pose(_mark_unmeasured(last, self._state))

    def report(self, t_ns: int, n_malformed: int) -> None:
        """Send the sink the status of the run once a second."""
        if t_ns < self._status_due_ns:
            return
        self._status_due_ns = t_ns + STATUS_PERIOD_NS
        counts = self._synchroniser.counts
        rig_figures = self._rig_watch.figures if self._rig_watch is not None else {}
        skew = np.array(self._skews_ns, float)
        rates_hz = {name: count.rate_hz(t_ns) for name, count in zip(self._names, self._seen, strict=True)}
        self._sink.status(
            RunStatus(
                t_ns=t_ns,
                state=self._state,
                rates_hz={**rates_hz, "pose": self._rate.rate_hz(t_ns)},
                drops={
                    "late": sum(counts.late),
                    "unpaired": sum(counts.unpaired),
                    "overrun": self._n_overrun,
                    "unread": self._n_unread,
                    "malformed": n_malformed,
                },
                skew_ns={"median": float(np.median(skew)), "worst": float(np.abs(skew).max())} if len(skew) else {},
                cameras={name: self._camera_status(camera, t_ns) for camera, name in enumerate(self._names)},
                calibration={**self._synchroniser.calibration, **rig_figures},
                resting=OPTIONAL if self._load.late else (),
                lag_ns=0 if self._last is None else self._last.latency_ns.get("lag", 0),
            )
        )

    def _camera_status(self, camera: int, t_ns: int) -> dict[str, int | float | str]:
        """Return the status of one camera."""
        count = self._seen[camera]
        details = dict(self._details[self._names[camera]])
        reopening = bool(details.pop("reopening", 0))
        if count.n and t_ns - count.t_last_ns < self._silent_ns:
            state = "live"
        elif reopening:
            state = "reopening"
        else:
            state = "waiting" if not count.n else "silent" if t_ns - count.t_last_ns < GONE_NS else "lost"
        alone = {"alone": 1} if self._alone == camera else {}
        clock = {"clock": 1} if self._synchroniser.grouping.reference == camera else {}
        return {**details, **alone, **clock, "state": state, "frames": count.n, "fps": count.rate_hz(t_ns)}


def _mark_unmeasured(pose: Pose, state: TrackingState) -> Pose:
    """Return a pose of which nothing is measured any more."""
    return replace(
        pose,
        state=state,
        joint_source=np.full_like(pose.joint_source, JointSource.HELD),
        confidence=np.zeros_like(pose.confidence),
        error_m=np.full_like(pose.error_m, MAX_ERROR_M),
        measured=np.zeros_like(pose.measured),
        seen=np.zeros_like(pose.seen),
        latency_ns={},
        n_views=0,
    )
