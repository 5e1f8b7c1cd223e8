"""How true the corners of boards are: against rendered truth, and on OpenCV's 13 real pairs, beside OpenCV's own corners.

python -m benchmarks.calibration_boards [--real FOLDER]
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np

from calibration.board import Board, board_from_text
from calibration.board_find import find_board, grey_picture
from calibration.board_find_chessboard import chessboard_grids
from calibration.board_order import in_board_order
from database.rotations import Floats
from tests.board_scenes import Look, render_board, scene_views, true_corners, usual_rig

LOOKS = {
    "noise of 2 grey levels": Look(),
    "noise of 5": Look(noise=5.0),
    "blur of 1.2 px": Look(blur_px=1.2),
    "blur of 2.5 px": Look(blur_px=2.5),
    "motion of 7 px": Look(motion_px=(6.0, 3.0)),
    "dark (contrast 27), noise 3": Look(gain=0.15, noise=3.0),
    "uneven light": Look(light=(1.2, -0.8)),
}
N_POSES = 9
OPENCV_DOC = Path("/usr/share/doc/opencv-doc/examples/data")


def sub_pixel(grey: np.ndarray, corners: Floats) -> Floats:
    """Refine corners by OpenCV's gradient method in windows of 9 pixels."""
    start = np.ascontiguousarray(corners.reshape(-1, 1, 2), np.float32)
    return np.asarray(cv2.cornerSubPix(grey, start, (4, 4), (-1, -1), (3, 100, 1e-4)), float).reshape(-1, 2)


def rendered(board: Board, look: Look) -> str:
    """Give one row: RMS of ours and of cornerSubPix from the same start, and the pictures in which the board was found."""
    rig, ours, theirs = usual_rig(), [], []
    for number, pose in enumerate(scene_views(board, rig, N_POSES)):
        image = render_board(board, rig.left, pose[:3], pose[3:], look, seed=number)
        view = find_board(image, board)
        if view is not None:
            truth = true_corners(board, rig.left, pose)
            ours.append((view.corners_px - truth)[view.seen])
            theirs.append((sub_pixel(image, view.corners_px) - truth)[view.seen])
    if not ours:
        return "- | - | 0"
    rms = [np.sqrt((np.concatenate(errors) ** 2).mean()) for errors in (ours, theirs)]
    return f"{rms[0]:.3f} | {rms[1]:.3f} | {len(ours)}/{N_POSES}"


def sector_based(image: np.ndarray, board: Board) -> Floats:
    """Give OpenCV's sector-based corners, accurate and exhaustive, in the board's order."""
    flags = cv2.CALIB_CB_EXHAUSTIVE | cv2.CALIB_CB_ACCURACY
    found, corners = cv2.findChessboardCornersSB(image, (board.columns, board.rows), flags=flags)
    grid = corners.reshape(board.rows, board.columns, 2) if found else next(chessboard_grids(image, board.columns, board.rows))
    ordered = in_board_order(image, np.asarray(grid, float), board)
    assert ordered is not None
    return ordered[0]


def fitted(image: np.ndarray, board: Board) -> Floats:
    """Give our corners."""
    view = find_board(image, board)
    assert view is not None
    return view.corners_px


def real_pairs(folder: Path, corners: Callable[[np.ndarray, Board], Floats]) -> str:
    """Give one row of figures from a stereo calibration by OpenCV with all corners of the 13 pairs."""
    board = board_from_text("9x6:25")
    names = [f"{number:02d}" for number in (*range(1, 10), *range(11, 15))]
    start = time.process_time()
    images = [[grey_picture(cv2.imread(str(folder / f"{side}{name}.jpg"))) for name in names] for side in ("left", "right")]
    px = [[np.float32(corners(image, board)).reshape(-1, 1, 2) for image in side] for side in images]
    spent_ms = 1e3 * (time.process_time() - start) / 26
    points, size = [np.float32(board.points_m)] * len(names), images[0][0].shape[::-1]
    alone = [cv2.calibrateCamera(points, side, size, None, None)[1:3] for side in px]
    rms, K1, d1, K2, d2, R, t, _, _ = cv2.stereoCalibrate(
        points, *px, *alone[0], *alone[1], size, flags=cv2.CALIB_USE_INTRINSIC_GUESS, criteria=(3, 200, 1e-9)
    )
    R1, R2, P1, P2, *_ = cv2.stereoRectify(K1, d1, K2, d2, size, R, t)
    dy, edges = [], []
    for left, right in zip(*px, strict=True):
        flat = [
            cv2.undistortPoints(*each).reshape(-1, 2) for each in ((left, K1, d1, None, R1, P1), (right, K2, d2, None, R2, P2))
        ]
        dy.append(np.abs(flat[0][:, 1] - flat[1][:, 1]))
        space = cv2.triangulatePoints(P1, P2, np.float64(flat[0].T), np.float64(flat[1].T))
        grid = (space[:3] / space[3]).T.reshape(board.rows, board.columns, 3) * 1e3
        edges += [np.linalg.norm(np.diff(grid, axis=axis), axis=2).ravel() for axis in (0, 1)]
    sides = np.concatenate(edges)
    baseline = 1e3 * float(np.linalg.norm(t))
    return (
        f"{rms:.3f} | {baseline:.2f} | {np.concatenate(dy).mean():.3f} | {sides.mean():.2f} +- {sides.std():.2f} | {spent_ms:.0f}"
    )


def main() -> None:
    """Print both tables."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--real", type=Path, default=OPENCV_DOC, help="folder of left01.jpg ... right14.jpg")
    folder = arguments.parse_args().real
    boards = [board_from_text(text) for text in ("chessboard:9x6:25", "charuco:9x6:25")]
    print("| picture | chessboard | cornerSubPix | found | ChArUco | cornerSubPix | found |\n|---|---|---|---|---|---|---|")
    for name, look in LOOKS.items():
        print(f"| {name} | {rendered(boards[0], look)} | {rendered(boards[1], look)} |", flush=True)
    if (folder / "left01.jpg").is_file():
        print("\n| corners | stereo RMS px | baseline mm | rectified dy px | edges mm | ms of CPU a picture |")
        print("|---|---|---|---|---|---|")
        print(f"| sector-based finder alone | {real_pairs(folder, sector_based)} |")
        print(
            f"| ... and cornerSubPix | {real_pairs(folder, lambda image, board: sub_pixel(image, sector_based(image, board)))} |"
        )
        print(f"| fitted | {real_pairs(folder, fitted)} |")


if __name__ == "__main__":
    main()
