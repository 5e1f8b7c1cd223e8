"""The pose of one frame, as it leaves reconstruction: what it is made of, joint by joint and marker by marker."""

import math
from dataclasses import dataclass, field, replace
from enum import IntEnum, StrEnum
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from calibration.camera import Rig
from calibration.subject.subject import Subject
from calibration.triangulate import pack_rig, project_point
from capture.packets import MarkerFrame
from config.arrays import Bools, Floats, Ints, make_read_only
from config.jit import kernel
from config.joints import N_JOINTS
from database.contacts import CONTACT_JOINTS
from database.geometry.rigid import RigidMotion
from database.geometry.rotations import rotvec_from_matrix
from database.geometry.skeleton import PARENT_ARRAY
from reconstruct.body_state import BodyState
from reconstruct.doubt import NO_DOUBT, Doubt

DOUBTED_M = 0.2  # expected error of a joint from which its confidence is none
UNKNOWN = 0.5  # confidence where nobody knows the error
MEASURED_ERROR_M = 0.045  # a joint that may be farther off is not measured: of the others 1 to 2 % are 0.1 m off, by wrong labels


class TrackingState(StrEnum):
    """How far a pose can be trusted: fitted to markers, carried by the model for a while, or lost."""

    TRACKING = "tracking"
    COASTING = "coasting"
    LOST = "lost"


class JointSource(IntEnum):
    """Where a joint comes from: markers fix it, the examples place it for want of them, an earlier pose had it there."""

    MEASURED = 0
    INFERRED = 1
    HELD = 2


MEASURED, INFERRED, HELD = (source.value for source in JointSource)  # plain numbers: numpy takes 10 us to read an enum
SWAP_M, SWAP_GAIN_M = 0.35, 0.05  # farthest that markers are suspected to be swapped, and by how much swapping must gain


@dataclass(frozen=True, slots=True)
class Pose:
    """One full-body pose with its provenance.

    Attributes:
        rotvec: charted rotation vectors, (J, 3) [rad], row 0 the root's orientation in the world.
        root_m: position of the root, (3,) [m].
        joint_source: JointSource, (J,) uint8.
        confidence: 1 to 0 as error_m grows, (J,).
        marker_m: every marker as the pose has it, (M, 3) [m] world.
        measured: two cameras at least saw it and the solver used it, (M,).
        residual_m: distance to the measured marker, (M,), zero elsewhere.
        seen: used from each camera, (V, M).
        residual_px: reprojection error there, (V, M).
        latency_ns: latency by stage [ns].
        contacts: contact of each of `database.contacts.CONTACT_JOINTS` with the ground, (4,).
        point_m: triangulated positions of `measured` markers, (M, 3) [m] world, or (0, 3) if they were not kept.
        error_m: expected error of each joint, one standard deviation, (J,) [m] (68 % are nearer, 95 % within twice as much), or
            (0,) if unknown.
        doubts: reasons to doubt the labels or the pose.
        n_views: number of cameras with a view of the moment.
        exchanged: what the landmarks of each view have left and right exchanged, (V,), `config.landmarks.Exchange`, ABSENT
            where it has none; (0,) if nobody is followed by landmarks.
    """

    index: int
    t_capture_ns: int
    skew_ns: int
    state: TrackingState
    rotvec: Floats
    root_m: Floats
    joint_source: NDArray[np.uint8]
    confidence: Floats
    marker_m: Floats
    measured: Bools
    residual_m: Floats
    seen: Bools
    residual_px: Floats
    latency_ns: dict[str, int]
    contacts: Bools = field(default_factory=lambda: np.zeros(len(CONTACT_JOINTS), bool))
    point_m: Floats = field(default_factory=lambda: np.zeros((0, 3)))
    error_m: Floats = field(default_factory=lambda: np.zeros(0))
    doubts: frozenset[Doubt] = NO_DOUBT
    n_views: int = 0
    exchanged: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    def moved(self, motion: RigidMotion) -> "Pose":
        """Return the pose in a world that is moved."""
        rotvec = self.rotvec.copy()
        rotvec[0] = motion.turn(rotvec[0])
        point_m = np.where(self.measured[:, None], motion.move(self.point_m), 0.0) if len(self.point_m) else self.point_m
        root_m, marker_m = motion.move(self.root_m), motion.move(self.marker_m)
        return replace(self, rotvec=rotvec, root_m=root_m, marker_m=marker_m, point_m=point_m)


def build_pose_packet(
    frame: MarkerFrame,
    state: TrackingState,
    body: BodyState,
    marker_m: Floats,
    rig: Rig,
    subject: Subject,
    error_m: Floats | None = None,
) -> Pose:
    """Build the packet of a frame.

    Args:
        frame: the markers that were used.
        state: tracking state of the performer.
        body: the pose.
        marker_m: positions of the markers, (M, 3) [m] world.
        rig: the cameras, in the world.
        subject: the performer.
        error_m: expected of the joints, (J,) [m], or None.
    """
    rotvec = body.joints.copy()
    rotvec[0] = rotvec_from_matrix(body.rotation)
    residual_m, residual_px = np.zeros(len(marker_m)), np.zeros(frame.seen.shape)
    _write_point_misses(frame.point_m, frame.valid, make_read_only(marker_m), residual_m)
    _write_view_misses(pack_rig(rig), frame.image_px, frame.seen, make_read_only(marker_m), residual_px)
    return Pose(
        frame.index,
        frame.t_capture_ns,
        frame.skew_ns,
        state,
        rotvec,
        body.position_m,
        find_joint_sources(frame, state, subject, error_m),
        compute_confidence(error_m),
        marker_m,
        frame.valid,
        residual_m,
        frame.seen,
        residual_px,
        {},
        point_m=frame.point_m,
        error_m=np.zeros(0) if error_m is None else error_m,
    )


