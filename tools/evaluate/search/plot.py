"""The figures of the search: poses examined and distance ratio by behaviour, cost against the size of the database."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from calibration.quality.picture import save_figure
from tools.evaluate.search.measure import QueryCost, SearchedFrames

SEARCH, EXHAUSTIVE = "#0072B2", "#E69F00"  # Okabe & Ito


def plot_search(results: Sequence[SearchedFrames], costs: Sequence[QueryCost], folder: Path) -> Path:
    """Draw search.png in a folder, created if needed, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    n = 3 if costs else 2
    figure = Figure(figsize=(4.6 * n, 3.8), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, n)
    _examined(axes[0], results)
    _ratios(axes[1], results)
    if costs:
        _costs(axes[2], costs)
    path = folder / "search.png"
    save_figure(figure, path, 130)
    return path


def _examined(ax: Axes, results: Sequence[SearchedFrames]) -> None:
    """Draw the number of poses that queries examine."""
    names = [f"{each.behaviour} {each.clip}" for each in results]
    ax.boxplot([each.examined[1:] for each in results], orientation="horizontal", whis=(0, 100), tick_labels=names)
    ax.set_xscale("log")
    ax.set_xlabel("poses examined a query")
    ax.tick_params(axis="y", labelsize=7)


def _ratios(ax: Axes, results: Sequence[SearchedFrames]) -> None:
    """Draw the distribution of the distance ratio."""
    ratio = np.sort(np.concatenate([each.ratio[1:] for each in results])) - 1.0
    ax.plot(np.maximum(ratio, 1e-6), np.linspace(0.0, 1.0, len(ratio)), color=SEARCH)
    ax.set_xscale("log")
    ax.set_xlabel("mean distance over exact, minus 1")
    ax.set_ylabel("share of queries")


def _costs(ax: Axes, costs: Sequence[QueryCost]) -> None:
    """Draw the time of a query against the size of the database."""
    sizes = [cost.poses for cost in costs]
    ax.loglog(sizes, [cost.us for cost in costs], "-o", color=SEARCH, label="search")
    ax.loglog(sizes, [cost.exhaustive_us for cost in costs], "--s", color=EXHAUSTIVE, label="exhaustive")
    ax.set_xlabel("poses in the database")
    ax.set_ylabel("us a query")
    ax.legend(frameon=False)
