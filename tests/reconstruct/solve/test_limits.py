"""Joint limits: what a database keeps to, with a margin; models clamped at a limit."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from config.joints import N_JOINTS
from reconstruct.models.local.gaussian import local_gaussian
from reconstruct.models.local.model import DOFS, LocalModel
from reconstruct.models.local.pca import local_pca
from reconstruct.solve.limits import MARGIN_RAD, MARGIN_SHARE, Limits, clamped, limits_of

WIDE = Limits(np.full(DOFS, -9.0), np.full(DOFS, 9.0))


def gaussian(seed: int = 0) -> LocalModel:
    """Return a local model of 30 poses."""
    poses = np.random.default_rng(seed).normal(0.0, 0.3, (30, DOFS))
    return local_gaussian(poses, np.ones(30), None, 0.01 * np.eye(DOFS), floor_rad=0.03, shrinkage=0.1)


def joints_with(coordinate: int, value: float) -> np.ndarray:
    """Return a pose that is zero but for one coordinate."""
    joints = np.zeros((N_JOINTS, 3))
    joints[1:].reshape(-1)[coordinate] = value
    return joints


def lowest(model: LocalModel) -> np.ndarray:
    """Return the pose of least energy, (D,)."""
    return (model.mean + model.directions @ model.center)[1:].ravel()


def test_limits_leave_out_what_is_rare() -> None:
    poses = np.tile(np.linspace(-1.0, 3.0, 4001, dtype=np.float32)[:, None], (1, 2))
    poses[0, 0] = -30.0  # one flip in 4001 poses
    limits = limits_of(poses)
    margin = MARGIN_RAD + MARGIN_SHARE * 4.0
    np.testing.assert_allclose(limits.low, -1.0 - margin, atol=0.01)
    np.testing.assert_allclose(limits.high, 3.0 + margin, atol=0.01)
    still = limits_of(np.full((7, 1), 0.4, np.float32))
    assert np.isneginf(still.low).all() and np.isposinf(still.high).all()


def test_a_pose_within_its_limits_changes_nothing() -> None:
    assert clamped(gaussian(), joints_with(5, 8.9), WIDE) is None


@given(st.integers(0, DOFS - 1), st.sampled_from([-0.5, 0.5]))
def test_the_overstepped_coordinate_is_clamped_at_its_limit(coordinate: int, limit: float) -> None:
    low, high = WIDE.low.copy(), WIDE.high.copy()
    (low if limit < 0 else high)[coordinate] = limit
    model = gaussian()
    stiffer = clamped(model, joints_with(coordinate, 3.0 * limit), Limits(low, high))
    assert stiffer is not None
    assert abs(lowest(stiffer)[coordinate] - limit) < 0.05 < abs(lowest(model)[coordinate] - limit)
    # What the model knows of that coordinate is all that changes in its precision.
    added = stiffer.precision - model.precision
    assert np.count_nonzero(np.abs(added) > 1e-9) == 1 and added[coordinate, coordinate] > 0.0


def test_directions_of_the_paper_are_clamped_together() -> None:
    poses = np.random.default_rng(2).normal(0.0, 0.3, (12, DOFS))
    model = local_pca(poses, None, dimensions=5, smooth_sigma_rad=0.1, prior_weight=1.0)
    high = WIDE.high.copy()
    high[7] = lowest(model)[7] - 0.2
    stiffer = clamped(model, joints_with(7, 1.0), Limits(WIDE.low, high))
    assert stiffer is not None and lowest(stiffer)[7] < lowest(model)[7] - 0.1
    assert np.linalg.eigvalsh(stiffer.precision).min() > 0.0
