"""Planes through points: by hand, against the truth, against what their covariance promises."""

import numpy as np

from calibration.floor.plane_fit import compute_planes_through, fit_plane

UP = np.array([0.0, 1.0, 0.0])


def test_a_plane_by_hand() -> None:
    """y = 2 + z / 10: normal (0, 10, -1) / sqrt(101), height of the origin below it 20 / sqrt(101)."""
    points = np.array([[0.0, 2.0, 0.0], [1.0, 2.0, 0.0], [0.0, 2.1, 1.0], [3.0, 1.8, -2.0]])
    plane = fit_plane(points, np.zeros((4, 3, 3)), UP)
    np.testing.assert_allclose(plane.up, np.array([0.0, 10.0, -1.0]) / np.sqrt(101.0), atol=1e-6)
    assert abs(plane.offset_m - 20.0 / np.sqrt(101.0)) < 1e-6
    np.testing.assert_allclose(plane.heights_m(points), 0.0, atol=1e-6)
    near = plane.nearest(np.zeros(3))
    np.testing.assert_allclose(near, plane.up * 20.0 / np.sqrt(101.0), atol=1e-6)


def test_heights_that_are_known_are_taken_off() -> None:
    points = np.array([[0.0, 0.1, 0.0], [2.0, 0.1, 0.0], [0.0, 0.04, 2.0], [2.0, 0.04, 2.5]])
    plane = fit_plane(points, np.zeros((4, 3, 3)), UP, np.array([0.1, 0.1, 0.04, 0.04]))
    np.testing.assert_allclose(plane.up, UP, atol=1e-9)
    assert abs(plane.offset_m) < 1e-9


def test_a_far_point_does_not_bend_the_plane() -> None:
    rng = np.random.default_rng(3)
    points = np.column_stack([rng.uniform(-1, 1, 20), rng.normal(0.0, 0.001, 20), rng.uniform(-1, 1, 20)])
    points[7, 1] = 0.4
    plane = fit_plane(points, np.zeros((20, 3, 3)), UP, sigma_m=0.001)
    assert np.degrees(np.arccos(plane.up[1])) < 0.1 and plane.weight[7] < 0.01
    plain = fit_plane(points, np.zeros((20, 3, 3)), UP, sigma_m=0.001, robust=False)
    assert np.degrees(np.arccos(plain.up[1])) > 0.5  # which is why


def test_covariance_is_what_noise_makes_of_it() -> None:
    """The scatter of 150 fits is what each of them says of itself."""
    rng = np.random.default_rng(5)
    flat = np.column_stack([rng.uniform(-1.0, 1.0, 12), np.zeros(12), rng.uniform(-0.2, 0.3, 12)])
    C = np.tile(np.diag([1e-6, 9e-6, 4e-6]), (12, 1, 1))
    tilts, heights, at = [], [], np.array([0.5, 0.0, 0.5])
    for _ in range(150):
        noisy = flat + rng.normal(size=(12, 3)) * [1e-3, 3e-3, 2e-3]
        plane = fit_plane(noisy, C, UP, sigma_m=1e-6, robust=False)
        tilts.append(plane.up)
        heights.append(plane.heights_m(at))
    expected = fit_plane(flat, C, UP, sigma_m=1e-6, robust=False)
    worst = np.sqrt(np.linalg.eigvalsh(np.cov(np.array(tilts).T))[-1])
    assert 0.8 < expected.tilt_sigma_rad / worst < 1.25
    assert 0.8 < expected.height_sigma_m(at) / np.std(heights) < 1.25


def test_planes_through_three_points() -> None:
    points = np.array([[0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [2.0, 1.0, 0.0], [0.0, 3.0, 0.0]])
    level = compute_planes_through(points, np.array([[0, 1, 2], [2, 1, 0]]), UP, 0.5)
    np.testing.assert_allclose(level[0], [UP, UP], atol=1e-12)  # whichever way round the points are taken
    np.testing.assert_allclose(level[1], [1.0, 1.0])
    assert len(compute_planes_through(points, np.array([[0, 1, 3]]), UP, 0.5)[0]) == 0  # on a line
    assert len(compute_planes_through(points, np.array([[0, 1, 4]]), UP, 0.5)[0]) == 0  # a wall
