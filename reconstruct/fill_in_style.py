"""A style as a pose model: the SGPLVM guesses what is not seen (Grochow et al. 2004, section 7.3).

Given x, the features are Gaussian: f(x) with variance s2(x) / w^2. Static features are the joints, velocities and accelerations
are joints less known ones: so together they are a Gaussian over the joints. Which x it is, the pose tells that was solved without
the style, q with covariance C:

    minimise over x:  sum_k ((y_k(q) - f_k(x))^2 / v_k + ln v_k) / 2 + |x|^2 / 2,    v_k = s2(x) / w_k^2 + C_kk

which is synthesis with the pose integrated out, but for correlations. Joints that nothing is seen of have a wide C and hardly
count. The guess allows x to be otherwise: f is linearised there, and x has its prior.
"""

from bisect import bisect_left
from copy import copy
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from database.rotations import Floats
from reconstruct.fill_in_style_kernels import Model, _find, _gaussian
from reconstruct.history import Moment
from reconstruct.pose_model import Guess, Seen
from reconstruct.style.features import N_ANGLES, N_FEATURES, N_STATIC, STEP_S, UP
from reconstruct.style.model import Level, Style, StyleError, level_of

STEP_NS = round(STEP_S * 1e9)
UP_VARIANCE = np.full(3, 1e-3)  # of the vertical in the root's frame, as markers show it
FLOOR_RAD = 0.02  # a style is not surer of a joint than this


@dataclass(frozen=True, slots=True)
class Part:
    """The first K modelled features, static ones first, ready to be asked for.

    model: as the kernels take it; spread: 1 / w^2, (K,); column: static feature of each, (K,); share: of w^2 of all features of
    the same angle, (K,); of_angle: 1 over the sum of those w^2, (A,), infinite for angles that are not modelled.
    """

    model: Model
    spread: Floats
    column: NDArray[np.int64]
    share: Floats
    of_angle: Floats


def part_of(level: Level, column: NDArray[np.int64]) -> Part:
    """Prepare the first K features of a level, of the given static features."""
    n, p = len(column), level.parameters
    w2 = level.scale[:n] ** 2.0
    total = np.bincount(column, w2, N_STATIC)
    of_angle = np.divide(1.0, total, out=np.full(N_STATIC, np.inf), where=total > 0.0)
    plain = (level.mean[:n].copy(), np.array([p.alpha, 1.0 / p.beta, p.gamma]))
    model = (level.latent, level.inverse, np.ascontiguousarray(level.coefficients[:, :n]), *plain)
    return Part(model, 1.0 / w2, column, w2 * of_angle[column], of_angle[:N_ANGLES])


class StyleModel:
    """Guesses with one style; remembers x and the poses of the last two steps."""

    def __init__(self, style: Style, up: ArrayLike = UP) -> None:
        """Prepare. Raises StyleError: a style of other features, or one that cannot be used."""
        if style.features.shape[1] != N_FEATURES:
            raise StyleError(
                f"the style {style.name} has {style.features.shape[1]} features; expected {N_FEATURES}: learn it anew"
            )
        self._up = np.asarray(up, np.float64)
        level, self._chosen = level_of(style, style.learned), np.flatnonzero(style.modelled)
        column, n_static = self._chosen % N_STATIC, int(np.searchsorted(self._chosen, N_STATIC))
        self._static_part, self._whole = part_of(level, column[:n_static]), part_of(level, column)
        self._training = (np.take(style.features, self._chosen, axis=1), np.ascontiguousarray(style.latent))
        self.forget()

    def another(self) -> Self:
        """Give a model of the same style that remembers nothing."""
        other = copy(self)
        other.forget()
        return other

    def forget(self) -> None:
        """Start anew."""
        self._x: Floats | None = None
        self._past: list[tuple[int, Floats]] = []

    def accept(self, moment: Moment) -> None:
        """Remember a pose for the velocities of the next ones."""
        t = moment.t_ns
        if self._past and not 0 < t - self._past[-1][0] <= STEP_NS * 3:
            self._past.clear()
        self._past.append((t, self._static(moment)))
        while len(self._past) > 2 and self._past[1][0] <= t - 2 * STEP_NS:
            del self._past[0]

    def guess(self, seen: Seen, rehearsal: bool = False) -> Guess | None:
        """Find x and give the Gaussian over the joints that the style has there; None where there is no x."""
        known = None if rehearsal else self._before(seen.pose.t_ns)
        part = self._static_part if known is None else self._whole
        shift = np.zeros(len(part.column)) if known is None else known[self._chosen]
        y = self._static(seen.pose)[part.column] - shift
        variance = np.concatenate([seen.variance, UP_VARIANCE])[part.column]
        n_latent = self._training[1].shape[1]
        before = np.empty((0, n_latent)) if rehearsal or self._x is None else self._x[None]
        x, found = np.zeros(n_latent), (np.empty((1 + n_latent, len(y))), np.empty(2))
        if not np.isfinite(_find(part.model, self._training, (y, part.spread, variance), before, x, found)):
            return None
        if not rehearsal:
            self._x = x
        expected, precision = np.empty(N_ANGLES), np.empty((N_ANGLES, N_ANGLES))
        _gaussian(found, shift, part.column, part.share, part.of_angle, FLOOR_RAD**2, expected, precision)
        return Guess(expected, precision, float(found[1][1]))

    def _static(self, moment: Moment) -> Floats:
        """Give the static features of a pose."""
        return np.concatenate([moment.joints[1:].ravel(), moment.rotation.T @ self._up])

    def _before(self, t_ns: int) -> Floats | None:
        """Give what is taken off static features now to make all features, (F,): 0, s_{t-1}, 2 s_{t-1} - s_{t-2}.

        None where the poses do not reach back so far.
        """
        if len(self._past) < 2 or self._past[0][0] > t_ns - 2 * STEP_NS:
            return None
        before, earlier = (_between(self._past, t_ns - n * STEP_NS) for n in (1, 2))
        return np.concatenate([np.zeros(N_STATIC), before, 2.0 * before - earlier])


def _between(past: list[tuple[int, Floats]], t: int) -> Floats:
    """Give static features at a time between those of two poses of the past, oldest first."""
    later = min(max(bisect_left(past, t, key=lambda one: one[0]), 1), len(past) - 1)
    (t_before, before), (t_later, after) = past[later - 1], past[later]
    share = min(max((t - t_before) / (t_later - t_before), 0.0), 1.0)
    return before + share * (after - before)


def warm_style_model() -> None:
    """Compile the kernels, on next to nothing."""
    one, row, found = np.ones((1, 1)), np.ones(1), (np.empty((2, 1)), np.empty(2))
    _find((one, one, one, row, np.ones(3)), (one, one), (row, row, row), one, np.empty(1), found)
    _gaussian(found, row, np.zeros(1, np.int64), row, row, FLOOR_RAD**2, np.empty(1), one)
