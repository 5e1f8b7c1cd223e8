"""Posing: held-out poses and their queries."""

import numpy as np

from benchmarks.papers.posing import make_constraints
from benchmarks.papers.posing_cases import CAMERA, SPLITS, held_out_poses, pose_query
from config.joints import JOINT_INDEX
from database.builtin import build_person_skeleton
from tests.support.people import walk

CLIP = walk(build_person_skeleton(1.74))


def test_held_out_poses_stand_at_the_origin_and_show_all_sides() -> None:
    poses = held_out_poses([CLIP], 8)
    assert poses.joint_m.shape[0] == 8
    np.testing.assert_array_equal(poses.root_m[:, [0, 2]], 0.0)
    across = poses.joint_m[:, JOINT_INDEX["leftUpperLeg"]] - poses.joint_m[:, JOINT_INDEX["rightUpperLeg"]]
    facing = np.degrees(np.arctan2(across[:, 2], across[:, 0]))
    assert len(np.unique(np.round(facing / 90.0))) >= 4


def test_no_take_is_both_learned_and_pose_query() -> None:
    for split in SPLITS:
        for a in split.learned:
            for b in split.held_out:
                assert a.stem != b.stem or (a.stop is not None and b.first >= a.stop + 200)


def test_image_points_are_asked_in_one_camera_only() -> None:
    joint_m = held_out_poses([CLIP], 8).joint_m[1]
    observed = make_constraints(pose_query("6 image points", joint_m)).observations
    assert (observed.weight_px[0] > 0.0).all() and not observed.weight_px[1].any() and not observed.root_info.any()
    pixel = CAMERA.project(joint_m[pose_query("6 image points", joint_m).joint])
    np.testing.assert_allclose(CAMERA.undistort(pixel), observed.ideal[0], atol=1e-6)
