"""What the viewer's page says, as HTML and SVG; all text from the stream is escaped."""

from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

from config.words import format_count
from reconstruct.pose import TrackingState
from stream.protocol.messages import PoseMessage
from stream.viewer.history import SILENT, StateSpan
from stream.viewer.meter import MeterSample
from stream.viewer.player import TimeSpan
from stream.viewer.scene.colors import BODIES
from stream.viewer.track import Notice, ViewerTrack
from stream.viewer.view import AppSnapshot
from stream.web.html import BAD, GOOD, NEUTRAL, format_pill

STATE_COLORS = {
    TrackingState.TRACKING: "#009e73",
    TrackingState.COASTING: "#e69f00",
    TrackingState.LOST: "#d55e00",
    SILENT: "#8c8c92",
}
STATE_LABELS: dict[str, str] = {**{state.value: state.value for state in TrackingState}, SILENT: "no poses"}
SQUARE = "display:inline-block;width:0.7em;height:0.7em;border-radius:2px;margin-right:0.35em"
STRIP_UNITS = 1000.0  # width of the strip in its own units
MIN_BAR_UNITS = 1.5  # a loss of a single frame should still be visible
STYLE = """<style>
.duo{font-size:0.86em;line-height:1.45;padding:0.2em 0.75em;overflow-wrap:anywhere}
.duo h4{margin:0;font-size:1.12em;font-weight:650}
.duo .row{display:flex;justify-content:space-between;align-items:baseline;gap:0.6em;flex-wrap:wrap}
.duo .tiles{display:grid;grid-template-columns:repeat(3,1fr);gap:0.4em;margin:0.45em 0 0.6em}
.duo .tile{background:rgba(128,128,128,0.12);border-radius:6px;padding:0.3em 0.5em;min-width:0}
.duo .tile b{display:block;font-size:1.15em;font-variant-numeric:tabular-nums;white-space:nowrap}
.duo .dim{opacity:0.8;font-size:0.88em}
.duo .pill{border-radius:999px;padding:0.08em 0.7em;font-weight:600;white-space:nowrap;font-size:0.92em}
.duo .legend{display:flex;gap:0.2em 1em;flex-wrap:wrap;font-size:0.88em}
.duo table{width:100%;border-collapse:collapse;font-variant-numeric:tabular-nums}
.duo td,.duo th{padding:0.1em 0.25em;text-align:right;font-weight:400}
.duo th{opacity:0.8;font-size:0.9em}
.duo td:first-child,.duo th:first-child{text-align:left}
.duo ul{margin:0;padding:0;list-style:none}
.duo li{padding:0.18em 0;border-top:1px solid rgba(128,128,128,0.18)}
.duo li:first-child{border-top:none}
@keyframes duo-blink{50%{opacity:0.25}}
.duo .dot{display:inline-block;width:0.7em;height:0.7em;border-radius:50%;background:#e03131;animation:duo-blink 1.2s infinite}
</style>"""


def wrap_in_box(content: str) -> str:
    """Return content in the page's style."""
    return f'{STYLE}<div class="duo">{content}</div>'


def format_head_html(view: AppSnapshot, pose: PoseMessage | None) -> str:
    """Return the head of the page: subject, tracking state, time, rate and latency."""
    if view.waiting:
        return wrap_in_box(
            f'<div class="row"><h4>Waiting for a stream</h4></div><div>Nothing comes from {escape(view.address)} yet. Start '
            "<b>duocap demo</b>, <b>duocap run</b> or <b>duocap replay</b>: this page will show it by itself.</div>"
        )
    track = view.tracks[0]
    title = " and ".join(
        f"{format_take_square(view, n)}{escape(_format_track_title(one, view.live))}" for n, one in enumerate(view.tracks)
    )
    state, color = _format_state(view, pose)
    place = view.recording or view.take
    recording = f'<div><span class="dot"></span> recording to {escape(place)}</div>' if place else ""
    return wrap_in_box(
        f'<div class="row"><h4>{title}</h4>{format_pill(state, color)}</div>'
        f'<div class="dim">{_format_note(view)}</div>{recording}'
        f"{_format_error_html(track, pose)}{_format_visibility_html(track, pose)}"
        f'<div class="tiles">{_format_tiles(view, find_sample(track, view.cursor_s))}</div>'
    )


