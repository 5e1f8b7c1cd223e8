"""Lenses of other people: calibrations of two cameras with a board, corners with noise, from views to grade."""

import math
from pathlib import Path

from calibration.camera import Rig
from tests.zoo.calibrations import board_poses, calibrated, camera, seen_pairs
from tests.zoo.specimen import Outcome, Specimen

HALF_TURN = (0.0, 0.0, 0.5 * math.pi)


def fisheyes(lens: tuple[float, ...] = (-0.02, 0.006, -0.003, 0.0005), size: tuple[int, int] = (1280, 960)) -> Rig:
    """Return two cameras that see 120 degrees across, half a metre apart, toed in."""
    focal = 0.5 * size[0] / math.radians(60.0)
    left = camera("left", size, focal, lens, (0.0, -0.1, 0.0), fisheye=True)
    right = camera("right", size, 1.02 * focal, lens, (0.02, 0.15, 0.03), (0.5, 0.02, -0.01), fisheye=True)
    return Rig((left, right))


def _fisheye(folder: Path) -> Outcome:
    rig = fisheyes()
    return calibrated(rig, seen_pairs(rig, board_poses(rig, 24, 1)))


def _barrel(folder: Path) -> Outcome:
    lens = (-0.36, 0.2, 0.001, -0.0008, -0.05)
    right = camera("right", (1280, 720), 820.0, lens, (0.0, 0.2, 0.02), (0.4, 0.01, 0.0))
    rig = Rig((camera("left", (1280, 720), 800.0, lens), right))
    return calibrated(rig, seen_pairs(rig, board_poses(rig, 24, 2)))


def _zoomed(folder: Path) -> Outcome:
    lens = (0.05, 0.3, 0.0, 0.0, 0.0)
    right = camera("right", (1920, 1080), 7000.0, lens, (0.0, 0.2, 0.0), (1.5, 0.0, 0.0))
    rig = Rig((camera("left", (1920, 1080), 7200.0, lens), right))
    return calibrated(rig, seen_pairs(rig, board_poses(rig, 24, 3, share=(0.14, 0.22))))


def _rolled(folder: Path) -> Outcome:
    lens = (-0.1, 0.05, 0.0, 0.0, 0.0)
    right = camera("right", (640, 480), 560.0, lens, HALF_TURN, (0.35, 0.0, 0.0))
    rig = Rig((camera("left", (640, 480), 550.0, lens, HALF_TURN), right))
    return calibrated(rig, seen_pairs(rig, board_poses(rig, 20, 4)))


def _one_rolled(folder: Path) -> Outcome:
    lens = (-0.1, 0.05, 0.0, 0.0, 0.0)
    right = camera("right", (640, 480), 560.0, lens, HALF_TURN, (0.35, 0.0, 0.0))
    rig = Rig((camera("left", (640, 480), 550.0, lens), right))
    return calibrated(rig, seen_pairs(rig, board_poses(rig, 20, 5)))


SPECIMENS: tuple[Specimen, ...] = (
    Specimen("strong barrel", _barrel, "pass: .*pinhole", 1.0, "%", slow=True),
    Specimen("fisheye of 120 degrees", _fisheye, "pass: .*fisheye", 1.0, "%", slow=True),
    Specimen("zoomed in, 15 degrees across", _zoomed, "pass|poor", 1.0, "%", slow=True),
    Specimen("both cameras rolled by 90 degrees", _rolled, "pass", 1.0, "%", slow=True),
    Specimen("one camera rolled by 90 degrees", _one_rolled, "pass", 1.0, "%", slow=True),
)
