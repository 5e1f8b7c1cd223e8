"""Fill-in: where markers are missing, pose models join the local model, as far as held-out checks favour them.

Every half second markers that are seen are hidden, a limb's in turn, and the frame is solved without them and without that limb's
past, with every pose model at several weights and without any. The model and weight that came nearest to the hidden markers are
used, limb by limb: a pose model that does not know the performer, or the motion, fades out.

What a pose model says of one frame it says of the next ones, too, and the belief carries it on: like the neighbours' poses a
prediction counts as new a few times a second only, whatever the rate of frames.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from calibration.subject.subject import Subject
from capture.packets import MarkerFrame
from config.arrays import Bools, Floats, Ints
from config.joints import JOINTS, N_JOINTS, PARENTS
from database.geometry.kinematics import compute_local_markers
from database.geometry.rotations import matrix_from_rotvec
from numerics.definite import compute_variances, factor_definite, solve_factored
from reconstruct.body_state import BodyState
from reconstruct.missing.pose_model import PartialFrame, PoseGaussian, PoseModel, join_prediction, weigh_prediction
from reconstruct.models.local.model import DOFS
from reconstruct.solve.certainty import compute_information
from reconstruct.solve.solver import FrameProblem, Solution

WEIGHTS = np.array([0.0, 0.016, 0.0625, 0.25, 1.0])  # of the pose model
PRIOR_COUNT, PRIOR_M = 0.5, 0.05  # before any check all weights are alike, as if each had an error of so much
KEPT = 0.9  # share of the record that is kept from one check of a limb to the next
OWN_SHARE = 0.5  # of a limb's own record in its choice; the rest is that of all limbs
MAX_LOSS_SHARE = 0.3  # of the loss without the pose model: a hidden limb lacks the past that helps the local model
MIN_SIGMAS, MIN_CHECKS = 2.0, 4.0  # standard errors by which a weight must have gained over all limbs, in how many checks
MAX_ERROR_M = 0.3  # larger errors count as this
EVERY_FRAMES = 30
FIRST_EVERY_FRAMES, FIRST_CHECKS = 10, 10  # the first checks come sooner
MIN_SEEN = 3  # markers that stay when a limb's are hidden
USUAL_SURPRISE = 1.0  # surprise from which on a prediction counts less
LIMBS = ("leftUpperLeg", "rightUpperLeg", "leftShoulder", "rightShoulder", "neck")


def find_joint_limbs() -> Ints:
    """Return the limb of every joint, (J,): its index in LIMBS, or their number for the trunk."""
    limb = np.full(N_JOINTS, len(LIMBS))
    for joint, name in enumerate(JOINTS):
        limb[joint] = LIMBS.index(name) if name in LIMBS else limb[PARENTS[joint]] if joint else limb[joint]
    return limb


LIMB = find_joint_limbs()


@dataclass(frozen=True, slots=True)
class HeldOutCheck:
    """A frame that was solved without some of its markers: hidden, (M,)."""

    problem: FrameProblem
    solution: Solution
    frame: MarkerFrame
    hidden: Bools


@dataclass
class HeldOutRecord:
    """Errors of hidden markers with a pose model: sums of squares by limb and weight, (L + 1, W) [m^2]; how many count, (L +
    1,).

    Attributes:
        gain_m2, gain2_m4: sums over all limbs of the gain of each weight over none, (W,), and of its square.
        n_checks: number of checks behind them.
    """

    loss_m2: Floats = field(default_factory=lambda: np.full((len(LIMBS) + 1, len(WEIGHTS)), PRIOR_COUNT * PRIOR_M**2))
    count: Floats = field(default_factory=lambda: np.full(len(LIMBS) + 1, PRIOR_COUNT))
    gain_m2: Floats = field(default_factory=lambda: np.zeros(len(WEIGHTS)))
    gain2_m4: Floats = field(default_factory=lambda: np.zeros(len(WEIGHTS)))
    n_checks: float = 0.0

    def add(self, limb: int, error_m: Floats) -> None:
        """Add the errors of a limb's hidden markers at every weight, (H, W) [m]."""
        loss = (np.minimum(error_m, MAX_ERROR_M) ** 2).mean(axis=0)
        self.loss_m2[limb] = KEPT * self.loss_m2[limb] + loss
        self.count[limb] = KEPT * self.count[limb] + 1.0
        gain, kept = loss[0] - loss, KEPT ** (1.0 / len(LIMBS))
        self.gain_m2, self.gain2_m4 = kept * self.gain_m2 + gain, kept * self.gain2_m4 + gain**2
        self.n_checks = kept * self.n_checks + 1.0

    def weights(self) -> tuple[Floats, Floats]:
        """Return the weight of the model for every limb and the trunk, and the share of the loss it leaves, (L + 1,) each."""
        all_limbs = self.loss_m2.sum(axis=0) / self.count.sum()
        loss = OWN_SHARE * self.loss_m2 / self.count[:, None] + (1.0 - OWN_SHARE) * all_limbs
        best = np.argmin(loss, axis=1)
        share = loss[np.arange(len(loss)), best] / loss[:, 0]
        return np.where(self._significant()[best] & (share < MAX_LOSS_SHARE), WEIGHTS[best], 0.0), share

    def _significant(self) -> Bools:
        """Return which weights have gained by more than chance, (W,)."""
        if self.n_checks < MIN_CHECKS:
            return np.zeros(len(WEIGHTS), bool)
        mean = self.gain_m2 / self.n_checks
        variance = np.maximum(self.gain2_m4 / self.n_checks - mean**2, 0.0)
        return np.asarray(mean > MIN_SIGMAS * np.sqrt(variance / self.n_checks))


