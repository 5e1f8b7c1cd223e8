"""The stage on a real viser server without a browser: nodes stand where forward kinematics says, what is off is silent."""

from collections.abc import Iterator
from dataclasses import fields, replace

import numpy as np
import pytest
import viser
from viser import _messages

from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.rotations import matrix_from_quaternion
from reconstruct.pose import TrackingState
from stream.export.mesh.mesh import compute_rest_positions_m
from stream.protocol.messages import FootForce, PoseMessage
from stream.viewer.scene.bones import bones_from_skeleton, build_spindle, find_tip_m
from stream.viewer.scene.colors import (
    INFERRED,
    MEASURED,
    ONE_VIEW,
    choose_body_color,
    choose_marker_color,
    convert_to_linear_colors,
)
from stream.viewer.scene.markers import build_ring
from stream.viewer.scene.stage import Stage, StageOptions
from stream.viewer.scene.trails import LENGTH_NS, STEP_NS, Trail
from stream.viewer.scene.world import WORLD, WorldScenery
from tests.support.viewer.stage_motion import as_state, performer, poses_of, skeleton_and_rig

PERSON = performer()
SKELETON, RIG = skeleton_and_rig(PERSON)
POSES = poses_of(PERSON, 6.0, 0.5)
EVERYTHING = StageOptions(bones=True, joints=True, labels=True)


@pytest.fixture
def stage(server: viser.ViserServer) -> Iterator[Stage]:
    stage = Stage(server.scene, f"{WORLD}/test", SKELETON, EVERYTHING, server.atomic)
    yield stage
    stage.remove()


class Sent:
    """What is queued for the browsers."""

    def __init__(self, server: viser.ViserServer, monkeypatch: pytest.MonkeyPatch) -> None:
        self.messages: list[_messages.Message] = []
        queue = server.scene._queue_scene_message

        def note(message: _messages.Message) -> None:
            self.messages.append(message)
            queue(message)

        monkeypatch.setattr(server.scene, "_queue_scene_message", note)


def node(server: viser.ViserServer, name: str) -> viser.SceneNodeHandle:
    handle = server.scene.get_handle_by_name(f"{WORLD}/test/{name}")
    assert handle is not None
    return handle


def truth(pose: PoseMessage) -> tuple[np.ndarray, np.ndarray]:
    """Return orientations and places by the kinematics of the database."""
    rotvec, root_m = PERSON.poses_at(np.array([pose.t_capture_ns * 1e-9]))
    G, p = compute_forward_kinematics(PERSON.clip.skeleton, rotvec, root_m)
    return G[0], p[0]


def test_everything_stands_in_the_scene_as_posed(server: viser.ViserServer, stage: Stage) -> None:
    for pose in (POSES[3], POSES[20]):
        stage.show(pose)
        G, p = truth(pose)
        body = node(server, "body")
        np.testing.assert_allclose([b.position for b in body.bones], p, atol=3e-5)
        quaternions = np.array([b.wxyz for b in body.bones])
        np.testing.assert_allclose(matrix_from_quaternion(np.roll(quaternions, -1, axis=1)), G, atol=1e-4)
        np.testing.assert_allclose([node(server, f"joints/{name}").position for name in SKELETON.names], p, atol=3e-5)
        for marker in pose.markers:
            ball = node(server, f"markers/{marker.name}")
            np.testing.assert_allclose(ball.position, marker.measured or marker.xyz, atol=3e-5)
            assert ball.visible and tuple(ball.color) == choose_marker_color(marker)
            label_m = np.add(marker.measured or marker.xyz, (0.0, 0.04, 0.0))
            np.testing.assert_allclose(node(server, f"labels/{marker.name}").position, label_m, atol=1e-5)
        contacts = node(server, "contacts")
        assert contacts.batched_scales.tolist() == [1.0, 1.0, 0.0, 0.0]
        foot = p[SKELETON.names.index("leftFoot")]
        np.testing.assert_allclose(contacts.batched_positions[0], (foot[0], 0.004, foot[2]), atol=1e-3)


