"""Boards that others printed, in rendered pictures: how exactly their corners are found, or what is said of them."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np

from calibration.board.diagnosis import explain_missing_board
from calibration.board.find import find_board
from calibration.board.pattern import Board, board_from_text
from config.arrays import Floats, Image
from config.errors import CalibrationError
from database.geometry.rotations import matrix_from_rotvec
from tests.support.board_scenes import Look, render_board, render_circles, scene_views, true_corners, usual_rig
from tests.zoo.calibrations import calibrates, pair_of
from tests.zoo.specimen import Outcome, Specimen

RIG = usual_rig()
PAIR = pair_of((1280, 720), (1000.0, 1010.0), (-0.1, 0.05, 0.0, 0.0, 0.0), (0.0, 0.15, 0.02), (0.4, 0.0, 0.0))
STAND_IN = board_from_text("9x6:25")
Finish = Callable[[Image], Image]
PAPER, INK = 205, 28


def as_taken(picture: Image) -> Image:
    """Return the picture as it is."""
    return picture


def negative(picture: Image) -> Image:
    """Return a picture of white on black."""
    return np.asarray(np.clip(PAPER + INK - picture.astype(int), 0, 255), np.uint8)


def mirrored(picture: Image) -> Image:
    """Return a picture that a camera has mirrored."""
    return np.ascontiguousarray(picture[:, ::-1])


def on_screen(picture: Image) -> Image:
    """Return a picture of a monitor: rows and columns of light that beat with the camera's, and light that falls off."""
    y, x = np.mgrid[: picture.shape[0], : picture.shape[1]]
    moire = 1.0 + 0.10 * np.sin(0.9 * x + 0.13 * y) + 0.08 * np.sin(0.11 * x - 1.1 * y)
    falls_off = 1.15 - 0.5 * x / picture.shape[1] - 0.25 * y / picture.shape[0]
    return np.asarray(np.clip(picture * moire * falls_off, 0, 255), np.uint8)


def place(board: Board, seed: int, aside: float = 0.0) -> Floats:
    """Return a pose of a board in the middle of the left picture, moved aside by a share of its width, (6,)."""
    pose = scene_views(STAND_IN, RIG, 1, seed=seed, share=(0.42, 0.5), first=4)[0].copy()
    R = matrix_from_rotvec(pose[:3])
    middle = 0.5 * (board.points_m.min(axis=0) + board.points_m.max(axis=0))
    pose[3:] += R @ (STAND_IN.points_m.mean(axis=0) - middle)
    depth = RIG.cameras[0].to_camera(pose[3:])[2]
    pose[3:] += RIG.cameras[0].rotation.T @ [aside * RIG.cameras[0].size[0] / RIG.cameras[0].focal_px * depth, 0.0, 0.0]
    return pose


def picture_of(board: Board, seed: int = 3, aside: float = 0.0) -> tuple[Image, Floats]:
    """Return a picture of a board and its true corners, (N, 2) [px]."""
    pose = place(board, seed, aside)
    margin = {"aruco": 0.25, "circles": 1.5}.get(board.kind, 1.0)
    draw = render_circles if board.kind == "circles" else render_board
    return draw(board, RIG.cameras[0], pose[:3], pose[3:], Look(), seed, margin), true_corners(board, RIG.cameras[0], pose)


def found(text: str, finish: Finish = as_taken, aside: float = 0.0, legacy: bool | None = None) -> Callable[[Path], Outcome]:
    """Return what looks for a board in its picture."""

    def make(folder: Path) -> Outcome:
        board = board_from_text(text)
        image, truth = picture_of(replace(board, legacy=legacy), aside=aside)
        view = find_board(finish(image), board)
        if view is None:
            raise CalibrationError(explain_missing_board([finish(image)], board))
        # White on black, a chessboard is counted from its other end, in every picture.
        off = min(np.sqrt(((view.corners_px - each)[view.seen] ** 2).sum(axis=1).mean()) for each in (truth, truth[::-1]))
        return Outcome(f"{view.n_seen} of {len(board)} corners of {board.text}", float(off))

    return make


def asked(shown: str, named: str, finish: Finish = as_taken, aside: float = 0.0) -> Callable[[Path], Outcome]:
    """Return what looks for another board than is shown."""

    def make(folder: Path) -> Outcome:
        image, board = finish(picture_of(board_from_text(shown), aside=aside)[0]), board_from_text(named)
        view = find_board(image, board)
        if view is None:
            raise CalibrationError(explain_missing_board([image], board))
        return Outcome(f"{view.n_seen} corners of {board.text}")

    return make


def aruco_grid(named: str, loose: bool = False) -> Callable[[Path], Outcome]:
    """Return what looks for a board in a picture of a grid of markers, or of markers without order."""

    def make(folder: Path) -> Outcome:
        dictionary = cv2.aruco.getPredefinedDictionary(cv2.aruco.DICT_6X6_250)
        image, rng = np.full((480, 640), PAPER, np.uint8), np.random.default_rng(4)
        for number in range(6 if loose else 20):
            row, column = divmod(number, 5)
            side = 46 + (2 * number if loose else 8)
            y, x = 40 + 100 * row + (number * 17 % 37 if loose else 0), 50 + 110 * column + (number * 29 % 31 if loose else 0)
            which = int(rng.integers(20, 95)) if loose else number
            image[y : y + side, x : x + side] = np.where(cv2.aruco.generateImageMarker(dictionary, which, side) > 0, PAPER, INK)
        raise CalibrationError(explain_missing_board([cv2.GaussianBlur(image, (0, 0), 0.7)], board_from_text(named)))

    return make


