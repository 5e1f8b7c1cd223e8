"""What speaks against the labels or the pose of a frame, and the spans of time in which something does."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum

SHOWN_S = 0.05  # shorter spans are a moment: two or three frames of a camera
JOINED_S = 0.5  # doubtful frames that are no farther apart are one span


class Doubt(StrEnum):
    """Why a frame is doubtful.

    Attributes:
        FIT: the pose is far from what the cameras see.
        RIVALS: other labels, of another pose, are nearly as likely.
        EXCHANGED: other labels have just turned out to be right.
    """

    FIT = "fit"
    RIVALS = "rivals"
    EXCHANGED = "exchanged"


NO_DOUBT: frozenset[Doubt] = frozenset()
OF_SWAPS = frozenset({Doubt.EXCHANGED})  # that labels were exchanged
WORDS = {
    Doubt.FIT: "the pose is far from the markers",
    Doubt.RIVALS: "markers may be named otherwise, left for right perhaps",
    Doubt.EXCHANGED: "labels were exchanged until then",
}


@dataclass(frozen=True, slots=True)
class DoubtfulSpan:
    """Consecutive frames in doubt.

    Attributes:
        begin_ns: time of the first frame [ns].
        end_ns: time of the last frame [ns].
        frames: number of frames.
        doubts: all reasons for doubt in these frames.
    """

    begin_ns: int
    end_ns: int
    frames: int
    doubts: frozenset[Doubt]

    @property
    def seconds(self) -> float:
        """From the first frame to the last."""
        return (self.end_ns - self.begin_ns) * 1e-9

    @property
    def duration(self) -> str:
        """How long it was, for a person; of one frame or an instant that is no number of seconds."""
        return f"for {self.seconds:.2f} s" if self.seconds >= SHOWN_S else "for a moment"

    @property
    def words(self) -> str:
        """The reasons for a person."""
        return "; ".join(said for doubt, said in WORDS.items() if doubt in self.doubts)


@dataclass
class DoubtLog:
    """Joins doubtful frames to spans, as they come."""

    _open: DoubtfulSpan | None = field(default=None, init=False)

    def add(self, t_ns: int, doubts: frozenset[Doubt]) -> DoubtfulSpan | None:
        """Add a frame and return the span that is over by now, if one is."""
        span = self._open
        over = span is not None and (t_ns - span.end_ns) * 1e-9 > JOINED_S
        if over:
            self._open = None
        if doubts:
            last = self._open or DoubtfulSpan(t_ns, t_ns, 0, NO_DOUBT)
            self._open = replace(last, end_ns=t_ns, frames=last.frames + 1, doubts=last.doubts | doubts)
        return span if over else None

    def close(self) -> DoubtfulSpan | None:
        """End the current span, if there is one, and return it."""
        span, self._open = self._open, None
        return span


def find_doubtful_spans(frames: Iterable[tuple[int, frozenset[Doubt]]]) -> list[DoubtfulSpan]:
    """Return the doubtful spans of frames, each with its time [ns] and its doubts, in order."""
    log = DoubtLog()
    spans = [log.add(t_ns, doubts) for t_ns, doubts in frames]
    return [span for span in (*spans, log.close()) if span is not None]
