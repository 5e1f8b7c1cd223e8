"""Lengths, marker offsets and poses at once, from one pose of a performer or from many (Levenberg-Marquardt).

Common to all takes are the skeleton, as numbers y of a `SkeletonSpace`, and the offset of every marker; each take has its own
root and pose. The sum of squares: markers off their measured places, by their covariance; y, offsets and poses off what is
expected, by how far people are from it. Takes meet in the common numbers only, so their own are eliminated (Schur complement);
what is left, inverted, is the covariance of what they have in common.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calibration.subject.model import PosedBody, SkeletonSpace, compute_marker_jacobians, place_body
from config.arrays import Bools, Floats
from config.joints import JOINT_INDEX, N_JOINTS, PARENTS
from numerics.least_squares import NormalEquations, OwnBlocks, Step, compute_shared_covariance, minimise_cost

BOUND_SIGMA = 0.004  # in logarithms of length: so hard are the bounds of what people are
MAX_STEPS = 60
MIN_GAIN = 1e-7  # of the cost in one step
FREEDOM = 8.0  # of Student's t, by which a marker's place is off: now and then one is where nobody expects it
HEAD = JOINT_INDEX["head"]


@dataclass(frozen=True, slots=True)
class PoseMarkers:
    """Markers of one pose.

    point_m: (M, 3) world [m]; valid: (M,); covariance_m2: (M, 3, 3); expected: the pose as rotation vectors from the rest pose,
    (J, 3) [rad], that of the root being where to begin; sigma_rad: how far it may be from that, (J, 3), 0: not at all; that of
    the root is not asked for; root_m: where to begin, (3,).
    """

    point_m: Floats
    valid: NDArray[np.bool_]
    covariance_m2: Floats
    expected: Floats
    sigma_rad: Floats
    root_m: Floats


@dataclass(frozen=True, slots=True)
class MarkerPriors:
    """Where markers are expected: joint (M,), offset_m (M, 3) in its frame, sigma_m: how far they may be from there, (M,)."""

    joint: NDArray[np.int64]
    offset_m: Floats
    sigma_m: Floats


@dataclass(frozen=True, slots=True)
class HeightPrior:
    """What is known of the performer's height, shoes off [m]."""

    height_m: float
    sigma_m: float


@dataclass(frozen=True, slots=True)
class SubjectState:
    """The unknowns: y (P,), offset_m (M, 3), and for every take rotvec (J, 3) and root_m (3,)."""

    y: Floats
    offset_m: Floats
    rotvec: tuple[Floats, ...]
    root_m: tuple[Floats, ...]


@dataclass(frozen=True, slots=True)
class AdjustedSubject:
    """What was found.

    placed: the body in every take; covariance: of y and the offsets, (P + 3 M, P + 3 M); cost: sum of squares; cost_of_take:
    what of it is each take's own, markers and pose, (T,); freedom: what the cost of one take is expected to be.
    """

    state: SubjectState
    placed: tuple[PosedBody, ...]
    covariance: Floats
    cost: float
    cost_of_take: Floats
    freedom: int = 0

    @property
    def misfit(self) -> float:
        """By what factor everything seems to be off more than expected, at least 1: standard deviations grow by it.

        Of several takes the mean counts: what is wrong with a body or its markers is wrong in all of them.
        """
        own = float(self.cost_of_take.sum())
        typical = self.cost - own + own / max(len(self.cost_of_take), 1)
        return float(np.sqrt(max(1.0, typical / self.freedom))) if self.freedom > 0 else 1.0


@dataclass(frozen=True, slots=True)
class SubjectProblem:
    """What is asked: a body of the space that wears these markers in these takes.

    stature: the height, if it is known; earlier: what earlier takes said of y and the offsets, taken instead of space, markers
    and stature: mean (P + 3 M,) and a root of the information, (P + 3 M, P + 3 M).
    """

    space: SkeletonSpace
    markers: MarkerPriors
    takes: tuple[PoseMarkers, ...]
    stature: HeightPrior | None = None
    earlier: tuple[Floats, Floats] | None = None

    def cost(self, state: SubjectState) -> float:
        """Return the sum of squares."""
        return _compute_prior(self, state)[2] + float(_measure_take_costs(self, state, _place_takes(self, state)).sum())

    def linearise(self, state: SubjectState) -> NormalEquations:
        """Return the normal equations, a block for each take."""
        A, a, _ = _compute_prior(self, state)
        vector_slopes, blocks = self.space.vectors(state.y)[1], []
        for take, rotvec, body in zip(self.takes, state.rotvec, _place_takes(self, state), strict=True):
            common, gradient, own = _compute_take_blocks(self, take, body, vector_slopes, rotvec)
            A += common
            a += gradient
            blocks.append(own)
        return NormalEquations(A, a, tuple(blocks))

    def move(self, state: SubjectState, step: Step) -> SubjectState:
        """Return the state after a step."""
        n = self.space.n_parameters
        rotvec, root_m = [], []
        for take, r, t, (moved,) in zip(self.takes, state.rotvec, state.root_m, step.own, strict=True):
            free = _list_free_angles(take)
            new = r.copy()
            new[0] += moved[:3]
            new[free[:, 0], free[:, 1]] += moved[6:]
            rotvec.append(new)
            root_m.append(t + moved[3:6])
        offset_m = state.offset_m + step.shared[n:].reshape(-1, 3)
        return SubjectState(state.y + step.shared[:n], offset_m, tuple(rotvec), tuple(root_m))


