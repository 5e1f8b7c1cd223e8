"""Floors under somebody who walks, told by markers nobody has named."""

from dataclasses import replace

import numpy as np
import pytest

from calibration.floor.dwell import PointFrame
from calibration.floor.feet import FootHeights, compute_nominal_heights
from calibration.floor.frame import Floor, place_on_floor
from calibration.floor.from_walk import fit_floor_to_walk
from calibration.floor.quality import judge_floor
from calibration.quality.report import Grade
from capture.sources.simulated.performer import Performer, make_scene_performer
from capture.sources.simulated.scene import SimulatedScene
from config.errors import CalibrationError
from database.builtin import build_person_skeleton
from tests.calibration.floor.scenes import errors, in_left_frame, walk_of

SCENE = SimulatedScene(motion="walk", markers="dark_room", fps=30.0, tpose_s=1.5, seconds=9.0)


def true_heights(performer: Performer, words: tuple[str, ...]) -> FootHeights:
    """Return how high markers really are while the performer stands in the T-pose."""
    at = performer.markers_of(*performer.joints_at(np.array([0.5])))[0]
    pairs = [[k for k, name in enumerate(performer.markers.names) if word in name] for word in words]
    heights = np.array([float(at[pair, 1].mean()) for pair in pairs])
    order = np.argsort(heights)
    return FootHeights(heights[order], tuple(words[k] for k in order), 0.004, True)


@pytest.fixture(scope="module")
def walker() -> Performer:
    return make_scene_performer(SCENE)


@pytest.fixture(scope="module")
def frames(walker: Performer) -> list[PointFrame]:
    return walk_of(walker, in_left_frame(walker.rig), 0.3)


@pytest.fixture(scope="module")
def exact(walker: Performer, frames: list[PointFrame]) -> Floor:
    """Return the floor by feet whose markers' heights are known."""
    return fit_floor_to_walk(in_left_frame(walker.rig), frames, true_heights(walker, ("toe", "ankle")))


def test_a_walk_whose_feet_are_known(walker: Performer, exact: Floor) -> None:
    rig, floor = in_left_frame(walker.rig), exact
    tilt, height = errors(walker.rig, rig, floor, np.zeros(3))
    assert tilt < 1.5 and abs(height) < 0.03
    world = place_on_floor(rig, floor)
    assert all(abs(camera.center_m[1] - 1.2) < 0.1 and camera.center_m[2] > 4.0 for camera in world.cameras)
    assert floor.figures["contacts"] > 20 and floor.figures["below_percent"] == 0.0
    assert 1.3 < floor.figures["highest_m"] < 1.6
    assert judge_floor(rig, floor).grade is not Grade.FAIL


def test_nominal_heights_shift_it_and_do_not_tilt_it(walker: Performer, frames: list[PointFrame], exact: Floor) -> None:
    """What a foot's markers are assumed to be high is the floor's error, and within what it says of itself."""
    rig = in_left_frame(walker.rig)
    heights = compute_nominal_heights(walker.markers, build_person_skeleton(1.75))
    floor = fit_floor_to_walk(rig, frames, heights)
    assert np.degrees(np.arccos(np.clip(floor.up @ exact.up, -1.0, 1.0))) < 0.5
    assert errors(walker.rig, rig, floor, np.zeros(3))[0] < 1.5
    assert floor.height_sigma_m > heights.sigma_m


def test_reflections_in_the_floor_and_the_room_do_not_matter(walker: Performer, frames: list[PointFrame]) -> None:
    """Everything mirrored by the floor in a tenth of the moments, and two lamps."""
    rig = in_left_frame(walker.rig)
    rng = np.random.default_rng(7)
    R, t = walker.rig.cameras[0].rotation, walker.rig.cameras[0].translation
    lamps = np.array([[0.8, 0.02, -0.5], [-1.0, 1.9, -1.0]]) @ R.T + t
    disturbed = []
    for frame in frames:
        points, C = frame.points_m, frame.covariance_m2
        mirrored = ((points - t) @ R * [1.0, -1.0, 1.0]) @ R.T + t
        extra = mirrored[: len(points) * int(rng.random() < 0.1)]
        more = np.concatenate([points, extra, lamps])
        disturbed.append(
            PointFrame(frame.t_s, more, np.concatenate([C, np.tile(1e-5 * np.eye(3), (len(more) - len(points), 1, 1))]))
        )
    floor = fit_floor_to_walk(rig, disturbed, true_heights(walker, ("toe", "ankle")))
    tilt, height = errors(walker.rig, rig, floor, np.zeros(3))
    assert tilt < 2.0 and abs(height) < 0.03
    assert floor.figures["below_percent"] > 3.0
    assert any("below the floor" in finding.text for finding in judge_floor(rig, floor).findings)


def test_one_marker_a_foot() -> None:
    performer = make_scene_performer(replace(SCENE, markers="locomotion"))
    rig = in_left_frame(performer.rig)
    floor = fit_floor_to_walk(rig, walk_of(performer, rig, 0.3), true_heights(performer, ("foot",)))
    tilt, height = errors(performer.rig, rig, floor, np.zeros(3))
    assert tilt < 1.5 and abs(height) < 0.03


def test_who_only_stands_tells_no_floor(walker: Performer, frames: list[PointFrame]) -> None:
    rig = in_left_frame(walker.rig)
    standing = [frame for frame in frames if frame.t_s < 1.4]
    with pytest.raises(CalibrationError, match="0 times a marker stood still and went on"):
        fit_floor_to_walk(rig, standing, true_heights(walker, ("toe", "ankle")))


def test_nobody_there(walker: Performer) -> None:
    performer, heights = walker, true_heights(walker, ("toe", "ankle"))
    empty = [PointFrame(k / 30, np.zeros((0, 3)), np.zeros((0, 3, 3))) for k in range(60)]
    with pytest.raises(CalibrationError, match="0 times a marker stood still"):
        fit_floor_to_walk(performer.rig, empty, heights)
    with pytest.raises(CalibrationError, match="0 times"):
        fit_floor_to_walk(performer.rig, [], heights)
