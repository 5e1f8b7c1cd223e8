"""The energy of a frame: against its formula, its derivatives against differences; the damped solution against numpy."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from database.geometry.kinematics import compute_local_markers
from tests.reconstruct.solve.problems import KINDS, N_W, PLACE, TURN, observed, problem


@pytest.mark.parametrize("kind", KINDS)
def test_energy_is_that_of_the_docstring(kind: str) -> None:
    task = problem(kind)
    for seed in range(3):
        x = np.concatenate([np.random.default_rng(seed).normal(0.0, 0.2, N_W + 3), PLACE])
        assert task.energy(x)[0] == pytest.approx(task.plain_energy(x), rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_gradient_against_central_differences(kind: str) -> None:
    """At d = 0, where the solver starts every frame, the gradient is exact; h = 1e-5 leaves an error of h^2 f''' / 6."""
    task = problem(kind, 1)
    x = np.concatenate([np.random.default_rng(4).normal(0.0, 0.2, N_W), np.zeros(3), PLACE + [0.02, 0.0, -0.03]])
    _, gradient, _ = task.energy(x)
    h = 1e-5
    expected = np.array([(task.plain_energy(x + h * e) - task.plain_energy(x - h * e)) / (2 * h) for e in np.eye(len(x))])
    assert np.abs(expected[N_W : N_W + 3]).min() > 1.0  # else the turn would not be tested
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("kind", KINDS)
def test_hessian_where_nothing_is_left_over(kind: str) -> None:
    """Gauss-Newton's Hessian is exact where the residuals vanish."""
    task = problem(kind, 2)
    x = np.concatenate([np.random.default_rng(5).normal(0.0, 0.2, N_W), np.zeros(3), PLACE])
    pose = task.model.mean + task.model.directions @ x[:N_W]
    world = (
        compute_local_markers(task.subject.skeleton, pose[None], task.subject.joint, task.subject.offset_m)[0] @ TURN.T + PLACE
    )
    task = task._replace(observations=observed(world, kind))
    _, _, lower = task.energy(x)
    numeric = approx_fprime(x, lambda y: task.energy(y)[1], 1e-6)
    scale = np.sqrt(np.outer(np.diag(lower), np.diag(lower)))
    # Moving d by 1e-6 leaves out J_l - I, of the order of 1e-6.
    assert np.abs((np.tril(lower) - np.tril(numeric)) / scale).max() < 1e-3