def find_joint_sources(
    frame: MarkerFrame, state: TrackingState, subject: Subject, error_m: Floats | None = None
) -> NDArray[np.uint8]:
    """Return where each joint comes from, JointSource (J,).

    Measured are those that a marker moves with and whose expected error is small: a marker of the hand alone leaves the elbow to
    the examples, and far from the cameras a marker tells little of depth. Of a pose in doubt none is; without markers all are
    held.

    Args:
        frame: the markers that were used.
        state: tracking state of the pose.
        subject: subject of the pose.
        error_m: expected errors of the joints, (J,) [m], or None.
    """
    if state is TrackingState.LOST or not frame.shown.any():
        return np.full(N_JOINTS, HELD, np.uint8)
    source = np.full(N_JOINTS, INFERRED, np.uint8)
    if state is TrackingState.TRACKING:
        near = np.ones(N_JOINTS, bool) if error_m is None else error_m <= MEASURED_ERROR_M
        source[find_measured_joints(frame.shown, subject) & near] = MEASURED
    return source


def compute_confidence(error_m: Floats | None) -> Floats:
    """Return how sure joints are, (J,): from 1 where no error is expected, (J,) [m], to 0 from DOUBTED_M on."""
    if error_m is None:
        return np.full(N_JOINTS, UNKNOWN)
    return np.asarray(np.maximum(1.0 - error_m / DOUBTED_M, 0.0))


def find_measured_joints(seen: Bools, subject: Subject) -> Bools:
    """Return which joints carry one of the markers seen, (M,), or lead to one that does, (J,)."""
    return np.asarray(find_joints_by_marker(subject)[seen].any(axis=0))


def find_joints_by_marker(subject: Subject) -> Bools:
    """Return which joints each marker measures: its own and the parent of that, (M, J)."""
    return _compute_joints_by_marker(subject.joint.tobytes())


@lru_cache(maxsize=16)
def _compute_joints_by_marker(joints: bytes) -> Bools:
    """Return which joints markers measure that are on some joints, int64."""
    joint = np.frombuffer(joints, np.int64)
    result, rows = np.zeros((len(joint), N_JOINTS), bool), np.arange(len(joint))
    parent = PARENT_ARRAY[joint]
    result[rows, np.where(parent < 0, joint, parent)] = True
    result[rows, joint] = True
    return make_read_only(result)


def find_swapped_markers(pose: Pose, frame: MarkerFrame) -> list[tuple[int, int]]:
    """Return pairs of near markers whose points fit a finished pose much better exchanged.

    A pair is suspected when exchanging the two labels lowers the root mean square residual by half and by at least 5 cm.
    """
    valid = np.flatnonzero(pose.measured)
    found = []
    for n, a in enumerate(valid):
        for b in valid[n + 1 :]:
            if np.linalg.norm(frame.point_m[a] - frame.point_m[b]) > SWAP_M:
                continue
            kept = _compute_rms_m(pose.marker_m[[a, b]], frame.point_m[[a, b]])
            swapped = _compute_rms_m(pose.marker_m[[a, b]], frame.point_m[[b, a]])
            if swapped < 0.5 * kept and kept - swapped > SWAP_GAIN_M:
                found.append((int(a), int(b)))
    return found


def _compute_rms_m(first: Floats, second: Floats) -> float:
    """Return the root mean square distance of corresponding points."""
    return float(np.sqrt(np.mean(np.sum((first - second) ** 2, axis=1))))


@kernel
def _write_point_misses(point_m: Floats, valid: Bools, marker_m: Floats, residual_m: Floats) -> None:
    """Write the distances of markers from their points, (M,), where these are valid."""
    for m in range(valid.shape[0]):
        if valid[m]:
            x, y, z = marker_m[m, 0] - point_m[m, 0], marker_m[m, 1] - point_m[m, 1], marker_m[m, 2] - point_m[m, 2]
            residual_m[m] = math.sqrt(x * x + y * y + z * z)


@kernel
def _write_view_misses(cameras: Floats, image_px: Floats, seen: Bools, marker_m: Floats, residual_px: Floats) -> None:
    """Write reprojection errors, (V, M), where a marker is seen and not behind the camera."""
    uv, J = np.empty(2), np.empty((2, 3))
    for c in range(len(cameras)):
        for m in range(marker_m.shape[0]):
            if seen[c, m] and project_point(cameras[c], marker_m[m], uv, J):
                u, v = uv[0] - image_px[c, m, 0], uv[1] - image_px[c, m, 1]
                residual_px[c, m] = math.sqrt(u * u + v * v)
