"""The energy of a motion (Wei et al. 2011, eqs. 10 and 11), its gradient and its Gauss-Newton matrix.

Joint torques and contact weights are not among the unknowns: for a given motion the torques that leave the least residual of eq.
1 leave none in the rows of the joints, and the best weights are those of `loads`, so that the physics term is what the contacts
cannot give of the six rows of the root. Sums over frames count by `PAPER_FPS` over the rate.
"""

from dataclasses import dataclass

import numpy as np

from config.arrays import Bools, Floats
from database.geometry.rotations import matrix_from_quaternion, skew_from_vector
from numerics.banded import BandedEquations
from reconstruct.models.physics.contacts import spread_part_contacts
from reconstruct.models.physics.dynamics import N_ROOT, N_TANGENT
from reconstruct.models.physics.friction import N_EDGES, build_cone_basis
from reconstruct.models.physics.synthesis.kinematics import (
    MotionJacobians,
    MotionKinematics,
    compute_jacobians,
    compute_kinematics,
)
from reconstruct.models.physics.synthesis.loads import Loads, share_loads
from reconstruct.models.physics.synthesis.problem import (
    EXAMPLE_HZ,
    HEIGHT_M,
    KEY_M,
    KEY_RAD,
    PAPER_FPS,
    PHYSICS_FORCE,
    PHYSICS_TORQUE,
    SLIDE_M_S,
    ExampleMotion,
    KeyPose,
    MotionProblem,
)
from reconstruct.models.physics.synthesis.statistics import compute_statistics_terms
from reconstruct.models.physics.synthesis.torques import LoadResponse, TorqueTerms

EVEN = 0.02  # weight of the squared weights of edges, in body weights: which of many ways to share a load
EDGE_S = 0.05  # at the beginning and end of a contact: a foot rolls onto a part and off it
MEETING_S = 0.12  # around a key on the way
RAMP_S = 0.08  # a contact takes its load over this time, and gives it up


@dataclass(frozen=True, slots=True)
class EvaluatedMotion:
    """A motion and its energy.

    Attributes:
        terms: weighted terms of the energy by name.
        loads: loads of the inner frames.
    """

    motion: MotionKinematics
    terms: dict[str, float]
    loads: Loads | None

    @property
    def energy(self) -> float:
        """The sum of the terms."""
        return sum(self.terms.values())


