"""A level view of a world whose floor is unknown: its up direction and the height of the floor, for display only.

Up is as the stream says that the T-pose showed it; else it is estimated from the left camera, then from the trunks of the first
poses. The floor is at the median height of the lower foot.
"""

from dataclasses import dataclass, field

import numpy as np

from config.arrays import Floats
from database.geometry.rotations import matrix_from_rotvec, rotation_between
from reconstruct.pose import TrackingState
from stream.protocol.joints import Joints, joints_of, wxyz_from_matrix
from stream.protocol.messages import PoseMessage, RigMessage, SkeletonMessage

UP = (0.0, 1.0, 0.0)
N_SAMPLES = 60
SAMPLE_NS = 50_000_000
ANKLE_M = 0.08  # above the floor
MAX_LEAN_RAD = 1.0  # of the trunk from the first estimate; beyond it the performer lies or bends


@dataclass(frozen=True, slots=True)
class LevelTransform:
    """From the world to the view: x_view = rotation x_world + (0, lift_m, 0).

    note: for the user, empty where the floor is known.
    """

    rotation: Floats = field(default_factory=lambda: np.eye(3))
    lift_m: float = 0.0
    note: str = ""

    @property
    def wxyz(self) -> tuple[float, float, float, float]:
        """Return the rotation as a quaternion w, x, y, z."""
        w, x, y, z = wxyz_from_matrix(self.rotation).tolist()
        return w, x, y, z

    def to_view(self, points_m: Floats) -> Floats:
        """Return points of the world in the view, (..., 3)."""
        return np.asarray(points_m @ self.rotation.T + np.array([0.0, self.lift_m, 0.0]))

    def to_world(self, points_m: Floats) -> Floats:
        """Return points of the view in the world, (..., 3)."""
        return np.asarray((points_m - np.array([0.0, self.lift_m, 0.0])) @ self.rotation)


def level_from_rig(rig: RigMessage | None) -> LevelTransform:
    """Return the first estimate: no change where the floor is known, else the T-pose or at least the left camera upright."""
    if rig is None or rig.floor_known or not rig.cameras:
        return LevelTransform()
    if rig.up_xyz is not None:
        return LevelTransform(rotation_between(rig.up_xyz, UP), 1.0, _note("the T-pose"))
    up = -matrix_from_rotvec(rig.cameras[0].rotation)[1]  # the image's y axis points down
    return LevelTransform(rotation_between(up, UP), 1.0, _note("the left camera"))


def _note(how: str) -> str:
    """Return the note for the user."""
    return f"The floor is unknown: the view is levelled by {how}. Calibrate the floor for a true one."


class LevelEstimator:
    """Estimate the level of one rig from its first tracked poses. level: the latest estimate."""

    def __init__(self, rig: RigMessage | None) -> None:
        self.level = level_from_rig(rig)
        self._unknown = bool(self.level.note)
        self._up_known = rig is not None and rig.up_xyz is not None
        self._rig_note = self.level.note
        self._trunks: list[Floats] = []
        self._feet_m: list[Floats] = []
        self._due_ns = 0

    def add(self, skeleton: SkeletonMessage, pose: PoseMessage) -> bool:
        """Add a pose; return whether the level has changed. Where the floor is known it never does."""
        early = 0 <= self._due_ns - pose.t_capture_ns <= SAMPLE_NS
        if not self._unknown or pose.state is not TrackingState.TRACKING or early:
            return False
        self._due_ns = pose.t_capture_ns + SAMPLE_NS
        self._sample(skeleton, joints_of(skeleton, pose))
        if len(self._trunks) not in (5, N_SAMPLES):
            return False
        self._unknown = len(self._trunks) < N_SAMPLES
        self.level = self._levelled()
        return True

    def _sample(self, skeleton: SkeletonMessage, joints: Joints) -> None:
        """Note the direction of the trunk and the positions of the feet."""
        position_m = dict(zip(skeleton.names, joints.position_m, strict=True))
        trunk = position_m.get("neck", joints.position_m[-1]) - joints.position_m[0]
        self._trunks.append(trunk / max(float(np.linalg.norm(trunk)), 1e-9))
        self._feet_m.append(np.array([position_m[name] for name in ("leftFoot", "rightFoot") if name in position_m]))

    def _levelled(self) -> LevelTransform:
        """Return the level by the samples; where the performer lies or bends most of the time, up stays the first estimate."""
        trunk = np.median(np.stack(self._trunks), axis=0)
        R, note = self.level.rotation, self._rig_note
        if not self._up_known and trunk @ R[1] > np.cos(MAX_LEAN_RAD) * np.linalg.norm(trunk):
            R, note = rotation_between(trunk, UP), _note("the performer's trunk")
        feet_m = np.stack(self._feet_m)
        ankle_m = float(np.median((feet_m @ R[1]).min(axis=1))) if feet_m.shape[1] else 0.0
        return LevelTransform(R, ANKLE_M - ankle_m, note)
