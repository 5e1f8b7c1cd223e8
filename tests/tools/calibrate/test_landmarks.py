"""The T-pose of landmarks: what is said of a performer who is too far away, or not there."""

from dataclasses import replace

import numpy as np
import pytest

from calibration.camera import Rig
from capture.packets import Blobs, Views
from config.errors import CalibrationError
from config.settings import Settings
from database.builtin import build_person_skeleton
from tests.support.landmarks import landmark_views
from tests.support.people import person, t_pose_clip, worn_markers
from tests.support.rigs import synthetic_camera
from tools.calibrate.landmarks import average_landmark_tpose


def see_tpose(away_m: float) -> tuple[list[Views], Rig]:
    """Return what two cameras see of a T-pose some metres before them."""
    subject = person("none", 1)
    clip = t_pose_clip(subject.skeleton, 10)
    places = [(-1.0, 1.0, away_m), (1.0, 1.0, away_m)]
    cameras = [synthetic_camera(f"cam_{c}", at, (0.0, 0.9, 0.0), horizontal_view_rad=1.2) for c, at in enumerate(places)]
    rig = Rig(tuple(cameras), 0.0, floor_known=True)
    return landmark_views(rig, subject, worn_markers(subject, clip.rotvec, clip.root_m)[0]), rig


def explain(views: list[Views], rig: Rig) -> str:
    with pytest.raises(CalibrationError) as told:
        average_landmark_tpose(views, rig, person("none", 1).markers, [build_person_skeleton(1.8)], Settings())
    return str(told.value)


def test_somebody_too_far_away_is_asked_to_come_nearer() -> None:
    views, rig = see_tpose(12.0)

    def dim(_: int, blobs: Blobs) -> Blobs:
        assert blobs.landmarks is not None
        return replace(blobs, landmarks=replace(blobs.landmarks, score=np.full(33, 0.05)))

    far = [each.changed(dim) for each in views]
    text, camera = explain(far, rig), rig.cameras[0]
    assert f"of {camera.size[1]} px tall" in text
    near_m = camera.focal_px * 1.7 / (0.25 * camera.size[1])
    assert f"come nearer than {near_m:.1f} m" in text


def test_a_camera_that_shows_nobody_is_named() -> None:
    views, rig = see_tpose(3.0)
    views = [each.changed(lambda c, blobs: replace(blobs, landmarks=None) if c == 1 else blobs) for each in views]
    text = explain(views, rig)
    assert f"{rig.cameras[1].title} shows nobody in 10 of 10 frames" in text and "come nearer than" in text
