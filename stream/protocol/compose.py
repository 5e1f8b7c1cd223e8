"""Messages from the program's own data: a subject becomes a skeleton message, a rig a rig message, a pose a pose message."""

import hashlib
from collections.abc import Sequence
from itertools import compress

import numpy as np

from calibration.camera import Rig
from calibration.subject.props import Prop, find_props
from calibration.subject.subject import Subject
from config.arrays import Floats, Ints
from config.joints import JOINTS, N_JOINTS, PARENTS, VRM_BONE
from config.landmarks import ABSENT, Exchange
from database.contacts import CONTACT_JOINTS
from database.geometry.kinematics import local_from_charted
from database.geometry.rotations import matrix_from_quaternion, quaternion_from_matrix, rotvec_from_matrix
from database.geometry.skeleton import Skeleton
from reconstruct.pose import Pose
from stream.protocol.messages import (
    CameraReading,
    MarkerReading,
    PlacedProp,
    PoseMessage,
    PropReading,
    RigMessage,
    SkeletonMessage,
)


def compute_skeleton_hash(names: tuple[str, ...], parents: tuple[int, ...], offsets_m: Floats) -> str:
    """Return 16 hexadecimal digits of SHA-256 over the names, parents and offsets (as float32) of a skeleton.

    Args:
        names: names of the joints.
        parents: index of the parent of each joint; -1 for the root.
        offsets_m: offsets of the joints from their parents, (J, 3) [m].
    """
    digest = hashlib.sha256("\0".join(names).encode())
    digest.update(np.asarray(parents, "<i4").tobytes())
    digest.update(np.ascontiguousarray(offsets_m, "<f4").tobytes())
    return digest.hexdigest()[:16]


def compose_skeleton_message(subject: Subject) -> SkeletonMessage:
    """Return the message of a subject's skeleton; its rest pose is the T-pose, with every joint frame parallel to the world."""
    return compose_bare_skeleton_message(subject.skeleton, subject.name, subject.markers.names, find_props(subject))


def compose_bare_skeleton_message(
    skeleton: Skeleton, name: str, markers: tuple[str, ...] = (), props: Sequence[Prop] = ()
) -> SkeletonMessage:
    """Return the message of a skeleton as `compose_skeleton_message` does, of a body that need not wear markers.

    Args:
        skeleton: skeleton of the body.
        name: name of the subject.
        markers: names of its markers; empty: none.
        props: what the hands hold.
    """
    return SkeletonMessage(
        hash=compute_skeleton_hash(JOINTS, PARENTS, skeleton.offsets_m),
        names=JOINTS,
        parents=PARENTS,
        offsets_m=skeleton.offsets_m,
        rest_xyzw=np.tile([0.0, 0.0, 0.0, 1.0], (N_JOINTS, 1)),
        humanoid=dict(VRM_BONE),
        markers=markers,
        subject=name,
        tails_m=skeleton.tails_m,
        props=tuple(_compose_prop(prop) for prop in props),
    )


def _compose_prop(prop: Prop) -> PropReading:
    """Return the reading of a prop."""
    x, y, z = prop.grip_m.tolist()
    a, b, c, d = quaternion_from_matrix(prop.rotation).tolist()
    return PropReading(prop.name, JOINTS[prop.joint], (x, y, z), (a, b, c, d), prop.length_m, prop.behind_m)


def place_props(skeleton: SkeletonMessage, local: Floats, root_m: Floats) -> tuple[PlacedProp, ...]:
    """Return the props of a pose in the world.

    Args:
        skeleton: with the props.
        local: rotations of the joints, relative to their parents, (J, 3, 3).
        root_m: place of the root, (3,) [m].
    """
    found = []
    for prop in skeleton.props:
        at, turn = np.array(prop.offset_m), matrix_from_quaternion(np.array(prop.rotation_xyzw))
        j = skeleton.names.index(prop.joint)
        while j >= 0:
            at, turn = local[j] @ at, local[j] @ turn
            at = at + (skeleton.offsets_m[j] if skeleton.parents[j] >= 0 else root_m)
            j = skeleton.parents[j]
        x, y, z = at.tolist()
        a, b, c, d = quaternion_from_matrix(turn).tolist()
        found.append(PlacedProp(prop.name, (x, y, z), (a, b, c, d)))
    return tuple(found)


def compose_rig_message(rig: Rig, session: str) -> RigMessage:
    """Return the message of a run's cameras, in the world."""
    cameras = rig.cameras
    readings = tuple(
        CameraReading(c.name, c.size, c.matrix, c.distortions, rotvec_from_matrix(c.rotation), c.translation, c.fisheye)
        for c in cameras
    )
    return RigMessage(session, readings)


def compose_pose_message(
    pose: Pose, skeleton: SkeletonMessage, session: str, seq: int, t_publish_ns: int, predicted_ns: int = 0
) -> PoseMessage:
    """Return the message of one pose; rotations are local, relative to the parent joint (the root's to the world).

    Args:
        pose: a pose of the pipeline.
        skeleton: skeleton of the body.
        session: name of the session.
        seq: number of the message, from 0 on.
        t_publish_ns: time of publication [ns].
        predicted_ns: time by which the pose is ahead of its capture.
    """
    root, local = [float(value) for value in pose.root_m], local_from_charted(pose.rotvec)
    return PoseMessage(
        hash=skeleton.hash,
        session=session,
        seq=seq,
        t_capture_ns=pose.t_capture_ns,
        t_publish_ns=t_publish_ns,
        skew_ns=pose.skew_ns,
        state=pose.state,
        root_m=(root[0], root[1], root[2]),
        rotations_xyzw=quaternion_from_matrix(local).astype(np.float32),
        joint_source=pose.joint_source,
        confidence=pose.confidence.astype(np.float32),
        contacts=tuple(name for name, touches in zip(CONTACT_JOINTS, pose.contacts, strict=True) if touches),
        markers=_collect_marker_readings(pose, skeleton.markers),
        latency_ns=dict(pose.latency_ns),
        predicted_ns=predicted_ns,
        error_m=pose.error_m.astype(np.float32),
        views=pose.n_views,
        landmarks=name_exchanges(pose.exchanged),
        props=place_props(skeleton, local, pose.root_m),
    )


def name_exchanges(exchanged: Ints) -> tuple[str | None, ...]:
    """Return in words what views have exchanged, (V,), `Exchange`; None for ABSENT."""
    return tuple(None if state == ABSENT else Exchange(state).name.lower() for state in exchanged.tolist())


def _collect_marker_readings(pose: Pose, names: tuple[str, ...]) -> tuple[MarkerReading, ...]:
    """Return every marker of a pose by name."""
    positions, points, residuals = pose.marker_m.tolist(), pose.point_m.tolist(), pose.residual_m.tolist()
    measured, seen, cameras = pose.measured.tolist(), pose.seen.T.tolist(), range(len(pose.seen))
    return tuple(
        MarkerReading(
            name,
            tuple(positions[m]),
            residuals[m] if measured[m] else None,
            tuple(compress(cameras, seen[m])),
            tuple(points[m]) if points and measured[m] else None,
        )
        for m, name in enumerate(names)
    )
