"""Principal components of the nearest examples (Chai & Hodgins 2005, eq. 3), by the smaller of two symmetric matrices.

With Y (n, D) the examples less their mean, the eigenvectors of the scatter Y'Y are the directions; for n < D those of YY' give
the same with less work. Either takes a fraction of the time of a singular value decomposition of Y and loses digits only of
variances that are next to nothing.

How many neighbours and how many dimensions: leave-one-out cross-validation of the local PCA in closed form.

Chai & Hodgins 2005, section 5: K and B of eq. 3 are "selected locally and adjusted for the current query point by a leave-one-out
cross-validation" (Stone 1974). Refitting is not needed. With y_i = x_i - mean of n examples, r = n / (n - 1) and scatter
S = sum y y' = V diag(l) V', leaving out example i gives

    x_i - mean_{-i} = r y_i,        S_{-i} = S - r y_i y_i',

a rank-one downdate. With z = V' y_i its eigenvalues m are the roots of the secular equation (Golub 1973)

    1 - r sum_j z_j^2 / (l_j - m) = 0,        l_{k+1} <= m_k <= l_k,

and as the k-th eigenvector is u_k = (L - m_k)^-1 z / |.|, its share of y_i is (u_k' z)^2 = 1 / (r^2 sum_j z_j^2 / (l_j - m_k)^2).
Therefore

    |x_i - its reconstruction|^2 = r^2 (|y_i|^2 - sum_{k <= B} (u_k' z)^2).

The difference cancels: errors are good to about 1e-8 of the examples' distances from their mean.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from config.arrays import Floats
from config.jit import kernel
from config.joints import N_JOINTS
from reconstruct.models.local.model import LocalModel, Quadratic, add_quadratics, build_local_model

RANK = 1e-13  # variance below this share of the largest is rounding, not a direction
STILL = 1e-20  # nor is a scatter below this [rad^2]: identical examples differ from their mean by rounding


@dataclass(frozen=True, slots=True)
class LocalPca:
    """All principal components of n examples.

    Attributes:
        mean: mean of the examples, (D,) [rad].
        directions: orthonormal columns, (D, r).
        scatter: eigenvalues of Y'Y, falling, (r,) [rad^2].
        scores: coordinates of the examples, (n, r) [rad].
        energy: squared distances from the mean, (n,) [rad^2]. r <= min(n - 1, D).
    """

    mean: Floats
    directions: Floats
    scatter: Floats
    scores: Floats
    energy: Floats

    @property
    def variances(self) -> Floats:
        """Variance along each direction, (r,) [rad^2]."""
        return self.scatter / max(len(self.scores) - 1, 1)


def compute_pca(examples: Floats) -> LocalPca:
    """Compute the principal directions of examples, (n, D) float64 [rad], n >= 1."""
    mean = examples.mean(axis=0)
    centred = examples - mean
    energy = np.einsum("ij,ij->i", centred, centred)
    # Hinges have one angle of three, and the cost of a decomposition grows with the third power of its width.
    variance = np.einsum("ij,ij->j", centred, centred)
    columns = np.flatnonzero(variance > 1e-3 * RANK * variance.max())
    values, scores, vectors = _compute_spectrum(centred[:, columns])
    directions = np.zeros((examples.shape[1], len(values)))
    directions[columns] = vectors
    return LocalPca(mean, directions, values, np.ascontiguousarray(scores), energy)


def _compute_spectrum(Y: Floats) -> tuple[Floats, Floats, Floats]:
    """Return eigenvalues of Y'Y falling, (r,), scores (n, r) and directions (D, r); only what is more than rounding."""
    n, width = Y.shape
    if n < 2 or width == 0:
        return np.zeros(0), np.zeros((n, 0)), np.zeros((width, 0))
    tall = n > width
    values, vectors = np.linalg.eigh(Y.T @ Y if tall else Y @ Y.T)
    first = max(int(np.searchsorted(values, max(RANK * values[-1], STILL), side="right")), len(values) - (n - 1))
    values, vectors = np.ascontiguousarray(values[first:][::-1]), np.ascontiguousarray(vectors[:, first:][:, ::-1])
    if tall:
        return values, Y @ vectors, vectors
    length = np.sqrt(values)
    return values, vectors * length, (Y.T @ vectors) / length


COUNTS = (20, 50, 100, 150, 200)  # candidates for K
STEPS = 60  # of the root finder at most; 3 to 6 are usual, the rest is for bisection


