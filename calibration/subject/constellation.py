"""Find a known constellation of markers among unlabelled points, from any side, with no hint where it is.

Triples of the constellation are laid on triples of points whose distances agree; every placement that survives is scored by
how near a point each marker finds. The best ones are refined by assignment and rigid (or similarity) fits in turn.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from config.arrays import Floats, make_read_only
from config.jit import inline_kernel, kernel
from database.geometry.rigid import fit_rigid_motion

N_TRIPLES = 10
N_REFINED = 24
REFINE_ROUNDS = 6


@dataclass(frozen=True, slots=True)
class ConstellationPlacement:
    """Where a constellation sits: marker m of it lies near `scale * rotation @ constellation[m] + translation`.

    point_of_marker: index of the point each marker takes, -1 for none, (M,); cost_m: root mean square of the distances,
    missing markers counted at the gate [m].
    """

    rotation: Floats
    translation: Floats
    scale: float
    point_of_marker: NDArray[np.int64]
    cost_m: float

    def apply(self, constellation: Floats) -> Floats:
        """Return the placed constellation, (M, 3) [m]."""
        return np.asarray(self.scale * constellation @ self.rotation.T + self.translation)


@kernel
def write_triple_frame(a: Floats, b: Floats, c: Floats, F: Floats) -> None:
    """Write the right-handed frame with x along b - a and c in the x-y half plane to the columns of F."""
    xx, xy, xz = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    n = math.sqrt(xx * xx + xy * xy + xz * xz) + 1e-300
    xx, xy, xz = xx / n, xy / n, xz / n
    cx, cy, cz = c[0] - a[0], c[1] - a[1], c[2] - a[2]
    zx, zy, zz = xy * cz - xz * cy, xz * cx - xx * cz, xx * cy - xy * cx
    n = math.sqrt(zx * zx + zy * zy + zz * zz) + 1e-300
    zx, zy, zz = zx / n, zy / n, zz / n
    F[0, 0], F[1, 0], F[2, 0] = xx, xy, xz
    F[0, 1], F[1, 1], F[2, 1] = zy * xz - zz * xy, zz * xx - zx * xz, zx * xy - zy * xx
    F[0, 2], F[1, 2], F[2, 2] = zx, zy, zz


@kernel
def _compute_distance(a: Floats, b: Floats) -> float:
    """Return |a - b|."""
    return math.sqrt((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 + (a[2] - b[2]) ** 2)


@inline_kernel
def _is_same_distance(d: float, e: float, scales: Floats, slack: float) -> bool:
    """Return whether a point distance e can be the model distance d at an allowed scale."""
    return bool(scales[0] * d - slack < e < scales[1] * d + slack)


@inline_kernel
def score_marker_placement(
    points: Floats, model: Floats, R: Floats, center: Floats, target: Floats, scale: float, gate2: float
) -> float:
    """Return the sum over markers of the squared distance to the nearest point, at most gate2 each."""
    total = 0.0
    for m in range(model.shape[0]):
        x = np.empty(3)
        for i in range(3):
            x[i] = target[i]
            for k in range(3):
                x[i] += scale * R[i, k] * (model[m, k] - center[k])
        best = gate2
        for p in range(points.shape[0]):
            d = (x[0] - points[p, 0]) ** 2 + (x[1] - points[p, 1]) ** 2 + (x[2] - points[p, 2]) ** 2
            if d < best:
                best = d
        total += best
    return total


@kernel
def search_marker_placements(
    points: Floats,
    model: Floats,
    triples: NDArray[np.int64],
    scales: Floats,
    slack: float,
    gate2: float,
    best: Floats,
    kept: Floats,
) -> None:
    """Keep the best placements: their scores in `best` (H,), rows (R, scale, center, target) of 16 numbers in `kept` (H, 16)."""
    n = points.shape[0]
    F, E, R = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    center, target = np.empty(3), np.empty(3)
    for t in range(triples.shape[0]):
        a, b, c = model[triples[t, 0]], model[triples[t, 1]], model[triples[t, 2]]
        ab, bc, ca = _compute_distance(a, b), _compute_distance(b, c), _compute_distance(c, a)
        write_triple_frame(a, b, c, F)
        for i in range(n):
            for j in range(n):
                if j == i or not _is_same_distance(ab, _compute_distance(points[i], points[j]), scales, slack):
                    continue
                for k in range(n):
                    if k in (i, j):
                        continue
                    bc2, ca2 = _compute_distance(points[j], points[k]), _compute_distance(points[k], points[i])
                    if not (_is_same_distance(bc, bc2, scales, slack) and _is_same_distance(ca, ca2, scales, slack)):
                        continue
                    scale = (_compute_distance(points[i], points[j]) + bc2 + ca2) / (ab + bc + ca)
                    scale = min(max(scale, scales[0]), scales[1])
                    write_triple_frame(points[i], points[j], points[k], E)
                    for r in range(3):
                        for s in range(3):
                            R[r, s] = E[r, 0] * F[s, 0] + E[r, 1] * F[s, 1] + E[r, 2] * F[s, 2]
                        center[r] = (a[r] + b[r] + c[r]) / 3.0
                        target[r] = (points[i, r] + points[j, r] + points[k, r]) / 3.0
                    score = score_marker_placement(points, model, R, center, target, scale, gate2)
                    worst = np.argmax(best)
                    if score < best[worst]:
                        best[worst] = score
                        kept[worst, :9] = R.copy().ravel()
                        kept[worst, 9] = scale
                        kept[worst, 10:13] = center
                        kept[worst, 13:16] = target


def _choose_triples(model: Floats, preferred: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Choose well-spread triples, those of preferred markers first, (T, 3)."""
    triples = np.array(list(itertools.combinations(range(len(model)), 3)), np.int64)
    a, b, c = (model[triples[:, i]] for i in range(3))
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    rank = area * np.where(preferred[triples].all(axis=1), 4.0, 1.0)
    return triples[np.argsort(-rank, kind="stable")[:N_TRIPLES]]


