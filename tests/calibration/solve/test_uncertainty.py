"""The uncertainty of an adjustment: against its definition by central differences, with more noise and more views."""

import numpy as np
import pytest

from calibration.camera import Rig
from calibration.solve.adjust import adjust_robustly
from calibration.solve.equations import FreeParameters, state_from_rig
from calibration.solve.rig import estimate_board_form
from calibration.solve.single_camera import pack_observations
from calibration.solve.solution import FIXED, LensModel
from database.geometry.rotations import matrix_from_rotvec, rotvec_from_matrix
from tests.calibration.solve.bundle_scenes import BOARD, SIZE, cramer_rao, pairs_of, true_places, true_rig

LENS = LensModel(("k1",))


def test_it_is_the_inverse_of_the_fisher_information() -> None:
    """For held lenses, by differences of OpenCV's projection over rotation vector, translation and every place's six numbers."""
    rig, places = true_rig(0.5, 0.3), true_places(4)
    start = np.concatenate([rotvec_from_matrix(rig.cameras[1].rotation), rig.cameras[1].translation, places.ravel()])

    def predicted(numbers: np.ndarray) -> np.ndarray:
        right = type(rig.cameras[1])(
            "right",
            SIZE,
            rig.cameras[1].matrix.copy(),
            rig.cameras[1].distortions.copy(),
            matrix_from_rotvec(numbers[:3]),
            numbers[3:6].copy(),
        )
        worlds = [BOARD.points_m @ matrix_from_rotvec(p[:3]).T + p[3:] for p in numbers[6:].reshape(-1, 6)]
        return np.concatenate([camera.project(world).ravel() for world in worlds for camera in (rig.cameras[0], right)])

    steps = 1e-6 * np.eye(len(start))
    J = np.stack([(predicted(start + step) - predicted(start - step)) / 2e-6 for step in steps], axis=1)
    wanted = np.linalg.inv(J.T @ J / 0.3**2)[:6, :6]
    used = np.ones((2, 4, len(BOARD)), bool)
    bound = cramer_rao(rig, BOARD, places, 0.3, [FIXED, FIXED], used)
    np.testing.assert_allclose(bound.pose_covariance, wanted, rtol=1e-4, atol=1e-9 * wanted.max())


def test_it_scales_with_the_noise_and_falls_with_views() -> None:
    rig, places = true_rig(), true_places(16)
    few, many = (cramer_rao(rig, BOARD, places[:n], 0.2, [LENS, LENS]) for n in (8, 16))
    loud = cramer_rao(rig, BOARD, places[:8], 0.4, [LENS, LENS])
    assert loud.pose_covariance == pytest.approx(4.0 * few.pose_covariance, rel=1e-6)
    assert loud.intrinsic_sigma[1, 0] == pytest.approx(2.0 * few.intrinsic_sigma[1, 0], rel=1e-6)
    assert (np.diag(many.pose_covariance) < np.diag(few.pose_covariance)).all() and not len(many.offset_sigma_s)
    assert (many.intrinsic_sigma <= few.intrinsic_sigma).all()


def test_one_camera_has_no_baseline_and_its_free_numbers_a_sigma() -> None:
    rig, places = true_rig(), true_places(8)
    bound = cramer_rao(Rig((rig.cameras[0],)), BOARD, places, 0.2, [LensModel(("k1", "k2"), square=False)])
    assert not bound.pose_covariance.any()
    assert (bound.intrinsic_sigma[0, :6] > 0).all() and not bound.intrinsic_sigma[0, 6:].any() and len(bound.intrinsic_sigma) == 1


def test_a_true_flat_board_has_no_form_to_speak_of() -> None:
    """Seen by known cameras: within four sigmas of zero."""
    rig, places = true_rig(), true_places(10)
    seen, freedom = pack_observations(BOARD, pairs_of(rig, places, 0.05), False), FreeParameters((FIXED, FIXED))
    fit = adjust_robustly(state_from_rig(rig, places), seen, freedom)
    form = estimate_board_form(fit, freedom, None)
    assert abs(form.stretch) < 4.0 * form.stretch_sigma < 0.01 and form.bend_m < 4.0 * form.bend_sigma_m
