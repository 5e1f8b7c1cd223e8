"""The picture of a wand's calibration: where the wand was, from above and from the side, what is left over, and the verdict."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from calibration.camera import Camera
from calibration.depth import compute_view_axes
from calibration.quality.measures import list_camera_keys
from calibration.quality.picture import ACCENT, CAMERA_COLORS, QUIET, draw_report_panel, make_image_axis, open_figure, save_figure
from calibration.quality.report import QualityReport
from calibration.wand.tracks import WandSolution
from config.arrays import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ARROW_PX = 12.0  # length at which the usual residual is drawn
ENLARGED = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


def draw_wand(solution: WandSolution, report: QualityReport, path: str | Path) -> Path:
    """Draw a solution as a PNG and return its path.

    Args:
        solution: the calibration.
        report: the findings to show beside it.
        path: the file to write.
    Raises: FileFormatError: it cannot be written.
    """
    n_cameras = len(solution.rig)
    rows = n_cameras // 3 + 1  # of three panels, the last of which shows the lengths
    with open_figure(12.0, 7.3 + 3.1 * rows) as figure:
        ratios = (1.25, 1.0, *[0.95] * rows)
        room = {"left": 0.065, "right": 0.98, "top": 0.96, "bottom": 0.06}
        grid = figure.add_gridspec(2 + rows, 6, height_ratios=ratios, hspace=0.42, wspace=0.75, **room)
        draw_report_panel(figure.add_subplot(grid[0, :]), report, "wand", 140)
        _draw_room(figure.add_subplot(grid[1, :3]), solution, above=True)
        _draw_room(figure.add_subplot(grid[1, 3:]), solution, above=False)
        panels = [grid[2 + k // 3, 2 * (k % 3) : 2 * (k % 3) + 2] for k in range(3 * rows)]
        for side in range(n_cameras):
            _draw_residuals(figure.add_subplot(panels[side]), solution, side)
        _draw_lengths(figure.add_subplot(panels[-1]), solution)
        return save_figure(figure, path)


def _draw_room(ax: Axes, solution: WandSolution, above: bool) -> None:
    """Draw cameras and wand from above or from the side; ahead is to the right."""
    _, right, down, ahead = compute_view_axes(solution.rig)
    across = right if above else -down
    points = solution.points_m
    wands = points[solution.used.any(axis=1)]
    along, aside = (np.insert(wands @ axis, wands.shape[1], np.nan, axis=1).ravel() for axis in (ahead, across))
    ax.plot(along, aside, "-", color=QUIET, lw=0.5, zorder=1)  # one line with gaps: hundreds of lines are slow
    seen = points[solution.used]
    ax.plot(seen @ ahead, seen @ across, ".", color=ACCENT, ms=2.5, zorder=2)
    reach = 0.12 * float(np.median(seen @ ahead))
    for camera, color, name in zip(solution.rig.cameras, CAMERA_COLORS, list_camera_keys(solution.rig), strict=False):
        _draw_camera(ax, camera, np.stack([ahead, across]), reach, color)
        at = camera.center_m
        ax.annotate(name, (at @ ahead, at @ across), (0, 9), textcoords="offset points", ha="center", color=color)
    ax.set_title("from above" if above else "from the side")
    ax.set_xlabel("ahead [m]")
    ax.set_ylabel("to the right [m]" if above else "up [m]")
    ax.invert_yaxis() if above else None
    ax.set_aspect("equal", adjustable="datalim")
    ax.grid(True)


def _draw_camera(ax: Axes, camera: Camera, axes: Floats, reach: float, color: str) -> None:
    """Draw a camera as a wedge; axes: what is to the right and up in the picture, (2, 3), world."""
    center, R = camera.center_m, camera.rotation
    for side in (-0.5, 0.5):
        for row in (0, 1):
            end = center + reach * (R[2] + side * R[row])
            ax.plot([center @ axes[0], end @ axes[0]], [center @ axes[1], end @ axes[1]], "-", color=color, lw=1.4, zorder=3)


def _draw_residuals(ax: Axes, solution: WandSolution, side: int) -> None:
    """Draw where the wand was in a camera's picture and what is left over there."""
    camera = solution.rig.cameras[side]
    here = solution.used & solution.seen[side][:, None]
    px, left_over = camera.project(solution.points_m[here]), solution.residual_px[side][here]
    usual = solution.rms_px
    enlarged = max((by for by in ENLARGED if by * usual <= ARROW_PX), default=1)
    make_image_axis(ax, camera.size)
    ax.quiver(*px.T, *(enlarged * left_over).T, angles="xy", scale_units="xy", scale=1.0, color=CAMERA_COLORS[side], width=0.003)
    ax.plot(*px.T, ".", color=CAMERA_COLORS[side], ms=1.5)
    ax.set_title(f"{list_camera_keys(solution.rig)[side]} picture, what is left over x {enlarged}")


def _draw_lengths(ax: Axes, solution: WandSolution) -> None:
    """Draw the wand's length against its distance, or for one marker what is left over."""
    if not len(solution.lengths_m):
        here = [solution.used & seen[:, None] for seen in solution.seen]
        off = [np.linalg.norm(px[at], axis=1) for px, at in zip(solution.residual_px, here, strict=True)]
        ax.hist(off, bins=24, color=CAMERA_COLORS[: len(off)], label=list_camera_keys(solution.rig))
        ax.set_title("what is left over")
        ax.set_xlabel("[px]")
        ax.legend()
        return
    whole = solution.used.all(axis=1)
    distance = np.linalg.norm(solution.points_m[whole].mean(axis=1), axis=1)
    ax.plot(distance, 1e3 * solution.lengths_m, ".", color=ACCENT, ms=3)
    ax.axhline(1e3 * solution.length_m, color="0.3", lw=1.0)
    ax.set_title("length of the wand, place by place")
    ax.set_xlabel("distance [m]")
    ax.set_ylabel("[mm]")
    ax.grid(True)