def adjust_subject(problem: SubjectProblem, start: SubjectState | None = None, max_steps: int = MAX_STEPS) -> AdjustedSubject:
    """Return the state with the least sum of squares.

    Args:
        problem: what is asked.
        start: initial state; None: the prior means.
        max_steps: number of steps at most.
    """
    if start is None:
        rotvec, root_m = tuple(take.expected for take in problem.takes), tuple(take.root_m for take in problem.takes)
        start = SubjectState(np.zeros(problem.space.n_parameters), problem.markers.offset_m, rotvec, root_m)
    fit = minimise_cost(problem, start, max_steps=max_steps, smallest_gain=MIN_GAIN)
    placed = _place_takes(problem, fit.state)
    covariance = compute_shared_covariance(problem.linearise(fit.state))
    freedom = 3 * int(np.any([take.valid for take in problem.takes], axis=0).sum()) - 6
    return AdjustedSubject(fit.state, placed, covariance, fit.cost, _measure_take_costs(problem, fit.state, placed), freedom)


def compute_height(space: SkeletonSpace, y: Floats) -> tuple[float, Floats]:
    """Return the height of a skeleton in the rest pose [m] and its derivative by y, (P,)."""
    value, slope = space.vectors(y)
    rest, by_y = np.zeros(N_JOINTS), np.zeros((N_JOINTS, space.n_parameters))
    for j in range(1, N_JOINTS):
        rest[j], by_y[j] = rest[PARENTS[j]] + value[j, 1], by_y[PARENTS[j]] + slope[j, 1]
    ends, ends_by_y = rest + value[N_JOINTS:, 1], by_y + slope[N_JOINTS:, 1]
    low = int(np.argmin(ends))
    return float(ends[HEAD] - ends[low]), ends_by_y[HEAD] - ends_by_y[low]


def _place_takes(problem: SubjectProblem, state: SubjectState) -> tuple[PosedBody, ...]:
    """Return the body in every take."""
    vectors, joint = problem.space.vectors(state.y)[0], problem.markers.joint
    return tuple(place_body(vectors, state.offset_m, joint, r, t) for r, t in zip(state.rotvec, state.root_m, strict=True))


def _measure_take_costs(problem: SubjectProblem, state: SubjectState, placed: Sequence[PosedBody]) -> Floats:
    """Return what of the cost is each take's own, markers and pose, (T,).

    Args:
        problem: the takes.
        state: where they are posed.
        placed: the body in each take.
    """
    costs = []
    for take, rotvec, body in zip(problem.takes, state.rotvec, placed, strict=True):
        e, z = _compute_marker_errors(take, body)[1], _compute_pose_errors(take, rotvec)[1]
        costs.append(float(e @ e + z @ z))
    return np.array(costs)


def measure_distances_m(takes: Sequence[PoseMarkers], placed: Sequence[PosedBody]) -> Floats:
    """Return how far the markers of each take are from where the body has them, (T, M) [m], NaN where not seen."""
    pairs = zip(takes, placed, strict=True)
    return np.stack([np.where(take.valid, np.linalg.norm(body.marker_m - take.point_m, axis=1), np.nan) for take, body in pairs])


def measure_squared_sigmas(take: PoseMarkers, body: PosedBody) -> Floats:
    """Return how far a take's markers are from where the body has them, in squared standard deviations, (M,)."""
    e = body.marker_m - take.point_m
    return np.asarray(np.einsum("mi,mij,mj->m", e, np.linalg.inv(take.covariance_m2), e))


def adjust_without_outliers(
    problem: SubjectProblem, start: SubjectState, fits: Callable[[PoseMarkers, PosedBody], Bools], steps: Sequence[int]
) -> tuple[SubjectProblem, AdjustedSubject]:
    """Adjust, leave out markers that are too far off to be what their labels say, and adjust again while there are any.

    Args:
        problem: what is asked.
        start: where to begin.
        fits: says which markers of a take may be what they are labelled as, (M,).
        steps: number of steps at most, of each adjustment.
    """
    adjusted = adjust_subject(problem, start, steps[0])
    for more in steps[1:]:
        both = zip(problem.takes, adjusted.placed, strict=True)
        takes = tuple(replace(take, valid=take.valid & fits(take, body)) for take, body in both)
        if all(np.array_equal(new.valid, old.valid) for new, old in zip(takes, problem.takes, strict=True)):
            break
        problem = replace(problem, takes=takes)
        adjusted = adjust_subject(problem, adjusted.state, more)
    return problem, adjusted


