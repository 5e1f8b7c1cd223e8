"""Solves a take in windows, each going on from the one before and looking ahead into the next; memory does not grow with it.

How sure its poses are, given past and future, is Laplace's approximation of all frames together: the inverse of the Hessian of a
chain's energy is the covariance of all its poses, of which the blocks of single frames are needed (`banded`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from calibration.camera import Rig
from calibration.subject.subject import Subject
from capture.packets import MarkerFrame
from config.arrays import Floats, Ints
from config.joints import N_JOINTS
from database.geometry.kinematics import compute_forward_kinematics, compute_local_markers, compute_markers_and_jacobian
from database.geometry.rotations import skew_from_vector
from reconstruct.models.local.model import DOFS, FULL
from reconstruct.offline.chain import BLOCKS, CALIBRATED, EXACT, N_VARIABLES, WORN, Chain
from reconstruct.offline.forward_filter import TakeFilter
from reconstruct.offline.motion import TakeMotion
from reconstruct.offline.priors import NEIGHBOURS, NeighbourPriors, OwnExamples, compute_query_markers
from reconstruct.search.index import SearchIndex
from reconstruct.solve.certainty import MAX_ERROR_M, add_calibration_error
from reconstruct.solve.limits import compute_limits

ROUNDS = 3  # neighbours are searched anew with the poses of the round before; the take's own from the second on
ITERATIONS = 3
PART_ROUNDS = 2  # of a part that is tried; one more where it begins anew
WINDOW, AHEAD = 240, 150  # frames of a window, and of the next that are solved with it: more than a long gap
MAX_WIDER = 25.0  # by which the variances of neighbours' poses grow at most, where solved poses are farther from them
SAMPLE = 30_000  # examples that are enough for covariance and limits
# error = ERROR_SCALE laplace^BY_LAPLACE (strangeness + LEAST_STRANGE_RAD)^BY_STRANGENESS, as in `reconstruct/solve/certainty.py`.
ERROR_SCALE, BY_LAPLACE, BY_STRANGENESS, LEAST_STRANGE_RAD = 23.3, 1.06, 0.94, 0.02
CALIBRATION_FRAMES = 10.0  # that the calibrated place of a marker is worth
FAR_M = 0.06  # markers so much farther from where they are expected count half: wrong labels
Progress = Callable[[int, int | None], None]


@dataclass(frozen=True, slots=True)
class SolvedTake:
    """The motion of a take, its energy by frames (N,), and the nearest poses of the database to each, nearest first, (N, K).

    Attributes:
        error_m: expected errors of the joints, (N, J) [m], if they were asked for.
        offset_m: offsets of the markers in their joints' frames, (M, 3) [m], if they were estimated anew.
    """

    motion: TakeMotion
    energies: Floats
    rows: Ints
    error_m: Floats | None = None
    offset_m: Floats | None = None


class TakeSolver:
    """Solves takes of one subject."""

    def __init__(self, subject: Subject, index: SearchIndex, rig: Rig) -> None:
        examples = index.examples
        sample = examples.pose[:: max(1, len(examples) // SAMPLE)]
        self._subject, self._rig, self._limits = subject, rig, compute_limits(sample)
        covariance: Floats = np.cov(sample.T.astype(np.float64), bias=True)
        self._search, self._examples = index.search(), examples
        self._priors = NeighbourPriors(subject, examples, self._search, covariance)

    @property
    def subject(self) -> Subject:
        """Whose takes it solves."""
        return self._subject

    @property
    def filter(self) -> TakeFilter:
        """A filter that goes through takes of this subject a few frames at a time."""
        self._search.forget()
        return TakeFilter(self._subject, self._rig, self._priors, self._limits)

    def markers(self, motion: TakeMotion, offset_m: Floats | None = None) -> Floats:
        """Return the markers of poses in the world, (N, M, 3) [m]; offset_m: their offsets, by default as calibrated."""
        body = self._subject
        local = compute_local_markers(body.skeleton, motion.joints, body.joint, body.offset_m if offset_m is None else offset_m)
        return np.asarray(local @ np.swapaxes(motion.rotation, 1, 2) + motion.position_m[:, None])

    def solve(
        self,
        frames: Sequence[MarkerFrame],
        motion: TakeMotion,
        progress: Progress = lambda done, total: None,
        rounds: int = ROUNDS,
        errors: bool = False,
        worn: bool = False,
    ) -> SolvedTake:
        """Solve consecutive frames.

        Args:
            frames: the markers of each frame.
            motion: motion to begin with, such as the poses of live reconstruction.
            progress: called with the frames done and all frames.
            rounds: number of rounds of searching neighbours and minimising the energy.
            errors: say how far from the truth the joints may be.
            worn: find where the markers sit, too.
        """
        n = len(frames)
        rows, energies = np.zeros((n, NEIGHBOURS), np.int64), np.zeros(n)
        if n < BLOCKS:
            return SolvedTake(motion, energies, rows)
        starts = [*range(0, max(n - AHEAD, 1), WINDOW), n]
        wider, deviation_m, body = np.ones(DOFS), np.zeros((n, N_JOINTS)), self._subject
        for done in range(rounds):
            last_round = done == rounds - 1
            trust = EXACT if not worn else WORN if last_round else CALIBRATED
            self._search.forget()
            markers = compute_query_markers(body, frames, motion)
            others = OwnExamples(body, frames, motion) if done else None
            solved, departure, before = motion, np.zeros((2, DOFS)), np.zeros((0, N_VARIABLES, N_VARIABLES))
            for first, last in pairwise(starts):
                part = slice(max(first - BLOCKS + 1, 0), min(last + AHEAD, n))
                fixed = first - part.start
                priors = self._priors.fit(motion, markers, part, others)
                chain = Chain(body, self._rig, list(frames[part]), priors.widened(wider), self._limits, fixed, trust=trust)
                found, energies[part] = chain.solve(solved.part(part), ITERATIONS)
                solved = solved.with_part(part, found)
                departure += priors.departure(found)
                rows[part] = priors.rows
                if errors and last_round:
                    covariance = chain.covariance(found, before)
                    deviation_m[part] = compute_joint_deviations_m(self._subject, found, covariance)
                    before = covariance[fixed + last - first - BLOCKS + 1 : fixed + last - first]
                progress(done * n + last, rounds * n)
            # Where the performer moves as nobody in the database does, the neighbours say less than they seem to.
            motion, wider = solved, np.clip(departure[0] / departure[1], 1.0, MAX_WIDER)
            if worn and not last_round:
                body = replace(body, offset_m=estimate_marker_offsets_m(self._subject, body.offset_m, frames, motion))
        error_m = self._error_m(motion, rows, deviation_m) if errors else None
        return SolvedTake(motion, energies, rows, error_m, body.offset_m if worn else None)

    def _error_m(self, motion: TakeMotion, rows: Ints, deviation_m: Floats) -> Floats:
        """Return how far from the truth the joints may be, (N, J) [m]; rows: the nearest poses, (N, K)."""
        apart = motion.joints[:, 1:].reshape(len(motion), -1) - self._examples.pose[rows[:, 0]]
        return add_calibration_error(estimate_take_error_m(deviation_m, np.sqrt((apart**2).mean(axis=1))), self._subject)

    def solve_part(self, frames: Sequence[MarkerFrame], motion: TakeMotion, part: slice, anew: slice | None = None) -> SolvedTake:
        """Solve some frames of a take as if they were all there is; return that part.

        Args:
            frames: frames of the whole take, as the motion; those outside the part are examples.
            motion: the poses of the take.
            part: the frames wanted.
            anew: frames that begin with the neighbours' poses in place of the motion's.
        """
        given, solved, energies = list(frames[part]), motion.part(part), np.zeros(0)
        self._search.forget()
        for k in range(PART_ROUNDS + (anew is not None)):
            motion = motion.with_part(part, solved)
            others = OwnExamples(self._subject, frames, motion)
            priors = self._priors.fit(motion, compute_query_markers(self._subject, frames, motion), part, others)
            if k == 0 and anew is not None:
                which = slice(anew.start - part.start, anew.stop - part.start)
                solved = solved.with_joints(which, priors.pose[which])
            chain = Chain(self._subject, self._rig, given, priors, self._limits)
            solved, energies = chain.solve(solved, ITERATIONS)
        return SolvedTake(solved, energies, priors.rows)


def compute_joint_deviations_m(subject: Subject, motion: TakeMotion, covariance: Floats) -> Floats:
    """Return the standard deviations of the joints' positions, (N, J) [m].

    Args:
        subject: the performer.
        motion: the poses of the take.
        covariance: covariance of joint coordinates, rotation vector of the root about the world's axes and its position, (N, V,
            V).
    """
    joints, origins = np.arange(N_JOINTS), np.zeros((N_JOINTS, 3))
    result = np.empty((len(motion), N_JOINTS))
    for n, block in enumerate(covariance):
        pose = np.concatenate([np.zeros((1, 3)), motion.joints[n, 1:]])
        local, by_joints = compute_markers_and_jacobian(subject.skeleton, pose, FULL, joints, origins)
        R = motion.rotation[n].T  # in the root's frame, where the deviation is the same as in the world
        J = np.concatenate([by_joints, -skew_from_vector(local) @ R, np.broadcast_to(R, (N_JOINTS, 3, 3))], axis=2)
        flat = J.reshape(-1, J.shape[2])
        result[n] = np.sqrt(((flat @ block) * flat).sum(axis=1).reshape(-1, 3).sum(axis=1) / 3.0)
    return result


def estimate_take_error_m(deviation_m: Floats, strange_rad: Floats) -> Floats:
    """Return how far from the truth the joints of solved poses may be, (N, J) [m]: 68 % of them are nearer, 95 % twice as near.

    strange_rad: for every frame the root mean square of the joint coordinates' distance from the nearest example, (N,). The law
    is that of single frames; its constants are fitted to the tuning clips solved offline, people whom the database lacks
    counting half, as most performers are such.
    """
    error_m = ERROR_SCALE * deviation_m**BY_LAPLACE * (strange_rad[:, None] + LEAST_STRANGE_RAD) ** BY_STRANGENESS
    return np.asarray(np.minimum(error_m, MAX_ERROR_M))


def estimate_marker_offsets_m(subject: Subject, offset_m: Floats, frames: Sequence[MarkerFrame], motion: TakeMotion) -> Floats:
    """Return where the markers sit in their joints' frames, (M, 3) [m]: where the cameras saw them on bodies in solved poses.

    A T-pose leaves markers' places off by a centimetre or two, the same in all frames: no error of pixels, which frames average
    out. The mean of what was seen, with robust weights, and of the calibrated places.

    Args:
        subject: the performer.
        offset_m: expected offsets, (M, 3) [m].
        frames: the markers of each frame.
        motion: the poses of the take.
    """
    orientation, place_m = compute_forward_kinematics(subject.skeleton, motion.rotvec, motion.position_m)
    point_m, valid = np.array([frame.point_m for frame in frames]), np.array([frame.valid for frame in frames])
    from_joint = np.where(valid[..., None], point_m - place_m[:, subject.joint], 0.0)
    seen_m = np.einsum("nmji,nmj->nmi", orientation[:, subject.joint], from_joint)
    weight = valid / (1.0 + ((seen_m - offset_m) ** 2).sum(axis=2) / FAR_M**2)
    total = CALIBRATION_FRAMES * subject.offset_m + np.einsum("nm,nmi->mi", weight, seen_m)
    return np.asarray(total / (CALIBRATION_FRAMES + weight.sum(axis=0))[:, None])
