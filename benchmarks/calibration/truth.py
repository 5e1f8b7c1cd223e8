"""A scene as a solution: at the truth, for the Cramer-Rao bound, and fitted from there, for tests."""

from dataclasses import replace

import numpy as np

from benchmarks.calibration.scene import CalibrationScene
from calibration.camera import Rig, camera_from_intrinsics
from calibration.quality.world_error import compute_distance_errors, remeasure_points
from calibration.solve.adjust import BundleProblem, adjust_bundle
from calibration.solve.equations import BundleState, CornerObservations, FreeParameters, compute_residual_px, state_from_rig
from calibration.solve.solution import LensModel, RigSolution
from config.arrays import Floats
from database.geometry.rotations import rotvec_from_matrix
from numerics.least_squares import compute_shared_covariance

TRUE_LENS = LensModel(("k1", "k2"), square=True)
STRONG_LENS = LensModel(("k1", "k2", "p1", "p2", "k3"), square=True)


def collect_observations(scene: CalibrationScene) -> CornerObservations:
    """Return the corners of all views as arrays."""
    V, N = len(scene.moments), len(scene.board)
    px, weight = np.zeros((2, V, N, 2)), np.zeros((2, V, N))
    for v, pair in enumerate(scene.moments):
        for side, view in enumerate(pair.views):
            if view is not None:
                px[side, v], weight[side, v] = view.corners_px, view.seen / scene.noise_px**2
    return CornerObservations(scene.board.points_m, px, weight)


def choose_lens_model(scene: CalibrationScene) -> LensModel:
    """Return the model of the scene's lenses."""
    return STRONG_LENS if scene.adversity == "strong lens" else TRUE_LENS


def build_solution(scene: CalibrationScene, state: BundleState, lens: LensModel, covariance: Floats | None = None) -> RigSolution:
    """Return a state as a solution.

    Args:
        scene: the scene.
        state: lenses and poses.
        lens: model of the lenses.
        covariance: of the shared parameters, (2 n + 6, 2 n + 6), or None.
    """
    seen = collect_observations(scene)
    of_cameras = zip(scene.truth.cameras, state.intrinsics, state.rotation, state.translation, strict=True)
    cameras = tuple(camera_from_intrinsics(camera.name, camera.size, K, R, t) for camera, K, R, t in of_cameras)
    used = seen.weight > 0
    residual = np.where(used[..., None], compute_residual_px(state, seen), 0.0)
    sigma = np.zeros((2, 9))
    n = lens.n_free
    relative = np.zeros((6, 6))
    if covariance is None:
        sigma[:] = (np.abs(lens.directions).sum(axis=1) > 0) * 1.0
    else:
        for c in range(2):
            own = lens.directions @ covariance[c * n : c * n + n, c * n : c * n + n] @ lens.directions.T
            sigma[c] = np.sqrt(np.diag(own))
        relative = covariance[2 * n :, 2 * n :]
    rms = float(np.sqrt((residual**2).sum() / max(used.sum(), 1)))
    places = np.concatenate([rotvec_from_matrix(state.board_rotation), state.board_translation], axis=1)
    return RigSolution(
        scene.board,
        Rig(cameras, rms),
        scene.moments,
        places,
        residual,
        used,
        np.full(2, scene.noise_px),
        (lens.coefficients, lens.coefficients),
        {lens.name: rms},
        sigma,
        relative,
    )


def build_true_solution(scene: CalibrationScene) -> RigSolution:
    """Return the truth as if it were a solution."""
    return build_solution(scene, state_from_rig(scene.truth, scene.board_to_world), choose_lens_model(scene))


def fit_scene(scene: CalibrationScene, lens: LensModel | None = None) -> RigSolution:
    """Fit the scene from the truth, all corners weighted equally, with the noise of the residuals."""
    lens = lens or choose_lens_model(scene)
    state = state_from_rig(scene.truth, scene.board_to_world)
    state = replace(state, intrinsics=state.intrinsics * np.append(np.abs(lens.directions).sum(axis=1) > 0, True))
    seen, freedom = collect_observations(scene), FreeParameters((lens, lens))
    fit = adjust_bundle(state, seen, freedom)
    solution = build_solution(
        scene, fit.state, lens, compute_shared_covariance(BundleProblem(seen, freedom).linearise(fit.state))
    )
    r = solution.residual_px[solution.used]
    free = r.size - 2 * lens.n_free - 6 - 6 * len(scene.moments)
    return replace(solution, sigma_px=np.full(2, max(float(np.sqrt((r**2).sum() / free)), 1e-3)))


def measure_world_error(truth: Rig, rig: Rig, points_m: Floats) -> float:
    """Return the largest relative error of a distance between points that `truth` sees and `rig` measures; inf without points.

    Args:
        truth: cameras that are right.
        rig: the cameras, in the world.
        points_m: (N, 3) [m] in the world of `truth`.
    """
    errors = np.abs(compute_distance_errors(points_m, remeasure_points(points_m, truth, rig)))
    return float(errors.max()) if len(errors) else float("inf")
