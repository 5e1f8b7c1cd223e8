"""The smoother: a recorded take without jitter and without lag, since what comes after a frame is known as well.

Every tracked frame is replaced by the value at its own time of a quadratic in time, fitted by weighted least squares to the
frames around it (Savitzky and Golay 1964; tricube weights as Cleveland 1979, for uneven frame times): for a joint in the tangent
space of its own rotation, log(R_n' R_k), for the root in metres. Frames count by their confidence. Where a part of the body
stands still the window is wider. Gaps in which the performer was coasting or lost are bridged by a cubic where both sides are
known and belong together; what is bridged is marked as inferred. Nothing is carried over a cut: a jump, or too long a silence.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from calibration.subject import Subject
from config.joints import N_JOINTS
from database.kinematics import forward
from database.rotations import Floats, matrix_from_rotvec, rotvec_from_matrix
from reconstruct.output_filter import PART, TAKES_ALONG
from reconstruct.pose import JointSource, Pose, State

DEFAULT_S = 0.2
WIDER_AT_REST = 4.0
REST_M_S = 0.25  # the window of a part whose joints are slower than this grows
SPEED_S = 0.3  # over which speeds are measured, and how long before and after a motion the window stays narrow
TELEPORT_M, FASTEST_M_S = 0.3, 4.0  # joints that got farther than this in so much time were moved: a cut
MAX_BRIDGE_S = 1.0  # longer gaps are not made up
STEADY_S = 0.2  # for how long into a gap the motion before and after it is believed to last
BRIDGED = 0.3  # confidence of what is bridged, at most
# Of slope and curvature over half a window, against nothing: two frames give a line, one a constant.
RIDGE = np.array([0.0, 1e-9, 1e-8])
COLUMN = np.append(PART, PART[0])  # part of every joint, and of the root's place

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Track:
    """What moves. seconds: (N,), rising; matrix: rotations (N, J, 3, 3); root_m: (N, 3)."""

    seconds: Floats
    matrix: Floats
    root_m: Floats


def smoothed(poses: Sequence[Pose], subject: Subject, window_s: float = DEFAULT_S) -> list[Pose]:
    """Give the poses smoothed, each at its own time; what belongs to no tracked stretch, or repeats a time stamp, as it was.

    window_s: full width of the window of a body in motion; 0 or less gives the poses back.
    """
    result = list(poses)
    if window_s <= 0.0:
        return result
    for stretch in stretches(poses, subject):
        known = [n for n in stretch if usable(poses[n])]
        track, slope = _smoothed_track(_track(poses, known), _confidence(poses, known), subject, 0.5 * window_s)
        seconds = np.array([poses[n].t_capture_ns for n in stretch]) * 1e-9
        _write(result, stretch, np.array([usable(poses[n]) for n in stretch]), subject, bridged(track, slope, seconds))
    return result


def usable(pose: Pose) -> bool:
    """Tell whether a pose was measured."""
    return pose.state is State.TRACKING and bool(np.isfinite(pose.rotvec).all() and np.isfinite(pose.root_m).all())


def stretches(poses: Sequence[Pose], subject: Subject) -> list[list[int]]:
    """Give the indices of frames that belong together, each stretch from a tracked frame to a tracked frame."""
    latest = np.maximum.accumulate(np.array([pose.t_capture_ns for pose in poses], np.int64))
    rising = [n for n in range(len(poses)) if n == 0 or poses[n].t_capture_ns > latest[n - 1]]
    known = [n for n in rising if usable(poses[n])]
    if not known:
        return []
    rotvec, root_m = np.stack([poses[n].rotvec for n in known]), np.stack([poses[n].root_m for n in known])
    joint_m = forward(subject.skeleton, rotvec, root_m)[1]
    gap_s = np.diff([poses[n].t_capture_ns for n in known]) * 1e-9
    moved_m = np.sqrt((np.diff(joint_m, axis=0) ** 2).sum(axis=2).mean(axis=1))
    cut = (gap_s > MAX_BRIDGE_S) | (moved_m > TELEPORT_M + FASTEST_M_S * gap_s)
    edges = [0, *(np.flatnonzero(cut) + 1), len(known)]
    ends = [(known[a], known[b - 1]) for a, b in pairwise(edges)]
    return [[n for n in rising if first <= n <= last] for first, last in ends]


def _track(poses: Sequence[Pose], frames: list[int]) -> Track:
    """Collect the rotations and places of frames."""
    seconds = np.array([poses[n].t_capture_ns for n in frames]) * 1e-9
    return Track(
        seconds, matrix_from_rotvec(np.stack([poses[n].rotvec for n in frames])), np.stack([poses[n].root_m for n in frames])
    )


def _confidence(poses: Sequence[Pose], frames: list[int]) -> Floats:
    """Give how much each joint and the root's place count, (N, J + 1)."""
    joint = np.clip(np.stack([poses[n].confidence for n in frames]), 0.05, 1.0)
    return np.column_stack([joint, joint[:, 0]])


def _smoothed_track(track: Track, confidence: Floats, subject: Subject, half_s: float) -> tuple[Track, Floats]:
    """Fit a quadratic about every frame; give the values and the slopes (N, J + 1, 3) [rad/s about the joint's axes; m/s]."""
    half = _half_windows_s(track, subject, half_s)[:, COLUMN]
    matrix, root_m = np.empty_like(track.matrix), np.empty_like(track.root_m)
    slope = np.empty((len(track.seconds), N_JOINTS + 1, 3))
    for n, now in enumerate(track.seconds):
        near = slice(*np.searchsorted(track.seconds, [now - half[n].max(), now + half[n].max()]))
        tau = track.seconds[near] - now
        turn = rotvec_from_matrix(np.swapaxes(track.matrix[n], -1, -2) @ track.matrix[near])
        way = np.concatenate([turn, (track.root_m[near] - track.root_m[n])[:, None]], axis=1)
        value, slope[n] = local_quadratic(tau, way, confidence[near], half[n])
        matrix[n] = track.matrix[n] @ matrix_from_rotvec(value[:-1])
        root_m[n] = track.root_m[n] + value[-1]
    return Track(track.seconds, matrix, root_m), slope


