"""Lengths, marker offsets and poses at once, from one pose of a performer or from many (Levenberg-Marquardt).

Common to all takes are the skeleton, as numbers y of a `SkeletonSpace`, and the offset of every marker; each take has its own
root and pose. The sum of squares: markers off their measured places, by their covariance; y, offsets and poses off what is
expected, by how far people are from it. Takes meet in the common numbers only, so their own are eliminated (Schur complement);
what is left, inverted, is the covariance of what they have in common.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibration.subject.model import PosedBody, SkeletonSpace, place, slopes
from config.arrays import Floats
from config.joints import JOINT_INDEX, N_JOINTS, PARENTS

BOUND_SIGMA = 0.004  # in logarithms of length: so hard are the bounds of what people are
MAX_STEPS = 60
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
    """Everything that is sought: y (P,), offset_m (M, 3), and of every take rotvec (J, 3) and root_m (3,)."""

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

    stature: if it is known; earlier: what earlier takes said of y and the offsets, taken instead of what space, wearing and
    stature let expect: mean (P + 3 M,) and a root of the information, (P + 3 M, P + 3 M).
    """

    space: SkeletonSpace
    worn: MarkerPriors
    takes: tuple[PoseMarkers, ...]
    stature: HeightPrior | None = None
    earlier: tuple[Floats, Floats] | None = None

    @property
    def n_common(self) -> int:
        """Count the numbers all takes have in common."""
        return self.space.n_parameters + 3 * len(self.worn.joint)


def adjust(problem: SubjectProblem, start: SubjectState | None = None, max_steps: int = MAX_STEPS) -> AdjustedSubject:
    """Find the state of the least sum of squares from a start, by default what is expected of everything."""
    state = _expected(problem) if start is None else start
    system = _system(problem, state)
    damping = 1e-3
    for _ in range(max_steps):
        tried = _moved(problem, state, _step(system, damping))
        new = _system(problem, tried)
        if new.cost < system.cost:
            gained = system.cost - new.cost
            state, system, damping = tried, new, max(0.2 * damping, 1e-9)
            if gained < 1e-7 * (1.0 + system.cost):
                break
        elif damping > 1e6:
            break
        else:
            damping *= 6.0
    covariance = np.linalg.inv(_reduced(system, 0.0)[0])
    freedom = 3 * int(np.any([take.valid for take in problem.takes], axis=0).sum()) - 6
    return AdjustedSubject(state, system.placed, 0.5 * (covariance + covariance.T), system.cost, system.cost_of_take, freedom)


def height_of(space: SkeletonSpace, y: Floats) -> tuple[float, Floats]:
    """Return the height of a skeleton in the rest pose [m] and its derivative by y, (P,)."""
    value, slope = space.vectors(y)
    rest, by_y = np.zeros(N_JOINTS), np.zeros((N_JOINTS, space.n_parameters))
    for j in range(1, N_JOINTS):
        rest[j], by_y[j] = rest[PARENTS[j]] + value[j, 1], by_y[PARENTS[j]] + slope[j, 1]
    ends, ends_by_y = rest + value[N_JOINTS:, 1], by_y + slope[N_JOINTS:, 1]
    low = int(np.argmin(ends))
    return float(ends[HEAD] - ends[low]), ends_by_y[HEAD] - ends_by_y[low]


@dataclass(frozen=True, slots=True)
class _System:
    """Normal equations: common block A (C, C) and a (C,), of each take the cross block B (C, Q), its own D (Q, Q) and d (Q,)."""

    A: Floats
    a: Floats
    blocks: tuple[tuple[Floats, Floats, Floats], ...]
    placed: tuple[PosedBody, ...]
    cost: float
    cost_of_take: Floats


def _expected(problem: SubjectProblem) -> SubjectState:
    """Return the state in which everything is as expected."""
    takes = problem.takes
    return SubjectState(
        np.zeros(problem.space.n_parameters),
        problem.worn.offset_m.copy(),
        tuple(take.expected.copy() for take in takes),
        tuple(take.root_m.copy() for take in takes),
    )


