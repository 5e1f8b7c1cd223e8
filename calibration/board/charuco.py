"""Find the corners of a ChArUco board from its markers, whether or not the whole board is in view.

The layout that was printed, from before OpenCV 4.6 or since, is the one that the markers fit. Boards with an odd number of rows
of squares are the same in both.
"""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from calibration.board.corner_fit import CornerFit, fit_corners, is_crossing
from calibration.board.pattern import Board, find_light_squares
from calibration.board.views import BoardView, make_view
from config.arrays import Floats, Image

MIN_MARKERS = 3
MIN_SHARE = 0.7  # of the markers in the picture that must agree: of another board a row or so would
MIN_CORNERS = 6
INLIER = 0.12  # of a square: markers that lie further from where the others put them are not of this board
WIDE_PX = 2000  # no larger picture is made of pictures as wide as this
CLEAR = 4  # by which one layout must beat the other, markers counted twice and corners once
FURTHER_ROWS, FURTHER = 6, 0.5  # of squares below a board that are looked for, and how far off they may be, of a square
ROUNDS = 4
NEIGHBOURS = 10


@dataclass(frozen=True, slots=True)
class MarkerDetections:
    """M markers: their numbers, (M,), and corners clockwise from the top left as printed, (M, 4, 2) [px]."""

    ids: NDArray[np.int_]
    corners_px: Floats


def find_markers(grey: Image, dictionary: "cv2.aruco.Dictionary", sharpen: bool = False, border: int = 1) -> MarkerDetections:
    """Return the markers of a dictionary in a picture, (H, W).

    Args:
        grey: the picture, (H, W).
        dictionary: whose markers are looked for.
        sharpen: also small or slightly blurred ones, more slowly.
        border: width of the markers' dark rim, in cells.
    """
    parameters = cv2.aruco.DetectorParameters()
    parameters.markerBorderBits = border
    detector = cv2.aruco.ArucoDetector(dictionary, parameters)
    if sharpen and grey.shape[1] < WIDE_PX:
        return _run_detector(detector, _sharpen_picture(grey), 2.0)
    return _run_detector(detector, grey, 1.0)


def _sharpen_picture(grey: Image) -> Image:
    """Return a picture at twice its size with the fine detail amplified that a lens has blurred."""
    large = cv2.resize(grey, None, fx=2.0, fy=2.0, interpolation=cv2.INTER_CUBIC).astype(np.float32)
    return np.asarray(np.clip(large + 4.0 * (large - cv2.GaussianBlur(large, (0, 0), 2.5)), 0.0, 255.0), np.uint8)


def _run_detector(detector: "cv2.aruco.ArucoDetector", grey: Image, scale: float) -> MarkerDetections:
    """Run the detector on a picture that was scaled by `scale`."""
    corners, ids, _ = detector.detectMarkers(grey)
    if ids is None or not len(ids):
        return MarkerDetections(np.zeros(0, int), np.zeros((0, 4, 2)))
    px = np.asarray(corners, float).reshape(-1, 4, 2)
    return MarkerDetections(np.asarray(ids, int).ravel(), (px + 0.5) / scale - 0.5)


