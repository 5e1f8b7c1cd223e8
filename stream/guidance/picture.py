"""The cameras' pictures as the guidance page shows them: board or markers drawn in, covered cells green."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import cv2
import numpy as np

from calibration.board.views import BoardView
from config.arrays import Floats, Image

BACKGROUND, FRAME, LINE = (16, 18, 22), (70, 76, 84), (112, 118, 126)
GREEN, AMBER, BLUE, RED = (64, 200, 120), (250, 190, 60), (90, 170, 255), (255, 96, 80)
GAP_PX, RIM_PX = 14, 4
COVER_SHARE, EMPTY_SHARE = 0.22, 0.22
LABEL_SCALE = 0.75
FLASH_SHARE = 0.22


@dataclass(frozen=True, slots=True)
class CameraPicture:
    """One camera's picture.

    image: BGR, None before the first; size: of the full picture [px]; board: corners of the board, None for none; points_px:
    markers, (N, 2); cover: of the cells, 0 to 1, (rows, columns), None for none; color: of the frame; flash: a view was taken
    just now; message: what is wrong.
    """

    name: str
    image: Image | None = None
    size: tuple[int, int] = (640, 480)
    board: BoardView | None = None
    points_px: Floats = field(default_factory=lambda: np.zeros((0, 2)))
    cover: Floats | None = None
    color: tuple[int, int, int] = FRAME
    flash: bool = False
    message: str = ""


def draw_canvas(cameras: Sequence[CameraPicture], size: tuple[int, int], top_px: int = 0) -> Image:
    """Return a canvas, RGB, with the pictures side by side or one above the other; size: width and height; top_px: left free."""
    width, height = size
    canvas = np.full((height, width, 3), BACKGROUND, np.uint8)
    for camera, (x, y, w, h) in zip(cameras, lay_out_pictures(cameras, size, top_px), strict=True):
        canvas[y : y + h, x : x + w] = draw_camera(camera, (w, h))
        cv2.rectangle(canvas, (x - RIM_PX, y - RIM_PX), (x + w + RIM_PX - 1, y + h + RIM_PX - 1), camera.color, RIM_PX)
    return canvas


def lay_out_pictures(cameras: Sequence[CameraPicture], size: tuple[int, int], top_px: int) -> list[tuple[int, int, int, int]]:
    """Return x, y, width and height of each picture: as large as possible in its aspect."""
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
    for point in camera.points_px:
        _draw_marker_ring(picture, (point + 0.5) * scale)
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
        center = (round(float(point[0])), round(float(point[1])))
        share = n / max(len(points) - 1, 1)
        color = tuple(int((1.0 - share) * a + share * b) for a, b in zip(AMBER, BLUE, strict=True))
        cv2.circle(picture, center, 6 if n == 0 else 3, color, 2 if n == 0 else -1, cv2.LINE_AA)
    hull = cv2.convexHull(points.astype(np.float32)).astype(np.int32)
    cv2.polylines(picture, [hull], True, AMBER, 1, cv2.LINE_AA)


def _draw_marker_ring(picture: Image, point: Floats) -> None:
    """Draw a ring around a marker."""
    if np.isfinite(point).all() and np.abs(point).max() < 1e5:
        cv2.circle(picture, (round(float(point[0])), round(float(point[1]))), 8, GREEN, 2, cv2.LINE_AA)


def _draw_text(picture: Image, text: str, position: tuple[int, int], color: tuple[int, int, int] = (235, 238, 242)) -> None:
    """Write a text with a dark outline."""
    for paint, thickness in (((0, 0, 0), 4), (color, 2)):
        cv2.putText(picture, text, position, cv2.FONT_HERSHEY_SIMPLEX, LABEL_SCALE, paint, thickness, cv2.LINE_AA)
