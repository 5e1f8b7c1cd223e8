"""What the last two poses predict."""

import numpy as np
import pytest

from database.rotations import geodesic_rad, matrix_from_rotvec
from reconstruct.history import History, Moment

MS = 1_000_000
TURN = np.array([0.02, 0.05, -0.03])
SOME = matrix_from_rotvec([0.9, -0.4, 0.2])


def moment(step: int, t_ns: int) -> Moment:
    """Give a motion at constant speed."""
    joints = np.arange(69.0).reshape(23, 3) * 0.01 + 0.002 * step
    return Moment(t_ns, joints, matrix_from_rotvec(step * TURN) @ SOME, np.array([1.0, 2.0, 3.0]) + 0.01 * step)


def test_nothing_known_predicts_nothing() -> None:
    assert History().predict(0, 1.0) is None


def test_one_pose_predicts_itself() -> None:
    found = History().then(moment(0, 0)).predict(40 * MS, 1.0)
    assert found is not None and found.t_ns == 40 * MS
    assert np.array_equal(found.joints, moment(0, 0).joints) and np.array_equal(found.position_m, [1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("t_ms", "gain", "steps"), [(40, 1.0, 1.0), (30, 1.0, 0.5), (40, 0.5, 0.5), (900, 1.0, 3.0), (10, 1.0, 0.0)]
)
def test_constant_velocity_scaled_by_the_interval(t_ms: int, gain: float, steps: float) -> None:
    """Poses at 0 and 20 ms; a gap is followed for three steps at most, and time never runs back."""
    history = History().then(moment(-5, -20 * MS)).then(moment(0, 0)).then(moment(1, 20 * MS))
    found = history.predict(t_ms * MS, gain)
    assert found is not None
    np.testing.assert_allclose(found.joints, moment(1, 0).joints + 0.002 * steps, atol=1e-12)
    np.testing.assert_allclose(found.position_m, np.array([1.0, 2.0, 3.0]) + 0.01 * (1 + steps), atol=1e-12)
    assert geodesic_rad(found.rotation, matrix_from_rotvec((1 + steps) * TURN) @ SOME) < 1e-7


def test_two_poses_of_one_time_have_no_velocity() -> None:
    found = History().then(moment(0, 5)).then(moment(1, 5)).predict(20 * MS, 1.0)
    assert found is not None and np.array_equal(found.joints, moment(1, 0).joints)
