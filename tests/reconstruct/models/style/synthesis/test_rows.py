"""Rotation errors; the other rows are tested by the gradient of the energy."""

import numpy as np
import pytest

from database.geometry.rotations import geodesic_rad, matrix_from_rotvec
from reconstruct.models.style.synthesis.rows import _rotation_error


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-4, 1.0, 3.1, np.pi - 1e-8, np.pi])
def test_rotation_error_is_the_rotation_vector(angle: float) -> None:
    axis, target, e = np.array([0.6, 0.0, -0.8]), matrix_from_rotvec([0.2, 0.5, -1.0]), np.empty(3)
    R = np.ascontiguousarray(matrix_from_rotvec(angle * axis) @ target)
    _rotation_error(R, target, e)
    assert geodesic_rad(matrix_from_rotvec(e) @ target, R) < 1e-6 and abs(np.linalg.norm(e) - angle) < 1e-6
