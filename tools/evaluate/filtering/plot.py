"""Figure of filters: jitter of standing bodies against the delay of moving ones, a curve for each filter."""

from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from calibration.quality.picture import save_figure
from tools.evaluate.filtering.measure import FilteringResult, FilterRun

HALF_FRAME_MS = 1e3 / 120.0
COLORS = {"ours": "tab:blue", "one-euro, 0.3 Hz": "tab:orange", "one-euro, 1 Hz": "tab:red", "low pass": "tab:gray"}


def plot_filtering(result: FilteringResult, folder: Path) -> Path:
    """Draw filtering.png in a folder, created if needed, and return its path."""
    figure = Figure(figsize=(12.0, 5.0), layout="constrained")
    FigureCanvasAgg(figure)
    both = any(name.startswith("real") for name in result.runs[0].jitter_mm)
    axes = figure.subplots(1, 2 if both else 1, squeeze=False)[0]
    for ax, real in zip(axes, (False, True), strict=False):
        _panel(ax, result.runs, real)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "filtering.png"
    save_figure(figure, path, 130)
    return path


def _panel(ax: Any, runs: list[FilterRun], real: bool) -> None:
    """Draw the curves for the recordings, or for the clips."""
    none = runs[0].means(real)[0]
    for family, color in COLORS.items():
        points = [run.means(real) for run in runs if run.family == family]
        ax.plot([p[1] for p in points], [p[0] for p in points], "o-", color=color, label=family, ms=4)
    used = next(run for run in runs if run.family == "ours" and run.strength == 1.0).means(real)
    ax.plot(used[1], used[0], "*", color="tab:blue", ms=14, label="in use")
    ax.axhline(none, color="black", lw=1, label="not filtered")
    ax.axhline(none / 3.0, color="black", lw=1, ls=":", label="a third of that")
    ax.axvline(HALF_FRAME_MS, color="green", lw=1, ls="--", label="half a frame at 60 Hz")
    ax.set_xscale("symlog", linthresh=1.0)
    ax.set_xlim(-0.2, 200.0)
    ax.set_xticks([0, 0.5, 1, 2, 5, 10, 20, 50, 100], [str(x) for x in (0, 0.5, 1, 2, 5, 10, 20, 50, 100)])
    ax.set_yscale("log")
    ax.set_yticks([0.5, 1, 2, 5, 10], ["0.5", "1", "2", "5", "10"])
    ax.set_yticks([], minor=True)
    ax.set_xlabel("added delay in motion [ms]")
    ax.set_ylabel("jitter standing still [mm RMS]")
    ax.set_title("T-pose of a real recording" if real else "held poses of real clips, 5 mm of noise")
    ax.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.12), ncol=4)
