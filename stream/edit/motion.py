"""The poses of a recording as arrays that can be changed, and back: smoothed, filled, relabelled, solved again.

A recording says where each pose has every marker, but not on which joint it sits. That is found: a marker sits where it keeps
its place in the joint's frame best.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calibration.subject.subject import Subject
from capture.sockets.wire import MalformedMessageError
from config.arrays import Floats, Ints
from config.errors import DuocapError
from config.joints import JOINTS
from config.markers import MarkerSet
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.rotations import matrix_from_rotvec, rotvec_from_matrix
from database.store import PoseDatabase
from reconstruct.finish.body import compute_marker_positions
from reconstruct.finish.take_smoother import interpolate_poses, smooth_poses
from reconstruct.offline.motion import build_take_motion
from reconstruct.offline.points import RIG, make_marker_frame
from reconstruct.offline.take import TakeSolver
from reconstruct.pose import Pose, TrackingState
from reconstruct.search.index import load_search_index
from stream.protocol.codec import encode_message
from stream.protocol.compose import compose_pose_message
from stream.protocol.messages import PoseMessage, SkeletonMessage
from stream.recording.recording import Recording
from stream.take.from_recording import convert_poses, subject_from_message

TRUNK = ("hips", "spine", "chest", "upperChest")
FAR_COST = 1e-5  # straying [m] that a metre from the joint counts as: above the rounding of float32, below any movement
MOST_LOOKED = 200  # poses by which a marker's joint is found
AROUND_S = 1.0  # poses beside a span that are looked at where it is smoothed or filled
MARGIN_S = 0.4  # poses on both sides of a span that are solved with it, so that it joins them
LEAST_SIGMA_M = 0.001  # of a measured marker, where the take shows less
LEAST_MARKERS = 3  # by which a pose is tracked


@dataclass(frozen=True, slots=True)
class EditedPoses:
    """The poses of one skeleton of a recording, in order of rising time.

    Attributes:
        skeleton: of the poses.
        subject: the performer with the markers that the poses have.
        numbers: which pose of the recording each is, (N,).
        messages: as published.
        poses: the same, as they are changed.
        seconds: times since the first pose of the recording, (N,) [s].
    """

    skeleton: SkeletonMessage
    subject: Subject
    numbers: Ints
    messages: tuple[PoseMessage, ...]
    poses: tuple[Pose, ...]
    seconds: Floats

    def rows(self, begin_s: float, end_s: float) -> Ints:
        """Return the poses between two times."""
        return np.flatnonzero((self.seconds >= begin_s - 1e-6) & (self.seconds <= end_s + 1e-6))

    def around(self, rows: Ints, margin_s: float) -> slice:
        """Return these poses and those so close before and after them."""
        begin, end = np.searchsorted(self.seconds, [self.seconds[rows[0]] - margin_s, self.seconds[rows[-1]] + margin_s])
        return slice(int(begin), int(min(end + 1, len(self.seconds))))

    def with_poses(self, first: int, poses: Sequence[Pose]) -> "EditedPoses":
        """Return them with others from a pose on."""
        return replace(self, poses=(*self.poses[:first], *poses, *self.poses[first + len(poses) :]))

    def encode(self, changed: "EditedPoses") -> dict[int, bytes]:
        """Return the payloads of poses that are other ones in `changed`, by their number in the recording."""
        return {
            int(self.numbers[n]): encode_message(changed._message(n))
            for n in range(len(self.poses))
            if changed.poses[n] is not self.poses[n]
        }

    def _message(self, n: int) -> PoseMessage:
        """Return a pose as a message that keeps what an edit does not change."""
        old = self.messages[n]
        new = compose_pose_message(self.poses[n], self.skeleton, old.session, old.seq, old.t_publish_ns)
        order = [JOINTS.index(name) for name in self.skeleton.names]
        return replace(
            new,
            rotations_xyzw=new.rotations_xyzw[order],
            joint_source=new.joint_source[order],
            confidence=new.confidence[order],
            error_m=old.error_m,
            t_capture_ns=old.t_capture_ns,
            predicted_ns=old.predicted_ns,
            ground_forces=old.ground_forces,
            views=old.views,
        )


def read_poses(recording: Recording, step: int = 1) -> EditedPoses:
    """Return the poses of a recording's skeleton; step: every so many. Raises FileFormatError: it has other joints."""
    skeleton, messages, numbers = recording.skeleton, list[PoseMessage](), list[int]()
    first_ns: int | None = None
    for n in range(0, len(recording.poses), step):
        with suppress(MalformedMessageError):
            message = recording.poses[n]
            first_ns = message.t_capture_ns if first_ns is None else first_ns
            rising = not messages or message.t_capture_ns > messages[-1].t_capture_ns
            if rising and message.hash == skeleton.hash:
                messages.append(message)
                numbers.append(n)
    subject = subject_from_message(skeleton)
    poses = convert_poses(messages, skeleton)
    seconds = np.array([message.t_capture_ns - (first_ns or 0) for message in messages]) * 1e-9
    subject = find_worn_markers(subject, poses, skeleton.markers)
    return EditedPoses(skeleton, subject, np.array(numbers, np.int64), tuple(messages), tuple(poses), seconds)


