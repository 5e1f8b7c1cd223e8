"""The relative pose of two calibrated cameras from points without knowledge of the scene: five points, RANSAC, cheirality.

With y = (x/z, y/z, 1) of either camera, y_right' E y_left = 0. Five points leave a four-dimensional space of matrices in which
those with det E = 0 and 2 E E' E = tr(E E') E are sought: ten cubics in three unknowns, whose roots are eigenvectors of a 10 x 10
matrix (Nister 2004; Stewenius, Engels & Nister 2006). Unlike eight points, five do not mind a scene that is flat.
"""

import itertools
from dataclasses import dataclass

import numpy as np

from config.arrays import Floats

# Exponents of (x, y, z) of the monomials: first the ten cubic ones, then what is left after these are eliminated.
CUBIC = [(3, 0, 0), (2, 1, 0), (2, 0, 1), (1, 2, 0), (1, 1, 1), (1, 0, 2), (0, 3, 0), (0, 2, 1), (0, 1, 2), (0, 0, 3)]
LOWER = [(2, 0, 0), (1, 1, 0), (1, 0, 1), (0, 2, 0), (0, 1, 1), (0, 0, 2), (1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, 0)]
LEAST_COMMON = 1e-6  # an eigenvector whose constant is smaller is a root at infinity


@dataclass(frozen=True, slots=True)
class RelativePose:
    """x_right = rotation x_left + translation, |translation| = 1; cost: mean truncated squared Sampson distance in sigmas."""

    rotation: Floats
    translation: Floats
    cost: float


def _to_monomials() -> Floats:
    """Return which monomial each product of three of (x, y, z, 1) is, (64, 20)."""
    out = np.zeros((64, 20))
    order = {exponents: n for n, exponents in enumerate(CUBIC + LOWER)}
    for n, triple in enumerate(itertools.product(range(4), repeat=3)):
        out[n, order[(triple.count(0), triple.count(1), triple.count(2))]] = 1.0
    return out


MONOMIALS = _to_monomials()


def five_point(left: Floats, right: Floats) -> Floats:
    """Return every essential matrix that explains five points: (B, 5, 3) twice, normalised, homogeneous -> (S, 3, 3), unit
    norm.
    """
    rows = (right[:, :, :, None] * left[:, :, None, :]).reshape(len(left), 5, 9)
    basis = np.linalg.svd(rows)[2][:, 5:].reshape(-1, 4, 3, 3)
    cubics = _cubics(basis)
    try:
        reduced = np.linalg.solve(cubics[:, :, :10], cubics[:, :, 10:])
    except np.linalg.LinAlgError:
        return np.zeros((0, 3, 3))
    action = np.zeros((len(basis), 10, 10))
    for row, exponents in enumerate(LOWER):
        raised = (exponents[0] + 1, exponents[1], exponents[2])
        if raised in CUBIC:
            action[:, row] = -reduced[:, CUBIC.index(raised)]
        else:
            action[:, row, LOWER.index(raised)] = 1.0
    action = np.where(np.isfinite(action).all(axis=(1, 2), keepdims=True), action, 0.0)
    values, vectors = np.linalg.eig(action)
    real = (np.abs(values.imag) < 1e-9) & (np.abs(vectors[:, 9]) > LEAST_COMMON)
    sample, root = np.nonzero(real)
    chosen = vectors[sample, :, root]
    factors = (chosen[:, 6:] / chosen[:, 9:]).real
    E = np.einsum("si,simn->smn", factors, basis[sample])
    return np.asarray(E / np.linalg.norm(E, axis=(1, 2), keepdims=True))


def _cubics(basis: Floats) -> Floats:
    """Return the ten cubics of a space of matrices: (B, 4, 3, 3) -> (B, 10, 20), coefficients in the order of the monomials."""
    n = len(basis)
    EEt = np.einsum("bimn,bjpn->bijmp", basis, basis)
    trace = np.einsum("bijmm->bij", EEt)
    cubic = 2.0 * np.einsum("bijmp,bkpq->bijkmq", EEt, basis) - np.einsum("bij,bkmq->bijkmq", trace, basis)
    minors = np.cross(basis[:, :, None, 0], basis[:, None, :, 1])
    det = np.einsum("bijq,bkq->bijk", minors, basis[:, :, 2])
    rows = np.concatenate([cubic.reshape(n, 64, 9), det.reshape(n, 64, 1)], axis=2)
    return np.asarray(np.einsum("btr,tm->brm", rows, MONOMIALS))


