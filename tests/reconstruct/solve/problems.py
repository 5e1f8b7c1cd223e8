"""Frames to solve: an asymmetric subject, a local model of a few directions, markers seen by both cameras or by one."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from calibration.subject.subject import Subject
from config.arrays import Floats, make_read_only
from config.joints import N_JOINTS
from database.geometry.kinematics import compute_local_markers
from database.geometry.rotations import matrix_from_rotvec, rotvec_from_matrix
from reconstruct.models.local.model import LocalModel
from reconstruct.observations import Observations, observations_from_markers
from reconstruct.solve.energy import Energy, compute_energy
from reconstruct.solve.root import RootPrior
from reconstruct.solve.solver import FrameProblem, Solution, solve_pose
from tests.support.people import bent_pose, front_rig, marker_frame_of, person

N_W = 5
KINDS = ("3d", "2d", "mixed")
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
        return solve_pose(self.frame, self.root, max_iterations=max_iterations)

    @property
    def terms(self) -> Energy:
        """The terms of the energy, d counted from the root's rotation."""
        return self.frame.energy(self.root[0])

    def energy(self, x: Floats) -> tuple[float, Floats, Floats]:
        """Return the kernel's energy, gradient and (lower triangle of the) Hessian at x = (w, d, s)."""
        A, g = np.zeros((len(x), len(x))), np.zeros(len(x))
        return compute_energy(x, self.terms, A, g), g, A

    def plain_energy(self, x: Floats) -> float:
        """Return the energy as the docstring of `solve.energy` writes it: slow and obvious."""
        pose = self.model.mean + self.model.directions @ x[:N_W]
        local = compute_local_markers(self.subject.skeleton, pose[None], self.subject.joint, self.subject.offset_m)[0]
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
    model = LocalModel(bent_pose(seed), make_read_only(U), rng.normal(0.0, 0.3, N_W), precision)
    pose = model.mean + U @ (model.center + rng.normal(0.0, 0.5, N_W))
    R = matrix_from_rotvec(rng.normal(0.0, 0.1, 3)) @ TURN
    world = compute_local_markers(subject.skeleton, pose[None], subject.joint, subject.offset_m)[0] @ R.T + PLACE
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
