"""Forward kinematics against plain recursion over scipy rotations; derivatives against central differences."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from config.arrays import Floats
from config.joints import JOINT_INDEX, N_JOINTS, PARENTS
from database.geometry.kinematics import (
    charted_from_local,
    compute_forward_kinematics,
    compute_local_markers,
    compute_markers_and_jacobian,
    local_from_charted,
)
from database.geometry.skeleton import REFERENCE, Skeleton

pytestmark = pytest.mark.kernels
JOINT = np.array([JOINT_INDEX[name] for name in ("leftHand", "rightToes", "head", "hips", "rightUpperArm")])
OFFSET_M = np.random.default_rng(3).uniform(-0.2, 0.2, (5, 3))
OFFSETS, TAILS = np.random.default_rng(1).uniform(-0.5, 0.5, (2, N_JOINTS, 3))
OFFSETS[0] = 0.0
PERSON = Skeleton("no two bones are alike", OFFSETS, TAILS)


def pose(seed: int = 2, scale: float = 1.2) -> Floats:
    """Return random charted rotation vectors of all joints."""
    return np.random.default_rng(seed).normal(0.0, scale, (N_JOINTS, 3))


def slow_forward(rotvec: Floats, root_m: Floats) -> tuple[list[Rotation], Floats]:
    """Return orientations and positions of one pose, joint by joint."""
    G: list[Rotation] = []
    p = np.zeros((N_JOINTS, 3))
    for j, parent in enumerate(PARENTS):
        local = Rotation.from_matrix(REFERENCE[j]) * Rotation.from_rotvec(rotvec[j])
        G.append(local if parent < 0 else G[parent] * local)
        p[j] = root_m if parent < 0 else p[parent] + G[parent].as_matrix() @ PERSON.offsets_m[j]
    return G, p


def slow_markers(rotvec: Floats) -> Floats:
    """Return the markers of one pose with the root at the origin."""
    G, p = slow_forward(rotvec, np.zeros(3))
    return np.array([p[j] + G[j].apply(offset) for j, offset in zip(JOINT, OFFSET_M, strict=True)])


def test_forward_agrees_with_the_recursion_for_any_leading_shape() -> None:
    poses, root = np.stack([pose(seed) for seed in range(6)]).reshape(2, 3, N_JOINTS, 3), np.array([1.0, -2.0, 0.5])
    G, p = compute_forward_kinematics(PERSON, poses, root)
    assert G.shape == (2, 3, N_JOINTS, 3, 3) and p.shape == (2, 3, N_JOINTS, 3)
    slow_G, slow_p = slow_forward(pose(5), root)
    np.testing.assert_allclose(p[1, 2], slow_p, atol=1e-12)
    np.testing.assert_allclose(G[1, 2], [R.as_matrix() for R in slow_G], atol=1e-12)
    assert compute_forward_kinematics(PERSON, np.zeros((0, N_JOINTS, 3)), np.zeros((0, 3)))[1].shape == (0, N_JOINTS, 3)


def test_a_raised_forearm_by_hand() -> None:
    offsets = np.zeros((N_JOINTS, 3))
    elbow, wrist = JOINT_INDEX["leftLowerArm"], JOINT_INDEX["leftHand"]
    offsets[elbow], offsets[wrist] = (0.3, 0.0, 0.0), (0.25, 0.0, 0.0)
    local = np.tile(np.eye(3), (N_JOINTS, 1, 1))
    local[elbow] = Rotation.from_euler("z", 90, degrees=True).as_matrix()
    _, p = compute_forward_kinematics(
        Skeleton("arm", offsets, np.zeros((N_JOINTS, 3))), charted_from_local(local), (0.0, 1.0, 0.0)
    )
    np.testing.assert_allclose(p[[elbow, wrist]], [(0.3, 1.0, 0.0), (0.3, 1.25, 0.0)], atol=1e-12)


def test_charted_and_local_invert() -> None:
    local = Rotation.from_rotvec(pose()).as_matrix()
    np.testing.assert_allclose(local_from_charted(charted_from_local(local)), local, atol=1e-12)
    # Zero coordinates are the middle of the range, not the T-pose.
    np.testing.assert_array_equal(local_from_charted(np.zeros((N_JOINTS, 3))), REFERENCE)


def test_local_markers_ignore_the_root() -> None:
    poses = np.stack([pose(4), pose(5)])
    rooted = poses.copy()
    rooted[:, 0] = 0.0
    found = compute_local_markers(PERSON, poses, JOINT, OFFSET_M)
    np.testing.assert_allclose(found, [slow_markers(rotvec) for rotvec in rooted], atol=1e-12)


@pytest.mark.parametrize("scale", [1.2, 1e-5, 0.0])
def test_marker_derivatives_against_central_differences(scale: float) -> None:
    """Check at large, tiny and zero rotations, where the left Jacobian takes different branches."""
    rotvec, step = pose(6, scale), 1e-6
    directions = np.random.default_rng(7).normal(size=(N_JOINTS, 3, 4))
    at, jacobian = compute_markers_and_jacobian(PERSON, rotvec, directions, JOINT, OFFSET_M)
    np.testing.assert_allclose(at, slow_markers(rotvec), atol=1e-12)
    for b in range(4):
        after, before = (slow_markers(rotvec + sign * step * directions[..., b]) for sign in (1, -1))
        np.testing.assert_allclose(jacobian[..., b], (after - before) / (2 * step), atol=2e-8)


def test_skeleton_heights_and_read_only_arrays() -> None:
    offsets, tails = np.zeros((N_JOINTS, 3)), np.zeros((N_JOINTS, 3))
    offsets[JOINT_INDEX["leftFoot"], 1], offsets[JOINT_INDEX["head"], 1] = -0.9, 0.6
    tails[JOINT_INDEX["leftToes"], 1], tails[JOINT_INDEX["head"], 1] = -0.08, 0.2
    skeleton = Skeleton("tall", offsets, tails)
    assert skeleton.height_m == pytest.approx(0.9 + 0.08 + 0.6 + 0.2)
    np.testing.assert_allclose(skeleton.rest_positions_m()[JOINT_INDEX["leftToes"]], (0, -0.9, 0))
    with pytest.raises(ValueError, match="read-only"):
        skeleton.offsets_m[1, 0] = 1.0
