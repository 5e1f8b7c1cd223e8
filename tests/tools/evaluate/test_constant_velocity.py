"""What the last poses predict."""

import numpy as np
import pytest

from database.geometry.rotations import compute_geodesic_rad, matrix_from_rotvec
from reconstruct.body_state import BodyState
from tools.evaluate.constant_velocity import MotionHistory

MS = 1_000_000
TURN = np.array([0.02, 0.05, -0.03])
SOME = matrix_from_rotvec([0.9, -0.4, 0.2])


def moment(step: int, t_ns: int) -> BodyState:
    """Return a motion at constant speed."""
    joints = np.arange(69.0).reshape(23, 3) * 0.01 + 0.002 * step
    return BodyState(t_ns, joints, matrix_from_rotvec(step * TURN) @ SOME, np.array([1.0, 2.0, 3.0]) + 0.01 * step)


def test_nothing_known_predicts_nothing() -> None:
    assert MotionHistory().predict(0, 1.0) is None


def test_one_pose_predicts_itself() -> None:
    found = MotionHistory().then(moment(0, 0)).predict(40 * MS, 1.0)
    assert found is not None and found.t_ns == 40 * MS
    assert np.array_equal(found.joints, moment(0, 0).joints) and np.array_equal(found.position_m, [1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("t_ms", "gain", "steps"), [(40, 1.0, 1.0), (30, 1.0, 0.5), (40, 0.5, 0.5), (900, 1.0, 5.0), (10, 1.0, 0.0), (40, 0.0, 0.0)]
)
def test_constant_velocity_for_the_time_that_passes(t_ms: int, gain: float, steps: float) -> None:
    """Poses at 0 and 20 ms; a gap is followed for 100 ms at most, and time never runs back."""
    history = MotionHistory().then(moment(-5, -100 * MS)).then(moment(0, 0)).then(moment(1, 20 * MS))
    found = history.predict(t_ms * MS, gain)
    assert found is not None
    np.testing.assert_allclose(found.joints, moment(1, 0).joints + 0.002 * steps, atol=1e-12)
    np.testing.assert_allclose(found.position_m, np.array([1.0, 2.0, 3.0]) + 0.01 * (1 + steps), atol=1e-12)
    assert compute_geodesic_rad(found.rotation, matrix_from_rotvec((1 + steps) * TURN) @ SOME) < 1e-7


def test_velocity_is_per_second_whatever_the_intervals() -> None:
    """A step of 20 ms and two in 40 ms are one speed: the mean of both, whatever the share, is that speed."""
    history = MotionHistory().then(moment(0, 0), 0.3).then(moment(1, 20 * MS), 0.3).then(moment(3, 60 * MS), 0.3)
    found = history.predict(80 * MS)
    assert found is not None
    np.testing.assert_allclose(found.joints, moment(4, 0).joints, atol=1e-12)


def test_share_smooths_the_velocity() -> None:
    """At rest, then one step, then at rest: with a share of 0.25 the velocity is 1/4 and then 3/16 of the step."""
    history = MotionHistory()
    ahead = []
    for step, t_ms in ((0, 0), (0, 20), (1, 40), (1, 60)):
        history = history.then(moment(step, t_ms * MS), 0.25)
        found = history.predict((t_ms + 20) * MS)
        assert found is not None
        ahead.append((found.position_m[0] - moment(step, 0).position_m[0]) / 0.01)
    np.testing.assert_allclose(ahead, [0.0, 0.0, 0.25, 0.1875], atol=1e-9)


def test_two_poses_of_one_time_have_no_velocity() -> None:
    found = MotionHistory().then(moment(0, 5)).then(moment(1, 5)).predict(20 * MS, 1.0)
    assert found is not None and np.array_equal(found.joints, moment(1, 0).joints)
