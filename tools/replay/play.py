"""Play a recording as if live: the same publisher, outputs and service as a run, with a clock that goes on."""

import contextlib
import logging
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace

from capture.clock import now_ns
from capture.sockets.endpoints import find_key_settings
from capture.sockets.wire import MalformedMessageError
from config.settings import StreamSettings
from config.units import NS_PER_S
from stream.protocol.messages import PoseMessage
from stream.publish.fanout import OutputFactory, OutputFanout, open_outputs
from stream.publish.publisher import Publisher
from stream.recording.playback import DueMessage, PlaybackSpan, build_played_status, restamp_pose, schedule_playback
from stream.recording.recording import Recording
from tools.interrupt import raise_if_interrupted
from tools.progress import Progress

log = logging.getLogger(__name__)

TURN_S = 0.02


@contextlib.contextmanager
def open_outlet(settings: StreamSettings, session: str, outputs: Sequence[OutputFactory] = ()) -> Iterator[OutputFanout]:
    """Return an outlet with its service and outputs.

    Args:
        settings: settings of the stream.
        session: name of the session.
        outputs: factories of outputs that get every message besides the stream.
    Raises: StreamError, EndpointError, and what the outputs raise.
    """
    made = open_outputs(outputs)
    try:
        publisher = Publisher(settings.address, keys=find_key_settings(settings))
    except BaseException:
        for output in made:
            output.close()
        raise
    outlet = OutputFanout(publisher, session, made)
    try:
        outlet.open_service(settings)
        yield outlet
    finally:
        outlet.close()


class RecordingPlayer:
    """Publish the messages of one recording that are due, and a status each second. n_played: poses so far."""

    def __init__(self, recording: Recording, session: str, outlet: OutputFanout) -> None:
        self._recording, self._session, self._outlet = recording, session, outlet
        self._recent: deque[int] = deque(maxlen=4096)
        self._status_due_ns = 0
        self._pose: PoseMessage | None = None
        self.n_played = 0

    def begin(self) -> None:
        """Publish skeleton and rig."""
        self._outlet.publish(self._recording.skeleton)
        if self._recording.rig is not None:
            self._outlet.publish(replace(self._recording.rig, session=self._session))

    def publish(self, step: DueMessage, t_ns: int) -> None:
        """Publish the message of a step, as of t_ns."""
        if step.event is not None:
            self._outlet.event(t_ns, step.event.kind, step.event.text)
        if step.pose is not None:
            self._publish_pose(step.pose, step.seq_offset, t_ns)
        self.serve(t_ns)

    def _publish_pose(self, index: int, seq_offset: int, t_ns: int) -> None:
        """Publish one pose; one that is damaged is left out, and its number shows as a gap."""
        try:
            self._pose = self._recording.poses[index]
        except MalformedMessageError as error:
            log.warning("pose %d of the recording is damaged and left out (%s)", index, error)
            return
        self._outlet.publish(restamp_pose(self._pose, self._session, seq_offset, t_ns))
        self._recent.append(t_ns)
        self.n_played += 1

    def serve(self, t_ns: int) -> None:
        """Serve clients that join; publish the state each second."""
        self._outlet.serve(t_ns)
        if self._pose is not None and t_ns >= self._status_due_ns:
            self._status_due_ns = t_ns + NS_PER_S
            rate_hz = float(sum(1 for t in self._recent if t_ns - t < NS_PER_S))
            self._outlet.publish(build_played_status(self._recording, self._pose, self._session, t_ns, rate_hz))


def play_recording(
    recording: Recording, span: PlaybackSpan, outlet: OutputFanout, session: str, *, speed: float, loop: bool, progress: Progress
) -> int:
    """Play a span of a recording in real time, `speed` times as fast; gives how many poses were published.

    Args:
        recording: the recording.
        span: the part that is played.
        outlet: outlet that publishes it.
        session: name of the session that plays it.
        speed: times as fast as it was.
        loop: begin again at the end.
        progress: called with the amount done and the whole amount.
    """
    player = RecordingPlayer(recording, session, outlet)
    player.begin()
    begun_ns = now_ns()
    for step in schedule_playback(recording, span, speed, loop):
        due_ns = begun_ns + step.after_ns
        while (left_s := (due_ns - now_ns()) * 1e-9) > 0.0:
            if left_s > TURN_S:
                player.serve(now_ns())
            time.sleep(min(left_s, TURN_S))
            raise_if_interrupted()
        player.publish(step, now_ns())
        progress(player.n_played, None if loop else len(span))
    return player.n_played