def sampson2(E: Floats, left: Floats, right: Floats) -> Floats:
    """Return squared Sampson distances of points to essential matrices: (S, 3, 3), (N, 3), (N, 3) -> (S, N), normalised units."""
    to_right = np.einsum("sij,nj->sni", E, left)
    to_left = np.einsum("sji,nj->sni", E, right)
    algebraic = np.einsum("sni,ni->sn", to_right, right)
    slope2 = (to_right[..., :2] ** 2).sum(axis=2) + (to_left[..., :2] ** 2).sum(axis=2)
    return np.asarray(algebraic**2 / np.maximum(slope2, 1e-300))


def poses_of(E: Floats) -> list[tuple[Floats, Floats]]:
    """Return the four poses (R, t) of an essential matrix (Hartley & Zisserman 2004, section 9.6.2)."""
    U, _, Vt = np.linalg.svd(E)
    U, Vt = U * np.sign(np.linalg.det(U)), Vt * np.sign(np.linalg.det(Vt))
    W = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    return [(U @ turn @ Vt, sign * U[:, 2]) for turn in (W, W.T) for sign in (1.0, -1.0)]


def depths(R: Floats, t: Floats, left: Floats, right: Floats) -> tuple[Floats, Floats]:
    """Return how far along its two rays every point lies, by least squares: (N, 3) twice -> (N,) twice, in baselines."""
    a, b = left @ R.T, -right
    aa, bb, ab = (a * a).sum(axis=1), (b * b).sum(axis=1), (a * b).sum(axis=1)
    at, bt = -(a @ t), -(b @ t)
    det = np.maximum(aa * bb - ab * ab, 1e-12)
    return (bb * at - ab * bt) / det, (aa * bt - ab * at) / det


def in_front(E: Floats, left: Floats, right: Floats) -> tuple[Floats, Floats, float]:
    """Return the pose that has most points in front of both cameras, and the share of these."""
    best: tuple[Floats, Floats, float] | None = None
    for R, t in poses_of(E):
        s, r = depths(R, t, left, right)
        share = float(((s > 0.0) & (r > 0.0)).mean())
        if best is None or share > best[2]:
            best = R, t, share
    assert best is not None
    return best


def ransac(left: Floats, right: Floats, sigma: float, seed: int = 0, n_samples: int = 200) -> list[RelativePose]:
    """Return the best relative poses, best first, at most five: (N, 3) twice, normalised; sigma: of a distance, same units.

    Every sample's matrices are judged by the truncated Sampson distances of all points (MSAC, Torr & Zisserman 2000).
    """
    rng = np.random.default_rng(seed)
    n = len(left)
    draws = np.argsort(rng.random((n_samples, n)), axis=1)[:, :5] if n < 400 else rng.integers(0, n, (n_samples, 5))
    E = five_point(left[draws], right[draws])
    few = np.arange(n) if n <= 400 else rng.choice(n, 400, replace=False)
    if not len(E):
        return []
    cost = np.minimum(sampson2(E, left[few], right[few]) / sigma**2, 9.0).mean(axis=1)
    found: list[RelativePose] = []
    for s in np.argsort(cost)[:40]:
        near = sampson2(E[s : s + 1], left, right)[0] < 9.0 * sigma**2
        if near.sum() < 5:
            continue
        R, t, share = in_front(E[s], left[near], right[near])
        if share < 0.6 or any(_alike(R, t, other) for other in found):
            continue
        found.append(RelativePose(R, t, float(cost[s])))
        if len(found) == 5:
            break
    return found


def _alike(R: Floats, t: Floats, other: RelativePose) -> bool:
    """Return whether two poses are within some degrees of each other."""
    return bool(np.trace(R.T @ other.rotation) > 1.0 + 2.0 * np.cos(0.03) and t @ other.translation > np.cos(0.06))
