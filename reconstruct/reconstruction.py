"""From what the cameras' processes sent to what the sink is given, never a queue.

Each turn pairs what came and steps on the newest pairs, at most BACKLOG of them; older ones are dropped and counted. When pairs
stop coming, poses go on from the one camera that sends; when neither does, the last pose is held as `coasting` and soon called
`lost`.
"""

from collections import deque
from dataclasses import replace
from typing import Protocol, runtime_checkable

import numpy as np

from calibration.camera import Rig
from capture.clock import now_ns
from capture.control import MAX_OFFSET_MS, Details
from capture.news import News
from capture.packets import MarkerFrame, PairedBlobs, lone_pair
from capture.rig_watch import RigWatch
from capture.synchronise import Synchroniser
from capture.wire import SentBlobs
from config.cameras import CAMERAS
from config.settings import TimeSettings
from reconstruct.pose import JointSource, Pose, State
from reconstruct.silence import CameraCount, Silence
from reconstruct.sink import RunStatus, Sink
from reconstruct.style.model import Style, StyleError
from reconstruct.style.session import StyleBook
from reconstruct.style.task import Learned

BACKLOG = 2  # a hiccup of the scheduler delivers two pairs at once, and both are soon solved; more would be a queue
STATUS_PERIOD_NS = 1_000_000_000
LOST_NS = 600_000_000
HELD_PERIOD_NS = 33_000_000
LOST_PERIOD_NS = 1_000_000_000
GONE_NS = 5_000_000_000  # silent for so long: a camera is lost until it is back
PAST_NS = 1_000_000_000  # a pair that is older than the last pose by more than this is of a clock that was set back

Waiting = tuple[PairedBlobs, SentBlobs, int]  # what is to be stepped on, what completed it, and when that came [ns]


class Steps(Protocol):
    """The pipeline: one step a pair, for live and replay alike."""

    def step(self, pair: PairedBlobs) -> Pose:
        """Give the pose of one pair."""

    def warm(self) -> None:
        """Compile every kernel."""


@runtime_checkable
class Labelled(Protocol):
    """A pipeline that shows how it labelled the last pair, from which the cameras' time offset is learned."""

    rig: Rig
    markers: MarkerFrame | None


@runtime_checkable
class Styled(Protocol):
    """A pipeline that fills in what is not seen by the style of the motion."""

    def take_style(self, style: Style | None) -> None:
        """Use a style from the next step on, None: no longer any."""


