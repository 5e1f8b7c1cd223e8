"""The picture of a style as in Grochow et al. 2004, Figures 1 and 3: how likely poses are over its latent space, and figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from calibration.quality.picture import INK, open_figure, save_figure
from config.arrays import Floats
from reconstruct.models.style.features import N_STATIC, RATE_HZ
from reconstruct.models.style.model import Style, StyleEvaluator, build_annealing_evaluators
from tools.progress import open_progress_bar
from tools.style.plot_figures import choose_view_direction, compute_bone_segments, draw_figure, predict_static_features
from tools.style.plot_map import (
    LatentPlane,
    LikelihoodMap,
    choose_spread_points,
    compute_likelihood_map,
    find_time_runs,
    fit_latent_plane,
    select_farthest_points,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SEEN, NEW, PATH = "#D55E00", "#009E73", "#56B4E9"  # of poses: learned, made up; of the order in time
SIZE_IN = (11.6, 9.9)
LEVELS_IN = (13.2, 5.9)
MAP_IN = (2.35, 2.35, 6.9, 5.3)  # left, bottom, width, height of the map among the figures
FIGURE_IN = 1.5  # height of the tallest figure
SLOTS_IN = (
    *((x, 8.62) for x in (1.6, 4.4, 7.2, 10.0)),
    *((x, 1.42) for x in (1.6, 4.4, 7.2, 10.0)),
    *((1.15, y) for y in (6.05, 3.95)),
    *((10.45, y) for y in (6.05, 3.95)),
)
NEW_SHARE = 0.25  # of the figures are poses that were not learned
GREY = "light: likely poses, dark: unlikely ones"
LEVELS = ("annealed: where synthesis begins", "in between", "as learned: where it ends")


@dataclass(frozen=True, slots=True)
class _Shown:
    """A figure of a pose: static features (S,), its point of the plane (2,), and its colour there."""

    static: Floats
    point: Floats
    color: str


def draw_style(style: Style, path: Path, figures: int = len(SLOTS_IN)) -> Path:
    """Draw a style as PNG: its map with poses around it, at most 12.

    Args:
        style: style to draw.
        path: PNG to write.
        figures: number of poses around the map.
    Raises: FileFormatError: it cannot be written.
    """
    level, plane = build_annealing_evaluators(style)[-1], fit_latent_plane(style)
    with open_progress_bar("drawing") as show:
        shown = compute_likelihood_map(style, level, plane, MAP_IN[2] / MAP_IN[3], _make_step_counter(show, len(plane.depths)))
    with open_figure(*SIZE_IN) as figure:
        ax = figure.add_axes(_convert_to_figure_fractions(MAP_IN))
        _draw_map(ax, style, plane, shown)
        _draw_ring(figure, style, shown, _select_figures(style, level, plane, shown, min(figures, len(SLOTS_IN))))
        _write_heading(figure, style)
        words = f"{GREY}; orange lines lead to poses that were learned, green ones to new poses"
        n_off = int((~shown.holds(plane.points)).sum())
        _draw_legend(figure, ax, plane, words + (f"; learned poses off the map, far from all others: {n_off}" if n_off else ""))
    return save_figure(figure, path)


def draw_levels(style: Style, path: Path) -> Path:
    """Draw the three steps of annealing side by side as PNG. Raises FileFormatError: it cannot be written."""
    plane, aspect = fit_latent_plane(style), 0.307 * LEVELS_IN[0] / (0.68 * LEVELS_IN[1])
    with open_progress_bar("drawing") as show, open_figure(*LEVELS_IN) as figure:
        step = _make_step_counter(show, len(LEVELS) * len(plane.depths))
        for k, (level, title) in enumerate(zip(build_annealing_evaluators(style), LEVELS, strict=True)):
            ax = figure.add_axes((0.02 + 0.327 * k, 0.145, 0.307, 0.68))
            _draw_map(ax, style, plane, compute_likelihood_map(style, level, plane, aspect, step))
            p = level.parameters
            ax.set_title(f"{title}\nalpha {p.alpha:.3g}, beta {p.beta:.3g}, gamma {p.gamma:.3g}", weight="normal", size=10)
        _write_heading(figure, style)
        _draw_legend(figure, ax, plane, f"{GREY}, by each panel's own measure")
    return save_figure(figure, path)


def _make_step_counter(show: Callable[[int, int], None], total: int) -> Callable[[], None]:
    """Return what to call after each of so many parts of the work, to show how much is done."""
    done = count(1)
    return lambda: show(next(done), total)


def _convert_to_figure_fractions(place_in: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    """Return a place in inches as shares of the figure."""
    left, bottom, width, height = place_in
    return left / SIZE_IN[0], bottom / SIZE_IN[1], width / SIZE_IN[0], height / SIZE_IN[1]


def _draw_map(ax: Axes, style: Style, plane: LatentPlane, shown: LikelihoodMap) -> None:
    """Draw likelihood in grey, lighter where likelier, the training poses and their order in time."""
    ax.imshow(
        shown.value, extent=shown.extent, origin="lower", cmap="gray", vmin=shown.dark, aspect="auto", interpolation="bilinear"
    )
    for rows in find_time_runs(style):
        ax.plot(*plane.points[rows].T, color=PATH, lw=0.8, alpha=0.8, zorder=2)
    passive = np.setdiff1d(np.arange(len(plane.points)), style.active)
    ax.plot(*plane.points[passive].T, "+", color=PATH, ms=4.5, mew=0.9, zorder=3, label="training pose")
    active = plane.points[style.active]
    ax.plot(*active.T, "o", mfc=SEEN, mec="white", mew=0.5, ms=5.0, zorder=4, label="training pose of the active set")
    left, right, bottom, top = shown.extent
    ax.set_xlim(left, right)
    ax.set_ylim(bottom, top)
    ax.set_xticks([])
    ax.set_yticks([])
    for spine in ax.spines.values():
        spine.set_visible(True)


def _select_figures(style: Style, level: StyleEvaluator, plane: LatentPlane, shown: LikelihoodMap, most: int) -> list[_Shown]:
    """Choose poses to draw: learned ones far apart in the map, and likely new ones far from those."""
    if most < 1:
        return []
    n_new = round(NEW_SHARE * most)
    on_map = np.flatnonzero(shown.holds(plane.points))
    rows = on_map[select_farthest_points(plane.points[on_map], most - n_new)]
    seen = [_Shown(style.features[k, :N_STATIC], plane.points[k], SEEN) for k in rows]
    points, x = choose_spread_points(style, level, plane, shown, n_new, plane.points[rows])
    made = predict_static_features(style, level, x)
    return seen + [_Shown(static, point, NEW) for static, point in zip(made, points, strict=True)]


def _draw_ring(figure: Figure, style: Style, shown: LikelihoodMap, poses: list[_Shown]) -> None:
    """Draw figures around the map, each joined to its point of it."""
    from scipy.optimize import linear_sum_assignment

    if not poses:
        return
    ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    ax.set_axis_off()
    ax.set_xlim(0.0, SIZE_IN[0])
    ax.set_ylim(0.0, SIZE_IN[1])
    points = _convert_to_inches(np.array([each.point for each in poses]), shown)
    slots = np.array(SLOTS_IN)
    apart = np.linalg.norm(points[:, None] - slots, axis=-1)
    places = compute_bone_segments(style.skeleton, np.array([each.static for each in poses]))
    across = choose_view_direction(
        compute_bone_segments(style.skeleton, style.features[:: max(1, len(style.features) // 200), :N_STATIC])
    )
    tall = np.ptp(places[..., 1].reshape(len(places), -1), axis=1).max()
    for k, slot in zip(*linear_sum_assignment(apart**2), strict=True):
        own = poses[k]
        near = slots[slot] + (points[k] - slots[slot]) * min(1.0, 0.95 / max(float(apart[k, slot]), 1e-9))
        ax.plot(*zip(points[k], near, strict=True), color=own.color, lw=1.3, zorder=5)
        ax.plot(*points[k], "o", ms=9.0, mfc="none", mec=own.color, mew=1.6, zorder=5)
        draw_figure(ax, places[k], across, slots[slot], FIGURE_IN / max(float(tall), 1e-9), NEW if own.color == NEW else None)


def _convert_to_inches(points: Floats, shown: LikelihoodMap) -> Floats:
    """Return where points of the map, (K, 2), are on the page [in]."""
    left, right, bottom, top = shown.extent
    share = (points - [left, bottom]) / [right - left, top - bottom]
    return np.asarray(share * MAP_IN[2:] + MAP_IN[:2])


def _write_heading(figure: Figure, style: Style) -> None:
    """Write what is shown."""
    facts = f"{len(style.features)} poses at {RATE_HZ:g} Hz, {int(style.modelled.sum())} features, "
    facts += f"{style.n_latent} latent dimensions, active set of {len(style.active)}"
    height_in = figure.get_figheight()
    figure.text(0.02, 1.0 - 0.14 / height_in, style.name, size=14, weight="bold", va="top", color=INK)
    figure.text(0.98, 1.0 - 0.19 / height_in, facts, size=9, va="top", ha="right", color="0.35")


def _draw_legend(figure: Figure, ax: Axes, plane: LatentPlane, words: str) -> None:
    """Say what the marks and the grey are."""
    from matplotlib.lines import Line2D

    handles, labels = ax.get_legend_handles_labels()
    handles.append(Line2D([], [], color=PATH, lw=1.2))
    if len(plane.middle) > 2:
        words += f"\nthe two directions of most spread ({100 * plane.share:.0f}%); behind each point the likeliest of the others"
    inch, labels = 1.0 / figure.get_figheight(), [*labels, "their order in time"]
    figure.legend(handles, labels, ncols=3, fontsize=8.5, borderaxespad=0.0, loc="lower center", bbox_to_anchor=(0.5, 0.4 * inch))
    figure.text(0.5, 0.06 * inch, words, size=8, ha="center", va="bottom", color="0.35", linespacing=1.3)