def local_quadratic(tau: Floats, values: Floats, confidence: Floats, half_s: Floats) -> tuple[Floats, Floats]:
    """Give value (C, 3) and slope (C, 3) [1/s] at 0 of quadratics by weighted least squares.

    tau: times from now (K,) [s]; values: (K, C, 3); confidence: (K, C); half_s: where each column's tricube weights end, (C,).
    """
    u = tau[:, None] / half_s
    weight = confidence * np.clip(1.0 - np.abs(u) ** 3, 0.0, None) ** 3
    basis = u[:, :, None] ** np.arange(3)
    A = np.einsum("kc,kco,kcp->cop", weight, basis, basis) + np.diag(RIDGE)
    b = np.einsum("kc,kco,kcx->cox", weight, basis, values)
    solution = np.linalg.solve(A, b)
    return solution[:, 0], solution[:, 1] / half_s[:, None]


def _half_windows_s(track: Track, subject: Subject, half_s: float) -> Floats:
    """Give half the window of every part at every frame, (N, 4) [s]: wide where it and what it carries rest for a while."""
    joint_m = forward(subject.skeleton, rotvec_from_matrix(track.matrix), track.root_m)[1]
    speed = np.empty((len(track.seconds), 4))
    windows = np.searchsorted(track.seconds, track.seconds[:, None] + (0.5 * SPEED_S + 1e-6) * np.array([-1.0, 1.0]))
    for n, (first, last) in enumerate(windows):
        tau = track.seconds[first:last] - track.seconds[first:last].mean()
        velocity = np.tensordot(tau, joint_m[first:last], 1) / max(float(tau @ tau), 1e-12)
        squares = np.bincount(PART, (velocity**2).sum(axis=1), 4) / np.bincount(PART, minlength=4)
        speed[n] = np.sqrt(np.maximum(squares, TAKES_ALONG**2 * squares.max()))
    rest = 1.0 / (1.0 + (speed / REST_M_S) ** 4)
    lasting = np.stack([rest[first:last].min(axis=0) for first, last in windows])
    return np.asarray(half_s * (1.0 + (WIDER_AT_REST - 1.0) * lasting))


def bridged(track: Track, slope: Floats, seconds: Floats) -> Track:
    """Give the track at all of `seconds` (F,), which include its own and lie between its first and last.

    Between two frames runs the cubic with the slopes they have, as seen from the first: rotations as log(R_a' R). In a long gap
    the slopes are believed for STEADY_S only: somebody lost for a second did not go on for a second as before.
    """
    after = np.clip(np.searchsorted(track.seconds, seconds), 1, max(len(track.seconds) - 1, 1))
    if len(track.seconds) < 2:
        return track
    before = after - 1
    gap_s = track.seconds[after] - track.seconds[before]
    u = ((seconds - track.seconds[before]) / gap_s)[:, None, None]
    turn = rotvec_from_matrix(np.swapaxes(track.matrix[before], -1, -2) @ track.matrix[after])
    way = np.concatenate([turn, (track.root_m[after] - track.root_m[before])[:, None]], axis=1)
    believed_s = np.minimum(gap_s, STEADY_S)[:, None, None]
    # Basis of Hermite: value at the end, slope at the start, slope at the end; the value at the start is zero.
    moved = (3.0 - 2.0 * u) * u**2 * way + believed_s * (u * (1.0 - u) ** 2 * slope[before] - u**2 * (1.0 - u) * slope[after])
    own = np.isin(seconds, track.seconds)
    moved[own] = np.where(u[own] < 0.5, 0.0, way[own])
    matrix = track.matrix[before] @ matrix_from_rotvec(moved[:, :-1])
    return Track(seconds, matrix, track.root_m[before] + moved[:, -1])


def _write(result: list[Pose], frames: list[int], known: Bools, subject: Subject, track: Track) -> None:
    """Put the track's poses in the place of those they come from; mark what was bridged."""
    rotvec = nearer_twin(rotvec_from_matrix(track.matrix), np.stack([result[n].rotvec for n in frames]))
    G, joint_m = forward(subject.skeleton, rotvec, track.root_m)
    marker_m = joint_m[:, subject.joint] + np.einsum("nmij,mj->nmi", G[:, subject.joint], subject.offset_m)
    for k, n in enumerate(frames):
        pose = replace(result[n], rotvec=rotvec[k], root_m=track.root_m[k], marker_m=marker_m[k])
        result[n] = pose if known[k] else _inferred(pose)


def _inferred(pose: Pose) -> Pose:
    """Mark a pose that was made up between two measured ones."""
    source = np.full_like(pose.joint_source, JointSource.INFERRED)
    return replace(pose, state=State.COASTING, joint_source=source, confidence=np.full(len(source), BRIDGED))


def nearer_twin(rotvec: Floats, wanted: Floats) -> Floats:
    """Give of each rotation vector and its twin, one full turn shorter, the nearer to `wanted`, (..., 3) twice [rad]."""
    angle = np.linalg.norm(rotvec, axis=-1, keepdims=True)
    twin = rotvec * (1.0 - 2.0 * np.pi / np.where(angle < 1e-9, np.inf, angle))
    nearer = np.linalg.norm(twin - wanted, axis=-1) < np.linalg.norm(rotvec - wanted, axis=-1)
    return np.where(nearer[..., None], twin, rotvec)
