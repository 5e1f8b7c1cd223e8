"""A style as a pose model: the SGPLVM predicts what is not seen (Grochow et al. 2004, section 7.3).

Given x, the features are Gaussian: f(x) with variance s2(x) / w^2. Static features are the joints; velocities and accelerations
are joints less known ones: so together they are a Gaussian over the joints. Which x it is, the pose that was solved without the
style tells, q with covariance C:

    minimise over x:  sum_k ((y_k(q) - f_k(x))^2 / v_k + ln v_k) / 2 + |x|^2 / 2,    v_k = s2(x) / w_k^2 + C_kk

which is synthesis with the pose integrated out, but for correlations. Joints of which nothing is seen have a large C and hardly
count. The prediction allows x to be otherwise: f is linearised there, and x has its prior.
"""

import math
from bisect import bisect_left
from copy import copy
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from config.arrays import Floats, Ints
from config.jit import inline_kernel, kernel
from numerics.definite import solve_damped
from reconstruct.body_state import BodyState
from reconstruct.missing.pose_model import PartialFrame, PoseGaussian
from reconstruct.models.style.collect import STEP_NS
from reconstruct.models.style.features import N_ANGLES, N_FEATURES, N_STATIC
from reconstruct.models.style.model import Style, StyleError, StyleEvaluator, build_evaluator

STARTS, STEPS = 2, 4
MIN_GAIN = 0.01  # of energy: a step that gains less ends the search for x
TYPICAL = 0.1  # s2 of a pose that the style knows, as a share of alpha
MIN_SHARE = 1e-9  # of alpha: rounding could make s2 negative
UP_VARIANCE = np.full(3, 1e-3)  # of the vertical in the root's frame, as markers show it
FLOOR_RAD = 0.02  # added to a prediction's standard deviation


class StyleArrays(NamedTuple):
    """A style of M active poses: latent (M, Q), K^-1 (M, M), coefficients (M, K) and mean (K,) of f; alpha, 1 / beta, gamma."""

    latent: Floats
    inverse: Floats
    coefficients: Floats
    mean: Floats
    parameters: Floats


class FeatureQuery(NamedTuple):
    """Features of a pose: y (K,), 1 / w^2 of each (K,), and their variance but for the style's own (K,)."""

    y: Floats
    spread: Floats
    variance: Floats


class StylePrediction(NamedTuple):
    """Prediction of a style at x: f and its derivatives by x (1 + Q, K); s2 and the mean squared residual in sigmas (2,)."""

    features: Floats
    summary: Floats


class TrainingArrays(NamedTuple):
    """Training poses of a style: features, (N, D), and latent positions, (N, Q)."""

    features: Floats
    latent: Floats


@inline_kernel
def _predict_features(x: Floats, model: StyleArrays, V: Floats, solved: Floats, F: Floats) -> float:
    """Write k(x) and its derivatives (1 + Q, M), K^-1 k (M,), f and its derivatives (1 + Q, K); give s2(x).

    Grochow et al. 2004, eqs. 4 and 5.
    """
    X, inverse, coefficients, mean, parameters = model.latent, model.inverse, model.coefficients, model.mean, model.parameters
    n, alpha, gamma = X.shape[0], parameters[0], parameters[2]
    s2: float = alpha + parameters[1]
    for i in range(mean.shape[0]):
        F[0, i] = mean[i]
        for row in range(1, F.shape[0]):
            F[row, i] = 0.0
    for m in range(n):
        distance2 = 0.0
        for q in range(x.shape[0]):
            distance2 += (x[q] - X[m, q]) ** 2
        V[0, m] = alpha * math.exp(-0.5 * gamma * distance2)
        for q in range(x.shape[0]):
            V[1 + q, m] = -gamma * (x[q] - X[m, q]) * V[0, m]
        for row in range(V.shape[0]):
            a = V[row, m]
            for i in range(mean.shape[0]):
                F[row, i] += a * coefficients[m, i]
    for m in range(n):
        s = 0.0
        for i in range(n):
            s += inverse[m, i] * V[0, i]
        solved[m] = s
        s2 -= s * V[0, m]
    least: float = MIN_SHARE * alpha
    return max(s2, least)


