"""Synthesis: the likeliest pose of a style that meets constraints (Grochow et al. 2004, section 6).

    L_IK(x, y) = |W (y - f(x))|^2 / (2 s2(x)) + D/2 ln s2(x) + 1/2 |x|^2
    minimise over x_0.., q:  sum_s share_s L_IK_s(x_s, y(q)) + constraints

first with the annealed model, then with one in between, last with the learned one.
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np

from config.arrays import Floats
from database.geometry.rotations import matrix_from_rotvec, rotvec_from_matrix
from database.geometry.skeleton import PARENT_ARRAY, REFERENCE, Skeleton
from reconstruct.constraints import Constraints
from reconstruct.models.style.features import N_ANGLES, N_FEATURES, UP
from reconstruct.models.style.model import Style, StyleError, build_annealing_evaluators
from reconstruct.models.style.synthesis.arrays import JointTree, LikelihoodModel, SynthesisMinimum, SynthesisPrior, SynthesisState
from reconstruct.models.style.synthesis.likelihood import ENERGY, VARIANCE
from reconstruct.models.style.synthesis.minimise import minimise_synthesis_energy
from reconstruct.models.style.synthesis.problem import (
    SynthesisProblem,
    add_fixed_joints,
    build_likelihood_model,
    build_targets,
    measure_constraint_errors,
    stack_models,
    weigh_unmodelled_features,
)
from reconstruct.models.style.synthesis.start import ActivePoses

IN_SPACE, IN_IMAGES = (3, 2), (10, 3)  # number of starts of annealing, and of annealed minima that are followed to the end
STEPS = (6, 4, 60)
LIVE_STEPS = 12  # that a live frame has time for
LEARNED = 2  # the last step of annealing
TOLERANCES = (1.0, 0.5, 1e-3)  # nats
SAME = 0.2  # of the distance between starts: annealed minima this near are the same


@dataclass(frozen=True, slots=True)
class PastFeatures:
    """Static features (S,) of the poses one and two steps (`features.STEP_S`) before."""

    before: Floats
    earlier: Floats


@dataclass(frozen=True, slots=True)
class Synthesis:
    """A synthesized pose.

    Attributes:
        rotvec: charted rotation vectors, (J, 3) [rad], row 0 the root's orientation.
        root_m: position of the root, (3,) [m].
        latent: x of each style, (Q,).
        energy: energy of all terms.
        likelihood: the weighted sum of L_IK.
        variance: s2(x) relative to alpha + 1/beta, from near 0 beside training poses to 1 far from all.
        error_m: distances of the handles from their targets, (P,), and error_px: of their image points, (2, P), 0 without a
            target.
        reached: all constraints are met within tolerance, else they contradict each other or are out of reach, and this is the
            best pose.
        converged: the minimum was found within the steps granted.
    """

    rotvec: Floats
    root_m: Floats
    latent: tuple[Floats, ...]
    energy: float
    likelihood: float
    variance: float
    error_m: Floats
    error_px: Floats
    reached: bool
    converged: bool


class Synthesizer:
    """Poses one skeleton in one style or between several (Grochow et al. 2004, sections 6 and 7; eq. 9)."""

    def __init__(self, styles: Sequence[Style], shares: Sequence[float] = (1.0,), skeleton: Skeleton | None = None) -> None:
        """Prepare. skeleton: to be posed, the first style's if None. Raises StyleError: invalid shares, or a style of other
        features."""
        self.styles, self.shares = tuple(styles), _check_shares(styles, shares)
        self.skeleton = styles[0].skeleton if skeleton is None else skeleton
        self._evaluators = tuple(build_annealing_evaluators(style) for style in self.styles)
        self._still, self._moving = self._models(False), self._models(True)
        self._first = np.cumsum([0, *(style.n_latent for style in self.styles)]).astype(np.int64)
        self._unmodelled = weigh_unmodelled_features(self.styles, self.shares)
        self._active = ActivePoses(self.styles, self.shares, self.skeleton)
        self._tree = JointTree(PARENT_ARRAY, self.skeleton.offsets_m, REFERENCE)

    def with_shares(self, shares: Sequence[float]) -> "Synthesizer":
        """Return a synthesizer of the same styles with other shares."""
        other = copy(self)
        other.shares = _check_shares(self.styles, shares)
        other._unmodelled = weigh_unmodelled_features(self.styles, other.shares)
        other._active = ActivePoses(self.styles, other.shares, self.skeleton)
        return other

    def synthesize(
        self,
        constraints: Constraints,
        start: Synthesis | None = None,
        past: PastFeatures | None = None,
        max_steps: int = STEPS[LEARNED],
    ) -> Synthesis:
        """Return the pose.

        Args:
            constraints: constraints that the pose is to meet.
            start: pose of the previous frame; then there is neither annealing nor a search for a start.
            past: velocity and acceleration count too; without it the style's static features alone.
            max_steps: greatest number of steps from start, LIVE_STEPS for a live frame; more needed: the pose has not converged.
        """
        problem = self._problem(constraints, past)
        if start is None:
            return self._synthesize_cold(problem)
        state = _state_from_synthesis(start)
        if past is not None:
            state = self._extrapolate(state, problem, past)
        minimum, summary = self._minimise(state, problem, LEARNED, max_steps)
        return self._finish(state, problem, minimum, summary)

    def _problem(self, constraints: Constraints, past: PastFeatures | None) -> SynthesisProblem:
        """Return the problem of one pose."""
        offset = None
        if past is not None:
            offset = np.concatenate([np.zeros_like(past.before), past.before, 2.0 * past.before - past.earlier])
        return SynthesisProblem(
            constraints, build_targets(constraints), *add_fixed_joints(*self._unmodelled, constraints), offset
        )

    def _prior(self, problem: SynthesisProblem, step: int) -> SynthesisPrior:
        """Return what is known without handles, at a step of annealing."""
        styles = self._still[step]
        if problem.offset is not None:
            styles = self._moving[step]
            shift = styles.shift.copy()
            for row, style in zip(shift, self.styles, strict=True):
                row[: len(style.scale)] += style.scale * problem.offset[style.modelled]
            styles = styles._replace(shift=shift)
        return SynthesisPrior(styles, np.array(self.shares), self._first, problem.weight, problem.centre, np.array(UP))

    def _synthesize_cold(self, problem: SynthesisProblem) -> Synthesis:
        """Return the pose found by annealing from the best active poses."""
        n_starts, n_finished = IN_IMAGES if problem.has_image_points else IN_SPACE
        starts = self._active.starts(problem, np.array(UP), n_starts)
        energies = np.array([self._minimise(state, problem, 0)[0].energy for state in starts])
        ends = []
        for i in _choose_distinct_minima(energies, [state.latent for state in starts], SAME * self._active.apart, n_finished):
            self._minimise(starts[i], problem, 1)
            ends.append((starts[i], *self._minimise(starts[i], problem, LEARNED)))
        state, minimum, summary = min(ends, key=lambda end: end[1].energy)
        return self._finish(state, problem, minimum, summary)

    def _extrapolate(self, state: SynthesisState, problem: SynthesisProblem, past: PastFeatures) -> SynthesisState:
        """Return the joints moved on by one step if that is the lower start: at rest, velocities are far from likely."""
        moved = state.rotvec.copy()
        moved[1:] += (past.before - past.earlier)[:N_ANGLES].reshape(-1, 3)
        other = SynthesisState(moved, state.rotation.copy(), state.root_m.copy(), state.latent.copy())
        energies = [self._minimise(each, problem, LEARNED, 0)[0].energy for each in (state, other)]
        return other if energies[1] < energies[0] else state

    def _minimise(
        self, state: SynthesisState, problem: SynthesisProblem, step: int, max_steps: int | None = None
    ) -> tuple[SynthesisMinimum, Floats]:
        """Move a state to a minimum; return it, and s2 and share L_IK of each style, (S, 2)."""
        summary, prior = np.empty((len(self.styles), 2)), self._prior(problem, step)
        max_steps = STEPS[step] if max_steps is None else max_steps
        return minimise_synthesis_energy(state, prior, self._tree, problem.targets, max_steps, TOLERANCES[step], summary), summary

    def _models(self, moving: bool) -> tuple[LikelihoodModel, ...]:
        """Return the models of all styles at the steps of annealing."""
        pairs = list(zip(self.styles, self._evaluators, strict=True))
        return tuple(stack_models([build_likelihood_model(style, of[step], moving) for style, of in pairs]) for step in range(3))

    def _finish(self, state: SynthesisState, problem: SynthesisProblem, minimum: SynthesisMinimum, summary: Floats) -> Synthesis:
        """Return the pose with how well it meets the constraints."""
        state.rotvec[0] = rotvec_from_matrix(REFERENCE[0].T @ state.rotation)
        errors = measure_constraint_errors(self.skeleton, state.rotvec, state.root_m, problem.constraints, problem.targets)
        prior = [of[LEARNED].parameters.alpha + 1.0 / of[LEARNED].parameters.beta for of in self._evaluators]
        relative = float(np.dot(self.shares, summary[:, VARIANCE] / np.array(prior)))
        latent = tuple(state.latent[a:b].copy() for a, b in zip(self._first[:-1], self._first[1:], strict=True))
        return Synthesis(
            state.rotvec,
            state.root_m,
            latent,
            minimum.energy,
            float(summary[:, ENERGY].sum()),
            relative,
            *errors,
            minimum.converged,
        )


def _check_shares(styles: Sequence[Style], shares: Sequence[float]) -> tuple[float, ...]:
    """Return shares scaled to a sum of 1. Raises StyleError."""
    if not styles:
        raise StyleError("there is no style to pose in; give at least one")
    for style in styles:
        if style.features.shape[1] != N_FEATURES:
            raise StyleError(
                f"style '{style.name}' has {style.features.shape[1]} features, this duocap {N_FEATURES}; train it again"
            )
    given = np.asarray(shares, np.float64)
    if given.shape != (len(styles),) or not np.isfinite(given).all() or (given < 0.0).any() or not given.sum() > 0.0:
        raise StyleError(f"{len(styles)} styles need as many shares, none negative and not all zero; these are {list(shares)}")
    return tuple(float(v) for v in given / given.sum())


def _choose_distinct_minima(energies: Floats, latent: list[Floats], apart: float, count: int) -> list[int]:
    """Return the lowest of annealed minima and the next ones at other x, up to `count`."""
    chosen: list[int] = []
    for i in np.argsort(energies, kind="stable").tolist():  # NaN comes last
        if len(chosen) < count and all(((latent[i] - latent[j]) ** 2).sum() > apart**2 for j in chosen):
            chosen.append(i)
    return chosen


def _state_from_synthesis(start: Synthesis) -> SynthesisState:
    """Return the state of a synthesized pose."""
    rotation = np.ascontiguousarray(REFERENCE[0] @ matrix_from_rotvec(start.rotvec[0]))
    return SynthesisState(start.rotvec.copy(), rotation, start.root_m.copy(), np.concatenate(start.latent))