def assign_points(points: Floats, expected: Floats, gate_m: float) -> NDArray[np.int64]:
    """Return for each expected marker its own nearest point, (M,), -1 where none lies within the gate.

    Args:
        points: the points, (P, 3) [m].
        expected: where the markers are expected, (M, 3) [m].
        gate_m: largest distance.
    """
    d2 = np.sum((expected[:, None] - points[None]) ** 2, axis=2)
    cost = np.hstack([d2, np.full((len(expected), len(expected)), gate_m**2)])
    rows, columns = linear_sum_assignment(cost)
    result = np.full(len(expected), -1, np.int64)
    result[rows] = np.where(columns < len(points), columns, -1)
    taken = result >= 0
    result[taken] = np.where(d2[taken, result[taken]] < gate_m**2, result[taken], -1)
    return result


def _refine_placement(points: Floats, model: Floats, row: Floats, scales: Floats, gate_m: float) -> ConstellationPlacement:
    """Alternate assignment and fit from one placement."""
    R, scale = row[:9].reshape(3, 3), float(row[9])
    t = row[13:16] - scale * R @ row[10:13]
    choice = np.full(len(model), -1, np.int64)
    for _ in range(REFINE_ROUNDS):
        new = assign_points(points, scale * model @ R.T + t, gate_m)
        used = new >= 0
        if used.sum() < 3 or np.array_equal(new, choice):
            break
        choice = new
        a, b = model[used], points[choice[used]]
        spread_a, spread_b = a - a.mean(axis=0), b - b.mean(axis=0)
        scale = float(np.clip(math.sqrt((spread_b**2).sum() / max((spread_a**2).sum(), 1e-12)), *scales))
        R, t = fit_rigid_motion(scale * a, b)
    used = choice >= 0
    error2 = np.full(len(model), gate_m**2)
    error2[used] = np.sum((scale * model[used] @ R.T + t - points[choice[used]]) ** 2, axis=1)
    return ConstellationPlacement(R, t, scale, choice, float(np.sqrt(error2.mean())))


def place_constellation(
    points: Floats,
    model: Floats,
    *,
    preferred: NDArray[np.bool_] | None = None,
    scale_range: tuple[float, float] = (1.0, 1.0),
    slack_m: float = 0.10,
    gate_m: float = 0.25,
) -> list[ConstellationPlacement]:
    """Return the distinct placements of `model` on `points`, best first.

    Args:
        points: unlabelled, (P, 3) [m], any frame.
        model: constellation, (M, 3) [m].
        preferred: markers whose triples are tried first (the torso), (M,).
        scale_range: least and largest size.
        slack_m: how far distances may differ.
        gate_m: how far a marker may be from its point.
    """
    points, model = np.ascontiguousarray(points, float), np.ascontiguousarray(model, float)
    if len(points) < 3 or len(model) < 3:
        return []
    scales = np.array(scale_range, float)
    best, kept = np.full(N_REFINED, np.inf), np.zeros((N_REFINED, 16))
    preferred = np.zeros(len(model), bool) if preferred is None else preferred
    search_marker_placements(
        make_read_only(points), model, _choose_triples(model, preferred), scales, slack_m, gate_m**2, best, kept
    )
    placements: dict[bytes, ConstellationPlacement] = {}
    for row in kept[np.isfinite(best)]:
        placement = _refine_placement(points, model, row, scales, gate_m)
        key = placement.point_of_marker.tobytes()
        if key not in placements or placement.cost_m < placements[key].cost_m:
            placements[key] = placement
    return sorted(placements.values(), key=lambda placement: placement.cost_m)
