"""The poses of the last minutes, by time: new ones are appended, old ones dropped, and any can be shown again."""

from bisect import bisect_right
from dataclasses import dataclass

from stream.protocol.codec import decode_message, encode_message
from stream.protocol.messages import PoseMessage

SILENCE_S = 1.0
TRIM_EVERY = 256
SILENT = "silent"  # beside the tracking states


@dataclass(frozen=True, slots=True)
class StateSpan:
    """A period of one tracking state, or of SILENT, from begin_s to end_s [s]."""

    begin_s: float
    end_s: float
    state: str


class PoseHistory:
    """Poses by time, in seconds since the first.

    Poses are kept encoded, which takes a tenth of the memory of decoded messages. keep_s: for how long [s]; older poses are
    dropped in batches. n_missed: poses that were lost on the way, by their `seq`.
    """

    def __init__(self, keep_s: float) -> None:
        self._keep_s = keep_s
        self._origin_ns: int | None = None
        self._times_s: list[float] = []
        self._payloads: list[bytes] = []
        self._cached: tuple[int, PoseMessage] | None = None  # the last pose shown: a paused page asks for it again and again
        self._n_dropped = 0
        self._runs: list[StateSpan] = []
        self._last_seq: int | None = None
        self.n_missed = 0

    def __len__(self) -> int:
        return len(self._times_s)

    @property
    def begin_s(self) -> float:
        """Time of the oldest pose that is kept, 0 if there is none."""
        return self._times_s[0] if self._times_s else 0.0

    @property
    def end_s(self) -> float:
        """Time of the newest pose, 0 if there is none."""
        return self._times_s[-1] if self._times_s else 0.0

    @property
    def runs(self) -> tuple[StateSpan, ...]:
        """The periods of tracking states in the kept history."""
        begin_s = self.begin_s
        return tuple(StateSpan(max(run.begin_s, begin_s), run.end_s, run.state) for run in self._runs if run.end_s >= begin_s)

    def seconds(self, t_ns: int) -> float:
        """Convert a time of the poses' clock to this history's [s]; the first one asked for is 0."""
        if self._origin_ns is None:
            self._origin_ns = t_ns
        return (t_ns - self._origin_ns) * 1e-9

    def add(self, pose: PoseMessage, t_ns: int) -> float:
        """Add a pose of time t_ns; return its time [s]. A time before the last pose's counts as that one's."""
        self._payloads.append(encode_message(pose))
        t_s = self._note(pose.seq, pose.state, t_ns)
        n_added = self._n_dropped + len(self._times_s)
        self._cached = (n_added - 1, pose)
        if n_added % TRIM_EVERY == 0:
            self._trim(t_s - self._keep_s)
        return t_s

    def _note(self, seq: int, state: str, t_ns: int) -> float:
        """Note the time and the tracking state of a pose; return its time [s]."""
        t_s = max(self.seconds(t_ns), self.end_s)
        self._times_s.append(t_s)
        if self._last_seq is not None:
            self.n_missed += max(seq - self._last_seq - 1, 0)
        self._last_seq = seq
        self._extend_runs(t_s, state)
        return t_s

    def index_at(self, t_s: float) -> int | None:
        """Return the number of the pose shown at a time, None if there is none; dropped poses keep their numbers."""
        if not self._times_s:
            return None
        return self._n_dropped + max(bisect_right(self._times_s, t_s) - 1, 0)

    def pose_at(self, t_s: float) -> PoseMessage | None:
        """Return the last pose up to a time, else the first; None if there is none."""
        index = self.index_at(t_s)
        if index is None:
            return None
        if self._cached is None or self._cached[0] != index:
            self._cached = (index, self._decoded(index))
        return self._cached[1]

    def _decoded(self, index: int) -> PoseMessage:
        """Return the pose of a number."""
        message = decode_message(self._payloads[index - self._n_dropped])
        assert isinstance(message, PoseMessage)
        return message

    def _extend_runs(self, t_s: float, state: str) -> None:
        """Extend the last run, or begin another; a pause in the stream is a run of its own."""
        last = self._runs[-1] if self._runs else None
        if last is not None and t_s - last.end_s > SILENCE_S:
            last = StateSpan(last.end_s, t_s, SILENT)
            self._runs.append(last)
        if last is not None and last.state == state:
            self._runs[-1] = StateSpan(last.begin_s, t_s, state)
        else:
            if last is not None:
                self._runs[-1] = StateSpan(last.begin_s, t_s, last.state)  # a state lasts until the next one
            self._runs.append(StateSpan(t_s, t_s, state))

    def _trim(self, oldest_s: float) -> None:
        """Drop what is older than oldest_s."""
        n = bisect_right(self._times_s, oldest_s)
        del self._times_s[:n], self._payloads[:n]
        self._n_dropped += n
        self._runs = [run for run in self._runs if run.end_s >= self.begin_s]
