"""Find Kalibr's AprilGrid and single markers: boards without squares that meet, or with tags between them.

Neighbouring tags of an AprilGrid touch dark squares in their corners, so that those are crossings of four cells, as those of a
chessboard, and are fitted as such. A single marker's corner is where two of its sides meet, each a curve through points of its
edge.
"""

from dataclasses import dataclass

import cv2
import numpy as np

from calibration.board.charuco import MIN_CORNERS, MIN_SHARE, MarkerDetections, find_agreeing_markers, find_markers, grow_corners
from calibration.board.pattern import APRIL_BORDER, APRIL_DICTIONARY, Board, find_light_squares, load_board_dictionary
from calibration.board.views import BoardView, make_view
from config.arrays import Floats, Image

MIN_TAGS = 3
APART_PX = (0, 1, 2)  # by which dark regions are shrunk, so that tags come apart from the squares at their corners
OPENCV_ORDER = (1, 0, 2, 3)  # OpenCV has the tags turned by half a turn: lower right, lower left, upper left, upper right
CROSSING_SHARE = 0.1  # of a tag's side: half the window in which the crossing at its corner is found; gaps are wider
SIDE_POINTS = 60  # along a marker's side
SIDE_SHARE = (0.08, 0.92)  # of a side, where it is looked for: at its ends the next side blurs it
PROFILE_SHARE = 0.045  # of a side, to either side of it; the rim of a marker is an eighth to a sixth of it
MIN_SIDE_PX = 24.0
MIN_CONTRAST = 15.0  # between marker and paper, in grey levels
MAX_OFF = 0.15  # RMS of a side's points about its curve, of the profile


def find_tags(grey: Image) -> MarkerDetections:
    """Return the tags of an AprilGrid in a picture, (H, W); corners as OpenCV orders them."""
    dictionary = cv2.aruco.getPredefinedDictionary(getattr(cv2.aruco, APRIL_DICTIONARY))
    best = MarkerDetections(np.zeros(0, int), np.zeros((0, 4, 2)))
    for radius in APART_PX:
        apart = cv2.dilate(grey, cv2.getStructuringElement(cv2.MORPH_RECT, (2 * radius + 1,) * 2)) if radius else grey
        found = find_markers(np.asarray(apart), dictionary, border=APRIL_BORDER)
        if len(found.ids) > len(best.ids):
            best = MarkerDetections(found.ids, _grow_quadrilaterals(found.corners_px, radius))
    return MarkerDetections(best.ids, _refine_tag_corners(grey, best.corners_px)) if len(best.ids) else best


def _refine_tag_corners(grey: Image, corners_px: Floats) -> Floats:
    """Return the tags' corners where the cells that meet there cross, (M, 4, 2) [px]: outlines are half a pixel within them."""
    side = float(np.median(np.linalg.norm(corners_px - np.roll(corners_px, 1, axis=1), axis=2)))
    window = int(np.clip(round(CROSSING_SHARE * side), 1, 8))
    start = np.ascontiguousarray(corners_px.reshape(-1, 1, 2), np.float32)
    criteria = (cv2.TERM_CRITERIA_EPS + cv2.TERM_CRITERIA_MAX_ITER, 20, 0.01)
    moved = cv2.cornerSubPix(grey, start.copy(), (window, window), (-1, -1), criteria)
    near = np.linalg.norm(moved - start, axis=2, keepdims=True) < window + 1.0
    return np.asarray(np.where(near, moved, start), float).reshape(corners_px.shape)


def _grow_quadrilaterals(corners_px: Floats, by_px: float) -> Floats:
    """Return quadrilaterals whose sides are moved outwards, (M, 4, 2) [px]."""
    middle = corners_px.mean(axis=1, keepdims=True)
    side = np.linalg.norm(corners_px - np.roll(corners_px, 1, axis=1), axis=2).mean(axis=1)
    return np.asarray(middle + (corners_px - middle) * (1.0 + 2.0 * by_px / np.maximum(side, 1.0))[:, None, None])


def compute_tag_corners_m(board: Board) -> Floats:
    """Return the tags' corners as OpenCV orders them, in the board's frame, (T, 4, 2) [m]."""
    grid = board.points_m[:, :2].reshape(board.rows, 2, board.columns, 2, 2).swapaxes(1, 2).reshape(-1, 4, 2)
    return np.asarray(grid[:, OPENCV_ORDER])  # of lower left, lower right, upper left, upper right


def find_aprilgrid(grey: Image, board: Board) -> BoardView | None:
    """Return the corners of an AprilGrid of which any part is in a picture, (H, W); None: too few tags, or another grid's."""
    tags = find_tags(grey)
    corners_m = compute_tag_corners_m(board)
    own = tags.ids < len(corners_m)
    if own.sum() < MIN_TAGS:
        return None
    points_m, points_px = corners_m[tags.ids[own]].reshape(-1, 2), tags.corners_px[own].reshape(-1, 2)
    agree = find_agreeing_markers(points_m, points_px, board.square_m)
    if agree.sum() / 4.0 < max(MIN_TAGS, MIN_SHARE * len(tags.ids)):
        return None
    fit, seen = grow_corners(grey, board, points_m[agree], points_px[agree], find_light_squares(board, True))
    return make_view(fit.corners_px, seen, fit.blur_px) if seen.sum() >= MIN_CORNERS else None


