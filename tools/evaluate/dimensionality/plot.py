"""The figure of dimensionality: a column for each database, error against dimensions (Chai & Hodgins 2005, Figure 5)."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from calibration.quality.picture import save_figure
from config.errors import DuocapError, describe_reason
from tools.evaluate.dimensionality.measure import FigurePanel

# Okabe & Ito's colours, which the colour-blind can distinguish; dashes and markers distinguish the methods in grey.
STYLES = {
    "global PCA": ("#0072B2", "-", "s"),
    "mixture of local linear models": ("#E69F00", "--", "^"),
    "GPLVM": ("#CC79A7", ":", "D"),
    "local model": ("#009E73", "-", "o"),
}
TITLES = {"own": "poses of the database", "unseen": "poses of other clips"}
MAX_DEG = 6.0


def plot_dimensionality(panels: Sequence[FigurePanel], folder: Path) -> Path:
    """Draw dimensionality.png in a folder, created if needed, and return its path. Raises DuocapError: it cannot be written."""
    path = folder / "dimensionality.png"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.touch()
    except OSError as error:
        raise DuocapError(f"{path}: cannot be written ({describe_reason(error)}); name a folder that you may write to") from error
    names, kinds = list(dict.fromkeys(p.case.name for p in panels)), list(dict.fromkeys(p.kind for p in panels))
    figure = Figure(figsize=(4.4 * len(names), 3.6 * len(kinds) + 0.6), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(len(kinds), len(names), sharex=True, sharey=True, squeeze=False)
    for panel in panels:
        _panel(grid[kinds.index(panel.kind), names.index(panel.case.name)], panel)
    axes = list(grid.ravel())
    for row, kind in zip(grid, kinds, strict=True):
        row[0].set_ylabel(f"{TITLES[kind]}\nerror [degrees per joint angle]")
    for ax in grid[-1]:
        ax.set_xlabel("dimensions")
    handles = {label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    figure.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=len(handles), frameon=False)
    save_figure(figure, path, 130)
    return path


def _panel(ax: Axes, panel: FigurePanel) -> None:
    """Draw the curves of one database and kind of tests."""
    for each in panel.curves:
        color, line, marker = STYLES[each.method]
        every = max(1, len(each.dimensions) // 10)
        ax.plot(
            each.dimensions, each.mean_deg, line, color=color, marker=marker, markevery=every, ms=5, lw=1.8, label=each.method
        )
    ax.axhline(1.0, color="0.4", lw=1)
    ax.text(50.5, 1.06, "1 degree", color="0.3", ha="right", va="bottom", fontsize=8)
    ax.set_title(f"{panel.case.name}: {panel.n_poses:,} poses", fontsize=10)
    ax.set_xlim(0, 51)
    ax.set_ylim(0, MAX_DEG)
    ax.grid(color="0.9")
    ax.spines[["top", "right"]].set_visible(False)
