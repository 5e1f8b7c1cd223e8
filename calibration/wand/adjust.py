"""The wand's adjustment: poses of the cameras, places of the markers, and what else is wanted, all at once, by least squares.

Unknown are, in units of the distance of the first two cameras: the turn of the second camera and the direction of its shift, turn
and shift of further ones, the places X of the markers, and the length l of a wand of two; where asked for the focal lengths and
what is left of the time offsets. Minimised is

    sum rho(sum_c |m_c + v_c (delta_c - delta_ref) - project(R_c X + t_c)|^2) / sigma^2 + sum ((|X_1 - X_2| - l) / sigma_l)^2

over the cameras c that see a marker, with v its velocity there and rho Cauchy's, whose scale grows with the degrees of freedom.
Turns act from the left, R <- exp([w]x) R. The places of one moment form a block of their own, which is eliminated (Schur); all
derivatives are worked out by hand. The unit of length is settled afterwards.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibration.solve.projection import NEAREST_M, compute_point_derivatives, project_points
from calibration.wand.tracks import WandViews
from config.arrays import Floats
from database.geometry.rotations import compute_tangents, matrix_from_rotvec
from numerics.least_squares import NormalEquations, OwnBlocks, Step, compute_shared_covariance, minimise_cost

CAUCHY = 2.5  # sigmas of a pair of views' distance
FOCAL_PRIOR, OFFSET_PRIOR_S = 0.3, 0.2  # so weak that only what nothing else tells comes from it
MAX_STEPS = 40


@dataclass(frozen=True, slots=True)
class WandState:
    """Everything that the adjustment may move.

    intrinsics: (C, 10); rotation, translation: first to each camera, (C, 3, 3), (C, 3), |translation[1]| = 1; points: (F, K, 3)
    in the first camera's frame; length: of the wand; delta_s: what is left of the offsets, (C,), of the first 0; log_focal: by
    which the focal lengths have grown since the start, (C,). Lengths are in distances of the first two cameras.
    """

    intrinsics: Floats
    rotation: Floats
    translation: Floats
    points: Floats
    length: float
    delta_s: Floats
    log_focal: Floats

    def in_camera(self, camera: int) -> Floats:
        """Return the places in a camera's frame, (F, K, 3)."""
        return self.points @ self.rotation[camera].T + self.translation[camera] if camera else self.points


@dataclass(frozen=True, slots=True)
class WandFreedom:
    """Which further unknowns may move: the focal lengths, what is left of the time offsets."""

    focal: bool = False
    offset: bool = False


