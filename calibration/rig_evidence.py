"""What the views of a calibration tell of the rig, place by place: how sure each number is, and what else would explain them.

Around the solution everything is taken as linear. Each place of the board gives information about the numbers that all share, its
own place eliminated (Schur complement). From these follow the covariance, how well the places agree with each other beyond the
noise of corners, and, by score tests (Rao 1948), by how much the residuals would shrink, and the rig change, if something that
was held fixed were free: a lens coefficient, the board's flatness, the cameras' places from some view on.
"""

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from calibration.bundle import N_FORM, BundleState, Freedom, Observations, jacobian
from calibration.bundle_bound import bundle_state
from calibration.lens import LensModel
from calibration.rig_solution import INTRINSICS, RigSolution
from calibration.world_error import N_LENS
from database.rotations import Floats

ALL = LensModel(("k1", "k2", "p1", "p2", "k3"), square=False)
RANK = 1e-6  # directions that a place tells less of, each number in units of its own sigma, count as none
LEAST_TOLD = 1e-8  # of what places tell of a number on average: less is rounding, as of a camera that did not see the board
LEAST_SIGMA_PX = 1e-3
LEAST_SPREAD = 0.5  # of the noise: as well as places may be believed to agree


@dataclass(frozen=True, slots=True)
class Evidence:
    """What V places tell of G numbers: the lens or lenses (9 each), the right camera's turn and shift (6), the board's form (4).

    information: (V, G, G), each place's own, in units of the corner noise; score: (V, G), the slope of the fit at the solution;
    free: (G, m), the directions that the solution was free to move in; n_rig: how many of the G are the rig's.
    """

    information: Floats
    score: Floats
    free: Floats
    n_rig: int


@dataclass(frozen=True, slots=True)
class Alternative:
    """Something that was held fixed, were it free. gain: the F statistic, about 1 where nothing speaks for it.

    step: how all G numbers would change, (G,); extra: the change of what was held.
    """

    gain: float
    step: Floats
    extra: Floats


def evidence_of(solution: RigSolution) -> Evidence:
    """Gather what the views tell."""
    lone = solution.rig.is_lone
    n_cameras = 1 if lone else 2
    weight = _weights(solution)[:n_cameras]
    seen = Observations(solution.board.points_m, np.zeros((*weight.shape, 2)), weight)
    freedom = Freedom((ALL,) * n_cameras, relative=not lone, form=True)
    shared, place = jacobian(_state(solution), seen, freedom)
    J = np.concatenate([shared, place], axis=-1).swapaxes(0, 1)
    G, V = freedom.n_shared, weight.shape[1]
    J = J.reshape(V, -1, G + 6)
    w = np.repeat(weight.swapaxes(0, 1).reshape(V, -1), 2, axis=1)
    r = solution.residual_px[:n_cameras].swapaxes(0, 1).reshape(V, -1)
    H = J.swapaxes(1, 2) @ (J * w[..., None])
    b = (J * (w * r)[..., None]).sum(axis=1)
    inverse = np.linalg.pinv(H[:, G:, G:], hermitian=True)
    mixed = H[:, :G, G:] @ inverse
    information = H[:, :G, :G] - mixed @ H[:, G:, :G]
    score = b[:, :G] - (mixed @ b[:, G:, None])[..., 0]
    return Evidence(information, score, _free(solution, G), N_LENS if lone else 2 * N_LENS + 6)


def covariance_of(evidence: Evidence, spread: float = 1.0, doubt: Floats | None = None) -> Floats:
    """Give the covariance of the G numbers if the noise of corners is independent, (G, G); what is not known comes out huge.

    spread: how many times larger than the noise of corners the variance is; doubt: what was held fixed and may be otherwise, each
    direction as long as its standard deviation, (G, e): what the views do not tell of it adds to the covariance.
    """
    D = evidence.free if doubt is None else np.concatenate([evidence.free, doubt], axis=1)
    believed = np.zeros(D.shape[1])
    believed[evidence.free.shape[1] :] = 1.0
    return np.asarray(D @ _inverse(D.T @ evidence.information.sum(axis=0) @ D / spread + np.diag(believed)) @ D.T)


