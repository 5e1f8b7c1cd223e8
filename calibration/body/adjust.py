"""The adjustment of cameras to a body: their poses, all landmarks of all moments, and the lengths of the body, at once.

Unknown are turn and shift of all cameras but the first, the places X of L landmarks at F moments in the first one's frame, and
ln of G lengths l of the body. Minimised is

    sum rho(|m_c - project(R_c X + t_c)|^2 / sigma_c^2) + sum rho((|X_a - X_b| - l)^2 / sigma_ab^2) + sum (ln l / l_0)^2 / sigma^2

over the landmarks that a camera c sees, the sticks (a, b) of the body, and its lengths, with rho Cauchy's. Without the lengths
two cameras that see somebody from afar are known badly, as the lines of sight of a small body are nearly parallel. Turns act from
the left, R <- exp([w]x) R. The landmarks of one moment are a block of their own, which is eliminated.
"""

from dataclasses import dataclass

import numpy as np

from calibration.body.lengths import PROPORTION_SIGMA, BodyLengths
from calibration.body.views import BodyViews
from calibration.solve.projection import NEAREST_M, compute_point_derivatives, project_points
from config.arrays import Floats
from database.geometry.rotations import matrix_from_rotvec
from numerics.least_squares import LeastSquaresFit, NormalEquations, OwnBlocks, Step, compute_shared_covariance, minimise_cost

CAUCHY2 = 4.0  # squared, in sigmas: of a landmark, or of a length
FAR_PX = 1e4  # of a landmark behind a camera
PERSISTS = 0.7  # share of a landmark's error that stays, as a person looks alike to a camera
NEVER_RAD = 0.5  # a step turns no camera farther


@dataclass(frozen=True, slots=True)
class BodyRigState:
    """Cameras' poses in the first one's frame, (C, 3, 3), (C, 3) [m]; landmarks, (F, L, 3) [m]; ln l / l_0, (G,)."""

    rotation: Floats
    translation: Floats
    points_m: Floats
    log_length: Floats


@dataclass(frozen=True, slots=True)
class BodyProblem:
    """What was seen of a body: the landmarks in use only, intrinsics (C, 10), and sigma_px of each landmark, (C, F, L)."""

    views: BodyViews
    intrinsics: Floats
    lengths: BodyLengths
    sigma_px: Floats

    @property
    def n_shared(self) -> int:
        """Count the unknowns that all moments share: poses, then lengths."""
        return 6 * (self.views.n_cameras - 1) + len(self.lengths.usual_m)

    def cost(self, state: BodyRigState) -> float:
        """Return what is minimised."""
        return float(self.measure_costs(state).sum() + (state.log_length**2).sum() / PROPORTION_SIGMA**2)

    def measure_costs(self, state: BodyRigState) -> Floats:
        """Return the cost of each moment, (F,), the lengths' own left out."""
        pixels = (self.measure_pixels(state) ** 2).sum(axis=3)
        stretch = self.measure_stretch(state)[0] ** 2
        return np.asarray(_bend_costs(pixels).sum(axis=(0, 2)) + _bend_costs(stretch).sum(axis=1))

    def measure_pixels(self, state: BodyRigState) -> Floats:
        """Return measured less predicted image points in sigmas, (C, F, L, 2), 0 where not seen."""
        out = np.empty(self.views.points_px.shape)
        for c, (R, t) in enumerate(zip(state.rotation, state.translation, strict=True)):
            X = state.points_m @ R.T + t
            out[c] = self.views.points_px[c] - project_points(self.intrinsics[c], X)
            out[c][X[..., 2] <= NEAREST_M] = FAR_PX
        return np.where(self.views.seen[..., None], out, 0.0) / self.sigma_px[..., None]

    def measure_stretch(self, state: BodyRigState) -> tuple[Floats, Floats, Floats]:
        """Return the lengths of the sticks less those of the body in sigmas, their directions, and the body's own, in sigmas."""
        a, b = self.lengths.ends.T
        gap = state.points_m[:, a] - state.points_m[:, b]
        long = np.linalg.norm(gap, axis=2)
        own = (self.lengths.usual_m * np.exp(state.log_length))[self.lengths.group]
        return (long - own) / self.lengths.bends_m, gap / np.maximum(long, 1e-9)[..., None], own / self.lengths.bends_m

    def linearise(self, state: BodyRigState) -> NormalEquations:
        """Return the normal equations, a block being the landmarks of one moment."""
        C, (F, L), G = self.views.n_cameras, state.points_m.shape[:2], self.n_shared
        H, gradient = np.zeros((G, G)), np.zeros(G)
        own = OwnBlocks(np.zeros((F, G, L, 3)), np.zeros((F, L, 3, L, 3)), np.zeros((F, L, 3)))
        e = self.measure_pixels(state)
        weight = 1.0 / (1.0 + (e**2).sum(axis=3) / CAUCHY2) * self.views.seen
        each = np.arange(L)
        for c in range(C):
            (J, place), w = self.compute_derivatives(state, c), weight[c, ..., None, None]
            own.own[:, each, :, each] += np.swapaxes(np.swapaxes(w * place, 2, 3) @ place, 0, 1)
            own.gradient[:] += ((w * place) * e[c, ..., None]).sum(axis=2)
            if c:
                at = slice(6 * c - 6, 6 * c)
                own.mixed[:, at] += np.swapaxes(np.swapaxes(w * J, 2, 3) @ place, 1, 2)
                flat = (w * J).reshape(-1, 6)
                H[at, at], gradient[at] = flat.T @ J.reshape(-1, 6), flat.T @ e[c].ravel()
        self._add_lengths(state, NormalEquations(H, gradient, (own,)))
        flat = OwnBlocks(own.mixed.reshape(F, G, -1), own.own.reshape(F, 3 * L, -1), own.gradient.reshape(F, -1))
        flat.own[:] += 1e-3 * np.eye(3 * L)  # a landmark that nobody sees still has an inverse
        return NormalEquations(H, gradient, (flat,))

    def compute_derivatives(self, state: BodyRigState, camera: int) -> tuple[Floats, Floats]:
        """Return how a camera's residuals change with its pose, (F, L, 2, 6), and with the landmarks' places, (F, L, 2, 3)."""
        turned = state.points_m @ state.rotation[camera].T
        behind = turned[..., 2] + state.translation[camera, 2] <= NEAREST_M
        P = -compute_point_derivatives(self.intrinsics[camera], turned + state.translation[camera])
        P = np.where(behind[..., None, None], 0.0, P / self.sigma_px[camera, ..., None, None])
        return np.concatenate([np.cross(turned[:, :, None], P), P], axis=3), P @ state.rotation[camera]

    def _add_lengths(self, state: BodyRigState, normal: NormalEquations) -> None:
        """Add the sticks, and what the lengths of people are."""
        (own,), first = normal.groups, 6 * (self.views.n_cameras - 1)
        stretch, along, length = self.measure_stretch(state)
        w = 1.0 / (1.0 + stretch**2 / CAUCHY2)
        for s, (a, b) in enumerate(self.lengths.ends):
            J, g = along[:, s] / self.lengths.bends_m[s], first + self.lengths.group[s]
            JJ = w[:, s, None, None] * J[:, :, None] * J[:, None, :]
            own.own[:, a, :, a] += JJ
            own.own[:, b, :, b] += JJ
            own.own[:, a, :, b] -= JJ
            own.own[:, b, :, a] -= JJ
            pull = (w[:, s] * stretch[:, s])[:, None] * J
            own.gradient[:, a] += pull
            own.gradient[:, b] -= pull
            mixed = (w[:, s] * length[s])[:, None] * J
            own.mixed[:, g, a] -= mixed
            own.mixed[:, g, b] += mixed
            normal.shared[g, g] += w[:, s].sum() * length[s] ** 2
            normal.gradient[g] -= (w[:, s] * stretch[:, s]).sum() * length[s]
        known = np.arange(first, self.n_shared)
        normal.shared[known, known] += PROPORTION_SIGMA**-2
        normal.gradient[known] += state.log_length / PROPORTION_SIGMA**2

    def move(self, state: BodyRigState, step: Step) -> BodyRigState | None:
        """Return the state after a step, None where that makes no sense."""
        first = 6 * (self.views.n_cameras - 1)
        poses, places = step.shared[:first].reshape(-1, 6), step.own[0].reshape(state.points_m.shape)
        if not (np.isfinite(step.shared).all() and np.isfinite(places).all()) or np.abs(poses[:, :3]).max() > NEVER_RAD:
            return None
        rotation, translation = state.rotation.copy(), state.translation.copy()
        rotation[1:] = matrix_from_rotvec(poses[:, :3]) @ rotation[1:]
        translation[1:] += poses[:, 3:]
        log_length = state.log_length + step.shared[first:]
        return (
            BodyRigState(rotation, translation, state.points_m + places, log_length) if np.abs(log_length).max() < 1.0 else None
        )


