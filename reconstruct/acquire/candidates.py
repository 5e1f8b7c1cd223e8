"""Hypotheses of acquisition: example poses placed on unlabelled points by pairs of markers.

Where up is known a body has four degrees of freedom, a rotation about the vertical and a position (a placement, see
`reconstruct.acquire.upright`), and two markers of an example on two points fix them all. Each placement is scored by how near
a point every marker has. Examples are searched on two levels: the centres of an index, then the examples in their lists.
"""

import math
from dataclasses import dataclass

import numpy as np

from config.arrays import Floats, Ints
from config.jit import inline_kernel, kernel
from reconstruct.acquire.upright import PoseIndex

MIN_ACROSS_M = 0.08  # pairs of markers nearer than this, seen from above, do not determine a rotation
N_LISTS = 6  # of the nearest centres, that are searched


@kernel
def transform_point(x: Floats, root: Floats, out: Floats) -> None:
    """Write a point of an example, (3,), placed in the world.

    Args:
        x: point of an example, (3,) [m].
        root: placement, (5,): cosine and sine of the turn about the vertical, then x, y and z [m].
        out: the point in the world, (3,) [m]; written.
    """
    out[0] = root[0] * x[0] + root[1] * x[2] + root[2]
    out[1] = x[1] + root[3]
    out[2] = root[0] * x[2] - root[1] * x[0] + root[4]


@inline_kernel
def compute_placement_misfit(points: Floats, pose: Floats, root: Floats, gate2: float, bound: float) -> float:
    """Return the sum over markers (M, 3) of the squared distance to the nearest point, at most gate2 each; stops beyond bound.

    Args:
        points: triangulated points, (P, 3) [m].
        pose: markers of an example, (M, 3) [m].
        root: placement, (5,): cosine and sine of the turn about the vertical, then x, y and z [m].
        gate2: largest squared distance that counts [m^2].
        bound: sum beyond which it stops [m^2].
    """
    x = np.empty(3)
    total = 0.0
    for m in range(pose.shape[0]):
        transform_point(pose[m], root, x)
        near = gate2
        for p in range(points.shape[0]):
            d = (x[0] - points[p, 0]) ** 2 + (x[1] - points[p, 1]) ** 2 + (x[2] - points[p, 2]) ** 2
            if d < near:
                near = d
        total += near
        if total >= bound:
            break
    return total


@inline_kernel
def place_by_pair(a: Floats, b: Floats, p: Floats, q: Floats, root: Floats) -> None:
    """Write the placement that rotates a -> b towards p -> q, seen from above, and takes midpoint to midpoint.

    Args:
        a: first marker, (3,) [m].
        b: second marker, (3,) [m].
        p: point of the first, (3,) [m].
        q: point of the second, (3,) [m].
        root: placement, (5,); written.
    """
    dx, dz, ex, ez = b[0] - a[0], b[2] - a[2], q[0] - p[0], q[2] - p[2]
    n = math.sqrt((dx * dx + dz * dz) * (ex * ex + ez * ez))
    c, s = (dx * ex + dz * ez) / n, (dz * ex - dx * ez) / n
    x, y, z = 0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1]), 0.5 * (a[2] + b[2])
    root[0], root[1] = c, s
    root[2] = 0.5 * (p[0] + q[0]) - c * x - s * z
    root[3] = 0.5 * (p[1] + q[1]) - y
    root[4] = 0.5 * (p[2] + q[2]) + s * x - c * z


@kernel
def _place_by_pairs(
    points: Floats, poses: Floats, pairs: Ints, slack_m: float, gate2: float, scores: Floats, roots: Floats
) -> None:
    """Write the best placement of every pose (K, M, 3) by every pair (Q, 2): scores (K, Q), inf for none; roots (K, Q, 5)."""
    n = points.shape[0]
    root = np.empty(5)
    for k in range(poses.shape[0]):
        for q in range(pairs.shape[0]):
            best = 1e300
            a, b = poses[k, pairs[q, 0]], poses[k, pairs[q, 1]]
            across, rise = math.hypot(b[0] - a[0], b[2] - a[2]), b[1] - a[1]
            scores[k, q] = np.inf
            if across < MIN_ACROSS_M:
                continue
            for i in range(n):
                for j in range(n):
                    if i == j or abs(points[j, 1] - points[i, 1] - rise) > slack_m:
                        continue
                    seen = math.hypot(points[j, 0] - points[i, 0], points[j, 2] - points[i, 2])
                    if seen < 0.5 * MIN_ACROSS_M or abs(seen - across) > slack_m:
                        continue
                    place_by_pair(a, b, points[i], points[j], root)
                    score = compute_placement_misfit(points, poses[k], root, gate2, best)
                    if score < best:
                        best = score
                        scores[k, q] = score
                        roots[k, q] = root