def disagreement(evidence: Evidence, extra: Floats | None = None) -> float:
    """Give by how much the places differ from each other, in variances expected from the noise of corners; 1 where they agree.

    Each place is let have a rig of its own; what the residuals gain by that is compared to the number of directions it tells of.
    extra: directions besides those of the solution that all places share, (G, e).
    """
    gained, spare = misfit(evidence, extra)
    return gained / spare if spare > 0 else 1.0


def tempered(evidence: Evidence) -> Evidence:
    """Let places that fit the others worse than noise explains count for less, each by its own misfit.

    A board that moved between two pictures spoils its place alone; it shall not pass for a camera that was moved.
    """
    gained, directions = _misfits(evidence, None)
    weight = 1.0 / np.maximum(gained / np.maximum(directions, 1), 1.0)
    return replace(evidence, information=evidence.information * weight[:, None, None], score=evidence.score * weight[:, None])


def clustered_covariance(evidence: Evidence) -> Floats:
    """Give the covariance of the G numbers from how the places scatter, whatever the reason, (G, G) (White 1980; by place).

    Needs many more places than numbers; with fewer it comes out too small.
    """
    D = evidence.free
    inverse = _inverse(D.T @ evidence.information.sum(axis=0) @ D)
    score = _at_rest(evidence, None) @ D
    n = len(score)
    return np.asarray(n / max(n - 1, 1) * D @ inverse @ (score.T @ score) @ inverse @ D.T)


def misfit(evidence: Evidence, extra: Floats | None = None) -> tuple[float, int]:
    """Give what the residuals gain where each place has a rig of its own, and what they would where only noise is gained."""
    gained, directions = _misfits(evidence, extra)
    shared = evidence.free.shape[1] + (0 if extra is None else extra.shape[1])
    return float(gained.sum()), int(directions.sum()) - shared


def _misfits(evidence: Evidence, extra: Floats | None) -> tuple[Floats, NDArray[np.intp]]:
    """Give what each place gains by a rig of its own, (V,), and of how many directions it tells, (V,)."""
    gained, directions = np.zeros(len(evidence.score)), np.zeros(len(evidence.score), np.intp)
    shared = np.linalg.norm(evidence.free, axis=1) > 0
    if extra is not None:
        shared = shared | (np.linalg.norm(extra, axis=1) > 0)
    centred = _at_rest(evidence, extra)
    usual = np.diag(evidence.information.mean(axis=0))[shared]
    for v, score in enumerate(centred[:, shared]):
        gained[v], directions[v] = _drop(evidence.information[v][np.ix_(shared, shared)], score, usual)
    return gained, directions


def alternative(evidence: Evidence, extra: Floats) -> Alternative:
    """Let directions be free that were not, (G, e): how much better the views would fit, and where the rig would go."""
    D, total = evidence.free, evidence.information.sum(axis=0)
    both = np.concatenate([D, extra], axis=1)
    score = both.T @ _at_rest(evidence, None).sum(axis=0)
    inverse = _inverse(both.T @ total @ both)
    step = inverse @ score
    gained = float(score @ step)
    spread = max(disagreement(evidence, extra), LEAST_SPREAD)
    return Alternative(gained / max(extra.shape[1], 1) / spread, np.asarray(both @ step), step[D.shape[1] :])


def held_lens(evidence: Evidence, camera: int) -> Floats:
    """Give the directions of a camera's lens that the solution was not free to move in, (G, e)."""
    own = np.zeros((len(evidence.free), N_LENS))
    own[camera * N_LENS : (camera + 1) * N_LENS] = np.eye(N_LENS)
    D = evidence.free[camera * N_LENS : (camera + 1) * N_LENS]
    outside = scipy.linalg.null_space(D.T) if D.any() else np.eye(N_LENS)
    return np.asarray(own @ outside)


def board_form(evidence: Evidence) -> Floats:
    """Give the directions of the board's form: stretch, and two curvatures and twist, (G, 4)."""
    return np.asarray(np.eye(len(evidence.free))[:, evidence.n_rig :])


