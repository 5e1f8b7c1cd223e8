"""Every model that poses a body from constraints, by the same contract."""

from dataclasses import replace

import numpy as np
import pytest

from config.arrays import Floats
from config.joints import JOINT_INDEX
from database.builtin import build_person_skeleton, make_builtin_clip
from database.geometry.kinematics import charted_from_local, compute_forward_kinematics
from database.geometry.rotations import compute_geodesic_rad, matrix_from_rotvec
from reconstruct.constraints import Constraints, FixedJoints, Handles, Orientations, RootConstraint, build_point_handles
from reconstruct.models.sparse.learn import DictionaryOptions
from reconstruct.models.sparse.train import TrainOptions, train_pose_dictionary
from reconstruct.models.style.features import build_training_poses, subsample_poses
from reconstruct.models.style.learn import train as style_training
from reconstruct.models.style.synthesis.synthesizer import Synthesizer
from reconstruct.observations import Observations
from reconstruct.posing.average import AveragePoser
from reconstruct.posing.local import LocalPoser
from reconstruct.posing.placement import place_poses
from reconstruct.posing.protocol import Poser
from reconstruct.posing.sparse import SparsePoser
from reconstruct.posing.style import StylePoser
from tests.support.people import front_rig

SKELETON = build_person_skeleton()
CLIP = make_builtin_clip("walk", SKELETON, 30.0)
HANDS_AND_FEET = tuple(JOINT_INDEX[name] for name in ("leftHand", "rightHand", "leftFoot", "rightFoot"))
ABOVE = build_point_handles(np.array(HANDS_AND_FEET), np.zeros((4, 3)), np.full((4, 3), 9.0))


@pytest.fixture(scope="module")
def posers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Poser]:
    """Let every model learn the built-in walk."""
    options = TrainOptions(1, DictionaryOptions(n_atoms=60, n_nonzero=6, iterations=4))
    dictionary = train_pose_dictionary(
        lambda: [CLIP.rotvec.astype(np.float32)], SKELETON, "walk", tmp_path_factory.mktemp("w") / "part", options
    )
    few = subsample_poses(build_training_poses([CLIP]), 60)
    style = style_training.fit_style(few, SKELETON, "walk", style_training.LearnOptions(active=30, steps=20))
    single: dict[str, Poser] = {
        "local": LocalPoser(SKELETON, CLIP.rotvec),
        "sparse": SparsePoser(dictionary),
        "style": StylePoser(Synthesizer([style])),
    }
    return {**single, "average": AveragePoser(tuple(single.values()))}


def true_pose(frame: int = 40, heading_rad: float = 2.0) -> tuple[Floats, Floats, Floats]:
    """Return a pose of the walk that faces elsewhere: rotvec (J, 3), root (3,) and its joints (J, 3)."""
    rotvec, root_m = CLIP.rotvec[frame].copy(), np.array([1.0, CLIP.root_m[frame, 1], -2.0])
    turn = matrix_from_rotvec(np.array([0.0, heading_rad, 0.0]))
    rotvec[0] = charted_from_local((turn @ matrix_from_rotvec(rotvec[0]))[None].repeat(len(rotvec), 0)[None])[0, 0]
    return rotvec, root_m, compute_forward_kinematics(SKELETON, rotvec, root_m)[1]


def wanted(joint_m: Floats, names: tuple[int, ...] = HANDS_AND_FEET) -> Constraints:
    """Return exact points of some joints."""
    joint = np.array(names, np.int64)
    return build_point_handles(joint, np.zeros((len(joint), 3)), joint_m[joint])


@pytest.mark.parametrize("name", ["average", "local", "sparse", "style"])
def test_a_known_pose_is_found_from_hands_and_feet(posers: dict[str, Poser], name: str) -> None:
    _, _, joint_m = true_pose()
    found = posers[name].pose(wanted(joint_m))
    p = compute_forward_kinematics(SKELETON, found.rotvec, found.root_m)[1]
    assert np.linalg.norm(p - joint_m, axis=1).mean() < 0.04 and found.reached
    np.testing.assert_allclose(
        np.linalg.norm(p[list(HANDS_AND_FEET)] - joint_m[list(HANDS_AND_FEET)], axis=1), found.error_m, atol=1e-6
    )
    assert 0.0 <= found.variance < 0.6


@pytest.mark.parametrize("name", ["average", "local", "sparse", "style"])
def test_a_dragged_handle_is_followed_from_the_last_pose(posers: dict[str, Poser], name: str) -> None:
    _, _, joint_m = true_pose()
    pose, hand = posers[name].pose(wanted(joint_m)), JOINT_INDEX["leftHand"]
    for _ in range(5):
        joint_m[hand] += [0.0, 0.01, 0.0]
        pose = posers[name].pose(wanted(joint_m), pose)
    p = compute_forward_kinematics(SKELETON, pose.rotvec, pose.root_m)[1]
    assert np.linalg.norm(p[hand] - joint_m[hand]) < 0.03


