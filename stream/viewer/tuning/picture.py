"""A camera's picture for tuning: foreground, markers with number and uncertainty, epipolar lines of the other one's markers."""

import colorsys
from dataclasses import dataclass, field

import cv2
import numpy as np

from calibration.camera import Camera
from capture.process.preview_image import Preview, PreviewKind
from config.arrays import Floats, Image
from stream.viewer.scene.cameras import brighten_picture
from stream.viewer.scene.colors import Color

CANVAS_PX = 640  # width; larger than it is shown, so that lines and figures are sharp
GOOD_PX, POOR_PX = 0.2, 0.6  # uncertainty of a marker's centre: good below the first, poor above the second
GOOD_COLOR, FAIR_COLOR, POOR_COLOR = (72, 220, 140), (250, 200, 60), (255, 92, 72)
MAX_PX = 1e5
MAX_DRAWN = 80
TEXT_SCALE, LINE_PX, OUTLINE_PX = 0.62, 2, 4  # read at half the size
ZOOM = 2.0  # from this zoom on there is room for every uncertainty
BLACK = (0, 0, 0)
NEAR_M, FAR_M = 0.3, 15.0  # range of depth in which markers are searched
N_POINTS = 24


@dataclass(frozen=True, slots=True)
class PictureMarks:
    """What is drawn on a picture.

    numbers: of the markers, with the uncertainty of poor ones, and of all in a zoom; lines: epipolar lines, (N, S, 2) [px], with
    `line_numbers` of the markers in the other picture that they belong to.
    """

    numbers: bool = True
    lines: Floats = field(default_factory=lambda: np.zeros((0, 0, 2)))
    line_numbers: tuple[int, ...] = ()


def compute_epipolar_lines(seen_by: Camera, points_px: Floats, shown_in: Camera) -> Floats:
    """Return the epipolar lines of points with the lens distortion of the camera that shows them.

    seen_by: camera that sees points_px, (N, 2) [px]; shown_in: the other one. Returns (N, N_POINTS, 2) [px], nearest depth first;
    NaN behind the other camera and so far outside its picture that its lens model is not valid.
    """
    points_px = np.asarray(points_px, float).reshape(-1, 2)
    ideal = seen_by.undistort(points_px)
    rays = np.concatenate([ideal, np.ones((len(ideal), 1))], axis=1) @ seen_by.rotation  # camera to world: R^T d
    depths_m = 1.0 / np.linspace(1.0 / NEAR_M, 1.0 / FAR_M, N_POINTS)  # evenly spaced in the picture
    points_m = seen_by.center_m + depths_m[None, :, None] * rays[:, None, :]
    lines = shown_in.project(points_m)
    x = shown_in.to_camera(points_m)
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.abs(x[..., :2] / x[..., 2:]).max(axis=-1)
    # Beyond 1.5 times the picture's angle the distortion polynomial may turn back into the picture.
    half = 0.5 * np.array(shown_in.size) / np.array([shown_in.matrix[0, 0], shown_in.matrix[1, 1]])
    lines[~(slope < 1.5 * half.max())] = np.nan
    return np.asarray(lines)


def draw_tuning_picture(image: Image, preview: Preview, marks: PictureMarks) -> Image:
    """Draw marks on a preview's picture: BGR in, RGB out, CANVAS_PX wide."""
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
    if not (np.isfinite(point_px).all() and np.abs(point_px).max() < MAX_PX and radius < MAX_PX):
        return
    color = GOOD_COLOR if sigma_px < GOOD_PX else FAIR_COLOR if sigma_px < POOR_PX else POOR_COLOR
    center, around = (round(float(point_px[0])), round(float(point_px[1]))), round(max(radius + 3.0, 6.0))
    cv2.circle(canvas, center, around, color, LINE_PX, cv2.LINE_AA)
    at = (center[0] + around + 2, center[1] - around + 6)
    for paint, thickness in ((BLACK, OUTLINE_PX), (color, LINE_PX)):
        cv2.putText(canvas, text, at, cv2.FONT_HERSHEY_SIMPLEX, TEXT_SCALE, paint, thickness, cv2.LINE_AA)


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
