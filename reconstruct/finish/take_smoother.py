"""The smoother: a recorded take without jitter and without lag, as the frames after each are known too.

Every tracked frame is replaced by the value at its own time of a quadratic in time, fitted by weighted least squares to the
frames around it (Savitzky and Golay 1964; tricube weights as Cleveland 1979, for uneven frame times): for a joint in the tangent
space of its own rotation, log(R_n' R_k), for the root in metres. Frames are weighted by their confidence. Where a part of the
body stands still the window is wider. Short gaps, in which the performer was coasting or lost, are interpolated by a cubic and
marked as inferred. Nothing is smoothed over a cut: a jump, or too long a gap.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from calibration.subject.subject import Subject
from config.arrays import Bools, Floats
from config.joints import N_JOINTS
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.rotations import matrix_from_rotvec, rotvec_from_matrix
from reconstruct.finish.body import MOVES_WITH, PART, choose_nearer_rotvec, compute_marker_positions
from reconstruct.pose import JointSource, Pose, TrackingState

DEFAULT_S = 0.2
REST_FACTOR = 4.0  # of the window of a part at rest
REST_M_S = 0.25  # speed of a part's joints below which its window grows
SPEED_S = 0.3  # over which speeds are measured; this long before and after a motion the window stays narrow
TELEPORT_M, MAX_SPEED_M_S = 0.3, 4.0  # joints that moved farther than both allow were displaced: a cut
EXCURSION_S = 0.35  # for how long poses may be astray before they are back where they were
MAX_GAP_S = 1.0  # longer gaps are not interpolated
STEADY_S = 0.2  # how long into a gap the motion before and after it is assumed to last
GAP_CONFIDENCE = 0.3  # of interpolated poses, at most
# Of value, slope and curvature over half a window: with it two frames give a line, one a constant.
RIDGE = np.array([0.0, 1e-9, 1e-8])
COLUMN = np.append(PART, PART[0])  # part of every joint, and of the root's position


@dataclass(frozen=True, slots=True)
class MotionTrack:
    """Joints and root over time.

    Attributes:
        seconds: times, (N,), rising.
        matrix: rotations (N, J, 3, 3).
        root_m: positions of the root, (N, 3).
    """

    seconds: Floats
    matrix: Floats
    root_m: Floats


def smooth_poses(poses: Sequence[Pose], subject: Subject, window_s: float = DEFAULT_S) -> list[Pose]:
    """Return the poses smoothed, each at its own time; poses outside tracked segments or with a repeated timestamp stay.

    Args:
        poses: poses of a take, in order.
        subject: the performer.
        window_s: full width of the window of a body in motion; 0 or less returns the poses as they are.
    """
    result = list(poses)
    if window_s <= 0.0:
        return result
    for segment in find_segments(poses, subject):
        known = [n for n in segment if _is_measured(poses[n])]
        track, slope = _smooth_track(_build_track(poses, known), _compute_confidence(poses, known), subject, 0.5 * window_s)
        seconds = np.array([poses[n].t_capture_ns for n in segment]) * 1e-9
        measured = np.array([_is_measured(poses[n]) for n in segment])
        _write_poses(result, segment, measured, subject, _interpolate_track(track, slope, seconds))
    return result


def interpolate_poses(poses: Sequence[Pose], subject: Subject, first: int, last: int) -> list[Pose]:
    """Return the poses of which those from first to last are the cubic between the tracked ones before and after.

    Args:
        poses: poses of a take, in order.
        subject: the performer.
        first: number of the first pose that is replaced.
        last: number of the last.
    Raises: ValueError: no pose before or after is tracked.
    """
    known = [n for n in _find_measured_frames(poses) if not first <= n <= last]
    if not any(n < first for n in known) or not any(n > last for n in known):
        raise ValueError("no tracked pose on one side")
    track = _build_track(poses, known)
    _, slope = _smooth_track(track, _compute_confidence(poses, known), subject, 0.5 * DEFAULT_S)
    frames = [n for n in _find_rising_frames(poses) if first <= n <= last]
    result, seconds = list(poses), np.array([poses[n].t_capture_ns for n in frames]) * 1e-9
    _write_poses(result, frames, np.zeros(len(frames), bool), subject, _interpolate_track(track, slope, seconds))
    return result


def _is_measured(pose: Pose) -> bool:
    """Return whether a pose was measured."""
    return pose.state is TrackingState.TRACKING and bool(np.isfinite(pose.rotvec).all() and np.isfinite(pose.root_m).all())


def find_segments(poses: Sequence[Pose], subject: Subject, max_gap_s: float = MAX_GAP_S) -> list[list[int]]:
    """Return the indices of frames that belong together, each segment from a tracked frame to a tracked frame.

    Args:
        poses: poses of a take, in order.
        subject: the performer.
        max_gap_s: longest gap between tracked frames of one segment.
    """
    rising, known = _find_rising_frames(poses), _find_measured_frames(poses)
    if not known:
        return []
    seconds, joint_m = _compute_joint_positions(poses, known, subject)
    cut = (np.diff(seconds) > max_gap_s) | _find_jumps(seconds, joint_m)
    edges = [0, *(np.flatnonzero(cut) + 1), len(known)]
    ends = [(known[a], known[b - 1]) for a, b in pairwise(edges)]
    return [[n for n in rising if first <= n <= last] for first, last in ends]


def drop_excursions(poses: Sequence[Pose], subject: Subject) -> list[Pose]:
    """Return poses of which those between a jump and the way back are no longer tracked: labels were wrong there, for a moment.

    Of the tracked frames up to EXCURSION_S before a jump or after it the ones are taken away that leave no jump, the fewest over
    which the body moves least. A jump from which there is no way back so soon is a cut, and stays.
    """
    known = _find_measured_frames(poses)
    if len(known) < 2:
        return list(poses)
    seconds, joint_m = _compute_joint_positions(poses, known, subject)
    kept, frame_s = np.ones(len(known), bool), float(np.median(np.diff(seconds)))
    for k in np.flatnonzero(_find_jumps(seconds, joint_m)).tolist():
        if not kept[k : k + 2].all():
            continue
        before = np.flatnonzero(kept & (seconds <= seconds[k]) & (seconds > seconds[k] - EXCURSION_S))
        after = np.arange(k + 1, min(k + 1 + len(before), len(known)))  # by frames: the body may coast before it comes back
        a, b = (side.ravel() for side in np.meshgrid(before, after, indexing="ij"))
        gap_s, moved_m = seconds[b] - seconds[a], _compute_distances_m(joint_m[a], joint_m[b])
        joined = (gap_s < MAX_GAP_S) & (moved_m < TELEPORT_M + MAX_SPEED_M_S * gap_s)
        cost_s = np.where(joined, (b - a) * frame_s + moved_m / MAX_SPEED_M_S, np.inf)
        if joined.any():
            best = int(cost_s.argmin())
            kept[a[best] + 1 : b[best]] = False
    astray = {known[n] for n in np.flatnonzero(~kept)}
    return [replace(pose, state=TrackingState.COASTING) if n in astray else pose for n, pose in enumerate(poses)]


def _find_rising_frames(poses: Sequence[Pose]) -> list[int]:
    """Return the frames that are later than all before them."""
    latest = np.maximum.accumulate(np.array([pose.t_capture_ns for pose in poses], np.int64))
    return [n for n in range(len(poses)) if n == 0 or poses[n].t_capture_ns > latest[n - 1]]


def _find_measured_frames(poses: Sequence[Pose]) -> list[int]:
    """Return the frames of `_find_rising_frames` that were measured."""
    return [n for n in _find_rising_frames(poses) if _is_measured(poses[n])]


def _compute_joint_positions(poses: Sequence[Pose], frames: list[int], subject: Subject) -> tuple[Floats, Floats]:
    """Return times, (N,) [s], and joints, (N, J, 3) [m], of frames."""
    rotvec, root_m = np.stack([poses[n].rotvec for n in frames]), np.stack([poses[n].root_m for n in frames])
    seconds = np.array([poses[n].t_capture_ns - poses[frames[0]].t_capture_ns for n in frames]) * 1e-9
    return seconds, compute_forward_kinematics(subject.skeleton, rotvec, root_m)[1]


def _compute_distances_m(first_m: Floats, second_m: Floats) -> Floats:
    """Return how far joints, (N, J, 3) [m], are from others, root mean square, (N,) [m]."""
    return np.asarray(np.sqrt(((second_m - first_m) ** 2).sum(axis=2).mean(axis=1)))


def _find_jumps(seconds: Floats, joint_m: Floats) -> Bools:
    """Return after which poses the body jumped, (N - 1,); seconds (N,), joints (N, J, 3) [m]."""
    return _compute_distances_m(joint_m[:-1], joint_m[1:]) > TELEPORT_M + MAX_SPEED_M_S * np.diff(seconds)


def _build_track(poses: Sequence[Pose], frames: list[int]) -> MotionTrack:
    """Return the rotations and positions of frames."""
    seconds = np.array([poses[n].t_capture_ns for n in frames]) * 1e-9
    return MotionTrack(
        seconds, matrix_from_rotvec(np.stack([poses[n].rotvec for n in frames])), np.stack([poses[n].root_m for n in frames])
    )


def _compute_confidence(poses: Sequence[Pose], frames: list[int]) -> Floats:
    """Return the weights of each joint and the root's position, (N, J + 1)."""
    joint = np.clip(np.stack([poses[n].confidence for n in frames]), 0.05, 1.0)
    return np.column_stack([joint, joint[:, 0]])


