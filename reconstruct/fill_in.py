"""Fill-in while capturing: where markers are missing, a pose model's guess joins the local model's, as far as it has proved true.

Whether it has, rehearsals tell: every half second markers that are seen are hidden, a limb's in turn, and the frame is solved
without them and without that limb's past, with the guess at several weights and with none. The weight that has been nearest to
the hidden markers is used, limb by limb. So a pose model that does not know the performer, or that what the performer now does,
fades out.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from calibration.subject import Subject
from capture.packets import Bools, MarkerFrame
from config.joints import JOINTS, N_JOINTS, PARENTS
from database.kinematics import local_markers
from database.rotations import Floats, matrix_from_rotvec
from reconstruct.certainty import Problem, information, marker_sigma_m
from reconstruct.cholesky import factored, solved, variances
from reconstruct.history import Moment
from reconstruct.local_model import DOFS, LocalModel
from reconstruct.pose_model import Guess, PoseModel, Seen, joined, weighted
from reconstruct.solve import Solution

WEIGHTS = np.array([0.0, 0.016, 0.0625, 0.25, 1.0])  # of a guess
AT_FIRST_COUNT, AT_FIRST_M = 0.5, 0.05  # before there are rehearsals all weights are alike, as if each had missed by so much
KEPT = 0.9  # of the record, from one rehearsal of a limb to the next
OWN = 0.5  # share of a limb's own record in its choice; the rest is that of all limbs
CAREFUL = 0.5  # a guess must leave this share of the loss at most: a rehearsed limb lacks the past that helps the local model
MARGIN, LEAST_TOLD = 2.0, 4.0  # standard errors by which a weight must have gained over all limbs, and in how many rehearsals
MOST_M = 0.3  # an error beyond this says no more
EVERY_FRAMES = 30
FIRST_FRAMES, FIRST = 10, 10  # the first rehearsals come sooner, so many of them
LEAST_SEEN = 3  # markers that stay when a limb's are hidden
SURE = 1.0  # surprise from which on a guess counts less
LIMBS = ("leftUpperLeg", "rightUpperLeg", "leftShoulder", "rightShoulder", "neck")


def limb_of_joints() -> NDArray[np.int64]:
    """Give the limb of every joint, (J,): its place in LIMBS, or their number for the trunk."""
    limb = np.full(N_JOINTS, len(LIMBS))
    for joint, name in enumerate(JOINTS):
        limb[joint] = LIMBS.index(name) if name in LIMBS else limb[PARENTS[joint]] if joint else limb[joint]
    return limb


LIMB = limb_of_joints()


@dataclass(frozen=True, slots=True)
class Filled:
    """A local model with the guess in it, coordinates to start from, (D,), and how sure every marker will be, (M,) [m]."""

    model: LocalModel
    start: Floats
    sigma_m: Floats


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """A frame that was solved without some of its markers: hidden, (M,)."""

    problem: Problem
    solution: Solution
    frame: MarkerFrame
    hidden: Bools


@dataclass
class Record:
    """How far markers were missed in rehearsals: sums of squares by limb and weight, (L + 1, W) [m^2], and how many count.

    gain_m2, gain2_m4: sums over all limbs of what every weight gained against none, (W,), and of its square; told: of how many.
    """

    loss_m2: Floats = field(default_factory=lambda: np.full((len(LIMBS) + 1, len(WEIGHTS)), AT_FIRST_COUNT * AT_FIRST_M**2))
    count: Floats = field(default_factory=lambda: np.full(len(LIMBS) + 1, AT_FIRST_COUNT))

    gain_m2: Floats = field(default_factory=lambda: np.zeros(len(WEIGHTS)))
    gain2_m4: Floats = field(default_factory=lambda: np.zeros(len(WEIGHTS)))
    told: float = 0.0

    def add(self, limb: int, error_m: Floats) -> None:
        """Take the errors of a limb's hidden markers at every weight, (H, W) [m]."""
        loss = (np.minimum(error_m, MOST_M) ** 2).mean(axis=0)
        self.loss_m2[limb] = KEPT * self.loss_m2[limb] + loss
        self.count[limb] = KEPT * self.count[limb] + 1.0
        gain, kept = loss[0] - loss, KEPT ** (1.0 / len(LIMBS))
        self.gain_m2, self.gain2_m4 = kept * self.gain_m2 + gain, kept * self.gain2_m4 + gain**2
        self.told = kept * self.told + 1.0

    def weights(self) -> Floats:
        """Give the weight of a guess for every limb and the trunk, (L + 1,)."""
        all_limbs = self.loss_m2.sum(axis=0) / self.count.sum()
        loss = OWN * self.loss_m2 / self.count[:, None] + (1.0 - OWN) * all_limbs
        best = np.argmin(loss, axis=1)
        worth = self._surely_gains()[best] & (loss[np.arange(len(loss)), best] < CAREFUL * loss[:, 0])
        return np.where(worth, WEIGHTS[best], 0.0)

    def _surely_gains(self) -> Bools:
        """Tell which weights have gained by more than chance, (W,)."""
        if self.told < LEAST_TOLD:
            return np.zeros(len(WEIGHTS), bool)
        mean = self.gain_m2 / self.told
        variance = np.maximum(self.gain2_m4 / self.told - mean**2, 0.0)
        return np.asarray(mean > MARGIN * np.sqrt(variance / self.told))


