"""Synthesis: the likeliest pose of a style that does what is asked of it (Grochow et al. 2004, section 6).

    L_IK(x, y) = |W (y - f(x))|^2 / (2 s2(x)) + D/2 ln s2(x) + 1/2 |x|^2
    minimise over x_0.., q:  sum_s share_s L_IK_s(x_s, y(q)) + constraints

first of the annealed model, then of one in between, last of the one that was learned.
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from database.kinematics import forward
from database.rotations import Floats, matrix_from_rotvec, rotvec_from_matrix
from database.skeleton import PARENT_ARRAY, REFERENCE, Skeleton
from reconstruct.style.constraints import Constraints
from reconstruct.style.features import N_ANGLES, N_FEATURES, UP
from reconstruct.style.model import Style, StyleError, levels
from reconstruct.style.synthesis_energy_kernels import _evaluate
from reconstruct.style.synthesis_kernels import _minimise
from reconstruct.style.synthesis_misses import misses, others_met
from reconstruct.style.synthesis_problem import Problem, asked_of, held, model_of, packed, with_fixed
from reconstruct.style.synthesis_rows_kernels import Prior, State, Styles, _handle_jacobian, _linear, _most_rows
from reconstruct.style.synthesis_start import Examples, Start

IN_SPACE, IN_PICTURES = (3, 2), (10, 3)  # poses that annealing starts from, and annealed minima that are followed to the end
STEPS = (6, 4, 60)
LIVE_STEPS = 12  # that a live frame can afford
LEARNED = 2  # the last step of annealing
TOLERANCES = (1.0, 0.5, 1e-3)  # nats that one more step promises
FAR = 0.5  # variance of a pose that the style hardly knows
MOST_SIGMA_M = 10.0


@dataclass(frozen=True, slots=True)
class Past:
    """Static features (S,) of the poses one and two steps (`features.STEP_S`) before."""

    before: Floats
    earlier: Floats


@dataclass(frozen=True, slots=True)
class Synthesis:
    """A synthesized pose.

    rotvec: charted rotation vectors, (J, 3) [rad], row 0 the root's orientation; root_m: (3,) [m]; latent: x of each style, (Q,);
    energy: of everything; likelihood: the shares' sum of L_IK; variance: s2(x) as a share of alpha + 1/beta, from near 0 beside
    training poses to 1 far from all; off_m: distance of the handles from their targets, (P,), and off_px: of their image points,
    (2, P), 0 where none is asked for; reached: all constraints are met within tolerance, else they contradict each other or are
    out of reach, and this is the best pose; converged: the minimum was found within the steps granted.
    """

    rotvec: Floats
    root_m: Floats
    latent: tuple[Floats, ...]
    energy: float
    likelihood: float
    variance: float
    off_m: Floats
    off_px: Floats
    reached: bool
    converged: bool


class Synthesizer:
    """Poses one skeleton in one style or between several (Grochow et al. 2004, sections 6 and 7; eq. 9)."""

    def __init__(
        self, styles: Sequence[Style], shares: Sequence[float] = (1.0,), skeleton: Skeleton | None = None, up: ArrayLike = UP
    ) -> None:
        """Prepare. skeleton: of who is posed, the first style's if None. Raises StyleError: shares that are no shares, or
        a style of other features."""
        self.styles, self.shares = tuple(styles), _checked(styles, shares)
        self.skeleton = styles[0].skeleton if skeleton is None else skeleton
        self.up = np.array(up, np.float64)
        self._levels = tuple(levels(style) for style in self.styles)
        self._still, self._moving = self._models(False), self._models(True)
        self._first = np.cumsum([0, *(style.n_latent for style in self.styles)]).astype(np.int64)
        self._held = held(self.styles, self.shares)
        self._examples = Examples(self.styles, self.shares, self.skeleton)
        self._body = (PARENT_ARRAY, self.skeleton.offsets_m, REFERENCE)

    def with_shares(self, shares: Sequence[float]) -> "Synthesizer":
        """Give the same styles with other shares, without preparing them again."""
        other = copy(self)
        other.shares = _checked(self.styles, shares)
        other._held = held(self.styles, other.shares)
        other._examples = Examples(self.styles, other.shares, self.skeleton)
        return other

    def synthesize(
        self,
        constraints: Constraints,
        start: Synthesis | None = None,
        past: Past | None = None,
        search: bool = False,
        most_steps: int = STEPS[LEARNED],
    ) -> Synthesis:
        """Find the pose.

        start: of the frame before: neither annealing nor a search for a start is done; past: velocity and acceleration count too,
        without it the style's pose features alone; search: where the minimum near start is a bad one, start anew too; most_steps:
        granted from start, LIVE_STEPS where a frame must be done in time: one that needs more is flagged as not converged.
        """
        problem = self._problem(constraints, past)
        if start is None:
            return self._cold(problem)
        at = _from_before(start)
        if past is not None:
            at = self._going_on(at, problem, past)
        found = self._finished(at, problem, *self._minimise(at, problem, LEARNED, most_steps))
        if not search or (found.reached and found.converged and found.variance < FAR):
            return found
        other = self._cold(problem)
        return other if other.energy < found.energy else found

    def handle_covariance(self, found: Synthesis, constraints: Constraints, past: Past | None = None) -> Floats:
        """Give how sure the handles' places are, (P, 3, 3) [m^2], by Laplace's approximation at a pose that was found.

        J H^-1 J' with the energy's Hessian H by x, joints and root; of handles that nothing is asked of it is how well the style
        and what is asked of others tell where they are. No variance exceeds MOST_SIGMA_M squared.
        """
        at, problem = _from_before(found), self._problem(constraints, past)
        prior, asked = self._prior(problem, LEARNED), problem.asked
        state, n_p, n_a = _state(at), 6 + len(at.latent), N_ANGLES
        lin = _linear(_most_rows(asked[0], asked[1]), n_a, n_p)
        rows = np.zeros(1, np.int64)
        _evaluate(state, prior, self._body, asked, lin, np.empty((len(self.styles), 2)), rows)
        J = np.concatenate([lin[5][: rows[0]], lin[6][: rows[0]]], axis=1)
        H = np.block([[np.diag(lin[0]), lin[1]], [lin[1].T, lin[3]]]) + J.T @ J
        handles = constraints.handles
        places, full = np.empty((len(handles.joint), 3)), np.empty((len(handles.joint), 3, n_a + 6))
        _handle_jacobian(state, self._body, handles.joint, handles.offset_m, places, full)
        by_all = np.zeros((3 * len(places), n_a + n_p))
        by_all[:, : n_a + 6] = full.reshape(-1, n_a + 6)
        covariance = (by_all @ _inverse(H) @ by_all.T).reshape(len(places), 3, len(places), 3)
        return np.ascontiguousarray(np.einsum("piqj->pqij", covariance)[np.arange(len(places)), np.arange(len(places))])

    def _problem(self, constraints: Constraints, past: Past | None) -> Problem:
        """Give what is asked as the kernels take it."""
        offset = None
        if past is not None:
            offset = np.concatenate([np.zeros_like(past.before), past.before, 2.0 * past.before - past.earlier])
        return Problem(constraints, asked_of(constraints), *with_fixed(*self._held, constraints), offset)

    def _prior(self, problem: Problem, step: int) -> Prior:
        """Give what is known without handles, at a step of annealing."""
        styles = self._still[step]
        if problem.offset is not None:
            X, inverse, coefficients, shift, scale, column, parameters = self._moving[step]
            shift = shift.copy()
            for row, style in zip(shift, self.styles, strict=True):
                row[: len(style.scale)] += style.scale * problem.offset[style.modelled]
            styles = X, inverse, coefficients, shift, scale, column, parameters
        return styles, np.array(self.shares), self._first, problem.weight, problem.centre, self.up

    def _cold(self, problem: Problem) -> Synthesis:
        """Find the pose from the likest poses of the style, by annealing."""
        n_starts, n_finished = IN_PICTURES if problem.lines else IN_SPACE
        starts = self._examples.starts(problem, self.up, n_starts)
        energies = np.array([self._minimise(at, problem, 0)[0][0] for at in starts])
        ends = []
        for i in _different(energies, [at.latent for at in starts], self._examples.apart, n_finished):
            self._minimise(starts[i], problem, 1)
            ends.append((starts[i], *self._minimise(starts[i], problem, LEARNED)))
        at, result, about = min(ends, key=lambda end: float(end[1][0]))
        return self._finished(at, problem, result, about)

    def _going_on(self, at: Start, problem: Problem, past: Past) -> Start:
        """Give the joints as they would be a step later if that is the lower start: velocities are far off where they rest."""
        moved = at.rotvec.copy()
        moved[1:] += (past.before - past.earlier)[:N_ANGLES].reshape(-1, 3)
        other = Start(moved, at.rotation.copy(), at.root_m.copy(), at.latent.copy())
        energies = [self._minimise(each, problem, LEARNED, 0)[0][0] for each in (at, other)]
        return other if energies[1] < energies[0] else at

    def _minimise(self, at: Start, problem: Problem, step: int, most: int | None = None) -> tuple[Floats, Floats]:
        """Move a start to a minimum, in at most so many steps; give what `_minimise` writes of it."""
        result, about = np.empty(4), np.empty((len(self.styles), 2))
        prior = self._prior(problem, step)
        most = STEPS[step] if most is None else most
        _minimise(_state(at), prior, self._body, problem.asked, most, TOLERANCES[step], result, about)
        return result, about

    def _models(self, moving: bool) -> tuple[Styles, ...]:
        """Give the models of all styles at the steps of annealing."""
        steps = [
            [model_of(style, of[step], moving) for style, of in zip(self.styles, self._levels, strict=True)] for step in range(3)
        ]
        return tuple(packed(models) for models in steps)

    def _finished(self, at: Start, problem: Problem, result: Floats, about: Floats) -> Synthesis:
        """Give the pose that was found with how well it does what is asked."""
        at.rotvec[0] = rotvec_from_matrix(REFERENCE[0].T @ at.rotation)
        G, p = forward(self.skeleton, at.rotvec, at.root_m)
        handled = problem.asked[0]
        joint, offset_m = handled[:2]
        x = p[joint] + np.einsum("pij,pj->pi", G[joint], offset_m)
        off_m, off_px, met = misses(x, handled)
        met = met and others_met(G, at.rotvec, problem.constraints, problem.asked)
        prior = [of[2].parameters.alpha + 1.0 / of[2].parameters.beta for of in self._levels]
        relative = float(np.dot(self.shares, about[:, 0] / np.array(prior)))
        latent = tuple(at.latent[a:b].copy() for a, b in zip(self._first[:-1], self._first[1:], strict=True))
        return Synthesis(
            at.rotvec,
            at.root_m,
            latent,
            float(result[0]),
            float(about[:, 1].sum()),
            relative,
            off_m,
            off_px,
            met,
            bool(result[2]),
        )


def _checked(styles: Sequence[Style], shares: Sequence[float]) -> tuple[float, ...]:
    """Give shares that sum to 1. Raises StyleError."""
    if not styles:
        raise StyleError("there is no style to pose in; give at least one")
    for style in styles:
        if style.features.shape[1] != N_FEATURES:
            raise StyleError(
                f"style '{style.name}' has {style.features.shape[1]} features, this duocap {N_FEATURES}; train it anew"
            )
    given = np.asarray(shares, np.float64)
    if given.shape != (len(styles),) or not np.isfinite(given).all() or (given < 0.0).any() or not given.sum() > 0.0:
        raise StyleError(f"{len(styles)} styles need as many shares, none negative and not all zero; these are {list(shares)}")
    return tuple(float(v) for v in given / given.sum())


def _different(energies: Floats, latent: list[Floats], apart: float, most: int) -> list[int]:
    """Give the lowest of annealed minima and the next one that is another, in x, up to `most` of them."""
    chosen: list[int] = []
    for i in np.argsort(energies, kind="stable").tolist():  # what is no number comes last
        if len(chosen) < most and all(((latent[i] - latent[j]) ** 2).sum() > (0.2 * apart) ** 2 for j in chosen):
            chosen.append(i)
    return chosen


def _from_before(start: Synthesis) -> Start:
    """Start where the frame before ended."""
    rotation = np.ascontiguousarray(REFERENCE[0] @ matrix_from_rotvec(start.rotvec[0]))
    return Start(start.rotvec.copy(), rotation, start.root_m.copy(), np.concatenate(start.latent))


def _state(at: Start) -> State:
    """Give a start's arrays; the kernels move them."""
    return at.rotvec, at.rotation, at.root_m, at.latent


def _inverse(H: Floats) -> Floats:
    """Give the inverse of a Hessian of which no eigenvalue counts as less than what MOST_SIGMA_M stands for."""
    least = MOST_SIGMA_M**-2
    try:
        root = np.linalg.inv(np.linalg.cholesky(H + least * np.eye(len(H))))
        return np.asarray(root.T @ root)
    except np.linalg.LinAlgError:  # not at a minimum: flagged as not converged, or flat
        values, vectors = np.linalg.eigh(H)
        return np.asarray((vectors / np.maximum(values, least)) @ vectors.T)
