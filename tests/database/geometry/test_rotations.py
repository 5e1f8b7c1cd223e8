"""Rotations against values by hand, scipy as an independent implementation, and the axioms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.spatial.transform import Rotation

import database.geometry.rotations as rotations
from database.geometry.rotations import matrix_from_rotvec, quaternion_from_matrix, rotation_between, rotvec_from_matrix
from tests.support.compiled import limit_examples

pytestmark = pytest.mark.kernels
vectors = hnp.arrays(float, (3,), elements=st.floats(-4, 4))
few = limit_examples(25)


def test_a_quarter_turn_by_hand() -> None:
    R = matrix_from_rotvec([0.0, 0.0, np.pi / 2])
    np.testing.assert_allclose(R @ [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], atol=1e-15)  # x to y: right-handed
    np.testing.assert_allclose(quaternion_from_matrix(R), [0, 0, np.sqrt(0.5), np.sqrt(0.5)], atol=1e-15)
    np.testing.assert_allclose(rotations.skew_from_vector([1.0, 2.0, 3.0]) @ [4.0, 5.0, 6.0], np.cross([1, 2, 3], [4, 5, 6]))


@few
@given(vectors, vectors)
def test_conversions_agree_with_scipy_and_invert(r: np.ndarray, other: np.ndarray) -> None:
    R, expected = matrix_from_rotvec(r), Rotation.from_rotvec(r)
    np.testing.assert_allclose(R, expected.as_matrix(), atol=1e-12)
    np.testing.assert_allclose(matrix_from_rotvec(rotvec_from_matrix(R)), R, atol=1e-12)
    q = quaternion_from_matrix(R)
    assert q[3] >= 0 and np.linalg.norm(q) == pytest.approx(1.0)
    np.testing.assert_allclose(rotations.matrix_from_quaternion(3.0 * q), R, atol=1e-12)
    distance = (expected.inv() * Rotation.from_rotvec(other)).magnitude()
    assert rotations.compute_geodesic_rad(R, matrix_from_rotvec(other)) == pytest.approx(distance, abs=1e-7)


@pytest.mark.parametrize("angle", [1e-12, 1e-9, 1e-5, 0.3, np.pi - 1e-9, np.pi])
def test_logarithm_of_small_and_of_large_rotations(angle: float) -> None:
    axis = np.array([2.0, -1.0, 0.5]) / np.linalg.norm([2.0, -1.0, 0.5])
    r = rotvec_from_matrix(matrix_from_rotvec(angle * axis))
    sign = np.sign(r @ axis) if angle > 3.1 else 1.0  # at pi both axes are right
    np.testing.assert_allclose(sign * r, angle * axis, rtol=1e-6, atol=1e-15)


long = vectors.filter(lambda v: np.linalg.norm(v) > 0.1)


@few
@given(long, long | st.just(None))
def test_rotation_between_directions(a: np.ndarray, b: np.ndarray | None) -> None:
    b = -a if b is None else b  # opposite directions
    R = rotation_between(a, b)
    np.testing.assert_allclose(R @ a / np.linalg.norm(a), b / np.linalg.norm(b), atol=1e-7)
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(R) == pytest.approx(1.0)


@pytest.mark.filterwarnings("ignore:Optimal rotation")
@few
@given(hnp.arrays(float, (3, 3), elements=st.floats(-4, 4)))
def test_the_nearest_rotation_agrees_with_scipy(matrix: np.ndarray) -> None:
    nearest = rotations.find_nearest_rotation(matrix)
    np.testing.assert_allclose(nearest @ nearest.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(nearest) == pytest.approx(1.0)
    aligned = Rotation.align_vectors(matrix.T, np.eye(3))[0].as_matrix()  # also a mirroring matrix has a nearest rotation
    assert np.linalg.norm(matrix - nearest) <= np.linalg.norm(matrix - aligned) + 1e-9


@few
@given(long)
def test_tangents_are_right_handed_about_the_direction(direction: np.ndarray) -> None:
    up = direction / np.linalg.norm(direction)
    axes = np.vstack([rotations.compute_tangents(up), up])
    np.testing.assert_allclose(axes @ axes.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(axes) == pytest.approx(1.0)


def test_euler_angles_and_rotations_about_an_axis_agree_with_scipy() -> None:
    angles = np.random.default_rng(5).uniform(-3.0, 3.0, (4, 3))
    for axes in ("xyz", "zxy", "yx", "z"):
        given = angles[:, : len(axes)]
        expected = Rotation.from_euler(axes.upper(), given).as_matrix()
        np.testing.assert_allclose(rotations.matrix_from_euler(given, axes), expected.reshape(4, 3, 3), atol=1e-12)
    np.testing.assert_allclose(rotations.rotation_about((0.0, 0.0, 1.0), angles[:, 0]), expected.reshape(4, 3, 3), atol=1e-12)


def test_arrays_of_any_leading_shape_and_kind() -> None:
    r = np.random.default_rng(4).normal(size=(2, 5, 3), scale=2.0)
    R = matrix_from_rotvec(r)
    expected = Rotation.from_rotvec(r.reshape(-1, 3))
    np.testing.assert_allclose(R, expected.as_matrix().reshape(2, 5, 3, 3), atol=1e-12)
    np.testing.assert_allclose(quaternion_from_matrix(R).reshape(-1, 4), expected.as_quat(canonical=True), atol=1e-12)
    np.testing.assert_allclose(rotvec_from_matrix(R).reshape(-1, 3), expected.as_rotvec(), atol=1e-12)
    transposed = np.swapaxes(R, -1, -2)  # not contiguous
    transposed.setflags(write=False)
    np.testing.assert_allclose(rotvec_from_matrix(transposed), -rotvec_from_matrix(R), atol=1e-12)
    np.testing.assert_array_equal(matrix_from_rotvec([0, 0, 0]), np.eye(3))
    assert matrix_from_rotvec(np.zeros((0, 3))).shape == (0, 3, 3) and rotvec_from_matrix(np.zeros((0, 3, 3))).shape == (0, 3)
    assert np.isnan(rotvec_from_matrix(np.full((3, 3), np.nan))).all()
