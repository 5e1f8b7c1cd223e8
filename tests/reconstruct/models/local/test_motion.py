"""Motion of examples: borders of clips, moments, the scale of the drift, how motion bends."""

import numpy as np

from reconstruct.models.local.motion import (
    compute_bend_covariance,
    compute_drift_shape,
    compute_weighted_moments,
    find_example_ends,
    find_example_starts,
)
from reconstruct.search.examples import Examples


def test_moments_are_those_of_the_weights() -> None:
    mean, covariance = compute_weighted_moments(np.array([[0.0, 1.0], [4.0, 3.0]]), np.array([3.0, 1.0]))
    np.testing.assert_allclose(mean, [1.0, 1.5])
    np.testing.assert_allclose(covariance, [[3.0, 1.5], [1.5, 0.75]])


def test_clips_begin_and_end_where_their_numbers_change() -> None:
    clip = np.array([4, 4, 4, 7, 7], np.int32)
    starts = find_example_starts(Examples(np.zeros((5, 1), np.float32), np.zeros((5, 3), np.float32), clip, 60.0))
    np.testing.assert_array_equal(starts, [0, 0, 0, 3, 3])
    np.testing.assert_array_equal(find_example_ends(starts), [3, 3, 3, 5, 5])


def test_drift_is_one_on_average_and_follows_the_database() -> None:
    shape = compute_drift_shape(np.diag([0.5, 0.1, 0.0]))
    assert np.isclose(np.trace(shape), 3.0)
    np.testing.assert_allclose(np.diag(shape), np.array([0.5001, 0.1001, 0.0001]) * 3.0 / 0.6003)
    np.testing.assert_allclose(compute_drift_shape(np.zeros((2, 2))), np.eye(2))


def test_bends_are_those_inside_clips_and_a_jump_of_a_recording_hardly_counts() -> None:
    """Second differences of 0.02 by turns, of either sign; a clip's border and one flip of a recording do not widen them much."""
    n = 400
    pose = np.cumsum(np.where(np.arange(n) % 2 == 0, 0.01, -0.01)).astype(np.float32)[:, None]
    clip = np.repeat(np.array([0, 1], np.int32), n // 2)
    pose[n // 2 :] += 5.0
    calm = compute_bend_covariance(Examples(pose, np.zeros((n, 3), np.float32), clip, 60.0))
    np.testing.assert_allclose(calm[0, 0], 0.02**2, rtol=0.01)
    pose[50] += 3.0
    assert compute_bend_covariance(Examples(pose, np.zeros((n, 3), np.float32), clip, 60.0))[0, 0] < 2.0 * calm[0, 0]
