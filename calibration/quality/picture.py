"""What all figures are drawn with: colours, fonts, the report as text, a camera's image, and a file that is complete or absent.

matplotlib is imported when the first picture is drawn, and draws without a screen.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from calibration.quality.report import Grade, QualityReport
from config.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe & Ito's colours, which stay apart for the colour-blind; the left camera is blue and the right one orange everywhere.
LEFT, RIGHT = "#0072B2", "#D55E00"
CAMERA_COLORS = (LEFT, RIGHT, "#3a8f5c", "#8a5fb0", "#b08a2e", "#3f8f9b", "#b0588a", "#6b7280")
ACCENT, MEASURED, QUIET, INK = "#009E73", "#CC79A7", "0.62", "0.15"
GRADE_COLORS = {Grade.PASS: "#1a7f4e", Grade.POOR: "#b26a00", Grade.FAIL: "#b3261e"}
HINT = "#5f6368"
DPI = 110
STYLE = {
    "font.family": ["DejaVu Sans"],
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.edgecolor": "0.6",
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": "0.35",
    "ytick.color": "0.35",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": "0.9",
    "axes.axisbelow": True,
    "figure.facecolor": "white",
    "legend.frameon": False,
}
HEAD_IN, LINE_IN, GAP = 0.52, 0.168, 0.45  # of a report: above its findings, of a line, and between two findings in lines


@contextmanager
def open_figure(width_in: float, height_in: float, layout: Literal["constrained"] | None = None) -> Iterator[Figure]:
    """Open an empty figure that needs no screen [inches]; axes and text that are made in the block are in our style."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    style: Any = STYLE
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(width_in, height_in), layout=layout)
        FigureCanvasAgg(figure)
        yield figure


def save_figure(figure: Figure, path: str | Path, dpi: int = DPI) -> Path:
    """Write a figure, PNG unless its name ends in .svg or .pdf, and return its path.

    Args:
        figure: the figure.
        path: the file to write.
        dpi: resolution of a PNG.
    Raises: FileFormatError: it cannot be written.
    """
    content, kind = io.BytesIO(), Path(path).suffix.lower().removeprefix(".")
    figure.savefig(content, format=kind if kind in ("svg", "pdf") else "png", dpi=dpi)
    write_atomically(Path(path), content.getvalue())
    return Path(path)


def draw_report_panel(ax: Axes, report: QualityReport, title: str = "", width: int = 84) -> None:
    """Fill an axis with a report: the grade as a badge, then the findings, the worst first.

    Args:
        ax: the axis.
        report: what is shown.
        title: above it.
        width: letters in a line.
    """
    ax.set_axis_off()
    ax.set_xlim(0.0, 1.0)
    ax.set_ylim(0.0, 1.0)
    grade = report.grade
    badge = {"boxstyle": "round,pad=0.45", "facecolor": GRADE_COLORS[grade], "edgecolor": "none"}
    ax.text(0.0, 1.0, f" {grade.name} ", color="white", weight="bold", size=15, va="top", ha="left", bbox=badge)
    if title:
        ax.text(1.0, 0.985, title, size=9, va="top", ha="right", color="0.4")
    height_in = ax.get_position().height * ax.figure.get_figheight()  # type: ignore[union-attr]
    _draw_findings(ax, report, 1.0 - HEAD_IN / height_in, LINE_IN / height_in, width)


def compute_panel_height_in(report: QualityReport, width: int = 84) -> float:
    """Return the height that `draw_report_panel` needs to show all findings [inches]."""
    lines = sum(max(len(textwrap.wrap(finding.line, width)), 1) for finding in report.findings)
    return HEAD_IN + LINE_IN * (lines + GAP * len(report.findings))


def _draw_findings(ax: Axes, report: QualityReport, top: float, step: float, width: int) -> None:
    """Write the findings below each other, as many as fit."""
    ordered, y = report.ordered, top
    for count, finding in enumerate(ordered):
        lines = textwrap.wrap(finding.line, width) or [""]
        if y - step * len(lines) < -0.02:
            ax.text(0.022, y, f"and {len(ordered) - count} more, which the command prints", va="top", size=8.5, color="0.4")
            return
        ax.plot(0.006, y - 0.42 * step, "s", color=HINT if finding.is_hint else GRADE_COLORS[finding.grade], ms=6, clip_on=False)
        strong = "bold" if finding.grade is Grade.FAIL else "normal"
        ax.text(0.022, y, "\n".join(lines), va="top", size=8.5, weight=strong, linespacing=1.2, color=INK)
        y -= step * (len(lines) + GAP)


def make_image_axis(ax: Axes, size: tuple[int, int]) -> None:
    """Make an axis the image of a camera, `size` (width, height) [px], y down."""
    width, height = size
    ax.set_xlim(-0.5, width - 0.5)
    ax.set_ylim(height - 0.5, -0.5)
    ax.set_aspect("equal")
    ax.set_xticks([])
    ax.set_yticks([])
    for spine in ax.spines.values():
        spine.set_visible(True)