def format_take_square(view: AppSnapshot, n: int) -> str:
    """Return a square in the colour of a take's body, empty where one take alone is shown."""
    return f'<span style="{SQUARE};background:rgb{BODIES[n]}"></span>' if len(view.tracks) > 1 else ""


def _format_error_html(track: ViewerTrack, pose: PoseMessage | None) -> str:
    """Return how far off the joints of a pose may be, empty where nobody knows."""
    if pose is None or not len(pose.error_m):
        return ""
    worst = int(np.argmax(pose.error_m))
    name = "" if track.skeleton is None else f" ({escape(track.skeleton.names[worst])})"
    usual_mm, worst_mm = 1e3 * float(np.median(pose.error_m)), 1e3 * float(pose.error_m[worst])
    return f'<div class="dim">joints may be {usual_mm:.0f} mm off, the worst {worst_mm:.0f} mm{name}</div>'


def _format_visibility_html(track: ViewerTrack, pose: PoseMessage | None) -> str:
    """Return by how many cameras a pose and its markers are seen, empty where that is unknown."""
    if pose is None or not (pose.markers or pose.views):
        return ""
    if not pose.markers:
        return f'<div class="dim">seen by {pose.views} of {max(len(track.camera_names), pose.views)} cameras</div>'
    seeing = {camera for marker in pose.markers for camera in marker.cameras}
    names = track.camera_names
    blind = [name for camera, name in enumerate(names) if camera not in seeing]
    cameras = f"{len(seeing)} of {len(names)} cameras" if names else format_count(len(seeing), "camera")
    without = f" (not {', '.join(blind)})" if len(blind) < len(seeing) and blind else ""
    counts = Counter(len(marker.cameras) for marker in pose.markers)
    markers = ", ".join(f"{counts[n]} by {n or 'none'}" for n in sorted(counts, reverse=True))
    return f'<div class="dim">seen by {cameras}{escape(without)}; markers: {markers}</div>'


def find_sample(track: ViewerTrack, t_s: float) -> MeterSample | None:
    """Return the last sample up to a time, else the first; None if there is none."""
    samples = track.meter.samples
    return next((sample for sample in reversed(samples) if sample.t_s <= t_s), samples[0] if samples else None)


def format_notices_html(notices: Iterable[Notice], n: int = 8) -> str:
    """Return the last n notices, newest first."""
    last = list(notices)[-n:][::-1]
    if not last:
        return wrap_in_box('<div class="dim">Nothing has happened yet that needs a word.</div>')
    items = "".join(f'<li><span class="dim">{format_clock(item.t_s)}</span> {escape(item.text)}</li>' for item in last)
    return wrap_in_box(f"<ul>{items}</ul>")


def draw_strip_svg(runs: Sequence[StateSpan], span: TimeSpan, cursor_s: float | None) -> str:
    """Return the tracking state over a span of time as a coloured strip.

    Args:
        runs: spans with one state each.
        span: span of time that the strip shows.
        cursor_s: time of the playhead, None: no playhead.
    """
    tracking_first = sorted(runs, key=lambda run: run.state != TrackingState.TRACKING)
    bars = [_draw_bar(run, span) for run in tracking_first if run.end_s >= span.begin_s]
    head = "" if cursor_s is None else _draw_playhead(_compute_strip_x(cursor_s, span))
    return (
        f'<svg viewBox="0 0 {STRIP_UNITS:g} 10" preserveAspectRatio="none" role="img" aria-label="tracking over time" '
        f'style="display:block;width:100%;height:14px;border-radius:4px;background:rgba(128,128,128,0.18)">'
        f"{''.join(bars)}{head}</svg>"
    )


