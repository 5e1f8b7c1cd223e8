"""The time that the viewer shows: play, pause, scrub, speed, loop and the live edge; elapsed time is passed in."""

from dataclasses import dataclass, replace

MIN_SPEED, MAX_SPEED = 0.1, 4.0
EDGE_S = 0.25


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """The time that can be shown, from begin_s to end_s [s]; grows: more is coming at the end."""

    begin_s: float
    end_s: float
    grows: bool = False

    def clamped(self, t_s: float) -> float:
        """Return the nearest time within the span."""
        return min(max(t_s, self.begin_s), self.end_s)


@dataclass(frozen=True, slots=True)
class Playhead:
    """A time and how it moves.

    Attributes:
        cursor_s: time that is shown [s].
        live: kept at the end of a span that grows.
        loop: begin again at the end of one that does not.
    """

    cursor_s: float = 0.0
    playing: bool = True
    live: bool = False
    speed: float = 1.0
    loop: bool = True

    def step(self, dt_s: float, span: TimeSpan) -> "Playhead":
        """Advance by dt_s >= 0 [s]; the cursor never leaves the span."""
        if self.live and span.grows:
            return replace(self, cursor_s=span.end_s)
        if not self.playing:
            return replace(self, cursor_s=span.clamped(self.cursor_s), live=False)
        cursor_s = max(self.cursor_s, span.begin_s) + dt_s * self.speed
        if cursor_s < span.end_s:
            return replace(self, cursor_s=cursor_s, live=False)
        return self._at_end(cursor_s, span)

    def _at_end(self, cursor_s: float, span: TimeSpan) -> "Playhead":
        """Go on from the end: live, from the beginning again, or not at all."""
        length_s = span.end_s - span.begin_s
        if span.grows:
            return replace(self, cursor_s=span.end_s, live=True)
        if self.loop and length_s > 0.0:
            return replace(self, cursor_s=span.clamped(span.begin_s + (cursor_s - span.end_s) % length_s), live=False)
        return replace(self, cursor_s=span.end_s, playing=False, live=False)

    def paused(self) -> "Playhead":
        """Pause playing, while the stream goes on."""
        return replace(self, playing=False, live=False)

    def resumed(self, span: TimeSpan) -> "Playhead":
        """Play from here, or from the beginning if this is the end of a span that does not grow."""
        at_end = not span.grows and self.cursor_s >= span.end_s
        return replace(self, playing=True, cursor_s=span.begin_s if at_end else self.cursor_s)

    def scrubbed(self, t_s: float, span: TimeSpan) -> "Playhead":
        """Go to another time and play on if it was playing; the end of a span that grows is the live edge."""
        if span.grows and t_s >= span.end_s - EDGE_S:
            return self.at_edge(span)
        return replace(self, cursor_s=span.clamped(t_s), live=False)

    def at_edge(self, span: TimeSpan) -> "Playhead":
        """Go to the live edge."""
        return replace(self, cursor_s=span.end_s, playing=True, live=span.grows)

    def at_speed(self, speed: float) -> "Playhead":
        """Play at another speed, kept between MIN_SPEED and MAX_SPEED."""
        return replace(self, speed=min(max(speed, MIN_SPEED), MAX_SPEED))

    def looping(self, loop: bool) -> "Playhead":
        """Begin again at the end, or stop there."""
        return replace(self, loop=loop)
