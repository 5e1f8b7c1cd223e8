"""Labels over long steps: where prediction alone does not tell, the shape of the body does.

Between pictures a fifth of a second apart a limb goes farther than its markers are from each other. But a standing foot has
not moved at all, and two markers of one bone keep their distance. So a marker may be where the pose before leads or where it
was last, and the labels of a frame are those of least cost: -2 ln of both densities, and squared differences of distances from
the usual.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.optimize import linear_sum_assignment

from calibration.subject.subject import Subject
from capture.packets import Points
from capture.stereo.labels import ExpectedMarkers, mahalanobis
from capture.stereo.matching import complement
from config.arrays import Bools, Floats, Ints, Singles, read_only
from config.jit import kernel
from config.joints import JOINT_INDEX, JOINTS, PARENTS, mirrored
from database.geometry.kinematics import local_markers
from reconstruct.search.examples import PosesInPlace

STILL, STILL_SIGMA_M = 0.3, 0.02  # share of the markers that have not moved, and how far those have
MOVED_SIGMA_M, MOVED_M_S = 0.03, 1.0  # how far a marker is from its prediction, and how much more for every second
UNSEEN = 25.0  # cost of a marker without a point
FIRM_M, DISTANCE_SIGMA_M = 0.05, 0.02  # spread of a distance over the examples up to which it counts, and what is added to it
MOST_SQUARED = 60.0  # as which a larger squared difference counts
N_SAMPLED = 2000
MAX_ROUNDS = 6
DEPTH, WIDTH = 3, 12  # exchanges in turn, and how many labels are kept after each

Labels = tuple[float, Ints]  # cost, and the point of every marker, (M,), -1 for none


@dataclass(frozen=True)
class BodyShape:
    """Distances between markers and exchanges of limbs of one subject.

    distance_m, weight: mean distance of every two markers over the examples, and how firm it is [1/m^2], (M, M); limbs: orders of
    the markers that are mistaken for each other, (L, M); orders: those and every two markers exchanged, (S, M).
    """

    distance_m: Floats
    weight: Floats
    orders: Ints = field(repr=False)
    limbs: Ints = field(repr=False)

    def cost(self, points: Points, expected: ExpectedMarkers, last_m: Floats, fresh: Bools, ahead_s: float) -> "LabelCost":
        """Return the cost of labels after a step.

        last_m: where every marker was seen last, (M, 3) [m]; fresh: those seen in the last frame, (M,); ahead_s: time since it.
        """
        sigma_m = np.maximum(MOVED_SIGMA_M + MOVED_M_S * ahead_s, expected.sigma_m)
        moved = _squared(points, expected.point_m, sigma_m)
        still = _squared(points, last_m, np.full(len(last_m), STILL_SIGMA_M))
        mixed = -2.0 * np.logaddexp(np.log(1.0 - STILL) - 0.5 * moved, np.log(STILL) - 0.5 * still)
        return replace(self.distances(points), single=np.where(fresh[:, None], mixed, moved))

    def warm(self) -> None:
        """Compile the kernel of the costs."""
        m = len(self.distance_m)
        LabelCost(self, np.zeros((m, 1)), np.zeros((1, 1)), np.zeros(1)).of(np.zeros((1, m), np.int64))

    def distances(self, points: Points) -> "LabelCost":
        """Return the cost of labels by the distances alone."""
        apart_m = np.linalg.norm(points.point_m[:, None] - points.point_m[None], axis=2)
        variance = np.trace(points.covariance_m2, axis1=1, axis2=2) / 3.0
        return LabelCost(self, np.zeros((len(self.distance_m), len(apart_m))), apart_m, variance)


@dataclass(frozen=True)
class LabelCost:
    """What labels of one frame cost: singly, (M, P), and by the distances of their points, (P, P) [m]; variance: (P,) [m^2]."""

    shape: BodyShape
    single: Floats
    apart_m: Floats
    variance_m2: Floats

    def of(self, choices: Ints) -> Floats:
        """Return the cost of labellings, (C,). choices: point of every marker, (C, M), -1 for none."""
        cost, shape = np.empty(len(choices)), self.shape
        singly = (read_only(self.single), read_only(self.apart_m), read_only(self.variance_m2))
        _label_costs(read_only(choices), *singly, read_only(shape.distance_m), read_only(shape.weight), cost)
        return cost

    def allowed(self, choice: Ints, limit: float) -> list[Labels]:
        """Return labels with limbs exchanged that cost more by less than a limit: by how much."""
        candidates = choice[self.shape.limbs]
        more = self.of(candidates) - float(self.of(choice[None])[0])
        return [(float(more[k]), candidates[k]) for k in np.flatnonzero((candidates != choice).any(axis=1) & (more < limit))]

    def least(self) -> Labels:
        """Return the labels of least cost that exchanges lead to, from the likeliest of every marker by itself."""
        m, n = self.single.shape
        found = linear_sum_assignment(np.hstack([self.single, np.full((m, m), UNSEEN)]))[1]
        choice = np.where(found < n, found, -1)
        cost = float(self.of(choice[None])[0])
        for _ in range(MAX_ROUNDS):
            others = choice[self.shape.orders]
            costs = self.of(others)
            best = int(np.argmin(costs))
            if costs[best] >= cost - 1e-9:
                break
            cost, choice = float(costs[best]), others[best]
        return cost, choice

    def others(self, choice: Ints, limit: float) -> list[Labels]:
        """Return labels that a few exchanges lead to and that cost more by less than a limit: by how much, the cheapest first."""
        base, known = float(self.of(choice[None])[0]), {choice.tobytes()}
        found: list[Labels] = []
        ends = choice[None]
        for _ in range(DEPTH):
            candidates = np.concatenate([self._changed(end) for end in ends])
            more = self.of(candidates) - base
            new: list[Labels] = []
            for k in np.argsort(more, kind="stable"):
                if more[k] >= limit or len(new) == WIDTH:
                    break
                key = candidates[k].tobytes()
                if key not in known:
                    known.add(key)
                    new.append((float(more[k]), candidates[k]))
            if not new:
                break
            found += new
            ends = np.array([labels for _, labels in new])
        return sorted(found, key=lambda labels: labels[0])

    def _changed(self, choice: Ints) -> Ints:
        """Return labels with one exchange, with a point that has none given to a marker, and with one marker left without."""
        m, free = len(choice), complement(self.single.shape[1], choice[choice >= 0])
        given, rows = np.append(free, -1), np.arange(m)
        one = np.empty((m, len(given), m), np.int64)
        one[:] = choice
        one[rows, :, rows] = given
        return np.concatenate([choice[self.shape.orders], one.reshape(-1, m)])


def body_shape(subject: Subject, pose: Singles | PosesInPlace) -> BodyShape:
    """Return the shape of a subject as examples show it; pose: their joints, (N, 3 (J - 1)) [rad]."""
    some = np.asarray(pose[:: max(1, len(pose) // N_SAMPLED)], float)
    joints = np.concatenate([np.zeros((len(some), 1, 3)), some.reshape(len(some), -1, 3)], axis=1)
    marker_m = local_markers(subject.skeleton, joints, subject.joint, subject.offset_m)
    apart_m = np.linalg.norm(marker_m[:, :, None] - marker_m[:, None], axis=-1)
    spread_m = apart_m.std(axis=0)
    weight = np.where(spread_m < FIRM_M, 1.0 / (spread_m**2 + DISTANCE_SIGMA_M**2), 0.0)
    np.fill_diagonal(weight, 0.0)
    limbs = limb_exchanges(subject)
    pairs = [_order(len(weight), [(a, b)]) for a in range(len(weight)) for b in range(a + 1, len(weight))]
    return BodyShape(apart_m.mean(axis=0), weight, np.unique(np.concatenate([limbs, pairs]), axis=0), limbs)


def limb_exchanges(subject: Subject) -> Ints:
    """Return orders of the markers that are mistaken for each other, (S, M).

    A left limb from some joint on and the right one, two markers of one foot or hand, those of both feet.
    """
    n, other = len(subject.markers), other_side(subject)
    limbs = [np.flatnonzero([_is_below(int(joint), start) for joint in subject.joint]) for start in _LEFT_STARTS]
    pairs = [[(int(a), int(other[a])) for a in limb if other[a] >= 0] for limb in limbs]
    single = [[(m, int(other[m]))] for m in range(n) if m < other[m]]
    feet = [np.flatnonzero([_is_below(int(j), JOINT_INDEX[f"{side}Foot"]) for j in subject.joint]) for side in ("left", "right")]
    ends = [[(int(foot[0]), int(foot[1]))] for foot in feet if len(foot) == 2]
    orders = {tuple(_order(n, some)) for some in (*pairs, *single, *ends, [pair for end in ends for pair in end])}
    return np.array(sorted(orders - {tuple(range(n))}), np.int64).reshape(-1, n)


def other_side(subject: Subject) -> Ints:
    """Return the marker of the same kind on the other side of every one on a limb, (M,), -1 for none."""
    found = np.full(len(subject.markers), -1, np.int64)
    for m, joint in enumerate(subject.joint):
        opposite = JOINT_INDEX[mirrored(JOINTS[joint])]
        if opposite == joint or subject.markers.torso[m]:
            continue
        candidates = np.flatnonzero(subject.joint == opposite)
        if len(candidates):
            off_m = np.linalg.norm(subject.offset_m[candidates] - subject.offset_m[m] * [-1.0, 1.0, 1.0], axis=1)
            found[m] = candidates[np.argmin(off_m)]
    return found


_LEFT_STARTS = [JOINT_INDEX[f"left{name}"] for name in ("UpperLeg", "LowerLeg", "Foot", "UpperArm", "LowerArm")]


def _is_below(joint: int, start: int) -> bool:
    """Return whether a joint is another one or moves with it."""
    while joint >= 0 and joint != start:
        joint = int(PARENTS[joint])
    return joint == start


def _order(n: int, pairs: list[tuple[int, int]]) -> Ints:
    """Return the order of n markers with some pairs exchanged."""
    order = np.arange(n)
    for a, b in pairs:
        order[[a, b]] = b, a
    return order


def _squared(points: Points, mean_m: Floats, sigma_m: Floats) -> Floats:
    """Return -2 ln of the density of every point under every marker, but for a constant, (M, P)."""
    distance2, log_volume = mahalanobis(points, mean_m, sigma_m)
    return distance2 + log_volume


@kernel
def _label_costs(
    choices: Ints, single: Floats, apart_m: Floats, variance_m2: Floats, distance_m: Floats, weight: Floats, cost: Floats
) -> None:
    """Write `LabelCost.of`, (C,): single, apart_m, variance_m2 as there; distance_m, weight: of the `BodyShape`."""
    for c in range(choices.shape[0]):
        cost[c] = 0.0
        for m in range(choices.shape[1]):
            p = choices[c, m]
            if p < 0:
                cost[c] += UNSEEN
                continue
            cost[c] += single[m, p]
            for other in range(m):
                q = choices[c, other]
                if q >= 0 and weight[m, other] > 0.0:
                    off_m = apart_m[p, q] - distance_m[m, other]
                    spread = 1.0 / weight[m, other] + variance_m2[p] + variance_m2[q]
                    cost[c] += min(off_m * off_m / spread, MOST_SQUARED)