def format_legend_html(runs: Sequence[StateSpan]) -> str:
    """Return the colours of the states that occur, with each state's share of the time."""
    lengths_s = {state: sum(run.end_s - run.begin_s for run in runs if run.state == state) for state in STATE_LABELS}
    total_s = sum(lengths_s.values()) or 1.0
    present = {run.state for run in runs}
    return "".join(
        f'<span style="white-space:nowrap"><span style="{SQUARE};background:{STATE_COLORS[state]}"></span>'
        f"{label} {100 * lengths_s[state] / total_s:.0f} %</span>"
        for state, label in STATE_LABELS.items()
        if state in present
    )


def format_clock(t_s: float) -> str:
    """Return a time as minutes and seconds, 75.25 as 1:15.2."""
    tenths = int(max(t_s, 0.0) * 10 + 1e-6)
    return f"{tenths // 600}:{tenths // 10 % 60:02d}.{tenths % 10}"


def _format_track_title(track: ViewerTrack, live: bool) -> str:
    """Return the name of a track: the performer, and the file it is from."""
    name = track.skeleton.subject if track.skeleton is not None else ""
    return (name or "performer") if live else f"{track.title} ({name})" if name else track.title


def _format_state(view: AppSnapshot, pose: PoseMessage | None) -> tuple[str, str]:
    """Return the tracking state in one word, and its colour."""
    if view.live and view.silent and view.player.live:
        return "stream ended", NEUTRAL
    return ("no pose", NEUTRAL) if pose is None else (pose.state, STATE_COLORS[pose.state])


def _format_note(view: AppSnapshot) -> str:
    """Describe what is shown: a recording, the live stream, or its past."""
    if not view.live:
        return f"recording, {format_clock(view.cursor_s)} of {format_clock(view.span.end_s)}"
    session = escape(view.tracks[0].session)
    if view.silent:
        return f"session {session} has ended; its last minutes stay here to look at, and a new session shows by itself"
    if not view.player.live:
        return f"session {session}, {view.span.end_s - view.cursor_s:.1f} s behind; new poses are kept meanwhile"
    return f"session {session}, live"


def _format_tiles(view: AppSnapshot, sample: MeterSample | None) -> str:
    """Return time, pose rate, latency, and the lag where one was asked for."""
    time = _format_tile("minutes", format_clock(view.cursor_s))
    if sample is None:
        return time + _format_tile("poses / s", "…") + _format_tile("latency", "…")
    p95_ms = sample.total_ms[1]
    allowed_ms = view.budget_ms + sample.lag_ms
    latency = _format_tile(f"ms, budget {allowed_ms:.0f}", f"{p95_ms:.1f}", BAD if p95_ms > allowed_ms else GOOD)
    lag = _format_tile("ms of lag", f"{sample.lag_ms:.0f}") if sample.lag_ms else ""
    return time + _format_tile("poses / s", f"{sample.poses_hz:.1f}") + latency + lag


def _format_tile(label: str, value: str, color: str = "") -> str:
    """Return a figure with its label."""
    style = f' style="border-bottom:3px solid {color}"' if color else ""  # text in it would be hard to read on one of two grounds
    return f'<div class="tile"><b{style}>{value}</b><span class="dim">{escape(label)}</span></div>'


def _compute_strip_x(t_s: float, span: TimeSpan) -> float:
    """Return the x coordinate of a time on the strip."""
    length_s = span.end_s - span.begin_s
    return STRIP_UNITS * (span.clamped(t_s) - span.begin_s) / length_s if length_s > 0.0 else STRIP_UNITS


def _draw_bar(run: StateSpan, span: TimeSpan) -> str:
    """Return the bar of one run."""
    left = _compute_strip_x(run.begin_s, span)
    width = max(_compute_strip_x(run.end_s, span) - left, MIN_BAR_UNITS)
    return f'<rect x="{left:.1f}" y="0" width="{width:.1f}" height="10" fill="{STATE_COLORS[run.state]}"/>'


def _draw_playhead(x: float) -> str:
    """Return the playhead: a light line in a dark one, visible on any colour."""
    x = min(max(x, 2.0), STRIP_UNITS - 2.0)
    return (
        f'<rect x="{x - 2.6:.1f}" y="0" width="5.2" height="10" fill="#111"/>'
        f'<rect x="{x - 1.3:.1f}" y="0" width="2.6" height="10" fill="#fff"/>'
    )
