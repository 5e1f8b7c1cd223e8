"""The picture of a wand's rig is a whole PNG, for a wand of two markers and of one."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from calibration.wand.picture import draw_wand
from calibration.wand.quality import judge_wand
from tests.calibration.wand.conftest import Waved


@pytest.mark.parametrize("n_markers", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_it_is_drawn(tmp_path: Path, one: Waved, two: Waved, n_markers: int) -> None:
    solution = (one if n_markers == 1 else two).solution
    file = draw_wand(solution, judge_wand(solution), tmp_path / "rig.png")
    image = cv2.imdecode(np.frombuffer(file.read_bytes(), np.uint8), cv2.IMREAD_COLOR)
    assert image is not None and image.shape[0] > 800 and image.shape[1] > 1000
    assert len(np.unique(image.astype(np.int64) @ [1, 256, 65536])) > 50
