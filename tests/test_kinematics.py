"""Forward kinematics against plain recursion over scipy rotations; derivatives against central differences."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from config.joints import JOINT_INDEX, N_JOINTS, PARENTS
from database.kinematics import charted, forward, local_markers, local_rotations, markers_and_jacobian
from database.skeleton import REFERENCE, Skeleton

JOINTS_OF_MARKERS = np.array([JOINT_INDEX[name] for name in ("leftHand", "rightToes", "head", "hips", "rightUpperArm")])


def person(seed: int = 1) -> Skeleton:
    """Build a skeleton in which no two bones are alike."""
    random = np.random.default_rng(seed)
    offsets = random.uniform(-0.5, 0.5, (N_JOINTS, 3))
    offsets[0] = 0.0
    return Skeleton("uneven", offsets, random.uniform(-0.1, 0.1, (N_JOINTS, 3)))


def pose(seed: int = 2, scale: float = 1.2) -> np.ndarray:
    """Draw charted rotation vectors of all joints."""
    return np.random.default_rng(seed).normal(0.0, scale, (N_JOINTS, 3))


def marker_offsets() -> np.ndarray:
    """Give five markers, each off its joint in another direction."""
    return np.random.default_rng(3).uniform(-0.2, 0.2, (5, 3))


def slow_forward(skeleton: Skeleton, rotvec: np.ndarray, root_m: np.ndarray) -> tuple[list[Rotation], np.ndarray]:
    """Give orientations and positions of one pose, joint by joint."""
    G: list[Rotation] = []
    p = np.zeros((N_JOINTS, 3))
    for j, parent in enumerate(PARENTS):
        local = Rotation.from_matrix(REFERENCE[j]) * Rotation.from_rotvec(rotvec[j])
        G.append(local if parent < 0 else G[parent] * local)
        p[j] = root_m if parent < 0 else p[parent] + G[parent].as_matrix() @ skeleton.offsets_m[j]
    return G, p


def test_forward_agrees_with_the_recursion() -> None:
    root = np.array([1.0, -2.0, 0.5])
    G, p = forward(person(), pose(), root)
    slow_G, slow_p = slow_forward(person(), pose(), root)
    np.testing.assert_allclose(p, slow_p, atol=1e-12)
    np.testing.assert_allclose(G, [R.as_matrix() for R in slow_G], atol=1e-12)


def test_a_raised_forearm_by_hand() -> None:
    offsets = np.zeros((N_JOINTS, 3))
    elbow, wrist = JOINT_INDEX["leftLowerArm"], JOINT_INDEX["leftHand"]
    offsets[elbow], offsets[wrist] = (0.3, 0.0, 0.0), (0.25, 0.0, 0.0)
    skeleton = Skeleton("arm", offsets, np.zeros((N_JOINTS, 3)))
    local = np.tile(np.eye(3), (N_JOINTS, 1, 1))
    local[elbow] = Rotation.from_euler("z", 90, degrees=True).as_matrix()
    _, p = forward(skeleton, charted(local), (0.0, 1.0, 0.0))
    np.testing.assert_allclose(p[elbow], (0.3, 1.0, 0.0), atol=1e-12)
    np.testing.assert_allclose(p[wrist], (0.3, 1.25, 0.0), atol=1e-12)


def test_any_leading_shape_and_a_shared_root() -> None:
    poses = np.stack([pose(seed) for seed in range(6)]).reshape(2, 3, N_JOINTS, 3)
    G, p = forward(person(), poses, (0.1, 0.2, 0.3))
    assert G.shape == (2, 3, N_JOINTS, 3, 3) and p.shape == (2, 3, N_JOINTS, 3)
    np.testing.assert_array_equal(p[1, 2], forward(person(), pose(5), (0.1, 0.2, 0.3))[1])
    empty = forward(person(), np.zeros((0, N_JOINTS, 3)), np.zeros((0, 3)))
    assert empty[1].shape == (0, N_JOINTS, 3)


def test_charted_and_local_invert() -> None:
    local = Rotation.from_rotvec(pose()).as_matrix()
    np.testing.assert_allclose(local_rotations(charted(local)), local, atol=1e-12)
    # Zero coordinates are the middle of the range, not the T-pose.
    np.testing.assert_array_equal(local_rotations(np.zeros((N_JOINTS, 3))), REFERENCE)


def test_local_markers_ignore_the_root() -> None:
    poses = np.stack([pose(4), pose(5)])
    markers = local_markers(person(), poses, JOINTS_OF_MARKERS, marker_offsets())
    for rotvec, found in zip(poses, markers, strict=True):
        rooted = rotvec.copy()
        rooted[0] = 0.0
        G, p = slow_forward(person(), rooted, np.zeros(3))
        expected = [p[j] + G[j].apply(offset) for j, offset in zip(JOINTS_OF_MARKERS, marker_offsets(), strict=True)]
        np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("scale", [1.2, 1e-5, 0.0])
def test_marker_derivatives_against_central_differences(scale: float) -> None:
    """Check at large, tiny and zero rotations, where the left Jacobian takes different branches."""
    rotvec = pose(6, scale)
    directions = np.random.default_rng(7).normal(size=(N_JOINTS, 3, 4))
    at, jacobian = markers_and_jacobian(person(), rotvec, directions, JOINTS_OF_MARKERS, marker_offsets())
    step = 1e-6
    for b in range(4):
        ends = []
        for sign in (1, -1):
            G, p = slow_forward(person(), rotvec + sign * step * directions[..., b], np.zeros(3))
            ends.append([p[j] + G[j].apply(v) for j, v in zip(JOINTS_OF_MARKERS, marker_offsets(), strict=True)])
        np.testing.assert_allclose(jacobian[..., b], (np.array(ends[0]) - ends[1]) / (2 * step), atol=2e-8)
    G, p = slow_forward(person(), rotvec, np.zeros(3))
    np.testing.assert_allclose(at[0], p[JOINTS_OF_MARKERS[0]] + G[JOINTS_OF_MARKERS[0]].apply(marker_offsets()[0]), atol=1e-12)


def test_skeleton_heights_and_read_only_arrays() -> None:
    offsets, tails = np.zeros((N_JOINTS, 3)), np.zeros((N_JOINTS, 3))
    offsets[JOINT_INDEX["leftFoot"], 1], offsets[JOINT_INDEX["head"], 1] = -0.9, 0.6
    tails[JOINT_INDEX["leftToes"], 1], tails[JOINT_INDEX["head"], 1] = -0.08, 0.2
    skeleton = Skeleton("tall", offsets, tails)
    assert skeleton.height_m == pytest.approx(0.9 + 0.08 + 0.6 + 0.2)
    np.testing.assert_allclose(skeleton.rest_positions_m()[JOINT_INDEX["leftToes"]], (0, -0.9, 0))
    with pytest.raises(ValueError, match="read-only"):
        skeleton.offsets_m[1, 0] = 1.0