def told(name: str, make: Callable[[Path], Outcome], expect: str, slow: bool = False) -> Specimen:
    """Return a specimen that is refused with words."""
    return Specimen(name, make, expect, refused=True, slow=slow)


SPECIMENS: tuple[Specimen, ...] = (
    Specimen("chessboard", found("chessboard:9x6:25"), "54 of 54", 0.05, "px"),
    Specimen("ChArUco", found("charuco:9x6:25"), "54 of 54", 0.05, "px"),
    Specimen("ChArUco, layout from before OpenCV 4.6", found("charuco:9x7:22", legacy=True), "63 of 63", 0.05, "px"),
    Specimen("ChArUco, layout of today", found("charuco:9x7:22", legacy=False), "63 of 63", 0.05, "px"),
    Specimen("ChArUco, white on black", found("charuco:9x6:25", negative), "54 of 54", 0.05, "px"),
    Specimen("chessboard, white on black", found("chessboard:9x6:25", negative), "54 of 54", 0.05, "px"),
    Specimen("AprilGrid of Kalibr", found("aprilgrid:6x4:28:0.3"), r"\d\d of 96", 0.05, "px"),
    Specimen("single ArUco marker", found("aruco:7:150"), "4 of 4", 0.08, "px"),
    Specimen("single ArUco marker, white on black", found("aruco:7:150", negative), "4 of 4", 0.08, "px"),
    Specimen("asymmetric circles", found("circles:4x11:17"), "44 of 44", 0.1, "px", slow=True),
    Specimen("chessboard on a screen", found("chessboard:9x6:25", on_screen), "54 of 54", 0.2, "px"),
    Specimen("ChArUco on a screen", found("charuco:9x6:25", on_screen), r"\d\d of 54", 0.2, "px"),
    Specimen("AprilGrid on a screen", found("aprilgrid:6x4:28:0.3", on_screen), r"\d\d of 96", 0.2, "px"),
    Specimen("ChArUco cut off", found("charuco:9x6:25", aside=0.36), r"[23]\d of 54", 0.05, "px"),
    Specimen("AprilGrid cut off", found("aprilgrid:6x4:28:0.3", aside=0.36), r"\d\d of 96", 0.05, "px"),
    told("chessboard cut off", asked("9x6:25", "9x6:25", aside=0.36), "only .x. of the board's 9x6.*keep the whole", slow=True),
    told(
        "circles cut off",
        asked("circles:4x11:17", "circles:4x11:17", aside=0.36),
        "44 circles are seen: keep",
        slow=True,
    ),
    told("ChArUco mirrored", asked("charuco:9x6:25", "charuco:9x6:25", mirrored), "mirrored.*switch", slow=True),
    told("AprilGrid mirrored", asked("aprilgrid:6x4:28", "aprilgrid:6x4:28", mirrored), "mirrored.*switch"),
    told("marker mirrored", asked("aruco:7:150", "aruco:7:150", mirrored), "mirrored.*switch"),
    told("ChArUco of 7x10 named as 7x9", asked("charuco:7x10:20", "charuco:7x9:20"), "charuco:7x10:20", slow=True),
    told("ChArUco of 7x10 named by its squares", asked("charuco:7x10:20", "charuco:8x11:20"), "charuco:7x10:20", slow=True),
    told("ChArUco named as chessboard", asked("charuco:7x10:20", "9x6:25"), "plain chessboard was.*charuco:7x10:25", slow=True),
    told("chessboard named by its squares", asked("8x5:25", "9x6:25"), "four squares meet.*chessboard:8x5:25", slow=True),
    told("chessboard named as AprilGrid", asked("9x6:25", "aprilgrid:6x6:88"), "chessboard:9x6:MM", slow=True),
    told("AprilGrid named as chessboard", asked("aprilgrid:6x4:28", "9x6:25"), r"aprilgrid:6x4:MM:0\.", slow=True),
    told("AprilGrid named as ChArUco", asked("aprilgrid:6x4:28", "charuco:9x6:25"), "aprilgrid:6x4:MM"),
    told("AprilGrid of other size", asked("aprilgrid:6x4:28", "aprilgrid:5x4:28"), "aprilgrid:6x4:28"),
    told("single marker named as ChArUco", asked("aruco:7:150", "charuco:9x6:25"), "aruco:7:MM:DICT_5X5"),
    told("another marker", asked("aruco:7:150", "aruco:8:150"), "aruco:7:MM:DICT_5X5"),
    told("circles named as chessboard", asked("circles:4x11:17", "9x6:25"), "circles:4x11:MM", slow=True),
    told("grid of ArUco markers", aruco_grid("9x6:25"), "a grid of 5x4 markers.*print a ChArUco board"),
    told("grid of ArUco markers named as ChArUco", aruco_grid("charuco:9x6:25"), "a grid of 5x4 markers.*print a ChArUco"),
    told("markers without order", aruco_grid("9x6:25", loose=True), "fit no ChArUco board.*aruco:[0-9]+:MM:DICT_6X6"),
    Specimen(
        "calibration with an AprilGrid", calibrates(PAIR, 24, 7, board_from_text("aprilgrid:6x4:60")), "pass", 1.0, "%", slow=True
    ),
    Specimen(
        "calibration with circles", calibrates(PAIR, 24, 7, board_from_text("circles:4x11:30")), "pass", 1.0, "%", slow=True
    ),
    Specimen(
        "calibration with a single marker, 40 views",
        calibrates(PAIR, 40, 7, board_from_text("aruco:7:300")),
        "pass|poor",
        1.0,
        "%",
        slow=True,
    ),
)
