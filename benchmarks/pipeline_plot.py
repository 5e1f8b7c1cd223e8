"""The chart of `benchmarks.pipeline`: where the time goes, and how often it takes how long."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib
import numpy as np

matplotlib.use("Agg")

from matplotlib import pyplot as plt

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from benchmarks.pipeline import Case, Run

COLORS = plt.get_cmap("tab10").colors  # type: ignore[attr-defined]


def plot(path: Path, rows: Sequence[tuple["Case", "Run"]]) -> None:
    """Draw the medians of the stages, stacked, and the distributions of the totals beside their targets."""
    figure, (bars, shares) = plt.subplots(1, 2, figsize=(11.0, 3.8), layout="constrained", width_ratios=(1.15, 1.0))
    _stages(bars, rows)
    _totals(shares, rows)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _stages(axes: "Axes", rows: Sequence[tuple["Case", "Run"]]) -> None:
    """Draw a bar a case, made of the medians of its stages, with its target."""
    stages = [stage for stage in rows[0][1].latency_ms if stage != "total"]
    left = np.zeros(len(rows))
    places = np.arange(len(rows))[::-1]
    for stage, color in zip(stages, COLORS, strict=False):
        width = np.array([run.latency_ms.get(stage, (0.0,))[0] for _, run in rows])
        axes.barh(places, width, 0.55, left, color=color, label=stage)
        left += width
    for place, (case, run) in zip(places, rows, strict=True):
        target = "target p50" if place == 0 else None
        axes.plot([case.p50_ms] * 2, [place - 0.4, place + 0.4], color="black", linestyle="--", label=target)
        axes.text(left[len(rows) - 1 - place] + 0.1, place, f"p50 {run.latency_ms['total'][0]:.1f}", va="center", fontsize=8)
    axes.set(yticks=places, yticklabels=[case.name for case, _ in rows], xlabel="ms, medians of the stages")
    axes.set_xlim(0.0, 1.15 * max(left.max(), max(case.p50_ms for case, _ in rows)))
    axes.set_ylim(-0.5, len(rows) - 0.2)
    axes.set_title("from due to published", loc="left", fontsize=10)
    axes.legend(ncols=5, fontsize=7, loc="upper center", bbox_to_anchor=(0.45, -0.16), frameon=False)


def _totals(axes: "Axes", rows: Sequence[tuple["Case", "Run"]]) -> None:
    """Draw how many poses are older than so much when they are published."""
    for (case, run), color in zip(rows, COLORS, strict=False):
        total = np.sort(run.total_ms)
        axes.step(total, 1.0 - np.arange(len(total)) / len(total), color=color, label=case.name)
    worst = rows[0][0].p99_ms
    axes.axvline(worst, color="black", linestyle=":", label=f"target p99, {worst:g} ms")
    axes.axhline(0.01, color="grey", linewidth=0.6)
    axes.set(xscale="log", yscale="log", xlabel="ms from due to published", ylabel="share of poses that took longer")
    axes.set_title("all poses", loc="left", fontsize=10)
    axes.grid(alpha=0.25)
    axes.legend(fontsize=7)
