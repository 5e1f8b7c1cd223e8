"""What the page says, as HTML; all that came from elsewhere is escaped."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from calibration.guidance import Advice, Need
from calibration.verdict import Grade

GOOD, POOR, BAD, QUIET = "#12996f", "#c98a00", "#d9480f", "#74777d"
LONG = 44  # letters: more would not fit in large ones
GRADES = {Grade.PASS: ("pass", GOOD), Grade.POOR: ("poor", POOR), Grade.FAIL: ("fail", BAD)}
STYLE = """<style>
.guide{font-size:0.95em;line-height:1.45;padding:0.3em 0.8em;overflow-wrap:anywhere}
.guide .big{font-size:3em;line-height:1.1;font-weight:700;min-height:2.3em;display:flex;align-items:center}
.guide .long{font-size:1.9em;line-height:1.15}
.guide .dim{opacity:0.7;font-size:0.92em}
.guide .need{margin:0.5em 0}
.guide .need .top{display:flex;justify-content:space-between;gap:0.6em}
.guide .bar{height:0.55em;border-radius:999px;background:rgba(128,128,128,0.22);overflow:hidden}
.guide .bar i{display:block;height:100%;border-radius:999px}
.guide .total .bar{height:0.9em}
.guide .cam{display:flex;justify-content:space-between;gap:0.6em}
.guide .pill{color:#fff;border-radius:999px;padding:0.08em 0.7em;font-weight:600;white-space:nowrap}
.guide .grade{font-size:1.7em;font-weight:700;margin:0.1em 0 0.4em}
.guide li{margin:0.35em 0}
.guide ul{margin:0;padding-left:1.1em}
</style>"""


@dataclass(frozen=True, slots=True)
class CameraWords:
    """How a camera is. good: it gives pictures; words: what it is, or what is wrong."""

    name: str
    good: bool
    words: str = ""


def dress(content: str) -> str:
    """Give content in the page's dress."""
    return f'{STYLE}<div class="guide">{content}</div>'


def big_html(words: str, color: str = "", small: str = "") -> str:
    """Give the one thing to do, to be read from across the room; small: below it."""
    style = f' style="color:{color}"' if color else ""
    kind = "big long" if len(words) > LONG else "big"
    below = f'<div class="dim">{escape(small)}</div>' if small else ""
    return dress(f'<div class="{kind}"{style}><span>{escape(words)}</span></div>{below}')


def needs_html(advice: Advice) -> str:
    """Give progress in all and a meter for every need."""
    total = _meter(Need("in all", advice.progress, figure=f"{100 * advice.progress:.0f} %"), "total")
    counts = f'<div class="dim">{escape(advice.counts)}</div>' if advice.counts else ""
    return dress(total + counts + "".join(_meter(need) for need in advice.needs))


def _meter(need: Need, kind: str = "") -> str:
    """Give one meter: full is enough."""
    share = min(max(need.have, 0.0), 1.0)
    color = GOOD if share >= 1.0 else POOR
    tick = " &#10003;" if share >= 1.0 else ""
    return (
        f'<div class="need {kind}"><div class="top"><b>{escape(need.name)}{tick}</b><span>{escape(need.figure)}</span></div>'
        f'<div class="bar"><i style="width:{100 * share:.0f}%;background:{color}"></i></div></div>'
    )


def cameras_html(cameras: Sequence[CameraWords]) -> str:
    """Give how each camera is."""
    rows = []
    for camera in cameras:
        pill = (
            f'<span class="pill" style="background:{GOOD if camera.good else BAD}">{"live" if camera.good else "waiting"}</span>'
        )
        rows.append(f'<div class="cam"><b>{escape(camera.name)}</b>{pill}</div><div class="dim">{escape(camera.words)}</div>')
    return dress("".join(rows))


def verdict_html(lines: Sequence[str], error: str = "") -> str:
    """Give what was found, each finding with its grade as a coloured word. error: why nothing came of it, in one line."""
    told = [line.strip() for line in lines if line.strip() and not line.startswith("verdict:")]
    why = f"<p><b>{escape(error)}</b></p>" if error else ""
    return dress(why + "<ul>" + "".join(f"<li>{_finding(line)}</li>" for line in told) + "</ul>")


def _finding(line: str) -> str:
    """Give one line; its first word in colour where it is a grade."""
    word, _, rest = line.partition(" ")
    for name, color in GRADES.values():
        if word == name:
            return f'<b style="color:{color}">{name}</b> {escape(rest.strip())}'
    return escape(line)


def result_html(grade: Grade | None, error: str = "") -> str:
    """Give what came out in large letters. grade: None where nothing did."""
    if grade is None:
        return big_html("it did not work", BAD, error)
    word, color = GRADES[grade]
    return big_html(f"verdict: {word}", color, error)
