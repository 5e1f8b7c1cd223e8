"""Poses and takes from a recording of the stream."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from calibration.subject.props import Prop
from calibration.subject.subject import Subject
from capture.sockets.wire import MalformedMessageError
from config.arrays import Floats
from config.errors import FileFormatError
from config.joints import JOINT_INDEX, JOINTS, N_JOINTS, PARENTS
from config.markers import MarkerSet
from config.settings import CAMERA_NAMES
from config.words import format_count
from database.contacts import CONTACT_JOINTS
from database.geometry.kinematics import charted_from_local
from database.geometry.rotations import matrix_from_quaternion
from database.geometry.skeleton import Skeleton
from reconstruct.pose import Pose
from stream.protocol.codec import decode_message
from stream.protocol.messages import PoseMessage, PropReading, SkeletonMessage
from stream.recording.recording import Recording
from stream.take.ground import GroundForces, forces_from_messages
from stream.take.resampling import resample_markers
from stream.take.take import MarkerTracks, Take, TakeInfo, build_take, find_increasing_times

SEEN_BY = frozenset(range(len(CAMERA_NAMES)))  # the places of the cameras in a rig
LEAF_SHARE = 0.5  # length of a leaf's own bone, relative to the bone before, if unknown
EVERY = 100  # poses between two reports of progress
Progress = Callable[[int, int | None], None]


@dataclass(frozen=True, slots=True)
class RecordedMotion:
    """One performer's poses of a recording.

    Attributes:
        subject: name and skeleton, no markers.
        poses: the poses as published, at their own times.
        marker_names: names of the markers of the poses.
        note: note for the user on poses that were left out of the recording, or empty.
        forces: forces of the ground, one row for each pose; None if the recording has none.
        props: what the hands hold.
    """

    subject: Subject
    poses: list[Pose]
    marker_names: tuple[str, ...]
    info: TakeInfo
    note: str
    forces: GroundForces | None = None
    props: tuple[Prop, ...] = ()

    def take(self, poses: Sequence[Pose] | None = None) -> Take:
        """Return the poses, or others instead (smoothed ones, of the same times), as a take."""
        chosen = self.poses if poses is None else poses
        take = replace(build_take(self.subject.skeleton, chosen, self.marker_names, self.info), props=self.props)
        if self.forces is None or len(chosen) != len(self.forces):
            return take
        return replace(take, forces=self.forces.rows(find_increasing_times([pose.t_capture_ns for pose in chosen])))


def read_longest_motion(recording: Recording, progress: Progress = lambda done, total: None) -> RecordedMotion:
    """Return the longest run of poses of one session and skeleton. Raises FileFormatError: no poses, or other joints.

    progress: called with the number of poses read, and of all poses.
    """
    read, n_damaged = _read_poses(recording, progress)
    runs = [list(run) for _, run in groupby(read, key=lambda pose: (pose.session, pose.hash))]
    if not runs:
        raise FileFormatError("the recording holds no poses that can be read; record while somebody is tracked")
    messages = max(runs, key=len)
    skeleton = _find_skeleton_message(recording, messages[0].hash)
    metadata = recording.metadata
    info = TakeInfo(
        subject=skeleton.subject,
        session=messages[0].session,
        recorded=metadata.get("when", ""),
        source=recording.file.name,
    )
    subject = subject_from_message(skeleton)
    damaged = f"{format_count(n_damaged, 'pose is', 'poses are')} damaged" if n_damaged else ""
    note = "; ".join(text for text in (_format_left_out(runs, messages), damaged) if text)
    forces = forces_from_messages(messages, skeleton.mass_kg)
    props = tuple(_read_prop(reading) for reading in skeleton.props)
    return RecordedMotion(subject, convert_poses(messages, skeleton), skeleton.markers, info, note, forces, props)


def _read_prop(reading: PropReading) -> Prop:
    """Return a prop of a skeleton message."""
    rotation = matrix_from_quaternion(np.array(reading.rotation_xyzw))
    offset_m = np.array(reading.offset_m)
    return Prop(reading.name, JOINT_INDEX[reading.joint], offset_m, rotation, reading.length_m, reading.behind_m)


def _read_poses(recording: Recording, progress: Progress) -> tuple[list[PoseMessage], int]:
    """Return the poses that can be read, and the number of those that cannot."""
    found, total = [], len(recording.poses)
    for n in range(total):
        with suppress(MalformedMessageError):
            found.append(recording.poses[n])
        if n % EVERY == 0 or n + 1 == total:
            progress(n + 1, total)
    return found, total - len(found)


def _format_left_out(runs: list[list[PoseMessage]], chosen: list[PoseMessage]) -> str:
    """Describe what is left out where session or skeleton change."""
    if len(runs) == 1:
        return ""
    total, changes = sum(len(run) for run in runs), "once" if len(runs) == 2 else f"{len(runs) - 1} times"
    return (
        f"the recording changes its session or skeleton {changes}; the longest stretch is taken: "
        f"{len(chosen)} of {total} poses, session {chosen[0].session}"
    )


def _find_skeleton_message(recording: Recording, wanted: str) -> SkeletonMessage:
    """Find the skeleton of a hash."""
    if recording.skeleton.hash == wanted:
        return recording.skeleton
    for _, payload in recording.payloads():
        if payload.startswith(b"skeleton "):
            message = decode_message(payload)
            if isinstance(message, SkeletonMessage) and message.hash == wanted:
                return message
    raise FileFormatError(f"the recording lacks the skeleton {wanted} of its poses; it was cut, take an earlier copy")


def subject_from_message(message: SkeletonMessage) -> Subject:
    """Return the performer of a skeleton message, without markers."""
    if set(message.names) != set(JOINTS):
        odd = sorted(set(message.names) ^ set(JOINTS))
        raise FileFormatError(f"the recording is of a body with other joints ({', '.join(odd[:4])}); expected {N_JOINTS} as here")
    order = _find_joint_order(message)
    offsets_m = np.ascontiguousarray(message.offsets_m[order], float)
    offsets_m[0] = 0.0
    tails_m = estimate_tails_m(offsets_m) if message.tails_m is None else np.ascontiguousarray(message.tails_m[order], float)
    none = np.zeros((0, 3))
    markers = MarkerSet((), np.zeros(0, np.int64), np.zeros(0, bool), none, none, np.zeros(0, bool))
    return Subject(message.subject, Skeleton(message.subject, offsets_m, tails_m), markers, none, np.zeros(0))


def _find_joint_order(message: SkeletonMessage) -> list[int]:
    """Return the index of each of our joints in the message."""
    return [message.names.index(joint) for joint in JOINTS]


def estimate_tails_m(offsets_m: Floats) -> Floats:
    """Return the ends of the bones if they are unknown: at the first child, for a leaf half of the bone before, (J, 3) [m]."""
    tails_m = LEAF_SHARE * offsets_m
    for joint in reversed(range(1, N_JOINTS)):
        tails_m[PARENTS[joint]] = offsets_m[joint]
    return np.ascontiguousarray(tails_m)


def convert_poses(messages: Sequence[PoseMessage], skeleton: SkeletonMessage) -> list[Pose]:
    """Return the poses of messages, as far as the messages contain them."""
    order = _find_joint_order(skeleton)
    if any(len(message.rotations_xyzw) != len(order) for message in messages):
        raise FileFormatError(
            f"the recording has poses that do not fit its skeleton of {len(order)} joints; take an earlier copy"
        )
    xyzw = np.array([message.rotations_xyzw[order] for message in messages], float)
    rotvec = charted_from_local(matrix_from_quaternion(xyzw / np.linalg.norm(xyzw, axis=2, keepdims=True)))
    points = _collect_points(messages, skeleton.markers)
    return [_build_pose(n, message, rotvec[n], order, points) for n, message in enumerate(messages)]


def _collect_points(messages: Sequence[PoseMessage], names: tuple[str, ...]) -> MarkerTracks:
    """Return measured markers at the times of the poses: predicted poses are ahead of their measurements."""
    column = {name: m for m, name in enumerate(names)}
    point_m, valid = np.zeros((len(messages), len(names), 3)), np.zeros((len(messages), len(names)), bool)
    cameras = np.zeros(valid.shape, np.uint8)
    for n, message in enumerate(messages):
        for reading in message.markers:
            m = column.get(reading.name)
            if m is None:
                continue
            cameras[n, m] = sum(1 << camera for camera in SEEN_BY.intersection(reading.cameras))
            if reading.measured is not None:
                point_m[n, m], valid[n, m] = reading.measured, True
    tracks = MarkerTracks(names, point_m, valid, cameras)
    if not any(message.predicted_ns for message in messages):
        return tracks
    kept = find_increasing_times([message.t_capture_ns for message in messages])
    first_ns = messages[0].t_capture_ns
    own_s = np.array([messages[n].t_capture_ns - first_ns for n in kept]) * 1e-9
    wanted_s = np.array([_find_pose_time_ns(message) - first_ns for message in messages]) * 1e-9
    return resample_markers(tracks.rows(kept), own_s, wanted_s)


def _find_pose_time_ns(message: PoseMessage) -> int:
    """Return the time of a pose."""
    return message.t_capture_ns + message.predicted_ns


def _build_pose(n: int, message: PoseMessage, rotvec: Floats, order: list[int], points: MarkerTracks) -> Pose:
    """Return one pose."""
    readings = {marker.name: marker for marker in message.markers}
    known = [readings.get(name) for name in points.names]
    assert points.cameras is not None
    return Pose(
        index=n,
        t_capture_ns=_find_pose_time_ns(message),
        skew_ns=message.skew_ns,
        state=message.state,
        rotvec=rotvec,
        root_m=np.array(message.root_m),
        joint_source=message.joint_source[order],
        confidence=message.confidence[order].astype(float),
        marker_m=np.array([(0.0,) * 3 if reading is None else reading.xyz for reading in known]).reshape(-1, 3),
        measured=points.valid[n],
        residual_m=np.array([0.0 if reading is None else reading.residual or 0.0 for reading in known]),
        seen=np.unpackbits(points.cameras[n][None], axis=0, bitorder="little").astype(bool),  # a row for every possible camera
        residual_px=np.zeros((len(SEEN_BY), len(known))),
        latency_ns=dict(message.latency_ns),
        contacts=np.array([joint in message.contacts for joint in CONTACT_JOINTS], bool),
        point_m=points.point_m[n],
        error_m=message.error_m[order].astype(float) if len(message.error_m) else np.zeros(0),
    )