@inline_kernel
def compute_prediction_energy(
    x: Floats, model: StyleArrays, asked: FeatureQuery, found: StylePrediction, g: Floats, H: Floats
) -> float:
    """Return the energy at x, and write the prediction and derivatives there.

    Args:
        x: latent position, (Q,).
        model: arrays of the style.
        asked: features that are asked for, with their variances.
        found: features and variance predicted at x; written.
        g: gradient, (Q,); written.
        H: Gauss-Newton Hessian, (Q, Q); written.
    """
    y, spread, variance = asked.y, asked.spread, asked.variance
    F, about = found.features, found.summary
    n_latent, n_features, n = x.shape[0], y.shape[0], model.latent.shape[0]
    V, solved, W, pull = np.empty((1 + n_latent, n)), np.empty(n), np.empty(n_features), np.empty(n_features)
    s2 = _predict_features(x, model, V, solved, F)
    energy, misfit, by_s2 = 0.0, 0.0, 0.0
    for i in range(n_features):
        v = s2 * spread[i] + variance[i]
        W[i], u = 1.0 / v, F[0, i] - y[i]
        pull[i] = W[i] * u
        miss = pull[i] * u
        misfit += miss
        energy += 0.5 * (math.log(v) + miss)
        by_s2 += 0.5 * W[i] * (1.0 - miss) * spread[i]  # v grows with s2, W' = -W^2 / w^2
    about[0], about[1] = s2, misfit / max(n_features, 1)
    for q in range(n_latent):
        energy += 0.5 * x[q] * x[q]
        g[q] = x[q]
        for m in range(n):
            g[q] -= 2.0 * by_s2 * solved[m] * V[1 + q, m]
        for i in range(n_features):
            g[q] += F[1 + q, i] * pull[i]
        for p in range(q + 1):
            h = 1.0 if p == q else 0.0
            for i in range(n_features):
                h += F[1 + q, i] * W[i] * F[1 + p, i]
            H[q, p], H[p, q] = h, h
    return energy


@inline_kernel
def find_nearest_training_rows(known: Floats, asked: FeatureQuery, typical: float, rows: Ints) -> None:
    """Write the rows of training poses, (N, D), whose first K features are nearest to those asked for, nearest first.

    Args:
        known: features of training poses, (N, D).
        asked: features that are asked for, with their variances.
        typical: variance of the model at training poses.
        rows: the nearest, nearest first, (R,); written.
    """
    y, spread, variance = asked.y, asked.spread, asked.variance
    weight, nearest = np.empty(y.shape[0]), np.empty(rows.shape[0])
    for i in range(y.shape[0]):
        weight[i] = 1.0 / (typical * spread[i] + variance[i])
    for place in range(rows.shape[0]):
        nearest[place], rows[place] = np.inf, -1
    for row in range(known.shape[0]):
        distance = 0.0
        for i in range(y.shape[0]):
            distance += weight[i] * (known[row, i] - y[i]) ** 2
        new = row
        for place in range(rows.shape[0]):
            if distance < nearest[place]:
                nearest[place], distance = distance, nearest[place]
                rows[place], new = new, rows[place]


@kernel
def find_style_latent(
    model: StyleArrays, training: TrainingArrays, asked: FeatureQuery, before: Floats, x: Floats, found: StylePrediction
) -> float:
    """Write the x, (Q,), of least energy and the prediction there; return that energy, not finite if there is none.

    The search begins at the best of the nearest training poses and of x `before`, (P, Q).

    Args:
        model: arrays of the style.
        training: poses the search may begin at.
        asked: features that are asked for, with their variances.
        before: latent positions of before, (P, Q).
        x: latent position of least energy, (Q,); written.
        found: features and variance predicted at x; written.
    """
    known, latent = training.features, training.latent
    n, n_starts = x.shape[0], STARTS + before.shape[0]
    g, H, g2, H2 = np.empty(n), np.empty((n, n)), np.empty(n), np.empty((n, n))
    trial, step, C, rows = np.empty(n), np.zeros(n), np.zeros((n, n)), np.empty(STARTS, np.int64)
    find_nearest_training_rows(known, asked, TYPICAL * model.parameters[0], rows)
    energy, damping, searching = np.inf, 1e-3, True
    for turn in range(n_starts + STEPS + 1):  # one place that calls _fit: it is compiled into each
        if turn == n_starts + STEPS:
            searching = False
        elif turn >= n_starts and searching:
            searching = energy < np.inf and solve_damped(H, g, damping, C, step)
        start = turn < n_starts
        for q in range(n):
            if start:
                trial[q] = latent[max(rows[turn], 0), q] if turn < STARTS else before[turn - STARTS, q]
            else:
                trial[q] = x[q] + (step[q] if searching else 0.0)
        new = compute_prediction_energy(trial, model, asked, found, g2, H2)
        if not start and not searching:
            return new
        gain = energy - new
        if gain > 0.0:
            energy = new
            for q in range(n):
                x[q], g[q] = trial[q], g2[q]
                for p in range(n):
                    H[q, p] = H2[q, p]
        if not start:
            damping = 0.2 * damping if gain > 0.0 else max(10.0 * damping, 1e-2)
            searching = not 0.0 <= gain < MIN_GAIN
    return energy


