"""The root from the torso: exact when it is rigid, weakened but not thrown off by a missing or a wrong marker."""

import numpy as np
import pytest

from calibration.subject import Subject
from capture.packets import Floats
from database.kinematics import local_markers
from database.rotations import geodesic_rad, matrix_from_rotvec
from reconstruct.root import root_from_torso
from tests.people import bent_pose, marker_frame_of, person

R = matrix_from_rotvec([0.4, -1.1, 0.3])
T = np.array([1.2, 0.8, -2.0])
NEAR = (matrix_from_rotvec([0.06, -0.08, 0.05]) @ R, T + [0.05, -0.03, 0.06])  # 0.11 rad and 8 cm away


@pytest.fixture
def torso() -> tuple[Subject, Floats, np.ndarray]:
    """Give a performer with six torso markers, all markers relative to the root, and which belong to the torso."""
    subject = person("dark_room")
    local = local_markers(subject.skeleton, bent_pose(3, 0.2)[None], subject.joint, subject.offset_m)[0]
    return subject, local, subject.markers.torso


@pytest.mark.parametrize("predicted", [None, NEAR])
def test_exact_on_a_rigid_torso(torso: tuple[Subject, Floats, np.ndarray], predicted: tuple[Floats, Floats] | None) -> None:
    """Limb markers do not count, wherever they are."""
    _, local, mask = torso
    markers = local @ R.T + T
    markers[~mask] += 0.7
    found = root_from_torso(marker_frame_of(markers), local, mask, predicted)
    assert found is not None
    np.testing.assert_allclose(found[0], R, atol=1e-9)
    np.testing.assert_allclose(found[1], T, atol=1e-9)


@pytest.mark.parametrize("missing", range(6))
def test_one_missing_marker_is_stood_in_for(torso: tuple[Subject, Floats, np.ndarray], missing: int) -> None:
    """The stand-in weighs about 1 % of a seen marker, so a prediction 8 cm off shifts the root by millimetres."""
    _, local, mask = torso
    valid = np.ones(len(mask), bool)
    valid[np.flatnonzero(mask)[missing]] = False
    found = root_from_torso(marker_frame_of(local @ R.T + T, valid), local, mask, NEAR)
    assert found is not None
    assert geodesic_rad(found[0], R) < 0.01 and np.linalg.norm(found[1] - T) < 0.004


@pytest.mark.parametrize("wrong", range(6))
@pytest.mark.parametrize("side", range(4))
def test_a_marker_mislabelled_by_half_a_metre(torso: tuple[Subject, Floats, np.ndarray], wrong: int, side: int) -> None:
    """A plain least-squares fit goes up to 50 cm astray; measured over 240 of these: 2.0 cm at most."""
    _, local, mask = torso
    direction = np.random.default_rng(6 * side + wrong).normal(size=3)
    markers = local @ R.T + T
    markers[np.flatnonzero(mask)[wrong]] += 0.5 * direction / np.linalg.norm(direction)
    found = root_from_torso(marker_frame_of(markers), local, mask, NEAR)
    assert found is not None
    placed = local[mask] @ found[0].T + found[1]
    assert np.linalg.norm(placed - (local @ R.T + T)[mask], axis=1).max() < 0.03


def test_fewer_than_three_points(torso: tuple[Subject, Floats, np.ndarray]) -> None:
    _, local, mask = torso
    valid = np.zeros(len(mask), bool)
    valid[np.flatnonzero(mask)[:2]] = True
    valid |= ~mask
    assert root_from_torso(marker_frame_of(local, valid), local, mask, None) is None
    nothing = marker_frame_of(local, np.zeros(len(mask), bool))
    found = root_from_torso(nothing, local, mask, NEAR)
    assert found is not None
    np.testing.assert_allclose(found[0], NEAR[0], atol=1e-9)
    np.testing.assert_allclose(found[1], NEAR[1], atol=1e-9)