@dataclass(frozen=True, slots=True)
class WandProblem:
    """What was measured and what may move.

    views: of C cameras; used: observations, (F, K); sigma_px: of a coordinate; length_sigma: of the wand, in the state's unit;
    robust: whether the cost is Cauchy's or quadratic.
    """

    views: WandViews
    used: NDArray[np.bool_]
    sigma_px: float
    length_sigma: float = 1.0
    free: WandFreedom = WandFreedom()
    robust: bool = True

    @property
    def n_markers(self) -> int:
        """Count the markers of the wand."""
        return int(self.used.shape[1])

    @property
    def freedom(self) -> Floats:
        """By how much the coordinates of a marker outnumber its own unknowns, of each moment, (F, 1)."""
        return np.asarray(2.0 * self.views.seen.sum(axis=0)[:, None] - 3.0)

    @property
    def focal_columns(self) -> slice:
        """Where the focal lengths are among the shared unknowns, after turn, direction and the other cameras' poses."""
        C = self.views.n_cameras
        return slice(6 * C - 7, 6 * C - 7 + C * self.free.focal)

    @property
    def offset_columns(self) -> slice:
        """Where the offsets of all cameras but the first are."""
        start = self.focal_columns.stop
        return slice(start, start + (self.views.n_cameras - 1) * self.free.offset)

    @property
    def n_shared(self) -> int:
        """Count the unknowns that all moments share; the last is the length of a wand of two."""
        return int(self.offset_columns.stop) + (self.n_markers == 2)

    def cost(self, state: WandState) -> float:
        """Return what is minimised."""
        residual, stretch = compute_wand_residuals(state, self)
        s = (residual**2).sum(axis=(0, 3)) / self.sigma_px**2
        total = float(self._bent(s, self.freedom)[self.used].sum() + _compute_prior(state, self)[0])
        if len(stretch):
            total += float(self._bent((stretch / self.length_sigma) ** 2, 1.0)[self.used.all(axis=1)].sum())
        return total

    def _bent(self, squares: Floats, freedom: Floats | float) -> Floats:
        """Return the costs of squares, in sigmas."""
        scale = CAUCHY**2 * freedom
        return np.asarray(scale * np.log1p(squares / scale)) if self.robust else squares

    def linearise(self, state: WandState) -> NormalEquations:
        """Return the normal equations, the blocks being the places of one moment."""
        F, K = self.used.shape
        residual, stretch = compute_wand_residuals(state, self)
        shared, place = compute_wand_jacobians(state, self)
        w = compute_observation_weights(residual, self)
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
        _, curvature, slope = _compute_prior(state, self)
        own.own[:] += 1e-9 * np.eye(3 * K)  # a moment that does not count still has an inverse
        return NormalEquations(H + np.diag(curvature), gradient + slope, (own,))

    def move(self, state: WandState, step: Step) -> WandState | None:
        """Return the state after a step, None where that makes no sense."""
        others = step.shared[5 : self.focal_columns.start].reshape(-1, 6)
        turns = np.concatenate([step.shared[:5], others[:, :3].ravel()])  # of cameras, and of the second one's direction
        if not np.isfinite(step.shared).all() or np.abs(turns).max() > 1.0:
            return None
        moved = take_step(state, self, step.shared, step.own[0])
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
        return compute_shared_covariance(self.normal)

    def solve_places(self, B: Floats) -> Floats:
        """Return H_pp^-1 B of every moment's places, (F, 3K, n)."""
        return np.asarray(np.linalg.solve(self.normal.groups[0].own, B))

    @property
    def place_derivatives(self) -> Floats:
        """How the places move with the shared unknowns, (F, 3K, p)."""
        return -self.solve_places(self.normal.groups[0].mixed.swapaxes(1, 2))


def compute_wand_residuals(state: WandState, problem: WandProblem) -> tuple[Floats, Floats]:
    """Return measured less predicted image points, (C, F, K, 2) [px], and lengths less the wand's, (F,), none for one marker."""
    views = problem.views
    out = np.empty(views.points_px.shape)
    for c in range(views.n_cameras):
        points, late_s = state.in_camera(c), state.delta_s[c] - state.delta_s[views.reference]
        out[c] = views.points_px[c] + late_s[:, None, None] * views.velocity_px_s[c] - project_points(state.intrinsics[c], points)
        out[c][points[..., 2] <= NEAREST_M] = 1e4
        out[c][~views.seen[c]] = 0.0
    if problem.n_markers < 2:
        return out, np.zeros(0)
    return out, np.linalg.norm(state.points[:, 0] - state.points[:, 1], axis=1) - state.length


