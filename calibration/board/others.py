"""Boards of other kinds than was expected: which one a picture shows, and the line that names it."""

from dataclasses import dataclass

import cv2
import numpy as np

from calibration.board.charuco import MarkerDetections, find_markers
from calibration.board.circles import find_circle_grid, make_blob_detector
from calibration.board.pattern import Board, load_board_dictionary
from calibration.board.tags import find_tags
from config.arrays import Image

MIN_TAGS = 4
MAX_COLUMNS = 20
INLIER, MIN_SHARE = 0.2, 0.7  # of the distance between tags; share of the tags that must fit
SINGLE_SHARE = 0.06  # of the picture's width: a smaller marker is one of a board too far away
CIRCLES = (12, 220)  # least and most
ALIKE = 0.25  # relative difference of the sizes of spots
SPARE = 4  # spots that belong to something else
SIDES = (3, 25)  # circles along a side


@dataclass(frozen=True, slots=True)
class SeenBoard:
    """A board in a picture: its kind, what it is in words, and its name with MM where only a ruler tells."""

    kind: str
    words: str
    text: str


def find_april_layout(tags: MarkerDetections) -> tuple[int, int, float] | None:
    """Return tags across, tags up as far as seen, and the gap over the tag of the AprilGrid that tags fit; None: none."""
    if len(tags.ids) < MIN_TAGS:
        return None
    best = (0, 0, 0.0)
    for columns in range(2, MAX_COLUMNS + 1):
        row, column = np.divmod(tags.ids, columns)
        points = np.column_stack([column, -row]).astype(float)
        if min(np.ptp(points, axis=0)) < 1.0:
            continue
        H, inlier = cv2.findHomography(tags.corners_px.mean(axis=1), points, cv2.RANSAC, INLIER)
        if H is None or inlier.sum() <= best[0]:
            continue
        kept = inlier.ravel() > 0
        corners = cv2.perspectiveTransform(tags.corners_px[kept].reshape(-1, 1, 2), H).reshape(-1, 4, 2)
        side = float(np.median(np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2)))
        best = int(inlier.sum()), columns, 1.0 / max(side, 1e-3) - 1.0
    n, columns, spacing = best
    if n < max(MIN_TAGS, MIN_SHARE * len(tags.ids)) or not 0.02 < spacing < 1.5:
        return None
    return columns, int(tags.ids.max()) // columns + 1, round(spacing, 2)


def identify_aprilgrid(grey: Image) -> SeenBoard | None:
    """Return the AprilGrid in a picture, (H, W); None where there is none."""
    layout = find_april_layout(find_tags(grey))
    if layout is None:
        return None
    columns, rows, spacing = layout
    return SeenBoard("aprilgrid", f"an AprilGrid of {columns}x{rows} tags", f"aprilgrid:{columns}x{rows}:MM:{spacing:g}")


def identify_marker(name: str, markers: MarkerDetections, width: int) -> SeenBoard | None:
    """Return the single large marker among those of a dictionary; None where there is none, or several.

    Args:
        name: of the dictionary.
        markers: the markers that were found.
        width: of the picture [px].
    """
    if len(markers.ids) != 1:
        return None
    side = float(np.linalg.norm(np.diff(markers.corners_px[0], axis=0), axis=1).mean())
    if side < SINGLE_SHARE * width:
        return None
    number = int(markers.ids[0])
    return SeenBoard("aruco", f"a single marker, number {number} of {name},", f"aruco:{number}:MM:{name}")


def count_spots(grey: Image) -> int:
    """Return how many dark, round spots of about one size a picture shows, (H, W); 0 where most are of other sizes."""
    sizes = np.array([spot.size for spot in make_blob_detector(grey).detect(grey)])
    alike = int((np.abs(sizes / np.median(sizes) - 1.0) < ALIKE).sum()) if len(sizes) else 0
    return alike if alike >= MIN_SHARE * len(sizes) else 0


