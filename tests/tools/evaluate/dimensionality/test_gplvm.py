"""The latent variable model: its gradients against differences, its start by hand, a curve it must unroll."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from config.arrays import Floats
from tools.evaluate.dimensionality.gplvm import learn, objective, reconstructed


def arc(n: int, seed: int = 0) -> tuple[Floats, Floats]:
    """Return angles and the points of three quarters of a circle in a plane of four dimensions."""
    rng = np.random.default_rng(seed)
    plane = np.linalg.qr(rng.normal(size=(4, 2)))[0]
    angle = np.linspace(0.0, 1.5 * np.pi, n)
    return angle, np.column_stack([np.cos(angle), np.sin(angle)]) @ plane.T + [0.3, -1.0, 0.2, 2.0]


def test_objective_of_two_points_by_hand() -> None:
    # Far apart, K = (a + 1/b) I: L = D/2 ln|K| + |Y|^2 / (2 (a + 1/b)) + |X|^2 / 2 + ln a + ln b + ln g.
    a, b, g = 1.5, 2.0, 3.0
    Y = np.array([[1.0, -2.0, 0.5], [0.3, 0.4, 0.0]])
    x = np.array([-10.0, 10.0, *np.log([a, b, g])])
    expected = 1.5 * 2.0 * np.log(2.0) + (1.0 + 4.0 + 0.25 + 0.09 + 0.16) / 4.0 + 100.0 + np.log(a * b * g)
    assert objective(x, Y, 1)[0] == pytest.approx(expected)


@pytest.mark.parametrize("width", [1, 3])
def test_gradient_equals_differences(width: int) -> None:
    rng = np.random.default_rng(width)
    Y = rng.normal(size=(7, 5))
    x = np.concatenate([rng.normal(size=7 * width), np.log([1.3, 4.0, 0.7])])

    def value(at: Floats) -> float:
        return objective(at, Y, width)[0]

    numeric = approx_fprime(x, value, 1e-7)
    np.testing.assert_allclose(objective(x, Y, width)[1], numeric, rtol=1e-4, atol=1e-4)


def test_unrolls_an_arc_that_one_principal_component_cannot() -> None:
    _, points = arc(41)
    model = learn(points[::2], 1, steps=200)
    unseen = points[1::2]
    error = np.array([np.linalg.norm(reconstructed(model, point) - point) for point in unseen])
    centred = points - points.mean(axis=0)
    residual2 = np.linalg.svd(centred, compute_uv=False)[1] ** 2 / len(points)
    assert np.sqrt((error**2).mean()) < 0.2 * np.sqrt(residual2)