@kernel
def _deflate_poles(values: Floats, score: Floats, rate: float, poles: Floats, weights: Floats, fixed: Floats) -> tuple[int, int]:
    """Split the eigenvalues, falling, into poles of the secular equation and those that the downdate leaves as they are.

    poles and weights r z^2, (n_poles,): of distinct eigenvalues with a share in z; fixed: (2, n), in row 0 the eigenvalues that
    stay and in row 1 their small shares in z^2. Returns n_poles and n_fixed.
    """
    tolerance = 1e-15 * values[0]
    n_poles, n_fixed = 0, 0
    for j in range(values.shape[0]):
        w = rate * score[j] * score[j]
        if w <= tolerance:
            fixed[0, n_fixed], fixed[1, n_fixed] = values[j], score[j] * score[j]
            n_fixed += 1
        elif n_poles > 0 and poles[n_poles - 1] - values[j] <= tolerance:
            # Of a repeated eigenvalue's directions one can be turned to z, the others are then at right angles to it.
            weights[n_poles - 1] += w
            fixed[0, n_fixed], fixed[1, n_fixed] = values[j], 0.0
            n_fixed += 1
        else:
            poles[n_poles], weights[n_poles] = values[j], w
            n_poles += 1
    return n_poles, n_fixed


@kernel
def _sum_over_poles(poles: Floats, weights: Floats, first: int, last: int, origin: float, t: float) -> tuple[float, float]:
    """Return the sums of w / (l - m) and w / (l - m)^2 over poles first to last - 1, m = origin + t."""
    s, ds = 0.0, 0.0
    for j in range(first, last):
        inverse = 1.0 / ((poles[j] - origin) - t)
        a = weights[j] * inverse
        s += a
        ds += a * inverse
    return s, ds


@kernel
def _solve_quadratic(a: float, b: float, e: float, low: float, high: float) -> float:
    """Return the root of a h^2 - b h + e between low and high, their middle where there is none."""
    q = 0.5 * (b + math.copysign(math.sqrt(max(b * b - 4.0 * a * e, 0.0)), b))
    if q != 0.0 and low < e / q < high:
        return e / q
    if a != 0.0 and low < q / a < high:
        return q / a
    return 0.5 * (low + high)


@kernel
def find_secular_root(poles: Floats, weights: Floats, n: int, k: int, lowest: float) -> tuple[float, float]:
    """Return the secular equation's root below pole k and above the next (or `lowest`), and sum w / (l - m)^2 there.

    The root is -1 where it is not above `lowest`. It is sought as the distance t from the nearer pole, which keeps its digits;
    the sums over upper and lower poles are each replaced by a constant and one pole (the fixed-weight method, Li 1993).

    Args:
        poles: poles of the equation, falling, (n,).
        weights: weights of the poles, (n,).
        n: number of poles.
        k: pole below which the root is sought.
        lowest: bound of the root.
    """
    bottom = max(poles[k + 1], lowest) if k + 1 < n else lowest
    gap = poles[k] - bottom
    if gap <= 0.0 or (bottom == lowest and 1.0 - _sum_over_poles(poles, weights, 0, n, lowest, 0.0)[0] <= 0.0):
        return -1.0, 0.0
    near_top = 1.0 - _sum_over_poles(poles, weights, 0, n, bottom, 0.5 * gap)[0] > 0.0
    origin = poles[k] if near_top else bottom
    low, high = (-0.5 * gap, 0.0) if near_top else (0.0, 0.5 * gap)
    t = 0.5 * (low + high)
    slope = 0.0
    for _ in range(STEPS):
        upper, d_upper = _sum_over_poles(poles, weights, 0, k + 1, origin, t)
        lower, d_lower = _sum_over_poles(poles, weights, k + 1, n, origin, t)
        f, slope = 1.0 - upper - lower, d_upper + d_lower
        if f > 0.0:
            low = t
        else:
            high = t
        over, under = (poles[k] - origin) - t, (bottom - origin) - t
        s, r = d_upper * over * over, d_lower * under * under
        c = f + d_upper * over + d_lower * under
        step = _solve_quadratic(c, c * (over + under) - s - r, f * over * under, low - t, high - t)
        if abs(f) <= 1e-15 * (1.0 + upper - lower) or high - low <= 1e-16 * gap:
            break
        t += step
        if abs(step) <= 1e-9 * min(over, -under):
            slope = _sum_over_poles(poles, weights, 0, n, origin, t)[1]
            break
    return origin + t, slope


@kernel
def compute_score_shares(values: Floats, score: Floats, rate: float, lowest: float, work: Floats, shares: Floats) -> None:
    """Write (u_k' z)^2 of the largest eigenvectors of diag(values) - rate z z' to shares (B,), zero beyond its rank.

    Args:
        values: eigenvalues, falling, (n,).
        score: z, (n,).
        rate: factor of the update by z z'.
        lowest: eigenvalue below which none counts.
        work: scratch memory, (4, n).
        shares: squared products, (B,); written.
    """
    n_poles, n_fixed = _deflate_poles(values, score, rate, work[0], work[1], work[2:])
    k, i = 0, 0
    root, slope = -1.0, 0.0
    if n_poles > 0:
        root, slope = find_secular_root(work[0], work[1], n_poles, 0, lowest)
    for b in range(shares.shape[0]):
        shares[b] = 0.0
        if i < n_fixed and work[2, i] > max(root, lowest):
            shares[b] = work[3, i]
            i += 1
        elif root > lowest:
            # The sum over w = r z^2 holds one r already.
            shares[b] = 1.0 / (rate * slope)
            k += 1
            root = -1.0
            if k < n_poles:
                root, slope = find_secular_root(work[0], work[1], n_poles, k, lowest)


