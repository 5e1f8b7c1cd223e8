"""The wand's adjustment: relative pose, places of the markers, and what else is wanted, all at once, by least squares.

Unknown are, in units of the baseline: the turn of the right camera, the direction of its shift, the places X of the markers, and
the length l of a wand of two; where asked for both focal lengths and what is left of the time offset. Minimised is

    sum rho(|m_left - project(X)|^2 + |m_right + v delta - project(R X + t)|^2) / sigma^2 + sum ((|X_1 - X_2| - l) / sigma_l)^2

with v the right point's velocity and rho Cauchy's. Turns act from the left, R <- exp([w]x) R. The places of one moment form a
block of their own, which is eliminated (Schur); all derivatives are worked out by hand. The unit of length is settled afterwards.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calibration.solve.equations import NEAREST_M, point_derivatives, project
from config.arrays import Floats
from database.geometry.rotations import matrix_from_rotvec
from numerics.least_squares import NormalEquations, OwnBlocks, Step, minimise, shared_covariance

CAUCHY = 2.5  # sigmas of a pair of views' distance
FOCAL_PRIOR, OFFSET_PRIOR_S = 0.3, 0.2  # so weak that only what nothing else tells comes from it
MAX_STEPS = 40


@dataclass(frozen=True, slots=True)
class WandState:
    """Everything that the adjustment may move.

    intrinsics: (2, 10); rotation, translation: left to right camera, |translation| = 1; points: (F, K, 3) in the left camera's
    frame, in baselines; length: of the wand, in baselines; delta_s: what is left of the offset; log_focal: by which the focal
    lengths have grown since the start, (2,).
    """

    intrinsics: Floats
    rotation: Floats
    translation: Floats
    points: Floats
    length: float
    delta_s: float
    log_focal: Floats


@dataclass(frozen=True, slots=True)
class WandProblem:
    """What was measured and what may move.

    px: (2, F, K, 2); velocity_px_s: (F, K, 2); used: (F, K); sigma_px: of a coordinate; length_sigma: of the wand, in baselines;
    robust: whether the cost is Cauchy's or quadratic.
    """

    px: Floats
    velocity_px_s: Floats
    used: NDArray[np.bool_]
    sigma_px: float
    length_sigma: float = 1.0
    focal: bool = False
    offset: bool = False
    robust: bool = True

    @property
    def n_markers(self) -> int:
        """Count the markers of the wand."""
        return int(self.px.shape[2])

    @property
    def n_shared(self) -> int:
        """Count the unknowns that all moments share: turn, direction, focal lengths, offset, length of a wand of two."""
        return 5 + 2 * self.focal + self.offset + (self.n_markers == 2)

    def cost(self, state: WandState) -> float:
        """Return what is minimised."""
        residual, stretch = residuals(state, self)
        s = (residual**2).sum(axis=(0, 3)) / self.sigma_px**2
        total = float(self._bent(s)[self.used].sum() + _prior(state, self)[0])
        if len(stretch):
            total += float(self._bent((stretch / self.length_sigma) ** 2)[self.used.all(axis=1)].sum())
        return total

    def _bent(self, squares: Floats) -> Floats:
        """Return the costs of squares, in sigmas."""
        return np.asarray(CAUCHY**2 * np.log1p(squares / CAUCHY**2)) if self.robust else squares

    def linearise(self, state: WandState) -> NormalEquations:
        """Return the normal equations, the blocks being the places of one moment."""
        F, K = self.used.shape
        residual, stretch = residuals(state, self)
        shared, place = jacobians(state, self)
        w = weights(residual, self)
        H = np.einsum("fk,sfkua,sfkub->ab", w, shared, shared, optimize=True)
        gradient = np.einsum("fk,sfkua,sfku->a", w, shared, residual, optimize=True)
        weighted = w[None, :, :, None, None] * place
        own = OwnBlocks(np.zeros((F, self.n_shared, 3 * K)), np.zeros((F, 3 * K, 3 * K)), np.zeros((F, 3 * K)))
        for k in range(K):
            at = slice(3 * k, 3 * k + 3)
            own.own[:, at, at] = np.einsum("sfui,sfuj->fij", weighted[:, :, k], place[:, :, k])
            own.mixed[:, :, at] = np.einsum("sfui,sfua->fai", weighted[:, :, k], shared[:, :, k])
            own.gradient[:, at] = np.einsum("sfui,sfu->fi", weighted[:, :, k], residual[:, :, k])
        normal = NormalEquations(H, gradient, (own,))
        if K == 2:
            _add_lengths(state, self, stretch, normal)
        _, curvature, slope = _prior(state, self)
        own.own[:] += 1e-9 * np.eye(3 * K)  # a moment that does not count still has an inverse
        return NormalEquations(H + np.diag(curvature), gradient + slope, (own,))

    def move(self, state: WandState, step: Step) -> WandState | None:
        """Return the state after a step, None where that makes no sense."""
        if not np.isfinite(step.shared).all() or np.abs(step.shared[:5]).max() > 1.0:
            return None
        moved = stepped(state, self, step.shared, step.own[0])
        return moved if moved.length >= 0.0 and np.isfinite(moved.points).all() else None


@dataclass(frozen=True, slots=True)
class WandFit:
    """A state, its cost, and the normal equations there."""

    state: WandState
    cost: float
    normal: NormalEquations

    @property
    def covariance(self) -> Floats:
        """Of the shared unknowns, the places being unknown too, (p, p)."""
        return shared_covariance(self.normal)

    def answer_of_places(self, B: Floats) -> Floats:
        """Return H_pp^-1 B of every moment's places, (F, 3K, n)."""
        return np.asarray(np.linalg.solve(self.normal.groups[0].own, B))

    @property
    def place_by_shared(self) -> Floats:
        """How the places move with the shared unknowns, (F, 3K, p)."""
        return -self.answer_of_places(self.normal.groups[0].mixed.swapaxes(1, 2))