def test_bones_are_carried_by_the_joints(server: viser.ViserServer, stage: Stage) -> None:
    """Skin the spindles by hand: both ends of every bone lie where the pose has them."""
    mesh, bones = node(server, "bones"), bones_from_skeleton(SKELETON)
    rest, carried = np.asarray(mesh.vertices, float).reshape(len(bones.joint), -1, 3), []
    stage.show(POSES[20])
    G, p = truth(POSES[20])
    begin_m = np.array([bone.position for bone in mesh.bones])
    np.testing.assert_allclose(begin_m, p, atol=3e-5)
    rest_m = compute_rest_positions_m(SKELETON.parents, SKELETON.offsets_m)
    for joint, vertices in zip(bones.joint, rest, strict=True):
        carried.append(p[joint] + (vertices - rest_m[joint]) @ G[joint].T)
    tops = np.array([vertices[0] for vertices in carried])
    tips = p[bones.joint] + np.einsum("bij,bj->bi", G[bones.joint] @ bones.rotation, bones.length_m[:, None] * [0.0, 1.0, 0.0])
    np.testing.assert_allclose(tops, tips, atol=1e-5)
    tails = [p[j] + G[j] @ find_tip_m(SKELETON, j) for j in range(len(p)) if j not in SKELETON.parents]
    for place in [p[j] for j, parent in enumerate(SKELETON.parents) if parent >= 0] + tails:
        assert np.linalg.norm(tops - place, axis=1).min() < 1e-5
    np.testing.assert_allclose([vertices[-1] for vertices in carried], p[bones.joint], atol=1e-5)


def test_a_marker_that_a_pose_does_not_have_is_not_there(server: viser.ViserServer, stage: Stage) -> None:
    gone, *rest = POSES[0].markers
    stage.show(replace(POSES[0], markers=tuple(rest)))
    assert not node(server, f"markers/{gone.name}").visible and node(server, f"markers/{rest[0].name}").visible
    stage.show(POSES[0])
    assert node(server, f"markers/{gone.name}").visible


def test_what_is_off_costs_nothing_and_is_right_when_it_comes_on(
    server: viser.ViserServer, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.options = StageOptions(**{part.name: False for part in fields(StageOptions) if part.type is bool})
    stage.show(POSES[0])
    sent = Sent(server, monkeypatch)
    for pose in POSES:
        stage.show(pose)
    assert sent.messages == []
    stage.options = replace(stage.options, bones=True, markers=True)
    last = POSES[-1].markers[3]
    np.testing.assert_allclose(node(server, f"markers/{last.name}").position, last.measured or last.xyz, atol=3e-5)
    assert node(server, "bones").visible and not node(server, "body").visible


def test_a_frame_is_few_messages(server: viser.ViserServer, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.options = StageOptions()
    stage.show(POSES[0])
    sent = Sent(server, monkeypatch)
    for pose in POSES[1:]:
        stage.show(pose)
    per_frame = len(sent.messages) / len(POSES[1:])
    n_markers = len(SKELETON.markers)
    assert per_frame <= 2 * len(SKELETON.names) + n_markers + 4, "two a bone, one a marker, and few for all the rest"
    others = [m for m in sent.messages if not type(m).__name__.startswith(("SetBone", "SetPosition"))]
    assert len(others) / len(POSES[1:]) <= 4
    sent.messages.clear()
    stage.show(POSES[-1])
    assert sent.messages == []


def test_states_are_told_by_colour_and_lost_bodies_are_ghosts(server: viser.ViserServer, stage: Stage) -> None:
    body = node(server, "body")
    for state in (*TrackingState, TrackingState.TRACKING):
        stage.show(as_state(POSES[4], state))
        assert tuple(body.color) == choose_body_color(state, stage.options.color)
        assert (body.opacity is None) == (state is not TrackingState.LOST)
    assert len({choose_body_color(state, stage.options.color) for state in TrackingState}) == 3
    stage.options = replace(stage.options, color=(1, 2, 3), opacity=0.5)
    assert tuple(body.color) == (1, 2, 3) and body.opacity == 0.5


def test_markers_are_coloured_by_how_they_are_known() -> None:
    colors = {choose_marker_color(marker) for marker in POSES[0].markers}
    assert colors == {MEASURED, ONE_VIEW, INFERRED}
    for marker in POSES[0].markers:
        expected = MEASURED if marker.measured else ONE_VIEW if marker.cameras else INFERRED
        assert choose_marker_color(marker) == expected


def test_nothing_is_shown_without_a_pose_or_of_another_skeleton(server: viser.ViserServer, stage: Stage) -> None:
    root = server.scene.get_handle_by_name(f"{WORLD}/test")
    assert root is not None and not root.visible
    stage.show(replace(POSES[0], hash="another"))
    assert not root.visible
    stage.show(POSES[0])
    assert root.visible
    stage.show(None)
    assert not root.visible
    stage.options = replace(stage.options, offset_x_m=1.25)
    np.testing.assert_allclose(root.position, (1.25, 0.0, 0.0))


def test_removed_stages_leave_nothing(server: viser.ViserServer) -> None:
    before = set(server.scene._handle_from_node_name)
    stage = Stage(server.scene, f"{WORLD}/gone", SKELETON, EVERYTHING)
    stage.show(POSES[0])
    stage.remove()
    assert set(server.scene._handle_from_node_name) - before <= {WORLD}


def test_trails_hold_two_seconds_and_begin_anew_after_a_jump() -> None:
    trail = Trail()
    for n in range(300):
        trail.add(n * 10_000_000, np.array([[n * 0.01, 0.0, 0.0], [0.0, n * 0.01, 1.0]]))
    ends, fresh = trail.segments()
    per_point = LENGTH_NS // STEP_NS
    assert ends.shape == (2 * per_point, 2, 3)
    np.testing.assert_allclose(ends[1:per_point, 0], ends[: per_point - 1, 1])
    np.testing.assert_allclose(ends[per_point - 1, 1], [2.95, 0.0, 0.0])
    np.testing.assert_allclose(ends[-1, 1], [0.0, 2.95, 1.0])
    assert fresh[0, 0] == 0.0 and fresh[per_point - 1, 1] == 1.0 and (np.diff(fresh[:per_point, 0]) > 0).all()
    assert trail.add(1_000_000_000, np.zeros((2, 3)))  # scrubbed back
    assert len(trail.segments()[0]) == 0
    assert trail.add(60_000_000_000, np.zeros((2, 3)))  # a gap
    assert len(trail.segments()[0]) == 0


def test_a_bone_is_closed_and_looks_outwards() -> None:
    vertices_m, faces = build_spindle()
    corners = vertices_m[faces].astype(float)
    assert np.einsum("fi,fi->f", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])).sum() > 0
    assert vertices_m[:, 1].max() == 1.0 and vertices_m[:, 1].min() == 0.0


