"""The marker term against its formula, its gradient against differences."""

import numpy as np

from config.arrays import Floats
from reconstruct.solve.linearise import compute_posed_markers
from reconstruct.solve.markers import add_markers
from tests.reconstruct.solve.problems import N_W, PLACE, problem, robust

TASK = problem("mixed", 8)
X = np.concatenate([np.random.default_rng(8).normal(0.0, 0.3, N_W), np.zeros(3), PLACE + 0.02])


def term(x: Floats) -> tuple[float, Floats, Floats]:
    """Return energy, gradient and Hessian of the term alone."""
    A, g = np.zeros((len(x), len(x))), np.zeros(len(x))
    return add_markers(TASK.terms.markers, compute_posed_markers(x, TASK.terms.space, TASK.terms.body), A, g), g, A


def test_energy_of_what_is_triangulated() -> None:
    world = compute_posed_markers(X, TASK.terms.space, TASK.terms.body).world_m
    o = TASK.observations
    used = [m for m in range(len(world)) if o.root_info[m].any()]
    assert 0 < len(used) < len(world)
    residuals = [o.root_info[m] @ (world[m] - o.point_m[m]) for m in used]
    np.testing.assert_allclose(term(X)[0], sum(robust(e @ e) for e in residuals), rtol=1e-12)


def test_gradient_against_central_differences() -> None:
    h = 1e-5
    expected = np.array([(term(X + h * e)[0] - term(X - h * e)[0]) / (2 * h) for e in np.eye(len(X))])
    np.testing.assert_allclose(term(X)[1], expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())