def find_worn_markers(subject: Subject, poses: Sequence[Pose], names: tuple[str, ...]) -> Subject:
    """Return a performer with markers: each on the joint in whose frame it keeps its place best over the poses.

    Args:
        subject: the skeleton.
        poses: poses that have the markers.
        names: names of the markers.
    """
    if not names or not poses:
        return subject
    known = [pose for pose in poses if pose.state is TrackingState.TRACKING] or list(poses)
    looked = known[:: max(len(known) // MOST_LOOKED, 1)]
    rotvec, root_m = np.stack([pose.rotvec for pose in looked]), np.stack([pose.root_m for pose in looked])
    marker_m = np.stack([pose.marker_m for pose in looked])
    G, p = compute_forward_kinematics(subject.skeleton, rotvec, root_m)
    local = np.einsum("njba,nmjb->nmja", G, marker_m[:, :, None] - p[:, None])
    middle = np.median(local, axis=0)
    strayed_m = np.median(np.linalg.norm(local - middle, axis=3), axis=0)
    joint = (strayed_m + FAR_COST * np.linalg.norm(middle, axis=2)).argmin(axis=1)  # of feet that both stand still, the nearer
    offset_m = middle[np.arange(len(names)), joint]
    trunk = np.array([JOINTS[j] in TRUNK for j in joint.tolist()])
    none, count = np.zeros((len(names), 3)), len(names)
    markers = MarkerSet(names, joint.astype(np.int64), trunk, offset_m.copy(), none, np.zeros(count, bool))
    return replace(subject, markers=markers, offset_m=offset_m.copy(), residual_mm=np.zeros(count))


def smooth_span(found: EditedPoses, rows: Ints, window_s: float) -> EditedPoses:
    """Return poses of which some are smoothed; smoothing sets in and ends over a window, but at the ends of the take.

    Args:
        found: the poses.
        rows: which are smoothed, consecutive.
        window_s: width of the window [s].
    """
    part = found.around(rows, AROUND_S)
    smoothed = smooth_poses(found.poses[part], found.subject, window_s)
    share = _compute_shares(found.seconds, rows, window_s)
    chosen = [smoothed[n - part.start] for n in rows.tolist()]
    before = [found.poses[n] for n in rows.tolist()]
    return found.with_poses(int(rows[0]), _blend_poses(found.subject, before, chosen, share))


def interpolate_span(found: EditedPoses, rows: Ints) -> EditedPoses:
    """Return poses of which some are the cubic between those before and after. Raises DuocapError: one side has none."""
    part = found.around(rows, AROUND_S)
    first, last = int(rows[0]) - part.start, int(rows[-1]) - part.start
    try:
        poses = interpolate_poses(found.poses[part], found.subject, first, last)
    except ValueError:
        raise DuocapError(
            "a gap is filled from tracked poses before and after it, and there are none on one side; choose other times, or trim"
        ) from None
    return found.with_poses(part.start, poses)


def exchange_markers(found: EditedPoses, rows: Ints, marker: str, other: str = "") -> EditedPoses:
    """Return poses of which some have what was measured of two markers exchanged, or of one dropped.

    Args:
        found: the poses.
        rows: which are changed.
        marker: name of the marker.
        other: name of the other; empty: the measurements are of no marker.
    Raises: DuocapError: there is no such marker.
    """
    names = found.skeleton.markers
    for name in (marker, *([other] if other else [])):
        if name not in names:
            raise DuocapError(f"{name}: no such marker; this take has {', '.join(names) or 'none'}")
    order = list(range(len(names)))
    a, b = names.index(marker), names.index(other or marker)
    order[a], order[b] = b, a
    poses = list(found.poses)
    for n in rows.tolist():
        pose = poses[n]
        measured, seen, point_m = pose.measured[order], pose.seen[:, order], pose.point_m[order]
        if not other:
            measured, seen = measured.copy(), seen.copy()
            measured[a], seen[:, a] = False, False
        poses[n] = _measure_residuals(replace(pose, measured=measured, seen=seen, point_m=point_m))
    return replace(found, poses=tuple(poses))


def solve_span(found: EditedPoses, rows: Ints, database: PoseDatabase, anew: bool) -> EditedPoses:
    """Return poses of which some are solved with past and future, by their markers and the nearest poses of a database.

    Args:
        found: the poses.
        rows: which are solved, consecutive.
        database: motion of people.
        anew: begin with the database's poses, not with those that are there.
    """
    part, subject = found.around(rows, MARGIN_S), found.subject
    index = load_search_index(subject, database)
    rotvec, root_m = np.stack([pose.rotvec for pose in found.poses]), np.stack([pose.root_m for pose in found.poses])
    motion = build_take_motion(found.seconds, rotvec, root_m, index.examples.fps)
    sigma_m = _estimate_sigma_m(found.poses)
    frames = [
        make_marker_frame(pose.point_m, pose.measured, n, float(found.seconds[n]), sigma_m) for n, pose in enumerate(found.poses)
    ]
    within = slice(int(rows[0]), int(rows[-1]) + 1)
    solved = TakeSolver(subject, index, RIG).solve_part(frames, motion, part, within if anew else None).motion
    rotvec, root_m = solved.rotvec, solved.position_m
    poses = [_place(subject, found.poses[part.start + k], rotvec[k], root_m[k]) for k in range(len(solved))]
    for n in rows.tolist():
        tracked = found.poses[n].measured.sum() >= LEAST_MARKERS
        state = TrackingState.TRACKING if tracked else TrackingState.COASTING
        poses[n - part.start] = replace(poses[n - part.start], state=state)
    return found.with_poses(part.start, poses)


def _estimate_sigma_m(poses: Sequence[Pose]) -> float:
    """Return the standard deviation of a measured marker along each axis, by its distance from solved poses [m]."""
    residuals = np.concatenate([pose.residual_m[pose.measured] for pose in poses] or [np.zeros(0)])
    return max(float(np.median(residuals)) / np.sqrt(3.0), LEAST_SIGMA_M) if len(residuals) else LEAST_SIGMA_M


def _compute_shares(seconds: Floats, rows: Ints, ramp_s: float) -> Floats:
    """Return how much of a change counts in each of some poses: it sets in over ramp_s, but at the ends of the take."""
    own = seconds[rows]
    begins = np.ones(len(rows)) if rows[0] == 0 else (own - own[0]) / ramp_s
    ends = np.ones(len(rows)) if rows[-1] == len(seconds) - 1 else (own[-1] - own) / ramp_s
    return np.clip(np.minimum(begins, ends), 0.0, 1.0)


def _blend_poses(subject: Subject, before: Sequence[Pose], after: Sequence[Pose], share: Floats) -> list[Pose]:
    """Return poses between two, along the shortest arc: `before` where the share is 0, `after` where it is 1."""
    R, S = (matrix_from_rotvec(np.stack([pose.rotvec for pose in poses])) for poses in (before, after))
    step = rotvec_from_matrix(np.swapaxes(R, -1, -2) @ S)
    blended = rotvec_from_matrix(R @ matrix_from_rotvec(share[:, None, None] * step))
    old_m, new_m = (np.stack([pose.root_m for pose in poses]) for poses in (before, after))
    root_m = old_m + share[:, None] * (new_m - old_m)
    return [_place(subject, pose, blended[k], root_m[k]) for k, pose in enumerate(after)]


def _place(subject: Subject, pose: Pose, rotvec: Floats, root_m: Floats) -> Pose:
    """Return a pose with other joints, and its markers where these have them."""
    G, p = compute_forward_kinematics(subject.skeleton, rotvec[None], root_m[None])
    return _measure_residuals(replace(pose, rotvec=rotvec, root_m=root_m, marker_m=compute_marker_positions(subject, G, p)[0]))


def _measure_residuals(pose: Pose) -> Pose:
    """Return a pose with the distances of its markers from where they were measured."""
    if not len(pose.point_m):
        return pose
    apart_m: NDArray[np.float64] = np.linalg.norm(pose.point_m - pose.marker_m, axis=1)
    return replace(pose, residual_m=np.where(pose.measured, apart_m, 0.0))
