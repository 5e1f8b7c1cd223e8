"""Motion from the paths of a few points: the likeliest poses of a style in sequence (Grochow et al. 2004, section 7.2).

Minimised is the sum over the frames of L_IK(x_n, y_n), with the velocities and accelerations in y_n, under the constraints of
each. Frame by frame from the first this fails: what one pose lacks the next ones take for movement. Hence two steps over the
whole motion:

1. Every frame is posed alone, and from its neighbours. Of these candidates the path is taken with the least energies and the
   least movement from frame to frame (Viterbi 1967).
2. Sweeps forwards and backwards pose each frame again, with velocity and acceleration from the previous frames, and drawn to
   where the following frames expect it (`pull`): coordinate descent on the sum.

Frames are features.STEP_S apart; `curves.resample_motion` gives the motion at other rates.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol, Self

import numpy as np

from config.arrays import Floats
from config.joints import N_JOINTS
from database.geometry.rotations import compute_geodesic_rad, matrix_from_rotvec
from database.geometry.skeleton import Skeleton
from reconstruct.constraints import Constraints, FixedJoints
from reconstruct.models.style.features import N_STATIC, compute_static_features
from reconstruct.models.style.model import Style
from reconstruct.models.style.synthesis.problem import build_targets, measure_constraint_errors
from reconstruct.models.style.synthesis.pull import ExpectedStep, StepPredictor, pull_joints, pull_root
from reconstruct.models.style.synthesis.synthesizer import PastFeatures, Synthesis

ROOT_STEP_M, ROOT_STEP_RAD = 0.1, 0.15  # motion of the root within a step, which styles do not model
MIN_SPREAD = 1e-4  # of a velocity that a style models
SWEEPS = 4
FollowProgress = Callable[[int, int], None]  # poses done, poses in all


class SinglePoseSynthesizer(Protocol):
    """What finds single poses: a Synthesizer."""

    styles: tuple[Style, ...]
    shares: tuple[float, ...]
    skeleton: Skeleton

    def synthesize(self, constraints: Constraints, start: Synthesis | None = None, past: PastFeatures | None = None) -> Synthesis:
        """Return the pose.

        Args:
            constraints: constraints that the pose is to meet.
            start: pose the search begins at, or None.
            past: features of the frames before, or None.
        """
        ...

    def with_shares(self, shares: Sequence[float]) -> Self:
        """Return the same with other shares of the styles."""
        ...


def follow_constraints(
    synthesizer: SinglePoseSynthesizer,
    constraints: Sequence[Constraints],
    shares: Floats | None = None,
    progress: FollowProgress | None = None,
) -> tuple[Synthesis, ...]:
    """Return the motion that meets the constraints of each of N frames, STEP_S apart.

    Args:
        synthesizer: synthesizer of single poses.
        constraints: constraints of each frame.
        shares: shares of the styles in each frame, (N, S), scaled to a sum of 1; None for the synthesizer's own.
        progress: called with the frames done and all frames, or None.
    """
    work = _MotionWork(synthesizer, constraints, shares, progress)
    poses = choose_best_path(work.candidates(), synthesizer.styles, [each.shares for each in work.synthesizers])
    for number in range(SWEEPS):
        poses = work.sweep(poses, backwards=number % 2 == 1)
    return tuple(_add_constraint_errors(synthesizer.skeleton, pose, own) for pose, own in zip(poses, constraints, strict=True))


def choose_best_path(
    candidates: Sequence[Sequence[Synthesis]], styles: Sequence[Style], shares: Sequence[Sequence[float]]
) -> list[Synthesis]:
    """Return one of the candidates of each frame.

    The cost from one pose to the next is |v|^2 / 2 in standard deviations of the style's velocities, comparable with the
    energies, which are negative logarithms.

    Args:
        candidates: one or more candidates for each of N frames.
        styles: styles of the candidates.
        shares: shares of the styles in each frame.
    """
    if not candidates:
        return []
    cost = _collect_energies(candidates[0])
    came_from = []
    for n in range(1, len(candidates)):
        total = cost[:, None] + _compute_move_costs(candidates[n - 1], candidates[n], styles, shares[n])
        came_from.append(total.argmin(axis=0))
        cost = total.min(axis=0) + _collect_energies(candidates[n])
    rows = [int(cost.argmin())]
    for back in reversed(came_from):
        rows.append(int(back[rows[-1]]))
    return [frame[row] for frame, row in zip(candidates, reversed(rows), strict=True)]


def _collect_energies(poses: Sequence[Synthesis]) -> Floats:
    """Return the energies of poses."""
    return np.array([pose.energy for pose in poses])


def _compute_move_costs(
    before: Sequence[Synthesis], after: Sequence[Synthesis], styles: Sequence[Style], shares: Sequence[float]
) -> Floats:
    """Return the cost of moving from each pose to each, (B, A)."""
    precision = np.zeros(N_STATIC)
    for style, share in zip(styles, shares, strict=True):
        velocity = slice(N_STATIC, 2 * N_STATIC)
        precision += share * style.modelled[velocity] / np.maximum(style.spread[velocity], MIN_SPREAD) ** 2
    first, second = (np.array([pose.rotvec for pose in poses]) for poses in (before, after))
    move = compute_static_features(second)[None] - compute_static_features(first)[:, None]
    cost = (move**2 * precision)[..., : N_STATIC - 3].sum(axis=-1)
    angle = compute_geodesic_rad(matrix_from_rotvec(first[:, None, 0]), matrix_from_rotvec(second[None, :, 0]))
    shift = np.array([pose.root_m for pose in after])[None] - np.array([pose.root_m for pose in before])[:, None]
    cost += (angle / ROOT_STEP_RAD) ** 2 + (shift**2).sum(axis=-1) / ROOT_STEP_M**2
    return np.asarray(0.5 * cost)


class _MotionWork:
    """The frames of a motion, the synthesizer of each, and the progress."""

    def __init__(
        self,
        synthesizer: SinglePoseSynthesizer,
        constraints: Sequence[Constraints],
        shares: Floats | None,
        progress: FollowProgress | None,
    ) -> None:
        self.constraints, self.progress = constraints, progress
        self.synthesizers = [synthesizer] * len(constraints) if shares is None else _assign_synthesizers(synthesizer, shares)
        self.predictor = StepPredictor(synthesizer.styles)
        self.done, self.total = 0, (3 + SWEEPS) * len(constraints) - 2

    def candidates(self) -> list[list[Synthesis]]:
        """Return for every frame its pose alone, and those found from its neighbours'."""
        alone = [self._synthesize(n, self.constraints[n]) for n in range(len(self.constraints))]
        found = [[pose] for pose in alone]
        for n in range(1, len(alone)):
            found[n].append(self._synthesize(n, self.constraints[n], alone[n - 1]))
            found[n - 1].append(self._synthesize(n - 1, self.constraints[n - 1], alone[n]))
        return found

    def sweep(self, poses: Sequence[Synthesis], backwards: bool) -> list[Synthesis]:
        """Pose every frame again, given the others."""
        result = list(poses)
        static = compute_static_features(np.array([pose.rotvec for pose in result]).reshape(-1, N_JOINTS, 3))
        expected = [self._expected(n, pose) for n, pose in enumerate(result)]
        for n in reversed(range(len(result))) if backwards else range(len(result)):
            past = PastFeatures(static[n - 1], static[n - 2]) if n >= 2 else None
            result[n] = self._synthesize(n, self._drawn(n, result, static, expected), result[n], past)
            static[n] = compute_static_features(result[n].rotvec)
            expected[n] = self._expected(n, result[n])
        return result

    def _drawn(self, n: int, poses: Sequence[Synthesis], static: Floats, expected: Sequence[ExpectedStep]) -> Constraints:
        """Return the constraints of a frame with those of its neighbours."""
        own, fixed = self.constraints[n], self.constraints[n].fixed
        pulled = pull_joints(n, static, expected, fixed.joint)
        both = FixedJoints(
            np.concatenate([fixed.joint, pulled.joint]),
            np.concatenate([fixed.rotvec, pulled.rotvec]),
            np.concatenate([fixed.sigma_rad, pulled.sigma_rad]),
        )
        return replace(own, fixed=both, root=pull_root(n, poses, own.root))

    def _expected(self, n: int, pose: Synthesis) -> ExpectedStep:
        """Return the velocity and acceleration expected at a pose's latent points."""
        return self.predictor.at(pose.latent, self.synthesizers[n].shares)

    def _synthesize(
        self, n: int, constraints: Constraints, start: Synthesis | None = None, past: PastFeatures | None = None
    ) -> Synthesis:
        """Pose one frame."""
        self.done += 1
        if self.progress is not None:
            self.progress(self.done, self.total)
        return self.synthesizers[n].synthesize(constraints, start, past)


def _add_constraint_errors(skeleton: Skeleton, pose: Synthesis, constraints: Constraints) -> Synthesis:
    """Return a pose with how well it meets its own constraints, without its neighbours'."""
    errors = measure_constraint_errors(skeleton, pose.rotvec, pose.root_m, constraints, build_targets(constraints))
    return replace(pose, **errors._asdict())


def _assign_synthesizers(synthesizer: SinglePoseSynthesizer, shares: Floats) -> list[SinglePoseSynthesizer]:
    """Return the synthesizer of every frame; neighbours with equal shares have the same."""
    found: list[SinglePoseSynthesizer] = []
    for n, row in enumerate(shares):
        same = n > 0 and np.array_equal(row, shares[n - 1])
        found.append(found[-1] if same else synthesizer.with_shares(tuple(row.tolist())))
    return found
