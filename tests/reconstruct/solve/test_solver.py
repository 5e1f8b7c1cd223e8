"""The energy of a frame and its minimum: derivatives against differences, descent, scipy's minimum, outliers, nothing seen."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, minimize

from calibration.subject.subject import Subject
from config.arrays import Floats
from config.joints import N_JOINTS
from database.geometry.kinematics import local_markers
from database.geometry.rotations import geodesic_rad, matrix_from_rotvec, rotvec_from_matrix
from reconstruct.models.local.model import LocalModel
from reconstruct.observations import Observations, observations_from_markers
from reconstruct.solve.energy import _energy, _solve_damped
from reconstruct.solve.root import RootPrior
from reconstruct.solve.solver import FrameProblem, Solution, solve
from tests.support.people import bent_pose, front_rig, marker_frame_of, person

N_W = 5
TURN = matrix_from_rotvec([0.3, -0.7, 0.2])
PLACE = np.array([0.15, 0.95, -0.2])
SCALE2 = 9.0


class Problem(NamedTuple):
    """Everything `solve` is given."""

    subject: Subject
    model: LocalModel
    root: tuple[Floats, Floats]
    prior: RootPrior
    observations: Observations

    @property
    def frame(self) -> FrameProblem:
        """What the solver takes."""
        markers = (self.subject.joint, self.subject.offset_m)
        return FrameProblem(self.subject.skeleton, markers, self.model, self.prior, self.observations)

    def solve(self, max_iterations: int = 30) -> Solution:
        """Return the solution from the root."""
        return solve(self.frame, self.root, max_iterations=max_iterations)

    def energy(self, x: Floats) -> tuple[float, Floats, Floats]:
        """Return the kernel's energy, gradient and (lower triangle of the) Hessian at x = (w, d, s)."""
        A, g = np.zeros((len(x), len(x))), np.zeros(len(x))
        return _energy(x, self.frame.energy(self.root[0]), A, g), g, A

    def plain_energy(self, x: Floats) -> float:
        """Return the energy as the docstring of `solve.energy` writes it: slow and obvious."""
        pose = self.model.mean + self.model.directions @ x[:N_W]
        local = local_markers(self.subject.skeleton, pose[None], self.subject.joint, self.subject.offset_m)[0]
        world = local @ (matrix_from_rotvec(x[N_W : N_W + 3]) @ self.root[0]).T + x[N_W + 3 :]
        w = x[:N_W] - self.model.center
        turn = x[N_W : N_W + 3] - rotvec_from_matrix(self.prior.rotation @ self.root[0].T)
        energy = 0.5 * w @ self.model.precision @ w + 0.5 * (turn @ turn) / self.prior.sigma_rad**2
        energy += 0.5 * np.sum((x[N_W + 3 :] - self.prior.position_m) ** 2) / self.prior.sigma_m**2
        o = self.observations
        for m, point in enumerate(world):
            e = o.root_info[m] @ (point - o.point_m[m])
            energy += robust(e @ e)
            for c in range(2):
                inside = o.view_rotation[c] @ point + o.view_translation[c]
                u = o.view_focal[c] * (inside[:2] / inside[2] - o.ideal[c, m])
                energy += robust(o.weight_px[c, m] * (u @ u))
        return float(energy)


def robust(s: float) -> float:
    """Return pseudo-Huber's rho."""
    return float(SCALE2 * (np.sqrt(1.0 + s / SCALE2) - 1.0))


def problem(kind: str, seed: int = 0, noise_m: float = 0.03, prior_sigma: float = 1.0) -> Problem:
    """Make an asymmetric problem whose true pose lies in the model's subspace; kind: 3d, 2d or mixed."""
    rng = np.random.default_rng(seed)
    subject = person("locomotion", seed)
    U = np.zeros((N_JOINTS, 3, N_W))
    U.reshape(-1, N_W)[3:] = np.linalg.qr(rng.normal(size=(3 * (N_JOINTS - 1), N_W)))[0]
    P = rng.normal(size=(N_W, N_W))
    precision = (P @ P.T + np.eye(N_W)) / prior_sigma**2
    model = LocalModel(bent_pose(seed), U, rng.normal(0.0, 0.3, N_W), precision)
    pose = model.mean + U @ (model.center + rng.normal(0.0, 0.5, N_W))
    R = matrix_from_rotvec(rng.normal(0.0, 0.1, 3)) @ TURN
    world = local_markers(subject.skeleton, pose[None], subject.joint, subject.offset_m)[0] @ R.T + PLACE
    measured = world + rng.normal(0.0, noise_m, world.shape)
    prior = RootPrior(matrix_from_rotvec([0.02, 0.05, -0.03]) @ TURN, PLACE + [0.02, -0.01, 0.03], 0.3, 0.4)
    return Problem(subject, model, (TURN, PLACE - 0.05), prior, observed(measured, kind))


def observed(measured: Floats, kind: str) -> Observations:
    """Return markers seen by both cameras, by one each, or in turns by both, the left and the right."""
    n = len(measured)
    both = np.full(n, kind == "3d") | ((np.arange(n) % 3 == 0) & (kind == "mixed"))
    rig = front_rig()
    frame = marker_frame_of(measured, both)
    seen = np.stack([both | (np.arange(n) % 2 == 0), both | (np.arange(n) % 2 == 1)])
    image = np.stack([camera.project(measured) for camera in rig.cameras])
    return observations_from_markers(replace(frame, seen=seen, image_px=image), rig, np.full(n, 0.01))


