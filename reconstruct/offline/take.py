"""Solves a take in windows, each going on from the one before and looking ahead into the next; memory does not grow with it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from calibration.camera import Rig
from calibration.subject.subject import Subject
from capture.packets import MarkerFrame
from config.arrays import Floats, Ints
from config.joints import N_JOINTS
from database.geometry.kinematics import compute_local_markers
from reconstruct.models.local.model import DOFS
from reconstruct.offline.certainty import compute_joint_deviations_m, estimate_take_error_m
from reconstruct.offline.chain import BLOCKS, CALIBRATED, EXACT, N_VARIABLES, WORN, Chain
from reconstruct.offline.filtering import TakeFilter
from reconstruct.offline.motion import TakeMotion
from reconstruct.offline.priors import NEIGHBOURS, NeighbourPriors, OwnExamples, compute_query_markers
from reconstruct.offline.worn import estimate_marker_offsets_m
from reconstruct.search.index import SearchIndex
from reconstruct.solve.certainty import add_calibration_error
from reconstruct.solve.limits import compute_limits

ROUNDS = 3  # neighbours are searched anew with the poses of the round before; the take's own from the second on
ITERATIONS = 3
PART_ROUNDS = 2  # of a part that is tried; one more where it begins anew
WINDOW, AHEAD = 240, 150  # frames of a window, and of the next that are solved with it: more than a long gap
MAX_WIDER = 25.0  # by which the variances of neighbours' poses grow at most, where solved poses are farther from them
SAMPLE = 30_000  # examples that are enough for covariance and limits
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
        """What goes through takes of this subject a few frames at a time."""
        self._search.forget()
        return TakeFilter(self._subject, self._rig, self._priors, self._limits)

    def markers(self, motion: TakeMotion, offset_m: Floats | None = None) -> Floats:
        """Return the markers of poses in the world, (N, M, 3) [m]; offset_m: where they sit, default as calibrated."""
        body = self._subject
        local = compute_local_markers(body.skeleton, motion.joints, body.joint, body.offset_m if offset_m is None else offset_m)
        return np.asarray(local @ np.swapaxes(motion.rotation, 1, 2) + motion.position_m[:, None])

    def solve(
        self,
        frames: Sequence[MarkerFrame],
        motion: TakeMotion,
        progress: Progress = lambda done, total: None,
        rounds: int = ROUNDS,
        own: bool = False,
        errors: bool = False,
        worn: bool = False,
    ) -> SolvedTake:
        """Solve consecutive frames.

        Args:
            frames: the markers of each frame.
            motion: motion to begin with, such as the poses of live reconstruction.
            progress: called with the frames done and all frames.
            rounds: number of rounds of searching neighbours and minimising the energy.
            own: the motion is solved already, so that its frames are examples from the first round on.
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
            others = OwnExamples(body, frames, motion) if done or own else None
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