def find_marker(grey: Image, board: Board) -> BoardView | None:
    """Return the four corners of a single marker in a picture, (H, W), row by row; None: not in it, twice, or unsharp."""
    for picture in (grey, np.asarray(cv2.bitwise_not(grey))):
        markers = find_markers(picture, load_board_dictionary(board))
        mine = np.flatnonzero(markers.ids == board.marker_id)
        if len(mine) == 1:
            sides = fit_marker_sides(picture, markers.corners_px[mine[0]])
            return None if sides is None else BoardView(sides[0][[0, 1, 3, 2]], np.ones(4, bool), blur_px=sides[1])
    return None


def fit_marker_sides(grey: Image, corners_px: Floats) -> tuple[Floats, float] | None:
    """Return where the sides of a dark quadrilateral meet, (4, 2) [px], and the blur of its edges [px]; None: no clear sides.

    corners_px: roughly, clockwise in the picture, (4, 2). Each side is a parabola through points of its edge: lenses bend it.
    """
    for _ in range(2):  # again from where the sides met
        curves, blurs = [], []
        for k in range(4):
            curve = _fit_side(grey, corners_px[k], corners_px[(k + 1) % 4])
            if curve is None:
                return None
            curves.append(curve[0])
            blurs.append(curve[1])
        corners_px = np.array([_intersect_sides(curves[k - 1], curves[k], corners_px[k]) for k in range(4)])
    return corners_px, float(np.median(blurs))


@dataclass(frozen=True, slots=True)
class _Side:
    """A side of a marker: its start, directions along and outwards, (2,), and the parabola of its offset by the way along."""

    start: Floats
    along: Floats
    out: Floats
    curve: Floats


def _fit_side(grey: Image, start: Floats, end: Floats) -> tuple[_Side, float] | None:
    """Fit one side from corner to corner, and its blur; None: the picture ends, no contrast, or no clear edge."""
    length = float(np.linalg.norm(end - start))
    if length < MIN_SIDE_PX:
        return None
    along = (end - start) / length
    out = np.array([along[1], -along[0]])
    reach = max(PROFILE_SHARE * length, 2.5)
    at, across = length * np.linspace(*SIDE_SHARE, SIDE_POINTS), np.linspace(-reach, reach, 4 * int(np.ceil(reach)) + 1)
    way = start + at[:, None, None] * along + across[None, :, None] * out
    if not np.all((way >= 1.0) & (way <= np.array(grey.shape[::-1]) - 2.0)):
        return None
    values = cv2.remap(grey.astype(np.float32), way.astype(np.float32), None, cv2.INTER_LINEAR).astype(float)
    n = max(len(across) // 4, 2)
    dark, light = (np.polyval(np.polyfit(at, level.mean(axis=1), 1), at) for level in (values[:, :n], values[:, -n:]))
    if np.median(light - dark) < MIN_CONTRAST:
        return None
    # Where a step from dark to light lies, whatever its blur: the area above the profile.
    share = (values - dark[:, None]) / np.maximum(light - dark, 1.0)[:, None]
    offset = reach - np.trapezoid(share, across, axis=1)
    middle = 0.5 * (across[1:] + across[:-1]) - offset[:, None]
    slope = np.where(np.abs(middle) < 3.0, np.clip(np.diff(values, axis=1), 0.0, None), 0.0)
    blur = np.sqrt((slope * middle**2).sum(axis=1) / np.maximum(slope.sum(axis=1), 1e-9))
    curve = np.polyfit(at, offset, 2)
    off = np.abs(offset - np.polyval(curve, at))
    keep = off <= max(3.0 * float(np.median(off)), 0.02)
    curve = np.polyfit(at[keep], offset[keep], 2)
    if np.sqrt(np.mean((offset[keep] - np.polyval(curve, at[keep])) ** 2)) > MAX_OFF * reach:
        return None
    return _Side(start, along, out, curve), float(np.median(blur))


def _intersect_sides(first: _Side, second: _Side, near: Floats) -> Floats:
    """Return where two sides meet, near a corner, (2,) [px], by Newton's method."""
    at = near
    for _ in range(8):
        values, slopes = [], []
        for side in (first, second):
            along, away = (at - side.start) @ side.along, (at - side.start) @ side.out
            values.append(away - np.polyval(side.curve, along))
            slopes.append(side.out - np.polyval(np.polyder(side.curve), along) * side.along)
        at = at - np.linalg.solve(np.array(slopes), np.array(values))
    return np.asarray(at)
