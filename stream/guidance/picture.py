"""Both cameras' pictures side by side as the page shows them: the board or the markers drawn in, covered cells green."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import cv2
import numpy as np

from calibration.views import BoardView
from capture.preview_picture import Image
from database.rotations import Floats

PAPER, FRAME, LINE = (16, 18, 22), (70, 76, 84), (112, 118, 126)
GREEN, AMBER, BLUE, RED = (64, 200, 120), (250, 190, 60), (90, 170, 255), (255, 96, 80)
GAP, RIM = 14, 4
COVER_SHARE, EMPTY_SHARE = 0.22, 0.22
LABEL_SCALE = 0.75
FLASH_SHARE = 0.22


@dataclass(frozen=True, slots=True)
class Eye:
    """What is shown of one camera.

    name: beside its picture; image: BGR, None before the first; size: of the full picture [px]; board: the board's outline and
    corners, None for none; points_px: markers, (N, 2); cover: cells 0..1, (rows, columns), None for none; color: of the frame;
    flash: it was taken just now; words: instead of a picture.
    """

    name: str
    image: Image | None = None
    size: tuple[int, int] = (640, 480)
    board: BoardView | None = None
    points_px: Floats = field(default_factory=lambda: np.zeros((0, 2)))
    cover: Floats | None = None
    color: tuple[int, int, int] = FRAME
    flash: bool = False
    words: str = ""


def canvas_picture(eyes: Sequence[Eye], size: tuple[int, int], top_px: int = 0) -> Image:
    """Lay the cameras' pictures on a canvas of a size, RGB, side by side or one above the other; top_px: left free."""
    width, height = size
    canvas = np.full((height, width, 3), PAPER, np.uint8)
    for eye, (x, y, w, h) in zip(eyes, places(eyes, size, top_px), strict=True):
        picture = eye_picture(eye, (w, h))
        canvas[y : y + h, x : x + w] = picture
        cv2.rectangle(canvas, (x - RIM, y - RIM), (x + w + RIM - 1, y + h + RIM - 1), eye.color, RIM)
    return canvas


def places(eyes: Sequence[Eye], size: tuple[int, int], top_px: int) -> list[tuple[int, int, int, int]]:
    """Give x, y, width and height of each picture: as large as possible, their shape kept."""
    width, height = size[0], size[1] - top_px
    best: list[tuple[int, int, int, int]] = []
    for columns in range(1, len(eyes) + 1):
        rows = -(-len(eyes) // columns)
        room = ((width - GAP * (columns + 1)) / columns, (height - GAP * (rows + 1)) / rows)
        found = []
        for n, eye in enumerate(eyes):
            scale = max(min(room[0] / eye.size[0], room[1] / eye.size[1]), 0.01)
            w, h = max(int(eye.size[0] * scale), 8), max(int(eye.size[1] * scale), 8)
            x = GAP + (n % columns) * (room[0] + GAP) + 0.5 * (room[0] - w)
            y = top_px + GAP + (n // columns) * (room[1] + GAP) + 0.5 * (room[1] - h)
            found.append((int(x), int(y), w, h))
        if not best or found[0][2] > best[0][2]:
            best = found
    return best


def eye_picture(eye: Eye, size: tuple[int, int]) -> Image:
    """Draw one camera's picture, RGB (h, w, 3)."""
    width, height = size
    if eye.image is None:
        picture = np.full((height, width, 3), 34, np.uint8)
    else:
        way = cv2.INTER_AREA if eye.image.shape[1] > width else cv2.INTER_LINEAR
        picture = np.ascontiguousarray(cv2.resize(eye.image, size, interpolation=way)[..., ::-1])
    scale = width / eye.size[0]
    if eye.cover is not None:
        _draw_cover(picture, eye.cover)
    if eye.flash:
        picture[:] = cv2.addWeighted(picture, 1.0 - FLASH_SHARE, np.full_like(picture, GREEN), FLASH_SHARE, 0.0)
    if eye.board is not None:
        _draw_board(picture, eye.board, scale)
    for point in eye.points_px:
        _draw_marker(picture, (point + 0.5) * scale)
    _label(picture, eye.name, (10, 26))
    if eye.words:
        _label(picture, eye.words, (10, height - 14), RED)
    return picture


def _draw_cover(picture: Image, cover: Floats) -> None:
    """Tint the cells that are covered, darken the others a little, and draw the lines between them."""
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
    """Draw the corners that were found, the first one large, so that its order can be seen."""
    points = (view.corners_px[view.seen] + 0.5) * scale
    for n, point in enumerate(points):
        center = (round(float(point[0])), round(float(point[1])))
        share = n / max(len(points) - 1, 1)
        color = tuple(int((1.0 - share) * a + share * b) for a, b in zip(AMBER, BLUE, strict=True))
        cv2.circle(picture, center, 6 if n == 0 else 3, color, 2 if n == 0 else -1, cv2.LINE_AA)
    hull = cv2.convexHull(points.astype(np.float32)).astype(np.int32)
    cv2.polylines(picture, [hull], True, AMBER, 1, cv2.LINE_AA)


def _draw_marker(picture: Image, place: Floats) -> None:
    """Draw a ring around a marker."""
    if np.isfinite(place).all() and np.abs(place).max() < 1e5:
        cv2.circle(picture, (round(float(place[0])), round(float(place[1]))), 8, GREEN, 2, cv2.LINE_AA)


def _label(picture: Image, text: str, place: tuple[int, int], color: tuple[int, int, int] = (235, 238, 242)) -> None:
    """Write words with a shade behind them."""
    for paint, thickness in (((0, 0, 0), 4), (color, 2)):
        cv2.putText(picture, text, place, cv2.FONT_HERSHEY_SIMPLEX, LABEL_SCALE, paint, thickness, cv2.LINE_AA)
