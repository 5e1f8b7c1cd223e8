"""The poses of the last minutes, to pause and go back in while more come: ordered by time, found by it, the oldest let go."""

from bisect import bisect_right
from dataclasses import dataclass

from stream.codec import decode, encode
from stream.messages import PoseMessage

SILENCE_S = 1.0
TRIM_EVERY = 256
SILENT = "silent"


@dataclass(frozen=True, slots=True)
class Run:
    """A stretch of one tracking state, or of silence, from begin_s to end_s [s]."""

    begin_s: float
    end_s: float
    state: str


class History:
    """Poses by time, in seconds since the first.

    Poses are kept as they came over the wire: a tenth of the memory of the decoded message. keep_s: how far back. What is
    older is let go in batches; `begin_s` tells what is left.
    """

    def __init__(self, keep_s: float) -> None:
        self._keep_s = keep_s
        self._origin_ns: int | None = None
        self._times_s: list[float] = []
        self._payloads: list[bytes] = []
        self._last: tuple[int, PoseMessage] | None = None  # of those shown, the last: a paused page asks for it again and again
        self._n_gone = 0
        self._runs: list[Run] = []
        self._last_seq: int | None = None
        self.n_missed = 0

    def __len__(self) -> int:
        return len(self._times_s)

    @property
    def begin_s(self) -> float:
        """Time of the oldest pose that is left, 0 if there is none."""
        return self._times_s[0] if self._times_s else 0.0

    @property
    def end_s(self) -> float:
        """Time of the newest pose, 0 if there is none."""
        return self._times_s[-1] if self._times_s else 0.0

    @property
    def runs(self) -> tuple[Run, ...]:
        """The stretches of tracking states in what is left."""
        begin_s = self.begin_s
        return tuple(Run(max(run.begin_s, begin_s), run.end_s, run.state) for run in self._runs if run.end_s >= begin_s)

    def seconds(self, t_ns: int) -> float:
        """Give a moment of the clock that poses came by on this history's axis; the first one asked for is 0."""
        if self._origin_ns is None:
            self._origin_ns = t_ns
        return (t_ns - self._origin_ns) * 1e-9

    def add(self, pose: PoseMessage, t_ns: int) -> float:
        """Take a pose that came at t_ns; give its time [s]. One that seems older than the last counts as of the same moment."""
        self._payloads.append(encode(pose))
        t_s = self._note(pose.seq, pose.state, t_ns)
        self._last = (self._n_gone + len(self._times_s) - 1, pose)
        if (self._n_gone + len(self._times_s)) % TRIM_EVERY == 0:
            self._trim(t_s - self._keep_s)
        return t_s

    def _note(self, seq: int, state: str, t_ns: int) -> float:
        """Note when a pose was and what it says of the tracking; give its time [s]."""
        t_s = max(self.seconds(t_ns), self.end_s)
        self._times_s.append(t_s)
        self._count_missed(seq)
        self._extend_runs(t_s, state)
        return t_s

    def index_at(self, t_s: float) -> int | None:
        """Give the number of the pose shown at a time, None if there is none; it counts on while old poses go."""
        if not self._times_s:
            return None
        return self._n_gone + max(bisect_right(self._times_s, t_s) - 1, 0)

    def pose_at(self, t_s: float) -> PoseMessage | None:
        """Give the pose shown at a time: the last one by then, the first if none is so old; None if there is none at all."""
        index = self.index_at(t_s)
        if index is None:
            return None
        if self._last is None or self._last[0] != index:
            self._last = (index, self._decoded(index))
        return self._last[1]

    def _decoded(self, index: int) -> PoseMessage:
        """Give the pose of a number."""
        message = decode(self._payloads[index - self._n_gone])
        assert isinstance(message, PoseMessage)
        return message

    def _count_missed(self, seq: int) -> None:
        """Count the poses between this one and the last that never came."""
        if self._last_seq is not None and seq > self._last_seq + 1:
            self.n_missed += seq - self._last_seq - 1
        self._last_seq = seq

    def _extend_runs(self, t_s: float, state: str) -> None:
        """Lengthen the present run, or begin another; a pause in the stream is a run of its own."""
        last = self._runs[-1] if self._runs else None
        if last is not None and t_s - last.end_s > SILENCE_S:
            last = Run(last.end_s, t_s, SILENT)
            self._runs.append(last)
        if last is not None and last.state == state:
            self._runs[-1] = Run(last.begin_s, t_s, state)
        else:
            if last is not None:
                self._runs[-1] = Run(last.begin_s, t_s, last.state)  # a state lasts until the next one
            self._runs.append(Run(t_s, t_s, state))

    def _trim(self, oldest_s: float) -> None:
        """Let go of what is older than oldest_s."""
        n = bisect_right(self._times_s, oldest_s)
        del self._times_s[:n], self._payloads[:n]
        self._n_gone += n
        self._runs = [run for run in self._runs if run.end_s >= self.begin_s]
