"""A style as a pose model: the SGPLVM guesses what is not seen (Grochow et al. 2004, section 7.3).

Given x, the features are Gaussian: f(x) with variance s2(x) / w^2. Static features are the joints, velocities and accelerations
are joints less known ones: so together they are a Gaussian over the joints. Which x it is, the pose tells that was solved without
the style, q with covariance C:

    minimise over x:  sum_k ((y_k(q) - f_k(x))^2 / v_k + ln v_k) / 2 + |x|^2 / 2,    v_k = s2(x) / w_k^2 + C_kk

which is synthesis with the pose integrated out, but for correlations. Joints that nothing is seen of have a wide C and hardly
count. The guess allows x to be otherwise: f is linearised there, and x has its prior.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from database.rotations import Floats, rotvec_from_matrix
from reconstruct.history import Moment
from reconstruct.pose_model import Guess, Seen
from reconstruct.style.features import N_ANGLES, N_FEATURES, N_STATIC, STEP_S, UP, static_features
from reconstruct.style.model import Style, StyleError, level_of

STEP_NS = round(STEP_S * 1e9)
STARTS, STEPS = 2, 4
ENOUGH = 0.01  # of energy: steps that gain less end the search for x
UP_VARIANCE = 1e-3  # of the vertical in the root's frame, as markers show it
FLOOR_RAD = 0.02  # a style is not surer of a joint than this
LEAST_SHARE = 1e-9  # of alpha: rounding could make s2 negative


@dataclass(frozen=True, slots=True)
class Asked:
    """Features asked for: y = s[column] - shift, (K,), their variances but for the style's own, (K,), and which count, (K,)."""

    y: Floats
    variance: Floats
    counts: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Fit:
    """The energy at x with its gradient and Gauss-Newton Hessian, f less y (K,), its derivative (K, Q), s2, misfit a feature."""

    x: Floats
    energy: float
    gradient: Floats
    hessian: Floats
    error: Floats
    jacobian: Floats
    s2: float
    surprise: float


