"""What each view of a calibration says of the rig: covariances, agreement of the views, and score tests of other explanations.

Everything is linear around the solution. Each view gives information about the shared parameters, its own board pose eliminated
(Schur complement). From these follow the covariance, how well the views agree beyond the noise of corners, and, by score tests
(Rao 1948), by how much the residuals would shrink, and the rig change, if something fixed were free: a lens coefficient, the
board's flatness, the cameras' poses from some view on.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from calibration.camera import Rig, compute_relative_pose
from calibration.quality.world_error import N_LENS
from calibration.solve.equations import N_FORM, CornerObservations, FreeParameters, compute_view_equations, state_from_rig
from calibration.solve.solution import LensModel, RigSolution, list_intrinsic_names
from config.arrays import Floats
from numerics.least_squares import invert_scaled

ALL = LensModel(("k1", "k2", "p1", "p2", "k3"), square=False)  # of a fisheye likewise nine numbers, the last without effect
RANK = 1e-6  # directions that a place tells less of, each number in units of its own sigma, count as none
MIN_INFORMATION = 1e-8  # of what places tell of a number on average: less is rounding, as of a camera that did not see the board
MIN_SIGMA_PX = 1e-3
MIN_SPREAD = 0.5  # of the noise: as well as places may be believed to agree


@dataclass(frozen=True, slots=True)
class Evidence:
    """Information of V views on G parameters: lenses (9 each), poses of all cameras but the first (6 each), the board's form (4).

    information: (V, G, G), in units of the corner noise; score: (V, G), gradient of the log-likelihood at the solution; free: (G,
    m), the directions that were free in the solution; n_rig: how many of the G are the rig's.
    """

    information: Floats
    score: Floats
    free: Floats
    n_rig: int


@dataclass(frozen=True, slots=True)
class Alternative:
    """What freeing something that was fixed would change. f_statistic: about 1 where nothing speaks for it.

    step: change of all parameters, (G,); extra: change of what was fixed.
    """

    f_statistic: float
    step: Floats
    extra: Floats


def collect_evidence(solution: RigSolution) -> Evidence:
    """Return the information and scores of a solution's views."""
    C, weight = len(solution.rig), _compute_weights(solution)
    seen = CornerObservations(solution.board.points_m, np.zeros((*weight.shape, 2)), weight)
    freedom = FreeParameters((ALL,) * C, relative=C > 1, form=True)
    state = replace(state_from_rig(solution.rig, solution.board_to_world), form=solution.board_form)
    H, b = compute_view_equations(state, seen, freedom, solution.residual_px)
    G = freedom.n_shared
    inverse = np.linalg.pinv(H[:, G:, G:], hermitian=True)
    mixed = H[:, :G, G:] @ inverse
    information = H[:, :G, :G] - mixed @ H[:, G:, :G]
    score = b[:, :G] - (mixed @ b[:, G:, None])[..., 0]
    return Evidence(information, score, _list_free_directions(solution, G), C * N_LENS + 6 * (C - 1))


def compute_parameter_covariance(evidence: Evidence, spread: float = 1.0, unmodelled: Floats | None = None) -> Floats:
    """Return the covariance of the G parameters for independent noise of the corners, (G, G); undetermined ones come out huge.

    Args:
        evidence: information and scores of the views.
        spread: factor on the variance of that noise.
        unmodelled: directions that were fixed but may be otherwise, each as long as its standard deviation, (G, e).
    """
    D = evidence.free if unmodelled is None else np.concatenate([evidence.free, unmodelled], axis=1)
    prior = np.zeros(D.shape[1])
    prior[evidence.free.shape[1] :] = 1.0
    return np.asarray(D @ invert_scaled(D.T @ evidence.information.sum(axis=0) @ D / spread + np.diag(prior)) @ D.T)


def measure_disagreement(evidence: Evidence, extra: Floats | None = None) -> float:
    """Return by how much the views differ from each other, in variances expected from the noise of corners; 1 where they agree.

    The gain in residuals if each view had a rig of its own, over the number of directions that it determines. extra: directions
    besides those of the solution that all views share, (G, e).
    """
    gained, spare = measure_misfit(evidence, extra)
    return gained / spare if spare > 0 else 1.0


