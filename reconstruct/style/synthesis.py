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
from reconstruct.style.features import N_FEATURES, UP
from reconstruct.style.likelihood_kernels import Model
from reconstruct.style.model import Style, StyleError, levels
from reconstruct.style.synthesis_kernels import Asked, _minimise
from reconstruct.style.synthesis_misses import misses, others_met
from reconstruct.style.synthesis_problem import asked_of, held, model_of, with_fixed
from reconstruct.style.synthesis_start import Examples, Start

STARTS = 3
STEPS = (15, 8, 60)
TOLERANCES = (0.3, 0.1, 1e-3)  # nats that one more step promises


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
        self.up = np.ascontiguousarray(up, np.float64)
        self._levels = tuple(levels(style) for style in self.styles)
        self._still = tuple(self._models(step, None) for step in range(3))
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

    def synthesize(self, constraints: Constraints, start: Synthesis | None = None, past: Past | None = None) -> Synthesis:
        """Find the pose.

        start: of the frame before: neither annealing nor a search for a start is done; past: velocity and acceleration count too,
        without it the style's pose features alone.
        """
        asked = asked_of(constraints)
        weight, centre = with_fixed(*self._held, constraints)
        offset = None if past is None else _offset(past)

        def minimise(at: Start, step: int, most: int, tolerance: float) -> tuple[Floats, Floats]:
            models = self._still[step] if offset is None else self._models(step, offset)
            prior = (models, np.array(self.shares), self._first, weight, centre, self.up)
            result, about = np.empty(4), np.empty((len(self.styles), 2))
            state = (at.rotvec, at.rotation, at.root_m, at.latent)
            _minimise(state, prior, self._body, asked, most, tolerance, result, about)
            return result, about

        if start is not None:
            best = _from_before(start)
        else:
            starts = self._examples.starts(constraints, asked, self.up, STARTS)
            energies = [minimise(at, 0, STEPS[0], TOLERANCES[0])[0][0] for at in starts]
            best = starts[int(np.argmin(energies))]
            minimise(best, 1, STEPS[1], TOLERANCES[1])
        result, about = minimise(best, 2, STEPS[2], TOLERANCES[2])
        return self._finished(best, constraints, asked, result, about)

    def _models(self, step: int, offset: Floats | None) -> tuple[Model, ...]:
        """Give the models of all styles at a step of annealing."""
        return tuple(model_of(style, of[step], offset) for style, of in zip(self.styles, self._levels, strict=True))

    def _finished(self, at: Start, constraints: Constraints, asked: Asked, result: Floats, about: Floats) -> Synthesis:
        """Give the pose that was found with how well it does what is asked."""
        at.rotvec[0] = rotvec_from_matrix(REFERENCE[0].T @ at.rotation)
        G, p = forward(self.skeleton, at.rotvec, at.root_m)
        joint, offset_m = asked[0][:2]
        x = p[joint] + np.einsum("pij,pj->pi", G[joint], offset_m)
        off_m, off_px, met = misses(x, asked[0])
        met = met and others_met(G, at.rotvec, constraints, asked)
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


def _offset(past: Past) -> Floats:
    """Give s - y of features whose poses before are known, (F,)."""
    return np.concatenate([np.zeros_like(past.before), past.before, 2.0 * past.before - past.earlier])


def _from_before(start: Synthesis) -> Start:
    """Start where the frame before ended."""
    rotation = np.ascontiguousarray(REFERENCE[0] @ matrix_from_rotvec(start.rotvec[0]))
    return Start(start.rotvec.copy(), rotation, start.root_m.copy(), np.concatenate(start.latent))
