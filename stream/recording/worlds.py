"""The world of what was recorded: all poses of a file in one, Y up and the floor at 0, whatever was published when.

A run whose rig knew no floor moves its world once the performer's first seconds tell it, and any run when the performer is made
the origin again: the stream then says anew where the cameras are. Poses of before are moved into the last of these worlds.
Recordings of earlier versions may say that the floor is unknown: they are levelled by the up direction that they carry, or the
performer's trunk, and by the standing feet.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from calibration.world import compute_levelling_motion, compute_recentre_motion
from config.joints import JOINTS
from database.geometry.rigid import RigidMotion
from database.geometry.rotations import matrix_from_quaternion, matrix_from_rotvec, quaternion_from_matrix, rotvec_from_matrix
from reconstruct.pose import TrackingState
from stream.protocol.joints import compute_joints
from stream.protocol.messages import (
    CameraReading,
    FootForce,
    MarkerReading,
    PlacedProp,
    PoseMessage,
    RigMessage,
    SkeletonMessage,
)

LOOKED_S, STEP_S = 60.0, 0.045  # how much of a recording tells its level, and between the poses that are looked at
Point = tuple[float, float, float]


def find_world_motion(rig: RigMessage, last: RigMessage) -> RigidMotion | None:
    """Return the motion into the world of the last rig message from that of an earlier one; None for none."""
    if rig.session != last.session or [one.name for one in rig.cameras] != [one.name for one in last.cameras]:
        return None
    old, new = rig.cameras[0], last.cameras[0]
    if np.array_equal(old.rotation, new.rotation) and np.array_equal(old.translation, new.translation):
        return None
    A, B = matrix_from_rotvec(old.rotation), matrix_from_rotvec(new.rotation)
    return RigidMotion(np.ascontiguousarray(B.T @ A), B.T @ (old.translation - new.translation))


def compute_take_levelling(skeleton: SkeletonMessage, poses: Sequence[PoseMessage], up: Point | None) -> RigidMotion | None:
    """Return the motion that levels a recording, the first pose tracked over the origin and looking along +Z.

    None where nobody is tracked in it, or the body is another.

    Args:
        skeleton: skeleton of the body.
        poses: poses of the recording.
        up: the world's up direction as far as known, to some degrees.
    """
    chosen = _select_tracked_poses(poses)
    if not chosen or not set(JOINTS) <= set(skeleton.names):
        return None
    order = [skeleton.names.index(joint) for joint in JOINTS]
    seconds = 1e-9 * np.array([pose.t_capture_ns - chosen[0].t_capture_ns for pose in chosen])
    xyzw, root_m = np.array([pose.rotations_xyzw for pose in chosen]), np.array([pose.root_m for pose in chosen])
    joints_m = compute_joints(skeleton, xyzw, root_m).position_m[:, order]
    level, _ = compute_levelling_motion(joints_m, seconds, None if up is None else np.array(up))
    hips = matrix_from_quaternion(chosen[0].rotations_xyzw[order[0]].astype(np.float64))
    return compute_recentre_motion(level.rotation @ hips[:, 2], level.move(joints_m[0, 0])).after(level)


def _select_tracked_poses(poses: Sequence[PoseMessage]) -> list[PoseMessage]:
    """Return tracked poses of the first minute in which somebody is, some time apart."""
    chosen: list[PoseMessage] = []
    for pose in poses:
        if pose.state is not TrackingState.TRACKING:
            continue
        if chosen and pose.t_capture_ns - chosen[0].t_capture_ns > LOOKED_S * 1e9:
            break
        if not chosen or pose.t_capture_ns - chosen[-1].t_capture_ns >= STEP_S * 1e9:
            chosen.append(pose)
    return chosen


def move_pose(pose: PoseMessage, motion: RigidMotion) -> PoseMessage:
    """Return a pose in a world that is moved."""
    rotations = pose.rotations_xyzw.copy()
    root = matrix_from_quaternion(rotations[0].astype(np.float64))
    rotations[0] = quaternion_from_matrix(motion.rotation @ root)
    markers = tuple(_move_marker(marker, motion) for marker in pose.markers)
    forces = tuple(_move_force(force, motion) for force in pose.ground_forces)
    root_m = _move_point(pose.root_m, motion)
    props = tuple(_move_prop(prop, motion) for prop in pose.props)
    return replace(pose, root_m=root_m, rotations_xyzw=rotations, markers=markers, ground_forces=forces, props=props)


def _move_prop(prop: PlacedProp, motion: RigidMotion) -> PlacedProp:
    """Return a prop in a world that is moved."""
    a, b, c, d = quaternion_from_matrix(motion.rotation @ matrix_from_quaternion(np.array(prop.rotation_xyzw))).tolist()
    return PlacedProp(prop.name, _move_point(prop.xyz, motion), (a, b, c, d))


def move_rig_message(rig: RigMessage, motion: RigidMotion) -> RigMessage:
    """Return the cameras in a world that is moved, whose floor is known."""
    return replace(RigMessage(rig.session, tuple(_move_camera(camera, motion) for camera in rig.cameras)), schema=rig.schema)


def _move_camera(camera: CameraReading, motion: RigidMotion) -> CameraReading:
    """Return a camera in a world that is moved."""
    R = matrix_from_rotvec(camera.rotation) @ motion.rotation.T
    return replace(camera, rotation=rotvec_from_matrix(R), translation=camera.translation - R @ motion.translation_m)


def _move_point(point: Point, motion: RigidMotion) -> Point:
    """Return a moved point."""
    x, y, z = motion.move(np.array(point)).tolist()
    return x, y, z


def _move_marker(marker: MarkerReading, motion: RigidMotion) -> MarkerReading:
    """Return a marker in a world that is moved."""
    measured = None if marker.measured is None else _move_point(marker.measured, motion)
    return marker._replace(xyz=_move_point(marker.xyz, motion), measured=measured)


def _move_force(force: FootForce, motion: RigidMotion) -> FootForce:
    """Return a force in a world that is moved."""
    turn = RigidMotion(motion.rotation, np.zeros(3))
    center_m = None if force.center_m is None else _move_point(force.center_m, motion)
    return FootForce(force.joint, _move_point(force.force_n, turn), center_m, _move_point(force.moment_nm, turn))
