"""Where the markers of a body are, and how that changes with its lengths, its markers' offsets and its pose.

m = p_j + G_j o_m with p_j = p_parent + G_parent v_j, G_j = G_parent exp([r_j]x); r from the rest pose, not charted. Moving r_j
turns all that hangs on joint j by G_parent J_l(r_j) dr_j, with J_l the left Jacobian of the exponential map.

The space of skeletons that people have: what the database's skeletons say of a body nobody has measured yet.

Lengths of bones, the same on both sides, are Gaussian in their logarithms, with the mean and covariance of the database's
skeletons; the covariance is drawn towards one in which bones share their size only (Ledoit & Wolf 2004), there being fewer
skeletons than bones. Bones whose direction differs from person to person (hip and shoulder joints, spine) turn a little too.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from config.arrays import Floats
from config.errors import CalibrationError
from config.joints import JOINT_INDEX, JOINTS, N_JOINTS, PARENTS, mirror_joint_name
from database.geometry.rotations import matrix_from_rotvec, skew_from_vector
from database.geometry.skeleton import Skeleton


def _compute_ancestry() -> NDArray[np.bool_]:
    """Return which joint (row) hangs on which (column) or is it, (J, J)."""
    result = np.eye(N_JOINTS, dtype=bool)
    for joint in range(1, N_JOINTS):
        result[joint] |= result[PARENTS[joint]]
    return result


ABOVE = _compute_ancestry()


@dataclass(frozen=True, slots=True)
class PosedBody:
    """A body in a pose: orientations G (J, 3, 3), places p (J, 3) and markers (M, 3), world [m]."""

    G: Floats
    p: Floats
    marker_m: Floats


@dataclass(frozen=True, slots=True)
class MarkerJacobians:
    """Derivatives of the markers by the parameters of the skeleton, (M, 3, P), each marker's own offset, (M, 3, 3), and the
    rotation vectors of all joints, (M, 3, J, 3); by the root's place they are the identity.
    """

    shape: Floats
    offset: Floats
    pose: Floats


def place_body(vectors: Floats, offset_m: Floats, joint: NDArray[np.int64], rotvec: Floats, root_m: Floats) -> PosedBody:
    """Return a body in a pose.

    Args:
        vectors: offsets of the joints, (>= J, 3) [m].
        offset_m: of the markers in their joints' frames, (M, 3).
        joint: of each marker, (M,).
        rotvec: of the joints, (J, 3) [rad].
        root_m: place of the root, (3,).
    """
    L = matrix_from_rotvec(rotvec)
    G, p = np.empty((N_JOINTS, 3, 3)), np.empty((N_JOINTS, 3))
    G[0], p[0] = L[0], root_m
    for j in range(1, N_JOINTS):
        G[j] = G[PARENTS[j]] @ L[j]
        p[j] = p[PARENTS[j]] + G[PARENTS[j]] @ vectors[j]
    return PosedBody(G, p, p[joint] + np.einsum("mij,mj->mi", G[joint], offset_m))


def compute_marker_jacobians(
    placed: PosedBody, vector_slopes: Floats, joint: NDArray[np.int64], rotvec: Floats
) -> MarkerJacobians:
    """Return the derivatives of the markers of a body in a pose.

    Args:
        placed: the body.
        vector_slopes: of the offsets by the parameters, (>= J, 3, P).
        joint: of each marker, (M,).
        rotvec: of the joints, (J, 3) [rad].
    """
    n_parameters = vector_slopes.shape[2]
    by_shape = np.zeros((N_JOINTS, 3, n_parameters))
    turning = compute_left_jacobian(rotvec)
    for j in range(1, N_JOINTS):
        by_shape[j] = by_shape[PARENTS[j]] + placed.G[PARENTS[j]] @ vector_slopes[j]
        turning[j] = placed.G[PARENTS[j]] @ turning[j]
    arm = placed.marker_m[:, None] - placed.p[None]
    by_pose = -skew_from_vector(arm) @ turning[None] * ABOVE[joint][:, :, None, None]
    return MarkerJacobians(by_shape[joint], placed.G[joint], by_pose.swapaxes(1, 2))


def compute_left_jacobian(rotvec: Floats) -> Floats:
    """Return the left Jacobian of the exponential map, (..., 3) -> (..., 3, 3)."""
    t = np.linalg.norm(rotvec, axis=-1)[..., None, None]
    safe = np.maximum(t, 1e-4)
    b = np.where(t > 1e-4, (1.0 - np.cos(safe)) / safe**2, 0.5)
    c = np.where(t > 1e-4, (safe - np.sin(safe)) / safe**3, 1.0 / 6.0)
    K = skew_from_vector(rotvec)
    return np.asarray(np.eye(3) + b * K + c * K @ K)


ROWS = 2 * N_JOINTS  # offsets of all joints, then tails
LEAVES = tuple(name for index, name in enumerate(JOINTS) if index not in PARENTS)
MIRROR = np.array([JOINT_INDEX[mirror_joint_name(name)] for name in JOINTS])
MIRROR_ROWS = np.concatenate([MIRROR, N_JOINTS + MIRROR])
SHRINK = 0.15
OWN_SIGMA = 0.040  # least spread of a bone among people of one size, in logarithms
FLOOR_SIGMA = 0.022  # of every bone, independent of all others
SIZE_SIGMA = 0.05
ASYMMETRY_SIGMA = 0.012
TURN_SIGMA_RAD = 0.045
TURNING = ("UpperLeg", "Toes", "spine", "chest", "upperChest", "neck", "upperNeck", "head", "Shoulder", "UpperArm")
MARGIN = 0.12  # in logarithms: what people may be beyond the shortest and longest bone of the database
LEAST_M = 0.005
LEGS_OF_STATURE = 0.491  # hip to ankle (Drillis & Contini 1966, after Winter 2009, fig. 4.1)


@dataclass(frozen=True, slots=True)
class SkeletonSpace:
    """Skeletons of people, each named by y, (P,), a priori independent standard normal numbers.

    Rows are the offsets of all joints, then their tails. unit: mean directions, (2 J, 3); mean: logarithms of lengths, (2 J,);
    directions: what y does to them, (2 J, P); turns: what y does to the directions, (2 J, 3, P); low, high: bounds of the
    logarithms, (2 J,); asymmetry: by how much left and right differ from their mean, in logarithms, (2 J,); stature: of a person,
    shoes off, by the height of the skeleton, whose ends may lie short of soles and crown.
    """

    unit: Floats
    mean: Floats
    directions: Floats
    turns: Floats
    low: Floats
    high: Floats
    asymmetry: Floats
    stature: float

    @property
    def n_parameters(self) -> int:
        """Count the numbers that name a skeleton."""
        return int(self.directions.shape[1])

    def log_lengths(self, y: Floats) -> Floats:
        """Return logarithms of lengths, (2 J,)."""
        return np.asarray(self.mean + self.directions @ y)

    def vectors(self, y: Floats) -> tuple[Floats, Floats]:
        """Return offsets and tails, (2 J, 3) [m], and their derivatives, (2 J, 3, P)."""
        turned = self.unit + self.turns @ y
        norm = np.maximum(np.linalg.norm(turned, axis=1), 1e-9)
        u = turned / norm[:, None]
        length = np.exp(self.log_lengths(y)) * (norm > 0.5)
        across = (self.turns - u[:, :, None] * np.einsum("ri,rip->rp", u, self.turns)[:, None]) / norm[:, None, None]
        value = u * length[:, None]
        return value, value[:, :, None] * self.directions[:, None] + length[:, None, None] * across

    def skeleton(self, y: Floats) -> Skeleton:
        """Return the skeleton named by y."""
        return skeleton_from_vectors(self.vectors(y)[0], "calibrated")


def make_fixed_space(skeleton: Skeleton) -> SkeletonSpace:
    """Return the space that holds one skeleton only."""
    vectors = np.vstack([skeleton.offsets_m, skeleton.tails_m])
    length = np.maximum(np.linalg.norm(vectors, axis=1), 1e-9)
    unit = np.where(length[:, None] > 1e-6, vectors / length[:, None], 0.0)
    log, none = np.log(length), np.zeros(ROWS)
    return SkeletonSpace(
        unit, log, np.zeros((ROWS, 0)), np.zeros((ROWS, 3, 0)), log - 1.0, log + 1.0, none, _estimate_stature([skeleton])
    )


def skeleton_from_vectors(vectors: Floats, name: str) -> Skeleton:
    """Return a skeleton of offsets and tails, (2 J, 3) [m]."""
    return Skeleton(name, np.ascontiguousarray(vectors[:N_JOINTS]), np.ascontiguousarray(vectors[N_JOINTS:]))


def learn_skeleton_space(skeletons: Sequence[Skeleton]) -> SkeletonSpace:
    """Learn the space of skeletons; the fewer there are, the more is taken from what is known of people at large.

    Raises CalibrationError: no skeletons.
    """
    if not skeletons:
        raise CalibrationError("the database holds no skeleton; build it from clips with `duocap database build`")
    vectors = np.stack([np.vstack([skeleton.offsets_m, skeleton.tails_m]) for skeleton in skeletons])
    both = 0.5 * (vectors + vectors[:, MIRROR_ROWS] * np.array([-1.0, 1.0, 1.0]))
    length = np.linalg.norm(both, axis=2)
    present = np.median(length, axis=0) > LEAST_M
    mean_vector = (both / np.maximum(length, 1e-6)[..., None]).mean(axis=0) * present[:, None]
    unit = mean_vector / np.maximum(np.linalg.norm(mean_vector, axis=1, keepdims=True), 1e-9)
    typical = np.median(length, axis=0)
    log = np.log(np.clip(length, np.maximum(0.3 * typical, 1e-6), np.maximum(3.0 * typical, 1e-6)))
    rows, leader = _find_free_rows(both, present)
    factor = np.linalg.cholesky(_estimate_covariance(log[:, rows]))
    turns = _compute_turn_directions(both, unit, rows, present)
    n_turns = turns.shape[2]
    directions = np.zeros((ROWS, len(rows) + n_turns))
    # A tail that nothing defines (of a joint with several children) grows as the body does.
    directions[:, : len(rows)] = factor.mean(axis=0)
    all_turns = np.zeros((ROWS, 3, len(rows) + n_turns))
    for row in range(ROWS):
        if leader[row] >= 0:
            directions[row, : len(rows)] = factor[rows.index(leader[row])]
    all_turns[:, :, len(rows) :] = turns
    mean = log.mean(axis=0)
    return SkeletonSpace(
        unit,
        mean,
        directions,
        _spread_turns(all_turns, leader),
        log.min(axis=0) - MARGIN,
        log.max(axis=0) + MARGIN,
        _compute_asymmetry(vectors),
        _estimate_stature(skeletons),
    )


def _find_free_rows(both: Floats, present: np.ndarray) -> tuple[list[int], list[int]]:
    """Return the rows whose lengths are free, and of every row which free row it follows, -1 for none.

    The right side follows the left; the tail of a bone is the offset of the next joint where all skeletons have it so.
    """
    leader = [-1] * ROWS
    for joint in range(1, N_JOINTS):
        if present[joint]:
            leader[joint] = min(joint, int(MIRROR[joint]))
    for joint in range(N_JOINTS):
        row = N_JOINTS + joint
        for child in (c for c in range(1, N_JOINTS) if PARENTS[c] == joint):
            if leader[row] < 0 and np.abs(both[:, row] - both[:, child]).max() < 2e-3 and present[child]:
                leader[row] = leader[child]
        if JOINTS[joint] in LEAVES and present[row]:
            leader[row] = min(row, N_JOINTS + int(MIRROR[joint]))
    return sorted({row for row in leader if row >= 0}), leader


def _estimate_covariance(log: Floats) -> Floats:
    """Return the covariance of logarithms of lengths, (K, K), from those of N people, (N, K)."""
    n, k = log.shape
    centred = log - log.mean(axis=0)
    sample = centred.T @ centred / max(n - 1, 1)
    size = centred.mean(axis=1)
    own = ((centred - size[:, None]) ** 2).sum(axis=0) / max(n - 1, 1)
    size_variance = max(float(size @ size) / max(n - 1, 1), SIZE_SIGMA**2)
    target = size_variance * np.ones((k, k)) + np.diag(np.maximum(own, OWN_SIGMA**2))
    shrink = SHRINK if n > 3 else 1.0
    # What the sample lacks of the spread that people have anyway; 1 + 1 / n: the mean is not known better.
    missing = np.maximum(OWN_SIGMA**2 - own, 0.0) + FLOOR_SIGMA**2
    short = max(size_variance - float(size @ size) / max(n - 1, 1), 0.0)
    people = (1.0 + 1.0 / n) * ((1.0 - shrink) * (sample + short) + shrink * target)
    return np.asarray(people + np.diag(missing))


def _compute_turn_directions(both: Floats, unit: Floats, rows: list[int], present: np.ndarray) -> Floats:
    """Return the directions by which bones turn, in rows of the left side and the middle, (2 J, 3, Q)."""
    columns = []
    for row in rows:
        name = JOINTS[row % N_JOINTS].removeprefix("left")
        if not present[row] or (row >= N_JOINTS and name != "head") or name not in TURNING:
            continue
        u = unit[row]
        first = np.cross([1.0, 0.0, 0.0], u)  # a turn about x: all that a bone of the middle may do
        first /= max(np.linalg.norm(first), 1e-9)
        people = both[:, row] / np.linalg.norm(both[:, row], axis=1, keepdims=True)
        for axis in (first, np.cross(u, first)) if JOINTS[row % N_JOINTS].startswith("left") else (first,):
            spread = float(np.sqrt(((people @ axis) ** 2).sum() / max(len(people) - 1, 1)))
            column = np.zeros((ROWS, 3))
            column[row] = axis * max(spread, TURN_SIGMA_RAD)
            columns.append(column)
    return np.stack(columns, axis=2)


def _spread_turns(turns: Floats, leader: list[int]) -> Floats:
    """Turn every row as the row it follows, mirrored on the right: (2 J, 3, P)."""
    result = turns.copy()
    for row in range(ROWS):
        followed = leader[row]
        if followed >= 0 and followed != row:
            flip = -1.0 if JOINTS[row % N_JOINTS].startswith("right") else 1.0
            result[row] = turns[followed] * np.array([flip, 1.0, 1.0])[:, None]
    return result


def _compute_asymmetry(vectors: Floats) -> Floats:
    """Return how far a bone differs from the mean of both sides, in logarithms, (2 J,); zero for those of the middle."""
    length = np.log(np.maximum(np.linalg.norm(vectors, axis=2), 1e-3))
    half = 0.5 * (length - length[:, MIRROR_ROWS])
    sided = np.arange(ROWS) != MIRROR_ROWS
    return np.where(sided, np.maximum(np.sqrt((half**2).mean(axis=0)), ASYMMETRY_SIGMA), 0.0)


def _estimate_stature(skeletons: Sequence[Skeleton]) -> float:
    """Return statures by heights of skeletons: motion files end at some joint short of the crown, so their legs tell."""
    knee, ankle = JOINT_INDEX["leftLowerLeg"], JOINT_INDEX["leftFoot"]
    legs = [np.linalg.norm(s.offsets_m[[knee, ankle]], axis=1).sum() / LEGS_OF_STATURE / s.height_m for s in skeletons]
    return float(np.clip(np.median(legs), 0.97, 1.12))
