"""The terms of the energy, each alone: against its formula, its gradient against differences; what is behind a camera; props."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from calibration.subject.props import find_props
from calibration.subject.subject import Subject
from config.arrays import Floats
from config.markers import read_marker_set
from reconstruct.models.local.model import Quadratic
from reconstruct.solve.grips import SIGMA_M, add_grips, build_grips
from reconstruct.solve.linearise import PosedMarkers, compute_posed_markers
from reconstruct.solve.markers import add_markers
from reconstruct.solve.prior import add_prior
from reconstruct.solve.solver import FrameProblem, solve_pose
from reconstruct.solve.views import MIN_DEPTH_M, add_views, compute_image_residual
from tests.reconstruct.solve.problems import N_W, PLACE, problem, robust
from tests.support.people import front_rig

MIXED, VIEWED = problem("mixed", 8), problem("2d", 9)
KENDO = read_marker_set("kendo")
X = np.concatenate([np.random.default_rng(8).normal(0.0, 0.3, N_W), np.zeros(3), PLACE + 0.02])


def swordsman(behind_m: float) -> Subject:
    """Return the performer of the problem with a sword."""
    markers = replace(KENDO, grip_m=np.where(np.array(KENDO.names) == "sword", behind_m, np.nan))
    return Subject("armed", MIXED.subject.skeleton, markers, markers.offset_m, np.zeros(len(markers)))


FRAME = replace(MIXED.frame, grips=build_grips(find_props(swordsman(0.25))))
TERMS = FRAME.energy(MIXED.root[0])

ADDED: dict[str, Callable[[PosedMarkers, Floats, Floats], float]] = {
    "markers": lambda posed, A, g: add_markers(MIXED.terms.markers, posed, A, g),
    "views": lambda posed, A, g: add_views(VIEWED.terms.views, posed, A, g),
    "grips": lambda posed, A, g: add_grips(TERMS.grips, posed, A, g),
}


def posed_at(name: str, x: Floats) -> PosedMarkers:
    """Return the markers of a term's problem."""
    terms = {"markers": MIXED.terms, "views": VIEWED.terms, "grips": TERMS}[name]
    return compute_posed_markers(x, terms.space, terms.body)


def term(name: str, x: Floats) -> tuple[float, Floats]:
    """Return energy and gradient of a term alone."""
    A, g = np.zeros((len(x), len(x))), np.zeros(len(x))
    return ADDED[name](posed_at(name, x), A, g), g


@pytest.mark.parametrize("name", ADDED)
def test_gradient_against_central_differences(name: str) -> None:
    h = 1e-5
    expected = np.array([(term(name, X + h * e)[0] - term(name, X - h * e)[0]) / (2 * h) for e in np.eye(len(X))])
    np.testing.assert_allclose(term(name, X)[1], expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


def test_energy_of_what_is_triangulated() -> None:
    world, o = posed_at("markers", X).world_m, MIXED.observations
    used = [m for m in range(len(world)) if o.root_info[m].any()]
    assert 0 < len(used) < len(world)
    residuals = [o.root_info[m] @ (world[m] - o.point_m[m]) for m in used]
    np.testing.assert_allclose(term("markers", X)[0], sum(robust(e @ e) for e in residuals), rtol=1e-12)


def test_energy_of_what_one_camera_sees() -> None:
    world, o = posed_at("views", X).world_m, VIEWED.observations
    expected = 0.0
    for c, m in zip(*np.nonzero(o.weight_px), strict=True):
        e, D = np.zeros(3), np.zeros((3, 3))
        assert compute_image_residual(VIEWED.terms.views, int(c), world[m], o.ideal[c, m], e, D)
        expected += robust(o.weight_px[c, m] * (e[:2] @ e[:2]))
    assert expected > 0.0
    np.testing.assert_allclose(term("views", X)[0], expected, rtol=1e-12)


@pytest.mark.parametrize("camera", [0, 1])
def test_residual_in_the_ideal_image(camera: int) -> None:
    """Ideal points are those of the camera without its lens, normalised."""
    point, e, D = np.array([0.3, 1.4, -0.2]), np.zeros(3), np.zeros((3, 3))
    view, ideal = VIEWED.terms.views, np.array([0.1, -0.05])
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


def test_energy_of_the_second_hand_beside_its_place() -> None:
    held, palm = posed_at("grips", X).world_m[-2:]
    apart = (held - palm) / SIGMA_M
    np.testing.assert_allclose(term("grips", X)[0], robust(apart @ apart), rtol=1e-12)


def test_hands_come_together() -> None:
    def find_gap_m(frame: FrameProblem) -> float:
        """Return how far the second palm is from its place in the solved pose."""
        solved = solve_pose(frame, MIXED.root, max_iterations=30)
        w = MIXED.model.directions[1:].reshape(-1, N_W).T @ (solved.joints - MIXED.model.mean)[1:].ravel()
        x = np.concatenate([w, np.zeros(3), solved.position_m])
        terms = FRAME.energy(solved.rotation)
        held, palm = compute_posed_markers(x, terms.space, terms.body).world_m[-2:]
        return float(np.linalg.norm(held - palm))

    assert find_gap_m(FRAME) < find_gap_m(MIXED.frame)


def test_one_hand_has_no_grip() -> None:
    assert len(find_props(swordsman(0.0))) == 1 and not len(build_grips(find_props(swordsman(0.0))).joint)


def test_what_is_known_before_is_a_quadratic() -> None:
    """Of the coordinates alone, and of the root as well; what it says nothing of is left as it is."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=10)
    for n in (4, 10):
        B, center = rng.normal(size=(n, n)), rng.normal(size=n)
        P, w = B @ B.T, x[:n] - center
        A, g = np.zeros((10, 10)), np.zeros(10)
        np.testing.assert_allclose(add_prior(Quadratic(center, P), x, A, g), 0.5 * w @ P @ w, rtol=1e-12)
        np.testing.assert_allclose(g, np.concatenate([P @ w, np.zeros(10 - n)]), atol=1e-12)
        np.testing.assert_allclose(A[:n, :n], np.tril(P), atol=1e-12)
        assert not A[n:, n:].any()
