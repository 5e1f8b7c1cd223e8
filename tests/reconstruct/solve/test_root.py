"""The root: exact on a rigid torso, robust to a missing or wrong marker, and from rays."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import least_squares

from calibration.camera import Rig
from calibration.subject.subject import Subject
from capture.packets import MarkerFrame
from capture.stereo.marker_frames import frame_from_view
from config.arrays import Floats
from database.geometry.kinematics import compute_local_markers
from database.geometry.rotations import compute_geodesic_rad, matrix_from_rotvec
from reconstruct.observations import Rays, find_monocular_rays, find_nearest_on_rays
from reconstruct.solve.root import fit_root_to_rays, fit_root_to_torso
from tests.support.people import bent_pose, blobs_of, front_rig, lone_views, marker_frame_of, person

R = matrix_from_rotvec([0.4, -1.1, 0.3])
T = np.array([1.2, 0.8, -2.0])
NEAR = (matrix_from_rotvec([0.06, -0.08, 0.05]) @ R, T + [0.05, -0.03, 0.06])  # 0.11 rad and 8 cm away


@pytest.fixture
def torso() -> tuple[Subject, Floats, np.ndarray]:
    """Return a performer with six torso markers, all markers relative to the root, and which belong to the torso."""
    subject = person("dark_room")
    local = compute_local_markers(subject.skeleton, bent_pose(3, 0.2)[None], subject.joint, subject.offset_m)[0]
    return subject, local, subject.markers.torso


@pytest.mark.parametrize("predicted", [None, NEAR])
def test_exact_on_a_rigid_torso(torso: tuple[Subject, Floats, np.ndarray], predicted: tuple[Floats, Floats] | None) -> None:
    """Limb markers do not count, wherever they are."""
    _, local, mask = torso
    markers = local @ R.T + T
    markers[~mask] += 0.7
    found = fit_root_to_torso(marker_frame_of(markers), local, mask, predicted)
    assert found is not None
    np.testing.assert_allclose(found[0], R, atol=1e-9)
    np.testing.assert_allclose(found[1], T, atol=1e-9)


@pytest.mark.parametrize("missing", range(6))
def test_one_missing_marker_is_stood_in_for(torso: tuple[Subject, Floats, np.ndarray], missing: int) -> None:
    """The stand-in weighs about 1 % of a seen marker, so a prediction 8 cm off shifts the root by millimetres."""
    _, local, mask = torso
    valid = np.ones(len(mask), bool)
    valid[np.flatnonzero(mask)[missing]] = False
    found = fit_root_to_torso(marker_frame_of(local @ R.T + T, valid), local, mask, NEAR)
    assert found is not None
    assert compute_geodesic_rad(found[0], R) < 0.01 and np.linalg.norm(found[1] - T) < 0.004


@pytest.mark.parametrize("wrong", range(6))
@pytest.mark.parametrize("side", range(4))
def test_a_marker_mislabelled_by_half_a_metre(torso: tuple[Subject, Floats, np.ndarray], wrong: int, side: int) -> None:
    """A plain least-squares fit goes up to 50 cm astray; measured over 240 of these: 2.0 cm at most."""
    _, local, mask = torso
    direction = np.random.default_rng(6 * side + wrong).normal(size=3)
    markers = local @ R.T + T
    markers[np.flatnonzero(mask)[wrong]] += 0.5 * direction / np.linalg.norm(direction)
    found = fit_root_to_torso(marker_frame_of(markers), local, mask, NEAR)
    assert found is not None
    placed = local[mask] @ found[0].T + found[1]
    assert np.linalg.norm(placed - (local @ R.T + T)[mask], axis=1).max() < 0.03


def test_fewer_than_three_points(torso: tuple[Subject, Floats, np.ndarray]) -> None:
    _, local, mask = torso
    valid = np.zeros(len(mask), bool)
    valid[np.flatnonzero(mask)[:2]] = True
    valid |= ~mask
    assert fit_root_to_torso(marker_frame_of(local, valid), local, mask, None) is None
    nothing = marker_frame_of(local, np.zeros(len(mask), bool))
    found = fit_root_to_torso(nothing, local, mask, NEAR)
    assert found is not None
    np.testing.assert_allclose(found[0], NEAR[0], atol=1e-9)
    np.testing.assert_allclose(found[1], NEAR[1], atol=1e-9)


BODY_M = np.array(
    [[0.2, 0.5, 0.0], [-0.2, 0.5, 0.02], [0.0, 0.35, 0.15], [0.18, 0.0, 0.05], [-0.17, 0.02, 0.0], [0.1, -0.4, 0.1]]
)


def seen_by_left(rig: Rig, points_m: Floats) -> MarkerFrame:
    """Return the frame in which the left camera alone sees points, in order."""
    pair = lone_views(blobs_of(0, 3, rig.cameras[0].project(points_m), 0.5), len(rig))
    return frame_from_view(pair, 0, np.arange(len(points_m)))


@settings(max_examples=25)
@given(st.integers(0, 10_000))
def test_the_root_is_found_from_one_view(seed: int) -> None:
    """Exact lines and a free root: the true one from 0.15 rad and 10 cm away, depth included."""
    rng = np.random.default_rng(seed)
    R, t = matrix_from_rotvec(rng.normal(0.0, 0.7, 3)), rng.normal(0.0, 0.3, 3) + [0.0, 0.9, 0.0]
    rays = find_monocular_rays(seen_by_left(front_rig(), BODY_M @ R.T + t), front_rig())
    expected = (matrix_from_rotvec(rng.normal(0.0, 0.09, 3)) @ R, t + rng.normal(0.0, 0.06, 3))
    for _ in range(4):
        expected = fit_root_to_rays(rays, np.ones(6, bool), BODY_M, expected, (50.0, 50.0))
    assert compute_geodesic_rad(expected[0], R) < 1e-3
    assert expected[1] == pytest.approx(t, abs=2e-3)


def test_the_root_is_that_of_least_squares() -> None:
    """The expectation as surely as one marker is: at the end the gradient of the energy is small against that at the start."""
    rng = np.random.default_rng(5)
    R, t = matrix_from_rotvec([0.2, -0.4, 0.1]), np.array([0.1, 0.95, -0.2])
    rays = find_monocular_rays(seen_by_left(front_rig(), BODY_M @ R.T + t + rng.normal(0.0, 0.01, (6, 3))), front_rig())
    R0, t0 = matrix_from_rotvec([0.03, -0.02, 0.04]) @ R, t + [0.02, -0.03, 0.05]
    sigmas, sigma_m = (0.1, 0.06), 0.02

    def residuals(x: Floats) -> Floats:
        position = BODY_M @ (matrix_from_rotvec(x[:3]) @ R0).T + t0 + x[3:]
        across = position - find_nearest_on_rays(rays, position)
        depth = np.einsum("mi,mi->m", rays.direction, position - rays.from_m)
        squared = (across**2).sum(axis=1) / (sigma_m**2 + (depth * rays.sigma_rad) ** 2)
        return np.concatenate([np.sqrt(9.0 * np.log1p(squared / 9.0)), x[:3] / sigmas[0], x[3:] / sigmas[1]])

    best = least_squares(residuals, np.zeros(6), xtol=1e-12, ftol=1e-12).x
    found_R, found_t = fit_root_to_rays(rays, np.ones(6, bool), BODY_M, (R0, t0), sigmas, sigma_m)
    assert compute_geodesic_rad(found_R, matrix_from_rotvec(best[:3]) @ R0) < 2e-3
    assert found_t == pytest.approx(t0 + best[3:], abs=2e-3)
    assert np.linalg.norm(best[3:]) > 0.01  # there was something to find


def test_without_rays_the_expectation_stays() -> None:
    n = len(BODY_M)
    nothing = Rays(np.zeros(n, bool), np.zeros((n, 3)), np.zeros((n, 3)), np.zeros(n))
    R, t = fit_root_to_rays(nothing, np.ones(n, bool), BODY_M, (np.eye(3), np.ones(3)), (0.1, 0.1))
    assert np.array_equal(R, np.eye(3)) and np.array_equal(t, np.ones(3))


def test_one_wrong_ray_does_not_carry_the_root_off() -> None:
    rig, t = front_rig(), np.array([0.0, 0.9, 0.0])
    frame = seen_by_left(rig, np.vstack([BODY_M[:5] + t, BODY_M[5:] + t + [0.4, 0.0, 0.0]]))
    R, found = fit_root_to_rays(find_monocular_rays(frame, rig), np.ones(6, bool), BODY_M, (np.eye(3), t), (0.1, 0.06))
    assert np.linalg.norm(found - t) < 0.02 and compute_geodesic_rad(R, np.eye(3)) < 0.06
