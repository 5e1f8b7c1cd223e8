"""Joint limits: what a database keeps to, with a margin; minima clamped at a limit."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.arrays import Floats
from config.joints import JOINT_INDEX
from database.geometry.kinematics import local_markers
from reconstruct.models.local.gaussian import local_gaussian
from reconstruct.models.local.model import DOFS, FULL, FULL_SPAN, LocalModel
from reconstruct.models.local.pca import local_pca
from reconstruct.observations import observations_from_markers
from reconstruct.solve.energy import LIMIT_ROUNDS, ObservedCoordinates
from reconstruct.solve.limits import MARGIN_RAD, MARGIN_SHARE, SIGMA_RAD, Limits, limits_of
from reconstruct.solve.solver import FrameProblem, solve
from tests.reconstruct.solve.problems import PLACE, TURN, observed, problem
from tests.support.compiled import limit_examples
from tests.support.people import front_rig, marker_frame_of

WIDE = Limits(np.full(DOFS, -9.0), np.full(DOFS, 9.0))


def gaussian(seed: int = 0) -> LocalModel:
    """Return a local model of 30 poses."""
    poses = np.random.default_rng(seed).normal(0.0, 0.3, (30, DOFS))
    return local_gaussian(poses, np.ones(30), None, 0.01 * np.eye(DOFS), floor_rad=0.03, shrinkage=0.1)


def unseen(model: LocalModel) -> FrameProblem:
    """Return a frame without markers, whose minimum is the model's."""
    task = problem("3d", 3)
    frame = marker_frame_of(np.zeros((len(task.subject.markers), 3)), np.zeros(len(task.subject.markers), bool))
    seen = observations_from_markers(frame, front_rig(), np.full(len(frame.valid), 0.01))
    return replace(task.frame, model=model, observations=seen)


def lowest(model: LocalModel) -> Floats:
    """Return the pose of least energy, (D,)."""
    return np.asarray((model.mean + model.directions @ model.center)[1:].ravel())


def within(model: LocalModel, limits: Limits | None) -> Floats:
    """Return the pose that is solved for with limits, (D,)."""
    task = unseen(model)
    return solve(task, (task.root.rotation, task.root.position_m), limits=limits, max_iterations=30).joints[1:].ravel()


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
    np.testing.assert_array_equal(within(gaussian(), WIDE), within(gaussian(), None))


@limit_examples(20)
@given(st.integers(0, DOFS - 1), st.sampled_from([-0.5, 0.5]))
def test_the_overstepped_coordinate_is_clamped_at_its_limit(coordinate: int, over: float) -> None:
    model, low, high = gaussian(), WIDE.low.copy(), WIDE.high.copy()
    limit = lowest(model)[coordinate] - over
    (low if over < 0.0 else high)[coordinate] = limit
    # The least of the model's energy and (q_i - limit)^2 / (2 SIGMA_RAD^2), once for every minimum that oversteps.
    mean, P, stiff = model.mean[1:].ravel(), model.precision.copy(), (LIMIT_ROUNDS - 1) * SIGMA_RAD**-2.0
    pull = P @ model.center
    P[coordinate, coordinate] += stiff
    pull[coordinate] += stiff * (limit - mean[coordinate])
    found = within(model, Limits(low, high))
    np.testing.assert_allclose(found, mean + np.linalg.solve(P, pull), atol=1e-6)
    assert abs(found[coordinate] - limit) < 0.1 * abs(over)


def test_directions_of_the_paper_are_clamped_together() -> None:
    poses = np.random.default_rng(2).normal(0.0, 0.3, (12, DOFS))
    model = local_pca(poses, None, dimensions=5, smooth_sigma_rad=0.1, prior_weight=1.0)
    high = WIDE.high.copy()
    high[7] = lowest(model)[7] - 0.2
    assert within(model, Limits(WIDE.low, high))[7] < lowest(model)[7] - 0.1


@pytest.mark.kernels
@pytest.mark.parametrize("over", [None, "leftUpperArm", "head"])
def test_what_no_marker_tells_of_follows_from_the_others(over: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The minimum over the coordinates that markers tell of is that over all; with a limit overstepped on either side, too."""
    model, low = gaussian(4), WIDE.low.copy()
    task, rng, root, order = problem("3d", 5), np.random.default_rng(6), (TURN, PLACE), np.arange(DOFS)
    pose = (lowest(model) + rng.normal(0.0, 0.05, DOFS)).reshape(1, -1, 3)
    pose = np.concatenate([np.zeros((1, 1, 3)), pose], axis=1)
    world = local_markers(task.subject.skeleton, pose, task.subject.joint, task.subject.offset_m)[0] @ TURN.T + PLACE
    prior = replace(task.prior, rotation=TURN, position_m=PLACE)
    task = replace(task.frame, model=model, root=prior, observations=observed(world, "3d"))
    assert 0 < task.told.directions.shape[2] < DOFS
    if over is not None:
        row = 3 * (JOINT_INDEX[over] - 1) + 1
        low[row] = solve(task, root).joints[1:].ravel()[row] + 0.1
    limits = Limits(low, WIDE.high)
    found = solve(task, root, limits=limits, max_iterations=60)
    monkeypatch.setattr(FrameProblem, "told", ObservedCoordinates(order, FULL, FULL_SPAN))
    expected = solve(task, root, limits=limits, max_iterations=60)
    np.testing.assert_allclose(found.joints, expected.joints, atol=2e-3)
    np.testing.assert_allclose(found.rotation, expected.rotation, atol=1e-3)
    assert found.energies[-1] == pytest.approx(expected.energies[-1], rel=1e-3)
