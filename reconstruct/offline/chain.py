"""The energy of the poses of consecutive frames, and its Gauss-Newton step by one banded Cholesky decomposition.

    E = sum_t  markers and rays of frame t, as in `reconstruct/solve/energy.py`
      + 1/2 w_t |q_t - m_t|^2              the neighbours' poses; w_t is small, as errors of neighbours last over many frames
      + 1/2 v_t |(q_t - q_{t-1}) / h - s_t|^2   their steps
      + 1/2 sum |a_{t+1} - r a_t|^2 / (1 - r^2),   a_t = second difference of (q, root) at t less the neighbours'

in the metrics of `FramePriors`. How the motion departs from the neighbours' is thus an acceleration that lasts (first-order
autoregressive, r = RHO^h for frames h apart), which closes gaps smoothly whatever the rate of the frames. Four frames are coupled
at a time, so that the Hessian is a band of four blocks.
"""

from dataclasses import dataclass

import numpy as np
from numpy.linalg import LinAlgError

from calibration.camera import Rig
from calibration.subject.props import find_props
from calibration.subject.subject import Subject
from capture.packets import MarkerFrame
from config.arrays import Floats
from config.settings import SolveSettings
from database.geometry.rotations import rotvec_from_matrix
from numerics.banded import compute_marginal_blocks, eliminate_leading, solve_banded
from numerics.definite import mirror_triangle
from reconstruct.models.local.model import DOFS, FULL, Quadratic, build_local_model
from reconstruct.observations import Observations, compute_landmark_share, observations_from_markers
from reconstruct.offline.motion import TakeMotion
from reconstruct.offline.priors import FramePriors
from reconstruct.solve.energy import compute_energy
from reconstruct.solve.grips import build_grips
from reconstruct.solve.limits import Limits
from reconstruct.solve.root import RootPrior
from reconstruct.solve.solver import FrameProblem

N_VARIABLES = DOFS + 6
BLOCKS = 4
STEP_SHARE = 1.0  # v_t for one frame of the database
RHO = 0.8
ROOT_RAD, ROOT_M = 0.003, 0.003  # accelerations of the root in a frame of the database
FREE = 10.0  # standard deviation of the root's absolute pose, which nothing but the markers tells
MARKER_SIGMA_M = 0.006
LANDMARK_LASTS_S = SolveSettings().landmark_lasts_s
FIXED = 1e10  # precision of a frame that must not move
MAX_STEP = 0.7  # radians or metres
MIN_GAIN = 1e-3  # relative: an iteration that gains less is the last


@dataclass(frozen=True, slots=True)
class MarkerTrust:
    """Weight of the markers beside neighbours: how far they are from where the pose has them [m], and w_t for one frame of the
    database, where all markers are seen and where one is not.
    """

    marker_sigma_m: float
    pose_share: float
    gap_share: float


EXACT = MarkerTrust(MARKER_SIGMA_M, 0.03, 0.03)  # bodies that are known exactly; and labels, which markers have to tell apart
# Errors of a calibration last: a marker that sits 2 cm elsewhere is wrong in all frames, which do not average it out. So poses
# are found that depend on it little, then where the markers sit in them (`take`), and poses again, with bones that are still off.
# In gaps the motion on both sides knows more than neighbours do, whose errors last there, too.
CALIBRATED, WORN = MarkerTrust(0.02, 0.3, 0.03), MarkerTrust(0.012, 0.1, 0.03)


@dataclass(frozen=True, slots=True)
class ChainSystem:
    """The energy of a chain by frames, (N,), its gradient (N, V), and the blocks of its Hessian, (N, 4, V, V): [t, k] couples t
    with t - k.
    """

    energies: Floats
    gradient: Floats
    blocks: Floats

    @property
    def energy(self) -> float:
        """The energy of the chain."""
        return float(self.energies.sum())

    def from_frame(self, first: int) -> "ChainSystem":
        """Return the part of some frame and those after it, which shares memory."""
        return ChainSystem(self.energies[first:], self.gradient[first:], self.blocks[first:])

    def add(self, residual: Floats, precision: Floats, coefficients: Floats) -> None:
        """Add the terms 1/2 e_n' P_n e_n, their energy to the last of their frames.

        Args:
            residual: (K, V), of frames n to n + c - 1 for n = 0 to K - 1.
            precision: (K, V, V).
            coefficients: derivatives of e_n by these frames, multiples of the unit matrix, (K, c).
        """
        if not len(residual):
            return
        K, count = coefficients.shape
        pull = np.einsum("nij,nj->ni", precision, residual)
        for i in range(count):
            self.gradient[i : K + i] += coefficients[:, i, None] * pull
            for j in range(i + 1):
                self.blocks[i : K + i, i - j] += (coefficients[:, i] * coefficients[:, j])[:, None, None] * precision
        self.energies[count - 1 :] += 0.5 * np.einsum("ni,ni->n", pull, residual)


