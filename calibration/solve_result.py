"""The result of a rig's adjustment put together: cameras, residuals, covariances, and what is known of the board."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from calibration.board import Board
from calibration.bundle import N_FORM, Freedom, residual_px
from calibration.bundle_board import board_form, edge_figures, scale_words
from calibration.bundle_bound import bound_at
from calibration.bundle_robust import RobustFit, realistic
from calibration.bundle_solve import Prior
from calibration.bundle_start import as_camera
from calibration.camera import Rig
from calibration.rig_solution import RigSolution
from calibration.views import ViewPair
from config.errors import CalibrationError
from database.rotations import rotvec_from_matrix


def rig_solution(
    board: Board,
    pairs: tuple[ViewPair, ...],
    sizes: tuple[tuple[int, int], tuple[int, int]],
    names: tuple[str, str],
    fit: RobustFit,
    freedom: Freedom,
    prior: Prior,
    held_out_px: Mapping[str, float],
    dropped: tuple[str, ...],
    fixed: bool,
) -> RigSolution:
    """Put the result together with its covariances."""
    state, C = fit.state, fit.seen.n_cameras
    bound = bound_at(state, realistic(fit, freedom), freedom, prior)
    poses = [(np.eye(3), np.zeros(3)), (state.rotation, state.translation)]
    cameras = [as_camera(names[c], sizes[c], state.intrinsics[c], *poses[c]) for c in range(C)]
    residual, used = np.zeros((2, len(pairs), len(board), 2)), np.zeros((2, len(pairs), len(board)), bool)
    residual[:C], used[:C] = np.where(fit.used[..., None], residual_px(state, fit.seen), 0.0), fit.used
    weight = np.zeros(used.shape)
    weight[:C] = fit.seen.weight
    rig = Rig(cameras[0], cameras[-1], float(np.sqrt((residual**2).sum() / max(int(used.sum()), 1))))
    form = board_form(fit, freedom, prior)
    figures = {
        "board_stretch_percent": 100.0 * form.stretch,
        "board_stretch_sigma_percent": 100.0 * form.stretch_sigma,
        "board_bend_mm": 1e3 * form.bend_m,
        "board_bend_sigma_mm": 1e3 * form.bend_sigma_m,
        **(edge_figures(rig, fit, board) if C == 2 else {}),
    }
    models = [lens.coefficients for lens in freedom.lenses]
    sigma = np.array([*fit.sigma_px, *([0.0] if C == 1 else [])])
    return RigSolution(
        board=board,
        rig=rig,
        pairs=pairs,
        board_to_world=np.hstack([rotvec_from_matrix(state.board_rotation), state.board_translation]),
        residual_px=residual,
        used=used,
        sigma_px=sigma,
        lenses=(models[0], models[-1]),
        held_out_px=held_out_px,
        intrinsic_sigma=bound.intrinsic_sigma,
        relative_covariance=bound.relative_covariance,
        fixed_intrinsics=fixed,
        dropped=dropped,
        offset_s=state.offset_s if freedom.offset else float("nan"),
        offset_sigma_s=bound.offset_sigma_s,
        n_parameters=freedom.n_shared + 6 * len(pairs),
        board_form=state.form if freedom.form else np.zeros(N_FORM),
        figures=figures,
        weight=weight,
    )


def with_scale(solution: RigSolution, known_m: float) -> RigSolution:
    """Add to the notes and figures how the distance of the cameras compares with a measured one."""
    if not 0.0 < known_m < np.inf:
        raise CalibrationError(
            f"a distance of {known_m:g} m between the cameras; expected what a tape shows between their lenses"
        )
    t, rig = solution.rig.right.translation, solution.rig
    sigma_m = float(np.sqrt(t @ solution.relative_covariance[3:, 3:] @ t)) / rig.baseline_m
    notes = (*solution.notes, *scale_words(solution.board, rig.baseline_m, sigma_m, known_m))
    return replace(solution, notes=notes, figures={**solution.figures, "known_over_solved": known_m / rig.baseline_m})
