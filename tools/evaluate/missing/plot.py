"""Figures of missing markers: error over the share that is missing, a line for each method, and bars for limbs."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from calibration.quality.picture import open_figure, save_figure
from tools.evaluate.missing.measure import MissingRun
from tools.evaluate.missing.table import mean, parts

COLORS = {
    "hold": "#9aa0a6",
    "linear": "#e8a33d",
    "local": "#5b8dd9",
    "synthesis": "#6aa35a",
    "fixed": "#b57edc",
    "style": "#c2334d",
    "sparse": "#3aa6a0",
    "choice": "#22313f",
}
NAMES = {
    "linear": "interpolation (offline)",
    "local": "local model",
    "synthesis": "style alone",
    "fixed": "style, fixed weight",
    "style": "style, by held-out checks",
    "sparse": "dictionary, by held-out checks",
    "choice": "choice of both",
}
LABELS = {"marker_mm": "missing markers [mm]", "position_mm": "joints [mm]", "geodesic_deg": "joints [degrees]"}


def plot_missing_markers(runs: list[MissingRun], folder: Path) -> list[Path]:
    """Draw a figure for every table, `missing_1.png` and on, in a folder, created if needed; return the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for number, (title, part) in enumerate(parts(runs), start=1):
        file = folder / f"missing_{number}.png"
        at_random, limbs = [r for r in part if not r.case.limb], [r for r in part if r.case.limb]
        rows = bool(at_random) + bool(limbs)
        with open_figure(11.5, 3.6 * rows, "constrained") as figure:
            axes = figure.subplots(rows, len(LABELS), squeeze=False)
            for row, (some, draw) in zip(axes, [x for x in ((at_random, _lines), (limbs, _bars)) if x[0]], strict=True):
                for axis, measure in zip(row, LABELS, strict=True):
                    draw(axis, some, measure)
                    axis.set_ylabel(LABELS[measure])
                    axis.set_ylim(bottom=0.0)
                    axis.grid(axis="y", alpha=0.3)
            handles, labels = axes[0, 0].get_legend_handles_labels()
            figure.legend(handles, labels, loc="outside lower center", ncols=6, fontsize=9)
            clips = len({run.clip for run in part})
            figure.suptitle(f"{title} ({clips} {'clip' if clips == 1 else 'clips'})", fontsize=11)
        save_figure(figure, file)
        files.append(file)
    return files


def _lines(axis: Axes, runs: list[MissingRun], measure: str) -> None:
    """Draw errors over the share that is missing."""
    cases = list(dict.fromkeys(run.case for run in runs))
    share = [100.0 * float(np.mean([run.missing for run in runs if run.case == case])) for case in cases]
    base = [mean([run for run in runs if run.case == case], measure, whole=True) for case in cases]
    for name in dict.fromkeys(run.method for run in runs):
        values = [mean([run for run in runs if run.case == case and run.method == name], measure) for case in cases]
        # With none missing, the others are the estimator itself.
        x, y = (share, values) if name == "synthesis" else ([0.0, *share], [base[0], *values])
        axis.plot(x, y, color=COLORS.get(name), marker="o", markersize=4, label=NAMES.get(name, name))
    axis.plot([0.0, *share], [base[0], *base], label="none missing", color="black", linestyle="dashed", linewidth=1.2)
    axis.set_xlabel("markers missing [%]")
    axis.set_xlim(left=0.0)


def _bars(axis: Axes, runs: list[MissingRun], measure: str) -> None:
    """Draw bars for every limb and method."""
    cases = list(dict.fromkeys(run.case for run in runs))
    methods = list(dict.fromkeys(run.method for run in runs))
    width, at = 0.8 / len(methods), np.arange(len(cases))
    for k, name in enumerate(methods):
        values = [mean([run for run in runs if run.case == case and run.method == name], measure) for case in cases]
        position = at + (k - 0.5 * (len(methods) - 1)) * width
        axis.bar(position, values, 0.92 * width, color=COLORS.get(name), label=NAMES.get(name, name))
    for x, case in enumerate(cases):
        base = mean([run for run in runs if run.case == case], measure, whole=True)
        label = "none missing" if x == 0 else ""
        axis.hlines(base, x - 0.42, x + 0.42, label=label, color="black", linestyle="dashed", linewidth=1.2)
    axis.set_xticks(at, [case.what for case in cases])
