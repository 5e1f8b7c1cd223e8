"""The body and what it wears."""

import numpy as np
import pytest

from capture.sources.simulated.body import add_props, build_body_around, draw_worn_offsets
from capture.sources.simulated.rays import compute_surface_distance
from config.arrays import Floats
from config.joints import JOINT_INDEX, N_JOINTS
from config.markers import read_marker_set
from database.builtin.bodies import build_person_skeleton as skeleton_of
from database.geometry.kinematics import charted_from_local, compute_forward_kinematics
from database.geometry.rotations import matrix_from_rotvec

SKELETON = skeleton_of(1.72, leg_ratio=1.03, arm_ratio=0.97)
BODY = build_body_around(SKELETON)


def rest() -> tuple[Floats, Floats]:
    """Return the T-pose's orientations and positions."""
    return compute_forward_kinematics(SKELETON, charted_from_local(np.broadcast_to(np.eye(3), (N_JOINTS, 3, 3))), np.zeros(3))


def test_body_fills_the_skeleton_from_the_soles_to_the_top_of_the_head() -> None:
    a, b, _ = BODY.posed(*rest())
    top = max((a[:, 1] + BODY.radii[:, 0]).max(), (b[:, 1] + BODY.radii[:, 1]).max())
    bottom = min((a[:, 1] - BODY.radii[:, 0]).min(), (b[:, 1] - BODY.radii[:, 1]).min())
    assert top - bottom == pytest.approx(SKELETON.height_m, abs=0.06)
    _, p = rest()
    for joint in ("leftLowerLeg", "rightLowerArm", "chest", "head"):
        assert compute_surface_distance(BODY.posed(*rest()), p[JOINT_INDEX[joint]])[0] < -0.02


def test_posed_cones_turn_with_their_joints() -> None:
    local = np.broadcast_to(np.eye(3), (N_JOINTS, 3, 3)).copy()
    local[JOINT_INDEX["leftLowerArm"]] = matrix_from_rotvec([0.0, -np.pi / 2, 0.0])  # the forearm points forward
    G, p = compute_forward_kinematics(SKELETON, charted_from_local(local), np.array([0.1, 0.9, -0.2]))
    a, b, _ = BODY.posed(G, p)
    forearm = np.flatnonzero(BODY.joint == JOINT_INDEX["leftLowerArm"])[0]
    assert a[forearm] == pytest.approx(p[JOINT_INDEX["leftLowerArm"]])
    assert b[forearm] == pytest.approx(p[JOINT_INDEX["leftHand"]])
    assert (b - a)[forearm, 2] > 0.2


@pytest.mark.parametrize("preset", ["locomotion", "boxing", "dark_room", "kendo"])
def test_markers_are_worn_on_the_body_and_near_their_places(preset: str) -> None:
    markers, radius = read_marker_set(preset), 0.0125
    offset = draw_worn_offsets(SKELETON, BODY, markers, radius, 0.006, 3)
    G, p = rest()
    cones = BODY.posed(G, p)
    for m, name in enumerate(markers.names):
        distance, _ = compute_surface_distance(cones, p[markers.joint[m]] + offset[m])
        assert distance >= radius - 1e-5, name
        if name != "sword":
            assert distance == pytest.approx(radius, abs=2e-4), name
        assert np.linalg.norm(offset[m] - markers.offset_m[m]) < 0.13, name
    again = draw_worn_offsets(SKELETON, BODY, markers, radius, 0.006, 3)
    other = draw_worn_offsets(SKELETON, BODY, markers, radius, 0.006, 4)
    assert np.array_equal(offset, again)
    assert not np.allclose(offset, other)


def test_shoulder_markers_sit_on_top_and_waist_markers_in_front() -> None:
    markers = read_marker_set("locomotion")
    offset = draw_worn_offsets(SKELETON, BODY, markers, 0.0125, 0.0, 0)
    by_name = dict(zip(markers.names, offset, strict=True))
    assert by_name["left_shoulder"][1] > 0.03
    assert by_name["right_shoulder"][1] > 0.03
    assert by_name["waist_left"][2] > 0.08
    assert by_name["waist_left"][0] > 0.05 > -0.05 > by_name["waist_right"][0]


def test_only_a_marker_far_outside_gets_a_stick_that_ends_short_of_it() -> None:
    kendo, plain = read_marker_set("kendo"), read_marker_set("locomotion")
    radius = 0.0125
    offset = draw_worn_offsets(SKELETON, BODY, kendo, radius, 0.0, 0)
    armed = add_props(SKELETON, BODY, kendo, offset, radius)
    assert len(armed.joint) == len(BODY.joint) + 1
    assert armed.joint[-1] == JOINT_INDEX["rightHand"]
    sword = offset[kendo.names.index("sword")]
    assert np.linalg.norm(sword - armed.b[-1]) == pytest.approx(radius + armed.radii[-1, 1])
    assert add_props(SKELETON, BODY, plain, draw_worn_offsets(SKELETON, BODY, plain, radius, 0.0, 0), radius) is BODY