@kernel
def label_markers(points: Floats, pose: Floats, root: Floats, gate2: float, choice: Ints) -> None:
    """Write the point of every marker, (M,), -1 for none: the nearest pair first, each point once.

    Args:
        points: triangulated points, (P, 3) [m].
        pose: markers of an example, (M, 3) [m].
        root: placement, (5,): cosine and sine of the turn about the vertical, then x, y and z [m].
        gate2: largest squared distance that counts [m^2].
        choice: point of every marker, (M,), -1 for none; written.
    """
    n_markers, n = pose.shape[0], points.shape[0]
    d, x = np.empty((n_markers, n)), np.empty(3)
    for m in range(n_markers):
        choice[m] = -1
        transform_point(pose[m], root, x)
        for p in range(n):
            d[m, p] = (x[0] - points[p, 0]) ** 2 + (x[1] - points[p, 1]) ** 2 + (x[2] - points[p, 2]) ** 2
    for _ in range(n_markers):
        best, best_m, best_p = gate2, -1, -1
        for m in range(n_markers):
            if choice[m] >= 0:
                continue
            for p in range(n):
                if d[m, p] < best:
                    best, best_m, best_p = d[m, p], m, p
        if best_m < 0:
            break
        choice[best_m] = best_p
        for m in range(n_markers):
            d[m, best_p] = np.inf


@inline_kernel
def fit_placement(points: Floats, pose: Floats, choice: Ints, root: Floats) -> None:
    """Write the placement with the least squared distance of the labelled markers of a pose to their points.

    Args:
        points: triangulated points, (P, 3) [m].
        pose: markers of an example, (M, 3) [m].
        choice: point of every marker, (M,), -1 for none.
        root: placement, (5,); written.
    """
    n = 0
    a, b = np.zeros(3), np.zeros(3)
    for m in range(pose.shape[0]):
        if choice[m] >= 0:
            n += 1
            for i in range(3):
                a[i] += pose[m, i]
                b[i] += points[choice[m], i]
    if n < 2:
        return
    a /= n
    b /= n
    c, s = 0.0, 0.0
    for m in range(pose.shape[0]):
        if choice[m] >= 0:
            p = points[choice[m]]
            dx, dz, ex, ez = pose[m, 0] - a[0], pose[m, 2] - a[2], p[0] - b[0], p[2] - b[2]
            c += dx * ex + dz * ez
            s += dz * ex - dx * ez
    length = math.hypot(c, s)
    if length > 0.0:
        root[0], root[1] = c / length, s / length
    root[2] = b[0] - root[0] * a[0] - root[1] * a[2]
    root[3] = b[1] - a[1]
    root[4] = b[2] + root[1] * a[0] - root[0] * a[2]


@inline_kernel
def write_upright_points(points: Floats, choice: Ints, root: Floats, out: Floats) -> None:
    """Write the labelled points (M, 3) as an upright pose; rows of missing markers are left as they are.

    Args:
        points: triangulated points, (P, 3) [m].
        choice: point of every marker, (M,), -1 for none.
        root: placement, (5,): cosine and sine of the turn about the vertical, then x, y and z [m].
        out: positions, (M, 3) [m]; written.
    """
    for m in range(choice.shape[0]):
        if choice[m] >= 0:
            x, z = points[choice[m], 0] - root[2], points[choice[m], 2] - root[4]
            out[m, 0] = root[0] * x - root[1] * z
            out[m, 1] = points[choice[m], 1] - root[3]
            out[m, 2] = root[1] * x + root[0] * z


@inline_kernel
def _sum_squared_distances(pose: Floats, local: Floats, choice: Ints, bound: float) -> float:
    """Return the sum of squared distances of labelled markers; stops beyond bound."""
    total = 0.0
    for m in range(choice.shape[0]):
        if choice[m] >= 0:
            total += (pose[m, 0] - local[m, 0]) ** 2 + (pose[m, 1] - local[m, 1]) ** 2 + (pose[m, 2] - local[m, 2]) ** 2
            if total >= bound:
                break
    return total


@inline_kernel
def find_nearest_labelled_pose(index: PoseIndex, local: Floats, choice: Ints, n_lists: int) -> int:
    """Return the pose nearest to labelled markers, searched in the lists of the n_lists nearest centres.

    Args:
        index: poses in lists around centres.
        local: markers as an upright pose, (M, 3) [m].
        choice: point of every marker, (M,), -1 for none.
        n_lists: number of lists to search.
    """
    poses, centers, start, member = index.poses, index.centers, index.start, index.member
    distance = np.empty(centers.shape[0])
    for c in range(centers.shape[0]):
        distance[c] = _sum_squared_distances(centers[c], local, choice, np.inf)
    best, found = np.inf, 0
    for _ in range(min(n_lists, centers.shape[0])):
        c = int(np.argmin(distance))
        distance[c] = np.inf
        for i in range(start[c], start[c + 1]):
            d = _sum_squared_distances(poses[member[i]], local, choice, best)
            if d < best:
                best, found = d, member[i]
    return found


