"""Features of a pose, y(q): what a style is learned of (Grochow et al. 2004, section 4).

Static are the joints' rotation vectors and the vertical orientation, the world's up direction in the root's frame (our R'e_up is
the paper's third row of R). Each has a velocity and an acceleration, differences over STEP_S:

    y = (s_t, s_t - s_{t-1}, s_t - 2 s_{t-1} + s_{t-2})
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from config.joints import JOINTS, N_JOINTS
from database.clips import Clip
from database.rotations import Floats, matrix_from_rotvec

RATE_HZ = 30.0  # steps of velocity and acceleration, whatever the rate of the motion
STEP_S = 1.0 / RATE_HZ
N_ANGLES = 3 * (N_JOINTS - 1)
N_STATIC = N_ANGLES + 3
N_FEATURES = 3 * N_STATIC
UP = (0.0, 1.0, 0.0)


@dataclass(frozen=True, slots=True)
class TrainingPoses:
    """Features a style is learned of, (N, F), and the poses' rotation vectors, (N, J, 3) [rad], root included, for pictures."""

    features: Floats
    rotvec: Floats

    def __len__(self) -> int:
        return len(self.features)


def feature_names() -> list[str]:
    """Name the F features: `leftFoot.x`, `up.y`, then the same with `velocity` and `acceleration`."""
    static = [f"{joint}.{axis}" for joint in JOINTS[1:] for axis in "xyz"] + [f"up.{axis}" for axis in "xyz"]
    return static + [f"{name} velocity" for name in static] + [f"{name} acceleration" for name in static]


def static_features(rotvec: ArrayLike, up: ArrayLike = UP) -> Floats:
    """Give s of poses, (..., J, 3) [rad] with row 0 the root's orientation -> (..., S); up: of the world, (3,)."""
    r = np.asarray(rotvec, np.float64)
    vertical = np.swapaxes(matrix_from_rotvec(r[..., 0, :]), -1, -2) @ np.asarray(up, np.float64)
    return np.concatenate([r[..., 1:, :].reshape(*r.shape[:-2], N_ANGLES), vertical], axis=-1)


def with_differences(now: Floats, before: Floats, earlier: Floats) -> Floats:
    """Give y from static features of three moments STEP_S apart, (..., S) each -> (..., F)."""
    return np.concatenate([now, now - before, now - 2.0 * before + earlier], axis=-1)


def training_poses(clips: list[Clip], up: ArrayLike = UP) -> TrainingPoses:
    """Give features and poses of clips, all frames whose two steps before lie in the clip, brought to RATE_HZ steps."""
    features, poses = [np.zeros((0, N_FEATURES))], [np.zeros((0, N_JOINTS, 3))]
    for clip in clips:
        static = static_features(clip.rotvec, up)
        rows = np.arange(0.0, clip.n_frames - 1 + 1e-9, clip.fps * STEP_S)
        at = sampled(static, rows)
        features.append(with_differences(at[2:], at[1:-1], at[:-2]))
        poses.append(clip.rotvec[np.round(rows[2:]).astype(np.int64)])
    return TrainingPoses(np.concatenate(features), np.concatenate(poses))


def sampled(values: Floats, rows: Floats) -> Floats:
    """Give values, (N, S), at fractional rows, (R,) in 0..N-1, by linear interpolation."""
    below = np.clip(np.floor(rows).astype(np.int64), 0, max(len(values) - 2, 0))
    above = np.minimum(below + 1, len(values) - 1)
    share = (rows - below)[:, None]
    return np.asarray((1.0 - share) * values[below] + share * values[above])


def some(poses: TrainingPoses, most: int) -> TrainingPoses:
    """Give at most `most` poses, evenly over all."""
    if len(poses) <= most:
        return poses
    rows: NDArray[np.int64] = np.linspace(0, len(poses) - 1, most).round().astype(np.int64)
    return TrainingPoses(poses.features[rows], poses.rotvec[rows])
