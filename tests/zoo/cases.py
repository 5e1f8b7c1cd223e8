"""Calibrations of other people that went wrong here once (issue 18): what must come out of each."""

from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np

from calibration.board.pattern import board_from_text
from calibration.board.views import BoardMoment, BoardView
from calibration.camera import Rig
from calibration.formats.rig_file import read_rig
from calibration.solve.rig import solve_rig
from config.arrays import Floats
from database.geometry.rotations import matrix_from_rotvec
from tests.support.board_scenes import Look, render_board, usual_rig
from tests.zoo.calibrations import board_poses, judged, pair_of, seen_pairs
from tests.zoo.lenses import fisheyes
from tests.zoo.specimen import Outcome, Specimen
from tools.calibrate.board.sources import BoardSpec, search_board
from tools.calibrate.rig import RigTask, calibrate_found

APART_S, STEP_S = 0.143, 0.02
SMALL = fisheyes(size=(800, 600))
PAIR = pair_of((1280, 720), (1000.0, 1010.0), (-0.1, 0.05, 0.0, 0.0, 0.0), (0.0, 0.2, 0.02), (0.5, 0.0, 0.0))


def _offset(folder: Path) -> Outcome:
    """15 views of a 4x5 board that is moved slowly, the right camera's stamps 143 ms late."""
    rig, board, rng = PAIR, board_from_text("4x5:40"), np.random.default_rng(3)
    poses = board_poses(rig, 15, 11, board, share=(0.15, 0.3))
    speeds = np.hstack([rng.normal(0.0, 0.1, (15, 3)), rng.normal(0.0, 0.06, (15, 3))])

    def seen(side: int, pose: Floats, noise_px: float = 0.1) -> Floats:
        world = board.points_m @ matrix_from_rotvec(pose[:3]).T + pose[3:]
        return rig.cameras[side].project(world) + rng.normal(0.0, noise_px, (len(board), 2))

    pairs = []
    for k, (pose, speed) in enumerate(zip(poses, speeds, strict=True)):
        earlier = pose - APART_S * speed  # what the right camera took, stamped as now
        velocity = (seen(1, earlier + STEP_S * speed) - seen(1, earlier - STEP_S * speed)) / (2.0 * STEP_S)
        px = seen(0, pose), seen(1, earlier)
        inside = [np.all((each > 0.0) & (each < np.array(rig.cameras[0].size) - 1.0), axis=1) for each in px]
        right_view = BoardView(px[1], inside[1], k * 10**9, velocity_px_s=velocity)
        pairs.append(BoardMoment((BoardView(px[0], inside[0], k * 10**9), right_view)))
    solution = solve_rig(board, pairs, (rig.cameras[0].size, rig.cameras[1].size), solve_offset=True)
    outcome = judged(rig, solution)
    return Outcome(f"{1e3 * solution.offset_s[1]:.0f} ms late; {outcome.text}", outcome.error)


def _strong_barrel(folder: Path) -> Outcome:
    """21 pairs of an 8x11 board through a lens that is no pinhole, solved as one: its model folds back before the corners."""
    rig, board = fisheyes(size=(1280, 720)), board_from_text("8x11:20")
    pairs = seen_pairs(rig, board_poses(rig, 21, 5, board, share=(0.2, 0.5)), 0.1, 0, board)
    return judged(rig, solve_rig(board, pairs, (rig.cameras[0].size, rig.cameras[1].size), lens="pinhole"))


def _one_mirrors(folder: Path) -> Outcome:
    """A chessboard before two cameras of which the right one mirrors: in a picture alone, that cannot be told."""
    rig, board, pairs = PAIR, board_from_text("9x6:40"), []
    for pair in seen_pairs(rig, board_poses(rig, 20, 6)):
        assert pair.views[0] is not None and pair.views[1] is not None
        px = pair.views[1].corners_px.reshape(board.rows, board.columns, 2)[:, ::-1].reshape(-1, 2)
        mirrored = np.column_stack([rig.cameras[1].size[0] - 1.0 - px[:, 0], px[:, 1]])
        pairs.append(BoardMoment((pair.views[0], BoardView(mirrored, pair.views[1].seen, pair.t_ns))))
    return judged(rig, solve_rig(board, pairs, (rig.cameras[0].size, rig.cameras[1].size)))


def from_pictures(rig: Rig, text: str, n: int, seed: int) -> Callable[[Path], Outcome]:
    """Return what renders pictures of a board and runs `duocap calibrate rig` does with them."""

    def make(folder: Path) -> Outcome:
        board = board_from_text(text)
        for number, pose in enumerate(board_poses(rig, n, seed, board)):
            for side in rig.cameras:
                image = render_board(board, side, pose[:3], pose[3:], Look(), number)
                (folder / side.name).mkdir(exist_ok=True)
                cv2.imwrite(str(folder / side.name / f"{number:02d}.png"), image)
        search, said = search_board(BoardSpec((folder / "left", folder / "right")), board), list[str]()
        calibrate_found(search, RigTask(board, folder / "rig.toml", None), said.append)
        found = read_rig(folder / "rig.toml")
        model = "fisheye" if found.cameras[0].fisheye else "pinhole"
        off = 100.0 * abs(found.baseline_m / rig.baseline_m - 1.0)
        return Outcome(f"{found.grade}: {model}, RMS {found.error_px:.2f} px", off)

    return make


SPECIMENS: tuple[Specimen, ...] = (
    Specimen("chessboard, one camera mirrors", _one_mirrors, "pairs of pictures agree", refused=True, slow=True),
    Specimen("15 views of a 4x5 board, stamps 143 ms apart", _offset, "^14[234] ms late; (pass|poor)", 1.0, "%", slow=True),
    Specimen("fisheyes from pictures", from_pictures(SMALL, "9x6:30", 16, 21), "pass: fisheye", 1.0, "%", slow=True),
    Specimen(
        "AprilGrid from pictures", from_pictures(usual_rig(), "aprilgrid:6x4:28", 14, 22), "pass: pinhole", 1.0, "%", slow=True
    ),
    Specimen("single marker from pictures", from_pictures(usual_rig(), "aruco:7:150", 24, 23), "pass|poor", 1.0, "%", slow=True),
    Specimen("strong barrel that no pinhole follows, as pinhole", _strong_barrel, "may be wrong by", 2.0, "%", slow=True),
)
