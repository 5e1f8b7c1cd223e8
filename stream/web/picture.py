"""Cameras' pictures with what is found in them drawn in: board, markers and covered cells for guidance; markers with their
uncertainty and epipolar lines for tuning.
"""

import colorsys
from collections.abc import Sequence
from dataclasses import dataclass, field

import cv2
import numpy as np

from calibration.board.views import BoardView
from capture.process.preview_image import Preview, PreviewKind
from config.arrays import Floats, Image

Color = tuple[int, int, int]

BACKGROUND, FRAME, LINE = (16, 18, 22), (70, 76, 84), (112, 118, 126)
GREEN, AMBER, BLUE, RED = (64, 200, 120), (250, 190, 60), (90, 170, 255), (255, 96, 80)
BLACK, WHITE = (0, 0, 0), (235, 238, 242)
GAP_PX, RIM_PX, LINE_PX, OUTLINE_PX = 14, 4, 2, 4
COVER_SHARE, EMPTY_SHARE, FLASH_SHARE = 0.22, 0.22, 0.22
LABEL_SCALE = 0.75
MAX_PX = 1e5
BRIGHT_LEVEL, MAX_GAIN = 200.0, 8.0  # dark pictures are amplified until their brightest pixels have this level

# Tuning
CANVAS_PX = 640  # width; larger than it is shown, so that lines and figures are sharp
GOOD_PX, POOR_PX = 0.2, 0.6  # uncertainty of a marker's centre: good below the first, poor above the second
GOOD_COLOR, FAIR_COLOR, POOR_COLOR = (72, 220, 140), (250, 200, 60), (255, 92, 72)
MAX_DRAWN = 80
TEXT_SCALE = 0.62  # read at half the size
ZOOM = 2.0  # from this zoom on there is room for every uncertainty


def is_drawable(point_px: Floats) -> bool:
    """Return whether a point, (2,) [px], is a number that OpenCV can draw at."""
    return bool(np.isfinite(point_px).all() and np.abs(point_px).max() < MAX_PX)


def round_to_pixel(point_px: Floats) -> tuple[int, int]:
    """Return the pixel of a point, (2,) [px]."""
    return round(float(point_px[0])), round(float(point_px[1]))


def brighten_picture(image: Image) -> Image:
    """Return a picture as it is, or amplified where all of it is dark."""
    peak = max(float(np.percentile(image[::2, ::2], 99.9)), 1.0)
    gain = min(max(1.0, BRIGHT_LEVEL / peak), MAX_GAIN)
    return image if gain == 1.0 else np.asarray(cv2.convertScaleAbs(image, alpha=gain), np.uint8)


@dataclass(frozen=True, slots=True)
class CameraPicture:
    """One camera's picture.

    Attributes:
        image: BGR, None before the first.
        size: size of the full picture [px].
        board: corners of the board, None for none.
        points_px: markers, (N, 2).
        cover: coverage of the cells, from 0 to 1, (rows, columns), None for none.
        color: colour of the frame.
        flash: a view was taken just now.
        message: text of the fault.
    """

    name: str
    image: Image | None = None
    size: tuple[int, int] = (640, 480)
    board: BoardView | None = None
    points_px: Floats = field(default_factory=lambda: np.zeros((0, 2)))
    cover: Floats | None = None
    color: Color = FRAME
    flash: bool = False
    message: str = ""


def draw_canvas(cameras: Sequence[CameraPicture], size: tuple[int, int], top_px: int = 0) -> Image:
    """Return a canvas, RGB, with the pictures side by side or one above the other.

    Args:
        cameras: pictures of the cameras, with the marks on each.
        size: width and height [px].
        top_px: height that is left free above the pictures [px].
    """
    width, height = size
    canvas = np.full((height, width, 3), BACKGROUND, np.uint8)
    for camera, (x, y, w, h) in zip(cameras, lay_out_pictures(cameras, size, top_px), strict=True):
        canvas[y : y + h, x : x + w] = draw_camera(camera, (w, h))
        cv2.rectangle(canvas, (x - RIM_PX, y - RIM_PX), (x + w + RIM_PX - 1, y + h + RIM_PX - 1), camera.color, RIM_PX)
    return canvas


