"""Markers of a posed body and their derivatives, against the project's kinematics and central differences."""

import numpy as np

from calibration.subject.model import ABOVE, left_jacobian, place, skeleton_space, slopes
from config.arrays import Floats
from config.joints import JOINT_INDEX, N_JOINTS
from config.markers import read_marker_set
from database.builtin import body
from database.geometry.kinematics import charted, forward
from database.geometry.rotations import matrix_from_rotvec, rotvec_from_matrix

DARK = read_marker_set("dark_room")
SPACE = skeleton_space([body(1.55), body(1.72, arm_ratio=1.04), body(1.85, leg_ratio=1.03)])


def some_body(seed: int = 0) -> tuple[Floats, Floats, Floats, Floats]:
    """Return y, offsets, rotation vectors and root of a body in an odd pose."""
    rng = np.random.default_rng(seed)
    offset = DARK.offset_m + rng.normal(0.0, 0.02, DARK.offset_m.shape)
    return 0.5 * rng.normal(size=SPACE.n_parameters), offset, rng.normal(0.0, 0.4, (N_JOINTS, 3)), rng.normal(size=3)


def markers_of(y: Floats, offset: Floats, rotvec: Floats, root: Floats) -> Floats:
    """Return the markers, (M, 3)."""
    return place(SPACE.vectors(y)[0], offset, DARK.joint, rotvec, root).marker_m


def numeric(function, x: Floats) -> Floats:  # type: ignore[no-untyped-def]
    """Return central differences, (M, 3, n)."""
    h = 1e-6
    steps = h * np.eye(x.size).reshape(-1, *x.shape)
    return np.stack([(function(x + step) - function(x - step)) / (2 * h) for step in steps], axis=-1)


def test_placed_as_the_kinematics_place_it() -> None:
    y, offset, rotvec, root = some_body()
    placed = place(SPACE.vectors(y)[0], offset, DARK.joint, rotvec, root)
    G, p = forward(SPACE.skeleton(y), charted(matrix_from_rotvec(rotvec)), root)
    np.testing.assert_allclose(placed.G, G, atol=1e-12)
    np.testing.assert_allclose(placed.p, p, atol=1e-12)
    elbow = DARK.names.index("left_elbow")
    joint = JOINT_INDEX["leftLowerArm"]
    np.testing.assert_allclose(placed.marker_m[elbow], p[joint] + G[joint] @ offset[elbow], atol=1e-12)


def test_what_hangs_on_what() -> None:
    hand, shoulder, knee = (JOINT_INDEX[name] for name in ("leftHand", "leftShoulder", "leftLowerLeg"))
    assert ABOVE[hand, shoulder] and ABOVE[hand, hand] and ABOVE[hand, 0]
    assert not ABOVE[shoulder, hand] and not ABOVE[hand, knee]


def test_derivatives_against_central_differences() -> None:
    y, offset, rotvec, root = some_body(1)
    vectors, vector_slopes = SPACE.vectors(y)
    slope = slopes(place(vectors, offset, DARK.joint, rotvec, root), vector_slopes, DARK.joint, rotvec)
    np.testing.assert_allclose(slope.shape, numeric(lambda v: markers_of(v, offset, rotvec, root), y), atol=1e-7)
    by_pose = numeric(lambda v: markers_of(y, offset, v, root), rotvec).reshape(len(DARK), 3, N_JOINTS, 3)
    np.testing.assert_allclose(slope.pose, by_pose, atol=1e-7)
    by_offset = numeric(lambda v: markers_of(y, v, rotvec, root), offset).reshape(len(DARK), 3, len(DARK), 3)
    for m in range(len(DARK)):
        np.testing.assert_allclose(slope.offset[m], by_offset[m, :, m], atol=1e-7)
        assert not by_offset[m, :, np.arange(len(DARK)) != m].any()


def test_left_jacobian_moves_the_exponential_map() -> None:
    """exp(r + d) = exp(J_l(r) d) exp(r) to first order, also near no turn at all."""
    for r in (np.array([0.4, -1.1, 0.7]), np.array([1e-6, 0.0, -1e-6]), np.zeros(3)):
        d = 1e-5 * np.array([1.0, -2.0, 0.5])
        turned = matrix_from_rotvec(r + d) @ matrix_from_rotvec(r).T
        np.testing.assert_allclose(rotvec_from_matrix(turned), left_jacobian(r) @ d, atol=1e-9)
