"""The map of a plane to a picture against maps that are known, and points that do not tell one."""

import numpy as np
import pytest

from calibration.homography import homography, homography_if_told


def test_a_homography_takes_the_plane_to_the_picture() -> None:
    H = np.array([[1.2, 0.1, 30.0], [-0.2, 0.9, 50.0], [3e-4, -2e-4, 1.0]])
    points = np.random.default_rng(1).uniform(0.0, 400.0, (12, 2))
    image = np.column_stack([points, np.ones(12)]) @ H.T
    px = image[:, :2] / image[:, 2:]
    weight = np.ones(12)
    px[4] += 90.0
    weight[4] = 0.0
    found = homography(points, px, weight)
    np.testing.assert_allclose(found / found[2, 2], H, rtol=1e-6, atol=1e-9)


def test_five_points_tell_a_map_and_a_line_does_not() -> None:
    plane = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [0.0, 1.0], [1.0, 0.5]])
    H = np.array([[1.1, 0.2, 3.0], [-0.1, 0.9, 1.0], [0.05, -0.02, 1.0]])
    image = np.column_stack([plane, np.ones(5)]) @ H.T
    found = homography_if_told(plane, image[:, :2] / image[:, 2:])
    assert found is not None
    assert found / found[2, 2] == pytest.approx(H, abs=1e-9)
    line = np.column_stack([np.arange(6.0), np.zeros(6)])
    assert homography_if_told(line, line + [0.0, 1.0]) is None
    aside = np.vstack([line, [2.0, 3.0]])  # one point beside a line leaves two numbers open
    assert homography_if_told(aside, aside @ [[1.0, 0.2], [0.0, 1.1]]) is None
