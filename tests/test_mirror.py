"""Mirrored clips: joint positions are reflections, and twice mirrored is the clip itself."""

import numpy as np

from config.joints import JOINT_INDEX, JOINTS, N_JOINTS
from config.joints import mirrored as mirrored_name
from database.clips import Clip
from database.kinematics import forward
from database.mirror import mirrored
from database.skeleton import Skeleton


def lopsided_clip(seed: int = 3) -> Clip:
    """Give random poses of a body whose sides differ."""
    rng = np.random.default_rng(seed)
    skeleton = Skeleton("lopsided", rng.normal(0.0, 0.2, (N_JOINTS, 3)), rng.normal(0.0, 0.1, (N_JOINTS, 3)))
    return Clip("14_02", skeleton, 60.0, rng.normal(0.0, 0.8, (5, N_JOINTS, 3)), rng.normal(size=(5, 3)))


def test_joints_and_tails_are_reflected() -> None:
    clip = lopsided_clip()
    image = mirrored(clip)
    G, p = forward(clip.skeleton, clip.rotvec, clip.root_m)
    G_image, p_image = forward(image.skeleton, image.rotvec, image.root_m)
    for joint, name in enumerate(JOINTS):
        other = JOINT_INDEX[mirrored_name(name)]
        np.testing.assert_allclose(p_image[:, joint], p[:, other] * (-1.0, 1.0, 1.0), atol=1e-12)
        tail = p[:, other] + G[:, other] @ clip.skeleton.tails_m[other]
        tail_image = p_image[:, joint] + G_image[:, joint] @ image.skeleton.tails_m[joint]
        np.testing.assert_allclose(tail_image, tail * (-1.0, 1.0, 1.0), atol=1e-12)


def test_twice_mirrored_is_the_clip_itself() -> None:
    clip = lopsided_clip()
    image = mirrored(clip)
    assert image.name == "14_02_mirrored" and not np.array_equal(image.rotvec, clip.rotvec)
    again = mirrored(image)
    assert again.name == clip.name and again.fps == clip.fps
    for got, expected in (
        (again.rotvec, clip.rotvec),
        (again.root_m, clip.root_m),
        (again.skeleton.offsets_m, clip.skeleton.offsets_m),
        (again.skeleton.tails_m, clip.skeleton.tails_m),
    ):
        np.testing.assert_array_equal(got, expected)


def test_a_raised_left_arm_becomes_a_raised_right_arm() -> None:
    clip = lopsided_clip()
    rotvec = np.zeros((1, N_JOINTS, 3))
    rotvec[0, JOINT_INDEX["leftUpperArm"]] = (0.1, 0.2, 0.9)
    image = mirrored(Clip("a", clip.skeleton, 60.0, rotvec, np.zeros((1, 3))))
    np.testing.assert_array_equal(image.rotvec[0, JOINT_INDEX["rightUpperArm"]], [0.1, -0.2, -0.9])
    assert not image.rotvec[0, JOINT_INDEX["leftUpperArm"]].any()