def tangents(direction: Floats) -> Floats:
    """Return two unit vectors across a unit vector, as columns, (3, 2)."""
    first = np.cross(direction, np.eye(3)[int(np.argmin(np.abs(direction)))])
    first = first / np.linalg.norm(first)
    return np.stack([first, np.cross(direction, first)], axis=1)


def residuals(state: WandState, problem: WandProblem) -> tuple[Floats, Floats]:
    """Return measured less predicted image points, (2, F, K, 2) [px], and lengths less the wand's, (F,), none for one marker."""
    right = state.points @ state.rotation.T + state.translation
    out = np.stack(
        [
            problem.px[0] - project(state.intrinsics[0], state.points),
            problem.px[1] + state.delta_s * problem.velocity_px_s - project(state.intrinsics[1], right),
        ]
    )
    for side, points in enumerate((state.points, right)):
        out[side][points[..., 2] <= NEAREST_M] = 1e4
    if problem.n_markers < 2:
        return out, np.zeros(0)
    return out, np.linalg.norm(state.points[:, 0] - state.points[:, 1], axis=1) - state.length


def jacobians(state: WandState, problem: WandProblem) -> tuple[Floats, Floats]:
    """Return d residual / d shared, (2, F, K, 2, p), and d residual / d own place, (2, F, K, 2, 3), of the image points."""
    F, K = problem.used.shape
    turned = state.points @ state.rotation.T
    left, right = state.points, turned + state.translation
    shared, place = np.zeros((2, F, K, 2, problem.n_shared)), np.empty((2, F, K, 2, 3))
    P_left, P_right = point_derivatives(state.intrinsics[0], left), point_derivatives(state.intrinsics[1], right)
    place[0], place[1] = -P_left, -P_right @ state.rotation
    shared[1, ..., :3] = -np.cross(turned[:, :, None], P_right)
    shared[1, ..., 3:5] = -P_right @ tangents(state.translation)
    column = 5
    if problem.focal:
        for side, points in enumerate((left, right)):
            intrinsics = state.intrinsics[side]
            shared[side, ..., column + side] = -(project(intrinsics, points) - intrinsics[2:4])
        column += 2
    if problem.offset:
        shared[1, ..., column] = problem.velocity_px_s
    return shared, place


def weights(residual_px: Floats, problem: WandProblem) -> Floats:
    """Return the weight of every observation of a marker by both cameras, (F, K) [px^-2]."""
    s = (residual_px**2).sum(axis=(0, 3)) / problem.sigma_px**2
    bend = 1.0 + s / CAUCHY**2 if problem.robust else np.ones_like(s)
    return np.asarray(problem.used / bend / problem.sigma_px**2)


def _prior(state: WandState, problem: WandProblem) -> tuple[float, Floats, Floats]:
    """Return the priors' cost, curvature (p,) and gradient (p,)."""
    curvature, value = np.zeros(problem.n_shared), np.zeros(problem.n_shared)
    if problem.focal:
        curvature[5:7], value[5:7] = FOCAL_PRIOR**-2, state.log_focal
    if problem.offset:
        at = 5 + 2 * problem.focal
        curvature[at], value[at] = OFFSET_PRIOR_S**-2, state.delta_s
    return float(curvature @ value**2), curvature, curvature * value


def _add_lengths(state: WandState, problem: WandProblem, stretch: Floats, normal: NormalEquations) -> None:
    """Add the wand's rigidity to the normal equations."""
    (own,), sigma = normal.groups, problem.length_sigma
    w: Floats = np.asarray(problem.used.all(axis=1), float) / sigma**2
    if problem.robust:
        w = np.asarray(w / (1.0 + (stretch / sigma) ** 2 / CAUCHY**2))
    gap = state.points[:, 0] - state.points[:, 1]
    along = gap / np.maximum(np.linalg.norm(gap, axis=1, keepdims=True), 1e-12)
    J = np.concatenate([along, -along], axis=1)
    own.own[:] += w[:, None, None] * J[:, :, None] * J[:, None, :]
    own.gradient[:] += (w * stretch)[:, None] * J
    own.mixed[:, -1] -= w[:, None] * J
    normal.shared[-1, -1] += w.sum()
    normal.gradient[-1] -= w @ stretch


def stepped(state: WandState, problem: WandProblem, shared: Floats, places: Floats) -> WandState:
    """Take a step: shared (p,), places (F, 3K)."""
    translation = state.translation + tangents(state.translation) @ shared[3:5]
    column, log_focal, intrinsics = 5, state.log_focal, state.intrinsics
    if problem.focal:
        grown = shared[column : column + 2]
        intrinsics = intrinsics.copy()
        intrinsics[:, :2] *= np.exp(grown)[:, None]
        log_focal, column = log_focal + grown, column + 2
    delta_s = state.delta_s + float(shared[column]) if problem.offset else state.delta_s
    return replace(
        state,
        intrinsics=intrinsics,
        rotation=matrix_from_rotvec(shared[:3]) @ state.rotation,
        translation=translation / np.linalg.norm(translation),
        points=state.points + places.reshape(state.points.shape),
        length=state.length + float(shared[-1]) if problem.n_markers == 2 else state.length,
        delta_s=delta_s,
        log_focal=log_focal,
    )


def adjust(state: WandState, problem: WandProblem, max_steps: int = MAX_STEPS) -> WandFit:
    """Minimise by Levenberg-Marquardt; the cost never rises."""
    fit = minimise(problem, state, max_steps=max_steps)
    return WandFit(fit.state, fit.cost, problem.linearise(fit.state))