def _compute_take_blocks(
    problem: SubjectProblem, take: PoseMarkers, body: PosedBody, vector_slopes: Floats, rotvec: Floats
) -> tuple[Floats, Floats, OwnBlocks]:
    """Return what a take adds: to the common block and gradient, and its own block."""
    common, own, e = _compute_marker_rows(problem, take, body, vector_slopes, rotvec)
    sigma, z = _compute_pose_errors(take, rotvec)
    D, d = own.T @ own, own.T @ e
    D[6:, 6:] += np.diag(1.0 / sigma**2)
    d[6:] += z / sigma
    return common.T @ common, common.T @ e, OwnBlocks((common.T @ own)[None], D[None], d[None])


def _compute_pose_errors(take: PoseMarkers, rotvec: Floats) -> tuple[Floats, Floats]:
    """Return the standard deviations of a take's free angles and how far they are from what is expected, in these."""
    free = _list_free_angles(take)
    sigma = take.sigma_rad[free[:, 0], free[:, 1]]
    return sigma, (rotvec - take.expected)[free[:, 0], free[:, 1]] / sigma


def _list_free_angles(take: PoseMarkers) -> NDArray[np.intp]:
    """Return joint and axis of the angles that a take leaves free, (A, 2)."""
    return np.asarray(np.argwhere(take.sigma_rad[1:] > 0) + [1, 0])


def _compute_marker_errors(take: PoseMarkers, body: PosedBody) -> tuple[Floats, Floats]:
    """Return the whitening of the markers seen, (S, 3, 3), and how far these are off their places, whitened, (3 S,)."""
    seen = np.flatnonzero(take.valid)
    W = np.linalg.cholesky(np.linalg.inv(take.covariance_m2[seen])).swapaxes(1, 2)
    return W, np.einsum("mij,mj->mi", W, body.marker_m[seen] - take.point_m[seen]).ravel()


def _compute_marker_rows(
    problem: SubjectProblem, take: PoseMarkers, body: PosedBody, vector_slopes: Floats, rotvec: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return the whitened rows of a take's markers: by the common numbers, by its own (root, free angles), and errors."""
    joint, n = problem.markers.joint, problem.space.n_parameters
    slope = compute_marker_jacobians(body, vector_slopes, joint, rotvec)
    seen = np.flatnonzero(take.valid)
    W, e = _compute_marker_errors(take, body)
    common = np.zeros((len(seen), 3, n + 3 * len(joint)))
    common[:, :, :n] = slope.shape[seen]
    for row, m in enumerate(seen):
        common[row, :, n + 3 * m : n + 3 * m + 3] = slope.offset[m]
    free = _list_free_angles(take)
    here = np.broadcast_to(np.eye(3), (len(seen), 3, 3))
    own = np.concatenate([slope.pose[seen][:, :, 0], here, slope.pose[seen][:, :, free[:, 0], free[:, 1]]], axis=2)
    return (W @ common).reshape(len(e), common.shape[2]), (W @ own).reshape(len(e), own.shape[2]), e


def _compute_prior(problem: SubjectProblem, state: SubjectState) -> tuple[Floats, Floats, float]:
    """Return the normal equations and the cost of what is expected of the common numbers."""
    space, worn = problem.space, problem.markers
    n = space.n_parameters
    if problem.earlier is None:
        moved = state.offset_m - worn.offset_m
        far = (moved**2).sum(axis=1) / worn.sigma_m**2
        trust = (FREEDOM + 3.0) / (FREEDOM + far)
        weight = np.concatenate([np.ones(n), np.repeat(trust / worn.sigma_m**2, 3)])
        A, a = np.diag(weight), weight * np.concatenate([state.y, moved.ravel()])
        cost = float(state.y @ state.y) + (FREEDOM + 3.0) * float(np.log1p(far / FREEDOM).sum())
    else:
        mean, root = problem.earlier
        e = root @ (np.concatenate([state.y, state.offset_m.ravel()]) - mean)
        A, a, cost = root.T @ root, root.T @ e, float(e @ e)
    log = space.log_lengths(state.y)
    beyond = np.maximum(log - space.high, 0.0) + np.minimum(log - space.low, 0.0)
    rows, e = space.directions[beyond != 0] / BOUND_SIGMA, beyond[beyond != 0] / BOUND_SIGMA
    if problem.stature is not None and problem.earlier is None:
        height, by_y = compute_height(space, state.y)
        rows = np.vstack([rows, space.stature * by_y / problem.stature.sigma_m])
        e = np.append(e, (space.stature * height - problem.stature.height_m) / problem.stature.sigma_m)
    A[:n, :n] += rows.T @ rows
    a[:n] += rows.T @ e
    return A, a, cost + float(e @ e)
