"""Joint limits: what a database keeps to, with a margin; poses held at a limit."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from config.arrays import Floats
from reconstruct.models.local.gaussian import fit_local_gaussian
from reconstruct.models.local.model import DOFS, LocalModel
from reconstruct.models.local.pca import fit_local_pca
from reconstruct.observations import observations_from_markers
from reconstruct.solve.limits import MARGIN_RAD, MARGIN_SHARE, NO_LIMITS, SIGMA_RAD, Limits, compute_limits
from reconstruct.solve.solver import FrameProblem, solve_pose
from tests.reconstruct.solve.problems import problem
from tests.support.compiled import limit_examples
from tests.support.people import front_rig, marker_frame_of

WIDE = Limits(np.full(DOFS, -9.0), np.full(DOFS, 9.0))


def gaussian(seed: int = 0) -> LocalModel:
    """Return a local model of 30 poses."""
    poses = np.random.default_rng(seed).normal(0.0, 0.3, (30, DOFS))
    return fit_local_gaussian(poses, np.ones(30), 0.01 * np.eye(DOFS), floor_rad=0.03, shrinkage=0.1)


def unseen(model: LocalModel) -> FrameProblem:
    """Return a frame without markers, whose minimum is the model's."""
    task = problem("3d", 3)
    frame = marker_frame_of(np.zeros((len(task.subject.markers), 3)), np.zeros(len(task.subject.markers), bool))
    seen = observations_from_markers(frame, front_rig(), np.full(len(frame.valid), 0.01))
    return replace(task.frame, model=model, observations=seen)


def lowest(model: LocalModel) -> Floats:
    """Return the pose of least energy, (D,)."""
    return np.asarray((model.mean + model.directions @ model.center)[1:].ravel())


def within(model: LocalModel, limits: Limits) -> Floats:
    """Return the pose that is solved for with limits, (D,)."""
    task = replace(unseen(model), limits=limits)
    return solve_pose(task, (task.root.rotation, task.root.position_m), max_iterations=30).joints[1:].ravel()


def test_limits_leave_out_what_is_rare() -> None:
    poses = np.tile(np.linspace(-1.0, 3.0, 4001, dtype=np.float32)[:, None], (1, 2))
    poses[0, 0] = -30.0  # one flip in 4001 poses
    limits = compute_limits(poses)
    margin = MARGIN_RAD + MARGIN_SHARE * 4.0
    np.testing.assert_allclose(limits.low, -1.0 - margin, atol=0.01)
    np.testing.assert_allclose(limits.high, 3.0 + margin, atol=0.01)
    still = compute_limits(np.full((7, 1), 0.4, np.float32))
    assert np.isneginf(still.low).all() and np.isposinf(still.high).all()


def test_a_pose_within_its_limits_changes_nothing() -> None:
    np.testing.assert_array_equal(within(gaussian(), WIDE), within(gaussian(), NO_LIMITS))


@limit_examples(20)
@given(st.integers(0, DOFS - 1), st.sampled_from([-0.5, 0.5]))
def test_the_overstepped_coordinate_is_clamped_at_its_limit(coordinate: int, over: float) -> None:
    model, low, high = gaussian(), WIDE.low.copy(), WIDE.high.copy()
    limit = lowest(model)[coordinate] - over
    (low if over < 0.0 else high)[coordinate] = limit
    # The least of the model's energy and (q_i - limit)^2 / (2 SIGMA_RAD^2).
    mean, P, stiff = model.mean[1:].ravel(), model.precision.copy(), SIGMA_RAD**-2.0
    pull = P @ model.center
    P[coordinate, coordinate] += stiff
    pull[coordinate] += stiff * (limit - mean[coordinate])
    found = within(model, Limits(low, high))
    np.testing.assert_allclose(found, mean + np.linalg.solve(P, pull), atol=1e-3)
    assert abs(found[coordinate] - limit) < 0.1 * abs(over)


def test_directions_of_the_paper_are_clamped_together() -> None:
    poses = np.random.default_rng(2).normal(0.0, 0.3, (12, DOFS))
    model = fit_local_pca(poses, None, dimensions=5, smooth_sigma_rad=0.1)
    high = WIDE.high.copy()
    high[7] = lowest(model)[7] - 0.2
    assert within(model, Limits(WIDE.low, high))[7] < lowest(model)[7] - 0.1