class FillIn:
    """Joins pose models with the local model of frames that lack markers.

    Args:
        models: pose models by name.
        records: the errors of their held-out checks so far, by the same names.
        every_frames: number of frames from one check to the next.
    Attributes:
        pending: a check that is evaluated with the next frame.
    """

    def __init__(
        self,
        models: Mapping[str, PoseModel],
        subject: Subject,
        records: Mapping[str, HeldOutRecord] | None = None,
        every_frames: int = EVERY_FRAMES,
    ) -> None:
        self.models = dict(models)
        self.records = {name: (records or {}).get(name) or HeldOutRecord() for name in models}
        self._subject, self._every_frames = subject, every_frames
        self._limb = LIMB[subject.joint]
        self._since_check = self._next_limb = self._n_checks = 0
        self.pending: HeldOutCheck | None = None

    def lose(self) -> None:
        """Forget the pose models' past after a loss; the records stay."""
        for model in self.models.values():
            model.forget()

    def forget(self) -> None:
        """Forget all frames; the records stay: they are of the performer, not of the frames."""
        self.lose()
        self._since_check = self._next_limb = 0
        self.pending = None

    def accept(self, state: BodyState) -> None:
        """Append the pose of the last frame, and evaluate the pending check."""
        for model in self.models.values():
            model.accept(state)
        check, self.pending = self.pending, None
        if check is not None:
            self._evaluate(check)

    def weights(self) -> dict[str, Floats]:
        """Return each model's weights for every limb and the trunk, (L + 1,); only the model with the best checks has one."""
        found = {name: record.weights() for name, record in self.records.items()}
        best = np.argmin([np.where(weight > 0.0, share, np.inf) for weight, share in found.values()], axis=0)
        return {name: np.where(best == n, weight, 0.0) for n, (name, (weight, _)) in enumerate(found.items())}

    def fill(self, problem: FrameProblem, solution: Solution, t_ns: int, share: float) -> FrameProblem | None:
        """Join the predictions with a frame's problem; return None if none has a weight.

        Args:
            problem: problem of the frame without the pose models.
            solution: solution of that problem.
            t_ns: time of the frame.
            share: share of a prediction that counts as new in this frame.
        """
        used = {name: weight for name, weight in self.weights().items() if weight.any()}
        if not used or share <= 0.0:
            return None
        partial, filled = _build_partial_frame(problem, solution, compute_information(problem, solution), t_ns), None
        for name, weight in used.items():
            prediction = _ask_pose_model(self.models[name], partial, held_out=False)
            if prediction is not None:
                by_joint = np.repeat(weight[LIMB[1:]], 3) / max(prediction.surprise / USUAL_SURPRISE, 1.0) ** 2
                base = problem if filled is None else filled
                model, root = join_prediction(base.model, base.root, weigh_prediction(prediction, share * by_joint))
                filled = replace(problem, model=model, root=root)
        return filled

    def hidden(self, frame: MarkerFrame) -> Bools | None:
        """Return the markers to hide for a check of this frame, (M,); None if none is due or too few markers would stay."""
        self._since_check += 1
        due = FIRST_EVERY_FRAMES if self._n_checks < FIRST_CHECKS else EVERY_FRAMES
        if self._since_check < min(self._every_frames, due):
            return None
        torso = self._subject.markers.torso
        for _ in range(len(LIMBS)):
            self._next_limb = (self._next_limb + 1) % len(LIMBS)
            hidden = frame.valid & (self._limb == self._next_limb) & ~torso
            left = frame.valid & ~hidden
            if hidden.any() and left.sum() >= MIN_SEEN and (left & torso).any():
                self._since_check, self._n_checks = 0, self._n_checks + 1
                return np.asarray(hidden)
        return None

    def moved_by(self, hidden: Bools) -> Bools:
        """Return which joint coordinates, (D,), are those of the limbs of hidden markers, (M,)."""
        return np.asarray(np.repeat(np.isin(LIMB[1:], self._limb[hidden]), 3))

    def _evaluate(self, check: HeldOutCheck) -> None:
        """Add a check to the records."""
        A = compute_information(check.problem, check.solution)
        partial = _build_partial_frame(check.problem, check.solution, A, check.frame.t_capture_ns)
        for name, model in self.models.items():
            prediction = _ask_pose_model(model, partial, held_out=True)
            error_m = None if prediction is None else self._errors_m(check, A, prediction)
            if error_m is not None:
                self.records[name].add(int(self._limb[check.hidden][0]), error_m)

    def _errors_m(self, check: HeldOutCheck, A: Floats, prediction: PoseGaussian) -> Floats | None:
        """Return the errors of a check's hidden markers at every weight of a prediction, (H, W) [m]; None: not finite."""
        weights = WEIGHTS / max(prediction.surprise / USUAL_SURPRISE, 1.0) ** 2
        apart = prediction.expected - check.solution.joints[1:].ravel()
        found = [_compute_newton_step(A, weight * prediction.precision, apart) for weight in weights[1:]]
        steps = np.array([np.zeros(DOFS + 6), *(step for step in found if step is not None)])  # no step without the pose model
        if len(steps) < len(WEIGHTS):
            return None
        moved = self._moved(check.solution, steps)
        error_m = np.linalg.norm(moved[:, check.hidden] - check.frame.point_m[check.hidden], axis=2).T
        return error_m if np.isfinite(error_m).all() else None

    def _moved(self, solution: Solution, steps: Floats) -> Floats:
        """Return the markers of a solution after steps in joints, rotation and position, (W, D + 6); world, (W, M, 3) [m]."""
        joints = np.tile(solution.joints, (len(steps), 1, 1))
        joints[:, 1:] += steps[:, :DOFS].reshape(len(steps), -1, 3)
        local = compute_local_markers(self._subject.skeleton, joints, self._subject.joint, self._subject.offset_m)
        R = matrix_from_rotvec(steps[:, DOFS : DOFS + 3]) @ solution.rotation
        return np.asarray(local @ np.swapaxes(R, 1, 2) + (solution.position_m + steps[:, DOFS + 3 :])[:, None])


