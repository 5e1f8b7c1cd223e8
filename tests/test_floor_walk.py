"""Floors under somebody who walks, told by markers nobody has named."""

from dataclasses import replace

import numpy as np
import pytest

from calibration.floor import floored
from calibration.floor_dwell import Moment
from calibration.floor_feet import FootHeights, heights_of_set
from calibration.floor_verdict import floor_verdict
from calibration.floor_walk import floor_from_walk
from calibration.verdict import Grade
from capture.simulated_performer import Performer, performer_from_scene
from capture.simulated_scene import SimulatedScene
from config.errors import CalibrationError
from database.builtin import body
from tests.floor_scenes import errors, in_left_frame, walk_of

SCENE = SimulatedScene(motion="walk", markers="dark_room", fps=30.0, tpose_s=1.5, seconds=9.0)


def true_heights(performer: Performer, words: tuple[str, ...]) -> FootHeights:
    """Give how high markers really are while the performer stands in the T-pose."""
    at = performer.markers_of(*performer.joints_at(np.array([0.5])))[0]
    pairs = [[k for k, name in enumerate(performer.markers.names) if word in name] for word in words]
    heights = np.array([float(at[pair, 1].mean()) for pair in pairs])
    order = np.argsort(heights)
    return FootHeights(heights[order], tuple(words[k] for k in order), 0.004, True)


@pytest.fixture(scope="module")
def walker() -> Performer:
    return performer_from_scene(SCENE)


def test_a_walk_whose_feet_are_known(walker: Performer) -> None:
    rig = in_left_frame(walker.rig)
    floor = floor_from_walk(rig, walk_of(walker, rig, 0.3), true_heights(walker, ("toe", "ankle")))
    tilt, height = errors(walker.rig, rig, floor, np.zeros(3))
    assert tilt < 1.5 and abs(height) < 0.03
    world = floored(rig, floor)
    assert all(abs(camera.center_m[1] - 1.2) < 0.1 and camera.center_m[2] > 4.0 for camera in world.cameras)
    assert floor.figures["contacts"] > 20 and floor.figures["below_percent"] == 0.0
    assert 1.3 < floor.figures["highest_m"] < 1.6
    assert floor_verdict(rig, floor).grade is not Grade.FAIL


def test_nominal_heights_shift_it_and_do_not_tilt_it(walker: Performer) -> None:
    """What a foot's markers are assumed to be high is the floor's error, and within what it says of itself."""
    rig = in_left_frame(walker.rig)
    moments = walk_of(walker, rig, 0.3)
    heights = heights_of_set(walker.markers, body(1.75))
    floor = floor_from_walk(rig, moments, heights)
    exact = floor_from_walk(rig, moments, true_heights(walker, ("toe", "ankle")))
    assert np.degrees(np.arccos(np.clip(floor.up @ exact.up, -1.0, 1.0))) < 0.5
    assert errors(walker.rig, rig, floor, np.zeros(3))[0] < 1.5
    assert floor.height_sigma_m > heights.sigma_m


def test_reflections_in_the_floor_and_the_room_do_not_matter(walker: Performer) -> None:
    """Everything mirrored by the floor in a tenth of the moments, and two lamps."""
    rig = in_left_frame(walker.rig)
    rng = np.random.default_rng(7)
    R, t = walker.rig.left.rotation, walker.rig.left.translation
    lamps = np.array([[0.8, 0.02, -0.5], [-1.0, 1.9, -1.0]]) @ R.T + t
    moments = []
    for moment in walk_of(walker, rig, 0.3):
        points, C = moment.points_m, moment.covariance_m2
        mirrored = ((points - t) @ R * [1.0, -1.0, 1.0]) @ R.T + t
        extra = mirrored[: len(points) * int(rng.random() < 0.1)]
        more = np.concatenate([points, extra, lamps])
        moments.append(Moment(moment.t_s, more, np.concatenate([C, np.tile(1e-5 * np.eye(3), (len(more) - len(points), 1, 1))])))
    floor = floor_from_walk(rig, moments, true_heights(walker, ("toe", "ankle")))
    tilt, height = errors(walker.rig, rig, floor, np.zeros(3))
    assert tilt < 2.0 and abs(height) < 0.03
    assert floor.figures["below_percent"] > 3.0
    assert any("below the floor" in finding.text for finding in floor_verdict(rig, floor).findings)


def test_one_marker_a_foot() -> None:
    performer = performer_from_scene(replace(SCENE, markers="locomotion"))
    rig = in_left_frame(performer.rig)
    floor = floor_from_walk(rig, walk_of(performer, rig, 0.3), true_heights(performer, ("foot",)))
    tilt, height = errors(performer.rig, rig, floor, np.zeros(3))
    assert tilt < 1.5 and abs(height) < 0.03


def test_who_only_stands_tells_no_floor(walker: Performer) -> None:
    rig = in_left_frame(walker.rig)
    standing = [moment for moment in walk_of(walker, rig, 0.3) if moment.t_s < 1.4]
    with pytest.raises(CalibrationError, match="0 times a marker stood still and went on"):
        floor_from_walk(rig, standing, true_heights(walker, ("toe", "ankle")))


def test_nobody_there() -> None:
    performer = performer_from_scene(replace(SCENE, seconds=1.0))
    heights = true_heights(performer, ("toe", "ankle"))
    empty = [Moment(k / 30, np.zeros((0, 3)), np.zeros((0, 3, 3))) for k in range(60)]
    with pytest.raises(CalibrationError, match="0 times a marker stood still"):
        floor_from_walk(performer.rig, empty, heights)
    with pytest.raises(CalibrationError, match="0 times"):
        floor_from_walk(performer.rig, [], heights)
