"""Find a board's corners in a picture, in the board's order and to a few hundredths of a pixel."""

import cv2
import numpy as np
from numpy.typing import NDArray

from calibration.board.charuco import MIN_MARKERS, find_charuco, find_markers
from calibration.board.chessboard import ChessboardDetection, find_chessboard
from calibration.board.circles import find_circles
from calibration.board.pattern import Board, load_board_dictionary
from calibration.board.tags import find_tag_board
from calibration.board.views import BoardView
from config.arrays import Floats


def find_board(image: NDArray[np.uint8], board: Board, *, name: str = "", t_ns: int = 0, quick: bool = False) -> BoardView | None:
    """Return the corners of a board in a picture; None if it shows no board, or two. Chessboards and circles must be whole.

    Args:
        image: (H, W) or (H, W, 3), blue first.
        board: the board that is looked for.
        name: of the picture, for messages.
        t_ns: time of its capture.
        quick: for live use, where a picture without a board must take a few milliseconds only and a missed board is seen again.
    """
    grey = convert_to_grey(image)
    if board.kind == "charuco":
        return _find_charuco_board(grey, board, name, t_ns, quick)
    if board.kind != "chessboard":
        tags = find_circles(grey, board, quick) if board.kind == "circles" else find_tag_board(grey, board)
        return (
            None if tags is None else BoardView(tags.corners_px, tags.seen, t_ns, name, _choose_blur_px(tags.blur_px[tags.seen]))
        )
    found = find_chessboard(grey, board, quick)
    if found is None or (not quick and _has_another(grey, board, found)):
        return None
    fit, seen = found.fit, found.seen
    return BoardView(fit.corners_px, seen, t_ns, name, _choose_blur_px(fit.blur_px[seen]))


def _has_another(grey: NDArray[np.uint8], board: Board, found: ChessboardDetection) -> bool:
    """Return whether the picture shows a second such board: the other camera might take that one."""
    return find_chessboard(paint_over_board(grey, found.fit.corners_px), board, quick=True) is not None


def paint_over_board(grey: NDArray[np.uint8], corners_px: Floats) -> NDArray[np.uint8]:
    """Return the picture with the hull of some corners, (N, 2) [px], painted over in its median grey."""
    hull = cv2.convexHull(np.float32(corners_px))[:, 0]
    middle = hull.mean(axis=0)
    covered = cv2.fillConvexPoly(grey.copy(), np.rint(middle + 1.1 * (hull - middle)).astype(np.int32), float(np.median(grey)))
    return np.asarray(covered)


def _find_charuco_board(grey: NDArray[np.uint8], board: Board, name: str, t_ns: int, quick: bool) -> BoardView | None:
    """Return the corners of a ChArUco board, with a second, slower search if less than half of them are found.

    Light may be printed where the board is dark, and dark where it is light.
    """
    dictionary = load_board_dictionary(board)
    markers = find_markers(grey, dictionary)
    if len(markers.ids) < MIN_MARKERS:
        negative = np.asarray(cv2.bitwise_not(grey))
        inverted = find_markers(negative, dictionary)
        if len(inverted.ids) >= MIN_MARKERS:
            grey, markers = negative, inverted
    found = find_charuco(grey, board, markers)
    if not quick and (found is None or found.seen.mean() < 0.5):
        again = find_charuco(grey, board, find_markers(grey, dictionary, sharpen=True))
        found = max((each for each in (found, again) if each is not None), key=lambda each: int(each.seen.sum()), default=None)
    if found is None:
        return None
    fit, seen = found.fit, found.seen
    return BoardView(fit.corners_px, seen, t_ns, name, _choose_blur_px(fit.blur_px[seen]), legacy=found.legacy)


def convert_to_grey(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return a picture as (H, W)."""
    grey = image if image.ndim == 2 else cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
    return np.ascontiguousarray(grey, np.uint8)


def _choose_blur_px(blur_px: Floats) -> float:
    """Return the blur of the less sharp edges: a moving board has sharp ones along its motion."""
    return float(np.median(blur_px, axis=0).max()) if len(blur_px) else float("nan")