def lay_out_pictures(cameras: Sequence[CameraPicture], size: tuple[int, int], top_px: int) -> list[tuple[int, int, int, int]]:
    """Return x, y, width and height of each picture: as large as possible in its aspect.

    Args:
        cameras: cameras with the sizes of their pictures.
        size: width and height of the canvas [px].
        top_px: left free above.
    """
    width, height = size[0], size[1] - top_px
    best: list[tuple[int, int, int, int]] = []
    for columns in range(1, len(cameras) + 1):
        rows = -(-len(cameras) // columns)
        cell = ((width - GAP_PX * (columns + 1)) / columns, (height - GAP_PX * (rows + 1)) / rows)
        found = []
        for n, camera in enumerate(cameras):
            scale = max(min(cell[0] / camera.size[0], cell[1] / camera.size[1]), 0.01)
            w, h = max(int(camera.size[0] * scale), 8), max(int(camera.size[1] * scale), 8)
            x = GAP_PX + (n % columns) * (cell[0] + GAP_PX) + 0.5 * (cell[0] - w)
            y = top_px + GAP_PX + (n // columns) * (cell[1] + GAP_PX) + 0.5 * (cell[1] - h)
            found.append((int(x), int(y), w, h))
        if not best or found[0][2] > best[0][2]:
            best = found
    return best


def draw_camera(camera: CameraPicture, size: tuple[int, int]) -> Image:
    """Return one camera's picture with everything drawn in, RGB (h, w, 3)."""
    width, height = size
    if camera.image is None:
        picture = np.full((height, width, 3), 34, np.uint8)
    else:
        interpolation = cv2.INTER_AREA if camera.image.shape[1] > width else cv2.INTER_LINEAR
        picture = np.ascontiguousarray(cv2.resize(camera.image, size, interpolation=interpolation)[..., ::-1])
    scale = width / camera.size[0]
    if camera.cover is not None:
        _draw_cover(picture, camera.cover)
    if camera.flash:
        picture[:] = cv2.addWeighted(picture, 1.0 - FLASH_SHARE, np.full_like(picture, GREEN), FLASH_SHARE, 0.0)
    if camera.board is not None:
        _draw_board(picture, camera.board, scale)
    for point in (camera.points_px + 0.5) * scale:
        if is_drawable(point):
            cv2.circle(picture, round_to_pixel(point), 8, GREEN, LINE_PX, cv2.LINE_AA)
    _draw_text(picture, camera.name, (10, 26))
    if camera.message:
        _draw_text(picture, camera.message, (10, height - 14), RED)
    return picture


def _draw_cover(picture: Image, cover: Floats) -> None:
    """Tint the covered cells, darken the others slightly, and draw the lines between them."""
    height, width = picture.shape[:2]
    rows, columns = cover.shape
    share = cv2.resize(np.ascontiguousarray(cover, np.float32), (width, height), interpolation=cv2.INTER_NEAREST)[..., None]
    tint = np.full_like(picture, GREEN)
    mixed = picture * (1.0 - EMPTY_SHARE * (1.0 - share) - COVER_SHARE * share) + tint * (COVER_SHARE * share)
    picture[:] = mixed.astype(np.uint8)
    for n in range(1, columns):
        cv2.line(picture, (n * width // columns, 0), (n * width // columns, height), LINE, 1)
    for n in range(1, rows):
        cv2.line(picture, (0, n * height // rows), (width, n * height // rows), LINE, 1)


def _draw_board(picture: Image, view: BoardView, scale: float) -> None:
    """Draw the detected corners, the first one large, which shows their order."""
    points = (view.corners_px[view.seen] + 0.5) * scale
    for n, point in enumerate(points):
        center = round_to_pixel(point)
        share = n / max(len(points) - 1, 1)
        color = tuple(int((1.0 - share) * a + share * b) for a, b in zip(AMBER, BLUE, strict=True))
        cv2.circle(picture, center, 6 if n == 0 else 3, color, 2 if n == 0 else -1, cv2.LINE_AA)
    hull = cv2.convexHull(points.astype(np.float32)).astype(np.int32)
    cv2.polylines(picture, [hull], True, AMBER, 1, cv2.LINE_AA)


def _draw_text(picture: Image, text: str, at: tuple[int, int], color: Color = WHITE, scale: float = LABEL_SCALE) -> None:
    """Write a text with a dark outline."""
    for paint, thickness in ((BLACK, OUTLINE_PX), (color, LINE_PX)):
        cv2.putText(picture, text, at, cv2.FONT_HERSHEY_SIMPLEX, scale, paint, thickness, cv2.LINE_AA)


@dataclass(frozen=True, slots=True)
class PictureMarks:
    """Marks to draw on a picture.

    Attributes:
        numbers: whether the markers' numbers are drawn, with the uncertainty of poor ones, and of all in a zoom.
        lines: epipolar lines, (N, S, 2) [px], with `line_numbers` of the markers in the other picture that they belong to.
    """

    numbers: bool = True
    lines: Floats = field(default_factory=lambda: np.zeros((0, 0, 2)))
    line_numbers: tuple[int, ...] = ()


def draw_tuning_picture(image: Image, preview: Preview, marks: PictureMarks) -> Image:
    """Draw marks on a preview's picture: BGR in, RGB out, CANVAS_PX wide.

    Args:
        image: BGR.
        preview: preview of the camera, with its markers.
        marks: marks to draw.
    """
    x, y, width, _ = preview.region
    scale = CANVAS_PX / max(width, 1)
    shown = image if preview.kind is PreviewKind.FOREGROUND else brighten_picture(image)
    size = (CANVAS_PX, max(round(preview.region[3] * scale), 1))
    canvas = np.ascontiguousarray(_resize_picture(shown, size)[..., ::-1])
    origin = np.array([x, y], float)
    for number, line in zip(marks.line_numbers, marks.lines, strict=False):
        _draw_epipolar_line(canvas, (line - origin + 0.5) * scale, number)
    radii_px = np.sqrt(np.maximum(preview.area_px, 0.0) / np.pi)
    markers = zip(preview.points_px[:MAX_DRAWN], radii_px, preview.sigma_px, strict=False)
    for number, (point, radius, sigma) in enumerate(markers):
        text = _format_marker_label(number, float(sigma), preview.size[0] / max(width, 1)) if marks.numbers else ""
        _draw_marker_circle(canvas, (point - origin + 0.5) * scale, radius * scale, float(sigma), text)
    return canvas


def measure_sharpness(image: Image) -> float:
    """Return the standard deviation of the Laplacian [grey levels]; larger is sharper."""
    return float(cv2.Laplacian(cv2.cvtColor(image, cv2.COLOR_BGR2GRAY), cv2.CV_32F).std())


def choose_line_color(number: int) -> Color:
    """Return the colour of a marker's epipolar line, different from those of the next numbers."""
    red, green, blue = colorsys.hsv_to_rgb((0.55 + 0.381966 * number) % 1.0, 0.55, 1.0)
    return round(255 * red), round(255 * green), round(255 * blue)


def _resize_picture(image: Image, size: tuple[int, int]) -> Image:
    """Resize a picture; large magnifications show its pixels."""
    ratio = size[0] / image.shape[1]
    interpolation = cv2.INTER_NEAREST if ratio > 3.0 else cv2.INTER_LINEAR if ratio > 1.0 else cv2.INTER_AREA
    return np.asarray(cv2.resize(image, size, interpolation=interpolation), np.uint8)


def _draw_marker_circle(canvas: Image, point_px: Floats, radius: float, sigma_px: float, text: str) -> None:
    """Draw a circle around a marker, coloured by its uncertainty, with a text beside it."""
    if not (is_drawable(point_px) and radius < MAX_PX):
        return
    color = GOOD_COLOR if sigma_px < GOOD_PX else FAIR_COLOR if sigma_px < POOR_PX else POOR_COLOR
    center, around = round_to_pixel(point_px), round(max(radius + 3.0, 6.0))
    cv2.circle(canvas, center, around, color, LINE_PX, cv2.LINE_AA)
    _draw_text(canvas, text, (center[0] + around + 2, center[1] - around + 6), color, TEXT_SCALE)


def _format_marker_label(number: int, sigma_px: float, zoom: float) -> str:
    """Return a marker's number, with its uncertainty where that is poor or the zoom leaves room."""
    return str(number) if sigma_px < GOOD_PX and zoom < ZOOM else f"{number} {sigma_px:.2f}"


def _draw_epipolar_line(canvas: Image, line: Floats, number: int) -> None:
    """Draw the finite parts of an epipolar line, with the marker's number near its end."""
    finite = np.isfinite(line).all(axis=1) & (np.abs(np.nan_to_num(line)).max(axis=1) < MAX_PX)
    color = choose_line_color(number)
    points = np.round(np.where(finite[:, None], line, 0.0)).astype(np.int32)
    for n in range(len(points) - 1):
        if finite[n] and finite[n + 1]:
            cv2.line(canvas, points[n].tolist(), points[n + 1].tolist(), color, 1, cv2.LINE_AA)
    height, width = canvas.shape[:2]
    inside = finite & (points[:, 0] >= 0) & (points[:, 0] < width - 16) & (points[:, 1] >= 12) & (points[:, 1] < height)
    if inside.any():
        end = points[np.flatnonzero(inside)[-1]]
        cv2.putText(canvas, str(number), end.tolist(), cv2.FONT_HERSHEY_SIMPLEX, TEXT_SCALE, color, LINE_PX, cv2.LINE_AA)