def _build_partial_frame(problem: FrameProblem, solution: Solution, A: Floats, t_ns: int) -> PartialFrame | None:
    """Return what pose models are told of a frame, None where rounding leaves its information, (D + 6, D + 6), no inverse."""
    L = factor_definite(A)
    if L is None:
        return None
    state = BodyState(t_ns, solution.joints, solution.rotation, solution.position_m)
    return PartialFrame(problem.observations, state, compute_variances(L)[:DOFS])


def _ask_pose_model(model: PoseModel, frame: PartialFrame | None, held_out: bool) -> PoseGaussian | None:
    """Return a model's prediction, None where it gives none or no finite one."""
    prediction = None if frame is None else model.predict(frame, held_out)
    return prediction if prediction is not None and prediction.is_finite else None


def _compute_newton_step(A: Floats, precision: Floats, apart: Floats) -> Floats | None:
    """Return Newton's step from a solution to the minimum with a prediction, (D + 6,); None where rounding leaves no minimum.

    Args:
        A: information of the solution, (D + 6, D + 6).
        precision: of the prediction, (D, D).
        apart: from the solution's joints to those predicted, (D,) [rad].
    """
    total, gradient = A.copy(), np.zeros(len(A))
    total[:DOFS, :DOFS] += precision
    gradient[:DOFS] = precision @ apart
    L = factor_definite(total)
    return None if L is None else solve_factored(L, gradient)
