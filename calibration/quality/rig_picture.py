"""The picture of a rig's calibration: the report, where the board was in both images and how it fits, the cameras from above."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from calibration.board.views import CELLS, measure_coverage
from calibration.depth import (
    choose_performer_distance_m,
    compute_central_point_m,
    compute_view_axes,
    compute_volume_points_m,
    is_in_view,
)
from calibration.pairs import MARKER_PX
from calibration.quality.measures import collect_corners_px, compute_board_points_m, compute_view_rms_px
from calibration.quality.picture import (
    ACCENT,
    CAMERA_COLORS,
    INK,
    QUIET,
    compute_panel_height_in,
    draw_report_panel,
    make_image_axis,
    open_figure,
    save_figure,
)
from calibration.quality.report import QualityReport
from calibration.solve.solution import RigSolution
from calibration.triangulate import triangulate_views

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes

    from calibration.camera import Camera
    from config.arrays import Bools, Floats

WIDTH_IN, REPORT_IN, PICTURES_IN, BARS_IN = 13.0, 1.6, 3.6, 1.5
TOP_IN, BOTTOM_IN, SPACE = 0.3, 0.55, 0.24  # space: between rows, in parts of their mean height
ACROSS = 4  # pictures in a row, of more than two cameras
LETTERS = 150  # in a line of the report
ARROW = 0.05  # of a picture's width: drawn length of an error of three sigma
MAX_ARROWS = 1600
BARE, COVERED = "#fbe3df", "#e3f1e8"


def draw_rig(solution: RigSolution, report: QualityReport, path: Path | str) -> Path:
    """Draw the calibration as a PNG and return its path.

    Args:
        solution: the calibration.
        report: the findings to show beside it.
        path: the file to write.
    Raises: FileFormatError: it cannot be written.
    """
    n = len(solution.rig)
    rows = [n] if n < 3 else [min(n - k, ACROSS) for k in range(0, n, ACROSS)]  # pictures a row; of two the plan stands beside
    report_in, pictures = max(REPORT_IN, compute_panel_height_in(report, LETTERS)), len(rows) + (n > 2)
    heights = [report_in, *[PICTURES_IN] * pictures, BARS_IN]
    height = sum(heights) * (1.0 + SPACE * (len(heights) - 1) / len(heights)) + TOP_IN + BOTTOM_IN
    with open_figure(WIDTH_IN, height) as figure:
        grid = figure.add_gridspec(
            len(heights),
            1,
            height_ratios=heights,
            left=0.045,
            right=0.985,
            top=1.0 - TOP_IN / height,
            bottom=BOTTOM_IN / height,
            hspace=SPACE,
        )
        draw_report_panel(figure.add_subplot(grid[0]), report, _format_title(solution), width=LETTERS)
        for row, count in enumerate(rows):
            if n < 3:
                panels = grid[1].subgridspec(1, 3, width_ratios=(1.0, 1.0, 0.95), wspace=0.1)
            else:
                panels = grid[1 + row].subgridspec(1, ACROSS, wspace=0.1)
            for k in range(count):
                _draw_picture(figure.add_subplot(panels[k]), solution, row * ACROSS + k)
        _draw_from_above(figure.add_subplot(panels[0, n:] if n < 3 else grid[-2]), solution, report)
        _draw_bars(figure.add_subplot(grid[-1]), solution)
    return save_figure(figure, path)


def _format_title(solution: RigSolution) -> str:
    """Return one line on what was calibrated."""
    rig = solution.rig
    cameras = f"{' and '.join(camera.name for camera in rig.cameras)} camera" if len(rig) < 3 else f"{len(rig)} cameras"
    apart = "" if rig.is_monocular else f", {'up to ' * (len(rig) > 2)}{1e3 * rig.baseline_m:.1f} mm apart"
    focal = (" and " if len(rig) < 3 else ", ").join(f"{camera.focal_px:.0f}" for camera in rig.cameras)
    return f"{cameras}{apart}; focal length {focal} px; board {solution.board.text}"


def _draw_picture(ax: Axes, solution: RigSolution, side: int) -> None:
    """Draw where corners were in one camera's image, and their errors as arrows."""
    camera, used = solution.rig.cameras[side], solution.used[side]
    corners, errors = collect_corners_px(solution, side)[used], solution.residual_px[side][used]
    make_image_axis(ax, camera.size)
    width, height = camera.size
    coverage = measure_coverage(corners, camera.size)
    _draw_cells(ax, coverage.cells > 0, camera.size)
    _outline_volume(ax, solution, camera)
    sigma = max(float(solution.sigma_px[side]), 1e-3)
    larger = ARROW * width / (3.0 * sigma)
    larger = float(f"{larger:.1g}")
    few = slice(None, None, max(1, len(corners) // MAX_ARROWS))
    length = np.linalg.norm(errors, axis=1, keepdims=True)
    shown = errors * np.minimum(1.0, 0.2 * width / larger / np.maximum(length, 1e-12))  # what is wildly off is cut short
    ax.quiver(
        *corners[few].T,
        *(larger * shown[few]).T,
        angles="xy",
        scale_units="xy",
        scale=1.0,
        color=CAMERA_COLORS[side],
        width=0.0022,
        headwidth=3.0,
        headlength=3.5,
        alpha=0.8,
    )
    ax.set_title(f"{camera.name} picture, {width}x{height}")
    noise = f"noise {sigma:.2f} px; arrows: errors, {larger:.0f} times as long"
    ax.text(0.0, -0.03, noise, transform=ax.transAxes, va="top", size=8, color="0.35")
    ax.text(1.0, 1.02, f"{100.0 * coverage.share:.0f} % covered", transform=ax.transAxes, ha="right", size=8, color="0.35")


def _draw_cells(ax: Axes, covered: Bools, size: tuple[int, int]) -> None:
    """Tint the cells of an image in which the board has been, and those in which it has not."""
    from matplotlib.colors import ListedColormap

    colors = ListedColormap([BARE, COVERED])
    extent = (-0.5, size[0] - 0.5, size[1] - 0.5, -0.5)
    ax.imshow(covered.astype(float), cmap=colors, vmin=0.0, vmax=1.0, extent=extent, aspect="equal", interpolation="nearest")
    for k in range(1, CELLS[0]):
        ax.axvline(size[0] * k / CELLS[0] - 0.5, color="white", lw=0.8)
    for k in range(1, CELLS[1]):
        ax.axhline(size[1] * k / CELLS[1] - 0.5, color="white", lw=0.8)


def _outline_volume(ax: Axes, solution: RigSolution, camera: Camera) -> None:
    """Outline where the performer will be."""
    import cv2

    points = compute_volume_points_m(solution.rig, choose_performer_distance_m(solution.rig))
    points = points[is_in_view(camera, points)] if len(points) and len(solution.rig) > 2 else points
    if len(points) < 4:
        return
    hull = cv2.convexHull(camera.project(points).astype(np.float32))[:, 0]
    ring = np.vstack([hull, hull[:1]])
    ax.plot(*ring.T, color=ACCENT, lw=1.2, ls=(0, (4, 3)))
    top = ring[ring[:, 1].argmin()]
    ax.annotate("performer's room", tuple(top), (0, 3), textcoords="offset points", size=7.5, color=ACCENT, ha="center")


def _draw_bars(ax: Axes, solution: RigSolution) -> None:
    """Draw each view's error, a bar a camera."""
    rms = compute_view_rms_px(solution)
    sides = range(len(solution.rig))
    x = np.arange(rms.shape[1])
    wide = 0.8 / len(sides)
    for side in sides:
        offset = (side - 0.5 * (len(sides) - 1)) * wide
        name = solution.rig.cameras[side].name
        ax.bar(x + offset, np.nan_to_num(rms[side]), 0.92 * wide, color=CAMERA_COLORS[side], label=f"{name} camera")
    ax.axhline(solution.rms_px, color=INK, lw=1.0, ls=(0, (4, 3)))
    ax.set_xlim(-0.7, max(len(x) - 0.3, 1.0))
    ax.set_ylim(0.0, 1.3 * max(float(np.nanmax(rms)) if np.isfinite(rms).any() else 0.0, 1e-3))
    ax.set_ylabel("error [px]")
    every = max(1, -(-len(x) // 32))
    ax.set_xticks(
        x[::every], [_format_view_name(solution, v) for v in x[::every]], rotation=0 if len(x) < 16 else 35, ha="center", size=7
    )
    left_out = f"; {len(solution.dropped)} left out" if solution.dropped else ""
    ax.set_title(f"error of each view (RMS); all: {solution.rms_px:.2f} px{left_out}")
    ax.grid(axis="y")
    ax.legend(loc="upper right", ncols=len(sides), fontsize=8, bbox_to_anchor=(1.0, 1.2))


def _format_view_name(solution: RigSolution, v: int) -> str:
    """Return a short name of a view: its number where its pictures' names are long."""
    views = [view.name for view in solution.moments[v].views if view is not None and view.name]
    return views[0] if views and len(views[0]) <= 8 else str(v + 1)


def _draw_from_above(ax: Axes, solution: RigSolution, report: QualityReport) -> None:
    """Draw cameras, boards and the performer from above."""
    rig = solution.rig
    middle, right, _, ahead = compute_view_axes(rig)
    distance = report.figures.get("distance_m", choose_performer_distance_m(rig))
    flat = np.stack([right, ahead], axis=1)

    def above(points: Floats) -> Floats:
        return np.asarray((points - middle) @ flat)

    world = rig.cameras[0]
    boards = compute_board_points_m(solution, 0) @ world.rotation + world.center_m
    for v, board in enumerate(boards):
        if solution.used[:, v].any():
            ends = above(board[[0, solution.board.grid[1] - 1]])
            ax.plot(*ends.T, color=QUIET, lw=1.6, solid_capstyle="round")
    for side, camera in enumerate(rig.cameras):
        _draw_camera(ax, camera, above, CAMERA_COLORS[side], 1.25 * distance)
        anchor = ("right", "left")[side] if len(rig) == 2 else "center"
        at = above(camera.center_m[None])[0]
        ax.annotate(
            camera.name, tuple(at), (0, -9), textcoords="offset points", size=8, color=CAMERA_COLORS[side], ha=anchor, va="top"
        )
    performer = above(compute_central_point_m(rig, distance))
    ax.plot(*performer, "o", color=ACCENT, ms=6)
    text = f"performer\nat {distance:.1f} m"
    if not rig.is_monocular:
        ellipse, larger, sigma_m = _compute_ellipse(solution, distance, flat)
        ax.plot(*(performer + ellipse).T, color=ACCENT, lw=1.4)
        text += f"\n{MARKER_PX:g} px: {1e3 * sigma_m:.2g} mm"
        if larger > 1:
            text += f"\n(drawn x {larger:g})"
    ax.annotate(text, tuple(performer), (14, 0), textcoords="offset points", size=7.5, color=ACCENT, va="center")
    _set_limits(ax, np.vstack([above(np.stack([c.center_m for c in rig.cameras])), performer[None], above(boards.mean(axis=1))]))
    ax.set_title("from above [m]; grey: boards")


def _set_limits(ax: Axes, points: Floats) -> None:
    """Show all points, to scale, in the whole panel."""
    box = ax.get_position()
    figure = ax.figure
    ratio = box.width * figure.get_figwidth() / (box.height * figure.get_figheight())  # type: ignore[union-attr]
    low, high = points.min(axis=0), points.max(axis=0)
    middle, size = 0.5 * (low + high), (high - low) * 1.15 + 0.3
    height = max(float(size[1]), float(size[0]) / ratio)
    ax.set_xlim(middle[0] - 0.5 * height * ratio, middle[0] + 0.5 * height * ratio)
    ax.set_ylim(middle[1] - 0.5 * height, middle[1] + 0.5 * height)
    ax.set_aspect("equal")
    ax.grid(color="0.93")


def _draw_camera(ax: Axes, camera: Camera, above: Callable[[Floats], Floats], color: str, reach_m: float) -> None:
    """Draw a camera with its field of view."""
    width, height = camera.size
    edges = camera.undistort(np.array([(0.0, 0.5 * height), (width - 1.0, 0.5 * height)]))
    rays = np.column_stack([edges, np.ones(2)])
    rays = rays / np.linalg.norm(rays, axis=1, keepdims=True) @ camera.rotation
    at = above(camera.center_m[None])[0]
    ends = above(camera.center_m + reach_m * rays)
    ax.fill(*np.vstack([at, ends]).T, color=color, alpha=0.06, lw=0)
    for end in ends:
        ax.plot(*np.stack([at, end]).T, color=color, lw=0.7, alpha=0.6)
    ax.plot(*at, "s", color=color, ms=7)


def _compute_ellipse(solution: RigSolution, distance_m: float, flat: Floats) -> tuple[Floats, float, float]:
    """Return the ellipse of a marker's position, one sigma, (K, 2), its magnification, and its longest semi-axis [m]."""
    rig, point = solution.rig, compute_central_point_m(solution.rig, distance_m)
    px = np.stack([camera.project(point[None]) for camera in rig.cameras])
    seen = np.array([len(rig) == 2 or bool(is_in_view(camera, point[None])[0]) for camera in rig.cameras])[:, None]
    covariance = flat.T @ triangulate_views(rig, px, seen, MARKER_PX)[1][0] @ flat
    values, vectors = np.linalg.eigh(covariance)
    sigma_m = float(np.sqrt(values[-1]))
    larger = float(f"{max(0.12 * distance_m / sigma_m, 1.0):.1g}")
    angle = np.linspace(0.0, 2.0 * np.pi, 60)
    ring = larger * np.sqrt(np.maximum(values, 0.0)) * np.column_stack([np.cos(angle), np.sin(angle)])
    return ring @ vectors.T, larger, sigma_m
