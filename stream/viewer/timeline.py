"""The tracking state over time as a coloured strip with a playhead: SVG in a panel, sharp at any width."""

from collections.abc import Sequence
from html import escape

from stream.viewer.history import SILENT, Run
from stream.viewer.player import Span

COLORS = {"tracking": "#009e73", "coasting": "#e69f00", "lost": "#d55e00", SILENT: "#8c8c92"}
WORDS = {"tracking": "tracking", "coasting": "coasting", "lost": "lost", SILENT: "no poses"}
UNITS = 1000.0  # the strip's own width
SHORTEST = 1.5  # a loss of a single frame should still be seen


def strip_svg(runs: Sequence[Run], span: Span, cursor_s: float | None, height_px: int = 14) -> str:
    """Give the strip of a span; cursor_s: where the playhead is, None for a strip without one."""
    bars = [_bar(run, span) for run in sorted(runs, key=lambda run: run.state != "tracking") if run.end_s >= span.begin_s]
    head = "" if cursor_s is None else _playhead(_place(cursor_s, span))
    return (
        f'<svg viewBox="0 0 {UNITS:g} 10" preserveAspectRatio="none" role="img" aria-label="tracking over time" '
        f'style="display:block;width:100%;height:{height_px}px;border-radius:4px;background:rgba(128,128,128,0.18)">'
        f"{''.join(bars)}{head}</svg>"
    )


def legend_html(runs: Sequence[Run]) -> str:
    """Give what the colours mean, with the share of the time of each state, for the states that occur."""
    lengths = {state: sum(run.end_s - run.begin_s for run in runs if run.state == state) for state in WORDS}
    total_s = sum(lengths.values()) or 1.0
    present = [state for state in WORDS if any(run.state == state for run in runs)]
    square = "display:inline-block;width:0.7em;height:0.7em;border-radius:2px;margin-right:0.35em"
    return "".join(
        f'<span style="white-space:nowrap"><span style="{square};background:{COLORS[state]}"></span>'
        f"{escape(WORDS[state])} {100 * lengths[state] / total_s:.0f} %</span>"
        for state in present
    )


def clock_text(t_s: float) -> str:
    """Give a time as minutes and seconds, 75.25 as 1:15.2."""
    tenths = int(max(t_s, 0.0) * 10 + 1e-6)
    return f"{tenths // 600}:{tenths // 10 % 60:02d}.{tenths % 10}"


def _place(t_s: float, span: Span) -> float:
    """Give where a time is on the strip."""
    length_s = span.end_s - span.begin_s
    return UNITS * (span.clamped(t_s) - span.begin_s) / length_s if length_s > 0.0 else UNITS


def _bar(run: Run, span: Span) -> str:
    """Give the bar of one run."""
    left = _place(run.begin_s, span)
    width = max(_place(run.end_s, span) - left, SHORTEST)
    return f'<rect x="{left:.1f}" y="0" width="{width:.1f}" height="10" fill="{COLORS.get(run.state, COLORS[SILENT])}"/>'


def _playhead(x: float) -> str:
    """Give the playhead: light in dark, so that it shows on any colour."""
    x = min(max(x, 2.0), UNITS - 2.0)
    return (
        f'<rect x="{x - 2.6:.1f}" y="0" width="5.2" height="10" fill="#111"/>'
        f'<rect x="{x - 1.3:.1f}" y="0" width="2.6" height="10" fill="#fff"/>'
    )