def moved_from(evidence: Evidence, view: int) -> Alternative:
    """Let the right camera stand elsewhere from a place of the board on; extra: its turn and shift, (6,)."""
    late = np.zeros(len(evidence.score), bool)
    late[view:] = True
    G = len(evidence.free)
    place = np.eye(G)[:, evidence.n_rig - 6 : evidence.n_rig]
    total, after = evidence.information.sum(axis=0), evidence.information[late].sum(axis=0)
    D = evidence.free
    S = np.block([[D.T @ total @ D, D.T @ after @ place], [place.T @ after @ D, place.T @ after @ place]])
    score = np.concatenate([np.zeros(D.shape[1]), place.T @ _at_rest(evidence, None)[late].sum(axis=0)])
    step = _inverse(S) @ score
    gained = float(score @ step)
    apart, spare = misfit(evidence)
    spread = max((apart - gained) / max(spare - 6, 1), LEAST_SPREAD)
    return Alternative(gained / 6.0 / spread, np.asarray(D @ step[: D.shape[1]]), step[D.shape[1] :])


def _at_rest(evidence: Evidence, extra: Floats | None) -> Floats:
    """Give each place's score after the step that all share: (V, G)."""
    both = evidence.free if extra is None else np.concatenate([evidence.free, extra], axis=1)
    step = _inverse(both.T @ evidence.information.sum(axis=0) @ both) @ (both.T @ evidence.score.sum(axis=0))
    return np.asarray(evidence.score - evidence.information @ (both @ step))


def _drop(information: Floats, score: Floats, usual: Floats) -> tuple[float, int]:
    """Give s' S^+ s and the number of directions that count; what a place tells next to nothing of is left out."""
    told = np.diag(information) > LEAST_TOLD * usual
    information, score = information[told][:, told], score[told]
    scale = 1.0 / np.sqrt(np.diag(information))
    values, vectors = np.linalg.eigh(information * np.outer(scale, scale))
    real = values > RANK
    along = vectors[:, real].T @ (scale * score)
    return float((along**2 / values[real]).sum()), int(real.sum())


def _inverse(H: Floats) -> Floats:
    """Invert a symmetric matrix of unlike scales; directions nothing is known of come out huge, not infinite."""
    if not len(H):
        return H
    scale = 1.0 / np.sqrt(np.maximum(np.diag(H), 1e-300))
    values, vectors = np.linalg.eigh(H * np.outer(scale, scale))
    return np.asarray((vectors / np.maximum(values, 1e-13)) @ vectors.T * np.outer(scale, scale))


def _weights(solution: RigSolution) -> Floats:
    """Give how much each corner counts, (2, V, N) [px^-2]: as in the adjustment, less in views that contradict themselves."""
    if solution.weight is not None:
        return np.where(solution.used, solution.weight, 0.0)
    sigma = np.maximum(solution.sigma_px, LEAST_SIGMA_PX)
    return np.asarray(solution.used / sigma[:, None, None] ** 2)


def _state(solution: RigSolution) -> BundleState:
    """Give the solution as the adjustment knows it."""
    return replace(bundle_state(solution.rig, solution.board_to_world), form=solution.board_form)


def _free(solution: RigSolution, n_columns: int) -> Floats:
    """Give the directions the solution was free to move in: its lenses, the relative pose, and the board's form."""
    columns = []
    eye = np.eye(n_columns)
    for c in range(1 if solution.rig.is_lone else 2):
        if solution.fixed_intrinsics:
            break
        sigma, K, at = solution.intrinsic_sigma[c], solution.rig.cameras[c].matrix, c * N_LENS
        tied = K[0, 0] == K[1, 1] and np.isclose(sigma[0], sigma[1], rtol=1e-9)
        columns += [eye[at] + eye[at + 1]] if tied else [eye[at], eye[at + 1]]
        columns += [eye[at + k] for k in (2, 3) if sigma[k] > 0]
        columns += [eye[at + INTRINSICS.index(name)] for name in solution.lenses[c]]
    if not solution.rig.is_lone:
        columns += list(eye[2 * N_LENS : 2 * N_LENS + 6])
    if solution.form_was_free:
        columns += list(eye[-N_FORM:])
    return np.stack(columns, axis=1) if columns else np.zeros((n_columns, 0))
