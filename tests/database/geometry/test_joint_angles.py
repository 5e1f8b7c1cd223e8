"""Joint angles: poses posed on purpose have the angles that a clinician would name, on both sides; axes are those of the turn."""

import numpy as np
import pytest

from config.joints import JOINT_INDEX, N_JOINTS
from database.builtin.bodies import build_person_skeleton
from database.geometry.joint_angles import ARM_TRIPLE, PELVIS_TRIPLE, TRIPLES, compute_joint_angles
from database.geometry.kinematics import charted_from_local, compute_forward_kinematics
from database.geometry.rotations import matrix_from_rotvec, rotvec_from_matrix

BODY = build_person_skeleton(1.8)
X, Y, Z = np.eye(3)
ALL = (*TRIPLES, ARM_TRIPLE)
REST = {"shoulder_elevation": 90.0, "elbow_pronation": 90.0, "arm_add": -90.0}  # the T-pose, palms down


def posed(turns: dict[str, np.ndarray]) -> np.ndarray:
    """Return a pose with some joints turned from the T-pose, in axes of the rest pose [degrees], charted, (1, J, 3)."""
    local = np.broadcast_to(np.eye(3), (1, N_JOINTS, 3, 3)).copy()
    for joint, turn in turns.items():
        local[0, JOINT_INDEX[joint]] = matrix_from_rotvec(np.radians(turn))
    return charted_from_local(local)


