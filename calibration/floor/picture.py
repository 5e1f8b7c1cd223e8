"""The picture of a floor: cameras, floor and what touched it from the side and from above, the axes, and the report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from calibration.camera import Camera, Rig
from calibration.floor.frame import Floor, place_on_floor
from calibration.quality.picture import ACCENT, CAMERA_COLORS, INK, MEASURED, QUIET, draw_report_panel, open_figure, save_figure
from calibration.quality.report import QualityReport
from config.arrays import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

AXIS_LINE_M = 0.6  # drawn of each camera's optical axis
AXIS_M = 0.5
GROUND_M, LOWEST_M = 50.0, 0.3  # how far the floor is drawn down, and the lowest that is always shown
MAX_LINES = 14  # of the report
PLANS_IN = 5.6  # height of both plans [inches]
LABELS = ("left", "right")


def draw_floor(rig: Rig, floor: Floor, report: QualityReport, path: str | Path) -> Path:
    """Draw a floor found in a rig's frame as a PNG and return its path.

    Args:
        rig: the cameras.
        floor: the floor that was found.
        report: the findings to show beside it.
        path: the file to write.
    Raises: FileFormatError: it cannot be written.
    """
    world = place_on_floor(rig, floor)
    touching, above = floor.to_world(floor.touching_m), floor.to_world(floor.above_m)
    panel_in = 0.9 + 0.26 * min(len(report.findings), MAX_LINES)
    with open_figure(12.0, panel_in + PLANS_IN) as figure:
        room = {"left": 0.055, "right": 0.98, "top": 0.97, "bottom": 0.6 / (panel_in + PLANS_IN)}
        grid = figure.add_gridspec(2, 2, height_ratios=(panel_in, PLANS_IN), hspace=0.12, wspace=0.16, **room)
        draw_report_panel(figure.add_subplot(grid[0, :]), report, f"floor by {floor.by}", 165)
        _draw_from_side(figure.add_subplot(grid[1, 0]), world, touching, above)
        _draw_from_above(figure.add_subplot(grid[1, 1]), world, touching, above)
        return save_figure(figure, path)


def _draw_from_side(ax: Axes, world: Rig, touching_m: Floats, above_m: Floats) -> None:
    """Draw heights over the direction to the cameras: z to the right, y up."""
    _draw_points(ax, above_m[:, 2], above_m[:, 1], touching_m[:, 2], touching_m[:, 1])
    for camera, color, label in _list_cameras(world):
        _draw_camera(ax, camera.center_m[[2, 1]], camera.rotation[2][[2, 1]], color, label)
    _draw_arrow(ax, (AXIS_M, 0.0), "Z")
    _draw_arrow(ax, (0.0, AXIS_M), "Y up")
    ax.axhline(0.0, color=INK, lw=1.4, zorder=1)
    ax.plot(0.0, -LOWEST_M, alpha=0.0)
    limits = ax.dataLim.frozen()
    ax.axhspan(-GROUND_M, 0.0, color="0.93", zorder=0)
    ax.dataLim.set(limits)  # the ground must not make the picture larger
    ax.set_title("from the side")
    ax.set_xlabel("towards the cameras, z [m]")
    ax.set_ylabel("height over the floor, y [m]")
    _set_equal_scale(ax)


def _draw_from_above(ax: Axes, world: Rig, touching_m: Floats, above_m: Floats) -> None:
    """Draw the floor from above, as seen from behind the cameras: x to the right, z down."""
    _draw_points(ax, above_m[:, 0], above_m[:, 2], touching_m[:, 0], touching_m[:, 2])
    for camera, color, label in _list_cameras(world):
        _draw_camera(ax, camera.center_m[[0, 2]], camera.rotation[2][[0, 2]], color, label)
    _draw_arrow(ax, (AXIS_M, 0.0), "X")
    _draw_arrow(ax, (0.0, AXIS_M), "Z")
    ax.set_title("from above")
    ax.set_xlabel("x [m]")
    ax.set_ylabel("z [m], towards the cameras")
    _set_equal_scale(ax)
    ax.invert_yaxis()
    ax.legend(loc="upper right", markerscale=2.0)


def _list_cameras(world: Rig) -> list[tuple[Camera, str, str]]:
    """Return each camera with its colour and label."""
    cameras = world.cameras
    labels = LABELS if len(cameras) == 2 else ("camera",) if len(cameras) == 1 else [camera.name for camera in cameras]
    return list(zip(cameras, CAMERA_COLORS, labels, strict=False))


def _draw_points(ax: Axes, above_x: Floats, above_y: Floats, on_x: Floats, on_y: Floats) -> None:
    """Draw what was seen, and what touches the floor."""
    ax.plot(above_x, above_y, ".", color=QUIET, ms=1.5, zorder=2, label="seen" if len(above_x) else None, rasterized=True)
    ax.plot(on_x, on_y, "o", color=ACCENT, ms=3.5, mew=0.0, alpha=0.8, zorder=4, label="on the floor")


def _draw_camera(ax: Axes, at: Floats, axis: Floats, color: str, label: str) -> None:
    """Draw a camera and its axis."""
    end = at + AXIS_LINE_M * axis
    ax.plot(*at, "s", color=color, ms=8, zorder=5)
    ax.plot([at[0], end[0]], [at[1], end[1]], "-", color=color, lw=1.6, zorder=5)
    away, side = (-8, "right") if color == CAMERA_COLORS[0] else (8, "left")
    ax.annotate(label, (at[0], at[1]), (away, 5), textcoords="offset points", color=color, weight="bold", ha=side)


def _draw_arrow(ax: Axes, end: tuple[float, float], label: str) -> None:
    """Draw an axis of the world at its origin."""
    ax.annotate("", end, (0.0, 0.0), arrowprops={"arrowstyle": "-|>", "color": MEASURED, "lw": 1.6}, zorder=6)
    ax.annotate(label, end, (3, 3), textcoords="offset points", color=MEASURED, weight="bold", zorder=6)


def _set_equal_scale(ax: Axes) -> None:
    """Set one scale for both axes, and some margin."""
    ax.margins(0.08)
    ax.set_aspect("equal", adjustable="datalim")
    ax.grid(True)
    assert np.isfinite(ax.get_xlim()).all()