class MotionEnergy:
    """The energy of motions of one problem."""

    def __init__(self, problem: MotionProblem) -> None:
        self.problem = problem
        self.dynamics = problem.dynamics()
        self.dt_s = 1.0 / problem.fps
        self.share = PAPER_FPS / problem.fps
        points = problem.body.contacts
        self.n_points = len(points)
        self.down = spread_part_contacts(points, problem.parts)
        self.still = _trim_contacts(self.down, max(1, round(EDGE_S * problem.fps)))
        self.level_m = problem.level_m[points.foot, points.part]
        self.ground = problem.surroundings
        self.normal = self.ground.normal
        self.B = build_cone_basis(problem.surroundings.friction, self.normal)
        self.trust = _compute_example_trust(problem)
        if problem.field is not None and problem.example is not None:
            self.nearness = problem.example.compute_nearness(problem.field.examples.nearness)
        self.even = _compute_evenness(self.down, problem.fps)[1:-1]
        self.carrying = np.repeat(self.down[1:-1], N_EDGES, axis=1)
        height = problem.body.skeleton.height_m
        self.wrench_unit = np.repeat([PHYSICS_FORCE, PHYSICS_TORQUE * height], 3) * problem.weight_n
        self.torque_terms = TorqueTerms(problem, self.dynamics)

    def evaluate(self, q: Floats) -> EvaluatedMotion:
        """Return the energy of a motion (N, 95)."""
        return self._evaluated(q, None)[0]

    def linearise(self, q: Floats) -> tuple[EvaluatedMotion, BandedEquations]:
        """Return the energy of a motion with its gradient and Gauss-Newton matrix by frames."""
        normal = BandedEquations.zero(len(q), N_TANGENT)
        return self._evaluated(q, normal)[0], normal

    def _evaluated(self, q: Floats, normal: BandedEquations | None) -> tuple[EvaluatedMotion, BandedEquations | None]:
        motion = compute_kinematics(self.dynamics, q, self.dt_s)
        by = None if normal is None else compute_jacobians(self.dynamics, motion, self.dt_s)
        weights = self.problem.weights
        terms = {
            "keys": self._keys(motion, normal),
            "paths": self._paths(motion, normal),
            "contacts": self._contacts(motion, by, normal),
        }
        loads = None
        if self.problem.field is not None:
            if self.problem.example is not None and weights.example > 0.0:
                terms["example"] = self._example(motion, normal, self.problem.example)
            terms |= compute_statistics_terms(self.problem, motion, by, normal)
        if weights.physics > 0.0:
            terms["physics"], loads, response = self._physics(motion, by, normal)
            if weights.torque > 0.0 or weights.strength > 0.0:
                force_n = np.concatenate([self.forces_n(loads), self._external(motion)], axis=1)
                terms |= self.torque_terms.compute(motion, force_n, by, response, normal)
        return EvaluatedMotion(motion, terms, loads), normal

    def _keys(self, motion: MotionKinematics, normal: BandedEquations | None) -> float:
        """Key poses: the whole configuration, or all but the place in the plane."""
        total = 0.0
        for key in self.problem.keys:
            at = motion.q[key.frame]
            scale = np.sqrt(self.problem.weights.constraints) * compute_key_units(key)
            r = scale @ self.dynamics.difference(key.q[None], at[None])[0]
            total += 0.5 * float(r @ r)
            if normal is not None:
                J = scale @ self.dynamics.difference_derivatives(key.q, at)[1]
                normal.add_frames(J[None], r[None], np.array([key.frame]))
        return total

    def _example(self, motion: MotionKinematics, normal: BandedEquations | None, example: ExampleMotion) -> float:
        """Nearness to examples: by how much motions differ from them, and that they differ smoothly."""
        L = self.nearness
        weight = np.sqrt(self.problem.weights.example * self.share)
        scale = weight * np.sqrt(self.trust)[:, None]
        bend = (self.problem.fps / (2.0 * np.pi * EXAMPLE_HZ)) ** 2 * scale[1:-1]
        d = np.einsum("nij,nj->ni", L, self.dynamics.difference(example.q, motion.q))
        r, bent = scale * d, bend * np.diff(d, 2, axis=0)
        if normal is not None:
            pairs = zip(example.q, motion.q, strict=True)
            J = L @ np.array([self.dynamics.difference_derivatives(a, b)[1] for a, b in pairs])
            normal.add_frames(scale[:, :, None] * J, r)
            normal.add_triples(bend[:, :, None] * np.concatenate([J[:-2], -2.0 * J[1:-1], J[2:]], axis=2), bent)
        return 0.5 * float((r**2).sum() + (bent**2).sum())

    def _paths(self, motion: MotionKinematics, normal: BandedEquations | None) -> float:
        """Key trajectories: places of joints."""
        total = 0.0
        asked = self.problem.weights.constraints
        for path in self.problem.paths:
            each = path.axes * np.sqrt(asked * self.share / (KEY_M**2 + asked * path.within_m**2))
            for frame, wanted in zip(path.frames.tolist(), path.position_m, strict=True):
                r = each * (self.dynamics.placements(motion.q[frame])[1][path.joint] - wanted)
                total += 0.5 * float(r @ r)
                if normal is not None:
                    J = self.dynamics.point_jacobian(motion.q[frame], [path.joint], np.zeros((1, 3)))
                    normal.add_frames(each[:, None] * J, r[None], np.array([frame]))
        return total

    def _contacts(self, motion: MotionKinematics, by: MotionJacobians | None, normal: BandedEquations | None) -> float:
        """Contacts: points that carry weight are on the ground and do not move, while they roll excepted; none is below it."""
        p = motion.point_m[:, : self.n_points]
        over, away = self.heights_over(p)
        pressed = self.still | (over < 0.0)
        weight = np.sqrt(self.problem.weights.constraints * self.share)
        height = weight / HEIGHT_M * np.where(pressed, over, 0.0)
        both = self.still[1:] & self.still[:-1]
        slide = weight * self.problem.fps / SLIDE_M_S * both[..., None] * np.diff(p, axis=0)
        if normal is not None and by is not None:
            J = by.point[:, : self.n_points]
            normal.add_frames(weight / HEIGHT_M * pressed[..., None] * np.einsum("npi,npij->npj", away, J), height)
            scaled = (weight * self.problem.fps / SLIDE_M_S * both)[:, :, None, None]
            n = len(p) - 1
            first, second = -(scaled * J[:-1]).reshape(n, -1, N_TANGENT), (scaled * J[1:]).reshape(n, -1, N_TANGENT)
            normal.add_pairs(first, second, slide.reshape(n, -1))
        return 0.5 * float((height**2).sum() + (slide**2).sum())

    def heights_over(self, p: Floats) -> tuple[Floats, Floats]:
        """Return the heights of contact points (N, P, 3) over where they stand, (N, P) [m], and their derivatives, (N, P, 3)."""
        height, slope = self.ground.compute_foot_ground(p[..., [0, 2]])
        upright = self.normal[1]
        away = upright * np.stack([-slope[..., 0], np.ones_like(height), -slope[..., 1]], axis=-1)
        return upright * (p[..., 1] - height) - self.level_m, away

    def wrench(self, motion: MotionKinematics) -> tuple[Floats, Floats, Floats]:
        """Return what contacts have to give in the hips' axes, (N - 2, 6); that of each edge, (N - 2, 6, 4 P); external (N - 2,
        E, 3).
        """
        inner = slice(1, -1)
        root = motion.root[inner]
        arm = motion.point_m[inner] - motion.q[inner, None, :3]
        edges = np.einsum("nji,jk->nik", root, self.B)  # in the hips' axes
        local = np.einsum("npj,nji->npi", arm[:, : self.n_points], root)
        n = len(root)
        A = np.empty((n, N_ROOT, self.n_points, N_EDGES))
        A[:, :3] = edges[:, :, None, :]
        A[:, 3:] = np.moveaxis(np.cross(local[:, :, None, :], np.swapaxes(edges, 1, 2)[:, None]), 3, 1)
        external = self._external(motion)
        need = motion.u[:, :N_ROOT].copy()
        if external.shape[1]:
            need[:, :3] -= np.einsum("nei,nij->nj", external, root)
            torque = np.cross(arm[:, self.n_points :], external).sum(axis=1)
            need[:, 3:] -= np.einsum("ni,nij->nj", torque, root)
        return need, A.reshape(n, N_ROOT, -1), external

    def _external(self, motion: MotionKinematics) -> Floats:
        """Return the external forces of the inner frames, (N - 2, E, 3) [N] world."""
        external = self.problem.external
        out = np.zeros((len(motion.v), len(external), 3))
        for k, force in enumerate(external):
            rows = np.arange(1, len(motion.v) + 1)
            on = (rows >= force.first) & (rows < force.stop)
            spring = force.stiffness * (force.anchor_m - motion.point_m[1:-1, self.n_points + k])
            out[:, k] = on[:, None] * (force.force_n + spring)
        return out

    def _physics(
        self, motion: MotionKinematics, by: MotionJacobians | None, normal: BandedEquations | None
    ) -> tuple[float, Loads, LoadResponse | None]:
        """Physics (eq. 7): the rows of the root that contacts cannot give."""
        need, external, shared = self._shared(motion)
        loads, scaled, unit, even = shared
        value = 0.5 * float((loads.residual**2).sum() + (even * loads.weight**2).sum())
        if normal is None or by is None:
            return value, loads, None
        J = self._wrench_jacobian(motion, by, need, loads, external) / unit[:, None]
        eased = scaled / loads.slack[:, None, :]
        P = np.linalg.inv(np.eye(N_ROOT) + np.einsum("nik,njk->nij", eased, scaled))
        normal.add_triple_forms(np.swapaxes(J, 1, 2) @ (P @ J), np.einsum("nri,nr->ni", J, loads.residual))
        gain = (self.problem.weight_n * np.swapaxes(eased, 1, 2) @ P).reshape(len(J), self.n_points, N_EDGES, N_ROOT)
        by_wrench = np.einsum("ie,nper->npir", self.B, gain).reshape(len(J), -1, N_ROOT)
        return value, loads, LoadResponse(by_wrench, J)

    def kinematics(self, q: Floats) -> MotionKinematics:
        """Return the kinematics of configurations (N, 95)."""
        return compute_kinematics(self.dynamics, q, self.dt_s)

    def loads(self, motion: MotionKinematics) -> tuple[Loads, Floats]:
        """Return the best loads of a motion and the unit of their residual, (6,) [N, Nm]."""
        _, _, (loads, _, unit, _) = self._shared(motion)
        return loads, unit

    def _shared(self, motion: MotionKinematics) -> tuple[Floats, Floats, tuple[Loads, Floats, Floats, Floats]]:
        """Return what contacts have to give, external forces, and the loads with A, its unit, and the evenness."""
        need, A, external = self.wrench(motion)
        unit = self.wrench_unit / np.sqrt(max(self.problem.weights.physics, 1e-6) * self.share)
        scaled = A * self.problem.weight_n / unit[:, None] * self.carrying[:, None, :]
        even = self.even * self.share
        return need, external, (share_loads(scaled, need / unit, even), scaled, unit, even)

    def forces_n(self, loads: Loads) -> Floats:
        """Return the forces on the contact points of the inner frames, (N - 2, P, 3) [N] world."""
        weights = loads.weight.reshape(len(loads.weight), self.n_points, N_EDGES)
        barred = ~self.down[1:-1]
        return np.asarray(self.problem.weight_n * np.einsum("ik,npk->npi", self.B, np.where(barred[..., None], 0.0, weights)))

    def _wrench_jacobian(
        self, motion: MotionKinematics, by: MotionJacobians, need: Floats, loads: Loads, external: Floats
    ) -> Floats:
        """Return the derivatives of the root's rows less contacts and external forces, weights fixed: (N - 2, 6, 216)."""
        T = N_TANGENT
        root, arm = motion.root[1:-1], motion.point_m[1:-1] - motion.q[1:-1, None, :3]
        force = np.concatenate([self.forces_n(loads), external], axis=1)
        J = by.u[:, :N_ROOT].copy()
        total, torque = force.sum(axis=1), np.cross(arm, force).sum(axis=1)
        turned = np.swapaxes(root, 1, 2)
        F, M = np.einsum("nij,nj->ni", turned, total), np.einsum("nij,nj->ni", turned, torque)
        points = by.point[1:-1].copy()
        points[:, :, :, :3] -= root[:, None]  # arms: the hips move by root @ change
        own = -np.einsum("npij,npjk->nik", skew_from_vector(force), points)
        change = np.zeros((len(root), N_ROOT, T))
        change[:, :3, 3:6], change[:, 3:, 3:6] = skew_from_vector(F), skew_from_vector(M)
        change[:, 3:] += turned @ own
        for k, spring in enumerate(self.problem.external):
            if spring.stiffness > 0.0:
                rows = np.arange(1, len(root) + 1)
                on = ((rows >= spring.first) & (rows < spring.stop)).astype(float)
                moved = -spring.stiffness * on[:, None, None] * by.point[1:-1, self.n_points + k]
                change[:, :3] += turned @ moved
                change[:, 3:] += turned @ (skew_from_vector(arm[:, self.n_points + k]) @ moved)
        J[:, :, T : 2 * T] -= change
        return J