def _smooth_track(track: MotionTrack, confidence: Floats, subject: Subject, half_s: float) -> tuple[MotionTrack, Floats]:
    """Fit a quadratic about every frame; return the values and the slopes (N, J + 1, 3) [rad/s about the joint's axes; m/s]."""
    half = _compute_half_windows_s(track, subject, half_s)[:, COLUMN]
    matrix, root_m = np.empty_like(track.matrix), np.empty_like(track.root_m)
    slope = np.empty((len(track.seconds), N_JOINTS + 1, 3))
    for n, now in enumerate(track.seconds):
        near = slice(*np.searchsorted(track.seconds, [now - half[n].max(), now + half[n].max()]))
        tau = track.seconds[near] - now
        rotation = rotvec_from_matrix(np.swapaxes(track.matrix[n], -1, -2) @ track.matrix[near])
        difference = np.concatenate([rotation, (track.root_m[near] - track.root_m[n])[:, None]], axis=1)
        value, slope[n] = fit_local_quadratic(tau, difference, confidence[near], half[n])
        matrix[n] = track.matrix[n] @ matrix_from_rotvec(value[:-1])
        root_m[n] = track.root_m[n] + value[-1]
    return MotionTrack(track.seconds, matrix, root_m), slope


def fit_local_quadratic(tau: Floats, values: Floats, confidence: Floats, half_s: Floats) -> tuple[Floats, Floats]:
    """Return value (C, 3) and slope (C, 3) [1/s] at 0 of quadratics fitted by weighted least squares.

    Args:
        tau: times (K,) [s].
        values: values of the C columns, (K, C, 3).
        confidence: confidence of each value, (K, C).
        half_s: half width of each column's tricube weights, (C,) [s].
    """
    u = tau[:, None] / half_s
    weight = confidence * np.clip(1.0 - np.abs(u) ** 3, 0.0, None) ** 3
    basis = u[:, :, None] ** np.arange(3)
    A = np.einsum("kc,kco,kcp->cop", weight, basis, basis) + np.diag(RIDGE)
    b = np.einsum("kc,kco,kcx->cox", weight, basis, values)
    solution = np.linalg.solve(A, b)
    return solution[:, 0], solution[:, 1] / half_s[:, None]


