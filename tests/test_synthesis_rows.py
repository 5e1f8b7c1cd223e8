"""Rows of what is asked: rotations' errors, and places of handles with their derivatives."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from database.rotations import geodesic_rad, matrix_from_rotvec
from database.skeleton import PARENT_ARRAY, REFERENCE
from reconstruct.style.features import N_ANGLES
from reconstruct.style.synthesis_kernels import _moved
from reconstruct.style.synthesis_rows_kernels import State, _handle_jacobian, _rotation_error
from tests.synthesis_problems import HANDLES, clip


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-4, 1.0, 3.1, np.pi - 1e-8, np.pi])
def test_rotation_error_is_the_rotation_vector(angle: float) -> None:
    axis, target, e = np.array([0.6, 0.0, -0.8]), matrix_from_rotvec([0.2, 0.5, -1.0]), np.empty(3)
    R = np.ascontiguousarray(matrix_from_rotvec(angle * axis) @ target)
    _rotation_error(R, target, e)
    assert geodesic_rad(matrix_from_rotvec(e) @ target, R) < 1e-6 and abs(np.linalg.norm(e) - angle) < 1e-6


def test_derivatives_of_handles() -> None:
    rng, body = np.random.default_rng(3), (PARENT_ARRAY, clip().skeleton.offsets_m, REFERENCE)
    offset_m, n = 0.1 * rng.normal(size=(len(HANDLES), 3)), len(HANDLES)
    state: State = (0.5 * rng.normal(size=clip().rotvec[0].shape), matrix_from_rotvec([0.3, 1.0, -0.2]), np.ones(3), np.zeros(2))
    places, jacobian, unused = np.empty((n, 3)), np.empty((n, 3, N_ANGLES + 6)), np.empty((n, 3, N_ANGLES + 6))
    _handle_jacobian(state, body, HANDLES, offset_m, places, jacobian)
    step = 1e-6 * rng.normal(size=N_ANGLES + 6)
    ends = np.empty((2, n, 3))
    for end, sign in zip(ends, (1.0, -1.0), strict=True):
        trial = (np.empty_like(state[0]), np.empty((3, 3)), np.empty(3), np.empty(2))
        _moved(state, sign * step[:N_ANGLES], sign * np.append(step[N_ANGLES:], [0.0, 0.0]), trial)
        _handle_jacobian(trial, body, HANDLES, offset_m, end, unused)
    assert_allclose(0.5 * (ends[0] - ends[1]), jacobian @ step, atol=1e-11)
