"""The state of things in plain words, as HTML for the head of the page; all that came over the stream is escaped."""

from collections.abc import Iterable
from html import escape

from stream.messages import PoseMessage
from stream.viewer.meter import Sample
from stream.viewer.timeline import COLORS, clock_text
from stream.viewer.track import News, Track
from stream.viewer.view import View

STATES = {
    "tracking": "Tracking",
    "coasting": "Coasting: too few markers, holding on",
    "lost": "Lost: looking for the performer",
}
GOOD, BAD = "#12996f", "#d9480f"
STYLE = """<style>
.duo{font-size:0.86em;line-height:1.45;padding:0.2em 0.75em;overflow-wrap:anywhere}
.duo h4{margin:0;font-size:1.12em;font-weight:650}
.duo .row{display:flex;justify-content:space-between;align-items:baseline;gap:0.6em;flex-wrap:wrap}
.duo .tiles{display:grid;grid-template-columns:repeat(3,1fr);gap:0.4em;margin:0.45em 0 0.6em}
.duo .tile{background:rgba(128,128,128,0.12);border-radius:6px;padding:0.3em 0.5em;min-width:0}
.duo .tile b{display:block;font-size:1.15em;font-variant-numeric:tabular-nums;white-space:nowrap}
.duo .dim{opacity:0.68;font-size:0.88em}
.duo .pill{color:#fff;border-radius:999px;padding:0.08em 0.7em;font-weight:600;white-space:nowrap;font-size:0.92em}
.duo .legend{display:flex;gap:0.2em 1em;flex-wrap:wrap;font-size:0.88em}
.duo table{width:100%;border-collapse:collapse;font-variant-numeric:tabular-nums}
.duo td,.duo th{padding:0.1em 0.25em;text-align:right;font-weight:400}
.duo th{opacity:0.68;font-size:0.9em}
.duo td:first-child,.duo th:first-child{text-align:left}
.duo ul{margin:0;padding:0;list-style:none}
.duo li{padding:0.18em 0;border-top:1px solid rgba(128,128,128,0.18)}
.duo li:first-child{border-top:none}
@keyframes duo-blink{50%{opacity:0.25}}
.duo .dot{display:inline-block;width:0.7em;height:0.7em;border-radius:50%;background:#e03131;animation:duo-blink 1.2s infinite}
</style>"""


def head_html(view: View, pose: PoseMessage | None) -> str:
    """Give the head of the page: who, in which state, when, how fast and how late."""
    if view.waiting:
        return box(_waiting_html(view.address))
    track = view.tracks[0]
    title = " and ".join(escape(_title(track, view.live)) for track in view.tracks)
    note = _note(view)
    recording = f'<div><span class="dot"></span> recording to {escape(view.recording)}</div>' if view.recording else ""
    return box(
        f'<div class="row"><h4>{title}</h4>{pill(*_state(view, pose))}</div>'
        f'<div class="dim">{note}</div>{recording}'
        f'<div class="tiles">{_tiles(view, sample_at(track, view.cursor_s))}</div>'
    )


def box(content: str) -> str:
    """Give content in the project's own dress."""
    return f'{STYLE}<div class="duo">{content}</div>'


def pill(text: str, color: str) -> str:
    """Give a coloured word."""
    return f'<span class="pill" style="background:{color}">{escape(text)}</span>'


def tile(label: str, value: str, color: str = "") -> str:
    """Give a figure with what it is."""
    style = f' style="color:{color}"' if color else ""
    return f'<div class="tile"><b{style}>{value}</b><span class="dim">{escape(label)}</span></div>'


def sample_at(track: Track, t_s: float) -> Sample | None:
    """Give the last sample by a time, the first if there is none so old."""
    samples = track.meter.samples
    for sample in reversed(samples):
        if sample.t_s <= t_s:
            return sample
    return samples[0] if samples else None


def news_html(news: Iterable[News], n: int = 8) -> str:
    """Give the last events, newest first."""
    last = list(news)[-n:][::-1]
    if not last:
        return box('<div class="dim">Nothing has happened yet that needs a word.</div>')
    items = "".join(f'<li><span class="dim">{clock_text(item.t_s)}</span> {escape(item.text)}</li>' for item in last)
    return box(f"<ul>{items}</ul>")


def _waiting_html(address: str) -> str:
    """Say that there is nothing yet and how there would be."""
    return (
        f'<div class="row"><h4>Waiting for a stream</h4></div><div>Nothing comes from {escape(address)} yet. Start '
        "<b>duocap demo</b>, <b>duocap run</b> or <b>duocap replay</b>: this page will show it by itself.</div>"
    )


def _title(track: Track, live: bool) -> str:
    """Name a track: the performer, and the file it is from."""
    who = track.skeleton.subject if track.skeleton is not None else ""
    return (who or "performer") if live else f"{track.title} ({who})" if who else track.title


def _state(view: View, pose: PoseMessage | None) -> tuple[str, str]:
    """Give the tracking state in a word, with its colour."""
    if view.live and view.silent and view.player.live:
        return "stream ended", "#74777d"
    if pose is None:
        return "no pose", "#74777d"
    return pose.state, COLORS.get(pose.state, "#74777d")


def _note(view: View) -> str:
    """Say what is being looked at."""
    if not view.live:
        return f"recording, {clock_text(view.cursor_s)} of {clock_text(view.span.end_s)}"
    session = escape(view.tracks[0].session)
    if view.silent:
        return f"session {session} has ended; its last minutes stay here to look at, and a new session shows by itself"
    if not view.player.live:
        return f"session {session}, {view.span.end_s - view.cursor_s:.1f} s behind; new poses are kept meanwhile"
    return f"session {session}, live"


def _tiles(view: View, sample: Sample | None) -> str:
    """Give the three figures that matter most."""
    time = tile("minutes", clock_text(view.cursor_s))
    if sample is None:
        return time + tile("poses / s", "…") + tile("latency", "…")
    late = sample.total_ms[1] > view.budget_ms
    return (
        time
        + tile("poses / s", f"{sample.poses_hz:.1f}")
        + tile(f"ms, budget {view.budget_ms:g}", f"{sample.total_ms[1]:.1f}", BAD if late else GOOD)
    )