class StyleModel:
    """Guesses with one style; remembers x and the poses of the last two steps."""

    def __init__(self, style: Style, up: ArrayLike = UP) -> None:
        """Prepare. Raises StyleError: a style of other features."""
        if style.features.shape[1] != N_FEATURES:
            raise StyleError(
                f"the style {style.name} has {style.features.shape[1]} features; expected {N_FEATURES}: learn it anew"
            )
        self.style, self._up = style, np.asarray(up, np.float64)
        self._level = level_of(style, style.learned)
        chosen = np.flatnonzero(style.modelled)
        self._column, self._order = chosen % N_STATIC, chosen // N_STATIC
        self._inverse_w2 = style.scale**-2.0
        self._known = style.features[:, style.modelled]
        self._spread = float(np.median(self._inverse_w2))
        self.forget()

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
        """Find x and give the Gaussian over the joints that the style has there."""
        past = None if rehearsal else self._before(seen.pose.t_ns)
        asked, shift = self._asked(seen, past)
        fit = self._found(asked, None if rehearsal else self._x)
        if not np.isfinite(fit.energy):
            return None
        if not rehearsal:
            self._x = fit.x
        return self._gaussian(fit, asked, shift)

    def _static(self, moment: Moment) -> Floats:
        """Give the static features of a pose."""
        rotvec = moment.joints.copy()
        rotvec[0] = rotvec_from_matrix(moment.rotation)
        return static_features(rotvec, self._up)

    def _before(self, t_ns: int) -> tuple[Floats, Floats] | None:
        """Give static features one and two steps before a time, None where the poses do not reach back so far."""
        if not self._past or self._past[0][0] > t_ns - 2 * STEP_NS:
            return None
        times = np.array([t for t, _ in self._past], np.float64)
        rows = np.array([s for _, s in self._past])
        before, earlier = (_between(times, rows, t_ns - n * STEP_NS) for n in (1, 2))
        return before, earlier

    def _asked(self, seen: Seen, past: tuple[Floats, Floats] | None) -> tuple[Asked, Floats]:
        """Give the modelled features of a pose, and what is taken off the static ones for them, (K,)."""
        static = self._static(seen.pose)
        variance = np.concatenate([np.maximum(np.diagonal(seen.covariance), 0.0), np.full(3, UP_VARIANCE)])[self._column]
        shift, counts = np.zeros(len(self._column)), self._order == 0
        if past is not None:
            before, earlier = past
            counts = np.ones(len(counts), bool)
            shift = np.where(self._order == 1, before[self._column], shift)
            shift = np.where(self._order == 2, (2.0 * before - earlier)[self._column], shift)
        return Asked(static[self._column] - shift, variance, counts), shift

    def _found(self, asked: Asked, before: Floats | None) -> Fit:
        """Find x, from the best of the x before and of those training poses that are nearest."""
        weight = asked.counts / (self._level.parameters.alpha * 0.1 * self._inverse_w2 + asked.variance)
        distance = (self._known - asked.y) ** 2 @ weight
        starts = [self.style.latent[row] for row in np.argsort(distance, kind="stable")[:STARTS]]
        fits = [self._fit(x, asked) for x in (starts if before is None else [*starts, before])]
        best = fits[int(np.argmin([fit.energy for fit in fits]))]
        damping = 1e-3
        for _ in range(STEPS):
            H = best.hessian + damping * np.diag(np.diagonal(best.hessian))
            fit = self._fit(best.x - np.linalg.solve(H, best.gradient), asked)
            gain = best.energy - fit.energy
            best, damping = (fit, 0.2 * damping) if gain > 0.0 else (best, max(10.0 * damping, 1e-2))
            if 0.0 <= gain < ENOUGH:
                break
        return best

    def _fit(self, x: Floats, asked: Asked) -> Fit:
        """Give the energy at x with its derivatives."""
        level, p = self._level, self._level.parameters
        apart = x - level.latent
        k = p.alpha * np.exp(-0.5 * p.gamma * (apart * apart).sum(axis=1))
        dk = -p.gamma * apart * k[:, None]
        solved = level.inverse @ k
        s2 = max(p.alpha + 1.0 / p.beta - float(k @ solved), LEAST_SHARE * p.alpha)
        ds2 = -2.0 * solved @ dk
        error = level.mean + k @ level.coefficients - asked.y
        J = level.coefficients.T @ dk
        W = asked.counts / (s2 * self._inverse_w2 + asked.variance)
        misfit = W * error * error
        energy = 0.5 * (misfit.sum() - np.log(W[asked.counts]).sum() + x @ x)
        # v = s2 / w^2 + C grows with s2; W' = -W^2 / w^2
        by_s2 = 0.5 * (W * (1.0 - misfit) * self._inverse_w2).sum()
        gradient = J.T @ (W * error) + by_s2 * ds2 + x
        hessian = (J * W[:, None]).T @ J + np.eye(len(x))
        return Fit(x, float(energy), gradient, hessian, error, J, s2, float(misfit.sum() / max(asked.counts.sum(), 1)))

    def _gaussian(self, fit: Fit, asked: Asked, shift: Floats) -> Guess:
        """Give the Gaussian over the joints at x, with x as free as its prior leaves it."""
        angles = asked.counts & (self._column < N_ANGLES)
        column, weight = self._column[angles], 1.0 / (fit.s2 * self._inverse_w2[angles])
        target = (asked.y + fit.error + shift)[angles]  # f, as joints
        total = np.bincount(column, weight, N_ANGLES)
        known = total > 0.0
        share = np.where(known, total, 1.0)
        expected = np.bincount(column, weight * target, N_ANGLES) / share
        M = np.stack([np.bincount(column, weight * J, N_ANGLES) for J in fit.jacobian[angles].T], axis=1) / share[:, None]
        precision = np.where(known, 1.0 / (1.0 / share + FLOOR_RAD**2), 0.0)
        A = M * precision[:, None]
        inner = np.linalg.solve(np.eye(M.shape[1]) + M.T @ A, A.T)  # Woodbury: x has variance 1
        return Guess(expected, np.diag(precision) - A @ inner, fit.surprise)


def _between(times: Floats, rows: Floats, t: float) -> Floats:
    """Give rows (N, S) at a time between those of two of them, (N,)."""
    later = int(np.clip(np.searchsorted(times, t), 1, len(times) - 1))
    share = float(np.clip((t - times[later - 1]) / (times[later] - times[later - 1]), 0.0, 1.0))
    return np.asarray(rows[later - 1] + share * (rows[later] - rows[later - 1]))
