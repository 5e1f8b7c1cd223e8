"""Motion: neighbours' steps by hand, clip borders, joining with constant velocity, the scale of the drift."""

import numpy as np

from reconstruct.models.local.motion import drift_shape, example_starts, expected_motion, steps_to, weighted_moments
from reconstruct.search.examples import Examples


def two_clips() -> Examples:
    """Return clips of three and two poses of one coordinate."""
    pose = np.array([[0.0], [0.1], [0.3], [5.0], [4.5]], np.float32)
    return Examples(pose, np.zeros((5, 3), np.float32), np.array([4, 4, 4, 7, 7], np.int32), 60.0)


def test_moments_are_those_of_the_weights() -> None:
    mean, covariance = weighted_moments(np.array([[0.0, 1.0], [4.0, 3.0]]), np.array([3.0, 1.0]))
    np.testing.assert_allclose(mean, [1.0, 1.5])
    np.testing.assert_allclose(covariance, [[3.0, 1.5], [1.5, 0.75]])


def test_steps_stay_inside_their_clip() -> None:
    table = two_clips()
    starts = example_starts(table)
    np.testing.assert_array_equal(starts, [0, 0, 0, 3, 3])
    chosen = np.array([4, 2, 3, 0, 1])
    steps = steps_to(table, starts, chosen, table.pose[chosen])
    np.testing.assert_allclose(steps.ravel(), [-0.5, 0.2, 0.0, 0.0, 0.1], atol=1e-6)


def test_half_the_way_is_the_neighbours() -> None:
    last, carried, steps = np.array([1.0, 2.0]), np.array([1.2, 2.0]), np.array([[0.0, 0.4], [0.2, 0.4]])
    drift = np.diag([0.01, 0.02])
    motion = expected_motion(last, carried, steps, np.ones(2), share=0.5, spread=10.0, drift=drift)
    # Neighbours moved by (0.1, 0.4) on average, constant velocity by (0.2, 0).
    np.testing.assert_allclose(motion.expected, [1.15, 2.2])
    np.testing.assert_allclose(motion.covariance, np.diag([10.0 * 0.01, 0.0]) + drift)


def test_drift_is_one_on_average_and_follows_the_database() -> None:
    shape = drift_shape(np.diag([0.5, 0.1, 0.0]))
    assert np.isclose(np.trace(shape), 3.0)
    np.testing.assert_allclose(np.diag(shape), np.array([0.5001, 0.1001, 0.0001]) * 3.0 / 0.6003)
    np.testing.assert_allclose(drift_shape(np.zeros((2, 2))), np.eye(2))
