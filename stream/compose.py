"""Messages from what the program holds: a subject becomes a skeleton message, a pose a pose message."""

import hashlib

import numpy as np

from calibration.camera import Rig
from calibration.subject import Subject
from config.joints import JOINTS, N_JOINTS, PARENTS, VRM_BONE
from database.contacts import CONTACT_JOINTS
from database.kinematics import local_rotations
from database.rotations import Floats, quaternion_from_matrix, rotvec_from_matrix
from reconstruct.pose import Pose
from stream.messages import CameraReading, MarkerReading, PoseMessage, RigMessage, SkeletonMessage


def skeleton_hash(names: tuple[str, ...], parents: tuple[int, ...], offsets_m: Floats) -> str:
    """Give 16 hexadecimal digits that change with the names, the parents or the offsets (as float32) of a skeleton."""
    digest = hashlib.sha256("\0".join(names).encode())
    digest.update(np.asarray(parents, "<i4").tobytes())
    digest.update(np.ascontiguousarray(offsets_m, "<f4").tobytes())
    return digest.hexdigest()[:16]


def skeleton_message(subject: Subject) -> SkeletonMessage:
    """Describe a subject's skeleton; its rest pose is the T-pose, where every joint frame is parallel to the world."""
    offsets_m = subject.skeleton.offsets_m
    return SkeletonMessage(
        hash=skeleton_hash(JOINTS, PARENTS, offsets_m),
        names=JOINTS,
        parents=PARENTS,
        offsets_m=offsets_m,
        rest_xyzw=np.tile([0.0, 0.0, 0.0, 1.0], (N_JOINTS, 1)),
        humanoid=dict(VRM_BONE),
        markers=subject.markers.names,
        subject=subject.name,
        tails_m=subject.skeleton.tails_m,
    )


def rig_message(rig: Rig, session: str, up: Floats | None = None) -> RigMessage:
    """Describe the cameras of a run; a rig of one camera has one.

    up: the world's up direction as a subject's T-pose showed it, (3,); it counts where the floor is unknown.
    """
    cameras = (rig.left,) if rig.is_lone else rig.cameras
    readings = tuple(
        CameraReading(c.name, c.size, c.matrix, c.distortions, rotvec_from_matrix(c.rotation), c.translation) for c in cameras
    )
    return RigMessage(session, readings, rig.floor_known, _up(rig, up))


def _up(rig: Rig, up: Floats | None) -> tuple[float, float, float] | None:
    """Give the world's up direction, of length 1."""
    if rig.floor_known:
        return (0.0, 1.0, 0.0)
    if up is None or not np.linalg.norm(up) > 0.0:
        return None
    x, y, z = (np.asarray(up, float) / np.linalg.norm(up)).tolist()
    return x, y, z


def pose_message(
    pose: Pose, skeleton: SkeletonMessage, session: str, seq: int, t_publish_ns: int, predicted_ns: int = 0
) -> PoseMessage:
    """Give the message of one pose; rotations are local, relative to the parent joint (the root's to the world).

    predicted_ns: by how much the pose is ahead of its capture.
    """
    root = [float(value) for value in pose.root_m]
    return PoseMessage(
        hash=skeleton.hash,
        session=session,
        seq=seq,
        t_capture_ns=pose.t_capture_ns,
        t_publish_ns=t_publish_ns,
        skew_ns=pose.skew_ns,
        state=str(pose.state),
        root_m=(root[0], root[1], root[2]),
        rotations_xyzw=quaternion_from_matrix(local_rotations(pose.rotvec)).astype(np.float32),
        joint_source=pose.joint_source,
        confidence=pose.confidence.astype(np.float32),
        contacts=tuple(name for name, touches in zip(CONTACT_JOINTS, pose.contacts, strict=True) if touches),
        markers=marker_readings(pose, skeleton.markers),
        latency_ns=dict(pose.latency_ns),
        predicted_ns=predicted_ns,
    )


def marker_readings(pose: Pose, names: tuple[str, ...]) -> tuple[MarkerReading, ...]:
    """Give every marker of a pose by name."""
    places, residuals = pose.marker_m.tolist(), pose.residual_m.tolist()
    points = pose.point_m.tolist()
    measured, seen = pose.measured.tolist(), pose.seen.tolist()
    return tuple(
        MarkerReading(
            name=name,
            xyz=(places[m][0], places[m][1], places[m][2]),
            residual=residuals[m] if measured[m] else None,
            cameras=tuple(camera for camera in (0, 1) if seen[camera][m]),
            measured=(points[m][0], points[m][1], points[m][2]) if points and measured[m] else None,
        )
        for m, name in enumerate(names)
    )