def test_a_ring_is_seen_from_above() -> None:
    vertices_m, faces = build_ring(0.1, 0.2)
    corners = vertices_m[faces].astype(float)
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert (normals[:, 1] > 0).all()
    assert 0.97 * np.pi * 0.03 < 0.5 * np.linalg.norm(normals, axis=1).sum() < np.pi * 0.03


def test_forces_are_arrows_from_the_centres_of_pressure(server: viser.ViserServer, monkeypatch: pytest.MonkeyPatch) -> None:
    left = FootForce("leftFoot", (50.0, 687.0, -20.0), (0.1, 0.02, -0.3), (0.0, 4.0, 0.0))
    right = FootForce("rightFoot", (0.0, 343.5, 0.0), (-0.1, 0.0, 0.2), (0.0, 0.0, 0.0))
    stage = Stage(server.scene, f"{WORLD}/test", replace(SKELETON, mass_kg=70.0), EVERYTHING, server.atomic)
    arrows = node(server, "forces/arrows")
    stage.show(POSES[0])
    assert not arrows.visible
    stage.show(replace(POSES[0], ground_forces=(left, right)))
    assert arrows.visible and len(set(map(tuple, arrows.colors.tolist()))) == 2
    lengths = np.linalg.norm(np.diff(arrows.points, axis=1)[:, 0], axis=1)
    np.testing.assert_allclose(lengths, [np.linalg.norm(left.force_n) / 686.7, 343.5 / 686.7], atol=1e-6)
    np.testing.assert_allclose(arrows.points[:, 0], [left.center_m, right.center_m], atol=1e-6)
    stage.show(replace(POSES[1], ground_forces=(left, right._replace(center_m=None))))
    assert arrows.points.shape == (1, 2, 3) and len(arrows.colors) == 1
    stage.options = replace(stage.options, forces=False)
    assert not node(server, "forces").visible
    sent = Sent(server, monkeypatch)
    stage.show(replace(POSES[1], ground_forces=(right,)))
    assert not any("Arrow" in type(m).__name__ or "forces" in getattr(m, "name", "") for m in sent.messages)
    stage.show(POSES[2])
    stage.options = replace(stage.options, forces=True)
    assert node(server, "forces").visible and not arrows.visible
    stage.remove()


def test_the_world_changes_between_dark_and_light(server: viser.ViserServer) -> None:
    world = WorldScenery(server)
    dark = server.scene.get_handle_by_name("/floor").plane_color
    world.set_dark(False)
    light = server.scene.get_handle_by_name("/floor").plane_color
    assert sum(dark) < 200 < 600 < sum(light)
    world.show_axes(True)
    world.show_floor(False)
    world.set_dark(True)
    nodes = [server.scene.get_handle_by_name(name) for name in ("/floor", f"{WORLD}/axes")]
    assert [node.visible for node in nodes] == [False, True]


def test_srgb_becomes_linear() -> None:
    np.testing.assert_array_equal(convert_to_linear_colors([0, 128, 255]), [0, 55, 255])
