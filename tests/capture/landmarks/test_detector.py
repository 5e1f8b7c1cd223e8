"""Landmarks of a rendered person by the real networks, and of pictures that show none; skipped where they are not to be had."""

from dataclasses import replace

import numpy as np
import pytest

from capture.landmarks.detector import LandmarkDetector
from capture.packets import Frame
from capture.sources.simulated.camera import SimulatedCamera
from capture.sources.simulated.scene import SimulatedScene
from config.joints import JOINT_INDEX
from config.landmarks import LANDMARK_INDEX
from tests.support.weights import require_weights

SCENE = SimulatedScene(motion="walk", markers="none", look="person", fps=30.0, seconds=2.0, tpose_s=1.0, distance_m=6.4)
LIMBS = {"shoulder": "UpperArm", "elbow": "LowerArm", "wrist": "Hand", "hip": "UpperLeg", "knee": "LowerLeg", "ankle": "Foot"}
LANDMARK = [LANDMARK_INDEX[f"{side}_{name}"] for side in ("left", "right") for name in LIMBS]
JOINT = [JOINT_INDEX[side + name] for side in ("left", "right") for name in LIMBS.values()]


@pytest.fixture(scope="module")
def camera() -> SimulatedCamera:
    require_weights()
    return SimulatedCamera(SCENE, 0)


def measure_errors(camera: SimulatedCamera, frames: list[Frame]) -> np.ndarray:
    """Return distances of landmarks from joints, (F, 12), in heights of the body; NaN where nobody was found."""
    detector = LandmarkDetector("full")
    rows = []
    for frame in frames:
        found = detector.step(frame)
        joints_px = camera.performer.rig.cameras[0].project(camera.performer.joints_at(camera.times_s[[frame.index]])[1][0])
        apart = np.full(12, np.nan) if found is None else np.linalg.norm(found.image_px[LANDMARK] - joints_px[JOINT], axis=1)
        rows.append(apart / np.ptp(joints_px[:, 1]))
    return np.array(rows)


def test_a_person_of_a_quarter_of_the_height_is_found_and_followed_into_its_walk(camera: SimulatedCamera) -> None:
    frames = [camera.frame_at(k) for k in range(0, len(camera.times_s), 2)]
    heights = np.ptp(camera.performer.rig.cameras[0].project(camera.performer.joints_at(np.array([0.0]))[1][0])[:, 1])
    assert heights < 0.27 * 480
    errors = measure_errors(camera, frames)
    found = np.isfinite(errors[:, 0])
    assert np.flatnonzero(found)[0] <= 12 and found[13:].all()
    assert np.median(errors[found]) < 0.04 and np.percentile(errors[found], 90.0) < 0.12


def test_a_picture_on_its_side_and_a_grey_one_are_no_fault(camera: SimulatedCamera) -> None:
    image = camera.frame_at(45).image
    grey = np.repeat(image.mean(axis=2, keepdims=True), 3, axis=2).astype(np.uint8)
    large = np.repeat(np.repeat(image, 4, axis=0), 4, axis=1)
    for shown in (grey, large, np.ascontiguousarray(np.rot90(image)), np.ascontiguousarray(image[::-1, ::-1])):
        detector = LandmarkDetector("full")
        for k in range(12):
            found = detector.step(Frame(0, k, k, shown))
            assert found is None or (np.isfinite(found.image_px).all() and 0.0 <= found.score.min() <= found.score.max() <= 1.0)


def test_the_one_who_is_followed_is_kept_when_a_second_person_comes(camera: SimulatedCamera) -> None:
    detector, empty = LandmarkDetector("full"), np.full((480, 640, 3), 90, np.uint8)
    n_near = 0
    for k in range(20, 60):
        person = camera.frame_at(k).image
        found = detector.step(Frame(0, k, k, np.hstack([person, empty if k < 40 else person])))
        n_near += found is not None and bool(found.image_px[:, 0].mean() < 640)
        assert found is None or found.image_px[:, 0].mean() < 640
    assert n_near > 25


def test_somebody_half_out_of_the_picture_is_followed_by_what_shows(camera: SimulatedCamera) -> None:
    detector = LandmarkDetector("full")
    whole = camera.frame_at(45).image
    joints_px = camera.performer.rig.cameras[0].project(camera.performer.joints_at(camera.times_s[[45]])[1][0])
    knees = int(joints_px[[JOINT_INDEX["leftLowerLeg"], JOINT_INDEX["rightLowerLeg"]], 1].mean())
    shown = [whole] * 13 + [np.ascontiguousarray(whole[:knees])] * 5
    found = [detector.step(Frame(0, k, k, image)) for k, image in enumerate(shown)][-1]
    assert found is not None
    wrist, ankle = LANDMARK_INDEX["left_wrist"], LANDMARK_INDEX["left_ankle"]
    assert np.linalg.norm(found.image_px[wrist] - joints_px[JOINT_INDEX["leftHand"]]) < 0.12 * np.ptp(joints_px[:, 1])
    assert found.score[ankle] < 0.3


def test_an_empty_room_shows_nobody(camera: SimulatedCamera) -> None:
    empty = SimulatedCamera(replace(SCENE, empty_s=1.0), 0)
    detector = LandmarkDetector("full")
    assert all(detector.step(empty.frame_at(k)) is None for k in range(20))