@kernel
def _compute_left_out(values: Floats, scores: Floats, energy: Floats, rate: float, lowest: float, errors2: Floats) -> None:
    """Write the squared errors of examples left out, (m, B), from their scores z (m, n) and energies |y|^2 (m,)."""
    work, shares = np.empty((4, values.shape[0])), np.empty(errors2.shape[1])
    for i in range(scores.shape[0]):
        compute_score_shares(values, scores[i], rate, lowest, work, shares)
        left = energy[i]
        for b in range(shares.shape[0]):
            left = max(left - shares[b], 0.0)
            errors2[i, b] = rate * rate * left


def compute_left_out_errors2(model: LocalPca, judged: int, max_dimensions: int) -> Floats:
    """Return the squared errors of the nearest examples, each left out and put back by 1 to B dimensions, (judged, B) [rad^2].

    Args:
        model: principal components of all examples.
        judged: number of the nearest examples that are left out in turn.
        max_dimensions: greatest number B of dimensions.
    """
    n = len(model.scores)
    rate = n / (n - 1.0)
    errors2 = np.empty((judged, max_dimensions))
    if len(model.scatter) == 0:
        errors2[:] = rate**2 * model.energy[:judged, None]
        return errors2
    _compute_left_out(model.scatter, model.scores[:judged], model.energy, rate, RANK * model.scatter[0], errors2)
    return errors2


def choose_candidate(errors: Floats, counts: Sequence[int]) -> tuple[int, int]:
    """Return the K and B of the smallest error.

    The error never rises with B, as the directions left out are nested, so that the largest B wins as long as it gains
    anything. Ties go to fewer dimensions, then to more neighbours.

    errors: error for each count K and number of dimensions, (len(counts), B).
    """
    hair = 1e-9 * float(errors.min()) + 1e-12
    b = int(np.argmax((errors <= float(errors.min()) + hair).any(axis=0)))
    best = np.flatnonzero(errors[:, b] <= errors[:, b].min() + hair)
    return max(counts[int(k)] for k in best), b + 1


def select_local_pca(examples: Floats, max_dimensions: int) -> LocalPca:
    """Return the principal components of as many examples and in as many dimensions as cross-validation prefers.

    The decomposition that was judged is the one that is used. Its directions are at most those the examples have, so none for
    identical ones.

    examples: nearest first, (N, D) float64 [rad], N >= 1.
    """
    counts = [count for count in COUNTS if count < len(examples)] + [len(examples)]
    models = [compute_pca(examples[:count]) for count in counts]
    if len(examples) < 2:
        return models[0]
    errors2 = [compute_left_out_errors2(each, count, max_dimensions) for each, count in zip(models, counts, strict=True)]
    K, B = choose_candidate(np.sqrt([each.mean(axis=0) for each in errors2]), counts)
    model = models[counts.index(K)]
    directions = np.ascontiguousarray(model.directions[:, :B])
    return replace(model, directions=directions, scatter=model.scatter[:B], scores=model.scores[:, :B])


def fit_local_pca(poses: Floats, predicted: Floats | None, *, dimensions: int, smooth_sigma_rad: float) -> LocalModel:
    """Fit principal directions to the nearest poses (Chai & Hodgins 2005, eqs. 3 and 9).

    The smoothness term |p + U w - q_pred|^2 becomes |w - U'(q_pred - p)|^2 as U is orthonormal.

    Args:
        poses: (K, D) [rad], nearest first; how many of them count and how many directions are kept, at most `dimensions`, is
            chosen by leave-one-out cross-validation.
        predicted: pose expected from the frames before, (D,) [rad], or None.
        dimensions: number B of dimensions.
        smooth_sigma_rad: standard deviation of the expectation [rad].
    """
    chosen = select_local_pca(poses, dimensions)
    mean, U, variance = chosen.mean, chosen.directions, chosen.variances
    if not len(variance):  # equal poses spread in no direction: any will do
        U, variance = np.eye(poses.shape[1], 1), np.zeros(1)
    B = U.shape[1]
    quadratic = Quadratic(np.zeros(B), np.diag(1.0 / np.maximum(variance, 1e-10)))
    if predicted is not None:
        quadratic = add_quadratics(quadratic, Quadratic(U.T @ (predicted - mean), smooth_sigma_rad**-2.0 * np.eye(B)))
    directions = np.zeros((N_JOINTS, 3, B))
    directions[1:] = U.reshape(-1, 3, B)
    return build_local_model(mean, directions, quadratic)
