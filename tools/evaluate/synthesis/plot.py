"""Figures of synthesis errors: bars by behaviour, and error over time of each clip as in Chai & Hodgins 2005, Figure 6."""

from pathlib import Path

import numpy as np

from calibration.quality.picture import open_figure, save_figure
from tools.evaluate.queries import FPS
from tools.evaluate.synthesis.measure import VICON, SynthesisRun
from tools.evaluate.synthesis.table import PAPER, WHAT, behaviour_mean

COLORS = {"NN": "#9aa0a6", "LWR": "#e8a33d", "average": "#6aa35a", "paper": "#5b8dd9", "paper-si": "#8f7fd0", "ours": "#c2334d"}
NAMES = {
    "NN": "nearest neighbour",
    "LWR": "weighted regression",
    "average": "weighted average",
    "paper": "the paper's model",
    "paper-si": "the same in m, rad",
    "ours": "duocap",
}
TITLES = WHAT | {VICON: "real Vicon markers"}
BARS = {"asf_deg": "degrees per joint angle", "position_mm": "mm per joint"}


def plot_runs(runs: list[SynthesisRun], folder: Path) -> list[Path]:
    """Write `bars_<variant>.png` and `<clip>_<variant>.png` to a folder, created if needed; return the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for variant in dict.fromkeys(run.variant for run in runs):
        part = [run for run in runs if run.variant == variant]
        files.append(_bars(part, folder / f"bars_{variant}.png", TITLES.get(variant, variant)))
        for clip in dict.fromkeys(run.clip for run in part):
            same = [run for run in part if run.clip == clip]
            files.append(_over_time(same, folder / f"{clip}_{variant}.png", TITLES.get(variant, variant)))
    return files


def _bars(runs: list[SynthesisRun], file: Path, what: str) -> Path:
    """Draw the mean of every behaviour and method, degrees above and millimetres below; the paper's own figures as lines."""
    behaviours = list(dict.fromkeys(run.behaviour for run in runs))
    methods = list(dict.fromkeys(run.method for run in runs))
    with open_figure(max(7.5, 1.1 * len(behaviours) + 2.0), 6.5, "constrained") as figure:
        axes = figure.subplots(2, 1, sharex=True)
        width = 0.8 / len(methods)
        at = np.arange(len(behaviours))
        for axis, (measure, unit) in zip(axes, BARS.items(), strict=True):
            for k, name in enumerate(methods):
                values = [behaviour_mean(runs, behaviour, name, measure) for behaviour in behaviours]
                position = at + (k - 0.5 * (len(methods) - 1)) * width
                axis.bar(
                    position,
                    values,
                    width * 0.92,
                    color=COLORS.get(name),
                    label=None if axis is axes[1] else NAMES.get(name, name),
                )
            axis.set_ylabel(unit)
            axis.grid(axis="y", alpha=0.3)
        for x, behaviour in enumerate(behaviours):
            if behaviour in PAPER:
                own = "the paper's own result" if x == 0 else None
                axes[0].hlines(
                    PAPER[behaviour][2], x - 0.42, x + 0.42, color="black", linestyles="dashed", linewidth=1.2, label=own
                )
        figure.legend(loc="outside upper center", ncols=5, fontsize=8)
        axes[0].set_title(what, fontsize=10)
        axes[1].set_xticks(
            at, behaviours, rotation=30 if len(behaviours) > 4 else 0, ha="right" if len(behaviours) > 4 else "center"
        )
    return save_figure(figure, file)


def _over_time(runs: list[SynthesisRun], file: Path, what: str) -> Path:
    """Draw a clip's error over time for every method."""
    with open_figure(8.0, 5.0, "constrained") as figure:
        axes = figure.subplots(2, 1, sharex=True)
        for run in runs:
            seconds = np.arange(1, len(run.asf_deg) + 1) / FPS
            name = NAMES.get(run.method, run.method)
            mean = f"{name} ({run.means['asf_deg']:.2f} deg, {run.means['position_mm']:.0f} mm)"
            axes[0].plot(seconds, run.asf_deg, color=COLORS.get(run.method), linewidth=1.1, label=mean)
            axes[1].plot(seconds, run.position_mm, color=COLORS.get(run.method), linewidth=1.1)
        for axis, label in zip(axes, BARS.values(), strict=True):
            axis.set_ylabel(label)
            axis.set_ylim(bottom=0.0)
            axis.margins(x=0.0)
            axis.grid(alpha=0.3)
        axes[0].legend(fontsize=8, ncols=2)
        axes[0].set_title(f"{runs[0].clip}, {runs[0].behaviour}: {what}", fontsize=10)
        axes[1].set_xlabel("seconds")
    return save_figure(figure, file)
