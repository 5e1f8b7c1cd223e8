"""The chain of a take solved forward, a few frames at a time, with what the frames before say of the last poses as a Gaussian.

An extended Kalman filter whose state is the last three poses, with the energy of `chain` and steps of Newton's method in place of
an update. A marker that was not seen for long is thereby expected somewhere with a covariance that says how far it may be, and
energies are those of all frames so far at their best poses, so that they tell how likely other labels of the past are.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calibration.camera import Rig
from calibration.subject.subject import Subject
from capture.packets import MarkerFrame
from config.arrays import Floats
from database.geometry.kinematics import compute_markers_and_jacobian
from database.geometry.rotations import matrix_from_rotvec, rotvec_from_matrix, skew_from_vector
from reconstruct.models.local.model import DOFS, FULL
from reconstruct.offline.chain import BLOCKS, N_VARIABLES, Chain, ChainHead
from reconstruct.offline.motion import TakeMotion
from reconstruct.offline.priors import FramePriors, NeighbourPriors, compute_query_markers
from reconstruct.solve.limits import Limits

HEAD = BLOCKS - 1
ITERATIONS = 2
FADE_S = 0.15  # time constant with which velocities fade where poses are extrapolated
FIRST_RAD, FIRST_ROOT_RAD, FIRST_M, FIRST_STEP = 0.08, 0.03, 0.02, 0.01  # standard deviations of the first poses and their steps


@dataclass(frozen=True, slots=True)
class FilterState:
    """State of the filter after some frames.

    Attributes:
        belief: quadratic over the last three frames, given all frames so far.
        priors: priors of the last three frames.
        seen_s: time at which each marker was last seen, (M,) [s].
    """

    belief: ChainHead
    priors: FramePriors
    seen_s: Floats


class TakeFilter:
    """Solves frame after frame of one subject; states are values, so that any may be gone on from."""

    def __init__(self, subject: Subject, rig: Rig, priors: NeighbourPriors, limits: Limits) -> None:
        self._subject, self._rig, self._priors, self._limits = subject, rig, priors, limits

    def begin(self, frames: Sequence[MarkerFrame], motion: TakeMotion) -> FilterState:
        """Return the state after three frames that are solved already."""
        deviation = np.repeat([FIRST_RAD, FIRST_ROOT_RAD, FIRST_M], [DOFS, 3, 3])
        step = np.diff(np.eye(HEAD), axis=0)
        hessian = (
            np.kron(np.eye(HEAD), np.diag(deviation**-2.0 / HEAD)) + np.kron(step.T @ step, np.eye(N_VARIABLES)) / FIRST_STEP**2
        )
        priors = self._priors.fit(motion, compute_query_markers(self._subject, frames, motion), slice(0, HEAD), None)
        seen_s = np.full(len(self._subject.markers), motion.seconds[-1])
        return FilterState(ChainHead(motion, hessian, np.zeros(len(hessian)), 0.0), priors, seen_s)

    def advance(self, state: FilterState, frames: Sequence[MarkerFrame], seconds: Floats) -> tuple[FilterState, TakeMotion]:
        """Return the state after the next frames, and their poses.

        Args:
            state: state after the frames before.
            frames: the markers of each frame.
            seconds: times of the frames, (N,) [s].
        """
        head = state.belief.motion
        new = extrapolate_motion(head, seconds)
        valid = np.array([frame.valid for frame in frames])
        last_s = np.maximum.accumulate(np.where(valid, seconds[:, None], state.seen_s), axis=0)
        query = compute_query_markers(self._subject, frames, new, seconds[:, None] - last_s)
        priors = state.priors.then(self._priors.fit(new, query, slice(0, len(frames)), None))
        chain = Chain(self._subject, self._rig, [*frames[:1]] * HEAD + [*frames], priors, self._limits, head=state.belief)
        motion, _ = chain.solve(head.then(new), ITERATIONS)
        belief = chain.belief(motion, state.belief.energy)
        return FilterState(belief, priors.part(slice(-HEAD, None)), last_s[-1]), motion.part(slice(HEAD, None))

    def expected(self, state: FilterState) -> tuple[Floats, Floats]:
        """Return the markers of the last pose, (M, 3) [m], and their covariances, (M, 3, 3) [m^2]."""
        body, motion = self._subject, state.belief.motion
        covariance = np.linalg.inv(state.belief.hessian)[-N_VARIABLES:, -N_VARIABLES:]
        pose = np.concatenate([np.zeros((1, 3)), motion.joints[-1, 1:]])
        local, by_joints = compute_markers_and_jacobian(body.skeleton, pose, FULL, body.joint, body.offset_m)
        R = motion.rotation[-1]
        turned = local @ R.T
        J = np.concatenate([R @ by_joints, -skew_from_vector(turned), np.broadcast_to(np.eye(3), (len(local), 3, 3))], axis=2)
        return turned + motion.position_m[-1], J @ covariance @ np.swapaxes(J, 1, 2)


def extrapolate_motion(motion: TakeMotion, seconds: Floats) -> TakeMotion:
    """Return the poses at later times, as the last two move, ever more slowly."""
    ahead_s = seconds - motion.seconds[-1]
    share = ahead_s * np.exp(-ahead_s / FADE_S) / (motion.seconds[-1] - motion.seconds[-2])
    joints = motion.joints[-1] + share[:, None, None] * (motion.joints[-1] - motion.joints[-2])
    turn = rotvec_from_matrix(motion.rotation[-1] @ motion.rotation[-2].T)
    position_m = motion.position_m[-1] + share[:, None] * (motion.position_m[-1] - motion.position_m[-2])
    return TakeMotion(seconds, joints, matrix_from_rotvec(share[:, None] * turn) @ motion.rotation[-1], position_m, motion.fps)
