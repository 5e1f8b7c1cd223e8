"""The view term against the camera model, its gradient against differences; what is behind a camera."""

import numpy as np
import pytest

from config.arrays import Floats
from reconstruct.solve.linearise import compute_posed_markers
from reconstruct.solve.views import MIN_DEPTH_M, add_views, compute_image_residual
from tests.reconstruct.solve.problems import N_W, PLACE, problem, robust
from tests.support.people import front_rig

TASK = problem("2d", 9)
X = np.concatenate([np.random.default_rng(9).normal(0.0, 0.3, N_W), np.zeros(3), PLACE + 0.02])


def term(x: Floats) -> tuple[float, Floats]:
    """Return energy and gradient of the term alone."""
    A, g = np.zeros((len(x), len(x))), np.zeros(len(x))
    return add_views(TASK.terms.views, compute_posed_markers(x, TASK.terms.space, TASK.terms.body), A, g), g


@pytest.mark.parametrize("camera", [0, 1])
def test_residual_in_the_ideal_image(camera: int) -> None:
    """Ideal points are those of the camera without its lens, normalised."""
    point, e, D = np.array([0.3, 1.4, -0.2]), np.zeros(3), np.zeros((3, 3))
    view, ideal = TASK.terms.views, np.array([0.1, -0.05])
    assert compute_image_residual(view, camera, point, ideal, e, D)
    device = front_rig().cameras[camera]
    x, y, z = device.rotation @ point + device.translation
    np.testing.assert_allclose(e[:2], device.focal_px * (np.array([x / z, y / z]) - ideal), rtol=1e-12)
    for i, step in enumerate(1e-6 * np.eye(3)):
        ahead, back = np.zeros(3), np.zeros(3)
        compute_image_residual(view, camera, point + step, ideal, ahead, np.zeros((3, 3)))
        compute_image_residual(view, camera, point - step, ideal, back, np.zeros((3, 3)))
        np.testing.assert_allclose(D[:2, i], (ahead - back)[:2] / 2e-6, rtol=1e-6, atol=1e-4)
    behind = device.rotation.T @ (np.array([0.0, 0.0, 0.9 * MIN_DEPTH_M]) - device.translation)
    assert not compute_image_residual(view, camera, behind, ideal, e, D)


def test_energy_of_what_one_camera_sees() -> None:
    world, o = compute_posed_markers(X, TASK.terms.space, TASK.terms.body).world_m, TASK.observations
    expected = 0.0
    for c, m in zip(*np.nonzero(o.weight_px), strict=True):
        e, D = np.zeros(3), np.zeros((3, 3))
        assert compute_image_residual(TASK.terms.views, int(c), world[m], o.ideal[c, m], e, D)
        expected += robust(o.weight_px[c, m] * (e[:2] @ e[:2]))
    assert expected > 0.0
    np.testing.assert_allclose(term(X)[0], expected, rtol=1e-12)


def test_gradient_against_central_differences() -> None:
    h = 1e-5
    expected = np.array([(term(X + h * e)[0] - term(X - h * e)[0]) / (2 * h) for e in np.eye(len(X))])
    np.testing.assert_allclose(term(X)[1], expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())