def _bend_costs(squares: Floats) -> Floats:
    """Return Cauchy's costs of squares."""
    return np.asarray(CAUCHY2 * np.log1p(squares / CAUCHY2))


def compute_body_covariance(problem: BodyProblem, state: BodyRigState, independent: float) -> Floats:
    """Return the covariance of the cameras' poses, (6 C - 6, 6 C - 6) [rad, m].

    Errors of landmarks have two parts: what changes from moment to moment, and what stays as long as a person looks alike to a
    camera, which no number of moments takes away. The second is not solved for but considered (Schmidt 1966): an offset of each
    landmark in each picture, as large as its error.

    Args:
        problem: what was seen.
        state: as adjusted.
        independent: share of the moments that tell something new of the first part.
    """
    normal, n = problem.linearise(state), 6 * (problem.views.n_cameras - 1)
    covariance = compute_shared_covariance(normal)
    (own,) = normal.groups
    through = np.swapaxes(np.linalg.solve(own.own, own.mixed.swapaxes(1, 2)), 1, 2)
    F, L = state.points_m.shape[:2]
    through = through.reshape(F, -1, L, 3)
    e = problem.measure_pixels(state)
    total = covariance / independent
    for c in range(problem.views.n_cameras):
        J, place = problem.compute_derivatives(state, c)
        w = problem.views.seen[c] / (1.0 + (e[c] ** 2).sum(axis=2) / CAUCHY2)
        pull = -np.einsum("fl,fgli,flui->glu", w, through, place, optimize=True)
        if c:
            pull[6 * c - 6 : 6 * c] += np.einsum("fl,flua->alu", w, J)
        moved = PERSISTS * covariance @ pull.reshape(len(pull), -1)
        total = total + moved @ moved.T
    return np.asarray(total[:n, :n])


def adjust_body(problem: BodyProblem, state: BodyRigState, max_steps: int = 30) -> LeastSquaresFit[BodyRigState]:
    """Minimise the cost by Levenberg-Marquardt; it never rises."""
    return minimise_cost(problem, state, max_steps=max_steps, smallest_gain=1e-5)