def downweight_misfits(evidence: Evidence) -> Evidence:
    """Return the evidence with less weight on views that fit worse than noise explains, each by its own misfit.

    A board that moved between two pictures spoils its view only; that must not look like a camera that was moved.
    """
    gained, directions = _measure_view_misfits(evidence, None)
    weight = 1.0 / np.maximum(gained / np.maximum(directions, 1), 1.0)
    return replace(evidence, information=evidence.information * weight[:, None, None], score=evidence.score * weight[:, None])


def compute_clustered_covariance(evidence: Evidence) -> Floats:
    """Return the covariance of the G parameters from the scatter of the views, whatever its cause, (G, G) (White 1980; by view).

    Needs many more views than parameters; with fewer it comes out too small.
    """
    D = evidence.free
    inverse = invert_scaled(D.T @ evidence.information.sum(axis=0) @ D)
    score = _compute_scores_at_optimum(evidence, None) @ D
    n = len(score)
    return np.asarray(n / max(n - 1, 1) * D @ inverse @ (score.T @ score) @ inverse @ D.T)


def measure_misfit(evidence: Evidence, extra: Floats | None = None) -> tuple[float, int]:
    """Return the gain in residuals if each view had a rig of its own, and the gain expected from noise alone."""
    gained, directions = _measure_view_misfits(evidence, extra)
    shared = evidence.free.shape[1] + (0 if extra is None else extra.shape[1])
    return float(gained.sum()), int(directions.sum()) - shared


def _measure_view_misfits(evidence: Evidence, extra: Floats | None) -> tuple[Floats, NDArray[np.intp]]:
    """Return each view's gain by a rig of its own, (V,), and how many directions it determines, (V,)."""
    gained, directions = np.zeros(len(evidence.score)), np.zeros(len(evidence.score), np.intp)
    shared = np.linalg.norm(evidence.free, axis=1) > 0
    if extra is not None:
        shared = shared | (np.linalg.norm(extra, axis=1) > 0)
    centred = _compute_scores_at_optimum(evidence, extra)
    usual = np.diag(evidence.information.mean(axis=0))[shared]
    for v, score in enumerate(centred[:, shared]):
        gained[v], directions[v] = _compute_own_rig_gain(evidence.information[v][np.ix_(shared, shared)], score, usual)
    return gained, directions


def evaluate_alternative(evidence: Evidence, extra: Floats) -> Alternative:
    """Return how much better the views would fit with fixed directions free, (G, e), and how the rig would change."""
    D, total = evidence.free, evidence.information.sum(axis=0)
    both = np.concatenate([D, extra], axis=1)
    score = both.T @ _compute_scores_at_optimum(evidence, None).sum(axis=0)
    inverse = invert_scaled(both.T @ total @ both)
    step = inverse @ score
    gained = float(score @ step)
    spread = max(measure_disagreement(evidence, extra), MIN_SPREAD)
    return Alternative(gained / max(extra.shape[1], 1) / spread, np.asarray(both @ step), step[D.shape[1] :])


def list_fixed_lens_directions(evidence: Evidence, camera: int) -> Floats:
    """Return the directions of a camera's lens that were fixed in the solution, (G, e)."""
    at = slice(camera * N_LENS, (camera + 1) * N_LENS)
    own = np.zeros((len(evidence.free), N_LENS))
    own[at] = np.eye(N_LENS)
    without_effect = np.diag((np.diag(evidence.information.sum(axis=0))[at] == 0.0).astype(float))  # a fisheye has eight numbers
    D = np.concatenate([evidence.free[at], without_effect], axis=1)
    outside = scipy.linalg.null_space(D.T) if D.any() else np.eye(N_LENS)
    return np.asarray(own @ outside)


def list_form_directions(evidence: Evidence) -> Floats:
    """Return the directions of the board's form: stretch, two curvatures and twist, (G, 4)."""
    return np.asarray(np.eye(len(evidence.free))[:, evidence.n_rig :])


