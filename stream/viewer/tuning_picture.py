"""A camera's picture as it is tuned by: foreground, markers with number and uncertainty, sight lines of the other camera."""

import colorsys
from dataclasses import dataclass, field

import cv2
import numpy as np

from capture.preview_picture import Image, Preview
from database.rotations import Floats
from stream.viewer.stage_cameras import brightened
from stream.viewer.stage_colors import Color

CANVAS_PX = 640  # wide; larger than it is shown, so that lines and figures are sharp
FINE_PX, COARSE_PX = 0.2, 0.6  # uncertainty of a marker's centre: good below the first, poor above the second
FINE, MIDDLING, COARSE = (72, 220, 140), (250, 200, 60), (255, 92, 72)
FAR_PX = 1e5
MAX_DRAWN = 80
SCALE, THIN, SHADOW = 0.62, 2, 4  # read at half the size
ZOOM = 2.0  # from there on there is room for every uncertainty
SHADE = (0, 0, 0)


@dataclass(frozen=True, slots=True)
class Marks:
    """What is drawn on a picture.

    numbers: of the markers, with the uncertainty of poor ones, and of all in a zoom; lines: sight lines, (N, S, 2) [px], with
    `line_numbers`: of the markers they belong to in the other picture.
    """

    numbers: bool = True
    lines: Floats = field(default_factory=lambda: np.zeros((0, 0, 2)))
    line_numbers: tuple[int, ...] = ()


def tuned_picture(image: Image, preview: Preview, marks: Marks) -> Image:
    """Draw marks on a preview's picture: BGR in, RGB out, CANVAS_PX wide."""
    x, y, width, _ = preview.region
    scale = CANVAS_PX / max(width, 1)
    shown = image if preview.kind == "foreground" else brightened(image)
    size = (CANVAS_PX, max(round(preview.region[3] * scale), 1))
    canvas = np.ascontiguousarray(_resized(shown, size)[..., ::-1])
    origin = np.array([x, y], float)
    for number, line in zip(marks.line_numbers, marks.lines, strict=False):
        _draw_line(canvas, (line - origin + 0.5) * scale, number)
    radii_px = np.sqrt(np.maximum(preview.area_px, 0.0) / np.pi)
    for number, (point, radius, sigma) in enumerate(zip(preview.points_px, radii_px, preview.sigma_px, strict=True)):
        if number >= MAX_DRAWN:
            break
        text = _text(number, float(sigma), preview.size[0] / max(width, 1)) if marks.numbers else ""
        _draw_marker(canvas, (point - origin + 0.5) * scale, radius * scale, float(sigma), text)
    return canvas


def sharpness(image: Image) -> float:
    """Tell how sharp a picture is, larger is sharper: the deviation of its Laplacian, in grey levels."""
    return float(cv2.Laplacian(cv2.cvtColor(image, cv2.COLOR_BGR2GRAY), cv2.CV_32F).std())


def line_color(number: int) -> Color:
    """Give the colour of a marker's sight line, far from its neighbours' colours."""
    red, green, blue = colorsys.hsv_to_rgb((0.55 + 0.381966 * number) % 1.0, 0.55, 1.0)
    return round(255 * red), round(255 * green), round(255 * blue)


def _resized(image: Image, size: tuple[int, int]) -> Image:
    """Enlarge or shrink a picture; what is enlarged much shows its pixels."""
    ratio = size[0] / image.shape[1]
    way = cv2.INTER_NEAREST if ratio > 3.0 else cv2.INTER_LINEAR if ratio > 1.0 else cv2.INTER_AREA
    return np.asarray(cv2.resize(image, size, interpolation=way), np.uint8)


def _draw_marker(canvas: Image, place: Floats, radius: float, sigma_px: float, text: str) -> None:
    """Draw a circle around a marker, in the colour of its certainty, with words beside it."""
    if not (np.isfinite(place).all() and np.abs(place).max() < FAR_PX and radius < FAR_PX):
        return
    color = FINE if sigma_px < FINE_PX else MIDDLING if sigma_px < COARSE_PX else COARSE
    center, around = (round(float(place[0])), round(float(place[1]))), round(max(radius + 3.0, 6.0))
    cv2.circle(canvas, center, around, color, THIN, cv2.LINE_AA)
    at = (center[0] + around + 2, center[1] - around + 6)
    for paint, thickness in ((SHADE, SHADOW), (color, THIN)):
        cv2.putText(canvas, text, at, cv2.FONT_HERSHEY_SIMPLEX, SCALE, paint, thickness, cv2.LINE_AA)


def _text(number: int, sigma_px: float, zoom: float) -> str:
    """Give a marker's number, with its uncertainty where that matters."""
    return str(number) if sigma_px < FINE_PX and zoom < ZOOM else f"{number} {sigma_px:.2f}"


def _draw_line(canvas: Image, line: Floats, number: int) -> None:
    """Draw a sight line with the marker's number near its end, as far as it can be drawn."""
    fine = np.isfinite(line).all(axis=1) & (np.abs(np.nan_to_num(line)).max(axis=1) < FAR_PX)
    color = line_color(number)
    points = np.round(np.where(fine[:, None], line, 0.0)).astype(np.int32)
    for n in range(len(points) - 1):
        if fine[n] and fine[n + 1]:
            cv2.line(canvas, points[n].tolist(), points[n + 1].tolist(), color, 1, cv2.LINE_AA)
    height, width = canvas.shape[:2]
    inside = fine & (points[:, 0] >= 0) & (points[:, 0] < width - 16) & (points[:, 1] >= 12) & (points[:, 1] < height)
    if inside.any():
        end = points[np.flatnonzero(inside)[-1]]
        cv2.putText(canvas, str(number), end.tolist(), cv2.FONT_HERSHEY_SIMPLEX, SCALE, color, THIN, cv2.LINE_AA)