def test_a_root_that_is_told_is_kept_where_points_leave_it_open(posers: dict[str, Poser]) -> None:
    rotvec, root_m, joint_m = true_pose()
    feet = wanted(joint_m, HANDS_AND_FEET[2:])
    rotation = compute_forward_kinematics(SKELETON, rotvec, root_m)[0][0]
    found = posers["sparse"].pose(replace(feet, root=RootConstraint(rotation, np.zeros(3), 0.02)))
    assert compute_geodesic_rad(compute_forward_kinematics(SKELETON, found.rotvec, found.root_m)[0][0], rotation) < np.radians(
        3.0
    )
    assert found.error_m.max() < 0.02


@pytest.mark.parametrize("name", ["average", "local", "sparse", "style"])
def test_what_is_out_of_reach_is_said_and_nothing_is_absurd(posers: dict[str, Poser], name: str) -> None:
    _, _, joint_m = true_pose()
    joint_m[JOINT_INDEX["leftHand"]] += [0.0, 5.0, 0.0]
    found = posers[name].pose(wanted(joint_m))
    assert not found.reached and np.isfinite(found.rotvec).all() and np.isfinite(found.root_m).all()


@pytest.mark.parametrize("name", ["average", "local", "sparse"])
def test_points_in_a_picture_orientations_and_fixed_joints_are_met(posers: dict[str, Poser], name: str) -> None:
    rotvec, root_m, joint_m = true_pose(heading_rad=0.3)
    rig = front_rig()
    joint_m += [-1.0, 0.0, 2.0]
    root_m = root_m + [-1.0, 0.0, 2.0]
    joint = np.array([*HANDS_AND_FEET, JOINT_INDEX["head"], 0])
    n = len(joint)
    ideal, weight = np.zeros((2, n, 2)), np.zeros((2, n))
    seen = rig.cameras[0].to_camera(joint_m[joint])
    ideal[0], weight[0] = seen[:, :2] / seen[:, 2:], 1.0
    views = (
        np.stack([c.rotation for c in rig.cameras]),
        np.stack([c.translation for c in rig.cameras]),
        np.full(2, rig.cameras[0].focal_px),
    )
    neck, elbow = JOINT_INDEX["head"], JOINT_INDEX["rightLowerArm"]
    G = compute_forward_kinematics(SKELETON, rotvec, root_m)[0]
    turned = matrix_from_rotvec(np.array([0.0, 0.3, 0.0])) @ G[neck]
    asked = Constraints(
        Handles(joint, np.zeros((n, 3))),
        Observations(np.zeros((n, 3)), np.zeros((n, 3, 3)), ideal, weight, *views),
        Orientations(np.array([neck]), turned[None], np.array([0.02])),
        FixedJoints(np.array([elbow]), rotvec[elbow][None] + 0.1, np.array([0.01])),
    )
    found = posers[name].pose(asked)
    assert found.error_px[0].max() < 5.0 and not found.error_px[1].any()
    G = compute_forward_kinematics(SKELETON, found.rotvec, found.root_m)[0]
    assert float(compute_geodesic_rad(G[neck], turned)) < np.radians(6.0)
    np.testing.assert_allclose(found.rotvec[elbow], rotvec[elbow] + 0.1, atol=0.03)


@pytest.mark.parametrize("name", ["average", "local", "sparse"])
@pytest.mark.parametrize("joints", [(), (JOINT_INDEX["head"],), (0,)])
def test_few_and_invalid_targets_leave_a_plausible_pose(posers: dict[str, Poser], name: str, joints: tuple[int, ...]) -> None:
    _, _, joint_m = true_pose()
    asked = wanted(joint_m, joints)
    if joints:
        asked.observations.point_m[0] = np.nan
        asked.observations.root_info[0] = np.eye(3)
    found = posers[name].pose(asked)
    assert np.isfinite(found.rotvec).all() and np.isfinite(found.root_m).all()
    assert np.abs(found.rotvec[1:] - CLIP.rotvec[:, 1:]).max(axis=(1, 2)).min() < 0.5


def test_poses_are_placed_where_they_fit_and_the_true_one_is_best() -> None:
    turn = matrix_from_rotvec(np.array([0.0, 1.3, 0.0]))
    _, _, joint_m = true_pose(40)
    found = place_poses(SKELETON, CLIP.rotvec[::8], wanted(joint_m @ turn.T))
    assert found.row[0] == 5 and found.error2[0] < 0.5
    p = compute_forward_kinematics(SKELETON, CLIP.rotvec[40], np.zeros(3))[1]
    G = matrix_from_rotvec(CLIP.rotvec[40, 0])
    np.testing.assert_allclose((p @ G) @ found.rotation[0].T + found.root_m[0], joint_m @ turn.T, atol=0.05)
