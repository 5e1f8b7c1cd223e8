"""The adjustment's equations: projection as OpenCV's, derivatives against central differences."""

import cv2
import numpy as np
import pytest

from calibration.solve.equations import (
    CornerObservations,
    FreeParameters,
    apply_step,
    compute_residual_px,
    compute_view_equations,
    deform_points,
    select_state_views,
)
from calibration.solve.projection import compute_lens_derivatives, compute_point_derivatives, project_points
from calibration.solve.solution import FIXED, LEVELS, LensModel
from tests.calibration.solve.bundle_scenes import BOARD, small_problem

FULL = LensModel(LEVELS[-1], square=False)


def test_projection_is_opencvs() -> None:
    state, _ = small_problem(1)
    points = np.random.default_rng(4).uniform((-0.4, -0.3, 0.7), (0.4, 0.3, 2.0), (50, 3))
    fx, fy, cx, cy = state.intrinsics[0, :4]
    K = np.array([[fx, 0, cx], [0, fy, cy], [0, 0, 1.0]])
    wanted, _ = cv2.projectPoints(points, np.zeros(3), np.zeros(3), K, state.intrinsics[0, 4:9])
    np.testing.assert_allclose(project_points(state.intrinsics[0], points), wanted.reshape(-1, 2), atol=1e-9)


WIDE = np.array([255.0, 250.0, 322.0, 238.0, -0.03, 0.01, -0.004, 0.001, 0.0, 1.0])  # a fisheye


@pytest.mark.parametrize("wide", [False, True])
def test_projection_derivatives(wide: bool) -> None:
    state, _ = small_problem(1)
    k, points = (
        WIDE if wide else state.intrinsics[0],
        np.random.default_rng(5).uniform((-0.4, -0.3, 0.7), (0.4, 0.3, 2.0), (20, 3)),
    )
    P, Q = compute_point_derivatives(k, points), compute_lens_derivatives(k, points)
    for i in range(3):
        e = 1e-6 * np.eye(3)[i]
        np.testing.assert_allclose(
            P[..., i], (project_points(k, points + e) - project_points(k, points - e)) / 2e-6, rtol=1e-6, atol=1e-4
        )
    for i in range(9):
        e = 1e-6 * np.eye(10)[i]
        np.testing.assert_allclose(
            Q[..., i], (project_points(k + e, points) - project_points(k - e, points)) / 2e-6, rtol=1e-6, atol=1e-4
        )


@pytest.mark.parametrize(
    ("n_cameras", "lenses", "form", "offset"),
    [
        (2, (FULL, LensModel(("k1",))), True, True),
        (2, (FIXED, LensModel(("k1", "k2"))), False, True),
        (2, (LensModel(), FULL), True, False),
        (1, (FULL,), True, False),
        (3, (LensModel(("k1",)), FULL, LensModel()), True, True),
    ],
)
def test_the_equations_are_those_of_the_steps_taken(
    n_cameras: int, lenses: tuple[LensModel, ...], form: bool, offset: bool
) -> None:
    """J' W J and J' W r with J by central differences of `apply_step`; of three cameras one sees some views only, one none."""
    state, seen = small_problem(n_cameras)
    weight = seen.weight.copy()
    if n_cameras == 3:
        weight[1, :2], weight[2] = 0.0, 0.0
    freedom = FreeParameters(lenses, relative=n_cameras > 1, form=form, offset=offset)
    G, V = freedom.n_shared, seen.n_views
    assert sum(lens.n_free for lens in lenses) + (n_cameras - 1) * (6 + offset) + 4 * form == G
    r = compute_residual_px(state, seen)
    J = np.zeros((*r.shape, G + 6))
    for i, step in enumerate(1e-6 * np.eye(G + 6)):
        ahead = compute_residual_px(apply_step(state, freedom, step[:G], np.tile(step[G:], (V, 1))), seen)
        behind = compute_residual_px(apply_step(state, freedom, -step[:G], np.tile(-step[G:], (V, 1))), seen)
        J[..., i] = (behind - ahead) / 2e-6
    H, b = compute_view_equations(state, CornerObservations(seen.points_m, seen.px, weight, seen.motion), freedom, r)
    scale = np.sqrt(np.einsum("cvn,cvnua->a", seen.weight, J**2))
    wanted = np.einsum("cvn,cvnua,cvnub->vab", weight, J, J, optimize=True)
    np.testing.assert_allclose(H / np.outer(scale, scale), wanted / np.outer(scale, scale), atol=1e-5)
    wanted = np.einsum("cvn,cvnua,cvnu->va", weight, J, r, optimize=True)
    np.testing.assert_allclose(b / scale, wanted / scale, atol=1e-5 * float(np.sqrt((seen.weight[..., None] * r**2).sum())))


def test_a_corner_behind_the_camera_costs_everything() -> None:
    state, seen = small_problem(2)
    behind = select_state_views(state, np.array([0, 1, 2]))
    behind.board_translation[1, 2] = -1.0
    r = compute_residual_px(behind, seen)
    assert np.isinf(r[0, 1][seen.weight[0, 1] > 0]).all() and np.isfinite(r[0, [0, 2]]).all()


def test_form_stretches_and_bends_about_the_middle() -> None:
    """By hand: corner 0 of 9x6 of 30 mm is (-120, -75) mm from the middle."""
    X = deform_points(BOARD.points_m, np.array([0.01, 2.0, -1.0, 0.5]))
    flat = BOARD.points_m
    np.testing.assert_allclose(X[0], flat[0] + [-0.0012, 0.00075, 0.0144 - 0.0028125 + 0.0045], atol=1e-12)
    np.testing.assert_allclose(X.mean(axis=0)[:2], flat.mean(axis=0)[:2], atol=1e-12)


def test_lag_and_offset_carry_the_right_corners_along() -> None:
    """A picture stamped 4 ms later of a camera whose stamps are 13 ms late was taken 9 ms before the left one."""
    state, seen = small_problem(2)
    still = select_state_views(state, np.arange(3))
    with_motion = compute_residual_px(still, seen)
    without = compute_residual_px(still, type(seen)(seen.points_m, seen.px, seen.weight))
    assert seen.motion is not None
    np.testing.assert_allclose(with_motion[1, 0] - without[1, 0], 0.009 * seen.motion.velocity_px_s[1, 0], atol=1e-12)
    np.testing.assert_array_equal(with_motion[0], without[0])