def evaluate_camera_moves(evidence: Evidence, views: Iterable[int], directions: Floats) -> list[Alternative]:
    """Return, for each of some views, the alternative that a camera has another pose from it on; `extra`: change of pose, (6,).

    Args:
        evidence: information and scores of the views.
        views: from which on, one alternative each.
        directions: of the camera, as `compute_move_directions` gives them, (G, 6).
    """
    D, total, (apart, spare) = evidence.free, evidence.information.sum(axis=0), measure_misfit(evidence)
    scores, found = _compute_scores_at_optimum(evidence, None), []
    for view in views:
        after = evidence.information[view:].sum(axis=0)
        mixed = D.T @ after @ directions
        S = np.block([[D.T @ total @ D, mixed], [mixed.T, directions.T @ after @ directions]])
        score = np.concatenate([np.zeros(D.shape[1]), directions.T @ scores[view:].sum(axis=0)])
        step = invert_scaled(S) @ score
        gained = float(score @ step)
        spread = max((apart - gained) / max(spare - 6, 1), MIN_SPREAD)
        found.append(Alternative(gained / 6.0 / spread, np.asarray(D @ step[: D.shape[1]]), step[D.shape[1] :]))
    return found


def compute_move_directions(evidence: Evidence, rig: Rig, camera: int) -> Floats:
    """Return how the parameters change when one camera moves: turn [rad], then shift [m], (G, 6).

    The first camera is the world: when it moves, all others move the other way.

    Args:
        evidence: information and scores of the views.
        rig: the cameras.
        camera: the one that moves.
    """
    out, start = np.zeros((len(evidence.free), 6)), evidence.n_rig - 6 * (len(rig) - 1)
    for c in range(1, len(rig)) if camera == 0 else [camera]:
        turn = -compute_relative_pose(rig.cameras[0], rig.cameras[c])[0] if camera == 0 else np.eye(3)
        row = start + 6 * (c - 1)
        out[row : row + 3, :3] = out[row + 3 : row + 6, 3:] = turn
    return out


def _compute_scores_at_optimum(evidence: Evidence, extra: Floats | None) -> Floats:
    """Return each view's score after the step that all share: (V, G)."""
    both = evidence.free if extra is None else np.concatenate([evidence.free, extra], axis=1)
    step = invert_scaled(both.T @ evidence.information.sum(axis=0) @ both) @ (both.T @ evidence.score.sum(axis=0))
    return np.asarray(evidence.score - evidence.information @ (both @ step))


def _compute_own_rig_gain(information: Floats, score: Floats, usual: Floats) -> tuple[float, int]:
    """Return s' S^+ s and the number of directions that count: what a view hardly determines is left out."""
    counts = np.diag(information) > MIN_INFORMATION * usual
    information, score = information[counts][:, counts], score[counts]
    scale = 1.0 / np.sqrt(np.diag(information))
    values, vectors = np.linalg.eigh(information * np.outer(scale, scale))
    real = values > RANK
    along = vectors[:, real].T @ (scale * score)
    return float((along**2 / values[real]).sum()), int(real.sum())


def _compute_weights(solution: RigSolution) -> Floats:
    """Return the weight of each corner, (C, V, N) [px^-2], as in the adjustment."""
    if solution.weight is not None:
        return np.where(solution.used, solution.weight, 0.0)
    sigma = np.maximum(solution.sigma_px, MIN_SIGMA_PX)
    return np.asarray(solution.used / sigma[:, None, None] ** 2)


def _list_free_directions(solution: RigSolution, n_columns: int) -> Floats:
    """Return the directions that were free in the solution: lenses, relative pose, and the board's form."""
    columns = []
    eye = np.eye(n_columns)
    C = len(solution.rig)
    for c in range(C):
        if solution.fixed_intrinsics:
            break
        sigma, K, at = solution.intrinsic_sigma[c], solution.rig.cameras[c].matrix, c * N_LENS
        tied = K[0, 0] == K[1, 1] and np.isclose(sigma[0], sigma[1], rtol=1e-9)
        columns += [eye[at] + eye[at + 1]] if tied else [eye[at], eye[at + 1]]
        columns += [eye[at + k] for k in (2, 3) if sigma[k] > 0]
        names = list_intrinsic_names(solution.rig.cameras[c].fisheye)
        columns += [eye[at + names.index(name)] for name in solution.lenses[c]]
    columns += list(eye[C * N_LENS : C * N_LENS + 6 * (C - 1)])
    if solution.form_was_free:
        columns += list(eye[-N_FORM:])
    return np.stack(columns, axis=1) if columns else np.zeros((n_columns, 0))