def find_charuco(grey: Image, board: Board, markers: MarkerDetections) -> BoardView | None:
    """Return the corners of a ChArUco board from the markers that were found in a picture; None where it is not clear which
    they are.

    There are too few markers then, those of another board or of two, or the layout is undecided.

    Args:
        grey: the picture, (H, W).
        board: the board that is looked for.
        markers: the markers that were found.
    """
    grown = []
    for legacy in (False, True) if board.rows % 2 else (False,):
        points_m, points_px, agree = _match_markers(board, legacy, markers)
        if _has_markers_below(board, legacy, markers, points_m[agree], points_px[agree]):
            return None
        if agree.sum() / 4.0 >= max(MIN_MARKERS, MIN_SHARE * len(markers.ids)):
            light = find_light_squares(board, legacy)
            fit, seen = grow_corners(grey, board, points_m[agree], points_px[agree], light)
            grown.append((int(agree.sum()) // 4 * 2 + int(seen.sum()), make_view(fit.corners_px, seen, fit.blur_px, legacy)))
    grown.sort(key=lambda each: -each[0])
    # With an odd number of squares a row, the layouts differ by a shift, but for the first and last square of each row.
    if not grown or (len(grown) > 1 and grown[0][0] < grown[1][0] + CLEAR):
        return None
    best = grown[0][1]
    if board.rows % 2 and board.legacy is not None and board.legacy != best.legacy:
        return None
    return best if best.seen.sum() >= MIN_CORNERS else None


def grow_corners(
    grey: Image, board: Board, markers_m: Floats, markers_px: Floats, light: NDArray[np.bool_]
) -> tuple[CornerFit, NDArray[np.bool_]]:
    """Fit corners from the known ones outwards: over the whole board the lens bends more than a homography can follow.

    Args:
        grey: the picture, (H, W).
        board: the board that is looked for.
        markers_m, markers_px: corners of markers on the board, (K, 2) [m], and in the picture, (K, 2) [px].
        light: as of `find_light_squares`.
    Returns: The fit and which corners are reliable, (N,).
    """
    fit, seen = _fit_all_corners(grey, board, markers_m, markers_px, light)
    for _ in range(ROUNDS):
        before = seen
        known_m, known_px = np.vstack([markers_m, board.points_m[seen, :2]]), np.vstack([markers_px, fit.corners_px[seen]])
        fit, seen = _fit_all_corners(grey, board, known_m, known_px, light)
        if np.array_equal(before, seen):
            break
    return fit, seen


def _match_markers(board: Board, legacy: bool, markers: MarkerDetections) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Return the markers' corners on the board, (4 M, 2) [m], and in the picture, (4 M, 2) [px], and which agree.

    Markers whose number the board does not have are left out.

    Args:
        board: the board that is looked for.
        legacy: the layout is that from before OpenCV 4.6.
        markers: the markers that were found.
    """
    corners_m = _compute_marker_corners_m(board, legacy, board.rows + 1)
    on_board = markers.ids < len(corners_m)
    points_m = corners_m[markers.ids[on_board]].reshape(-1, 2)
    points_px = markers.corners_px[on_board].reshape(-1, 2)
    return points_m, points_px, find_agreeing_markers(points_m, points_px, board.square_m)


def _compute_marker_corners_m(board: Board, legacy: bool, n_rows: int) -> Floats:
    """Return the corners of the markers of so many rows of squares in the board's frame, (K, 4, 2) [m]."""
    x, y = np.arange(board.columns + 1), np.arange(n_rows)
    starts_light = legacy and board.rows % 2
    squares = np.argwhere((x[None, :] + y[:, None]) % 2 != int(bool(starts_light)))[:, ::-1] - 1.0  # upper left corners
    share = board.marker_m / board.square_m
    within = 0.5 + 0.5 * share * np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    return np.asarray((squares[:, None] + within) * board.square_m)


def _has_markers_below(board: Board, legacy: bool, markers: MarkerDetections, points_m: Floats, points_px: Floats) -> bool:
    """Return whether markers follow below the board's last row, where those of a longer board would be."""
    n_own = len(_compute_marker_corners_m(board, legacy, board.rows + 1))
    further_m = _compute_marker_corners_m(board, legacy, board.rows + 1 + FURTHER_ROWS)
    beyond = (markers.ids >= n_own) & (markers.ids < len(further_m))
    if not beyond.any() or len(points_m) < 4 * MIN_MARKERS:
        return False
    H, _ = cv2.findHomography(points_px, points_m / board.square_m)
    if H is None:
        return False
    found = cv2.perspectiveTransform(markers.corners_px[beyond].reshape(-1, 1, 2), H).reshape(-1, 4, 2)
    error = np.linalg.norm(found - further_m[markers.ids[beyond]] / board.square_m, axis=2).max(axis=1)
    return bool((error < FURTHER).any())


def find_agreeing_markers(points_m: Floats, points_px: Floats, square_m: float) -> NDArray[np.bool_]:
    """Return which markers fit one plane seen by one camera, allowing for its lens, (4 M,); a marker counts as a whole.

    Args:
        points_m: corners of markers on the board, (4 M, 2) [m].
        points_px: the same in the picture, (4 M, 2) [px].
        square_m: side of a square.
    """
    if len(points_m) < 4 * MIN_MARKERS:
        return np.zeros(len(points_m), bool)
    # From the picture to the board, so that the limit is one of the board's squares at any distance.
    H, _ = cv2.findHomography(points_px, points_m / square_m, cv2.RANSAC, INLIER, maxIters=3000, confidence=0.9999)
    if H is None:
        return np.zeros(len(points_m), bool)
    found = cv2.perspectiveTransform(points_px[:, None], H)[:, 0]
    error = np.linalg.norm(found - points_m / square_m, axis=1).reshape(-1, 4).max(axis=1)
    return np.repeat(error < 2.5 * INLIER, 4)


def _fit_all_corners(
    grey: Image, board: Board, known_m: Floats, known_px: Floats, light: NDArray[np.bool_]
) -> tuple[CornerFit, NDArray[np.bool_]]:
    """Fit all corners where the known points predict them, and return which are reliable, (N,)."""
    s = board.cell_m
    points = board.points_m[:, :2]
    reach = np.array([[0.0, 0.0], [s, 0.0], [0.0, s]])
    at, right, down = (_predict_corners(points + offset, known_m, known_px, s) for offset in reach)
    steps = np.stack([right - at, down - at], axis=1)
    limit = np.array(grey.shape[::-1]) - 1.0
    inside = np.all((at > 1.0) & (at < limit - 1.0), axis=1)
    # Corners outside are fitted somewhere inside and thrown away: the arrays keep their shape.
    fit = fit_corners(grey, np.where(inside[:, None], at, limit / 2.0), steps, board, light)
    side = np.linalg.norm(steps, axis=2).min(axis=1)
    near = np.linalg.norm(fit.corners_px - at, axis=1) < 0.25 * side
    return fit, inside & is_crossing(fit, light) & near & (side > 4.0)


def _predict_corners(points_m: Floats, known_m: Floats, known_px: Floats, square_m: float) -> Floats:
    """Return where points of the board are seen, (N, 2) [px]: a homography, corrected by its errors at known points nearby."""
    H, _ = cv2.findHomography(known_m / square_m, known_px, 0)
    off = known_px - cv2.perspectiveTransform((known_m / square_m)[:, None], H)[:, 0]
    guess = cv2.perspectiveTransform((points_m / square_m)[:, None], H)[:, 0]
    distance = np.linalg.norm(points_m[:, None] - known_m[None], axis=2) / square_m
    nearest = np.argsort(distance, axis=1)[:, :NEIGHBOURS]
    weight = 1.0 / (0.3 + np.take_along_axis(distance, nearest, axis=1)) ** 2
    return np.asarray(guess + (weight[..., None] * off[nearest]).sum(axis=1) / weight.sum(axis=1)[:, None])