@kernel
def compute_pose_gaussian(
    found: StylePrediction,
    taken: Floats,
    angle: Ints,
    share: Floats,
    of_angle: Floats,
    floor2: float,
    expected: Floats,
    precision: Floats,
) -> None:
    """Write the Gaussian over the angles at x, where x is as free as its prior leaves it: mean (A,), inverse covariance (A, A).

    Args:
        found: prediction at x.
        taken: values that are subtracted from the angles to make features, (K,).
        angle: index of the angle of each feature, (K,), A or more for none.
        share: share of each feature in the information on its angle, (K,).
        of_angle: variance where s2 is 1, (A,), infinite where there is nothing.
        floor2: variance that is added.
        expected: mean, (A,) [rad]; written.
        precision: inverse covariance, (A, A); written.
    """
    F, about = found.features, found.summary
    n, n_latent = expected.shape[0], F.shape[0] - 1
    M, A, L = np.zeros((n, n_latent)), np.empty((n, n_latent)), np.zeros((n_latent, n_latent))
    for a in range(n):
        expected[a] = 0.0
    for k in range(angle.shape[0]):
        a = angle[k]
        if a < n:
            expected[a] += share[k] * (F[0, k] + taken[k])
            for q in range(n_latent):
                M[a, q] += share[k] * F[1 + q, k]
    for a in range(n):
        p = 1.0 / (about[0] * of_angle[a] + floor2)
        precision[a, a] = p
        for q in range(n_latent):
            A[a, q] = p * M[a, q]
            for i in range(q + 1):
                L[q, i] += A[a, q] * M[a, i]
    for q in range(n_latent):  # I + M'A = L L', and A becomes A L'^-1: the precision less A A' (Woodbury), as x has variance 1
        for i in range(q + 1):
            for j in range(i):
                L[q, i] -= L[q, j] * L[i, j]
            L[q, i] = math.sqrt(1.0 + L[q, q]) if i == q else L[q, i] / L[i, i]
        for a in range(n):
            for i in range(q):
                A[a, q] -= A[a, i] * L[q, i]
            A[a, q] /= L[q, q]
    for a in range(n):
        for b in range(a + 1):
            s = precision[a, a] if a == b else 0.0
            for q in range(n_latent):
                s -= A[a, q] * A[b, q]
            precision[a, b], precision[b, a] = s, s


@dataclass(frozen=True, slots=True)
class FeatureSubset:
    """The first K modelled features, static ones first, ready to be asked for.

    model: as the kernels take it; spread: 1 / w^2, (K,); column: static feature of each, (K,); share: of w^2 of all features of
    the same angle, (K,); of_angle: 1 over the sum of those w^2, (A,), infinite for angles that are not modelled.
    """

    model: StyleArrays
    spread: Floats
    column: Ints
    share: Floats
    of_angle: Floats


def build_feature_subset(level: StyleEvaluator, column: Ints) -> FeatureSubset:
    """Build the subset of the first K features of a level, of the given static features."""
    n, p = len(column), level.parameters
    w2 = level.scale[:n] ** 2.0
    total = np.bincount(column, w2, N_STATIC)
    of_angle = np.divide(1.0, total, out=np.full(N_STATIC, np.inf), where=total > 0.0)
    plain = (level.mean[:n].copy(), np.array([p.alpha, 1.0 / p.beta, p.gamma]))
    model = StyleArrays(level.latent, level.inverse, np.ascontiguousarray(level.coefficients[:, :n]), *plain)
    return FeatureSubset(model, 1.0 / w2, column, w2 * of_angle[column], of_angle[:N_ANGLES])


