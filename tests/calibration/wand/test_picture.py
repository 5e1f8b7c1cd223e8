"""The picture of a wand's rig is a whole PNG, for a wand of two markers and of one."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from calibration.wand.picture import draw_wand
from calibration.wand.quality import wand_report
from calibration.wand.solve import solve_wand
from calibration.wand.tracks import wand_tracks
from tests.calibration.wand.scenes import Wave, both_sightings, wand_rig


@pytest.mark.parametrize("n_markers", [1, 2])
def test_it_is_drawn(tmp_path: Path, n_markers: int) -> None:
    truth = wand_rig()
    tracks = wand_tracks(both_sightings(truth, Wave(n_markers=n_markers, seed=3), 12.0), n_markers)
    known = {"length_m": 0.5} if n_markers == 2 else {"distance_m": truth.baseline_m}
    solution = solve_wand(tracks, truth.cameras, **known)
    file = draw_wand(solution, wand_report(solution), tmp_path / "rig.png")
    image = cv2.imdecode(np.frombuffer(file.read_bytes(), np.uint8), cv2.IMREAD_COLOR)
    assert image is not None and image.shape[0] > 800 and image.shape[1] > 1000
    assert len(np.unique(image.reshape(-1, 3), axis=0)) > 50