def mirrored(turns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the mirror image of a pose of the right side."""
    return {joint.replace("right", "left"): turn * (1.0, -1.0, -1.0) for joint, turn in turns.items()}


def angles_deg(rotvec: np.ndarray) -> dict[str, float]:
    found = compute_joint_angles(BODY, rotvec, ALL)
    return dict(zip(found.names, np.degrees(found.angle_rad[0]).tolist(), strict=True))


# Turns from the T-pose in which the performer faces +Z with the right hand at -X, and what a clinician reads.
POSED = [
    ({"rightUpperLeg": -60 * X}, {"hip_flexion": 60}),
    ({"rightUpperLeg": 20 * X}, {"hip_flexion": -20}),
    ({"rightUpperLeg": -30 * Z}, {"hip_adduction": -30}),  # the foot goes to -X, outwards
    ({"rightUpperLeg": 25 * Y}, {"hip_rotation": 25}),  # toes from +Z towards +X, inwards
    ({"rightLowerLeg": 90 * X}, {"knee_flexion": 90}),
    ({"rightLowerLeg": 15 * Y}, {"knee_rotation": 15}),
    ({"rightLowerLeg": 10 * Z}, {"knee_adduction": 10}),
    ({"rightFoot": -20 * X}, {"ankle_dorsiflexion": 20}),
    ({"rightFoot": 15 * Z}, {"ankle_inversion": 15}),  # the sole turns towards the other foot
    ({"rightFoot": 12 * Y}, {"ankle_rotation": 12}),
    ({"rightToes": -30 * X}, {"toes_extension": 30}),
    # Arms: 75 degrees below level is 15 from hanging.
    ({"rightUpperArm": 75 * Z}, {"shoulder_elevation": 15, "arm_add": -15}),
    ({"rightUpperArm": 90 * Y}, {"shoulder_plane": 90, "shoulder_rotation": 0, "arm_flex": 90, "arm_add": 0, "arm_rot": 90}),
    ({"rightUpperArm": 60 * X}, {"shoulder_rotation": 60}),  # the fold of the elbow turns down
    ({"rightLowerArm": 90 * Y}, {"elbow_flexion": 90}),
    ({"rightLowerArm": -60 * X}, {"elbow_pronation": 30}),  # the palm turns forward
    ({"rightHand": 40 * Z}, {"wrist_flexion": 40}),  # the hand falls, palm first
    ({"rightHand": -20 * Y}, {"wrist_deviation": 20}),  # towards the little finger, behind
]


# Of an arm at the height of the shoulder, OpenSim's first and last angle turn about one axis.
LOOSE = ("arm_flex", "arm_rot", "shoulder_plane", "shoulder_rotation")


@pytest.mark.parametrize(("turns", "expected"), POSED)
def test_what_is_posed_is_read_on_either_side(turns: dict[str, np.ndarray], expected: dict[str, float]) -> None:
    for side, pose in (("_r", turns), ("_l", mirrored(turns))):
        found = angles_deg(posed(pose))
        wanted = {name: REST.get(name[:-2], 0.0) for name in found if not name.startswith(LOOSE)}
        if "shoulder_elevation" in expected or "arm_flex" in expected:
            wanted = {name: value for name, value in wanted.items() if name != f"arm_add{side}"}
        wanted |= {f"{name}{side}": float(value) for name, value in expected.items()}
        assert {name: found[name] for name in wanted} == pytest.approx(wanted, abs=1e-6)


def test_trunk_head_and_pelvis() -> None:
    found = angles_deg(posed({"spine": 30 * X, "neck": -20 * X, "hips": 10 * X}))
    assert [found[name] for name in ("trunk_flexion", "neck_flexion", "pelvis_tilt")] == pytest.approx([30.0, -20.0, 10.0])
    found = angles_deg(posed({"chest": 25 * Z, "upperNeck": 15 * Y}))  # the head goes to -X, the right; then looks left, +X
    assert (found["trunk_bending"], found["neck_rotation"]) == pytest.approx((25.0, 15.0))
    found = angles_deg(posed({"hips": 100 * Y}))
    assert found["pelvis_rotation"] == pytest.approx(100.0) and found["pelvis_tilt"] == pytest.approx(0.0, abs=1e-9)
    found = compute_joint_angles(BODY, posed({"hips": 10 * X}), (PELVIS_TRIPLE,))
    assert np.degrees(found.angle_rad[0]) == pytest.approx([-10.0, 0.0, 0.0])  # OpenSim's tilt is positive backwards


def test_axes_are_those_about_which_the_segment_turns() -> None:
    """For every triple, the change of a pose is the sum of the axes times the changes of their angles."""
    rng, step = np.random.default_rng(5), 1e-5
    rotvec = rng.normal(0.0, 0.5, (1, N_JOINTS, 3))
    moved = rotvec + step * rng.normal(0.0, 1.0, rotvec.shape)
    for triple in (*ALL, PELVIS_TRIPLE):
        if "" in triple.names:
            continue
        a, b = (compute_joint_angles(BODY, each, (triple,)) for each in (rotvec, moved))
        G, H = (compute_forward_kinematics(BODY, each, np.zeros((1, 3)))[0][0] for each in (rotvec, moved))
        for side, first in (("right", 0), ("left", 1)) if triple.sided else (("", 0),):
            rows = [3 * first + k for k in range(3)]
            proximal, distal = (name.replace("right", side) if side else name for name in (triple.proximal, triple.distal))
            P, Q = (np.eye(3), np.eye(3)) if not proximal else (G[JOINT_INDEX[proximal]], H[JOINT_INDEX[proximal]])
            turned = P @ (Q.T @ H[JOINT_INDEX[distal]]) @ (P.T @ G[JOINT_INDEX[distal]]).T @ P.T
            change = (b.angle_rad - a.angle_rad)[0, rows]
            np.testing.assert_allclose(rotvec_from_matrix(turned), change @ a.axis[0, rows], atol=0.01 * step)


def test_angles_do_not_jump_over_a_turn() -> None:
    poses = np.concatenate([posed({"hips": degrees * Y}) for degrees in range(90, 300, 10)])
    found = compute_joint_angles(BODY, poses)
    rotation = np.degrees(found.angle_rad[:, found.names.index("pelvis_rotation")])
    np.testing.assert_allclose(np.diff(rotation), 10.0, atol=1e-9)