class Reconstruction:
    """What happens between the inbox and the sink; time is passed in.

    Poses follow from `obey`, `turn` and `take_style`, their arguments and their order alone (the clock is asked for latencies
    only): a journal of these is what a recorded session is replayed from, to the bit.

    budget_ns: largest skew of a pair; book: from which styles are learned, and the one to begin with. Drops: late, unpaired (no
    partner in time), overrun (a newer pair was there already).
    """

    def __init__(
        self, pipeline: Steps, sink: Sink, budget_ns: int, time: TimeSettings | None = None, book: StyleBook | None = None
    ) -> None:
        self._pipeline, self._sink, self.book = pipeline, sink, book
        if isinstance(pipeline, Styled):
            pipeline.take_style(None)  # nothing is left of the part of a session before
            if book is not None and book.style is not None:
                pipeline.take_style(book.style)
        self._synchroniser = Synchroniser(budget_ns, time or TimeSettings())
        self._last: Pose | None = None
        self._t_last_step_ns = self._t_said_ns = 0
        self._n_overrun = self._n_poses = self._n_alone = 0
        self._silent = self._told_silent = False
        self._news = News()
        self._state = State.LOST
        self._status_due_ns = 0
        self._skews_ns: deque[int] = deque(maxlen=120)
        self._seen = (CameraCount(), CameraCount())
        self._silence = Silence(self._seen, budget_ns)
        rig = pipeline.rig if isinstance(pipeline, Labelled) else None
        self._rig_watch = None if rig is None or rig.is_lone else RigWatch(rig)
        self._rate = CameraCount()
        self._details: dict[str, Details] = {name: {} for name in CAMERAS}

    def describe(self, camera: str, details: Details) -> None:
        """Take what the supervisor knows of a camera, such as its node's clock, to be told with the status."""
        if camera in self._details:
            self._details[camera] = dict(details)

    def pair_within(self, budget_ns: int) -> None:
        """Set the largest skew of a pair, which is known once the cameras are open."""
        self._synchroniser.pair_within(budget_ns)
        self._silence.budget_ns = budget_ns

    @property
    def counts(self) -> dict[str, int]:
        """Give counts since the start, for the supervisor."""
        return {
            "poses": self._n_poses,
            "pairs": self._synchroniser.counts.pairs,
            "overrun": self._n_overrun,
            "alone": self._n_alone,
        }

    def turn(self, received: list[tuple[SentBlobs, int]], t_ns: int) -> None:
        """Take what came; step on the newest pairs it completes, or on what one camera sees alone; look after silence."""
        pairs: deque[Waiting] = deque(maxlen=BACKLOG)
        singles: tuple[deque[Waiting], deque[Waiting]] = (deque(maxlen=BACKLOG), deque(maxlen=BACKLOG))
        for sent, t_received_ns in received:
            camera = sent.blobs.camera
            self._seen[camera].add(t_received_ns)
            pair = self._synchroniser.push(sent.blobs)
            singles[camera].append((self._synchroniser.alone(sent.blobs), sent, t_received_ns))
            if pair is not None:
                self._n_overrun += len(pairs) == BACKLOG
                pairs.append((pair, sent, t_received_ns))
        for waiting in pairs:
            self._silence.pair(waiting[2])
            self._watch_rig(*waiting)
        alone = None if pairs else self._silence.step(t_ns)
        if alone is not None:
            self._tell_silence(t_ns)
            self._n_alone += len(singles[alone])
        for waiting in pairs if alone is None else singles[alone]:
            self._step_forward(*waiting)
        if t_ns - self._t_last_step_ns >= self._silence.silent_ns:
            self._hold(t_ns)
        for text in self._news.fetch():
            self._sink.event(t_ns, "camera", text)
        for text in self._synchroniser.news():
            self._sink.event(t_ns, "time", text)

    def _watch_rig(self, pair: PairedBlobs, sent: SentBlobs, t_received_ns: int) -> None:
        """Look whether the cameras are where they were at the calibration."""
        if self._silent and self._told_silent:
            self._news.say("both", "both cameras send again", t_received_ns)
        self._silent = self._told_silent = False
        if self._rig_watch is not None:
            self._rig_watch.add(pair)
            for text in self._rig_watch.news():
                self._sink.event(t_received_ns, "calibration", text)

    def _step_forward(self, pair: PairedBlobs, sent: SentBlobs, t_received_ns: int) -> None:
        """Step on a pair unless poses are past it, as when a camera whose pictures take longer is back.

        Two views that do not fit each other any more would only lead astray: then the left one alone is used.
        """
        if self._last is not None and 0 <= self._last.t_capture_ns - pair.t_capture_ns < PAST_NS:
            self._n_overrun += 1
            return
        if self._rig_watch is not None and self._rig_watch.moved and len(pair.left):
            pair = lone_pair(pair.left)
        self._step(pair, sent, t_received_ns)

    def _step(self, pair: PairedBlobs, sent: SentBlobs, t_received_ns: int) -> None:
        """Solve one pair and hand the pose on, with the times of the journey of its later half."""
        t_begin_ns = now_ns()
        pose = self._pipeline.step(pair)
        self._learn()
        before = {
            "read": sent.t_read_ns - pair.t_capture_ns,  # from the pose's time, so that all stages add up
            "detect": sent.t_sent_ns - sent.t_read_ns,
            "transport": t_received_ns - sent.t_sent_ns,
            "wait": t_begin_ns - t_received_ns,
        }
        pose = replace(pose, latency_ns={**before, **pose.latency_ns})
        self._last, self._state, self._t_last_step_ns = pose, pose.state, t_received_ns
        self._skews_ns.append(pair.skew_ns)
        self._n_poses += 1
        self._rate.add(t_received_ns)
        self._sink.pose(pose)
        if self.book is not None:
            self.book.add(pose)

    def _learn(self) -> None:
        """Let the markers just labelled tell how far apart the cameras' stamps are."""
        if isinstance(self._pipeline, Labelled):
            self._synchroniser.learn(self._pipeline.markers, self._pipeline.rig)

    def take_style(self, learned: Learned, t_ns: int) -> bool:
        """Use what was learned from the next step on; tell whether it fits what was to be learned, and can be used."""
        style = None if self.book is None else self.book.take(learned)
        if style is None or not isinstance(self._pipeline, Styled):
            return False
        try:
            self._pipeline.take_style(style)
        except StyleError as error:
            self._sink.event(t_ns, "style", str(error))
            return False
        self._sink.event(t_ns, "style", f"learned a style from {learned.n_poses} poses in {learned.seconds:.1f} s")
        return True

    def synchronise(self, way: str, details: Details) -> None:
        """Find the time offset by a flash or a jump from now on, or take the one in `details` (offset_ms)."""
        offset_ms = details.get("offset_ms")
        if isinstance(offset_ms, int | float):
            if abs(offset_ms) <= MAX_OFFSET_MS:
                self._synchroniser.correct(float(offset_ms))
        else:
            self._synchroniser.seek(way)

    def _hold(self, t_ns: int) -> None:
        """Publish the last pose as coasting, then as lost, while nothing comes to step on."""
        if self._last is None:
            return
        self._tell_silence(t_ns)
        silence_ns = t_ns - self._t_last_step_ns
        before, self._state = self._state, State.COASTING if silence_ns < LOST_NS else State.LOST
        period_ns = HELD_PERIOD_NS if self._state is State.COASTING else LOST_PERIOD_NS
        if self._state is not before or t_ns - self._t_said_ns >= period_ns:
            self._t_said_ns = t_ns
            self._sink.pose(_held(self._last, self._state))

    def _tell_silence(self, t_ns: int) -> None:
        """Say once which camera is silent."""
        if not self._silent:
            self._silent = True
            self._told_silent = self._news.say("silent", f"no pairs any more: {self._silence.words(t_ns)}", t_ns)

    def report(self, t_ns: int, n_malformed: int) -> None:
        """Hand the state of the run on once a second."""
        if t_ns < self._status_due_ns:
            return
        self._status_due_ns = t_ns + STATUS_PERIOD_NS
        counts = self._synchroniser.counts
        rig_figures = self._rig_watch.figures if self._rig_watch is not None else {}
        skew = np.array(self._skews_ns, float)
        rates_hz = {name: count.rate_hz(t_ns) for name, count in zip(CAMERAS, self._seen, strict=True)}
        self._sink.status(
            RunStatus(
                t_ns=t_ns,
                state=self._state,
                rates_hz={**rates_hz, "pose": self._rate.rate_hz(t_ns)},
                drops={
                    "late": sum(counts.late),
                    "unpaired": sum(counts.unpaired),
                    "overrun": self._n_overrun,
                    "malformed": n_malformed,
                },
                skew_ns={"median": float(np.median(skew)), "worst": float(np.abs(skew).max())} if len(skew) else {},
                cameras={name: self._camera(camera, t_ns) for camera, name in enumerate(CAMERAS)},
                calibration={
                    **self._synchroniser.calibration,
                    **rig_figures,
                },
            )
        )

    def _camera(self, camera: int, t_ns: int) -> dict[str, int | float | str]:
        """Describe one camera as it looks from here."""
        count = self._seen[camera]
        details = dict(self._details[CAMERAS[camera]])
        reopening = bool(details.pop("reopening", 0))
        if count.n and not self._silence.is_silent(camera, t_ns):
            state = "live"
        elif reopening:
            state = "reopening"
        else:
            state = "waiting" if not count.n else "silent" if t_ns - count.t_last_ns < GONE_NS else "lost"
        alone = {"alone": 1} if self._silence.alone == camera else {}
        return {**details, **alone, "state": state, "frames": count.n, "fps": count.rate_hz(t_ns)}


def _held(pose: Pose, state: State) -> Pose:
    """Give a pose that nothing measures any more."""
    return replace(
        pose,
        state=state,
        joint_source=np.full_like(pose.joint_source, JointSource.HELD),
        confidence=np.zeros_like(pose.confidence),
        measured=np.zeros_like(pose.measured),
        seen=np.zeros_like(pose.seen),
        latency_ns={},
    )
