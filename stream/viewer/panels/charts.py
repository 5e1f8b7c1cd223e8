"""Charts of the last two minutes: latency against the budget and by stage, rates, skew, marker residuals, poses missed."""

from collections.abc import Callable, Mapping, Sequence
from html import escape
from itertools import accumulate
from typing import Any

import numpy as np
import viser
from numpy.typing import NDArray
from viser import uplot

from config.arrays import Floats
from stream.viewer.html import wrap_in_box
from stream.viewer.meter import MeterSample
from stream.viewer.view import AppSnapshot
from stream.web.html import BAD, GOOD, format_pill
from stream.web.widgets import set_html

SHOWN_S = 120.0
HEIGHT_PX = 160
AXIS = "#808086"  # of numbers and ticks: 3.9:1 on white and 4.2:1 on dark pages
# Okabe and Ito's hues, as in the scene: distinct for colour-blind eyes on light and dark.
HUES = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800", "#8c8c92", "#6a51a3", "#1b7837", "#a6611a")
Data = tuple[NDArray[np.float64], ...]
Table = Callable[[Sequence[MeterSample]], dict[str, list[float]]]


class LineChart:
    """Lines over time; the plot is created again only when the lines change.

    Args:
        title: of the plot.
        filled: areas, the first in front.
        dashed: names of lines that are limits rather than measurements.
        top: end of the axis, None: by the values.
        height_px: of the plot.
        marked: whether a dot on each line marks one time; the lines' names are then told beside it, in their `HUES`.
    """

    def __init__(
        self,
        title: str,
        filled: bool = False,
        dashed: Sequence[str] = (),
        top: float | None = None,
        height_px: int = HEIGHT_PX,
        marked: bool = False,
    ) -> None:
        self._title, self._filled, self._dashed, self._top = title, filled, dashed, top
        self._height_px, self._marked = height_px, marked
        self._names: tuple[str, ...] = ()
        self._range: tuple[float, float] | None = None
        self._plot: viser.GuiUplotHandle | None = None

    def build(self, gui: viser.GuiApi) -> None:
        """Create its container."""
        self._gui, self._container = gui, gui.add_folder(None)

    def draw(self, seconds: Floats, columns: Mapping[str, Sequence[float] | Floats], at: int = 0) -> None:
        """Show lines.

        Args:
            seconds: times, (N,).
            columns: values of each line, (N,), by name.
            at: number of the time that is marked.
        """
        lines = [np.asarray(column, float) for column in columns.values()]
        marks = [np.where(np.arange(len(line)) == at, line, np.nan) for line in lines] if self._marked else []
        data = (seconds, *lines, *marks)
        shown = self._find_range(lines)
        if self._plot is None or (self._names, self._range) != (tuple(columns), shown):
            self._range = shown
            self._make(tuple(columns), data)
        else:
            self._plot.data = data

    def _find_range(self, lines: Sequence[Floats]) -> tuple[float, float] | None:
        """Return the ends of the axis; None: the page finds them, which it cannot where values are missing."""
        if self._top is not None:
            return 0.0, self._top
        values = np.concatenate([line[np.isfinite(line)] for line in lines] or [np.zeros(0)])
        if not len(values) or (not self._marked and len(values) == sum(map(len, lines))):
            return None
        low, high = float(values.min()), float(values.max())
        margin = max(0.05 * (high - low), 0.5)
        return low - margin, high + margin

    def _make(self, names: tuple[str, ...], data: Data) -> None:
        """Create the plot for these lines."""
        if self._plot is not None:
            self._plot.remove()
        self._names = names
        marks = [self._mark(n) for n in range(len(names))] if self._marked else []
        with self._container:
            self._plot = self._gui.add_uplot(
                data,
                (uplot.Series(label="s"), *(self._series(n, name) for n, name in enumerate(names)), *marks),
                title=self._title,
                scales={
                    "x": uplot.Scale(time=False),
                    "y": uplot.Scale(auto=True) if self._range is None else uplot.Scale(range=self._range),
                },
                axes=(uplot.Axis(size=32, stroke=AXIS), uplot.Axis(size=48, stroke=AXIS)),
                legend=uplot.Legend(show=not self._marked, live=False),
                height=self._height_px,
                padding=(4, 10, 0, 0),
            )

    def _series(self, n: int, name: str) -> uplot.Series:
        """Return the style of a line."""
        if name in self._dashed:
            return uplot.Series(label=name, stroke="#e03131", width=1.5, dash=(6.0, 4.0), points={"show": False})
        hue = HUES[n % len(HUES)]
        series = uplot.Series(label=name, stroke=hue, width=1.0 if self._filled else 1.8, points={"show": False})
        if self._filled:
            series["fill"] = hue
        return series

    def _mark(self, n: int) -> uplot.Series:
        """Return the style of the dot on a line."""
        hue = HUES[n % len(HUES)]
        return uplot.Series(label="", stroke=hue, width=0.0, points={"show": True, "size": 9, "fill": hue})


