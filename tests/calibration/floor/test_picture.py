"""The picture of a floor is a PNG of some size, whatever there is to draw."""

from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np

from calibration.camera import Rig
from calibration.floor.frame import Floor
from calibration.floor.picture import draw_floor
from calibration.floor.quality import judge_floor
from tests.calibration.floor.scenes import world_rig

RNG = np.random.default_rng(2)
FLOOR = Floor(
    np.array([0.0, 1.0, 0.0]),
    np.zeros(3),
    np.array([0.0, 0.0, 1.0]),
    "walk",
    0.005,
    0.02,
    6.0,
    RNG.uniform(-1, 1, (30, 3)) * [0.3, 0.005, 1.0],
    RNG.uniform(-1, 1, (300, 3)) * [0.4, 0.7, 1.0] + [0.0, 0.75, 0.0],
)


def test_it_is_drawn(tmp_path: Path) -> None:
    rig = world_rig()
    path = draw_floor(rig, FLOOR, judge_floor(rig, FLOOR), tmp_path / "rig.png")
    image = cv2.imread(str(path))
    assert image is not None and image.shape[1] > 1000 and image.shape[0] > 600
    # The left camera's blue and the floor's green are on it.
    for rgb in ((0, 114, 178), (0, 158, 115)):
        assert (np.abs(image[..., ::-1].astype(int) - rgb).max(axis=2) < 40).sum() > 50


def test_one_camera_and_no_other_points(tmp_path: Path) -> None:
    left = world_rig().cameras[0]
    floor = replace(FLOOR, by="board", above_m=np.zeros((0, 3)), one_camera=True)
    rig = Rig((left,))
    assert draw_floor(rig, floor, judge_floor(rig, floor), tmp_path / "one.png").stat().st_size > 10_000
