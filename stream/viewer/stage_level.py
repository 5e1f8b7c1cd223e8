"""A level view of a world whose floor is unknown: which way is up and where the floor is, for display only.

The poses stay as they are. Up is what the T-pose showed; if the stream does not say, it is guessed from the left camera, then
from the trunks of the first poses. The floor lies where the lower foot mostly was.
"""

from dataclasses import dataclass, field

import numpy as np

from database.rotations import Floats, matrix_from_rotvec, rotation_between
from stream.joints import Joints, joints_of, wxyz_from_matrix
from stream.messages import PoseMessage, RigMessage, SkeletonMessage

UP = (0.0, 1.0, 0.0)
N_SAMPLES = 60
SAMPLE_NS = 50_000_000
ANKLE_M = 0.08  # over the floor
LYING_RAD = 1.0


@dataclass(frozen=True, slots=True)
class Level:
    """From the world to the view: x_view = rotation x_world + (0, lift_m, 0).

    note: what to tell the user, empty where the floor is known.
    """

    rotation: Floats = field(default_factory=lambda: np.eye(3))
    lift_m: float = 0.0
    note: str = ""

    @property
    def wxyz(self) -> tuple[float, float, float, float]:
        """Give the rotation as a quaternion w, x, y, z."""
        w, x, y, z = wxyz_from_matrix(self.rotation).tolist()
        return w, x, y, z

    def to_view(self, points_m: Floats) -> Floats:
        """Give points of the world in the view, (..., 3)."""
        return np.asarray(points_m @ self.rotation.T + np.array([0.0, self.lift_m, 0.0]))

    def to_world(self, points_m: Floats) -> Floats:
        """Give points of the view in the world, (..., 3)."""
        return np.asarray((points_m - np.array([0.0, self.lift_m, 0.0])) @ self.rotation)


def level_from_rig(rig: RigMessage | None) -> Level:
    """Give the first guess: as it is where the floor is known, else with the T-pose or at least the left camera upright."""
    if rig is None or rig.floor_known or not rig.cameras:
        return Level()
    if rig.up_xyz is not None:
        return Level(rotation_between(rig.up_xyz, UP), 1.0, _note("the T-pose"))
    up = -matrix_from_rotvec(rig.cameras[0].rotation)[1]  # the image's y axis points down
    return Level(rotation_between(up, UP), 1.0, _note("the left camera"))


def _note(how: str) -> str:
    """Tell the user what the view is made level by."""
    return f"The floor is unknown: the view is levelled by {how}. Calibrate the floor for a true one."


class Levelling:
    """Find the level of one rig from its first tracked poses; `level` is the best so far."""

    def __init__(self, rig: RigMessage | None) -> None:
        self.level = level_from_rig(rig)
        self._unknown = bool(self.level.note)
        self._told = rig is not None and rig.up_xyz is not None
        self._first_note = self.level.note
        self._trunks: list[Floats] = []
        self._feet_m: list[Floats] = []
        self._due_ns = 0

    def add(self, skeleton: SkeletonMessage, pose: PoseMessage) -> bool:
        """Take a pose; tell whether the level has changed. Where the floor is known it never does."""
        early = 0 <= self._due_ns - pose.t_capture_ns <= SAMPLE_NS
        if not self._unknown or pose.state != "tracking" or early:
            return False
        self._due_ns = pose.t_capture_ns + SAMPLE_NS
        self._sample(skeleton, joints_of(skeleton, pose))
        if len(self._trunks) not in (5, N_SAMPLES):
            return False
        self._unknown = len(self._trunks) < N_SAMPLES
        self.level = self._levelled()
        return True

    def _sample(self, skeleton: SkeletonMessage, joints: Joints) -> None:
        """Note where the trunk points and where the feet are."""
        place = dict(zip(skeleton.names, joints.place_m, strict=True))
        trunk = place.get("neck", joints.place_m[-1]) - joints.place_m[0]
        self._trunks.append(trunk / max(float(np.linalg.norm(trunk)), 1e-9))
        self._feet_m.append(np.array([place[name] for name in ("leftFoot", "rightFoot") if name in place]))

    def _levelled(self) -> Level:
        """Give the level of what was noted; somebody who lies or bends all the time leaves the first guess."""
        trunk = np.median(np.stack(self._trunks), axis=0)
        R, note = self.level.rotation, self._first_note
        if not self._told and trunk @ R[1] > np.cos(LYING_RAD) * np.linalg.norm(trunk):
            R, note = rotation_between(trunk, UP), _note("the performer's trunk")
        feet_m = np.stack(self._feet_m)
        ankle_m = float(np.median((feet_m @ R[1]).min(axis=1))) if feet_m.shape[1] else 0.0
        return Level(R, ANKLE_M - ankle_m, note)