def compute_wand_jacobians(state: WandState, problem: WandProblem) -> tuple[Floats, Floats]:
    """Return d residual / d shared, (C, F, K, 2, p), and d residual / d own place, (C, F, K, 2, 3), of the image points."""
    views, (F, K) = problem.views, problem.used.shape
    C = views.n_cameras
    shared, place = np.zeros((C, F, K, 2, problem.n_shared)), np.empty((C, F, K, 2, 3))
    for c in range(C):
        points, intrinsics = state.in_camera(c), state.intrinsics[c]
        P = compute_point_derivatives(intrinsics, points)
        place[c] = -P @ state.rotation[c] if c else -P
        if c:
            turned, at = points - state.translation[c], max(6 * c - 7, 0)
            shared[c, ..., at : at + 3] = -np.cross(turned[:, :, None], P)
            shared[c, ..., at + 3 : at + (5 if c == 1 else 6)] = -P @ compute_tangents(state.translation[1]).T if c == 1 else -P
        if problem.free.focal:
            shared[c, ..., problem.focal_columns.start + c] = -(project_points(intrinsics, points) - intrinsics[2:4])
        if problem.free.offset:
            later = np.zeros((F, C))
            later[:, c] += 1.0
            later[np.arange(F), views.reference] -= 1.0
            shared[c, ..., problem.offset_columns] = views.velocity_px_s[c][..., None] * later[:, None, None, 1:]
        shared[c, ~views.seen[c]], place[c, ~views.seen[c]] = 0.0, 0.0
    return shared, place


def compute_observation_weights(residual_px: Floats, problem: WandProblem) -> Floats:
    """Return the weight of every observation of a marker by all cameras that see it, (F, K) [px^-2]."""
    s = (residual_px**2).sum(axis=(0, 3)) / problem.sigma_px**2
    bend = 1.0 + s / (CAUCHY**2 * problem.freedom) if problem.robust else np.ones_like(s)
    return np.asarray(problem.used / bend / problem.sigma_px**2)


def _compute_prior(state: WandState, problem: WandProblem) -> tuple[float, Floats, Floats]:
    """Return the priors' cost, curvature (p,) and gradient (p,)."""
    curvature, value = np.zeros(problem.n_shared), np.zeros(problem.n_shared)
    if problem.free.focal:
        curvature[problem.focal_columns], value[problem.focal_columns] = FOCAL_PRIOR**-2, state.log_focal
    if problem.free.offset:
        curvature[problem.offset_columns], value[problem.offset_columns] = OFFSET_PRIOR_S**-2, state.delta_s[1:]
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


def take_step(state: WandState, problem: WandProblem, shared: Floats, places: Floats) -> WandState:
    """Return the state after a step.

    Args:
        state: before the step.
        problem: what was measured and what may move.
        shared: change of the shared unknowns, (p,).
        places: change of the markers' places, (F, 3K).
    """
    rotation, translation = state.rotation.copy(), state.translation.copy()
    poses = shared[5 : problem.focal_columns.start].reshape(-1, 6)
    turns, shifts = np.vstack([shared[None, :3], poses[:, :3]]), poses[:, 3:]
    rotation[1:] = matrix_from_rotvec(turns) @ rotation[1:]
    second = translation[1] + shared[3:5] @ compute_tangents(translation[1])
    translation[1] = second / np.linalg.norm(second)
    translation[2:] += shifts
    log_focal, intrinsics, delta_s = state.log_focal, state.intrinsics, state.delta_s
    if problem.free.focal:
        grown = shared[problem.focal_columns]
        intrinsics = intrinsics.copy()
        intrinsics[:, :2] *= np.exp(grown)[:, None]
        log_focal = log_focal + grown
    if problem.free.offset:
        delta_s = delta_s + np.append(0.0, shared[problem.offset_columns])
    return WandState(
        intrinsics=intrinsics,
        rotation=rotation,
        translation=translation,
        points=state.points + places.reshape(state.points.shape),
        length=state.length + float(shared[-1]) if problem.n_markers == 2 else state.length,
        delta_s=delta_s,
        log_focal=log_focal,
    )


def adjust_wand(state: WandState, problem: WandProblem, max_steps: int = MAX_STEPS) -> WandFit:
    """Minimise the cost by Levenberg-Marquardt; it never rises.

    Args:
        state: where to begin.
        problem: what was measured and what may move.
        max_steps: number of steps at most.
    """
    fit = minimise_cost(problem, state, max_steps=max_steps)
    return WandFit(fit.state, fit.cost, problem.linearise(fit.state))