KINDS = ("3d", "2d", "mixed")


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
    world = local_markers(task.subject.skeleton, pose[None], task.subject.joint, task.subject.offset_m)[0] @ TURN.T + PLACE
    task = task._replace(observations=observed(world, kind))
    _, _, lower = task.energy(x)
    numeric = approx_fprime(x, lambda y: task.energy(y)[1], 1e-6)
    scale = np.sqrt(np.outer(np.diag(lower), np.diag(lower)))
    # Moving d by 1e-6 leaves out J_l - I, of the order of 1e-6.
    assert np.abs((np.tril(lower) - np.tril(numeric)) / scale).max() < 1e-3


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.sampled_from(KINDS), st.floats(0.001, 0.6), st.floats(0.05, 3.0))
def test_energy_never_rises(seed: int, kind: str, noise_m: float, prior_sigma: float) -> None:
    solution = problem(kind, seed, noise_m, prior_sigma).solve(12)
    assert np.isfinite(solution.energies).all() and len(solution.energies) <= 13
    assert (np.diff(solution.energies) <= 0).all()
    assert np.isfinite(solution.joints).all() and np.allclose(solution.rotation @ solution.rotation.T, np.eye(3), atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_recovers_a_pose_from_exact_markers(seed: int) -> None:
    """With a prior a hundred times wider than the poses sought, exact markers decide."""
    task = problem("3d", seed, 0.0)
    rng = np.random.default_rng(seed)
    w = rng.normal(0.0, 0.4, N_W)
    R = matrix_from_rotvec([0.05, -0.1, 0.08]) @ TURN
    pose = task.model.mean + task.model.directions @ w
    world = local_markers(task.subject.skeleton, pose[None], task.subject.joint, task.subject.offset_m)[0] @ R.T + PLACE
    wide = replace(task.model, precision=np.eye(N_W) * 1e-4)
    prior = replace(task.prior, sigma_rad=100.0, sigma_m=100.0)
    solution = task._replace(model=wide, prior=prior, observations=observed(world, "3d")).solve(60)
    np.testing.assert_allclose(solution.joints, pose, atol=2e-3)
    assert np.all(solution.joints[0] == 0.0)
    assert geodesic_rad(solution.rotation, R) < 1e-3
    np.testing.assert_allclose(solution.position_m, PLACE, atol=5e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_ends_where_scipy_does(kind: str) -> None:
    task = problem(kind, 7)
    solution = task.solve(60)
    start = np.concatenate([task.model.center, np.zeros(3), task.root[1]])
    reference = minimize(task.plain_energy, start, method="BFGS", options={"gtol": 1e-4})
    # The solver stops where an iteration gains less than 1e-4 (1 + E).
    assert solution.energies[-1] == pytest.approx(reference.fun, abs=1e-3 * (1.0 + reference.fun))
    expected = task.model.mean + task.model.directions @ reference.x[:N_W]
    np.testing.assert_allclose(solution.joints, expected, atol=0.02)
    np.testing.assert_allclose(solution.position_m, reference.x[N_W + 3 :], atol=0.005)


def test_without_markers_the_prior_answers() -> None:
    task = problem("3d", 3)
    frame = marker_frame_of(np.zeros((len(task.subject.markers), 3)), np.zeros(len(task.subject.markers), bool))
    solution = task._replace(observations=observations_from_markers(frame, front_rig(), np.full(len(frame.valid), 0.01))).solve()
    expected = task.model.mean + task.model.directions @ task.model.center
    np.testing.assert_allclose(solution.joints, expected, atol=1e-6)
    # The minimum in d is where exp(d) R_0 is the predicted root.
    assert geodesic_rad(solution.rotation, task.prior.rotation) < 1e-4
    np.testing.assert_allclose(solution.position_m, task.prior.position_m, atol=1e-4)


def test_marker_behind_the_camera_is_left_out() -> None:
    task = problem("2d", 3)
    behind = replace(task.observations, view_translation=task.observations.view_translation - [0.0, 0.0, 20.0])
    solution = task._replace(observations=behind).solve()
    assert np.isfinite(solution.joints).all() and solution.energies[-1] < 1e-6


@pytest.mark.parametrize("axis", range(3))
def test_one_marker_1_m_off_moves_the_pose_little(axis: int) -> None:
    """Pseudo-Huber: an outlier's pull is bounded by c standard deviations, whatever its distance; a square's is not."""
    task = problem("3d", 5, 0.0)
    clean = task.solve(60)
    moved = {}
    for distance_m in (1.0, 10.0):
        point = task.observations.point_m.copy()
        point[0, axis] += distance_m
        wrong = task._replace(observations=replace(task.observations, point_m=point)).solve(60)
        others = [
            local_markers(task.subject.skeleton, s.joints[None], task.subject.joint, task.subject.offset_m)[0] @ s.rotation.T
            + s.position_m
            for s in (clean, wrong)
        ]
        moved[distance_m] = float(np.median(np.linalg.norm(others[1] - others[0], axis=1)))
    assert moved[1.0] < 0.02
    assert moved[10.0] < 1.5 * moved[1.0] + 0.002


def test_cholesky_against_numpy_and_what_is_not_positive() -> None:
    rng = np.random.default_rng(0)
    B = rng.normal(size=(6, 6))
    A, g = B @ B.T + np.eye(6), rng.normal(size=6)
    C, step = np.zeros((6, 6)), np.zeros(6)
    lower = np.tril(A) + np.triu(np.full((6, 6), 99.0), 1)  # the upper triangle must not be read
    assert _solve_damped(lower, g, 0.3, C, step)
    np.testing.assert_allclose(step, np.linalg.solve(A + 0.3 * np.diag(np.diag(A)), -g), rtol=1e-9)
    assert not _solve_damped(-np.eye(3), np.ones(3), 0.0, np.zeros((3, 3)), np.zeros(3))
    assert not _solve_damped(np.full((3, 3), np.nan), np.ones(3), 0.0, np.zeros((3, 3)), np.zeros(3))
