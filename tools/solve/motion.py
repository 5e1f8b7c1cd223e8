"""Poses of some frames of a marker file, by markers whose labels are known, and poses between them."""

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation, RotationSpline

from calibration.subject.poses import fit_poses_to_markers
from calibration.subject.subject import Subject
from config.arrays import Bools, Floats, Ints
from database.geometry.kinematics import compute_forward_kinematics
from reconstruct.finish.body import compute_marker_positions
from reconstruct.offline.motion import TakeMotion, build_take_motion

KEY_S = 0.1  # between frames that are posed alone; between them the solver moves the poses itself
WRONG_M = 0.10  # a marker farther from its place is left out of a frame: its label is wrong
LEAST_SHOWN = 0.3  # share of the markers that a frame must show to be posed alone


def place_markers(subject: Subject, rotvec: Floats, root_m: Floats) -> Floats:
    """Return the markers of poses in the world, (N, M, 3) [m]."""
    return compute_marker_positions(subject, *compute_forward_kinematics(subject.skeleton, rotvec, root_m))


def pose_key_frames(subject: Subject, seconds: Floats, point_m: Floats, valid: Bools, fps: float) -> TakeMotion:
    """Return a motion to begin with: poses of frames KEY_S apart, each by itself, and smooth motion between them.

    Args:
        subject: the performer.
        seconds: times of the frames, (N,) [s].
        point_m: the markers, (N, M, 3) [m].
        valid: (N, M).
        fps: frame rate of the database [Hz].
    """
    shown = (valid & subject.markers.torso).sum(axis=1) >= 3
    shown &= valid.sum(axis=1) >= LEAST_SHOWN * valid.shape[1]
    usable = np.flatnonzero(shown)
    every = max(round(KEY_S / float(np.median(np.diff(seconds)))), 1)
    wanted = np.unique([0, *range(0, len(seconds), every), len(seconds) - 1])
    keys = np.unique(usable[np.clip(np.searchsorted(usable, wanted), 0, len(usable) - 1)])
    found = fit_poses_to_markers(subject, point_m[keys], valid[keys])
    off_m = np.linalg.norm(place_markers(subject, found.rotvec, found.root_m) - point_m[keys], axis=2)
    right = valid[keys] & (off_m < WRONG_M)
    if not np.array_equal(right, valid[keys]):
        found = fit_poses_to_markers(subject, point_m[keys], right)
    return sample_motion(build_take_motion(seconds[keys], found.rotvec, found.root_m, fps), seconds)


def sample_motion(motion: TakeMotion, seconds: Floats) -> TakeMotion:
    """Return the poses at other times, by cubic splines; before the first and after the last as these.

    Args:
        motion: poses at some times.
        seconds: times wanted, (N,) [s].
    """
    if len(motion) == 1:
        one = np.zeros(len(seconds), np.int64)
        return TakeMotion(seconds, motion.joints[one], motion.rotation[one], motion.position_m[one], motion.fps)
    at = np.clip(seconds, motion.seconds[0], motion.seconds[-1])
    joints, position_m = (CubicSpline(motion.seconds, values)(at) for values in (motion.joints, motion.position_m))
    rotation = RotationSpline(motion.seconds, Rotation.from_matrix(motion.rotation))(at).as_matrix()
    return TakeMotion(seconds, joints, rotation, position_m, motion.fps)


def make_rows(n_frames: int, fps: float, most_hz: float) -> Ints:
    """Return the frames that are solved, at most so many a second, the last among them.

    Args:
        n_frames: of the file.
        fps: of the file [Hz].
        most_hz: largest rate [Hz].
    """
    return np.unique(np.append(np.arange(0, n_frames, max(round(fps / most_hz), 1)), n_frames - 1))