class Filler:
    """Joins a pose model's guesses to the local model of frames that lack markers.

    record: what is known of how good they are; every_frames: how often that is tried.
    """

    def __init__(
        self, model: PoseModel, subject: Subject, record: Record | None = None, every_frames: int = EVERY_FRAMES
    ) -> None:
        self.model, self.record = model, record or Record()
        self._subject, self._every_frames = subject, every_frames
        self._limb = LIMB[subject.joint]
        self._waited = self._turn = self._rehearsals = 0
        self._unjudged: Rehearsal | None = None

    def lose(self) -> None:
        """Go on after a loss: the past says nothing of what comes; the record stays."""
        self.model.forget()

    def forget(self) -> None:
        """Start anew, as with the first frame; the record stays: it is of the performer, not of the moment."""
        self.model.forget()
        self._waited = self._turn = 0
        self._unjudged = None

    def accept(self, moment: Moment) -> None:
        """Take the pose that was made of the last frame, and judge what was rehearsed on the one before."""
        self.model.accept(moment)
        rehearsal, self._unjudged = self._unjudged, None
        if rehearsal is not None:
            self._judge(rehearsal)

    def fill(self, problem: Problem, solution: Solution, t_ns: int) -> Filled | None:
        """Join the guess to a frame's local model; None where it is worth nothing. solution: without the guess."""
        weight = self.record.weights()
        if not weight.any():
            return None
        A = information(problem, solution)
        guess = self._guess(problem, solution, A, t_ns, rehearsal=False)
        if guess is None:
            return None
        by_joint = np.repeat(weight[LIMB[1:]], 3) / max(guess.surprise / SURE, 1.0) ** 2
        guess = weighted(guess, by_joint)
        found = _step(A, guess.precision, _pull(guess, solution))
        if found is None:
            return None
        step, factor = found
        model = joined(problem.model, guess)
        start = (solution.joints - model.mean)[1:].ravel() + step[:DOFS]
        return Filled(model, start, marker_sigma_m(problem, solution, factor))

    def rehearsed(self, frame: MarkerFrame) -> Bools | None:
        """Give the markers to hide of this frame for a rehearsal, (M,), None if none is due or too few would stay."""
        self._waited += 1
        if self._waited < min(self._every_frames, FIRST_FRAMES if self._rehearsals < FIRST else EVERY_FRAMES):
            return None
        for _ in range(len(LIMBS)):
            self._turn = (self._turn + 1) % len(LIMBS)
            hidden = frame.valid & (self._limb == self._turn) & ~self._subject.markers.torso
            left = frame.valid & ~hidden
            if hidden.any() and left.sum() >= LEAST_SEEN and (left & self._subject.markers.torso).any():
                self._waited, self._rehearsals = 0, self._rehearsals + 1
                return np.asarray(hidden)
        return None

    def moved_by(self, hidden: Bools) -> Bools:
        """Tell which joint coordinates, (D,), are those of the limbs of hidden markers, (M,)."""
        return np.asarray(np.repeat(np.isin(LIMB[1:], self._limb[hidden]), 3))

    def judge(self, problem: Problem, solution: Solution, frame: MarkerFrame, hidden: Bools) -> None:
        """Have a rehearsal judged with the next frame, so that none pays for all: solved without the hidden markers, (M,)."""
        self._unjudged = Rehearsal(problem, solution, frame, hidden)

    def _judge(self, r: Rehearsal) -> None:
        """Take a rehearsal into the record."""
        A = information(r.problem, r.solution)
        guess = self._guess(r.problem, r.solution, A, r.frame.t_capture_ns, rehearsal=True)
        if guess is None:
            return
        weights, pull = WEIGHTS / max(guess.surprise / SURE, 1.0) ** 2, _pull(guess, r.solution)
        found = [_step(A, weight * guess.precision, weight * pull) for weight in weights[1:]]
        steps = np.array([np.zeros(DOFS + 6), *(step for step, _ in filter(None, found))])  # no step without a guess
        if len(steps) < len(WEIGHTS):
            return
        error_m = np.linalg.norm(self._moved(r.solution, steps)[:, r.hidden] - r.frame.point_m[r.hidden], axis=2).T
        if np.isfinite(error_m).all():
            self.record.add(int(self._limb[r.hidden][0]), error_m)

    def _guess(self, problem: Problem, solution: Solution, A: Floats, t_ns: int, rehearsal: bool) -> Guess | None:
        """Ask the pose model; None where it gives no numbers."""
        moment = Moment(t_ns, solution.joints, solution.rotation, solution.position_m)
        L = factored(A)
        seen = None if L is None else Seen(problem.observations, moment, variances(L)[:DOFS])
        guess = None if seen is None else self.model.guess(seen, rehearsal)
        if guess is None or not (np.isfinite(guess.expected).all() and np.isfinite(guess.precision).all()):
            return None
        return guess

    def _moved(self, solution: Solution, steps: Floats) -> Floats:
        """Give the markers of a solution after steps in joints, turn and place, (W, D + 6), in the world, (W, M, 3) [m]."""
        joints = np.tile(solution.joints, (len(steps), 1, 1))
        joints[:, 1:] += steps[:, :DOFS].reshape(len(steps), -1, 3)
        local = local_markers(self._subject.skeleton, joints, self._subject.joint, self._subject.offset_m)
        R = matrix_from_rotvec(steps[:, DOFS : DOFS + 3]) @ solution.rotation
        return np.asarray(local @ np.swapaxes(R, 1, 2) + (solution.position_m + steps[:, DOFS + 3 :])[:, None])


def _pull(guess: Guess, solution: Solution) -> Floats:
    """Give the gradient by which a guess pulls a solution's joints, (D,)."""
    return np.asarray(guess.precision @ (guess.expected - solution.joints[1:].ravel()))


def _step(A: Floats, precision: Floats, pull: Floats) -> tuple[Floats, Floats] | None:
    """Give Newton's step from a solution to the minimum with a guess, (D + 6,), and L of the information L L' there.

    A: information of the solution; precision and pull: of the guess, (D, D) and (D,). None where rounding leaves no minimum.
    """
    total, gradient = A.copy(), np.zeros(len(A))
    total[:DOFS, :DOFS] += precision
    gradient[:DOFS] = pull
    L = factored(total)
    return None if L is None else (solved(L, gradient), L)