def _compute_half_windows_s(track: MotionTrack, subject: Subject, half_s: float) -> Floats:
    """Return half the window of every part at every frame, (N, 4) [s]: wide where it and what it carries rest for a while."""
    joint_m = compute_forward_kinematics(subject.skeleton, rotvec_from_matrix(track.matrix), track.root_m)[1]
    speed = np.empty((len(track.seconds), 4))
    windows = np.searchsorted(track.seconds, track.seconds[:, None] + (0.5 * SPEED_S + 1e-6) * np.array([-1.0, 1.0]))
    for n, (first, last) in enumerate(windows):
        tau = track.seconds[first:last] - track.seconds[first:last].mean()
        velocity = np.tensordot(tau, joint_m[first:last], 1) / max(float(tau @ tau), 1e-12)
        squares = np.bincount(PART, (velocity**2).sum(axis=1), 4) / np.bincount(PART, minlength=4)
        speed[n] = np.sqrt(np.maximum(squares, MOVES_WITH**2 * squares.max()))
    rest = 1.0 / (1.0 + (speed / REST_M_S) ** 4)
    lasting = np.stack([rest[first:last].min(axis=0) for first, last in windows])
    return np.asarray(half_s * (1.0 + (REST_FACTOR - 1.0) * lasting))


def _interpolate_track(track: MotionTrack, slope: Floats, seconds: Floats) -> MotionTrack:
    """Return the track at all of `seconds` (F,), which include its own and lie between its first and last.

    Between two frames it is the cubic with their slopes, in the tangent space of the first: rotations as log(R_a' R). In a long
    gap the slopes count for STEADY_S only: somebody lost for a second did not keep moving for a second as before.
    """
    after = np.clip(np.searchsorted(track.seconds, seconds), 1, max(len(track.seconds) - 1, 1))
    if len(track.seconds) < 2:
        return track
    before = after - 1
    gap_s = track.seconds[after] - track.seconds[before]
    u = ((seconds - track.seconds[before]) / gap_s)[:, None, None]
    rotation = rotvec_from_matrix(np.swapaxes(track.matrix[before], -1, -2) @ track.matrix[after])
    difference = np.concatenate([rotation, (track.root_m[after] - track.root_m[before])[:, None]], axis=1)
    steady_s = np.minimum(gap_s, STEADY_S)[:, None, None]
    # Hermite basis: value at the end, slope at the start, slope at the end; the value at the start is zero.
    moved = (3.0 - 2.0 * u) * u**2 * difference + steady_s * (
        u * (1.0 - u) ** 2 * slope[before] - u**2 * (1.0 - u) * slope[after]
    )
    own = np.isin(seconds, track.seconds)
    moved[own] = np.where(u[own] < 0.5, 0.0, difference[own])
    matrix = track.matrix[before] @ matrix_from_rotvec(moved[:, :-1])
    return MotionTrack(seconds, matrix, track.root_m[before] + moved[:, -1])


def _write_poses(result: list[Pose], frames: list[int], known: Bools, subject: Subject, track: MotionTrack) -> None:
    """Write the track's poses to the result, and mark interpolated ones."""
    rotvec = choose_nearer_rotvec(rotvec_from_matrix(track.matrix), np.stack([result[n].rotvec for n in frames]))
    G, joint_m = compute_forward_kinematics(subject.skeleton, rotvec, track.root_m)
    marker_m = compute_marker_positions(subject, G, joint_m)
    for k, n in enumerate(frames):
        pose = replace(result[n], rotvec=rotvec[k], root_m=track.root_m[k], marker_m=marker_m[k])
        result[n] = pose if known[k] else mark_interpolated(pose)


def mark_interpolated(pose: Pose) -> Pose:
    """Return a pose marked as interpolated."""
    source = np.full_like(pose.joint_source, JointSource.INFERRED)
    return replace(pose, state=TrackingState.COASTING, joint_source=source, confidence=np.full(len(source), GAP_CONFIDENCE))
