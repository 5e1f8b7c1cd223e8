"""Rigid fits against the singular value decomposition, values by hand, and what must not mislead them."""

import numpy as np
import pytest

from config.arrays import Floats
from database.geometry.rigid import fit_rigid_motion, fit_rigid_motion_robustly
from database.geometry.rotations import compute_geodesic_rad, matrix_from_rotvec

pytestmark = pytest.mark.kernels


def svd_fit(a: Floats, b: Floats, w: Floats) -> tuple[Floats, Floats]:
    """Fit by the singular value decomposition (Kabsch 1976; Umeyama 1991, eq. 40 without scale)."""
    w = w / w.sum()
    mean_a, mean_b = w @ a, w @ b
    U, _, Vt = np.linalg.svd((b - mean_b).T @ (w[:, None] * (a - mean_a)))
    R = U @ np.diag([1.0, 1.0, np.sign(np.linalg.det(U @ Vt))]) @ Vt
    return R, mean_b - R @ mean_a


def cost(R: Floats, t: Floats, a: Floats, b: Floats, w: Floats) -> float:
    """Return the weighted sum of squares that a fit minimises."""
    return float(w @ ((a @ R.T + t - b) ** 2).sum(axis=1))


@pytest.mark.parametrize("flat", [False, True])
def test_a_motion_is_recovered_without_a_mirror_and_weights_count(flat: bool) -> None:
    random = np.random.default_rng(6)
    for _ in range(10):
        points = random.normal(size=(6, 3)) * (1, 1, 0 if flat else 1)
        turn, shift = matrix_from_rotvec(random.uniform(-2, 2, 3)), random.normal(size=3)
        moved = points @ turn.T + shift
        moved[4] += 5.0
        R, t = fit_rigid_motion(points, moved, [1, 1, 1, 1, 0, 1])
        np.testing.assert_allclose(R, turn, atol=1e-10)
        np.testing.assert_allclose(t, shift, atol=1e-10)


@pytest.mark.parametrize("seed", range(16))
def test_noisy_points_as_by_the_svd(seed: int) -> None:
    """Also where the best orthogonal matrix is a reflection (half of the wholly random pairs) or the points nearly flat."""
    random = np.random.default_rng(seed)
    n = int(random.integers(3, 12))
    a = random.normal(size=(n, 3)) * (1.0, 0.3, random.choice([1.0, 1e-3]))
    moved = a @ matrix_from_rotvec(random.normal(size=3)).T + random.normal(size=3)
    b = moved + 0.01 * random.normal(size=(n, 3)) if seed % 2 else random.normal(size=(n, 3))
    w = random.uniform(0.01, 100.0, n)
    for ours, theirs in zip(fit_rigid_motion(a, b, w), svd_fit(a, b, w), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-9)


@pytest.mark.parametrize("case", ["on one line", "in one place", "mirrored", "rotated by pi"])
def test_degenerate_points_give_a_best_rotation(case: str) -> None:
    a = np.random.default_rng(2).normal(size=(5, 3))
    if case == "on one line":
        a = np.outer(a[:, 0], [1.0, -2.0, 0.5])
    elif case == "in one place":
        a = np.repeat(a[:1], 5, axis=0)
    turn = matrix_from_rotvec([0.0, np.pi, 0.0] if case == "rotated by pi" else [0.4, -1.0, 0.2])
    b = (a * (1, 1, -1) if case == "mirrored" else a) @ turn.T + (3.0, -1.0, 2.0)
    w = np.array([1.0, 2.0, 3.0, 0.5, 1.0])
    R, t = fit_rigid_motion(a, b, w)
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(R) == pytest.approx(1.0)
    assert cost(R, t, a, b, w) <= cost(*svd_fit(a, b, w), a, b, w) + 1e-12


def test_robust_fit_is_three_fits_with_cauchy_weights() -> None:
    random = np.random.default_rng(3)
    a = random.normal(size=(6, 3))
    b = a @ matrix_from_rotvec([0.2, -0.5, 0.1]).T + (1.0, 2.0, 3.0) + 0.01 * random.normal(size=(6, 3))
    b[2] += 0.6
    weights = random.uniform(50.0, 5000.0, 6)
    for start in (None, (matrix_from_rotvec([0.3, -0.4, 0.0]), np.array([1.1, 2.0, 2.9]))):
        R, t = start or svd_fit(a, b, weights)
        for _ in range(3 if start else 2):
            error2 = ((a @ R.T + t - b) ** 2).sum(axis=1)
            R, t = svd_fit(a, b, weights / (1.0 + weights * error2 / 4.0))
        found = fit_rigid_motion_robustly(a, b, weights, 2.0, 3, start)
        np.testing.assert_allclose(found[0], R, atol=1e-9)
        np.testing.assert_allclose(found[1], t, atol=1e-9)


def test_robust_fit_does_not_follow_one_wrong_point() -> None:
    """The plain fit of these is 0.3 rad off."""
    a = np.array([[0.2, 0.0, 0.0], [-0.2, 0.0, 0.1], [0.0, 0.4, 0.0], [0.1, 0.5, 0.1], [-0.1, 0.1, -0.1]])
    turn, shift = matrix_from_rotvec([0.1, 0.2, -0.1]), np.array([0.5, 1.0, 2.0])
    b = a @ turn.T + shift
    b[3] += (0.5, 0.0, 0.0)
    weights = np.full(5, 0.01**-2.0)
    assert compute_geodesic_rad(fit_rigid_motion(a, b, weights)[0], turn) > 0.2
    R, t = fit_rigid_motion_robustly(a, b, weights, 3.0, 8, (np.eye(3), shift))
    assert compute_geodesic_rad(R, turn) < 0.01 and np.linalg.norm(t - shift) < 0.01