def _system(problem: SubjectProblem, state: SubjectState) -> _System:
    """Build the normal equations at a state."""
    A, a, cost = _prior(problem, state)
    vectors, vector_slopes = problem.space.vectors(state.y)
    blocks, placed, costs = [], [], []
    for take, rotvec, root_m in zip(problem.takes, state.rotvec, state.root_m, strict=True):
        body = place(vectors, state.offset_m, problem.worn.joint, rotvec, root_m)
        common, own, e = _marker_rows(problem, take, body, vector_slopes, rotvec)
        free = np.argwhere(take.sigma_rad[1:] > 0) + [1, 0]
        sigma = take.sigma_rad[free[:, 0], free[:, 1]]
        z = (rotvec - take.expected)[free[:, 0], free[:, 1]] / sigma
        D = own.T @ own
        D[6:, 6:] += np.diag(1.0 / sigma**2)
        d = own.T @ e
        d[6:] += z / sigma
        A += common.T @ common
        a += common.T @ e
        blocks.append((common.T @ own, D, d))
        placed.append(body)
        costs.append(float(e @ e + z @ z))
    return _System(A, a, tuple(blocks), tuple(placed), cost + sum(costs), np.array(costs))


def _marker_rows(
    problem: SubjectProblem, take: PoseMarkers, body: PosedBody, vector_slopes: Floats, rotvec: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return the whitened rows of a take's markers: by the common numbers, by its own (root, free angles), and errors."""
    joint, n = problem.worn.joint, problem.space.n_parameters
    slope = slopes(body, vector_slopes, joint, rotvec)
    seen = np.flatnonzero(take.valid)
    W = np.linalg.cholesky(np.linalg.inv(take.covariance_m2[seen])).swapaxes(1, 2)
    common = np.zeros((len(seen), 3, problem.n_common))
    common[:, :, :n] = slope.shape[seen]
    for row, m in enumerate(seen):
        common[row, :, n + 3 * m : n + 3 * m + 3] = slope.offset[m]
    free = np.argwhere(take.sigma_rad[1:] > 0) + [1, 0]
    here = np.broadcast_to(np.eye(3), (len(seen), 3, 3))
    own = np.concatenate([slope.pose[seen][:, :, 0], here, slope.pose[seen][:, :, free[:, 0], free[:, 1]]], axis=2)
    e = np.einsum("mij,mj->mi", W, body.marker_m[seen] - take.point_m[seen]).ravel()
    return (W @ common).reshape(len(e), -1), (W @ own).reshape(len(e), -1), e


def _prior(problem: SubjectProblem, state: SubjectState) -> tuple[Floats, Floats, float]:
    """Return the normal equations and the cost of what is expected of the common numbers."""
    space, worn = problem.space, problem.worn
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
        height, by_y = height_of(space, state.y)
        rows = np.vstack([rows, space.stature * by_y / problem.stature.sigma_m])
        e = np.append(e, (space.stature * height - problem.stature.height_m) / problem.stature.sigma_m)
    A[:n, :n] += rows.T @ rows
    a[:n] += rows.T @ e
    return A, a, cost + float(e @ e)


def _reduced(system: _System, damping: float) -> tuple[Floats, Floats, list[tuple[Floats, Floats]]]:
    """Eliminate what is each take's own: the common block, its gradient, and per take inverse(D) B' and inverse(D) d."""
    A, a, solved = system.A + damping * np.diag(np.diag(system.A)), system.a.copy(), []
    for B, D, d in system.blocks:
        both = np.linalg.solve(D + damping * np.diag(np.diag(D)) + 1e-9 * np.eye(len(D)), np.column_stack([B.T, d]))
        solved.append((np.asarray(both[:, :-1], np.float64), np.asarray(both[:, -1], np.float64)))
        A -= B @ both[:, :-1]
        a -= B @ both[:, -1]
    return A, a, solved


def _step(system: _System, damping: float) -> tuple[Floats, list[Floats]]:
    """Return the step of the common numbers, (C,), and of every take's own."""
    A, a, solved = _reduced(system, damping)
    common = np.asarray(-np.linalg.solve(A, a), np.float64)
    return common, [-by_common @ common - alone for by_common, alone in solved]


def _moved(problem: SubjectProblem, state: SubjectState, step: tuple[Floats, list[Floats]]) -> SubjectState:
    """Take a step."""
    common, own = step
    n = problem.space.n_parameters
    rotvec, root_m = [], []
    for take, r, t, moved in zip(problem.takes, state.rotvec, state.root_m, own, strict=True):
        free = np.argwhere(take.sigma_rad[1:] > 0) + [1, 0]
        new = r.copy()
        new[0] += moved[:3]
        new[free[:, 0], free[:, 1]] += moved[6:]
        rotvec.append(new)
        root_m.append(t + moved[3:6])
    return SubjectState(state.y + common[:n], state.offset_m + common[n:].reshape(-1, 3), tuple(rotvec), tuple(root_m))
