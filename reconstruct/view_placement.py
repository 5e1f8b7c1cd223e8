"""Placing a posed and turned body of known size on the blobs of one view: kernels of acquisition, and what to place it by."""

import numpy as np
from numpy.typing import NDArray

from config.jit import kernel
from database.rotations import Floats

GATE_M = 0.18  # markers and blobs farther from each other count as much as this


@kernel
def _score(blobs: Floats, y: Floats, t: Floats, gate2: float, nearest: Floats) -> float:
    """Give the mean squared distance [m^2] at the markers' depths, markers to blobs and blobs to markers, each at most gate2.

    blobs: ideal image points, (N, 2); y: turned markers in the camera's frame, (M, 3), t: the root there; nearest: work, (N,).
    """
    nearest[:] = gate2
    total = left_over = 0.0
    for m in range(y.shape[0]):
        z = y[m, 2] + t[2]
        u, v = (y[m, 0] + t[0]) / z, (y[m, 1] + t[1]) / z
        best = gate2
        for p in range(blobs.shape[0]):
            du, dv = z * (u - blobs[p, 0]), z * (v - blobs[p, 1])
            d = du * du + dv * dv
            best = min(best, d)
            nearest[p] = min(nearest[p], d)
        total += best
    for p in range(blobs.shape[0]):
        left_over += nearest[p]
    return float(total / y.shape[0] + left_over / blobs.shape[0])


@kernel
def _search(
    blobs: Floats, bodies: Floats, pairs: NDArray[np.int64], depths: Floats, slack: float, best: Floats, kept: Floats
) -> None:
    """Keep the best placements of all bodies (H, M, 3): scores in `best` (B,), body and root, camera frame, in `kept` (B, 4).

    Two markers on blobs i, j give the root t with u (z + t_z) = x + t_x for both: the differences give t_z, the means the rest.
    """
    n = blobs.shape[0]
    t, nearest = np.empty(3), np.empty(n)
    for h in range(bodies.shape[0]):
        y = bodies[h]
        reach = y[:, 2].min()
        for k in range(pairs.shape[0]):
            a, b = y[pairs[k, 0]], y[pairs[k, 1]]
            for i in range(n):
                for j in range(n):
                    du, dv = blobs[i, 0] - blobs[j, 0], blobs[i, 1] - blobs[j, 1]
                    d2 = du * du + dv * dv
                    if i == j or d2 < 1e-8:
                        continue
                    ex = a[0] - b[0] - blobs[i, 0] * a[2] + blobs[j, 0] * b[2]
                    ey = a[1] - b[1] - blobs[i, 1] * a[2] + blobs[j, 1] * b[2]
                    t[2] = (du * ex + dv * ey) / d2
                    if t[2] < depths[0] or t[2] > depths[1] or t[2] + reach < 0.2:
                        continue
                    if (ex - t[2] * du) ** 2 + (ey - t[2] * dv) ** 2 > slack * slack:
                        continue
                    t[0] = 0.5 * (blobs[i, 0] * (a[2] + t[2]) - a[0] + blobs[j, 0] * (b[2] + t[2]) - b[0])
                    t[1] = 0.5 * (blobs[i, 1] * (a[2] + t[2]) - a[1] + blobs[j, 1] * (b[2] + t[2]) - b[1])
                    score = _score(blobs, y, t, GATE_M * GATE_M, nearest)
                    _keep(score, h, t, best, kept)


@kernel
def _keep(score: float, body: int, t: Floats, best: Floats, kept: Floats) -> None:
    """Put a placement among the best, at most one a body, in place of the worst."""
    worst = 0
    for k in range(best.shape[0]):
        if best[k] > best[worst]:
            worst = k
    for k in range(best.shape[0]):
        if kept[k, 0] == body and best[k] < np.inf:
            worst = k
    if score < best[worst]:
        best[worst] = score
        kept[worst, 0] = body
        kept[worst, 1:] = t


@kernel
def _nearest_pose(blobs: Floats, bodies: Floats, R: Floats, t: Floats, gate2: float) -> int:
    """Give the pose (P, M, 3) whose markers look nearest to the blobs, root at R (3, 3), t (3,) in the camera's frame."""
    best, found = np.inf, -1
    y, nearest = np.empty((bodies.shape[1], 3)), np.empty(blobs.shape[0])
    for k in range(bodies.shape[0]):
        nearer = np.inf
        for m in range(y.shape[0]):
            for i in range(3):
                y[m, i] = R[i, 0] * bodies[k, m, 0] + R[i, 1] * bodies[k, m, 1] + R[i, 2] * bodies[k, m, 2]
            nearer = min(nearer, y[m, 2] + t[2])
        if nearer < 0.2:
            continue
        score = _score(blobs, y, t, gate2, nearest)
        if score < best:
            best, found = score, k
    return found


def diverse(features: Floats, count: int) -> NDArray[np.int64]:
    """Choose rows far from each other, each the farthest from those before it, (N, F) -> (count or N,)."""
    chosen = [0]
    far = np.sum((features - features[0]) ** 2, axis=1)
    while len(chosen) < min(count, len(features)):
        chosen.append(int(np.argmax(far)))
        far = np.minimum(far, np.sum((features - features[chosen[-1]]) ** 2, axis=1))
    return np.array(chosen, np.int64)


def wide_pairs(markers: Floats, count: int) -> NDArray[np.int64]:
    """Choose pairs of markers that are far apart in most poses (P, M, 3), each marker in two of them at most, (count, 2)."""
    apart = np.median(np.linalg.norm(markers[:, :, None] - markers[:, None], axis=3), axis=0)
    first, second = np.triu_indices(apart.shape[0], 1)
    taken = np.zeros(apart.shape[0], int)
    pairs: list[tuple[int, int]] = []
    for k in np.argsort(-apart[first, second], kind="stable"):
        a, b = int(first[k]), int(second[k])
        if len(pairs) < count and max(taken[a], taken[b]) < 2:
            pairs.append((a, b))
            taken[[a, b]] += 1
    return np.array(pairs, np.int64)
