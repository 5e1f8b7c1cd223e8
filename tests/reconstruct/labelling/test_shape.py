"""The shape of the body: labels that several exchanges lead to are found, each once and in the order of what they cost."""

import numpy as np
import pytest

from calibration.subject.subject import Subject
from capture.packets import Points
from capture.stereo.labels import ExpectedMarkers
from database.geometry.kinematics import local_markers
from reconstruct.labelling.shape import BodyShape, LabelCost, body_shape
from tests.support.people import person, walk

STEP_S = 0.2


@pytest.fixture(scope="module")
def subject() -> Subject:
    return person("boxing", 1)


@pytest.fixture(scope="module")
def walked(subject: Subject) -> np.ndarray:
    """Joints of a walk, (N, J, 3), without the root's rotation."""
    joints = np.array(walk(subject.skeleton, 3, speed=0.8).rotvec[:120])
    joints[:, 0] = 0.0
    return joints


@pytest.fixture(scope="module")
def shape(subject: Subject, walked: np.ndarray) -> BodyShape:
    return body_shape(subject, walked[:, 1:].reshape(len(walked), -1).astype(np.float32))


def cost_of(shape: BodyShape, subject: Subject, joints: np.ndarray) -> LabelCost:
    """Return the cost of labels of a pose, (J, 3), of which every marker is a point, in order, expected a step before."""
    before, now = local_markers(subject.skeleton, joints, subject.joint, subject.offset_m)
    n, none = len(now), np.zeros(0, np.int64)
    covariance = np.tile(1e-5 * np.eye(3), (n, 1, 1))
    points = Points(np.ascontiguousarray(now), covariance, np.tile(np.arange(n), (2, 1)), np.zeros(n), (none, none))
    expected = ExpectedMarkers(before, np.full(n, 0.05))
    return shape.cost(points, expected, before, np.ones(n, bool), STEP_S)


def test_right_labels_are_found_from_two_exchanges_away(shape: BodyShape, subject: Subject, walked: np.ndarray) -> None:
    cost, names = cost_of(shape, subject, walked[[50, 62]]), list(subject.markers.names)
    right = np.arange(len(names))
    wrong = right.copy()
    for kind in ("hand", "foot"):
        pair = [names.index(f"{side}_{kind}") for side in ("left", "right")]
        wrong[pair] = wrong[pair[::-1]]
    found = cost.others(wrong, 200.0)
    more = [by for by, _ in found]
    assert any((choice == right).all() for _, choice in found)
    assert more == sorted(more) and len({choice.tobytes() for _, choice in found}) == len(found)
    base = float(cost.of(wrong[None])[0])
    np.testing.assert_allclose([float(cost.of(choice[None])[0]) - base for _, choice in found], more, atol=1e-9)


def test_a_point_without_a_label_may_be_that_of_a_marker_without_a_point(
    shape: BodyShape, subject: Subject, walked: np.ndarray
) -> None:
    cost = cost_of(shape, subject, walked[[50, 52]])
    right = np.arange(len(subject.markers))
    for marker in right:
        without = np.where(right == marker, -1, right)
        found = cost.others(without, 0.0)
        assert any((choice == right).all() for _, choice in found), subject.markers.names[marker]


def test_no_label_twice_and_none_beyond_the_limit(shape: BodyShape, subject: Subject, walked: np.ndarray) -> None:
    cost = cost_of(shape, subject, walked[[50, 62]])
    right = np.arange(len(subject.markers))
    for by, choice in cost.others(right, 30.0):
        used = choice[choice >= 0]
        assert by < 30.0 and len(np.unique(used)) == len(used) and (choice != right).any()