class Chart(LineChart):
    """A chart of samples; table: the values of each line from samples; style: as LineChart."""

    def __init__(self, title: str, table: Table, **style: Any) -> None:
        super().__init__(title, **style)
        self._table = table

    def update(self, samples: Sequence[MeterSample], cursor_s: float) -> None:
        """Show samples; the time axis is seconds before the cursor. Without lines, as of poses without stages, do nothing."""
        columns = self._table(samples)
        if columns:
            self.draw(np.array([sample.t_s - cursor_s for sample in samples]), columns)


class ChartsPanel:
    """All charts, and a table of the latency of each stage."""

    period_s = 1.0

    def __init__(self, budget_ms: float) -> None:
        self._budget_ms = budget_ms
        self._charts = (
            Chart("Latency, picture to page [ms]", self._latency, dashed=("budget",), top=2.0 * budget_ms),
            Chart("Stages, one upon the other [ms]", stack_stage_medians, filled=True, top=1.25 * budget_ms),
            Chart("Rates [1/s]", chart_rates),
            Chart("Between the cameras [ms]", lambda samples: {"skew": [s.skew_ms for s in samples]}),
            Chart("Markers from the body [mm]", chart_residuals),
            Chart("Poses that never came", collect_missed_poses),
        )
        self._shown: tuple[float, float, int] | None = None

    def build(self, gui: viser.GuiApi) -> None:
        """Create the widgets."""
        self._table = gui.add_html("")
        for chart in self._charts:
            chart.build(gui)

    def update(self, view: AppSnapshot) -> None:
        """Show new samples."""
        every = view.tracks[0].meter.samples
        samples = [sample for sample in every if view.cursor_s - SHOWN_S <= sample.t_s <= view.cursor_s]
        if not samples:
            set_html(self._table, wrap_in_box('<div class="dim">Figures come with the first seconds of a performance.</div>'))
            return
        shown = (samples[0].t_s, samples[-1].t_s, len(samples))
        if shown == self._shown:
            return
        self._shown = shown
        set_html(self._table, format_latency_html(samples[-1], self._budget_ms))
        for chart in self._charts:
            chart.update(samples, samples[-1].t_s)

    def _latency(self, samples: Sequence[MeterSample]) -> dict[str, list[float]]:
        """Return the total latency, and the budget with the lag that was asked for."""
        lines = {name: [sample.total_ms[n] for sample in samples] for n, name in enumerate(("p50", "p95", "p99"))}
        return {**lines, "budget": [self._budget_ms + sample.lag_ms for sample in samples]}


def stack_stage_medians(samples: Sequence[MeterSample]) -> dict[str, list[float]]:
    """Return the cumulative sums of the stages' medians, the last stage first: it is drawn first, behind the others."""
    names = list(dict.fromkeys(name for sample in samples for name in sample.latency_ms))
    sums = [list(accumulate(sample.latency_ms.get(name, (0.0, 0.0, 0.0))[0] for name in names)) for sample in samples]
    return {name: [row[n] for row in sums] for n, name in reversed(list(enumerate(names)))}


def chart_rates(samples: Sequence[MeterSample]) -> dict[str, list[float]]:
    """Return the rates of poses and of each camera's pictures [1/s]; 0 for a camera that has not reported yet."""
    cameras = list(dict.fromkeys(name for sample in samples for name in sample.cameras_hz))
    columns = {"poses": [sample.poses_hz for sample in samples]}
    return columns | {name: [sample.cameras_hz.get(name, 0.0) for sample in samples] for name in cameras}


def chart_residuals(samples: Sequence[MeterSample]) -> dict[str, list[float]]:
    """Return the median distance of measured markers from the body [mm]; NaN where none was measured."""
    return {"median": [float("nan") if s.residual_mm is None else s.residual_mm for s in samples]}


def collect_missed_poses(samples: Sequence[MeterSample]) -> dict[str, list[float]]:
    """Return the number of poses missed in each second."""
    counts = [sample.n_missed for sample in samples]
    return {"missed": [float(now - before) for before, now in zip([counts[0], *counts[:-1]], counts, strict=True)]}


def format_latency_html(sample: MeterSample, budget_ms: float) -> str:
    """Return a table of the stages in the last second, and whether the p95 of the total is within budget and lag."""
    allowed_ms = budget_ms + sample.lag_ms
    late = sample.total_ms[1] > allowed_ms
    grade = f"{sample.total_ms[1] - allowed_ms:.0f} over {allowed_ms:.0f}" if late else f"within {allowed_ms:.0f}"
    rows = "".join(_format_row(name, values) for name, values in sample.latency_ms.items())
    return wrap_in_box(
        f'<div class="row"><h4>Latency [ms]</h4>{format_pill(grade, BAD if late else GOOD)}</div>'
        "<table><tr><th>stage</th><th>p50</th><th>p95</th><th>p99</th></tr>"
        f"{rows}{_format_row('picture to page', sample.total_ms, bold=True)}</table>"
    )


def _format_row(name: str, values: tuple[float, float, float], bold: bool = False) -> str:
    """Return one row."""
    style = ' style="font-weight:650"' if bold else ""
    return f"<tr{style}><td>{escape(name)}</td>" + "".join(f"<td>{value:.1f}</td>" for value in values) + "</tr>"