@kernel
def _refine_choices(
    points: Floats,
    index: PoseIndex,
    gates2: Floats,
    n_lists: int,
    relabel: bool,
    choices: Ints,
    roots: Floats,
    found: Ints,
) -> None:
    """Find the nearest pose, fit and label in turn: `choices` (H, M), `roots` (H, 5) and the poses `found` (H,) are rewritten."""
    poses = index.poses
    local = np.zeros(index.centers.shape[1:])
    for h in range(choices.shape[0]):
        for r in range(gates2.shape[0]):
            write_upright_points(points, choices[h], roots[h], local)
            found[h] = find_nearest_labelled_pose(index, local, choices[h], n_lists)
            fit_placement(points, poses[found[h]], choices[h], roots[h])
            if relabel:
                label_markers(points, poses[found[h]], roots[h], gates2[r], choices[h])


@kernel
def _compute_costs(
    points: Floats, poses: Floats, choices: Ints, roots: Floats, gate2: float, left_over2: float, out: Floats
) -> None:
    """Write the mean squared distance of labelled markers; a missing one counts gate2, left_over2 while points are left over."""
    x = np.empty(3)
    for h in range(choices.shape[0]):
        used, total = 0, 0.0
        for m in range(choices.shape[1]):
            if choices[h, m] >= 0:
                transform_point(poses[h, m], roots[h], x)
                p = points[choices[h, m]]
                total += min(gate2, (x[0] - p[0]) ** 2 + (x[1] - p[1]) ** 2 + (x[2] - p[2]) ** 2)
                used += 1
        missing = choices.shape[1] - used
        excess = min(missing, points.shape[0] - used)
        out[h] = (total + excess * left_over2 + (missing - excess) * gate2) / choices.shape[1]


@dataclass(frozen=True, slots=True)
class Hypotheses:
    """Ways to label points.

    Attributes:
        choice: point of each marker, (H, M), -1 for none.
        root: placement, (H, 5).
        pose: most similar example, (H, M, 3), and number: its row in the index, (H,).
        cost_m: root mean square distance, missing markers included, (H,).
    """

    choice: Ints
    root: Floats
    pose: Floats
    number: Ints
    cost_m: Floats

    def __len__(self) -> int:
        return len(self.choice)

    def take(self, rows: Ints) -> "Hypotheses":
        """Return some of the hypotheses."""
        return Hypotheses(self.choice[rows], self.root[rows], self.pose[rows], self.number[rows], self.cost_m[rows])

    def joined(self, other: "Hypotheses") -> "Hypotheses":
        """Return these hypotheses and others."""
        return Hypotheses(**{name: np.concatenate([getattr(self, name), getattr(other, name)]) for name in self.__slots__})

    def distinct(self) -> "Hypotheses":
        """Return the hypothesis of least cost of each labelling, the least cost first."""
        order = np.argsort(self.cost_m, kind="stable")
        _, first = np.unique(self.choice[order], axis=0, return_index=True)
        return self.take(order[np.sort(first)])


def place_on_points(points: Floats, poses: Floats, pairs: Ints, slack_m: float, gate_m: float, count: int) -> tuple[Ints, Floats]:
    """Place poses (K, M, 3) on points (P, 3) by pairs of markers (Q, 2).

    Args:
        points: triangulated points, (P, 3) [m].
        poses: markers of examples, (K, M, 3) [m].
        pairs: pairs of markers that placements begin with, (Q, 2).
        slack_m: greatest difference between distances of points and of markers [m].
        gate_m: farthest a marker may be from its point.
        count: greatest number of placements.
    Returns: labellings (H, M) and placements (H, 5) of the best `count`.
    """
    scores, roots = np.empty((len(poses), len(pairs))), np.zeros((len(poses), len(pairs), 5))
    _place_by_pairs(points, poses, pairs, slack_m, gate_m**2, scores, roots)
    flat = scores.ravel()
    some = np.argpartition(flat, min(count, flat.size - 1))[:count]
    some = some[np.isfinite(flat[some])]
    some = some[np.argsort(flat[some], kind="stable")]
    choice, root = np.empty((len(some), poses.shape[1]), np.int64), np.ascontiguousarray(roots.reshape(-1, 5)[some])
    for row, k in enumerate(some // len(pairs)):
        label_markers(points, poses[k], root[row], gate_m**2, choice[row])
    return choice, root


def refine_hypotheses(
    points: Floats,
    index: PoseIndex,
    choice: Ints,
    root: Floats,
    gates_m: tuple[float, ...],
    left_over_m: float,
    relabel: bool = True,
) -> Hypotheses:
    """Refine labellings and placements in turn: each round takes the nearest pose of each hypothesis and fits it to the points.

    Args:
        points: triangulated points, (P, 3) [m].
        index: poses in lists around centres.
        choice: labellings, (H, M).
        root: placements, (H, 5).
        gates_m: greatest distance of a marker from its point, one value for each round [m].
        left_over_m: distance that a missing marker counts as while a point is left over [m].
        relabel: whether the labelling may change.
    """
    choice, root, found = choice.copy(), root.copy(), np.zeros(len(choice), np.int64)
    _refine_choices(points, index, np.array(gates_m) ** 2, N_LISTS, relabel, choice, root, found)
    pose, cost2 = index.poses[found], np.empty(len(choice))
    _compute_costs(points, pose, choice, root, gates_m[-1] ** 2, left_over_m**2, cost2)
    return Hypotheses(choice, root, pose, found, np.sqrt(cost2))
