"""The poses of all frames of a take, as arrays."""

from dataclasses import dataclass, replace

import numpy as np

from config.arrays import Floats
from database.geometry.rotations import matrix_from_rotvec, rotvec_from_matrix

MIN_STEP_FRAMES = 1e-3


@dataclass(frozen=True, slots=True)
class TakeMotion:
    """Poses of N frames.

    Attributes:
        seconds: times, rising, (N,) [s].
        joints: rotation vectors, (N, J, 3) [rad], row 0 unused.
        rotation: rotations of the root, (N, 3, 3).
        position_m: positions of the root, (N, 3) [m].
        fps: frame rate of the database, whose frames are the unit of steps [Hz].
    """

    seconds: Floats
    joints: Floats
    rotation: Floats
    position_m: Floats
    fps: float

    def __len__(self) -> int:
        return len(self.seconds)

    @property
    def step_frames(self) -> Floats:
        """Time from each frame to the next in frames of the database, (N - 1,)."""
        return np.maximum(np.diff(self.seconds) * self.fps, MIN_STEP_FRAMES)

    @property
    def rotvec(self) -> Floats:
        """Rotation vectors, (N, J, 3), row 0 the root's."""
        rotvec = self.joints.copy()
        rotvec[:, 0] = rotvec_from_matrix(self.rotation)
        return rotvec

    def part(self, frames: slice) -> "TakeMotion":
        """Return some of the frames."""
        return TakeMotion(self.seconds[frames], self.joints[frames], self.rotation[frames], self.position_m[frames], self.fps)

    def then(self, after: "TakeMotion") -> "TakeMotion":
        """Return these poses and those of the frames after them."""
        seconds, position_m = (np.concatenate([getattr(m, name) for m in (self, after)]) for name in ("seconds", "position_m"))
        joints, rotation = (np.concatenate([getattr(m, name) for m in (self, after)]) for name in ("joints", "rotation"))
        return TakeMotion(seconds, joints, rotation, position_m, self.fps)

    def with_part(self, frames: slice, other: "TakeMotion") -> "TakeMotion":
        """Return the poses with some frames replaced."""
        joints, rotation, position_m = self.joints.copy(), self.rotation.copy(), self.position_m.copy()
        joints[frames], rotation[frames], position_m[frames] = other.joints, other.rotation, other.position_m
        return TakeMotion(self.seconds, joints, rotation, position_m, self.fps)

    def with_joints(self, frames: slice, joints: Floats) -> "TakeMotion":
        """Return the poses with other joints in some frames, (K, D)."""
        changed = self.joints.copy()
        changed[frames, 1:] = joints.reshape(len(joints), -1, 3)
        return replace(self, joints=changed)

    def moved(self, step: Floats) -> "TakeMotion":
        """Return the poses after steps in joints, rotation vector about the world's axes and position, (N, D + 6)."""
        joints = self.joints.copy()
        joints[:, 1:] += step[:, :-6].reshape(len(self), -1, 3)
        return TakeMotion(
            self.seconds, joints, matrix_from_rotvec(step[:, -6:-3]) @ self.rotation, self.position_m + step[:, -3:], self.fps
        )


def build_take_motion(seconds: Floats, rotvec: Floats, root_m: Floats, fps: float) -> TakeMotion:
    """Return poses as a take's motion.

    Args:
        seconds: times of the frames, (N,) [s].
        rotvec: charted rotation vectors, (N, J, 3) [rad], row 0 the root's.
        root_m: positions of the root, (N, 3) [m].
        fps: frames a second.
    """
    return TakeMotion(seconds, rotvec.copy(), matrix_from_rotvec(rotvec[:, 0]), root_m.copy(), fps)
