"""When a T-pose is held in a recording: nobody has to say it."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from calibration.guidance.subject import HOLD_NS, SubjectGuide
from capture.recording.recording import CaptureRecording, RecordingSpec
from config.settings import Settings
from database.default import open_default_database
from tests.tools.guide.guided_movies import tpose_movie
from tools.calibrate.held_tpose import HeldPose, find_held_tpose

pytestmark = pytest.mark.slow
FPS = 10.0
EMPTY = 12  # pictures of nobody at the beginning
T_POSE = 45


@pytest.mark.parametrize("held", [T_POSE, int(HOLD_NS * 1e-9 * FPS)])
def test_the_first_t_pose_of_three_seconds_is_found(tmp_path: Path, held: int) -> None:
    performer, movies = tpose_movie()
    black = cv2.imencode(".png", np.zeros((480, 640, 3), np.uint8))[1].tobytes()
    for side, movie in zip(("left", "right"), movies, strict=True):
        (tmp_path / side).mkdir()
        for k in range(EMPTY + held):
            shown = black if k < EMPTY else movie[k % len(movie)]
            (tmp_path / side / f"{k:03d}.png").write_bytes(shown)
    settings = Settings()
    spec = RecordingSpec((str(tmp_path / "left"), str(tmp_path / "right")), fps=FPS, background_s=(0.0, 1.0))
    recording = CaptureRecording(spec, settings.detector, performer.markers)
    skeletons = open_default_database().skeletons

    def make_held() -> HeldPose:
        return HeldPose(SubjectGuide(performer.rig, performer.markers, skeletons), performer.rig, settings.match)

    begin_s, end_s = find_held_tpose(recording, make_held)
    seen_s = HOLD_NS * 1e-9 - (0.5 if held < T_POSE else 0.0)  # one of just three seconds is seen to be still after a while
    assert end_s - begin_s == pytest.approx(seen_s, abs=0.15) and EMPTY / FPS <= begin_s < EMPTY / FPS + 1.3
