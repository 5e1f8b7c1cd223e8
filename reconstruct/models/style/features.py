"""Features of a pose, y(q), that styles are learned from (Grochow et al. 2004, section 4).

Static features are the joints' rotation vectors and the vertical orientation, the world's up direction in the root's frame (our
R'e_up is the paper's third row of R). Each has a velocity and an acceleration, differences over STEP_S:

    y = (s_t, s_t - s_{t-1}, s_t - 2 s_{t-1} + s_{t-2})

A rotation has many rotation vectors, r and r + 2 pi k r/|r|. Along a motion the one nearest to that of the previous step is
used, so that a joint that turns past pi causes no jump.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from config.arrays import Floats, Ints
from config.joints import JOINTS, N_JOINTS
from database.clips import Clip
from database.files.resample import resample_clip
from database.geometry.rotations import matrix_from_rotvec

RATE_HZ = 30.0  # steps of velocity and acceleration, whatever the rate of the motion
STEP_S = 1.0 / RATE_HZ
N_ANGLES = 3 * (N_JOINTS - 1)
N_STATIC = N_ANGLES + 3
N_FEATURES = 3 * N_STATIC
UP = (0.0, 1.0, 0.0)
FULL_TURN_RAD = 2.0 * np.pi
NEAR_PI_RAD = 2.0  # joints that never turn this far have no other rotation vector near within a step


@dataclass(frozen=True, slots=True)
class PoseTimes:
    """Times of N poses; both arrays are empty if these are unknown.

    Attributes:
        stretch: number of the continuous stretch of motion that each pose belongs to, (N,).
        seconds: time within that stretch, (N,) [s].
    """

    stretch: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    seconds: Floats = field(default_factory=lambda: np.zeros(0))

    def take(self, rows: Ints) -> "PoseTimes":
        """Return the times of some poses."""
        return PoseTimes(self.stretch[rows], self.seconds[rows]) if len(self.stretch) else self


@dataclass(frozen=True, slots=True)
class TrainingPoses:
    """Features that a style is learned from, (N, F), the poses' rotation vectors, (N, J, 3) [rad], root included, and times."""

    features: Floats
    rotvec: Floats
    times: PoseTimes = field(default_factory=PoseTimes)

    def __len__(self) -> int:
        return len(self.features)


def list_feature_names() -> list[str]:
    """Return the names of the F features: `leftFoot.x`, `up.y`, then the same with `velocity` and `acceleration`."""
    static = [f"{joint}.{axis}" for joint in JOINTS[1:] for axis in "xyz"] + [f"up.{axis}" for axis in "xyz"]
    return static + [f"{name} velocity" for name in static] + [f"{name} acceleration" for name in static]


def compute_static_features(rotvec: ArrayLike) -> Floats:
    """Return s of poses, (..., J, 3) [rad] with row 0 the root's orientation -> (..., S)."""
    r = np.asarray(rotvec, np.float64)
    vertical = matrix_from_rotvec(r[..., 0, :])[..., 1, :]
    return np.concatenate([r[..., 1:, :].reshape(*r.shape[:-2], N_ANGLES), vertical], axis=-1)


def append_differences(now: Floats, before: Floats, earlier: Floats) -> Floats:
    """Return y from static features at three times STEP_S apart, (..., F).

    Args:
        now: (..., S).
        before: STEP_S earlier, (..., S).
        earlier: twice STEP_S earlier, (..., S).
    """
    return np.concatenate([now, now - before, now - 2.0 * before + earlier], axis=-1)


def choose_nearest_rotvec(rotvec: ArrayLike, to: ArrayLike) -> Floats:
    """Return the rotation vectors of the same rotations that are nearest to others, (..., 3) each [rad].

    Of r (1 + 2 pi k / |r|), at most a full turn long, the one whose length along r is nearest to the other's.
    """
    r = np.asarray(rotvec, np.float64)
    angle = np.linalg.norm(r, axis=-1, keepdims=True)
    axis = r / np.where(angle < 1e-9, 1.0, angle)
    turns = np.round((np.sum(axis * np.asarray(to, np.float64), axis=-1, keepdims=True) - angle) / FULL_TURN_RAD)
    least, most = np.ceil((-FULL_TURN_RAD - angle) / FULL_TURN_RAD), np.floor((FULL_TURN_RAD - angle) / FULL_TURN_RAD)
    return np.asarray(r + FULL_TURN_RAD * np.clip(turns, least, most) * axis)


def choose_continuous_rotvec(rotvec: Floats, start: Floats) -> Floats:
    """Return poses over time, (N, J, 3) [rad], each joint by the rotation vector nearest to the previous pose, first `start`.

    The root keeps its own: its features do not depend on which rotation vector is used.
    """
    out = np.array(rotvec)
    far = 1 + np.flatnonzero((np.linalg.norm(rotvec[:, 1:], axis=-1) > NEAR_PI_RAD).any(axis=0))
    before = start[far]
    for pose in out if len(far) else ():
        pose[far] = before = choose_nearest_rotvec(pose[far], before)
    return out


def build_training_poses(clips: Iterable[Clip]) -> TrainingPoses:
    """Return features and poses of clips, resampled to RATE_HZ; the first two poses of each are used for differences only.

    Each clip longer than that is a stretch.
    """
    features, times, so_far = [np.zeros((0, N_FEATURES))], [PoseTimes()], np.zeros((0, N_JOINTS, 3))
    for number, clip in enumerate(clips):
        if clip.n_frames < 2:
            continue
        even = resample_clip(clip, RATE_HZ).rotvec
        rotvec = choose_continuous_rotvec(even, so_far.mean(axis=0) if len(so_far) else even[0])
        static = compute_static_features(rotvec)
        features.append(append_differences(static[2:], static[1:-1], static[:-2]))
        seconds = STEP_S * np.arange(2.0, len(static))
        times.append(PoseTimes(np.full(len(seconds), number, np.int64), seconds))
        so_far = np.concatenate([so_far, rotvec[2:]])
    joined = PoseTimes(np.concatenate([t.stretch for t in times]), np.concatenate([t.seconds for t in times]))
    return TrainingPoses(np.concatenate(features), so_far, joined)


def subsample_poses(poses: TrainingPoses, max_poses: int) -> TrainingPoses:
    """Return at most `max_poses` poses, evenly spaced over all."""
    if len(poses) <= max_poses:
        return poses
    rows = np.linspace(0, len(poses) - 1, max_poses).round().astype(np.int64)
    return TrainingPoses(poses.features[rows], poses.rotvec[rows], poses.times.take(rows))
