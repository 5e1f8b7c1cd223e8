"""Acquisition: labels from nothing, for random poses of a database, from any side, with clutter and gaps."""

import numpy as np
import pytest

from calibration.subject import Subject
from capture.packets import Floats
from database.builtin import body, builtin_clip
from database.kinematics import local_markers
from database.rotations import geodesic_rad, matrix_from_rotvec
from reconstruct.acquire import Acquirer, _best_pose
from reconstruct.examples import Examples, examples_for
from tests.people import person, t_pose, t_pose_clip, table_of, walk


@pytest.fixture(scope="module")
def worn() -> tuple[Subject, Examples]:
    """Give a performer and few examples: the tests run without the compiler too."""
    subject = person("dark_room")
    other = body(1.8)
    clips = [walk(other), builtin_clip("squat", other, 60.0, 1), builtin_clip("wave", other, 60.0, 2), t_pose_clip(other)]
    table = table_of(clips)
    thin = type(table)(np.ascontiguousarray(table.rotvec[::6]), 10.0, table.clip_start // 6)
    return subject, examples_for(subject, thin)


def in_world(subject: Subject, joints: Floats, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """Turn a pose about the vertical and put it somewhere: markers (M, 3), rotation, place."""
    R = matrix_from_rotvec([0.1, rng.uniform(-3.0, 3.0), -0.05])
    t = rng.uniform(-2.0, 2.0, 3)
    local = local_markers(subject.skeleton, joints[None], subject.joint, subject.offset_m)[0]
    return local @ R.T + t, R, t


@pytest.mark.parametrize("dropped", [0, 2])
def test_labels_of_poses_like_the_examples(worn: tuple[Subject, Examples], dropped: int) -> None:
    """Poses of the database, 5 mm noise, three points of clutter: at least 19 of 20 poses labelled without a fault."""
    subject, examples = worn
    acquirer = Acquirer(subject, examples)
    rng = np.random.default_rng(5 + dropped)
    right = 0
    for n in range(20):
        joints = np.zeros((23, 3))
        joints[1:] = examples.pose[int(rng.integers(len(examples)))].reshape(-1, 3)
        markers, R, t = in_world(subject, joints, rng)
        limbs = np.flatnonzero(~subject.markers.torso)
        gone = rng.choice(limbs, dropped, replace=False)
        seen = np.setdiff1d(np.arange(len(markers)), gone)
        clutter = t + rng.uniform(-1.5, 1.5, (3, 3))
        points = np.concatenate([markers[seen] + rng.normal(0.0, 0.005, (len(seen), 3)), clutter])
        order = rng.permutation(len(points))
        found = acquirer.acquire(np.ascontiguousarray(points[order]))
        assert found is not None, n
        label = np.where(found.point_of_marker >= 0, order[found.point_of_marker], -1)
        whole = np.array_equal(label[seen], np.arange(len(seen)))
        right += whole
        if whole:
            assert geodesic_rad(found.rotation, R) < 0.35 and np.linalg.norm(found.position_m - t) < 0.15
    assert right >= 19


def test_t_pose_is_an_example_even_if_the_database_has_none(worn: tuple[Subject, Examples]) -> None:
    subject, examples = worn
    rng = np.random.default_rng(1)
    markers, R, t = in_world(subject, t_pose(), rng)
    few = Examples(examples.pose[:3], examples.marker_m[:3], examples.clip[:3], examples.fps)
    found = Acquirer(subject, few).acquire(markers)
    assert found is not None and found.point_of_marker.tolist() == list(range(14))
    np.testing.assert_allclose(found.joints[1:], t_pose()[1:], atol=1e-12)
    assert geodesic_rad(found.rotation, R) < 1e-6 and np.linalg.norm(found.position_m - t) < 1e-6
    assert found.cost_m < 1e-6


def test_the_last_pose_is_a_candidate_too(worn: tuple[Subject, Examples]) -> None:
    """A pose far from three examples is found when it was the last one, and not otherwise."""
    subject, examples = worn
    few = Examples(examples.pose[:3], examples.marker_m[:3], examples.clip[:3], examples.fps)
    crouched = np.zeros((23, 3))
    crouched[1:] = examples.pose[np.argmax(np.abs(examples.pose).sum(axis=1))].reshape(-1, 3)
    markers, _, _ = in_world(subject, crouched, np.random.default_rng(2))
    local = local_markers(subject.skeleton, crouched[None], subject.joint, subject.offset_m)[0]
    acquirer = Acquirer(subject, few)
    found = acquirer.acquire(markers, crouched, local)
    assert found is not None and found.cost_m < 1e-6 and found.point_of_marker.tolist() == list(range(14))
    without = acquirer.acquire(markers)
    assert without is None or without.cost_m > 0.02


def test_too_few_points_or_no_body_give_nothing(worn: tuple[Subject, Examples]) -> None:
    subject, examples = worn
    acquirer = Acquirer(subject, examples)
    assert acquirer.acquire(np.zeros((0, 3))) is None
    assert acquirer.acquire(np.random.default_rng(0).uniform(-1.0, 1.0, (7, 3))) is None
    assert acquirer.acquire(np.random.default_rng(0).uniform(-30.0, 30.0, (20, 3))) is None


@pytest.mark.parametrize("seed", range(5))
def test_best_pose_against_numpy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, markers, gate2 = rng.normal(size=(6, 3)), rng.normal(size=(30, 4, 3)), 0.8
    d2 = np.sum((markers[:, :, None] - points) ** 2, axis=3).min(axis=2)
    total = np.minimum(d2, gate2).sum(axis=1)
    pose, cost = _best_pose(points, markers, gate2)
    assert pose == np.argmin(total) and cost == pytest.approx(total.min())


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_back_turned_to_the_cameras_is_found_if_it_fits_best(worn: tuple[Subject, Examples], side: float) -> None:
    subject, examples = worn
    markers, R, t = in_world(subject, t_pose(), np.random.default_rng(6))
    found = Acquirer(subject, examples, t + side * 4.0 * R[:, 2]).acquire(markers)
    assert found is not None and found.point_of_marker.tolist() == list(range(14)) and geodesic_rad(found.rotation, R) < 1e-6


def test_of_two_that_fit_alike_the_one_facing_the_cameras_is_taken(worn: tuple[Subject, Examples]) -> None:
    """Markers half way between a T-pose and the same turned by 180 degrees, its sides exchanged: the cameras decide."""
    subject, examples = worn
    rest = local_markers(subject.skeleton, t_pose()[None], subject.joint, subject.offset_m)[0]
    names = list(subject.markers.names)
    other = [names.index(n.replace("left", "@").replace("right", "left").replace("@", "right")) for n in names]
    between = 0.5 * (rest + rest[other] * [-1.0, 1.0, -1.0])
    for facing in (1.0, -1.0):
        found = Acquirer(subject, examples, np.array([0.0, 0.0, 4.0 * facing])).acquire(between)
        assert found is not None and found.rotation[2, 2] * facing > 0.8
