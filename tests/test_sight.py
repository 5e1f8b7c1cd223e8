"""Lines of sight: by hand for a plain camera, the root they give against scipy's, and what happens without any."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import least_squares

from calibration.camera import Camera, Rig
from capture.labels import frame_of_view
from capture.packets import Floats, MarkerFrame, lone_pair
from database.rotations import geodesic_rad, matrix_from_rotvec
from reconstruct.sight import Sight, lines_of_sight, nearest_on_line, root_in_sight
from tests.people import blobs_of, front_rig, marker_frame_of

BODY_M = np.array(
    [[0.2, 0.5, 0.0], [-0.2, 0.5, 0.02], [0.0, 0.35, 0.15], [0.18, 0.0, 0.05], [-0.17, 0.02, 0.0], [0.1, -0.4, 0.1]]
)


def plain_rig() -> Rig:
    """Look along +z from x = 1, 500 px, centre at (320, 240)."""
    matrix = np.array([[500.0, 0.0, 320.0], [0.0, 500.0, 240.0], [0.0, 0.0, 1.0]])
    camera = Camera("one", (640, 480), matrix, np.zeros(5), np.eye(3), np.array([-1.0, 0.0, 0.0]))
    return Rig(camera, camera)


def seen_by_left(rig: Rig, points_m: Floats) -> MarkerFrame:
    """Give the frame in which the left camera alone sees points, in order."""
    pair = lone_pair(blobs_of(0, 3, rig.left.project(points_m), 0.5))
    return frame_of_view(pair, 0, np.arange(len(points_m)))


def test_a_line_of_sight_by_hand() -> None:
    """A point 3 to the right of, 4 below and 5 ahead of the camera is 300 and 400 px off the centre."""
    sight = lines_of_sight(seen_by_left(plain_rig(), np.array([[4.0, 4.0, 5.0], [1.0, 0.0, 2.0]])), plain_rig())
    assert sight.alone.all()
    assert sight.from_m[0] == pytest.approx([1.0, 0.0, 0.0])
    assert sight.direction[0] == pytest.approx(np.array([3.0, 4.0, 5.0]) / 50**0.5)
    assert sight.direction[1] == pytest.approx([0.0, 0.0, 1.0])
    assert sight.sigma_rad == pytest.approx(0.5 / 500.0)
    # (1, 3, 2) is 2 ahead of the camera along the second line, and 3 off it.
    assert nearest_on_line(sight, np.array([[4.0, 4.0, 5.0], [1.0, 3.0, 2.0]]))[1] == pytest.approx([1.0, 0.0, 2.0])


def test_triangulated_markers_are_not_alone_and_the_right_camera_counts() -> None:
    rig, n = front_rig(), len(BODY_M)
    frame = marker_frame_of(BODY_M)
    assert not lines_of_sight(frame, rig).alone.any()
    seen = np.zeros((2, n), bool)
    seen[1, 2] = True
    image = np.zeros((2, n, 2))
    image[1, 2] = rig.right.project(BODY_M[2])
    sight = lines_of_sight(replace(frame, valid=np.zeros(n, bool), seen=seen, image_px=image), rig)
    assert np.flatnonzero(sight.alone).tolist() == [2]
    assert sight.from_m[2] == pytest.approx(rig.right.center_m)
    assert nearest_on_line(sight, BODY_M)[2] == pytest.approx(BODY_M[2], abs=1e-6)
    assert not sight.direction[[0, 1, 3, 4, 5]].any()


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_the_root_is_found_from_one_view(seed: int) -> None:
    """Exact lines and a free root: the true one from 0.15 rad and 10 cm away, depth included."""
    rng = np.random.default_rng(seed)
    R, t = matrix_from_rotvec(rng.normal(0.0, 0.7, 3)), rng.normal(0.0, 0.3, 3) + [0.0, 0.9, 0.0]
    sight = lines_of_sight(seen_by_left(front_rig(), BODY_M @ R.T + t), front_rig())
    expected = (matrix_from_rotvec(rng.normal(0.0, 0.09, 3)) @ R, t + rng.normal(0.0, 0.06, 3))
    for _ in range(4):
        expected = root_in_sight(sight, np.ones(6, bool), BODY_M, expected, (50.0, 50.0))
    assert geodesic_rad(expected[0], R) < 1e-3
    assert expected[1] == pytest.approx(t, abs=2e-3)


def test_the_root_is_that_of_least_squares() -> None:
    """The expectation as surely as one marker is: at the end the gradient of the energy is small against that at the start."""
    rng = np.random.default_rng(5)
    R, t = matrix_from_rotvec([0.2, -0.4, 0.1]), np.array([0.1, 0.95, -0.2])
    sight = lines_of_sight(seen_by_left(front_rig(), BODY_M @ R.T + t + rng.normal(0.0, 0.01, (6, 3))), front_rig())
    R0, t0 = matrix_from_rotvec([0.03, -0.02, 0.04]) @ R, t + [0.02, -0.03, 0.05]
    sigmas, sigma_m = (0.1, 0.06), 0.02

    def residuals(x: Floats) -> Floats:
        place = BODY_M @ (matrix_from_rotvec(x[:3]) @ R0).T + t0 + x[3:]
        off = place - nearest_on_line(sight, place)
        far = np.einsum("mi,mi->m", sight.direction, place - sight.from_m)
        squared = (off**2).sum(axis=1) / (sigma_m**2 + (far * sight.sigma_rad) ** 2)
        return np.concatenate([np.sqrt(9.0 * np.log1p(squared / 9.0)), x[:3] / sigmas[0], x[3:] / sigmas[1]])

    best = least_squares(residuals, np.zeros(6), xtol=1e-12, ftol=1e-12).x
    found_R, found_t = root_in_sight(sight, np.ones(6, bool), BODY_M, (R0, t0), sigmas, sigma_m)
    assert geodesic_rad(found_R, matrix_from_rotvec(best[:3]) @ R0) < 2e-3
    assert found_t == pytest.approx(t0 + best[3:], abs=2e-3)
    assert np.linalg.norm(best[3:]) > 0.01  # there was something to find


def test_without_lines_the_expectation_stays() -> None:
    n = len(BODY_M)
    nothing = Sight(np.zeros(n, bool), np.zeros((n, 3)), np.zeros((n, 3)), np.zeros(n))
    R, t = root_in_sight(nothing, np.ones(n, bool), BODY_M, (np.eye(3), np.ones(3)), (0.1, 0.1))
    assert np.array_equal(R, np.eye(3)) and np.array_equal(t, np.ones(3))


def test_one_wrong_line_does_not_carry_the_root_off() -> None:
    rig, t = front_rig(), np.array([0.0, 0.9, 0.0])
    frame = seen_by_left(rig, np.vstack([BODY_M[:5] + t, BODY_M[5:] + t + [0.4, 0.0, 0.0]]))
    R, found = root_in_sight(lines_of_sight(frame, rig), np.ones(6, bool), BODY_M, (np.eye(3), t), (0.1, 0.06))
    assert np.linalg.norm(found - t) < 0.02 and geodesic_rad(R, np.eye(3)) < 0.06