def identify_circles(grey: Image) -> SeenBoard | None:
    """Return the grid of circles in a picture, (H, W); None where there is none."""
    n = len(make_blob_detector(grey).detect(grey))
    for count in range(n, max(n - SPARE, CIRCLES[0]) - 1, -1):
        if count > CIRCLES[1]:
            continue
        for columns in range(SIDES[0], SIDES[1] + 1):
            rows = count // columns
            if columns * rows != count or not SIDES[0] <= rows <= SIDES[1]:
                continue
            if find_circle_grid(grey, columns, rows, quick=True) is not None:
                return SeenBoard("circles", f"a grid of {columns}x{rows} circles", f"circles:{columns}x{rows}:MM")
            if columns >= rows and find_circle_grid(grey, columns, rows, symmetric=True, quick=True) is not None:
                return SeenBoard("symmetric", f"a symmetric grid of {columns}x{rows} circles", "")
    return None


def describe_loose_markers(name: str, markers: MarkerDetections, fit_charuco: bool) -> str:
    """Return what the markers of a dictionary are if they are not a ChArUco board's; empty if they may be.

    Args:
        name: of the dictionary.
        markers: the markers that were found.
        fit_charuco: the markers lie as those of a ChArUco board do.
    """
    if len(markers.ids) - len(np.unique(markers.ids)) >= MIN_TAGS:
        return "two boards with the same markers are in the picture: leave only one in view"
    grid = find_april_layout(markers)
    if grid is not None:
        return (
            f"a grid of {grid[0]}x{grid[1]} markers of {name} without squares is seen, whose corners are less exact than those "
            "of squares: print a ChArUco board (duocap calibrate board --board charuco:9x6:25)"
        )
    if fit_charuco:
        return ""
    numbers = ", ".join(f"{number}" for number in sorted(markers.ids.tolist())[:4])
    return (
        f"markers {numbers} of {name} are seen, which fit no ChArUco board: show more of the board, or for one of them alone "
        f"give --board aruco:{markers.ids.min()}:MM:{name}"
    )


def describe_tags(grey: Image, board: Board) -> str:
    """Return what is seen of an AprilGrid or a single marker that was expected and not found; empty if nothing."""
    dictionary = load_board_dictionary(board)
    flipped = np.ascontiguousarray(grey[:, ::-1])
    if board.kind == "aprilgrid":
        tags, mirrored, least = find_tags(grey), find_tags(flipped), 2
    else:
        tags, mirrored, least = find_markers(grey, dictionary), find_markers(flipped, dictionary), 1
    if len(mirrored.ids) >= least and len(mirrored.ids) > 2 * len(tags.ids):
        return "the pictures are mirrored, the board's markers are seen from behind: switch the camera's mirroring off"
    if board.kind == "aprilgrid":
        return _describe_aprilgrid(tags, board)
    own = tags.ids == board.marker_id
    if own.sum() > 1:
        return f"marker {board.marker_id} is seen twice: leave only one in view"
    if own.any():
        return f"marker {board.marker_id} is seen but its sides are not clear: hold it nearer, whole, flat and in focus"
    return ""


def _describe_aprilgrid(tags: MarkerDetections, board: Board) -> str:
    """Return why an AprilGrid whose tags are seen was not found; empty if that is unknown."""
    layout = find_april_layout(tags)
    if layout is not None and (layout[0] != board.columns or layout[1] > board.rows):
        columns, rows, spacing = layout
        return (
            f"an AprilGrid of {columns}x{rows} tags is seen where {board.columns}x{board.rows} were expected: give "
            f"--board aprilgrid:{columns}x{rows}:{1e3 * board.square_m:g}:{spacing:g}"
        )
    if layout is not None and abs(layout[2] / (board.gap_m / board.square_m) - 1.0) > 0.2:
        return (
            f"the grid's gaps are {layout[2]:g} of a tag where {board.gap_m / board.square_m:g} was expected: give "
            f"--board aprilgrid:{board.columns}x{board.rows}:{1e3 * board.square_m:g}:{layout[2]:g}"
        )
    if len(np.unique(tags.ids)) < len(tags.ids):
        return "two AprilGrids with the same tags are in the picture: leave only one in view"
    if len(tags.ids):
        n = board.columns * board.rows
        return f"only {len(tags.ids)} of the grid's {n} tags can be read: hold it nearer, flat and in focus"
    return ""