@dataclass(frozen=True, slots=True)
class ChainHead:
    """Energy of all frames up to some time as a function of the last three: their poses, and the quadratic about these.

    Attributes:
        hessian: Hessian, (3 V, 3 V).
        gradient: gradient, (3 V,).
        energy: energy of all frames, at the best poses of those before.
    """

    motion: TakeMotion
    hessian: Floats
    gradient: Floats
    energy: float

    def departure(self, motion: TakeMotion) -> Floats:
        """Return how other poses of the three frames differ, (3 V,)."""
        own = self.motion
        joints = (motion.joints - own.joints)[:, 1:].reshape(len(own), -1)
        turn = rotvec_from_matrix(motion.rotation @ np.swapaxes(own.rotation, 1, 2))
        return np.concatenate([joints, turn, motion.position_m - own.position_m], axis=1).ravel()


class Chain:
    """Consecutive frames to be solved together.

    Args:
        fixed: number of first frames that stay as they were solved before.
        head: quadratic over the first three frames, in place of their own terms.
        trust: weight of the markers against the neighbours.
    """

    def __init__(
        self,
        subject: Subject,
        rig: Rig,
        frames: list[MarkerFrame],
        priors: FramePriors,
        limits: Limits,
        fixed: int = 0,
        head: ChainHead | None = None,
        trust: MarkerTrust = EXACT,
    ) -> None:
        self._subject, self._priors, self._limits, self._fixed, self._head = subject, priors, limits, fixed, head
        self._grips = build_grips(find_props(subject))
        self._pose_share = [trust.pose_share if frame.shown.all() else trust.gap_share for frame in frames]
        sigma_m = np.full(len(subject.markers), trust.marker_sigma_m)
        if subject.markers.worn.all():
            self._seen = [observations_from_markers(frame, rig, sigma_m) for frame in frames]
            return
        worn, times_s = subject.markers.worn, 1e-9 * np.array([frame.t_capture_ns for frame in frames])
        steps_s = np.diff(times_s, append=2.0 * times_s[-1] - times_s[-2])
        shares = [np.where(worn, 1.0, compute_landmark_share(step_s, LANDMARK_LASTS_S)) for step_s in steps_s]
        self._seen = [observations_from_markers(f, rig, sigma_m, None, share) for f, share in zip(frames, shares, strict=True)]

    def solve(self, motion: TakeMotion, iterations: int) -> tuple[TakeMotion, Floats]:
        """Move the poses towards a minimum; return them and their energy by frames, (N,)."""
        system = self.system(motion)
        for _ in range(iterations):
            step = compute_newton_step(system, self._fixed)
            if step is None:
                break
            step *= min(1.0, MAX_STEP / max(float(np.abs(step).max()), 1e-9))
            for share in (1.0, 0.5, 0.2):
                trial = motion.moved(share * step)
                after = self.system(trial)
                if after.energy <= system.energy:
                    break
            else:
                break
            gain, motion, system = system.energy - after.energy, trial, after
            if gain < MIN_GAIN * (1.0 + after.energy):
                break
        return motion, system.energies

    def system(self, motion: TakeMotion) -> ChainSystem:
        """Return the energy and its derivatives."""
        n = len(motion)
        system = ChainSystem(np.zeros(n), np.zeros((n, N_VARIABLES)), np.zeros((n, BLOCKS, N_VARIABLES, N_VARIABLES)))
        if self._head is not None:
            self._add_head(system, motion, self._head)
        for t in range(self._known, n):
            self._add_frame(system, motion, t, self._seen[t])
        self._add_steps(system, motion)
        self._add_accelerations(system, motion)
        return system

    def belief(self, motion: TakeMotion, before: float) -> ChainHead:
        """Return the chain's quadratic over its last three frames; motion: solved; before: energy that its own is added to.

        Raises LinAlgError: the motion is no minimum.
        """
        system = self.system(motion)
        hessian, gradient, least = eliminate_leading(system.blocks, system.gradient)
        return ChainHead(motion.part(slice(1 - BLOCKS, None)), hessian, gradient, before + system.energy + least)

    def covariance(self, motion: TakeMotion, before: Floats) -> Floats:
        """Return the covariance of every pose given all others' observations, (N, V, V).

        before: covariance of the fixed frames when they were solved, (F, V, V); each counts for a part of what they tell, as
        they tell nearly the same. Raises LinAlgError: the motion is no minimum.
        """
        blocks = self.system(motion).blocks
        blocks[: self._fixed, 0] += np.linalg.inv(before) / max(self._fixed, 1)
        return compute_marginal_blocks(blocks)

    @property
    def _known(self) -> int:
        """How many of the first frames have no terms of their own."""
        return 0 if self._head is None else BLOCKS - 1

    def _add_head(self, system: ChainSystem, motion: TakeMotion, head: ChainHead) -> None:
        """Add what is known of the first three frames."""
        apart = head.departure(motion.part(slice(0, self._known)))
        pull = head.hessian @ apart
        square = head.hessian.reshape(self._known, N_VARIABLES, self._known, N_VARIABLES)
        system.gradient[: self._known] += (head.gradient + pull).reshape(self._known, N_VARIABLES)
        for i in range(self._known):
            for k in range(i + 1):
                system.blocks[i, k] += square[i, :, i - k]
        system.energies[self._known - 1] += float(apart @ (head.gradient + 0.5 * pull))

    def _add_frame(self, system: ChainSystem, motion: TakeMotion, t: int, seen: Observations) -> None:
        """Add the markers of a frame, its neighbours' poses and the joints' limits."""
        body, priors = self._subject, self._priors
        share = min(self._pose_share[t] * self._spacing(motion, t), 1.0)
        model = build_local_model(priors.pose[t], FULL, Quadratic(np.zeros(DOFS), share * priors.pose_precision[t]))
        root = RootPrior(motion.rotation[t], motion.position_m[t], FREE, FREE)
        markers = (body.joint, body.offset_m)
        problem = FrameProblem(body.skeleton, markers, model, root, seen, limits=self._limits, grips=self._grips)
        A, g = np.empty((N_VARIABLES, N_VARIABLES)), np.empty(N_VARIABLES)
        pose = motion.joints[t, 1:].ravel()
        x = np.concatenate([pose - priors.pose[t], np.zeros(3), motion.position_m[t]])
        energy = compute_energy(x, problem.energy(motion.rotation[t]), A, g)
        system.gradient[t] += g
        system.blocks[t, 0] += mirror_triangle(A)
        system.energies[t] += energy

    def _spacing(self, motion: TakeMotion, t: int) -> float:
        """Return the time from a frame to the next one, or the one before, in frames of the database."""
        h = motion.step_frames
        return float(h[min(t, len(h) - 1)]) if len(h) else 1.0

    def _add_steps(self, system: ChainSystem, motion: TakeMotion) -> None:
        """Add the neighbours' steps."""
        h, pose = motion.step_frames, motion.joints[:, 1:].reshape(len(motion), -1)
        first = max(self._known - 1, 0)
        h, pose, new = h[first:], pose[first:], slice(first + 1, None)
        residual, precision = _expand_joint_term(
            np.diff(pose, axis=0) / h[:, None] - self._priors.step[new], self._priors.step_precision[new]
        )
        precision *= np.minimum(STEP_SHARE * h, 1.0)[:, None, None]
        system.from_frame(first).add(residual, precision, np.stack([-1.0 / h, 1.0 / h], axis=1))

    def _add_accelerations(self, system: ChainSystem, motion: TakeMotion) -> None:
        """Add the accelerations that the neighbours do not share."""
        h, n = motion.step_frames, len(motion)
        if n < 3:
            return
        turn = rotvec_from_matrix(motion.rotation[1:] @ np.swapaxes(motion.rotation[:-1], 1, 2))
        pose = motion.joints[:, 1:].reshape(n, -1)
        velocity = np.concatenate([np.diff(pose, axis=0), turn, np.diff(motion.position_m, axis=0)], axis=1) / h[:, None]
        apart = 0.5 * (h[:-1] + h[1:])
        bend = np.diff(velocity, axis=0) / apart[:, None]
        bend[:, :DOFS] -= self._priors.bend[1:-1]
        by = np.stack([1.0 / h[:-1], -1.0 / h[:-1] - 1.0 / h[1:], 1.0 / h[1:]], axis=1) / apart[:, None]
        precision = np.zeros((n - 2, N_VARIABLES, N_VARIABLES))
        precision[:, :DOFS, :DOFS] = self._priors.bend_precision[1:-1]
        root = np.arange(DOFS, N_VARIABLES)
        precision[:, root, root] = np.repeat([ROOT_RAD**-2.0, ROOT_M**-2.0], 3)
        if self._head is None:
            system.add(bend[:1], precision[:1], by[:1])
        rho = RHO ** h[1:-1]
        innovation, coefficients = bend[1:] - rho[:, None] * bend[:-1], np.zeros((n - 3, BLOCKS))
        coefficients[:, 1:] += by[1:]
        coefficients[:, :-1] -= rho[:, None] * by[:-1]
        system.add(innovation, precision[1:] / (1.0 - rho**2)[:, None, None], coefficients)


def _expand_joint_term(residual: Floats, precision: Floats) -> tuple[Floats, Floats]:
    """Return a term of the joints, (K, D) and (K, D, D), as one of all variables, (K, V) and (K, V, V)."""
    wide = np.zeros((len(residual), N_VARIABLES))
    square = np.zeros((len(residual), N_VARIABLES, N_VARIABLES))
    wide[:, :DOFS], square[:, :DOFS, :DOFS] = residual, precision
    return wide, square


def compute_newton_step(system: ChainSystem, fixed: int = 0) -> Floats | None:
    """Return the step to the minimum of the quadratic, (N, V); None where rounding leaves none. fixed: first frames that stay."""
    blocks = system.blocks
    if fixed:
        blocks = blocks.copy()
        blocks[:fixed, 0] += FIXED * np.eye(N_VARIABLES)
    try:
        step = -solve_banded(blocks, system.gradient)
    except LinAlgError:
        return None
    return step if np.isfinite(step).all() else None