def compute_key_units(key: KeyPose) -> Floats:
    """Return the factors of differences from a key pose, (72, 72): its axes' units, zero along the plane if that is free."""
    out = np.eye(N_TANGENT) / KEY_RAD
    out[:3, :3] = matrix_from_quaternion(key.q[3:7]) / KEY_M  # to the world's axes
    if key.free_place:
        out[[0, 2]] = 0.0
    return out


def _compute_evenness(down: Bools, fps: float) -> Floats:
    """Return the weights e_k of the squared weights, (N, 4 P), EVEN where there is no contact: large next to the beginning and
    end of a contact.
    """
    n = len(down)
    since, until = np.zeros(down.shape), np.zeros(down.shape)
    for t in range(n):
        since[t] = np.where(down[t], (since[t - 1] + 1.0) if t else RAMP_S * fps + 1.0, 0.0)
    for t in range(n - 1, -1, -1):
        until[t] = np.where(down[t], (until[t + 1] + 1.0) if t < n - 1 else RAMP_S * fps + 1.0, 0.0)
    share = np.clip(np.minimum(since, until) / (RAMP_S * fps + 1.0), 1e-3, 1.0)
    return np.repeat(np.where(down, EVEN / share**2, EVEN), N_EDGES, axis=1)


def _compute_example_trust(problem: MotionProblem) -> Floats:
    """Return how far each frame is to stay near the example, (N,): hardly next to keys on the way, where two stretches meet."""
    out = np.ones(problem.n_frames)
    frames = np.arange(problem.n_frames)
    for key in problem.keys:
        if 0 < key.frame < problem.n_frames - 1:
            out *= 1.0 - 0.95 * np.exp(-(((frames - key.frame) / (MEETING_S * problem.fps)) ** 2))
    return out


def _trim_contacts(down: Bools, edge: int) -> Bools:
    """Return contacts without their first and last frames, but for those of the motion: (N, P) -> (N, P)."""
    padded = np.pad(down, ((edge, edge), (0, 0)), mode="edge")
    out = down.copy()
    for k in range(2 * edge + 1):
        out &= padded[k : k + len(down)]
    return out
