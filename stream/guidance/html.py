"""What the guidance page says, as HTML; all text from elsewhere is escaped."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from calibration.guidance.advice import Advice, Requirement
from calibration.quality.report import Grade, QualityReport
from stream.web.html import BAD, GOOD, NEUTRAL, format_pill

POOR = "#c98a00"
MAX_LARGE = 44  # letters; longer texts are set smaller
GRADE_COLORS = {Grade.PASS: GOOD, Grade.POOR: POOR, Grade.FAIL: BAD}
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
class CameraCondition:
    """The state of a camera.

    Attributes:
        good: it delivers pictures.
        message: state of the camera, or its fault.
    """

    name: str
    good: bool
    message: str = ""


def wrap_in_style(content: str) -> str:
    """Return content in the page's style."""
    return f'{STYLE}<div class="guide">{content}</div>'


def format_instruction_html(text: str, color: str = "", note: str = "") -> str:
    """Return the one thing to do, large enough to read across the room.

    Args:
        text: the one thing to do.
        color: colour of the letters.
        note: below it.
    """
    style = f' style="color:{color}"' if color else ""
    kind = "big long" if len(text) > MAX_LARGE else "big"
    below = f'<div class="dim">{escape(note)}</div>' if note else ""
    return wrap_in_style(f'<div class="{kind}"{style}><span>{escape(text)}</span></div>{below}')


def format_progress_html(advice: Advice) -> str:
    """Return the total progress and a meter for every requirement."""
    total = _format_meter(Requirement("in all", advice.progress, figure=f"{100 * advice.progress:.0f} %"), "total")
    counts = f'<div class="dim">{escape(advice.counts)}</div>' if advice.counts else ""
    return wrap_in_style(total + counts + "".join(_format_meter(need) for need in advice.needs))


def format_cameras_html(cameras: Sequence[CameraCondition]) -> str:
    """Return the state of each camera."""
    rows = []
    for camera in cameras:
        label = format_pill("live", GOOD) if camera.good else format_pill("waiting", BAD)
        rows.append(f'<div class="cam"><b>{escape(camera.name)}</b>{label}</div><div class="dim">{escape(camera.message)}</div>')
    return wrap_in_style("".join(rows))


def format_grade_html(report: QualityReport | None, error: str = "") -> str:
    """Return the grade in large letters; error: why there is no report, or why nothing was written."""
    if report is None:
        return format_instruction_html("it did not work", BAD, error)
    return format_instruction_html(f"verdict: {report.grade.word}", GRADE_COLORS[report.grade], error)


def format_findings_html(report: QualityReport | None, lines: Sequence[str], error: str = "") -> str:
    """Return the findings of a report, the worst first, each with its grade, then further lines.

    Args:
        report: quality report of the calibration.
        lines: further lines.
        error: error as in `format_grade_html`.
    """
    findings = report.ordered if report is not None else []
    colors = [NEUTRAL if finding.is_hint else GRADE_COLORS[finding.grade] for finding in findings]
    items = [
        f'<b style="color:{color}">{finding.word}</b> {escape(finding.line)}'
        for finding, color in zip(findings, colors, strict=True)
    ]
    items += [escape(line.strip()) for line in lines if line.strip()]
    why = f"<p><b>{escape(error)}</b></p>" if error else ""
    return wrap_in_style(why + "<ul>" + "".join(f"<li>{item}</li>" for item in items) + "</ul>")


def _format_meter(need: Requirement, kind: str = "") -> str:
    """Return one meter; a full one is enough."""
    share = min(max(need.have, 0.0), 1.0)
    color, tick = (GOOD, " &#10003;") if share >= 1.0 else (POOR, "")
    return (
        f'<div class="need {kind}"><div class="top"><b>{escape(need.name)}{tick}</b><span>{escape(need.figure)}</span></div>'
        f'<div class="bar"><i style="width:{100 * share:.0f}%;background:{color}"></i></div></div>'
    )