class StyleModel:
    """Predicts with one style; remembers x and the poses of the last two steps."""

    def __init__(self, style: Style) -> None:
        """Prepare. Raises StyleError: a style of other features, or one that cannot be used."""
        if style.features.shape[1] != N_FEATURES:
            raise StyleError(
                f"the style {style.name} has {style.features.shape[1]} features; expected {N_FEATURES}: learn it anew"
            )
        level, self._modelled = build_evaluator(style, style.learned), np.flatnonzero(style.modelled)
        column, n_static = self._modelled % N_STATIC, int(np.searchsorted(self._modelled, N_STATIC))
        self._static_subset, self._all = build_feature_subset(level, column[:n_static]), build_feature_subset(level, column)
        self._training = TrainingArrays(
            np.ascontiguousarray(style.features[:, self._modelled]), np.ascontiguousarray(style.latent)
        )
        self.forget()

    def fresh(self) -> Self:
        """Return a model of the same style without a past."""
        other = copy(self)
        other.forget()
        return other

    def forget(self) -> None:
        """Forget x and the past."""
        self._x: Floats | None = None
        self._past: list[tuple[int, Floats]] = []

    def accept(self, state: BodyState) -> None:
        """Append a pose to the past, for the velocities of the next ones."""
        t = state.t_ns
        if self._past and not 0 < t - self._past[-1][0] <= STEP_NS * 3:
            self._past.clear()
        self._past.append((t, self._static(state)))
        while len(self._past) > 2 and self._past[1][0] <= t - 2 * STEP_NS:
            del self._past[0]

    def predict(self, frame: PartialFrame, held_out: bool = False) -> PoseGaussian | None:
        """Return the Gaussian over the joints that the style has at the likeliest x; None where none is finite."""
        known = None if held_out else self._before(frame.state.t_ns)
        part = self._static_subset if known is None else self._all
        shift = np.zeros(len(part.column)) if known is None else known[self._modelled]
        y = self._static(frame.state)[part.column] - shift
        variance = np.concatenate([frame.variance, UP_VARIANCE])[part.column]
        n_latent = self._training.latent.shape[1]
        before = np.empty((0, n_latent)) if held_out or self._x is None else self._x[None]
        x, found = np.zeros(n_latent), StylePrediction(np.empty((1 + n_latent, len(y))), np.empty(2))
        if not np.isfinite(
            find_style_latent(part.model, self._training, FeatureQuery(y, part.spread, variance), before, x, found)
        ):
            return None
        if not held_out:
            self._x = x
        expected, precision = np.empty(N_ANGLES), np.empty((N_ANGLES, N_ANGLES))
        compute_pose_gaussian(found, shift, part.column, part.share, part.of_angle, FLOOR_RAD**2, expected, precision)
        return PoseGaussian(expected, precision, float(found.summary[1]))

    def _static(self, state: BodyState) -> Floats:
        """Return the static features of a pose."""
        return np.concatenate([state.joints[1:].ravel(), state.rotation[1]])

    def _before(self, t_ns: int) -> Floats | None:
        """Return what is taken off static features now to make all features, (F,): 0, s_{t-1}, 2 s_{t-1} - s_{t-2}.

        None where the poses do not reach back so far.
        """
        if len(self._past) < 2 or self._past[0][0] > t_ns - 2 * STEP_NS:
            return None
        before, earlier = (_interpolate_features(self._past, t_ns - n * STEP_NS) for n in (1, 2))
        return np.concatenate([np.zeros(N_STATIC), before, 2.0 * before - earlier])


def _interpolate_features(past: list[tuple[int, Floats]], t: int) -> Floats:
    """Return static features at a time between those of two poses of the past, oldest first."""
    later = min(max(bisect_left(past, t, key=lambda one: one[0]), 1), len(past) - 1)
    (t_before, before), (t_later, after) = past[later - 1], past[later]
    share = min(max((t - t_before) / (t_later - t_before), 0.0), 1.0)
    return before + share * (after - before)


def compile_style_model() -> None:
    """Compile the kernels, on next to nothing."""
    one, row, found = np.ones((1, 1)), np.ones(1), StylePrediction(np.empty((2, 1)), np.empty(2))
    find_style_latent(
        StyleArrays(one, one, one, row, np.ones(3)),
        TrainingArrays(one, one),
        FeatureQuery(row, row, row),
        one,
        np.empty(1),
        found,
    )
    compute_pose_gaussian(found, row, np.zeros(1, np.int64), row, row, FLOOR_RAD**2, np.empty(1), one)
