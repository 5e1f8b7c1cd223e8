"""The world of a run: found by the performer's first seconds where the rig knows no floor, levelled further by the steps where up
is known to some degrees only, and moved when asked.

It follows from poses and requests alone, so that a replay finds the same.
"""

import math

import numpy as np

from calibration.world import UP, compute_levelling_motion, compute_recentre_motion
from config.arrays import Floats
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.rigid import RigidMotion
from database.geometry.skeleton import Skeleton
from reconstruct.body_state import BodyState
from reconstruct.pose import Pose, TrackingState

LEVEL_S = 1.5  # of tracked poses
SAMPLE_NS = 45_000_000  # between those that are looked at
MAX_GAP_S = 1.0  # after a longer pause it begins anew
MAX_SAMPLES, CHECKED = 440, 22  # by which a floor is levelled further, twenty seconds, and after how many more it is looked at
MOVED_RAD, MOVED_M = 0.007, 0.01  # a world that is off by less, 3 cm over 4 m, stays


class MovingWorld:
    """How the world is to be moved before the next step. level: whether its floor is known."""

    def __init__(self, skeleton: Skeleton, level: bool, tilt_sigma_rad: float = 0.0) -> None:
        self.level, self._tilt_sigma_rad, self._skeleton = level, tilt_sigma_rad if level else math.inf, skeleton
        self._move: RigidMotion | None = None
        self._up = UP  # as it was known before the steps
        self._forget()

    def _forget(self) -> None:
        """Forget the poses by which the floor is to be found."""
        self._t_ns: list[int] = []
        self._joints_m: list[Floats] = []
        self._ahead: list[Floats] = []

    def take(self) -> RigidMotion | None:
        """Return how the world is to be moved now, once."""
        motion, self._move = self._move, None
        if motion is not None:
            self._joints_m = [motion.move(joints_m) for joints_m in self._joints_m]
            self._up = motion.rotation @ self._up
        return motion

    def recentre(self, performer: BodyState) -> None:
        """Have the performer over the origin, looking along +Z."""
        before = self._move
        now = performer if before is None else performer.moved(before)
        motion = compute_recentre_motion(now.rotation[:, 2], now.position_m)
        self._move = motion if before is None else motion.after(before)

    def add(self, pose: Pose) -> None:
        """Add the pose of a step; tracked ones tell the floor where it is not known exactly."""
        if not self._tilt_sigma_rad or pose.state is not TrackingState.TRACKING or len(self._t_ns) == MAX_SAMPLES:
            return
        since_ns = pose.t_capture_ns - self._t_ns[-1] if self._t_ns else SAMPLE_NS
        if 0 <= since_ns < SAMPLE_NS:
            return
        if not 0 <= since_ns <= MAX_GAP_S * 1e9:
            self._forget()
        G, p = compute_forward_kinematics(self._skeleton, pose.rotvec, pose.root_m)
        self._t_ns.append(pose.t_capture_ns)
        self._joints_m.append(p)
        if not self.level:
            self._ahead.append(G[0][:, 2])
            self._find()
        elif len(self._t_ns) % CHECKED == 0:
            self._refine()

    def _find(self) -> None:
        """Level by the first seconds; the origin is where the first of the poses was, and +Z where it looked."""
        if self._t_ns[-1] - self._t_ns[0] < LEVEL_S * 1e9:
            return
        level, self._tilt_sigma_rad = compute_levelling_motion(np.stack(self._joints_m), self._seconds())
        facing = compute_recentre_motion(level.rotation @ self._ahead[0], level.move(self._joints_m[0][0]))
        self._move, self.level = facing.after(level), True
        self._up = self._move.rotation.T @ UP

    def _refine(self) -> None:
        """Level by all feet that have stood and by up as it was known before, where the floor is off by more than a little."""
        motion, _ = compute_levelling_motion(np.stack(self._joints_m), self._seconds(), self._up, self._tilt_sigma_rad)
        if math.acos(min(motion.rotation[1, 1], 1.0)) > MOVED_RAD or abs(motion.translation_m[1]) > MOVED_M:
            self._move = motion

    def _seconds(self) -> Floats:
        """Return the times of the poses, from the first, (N,)."""
        return np.asarray(1e-9 * (np.array(self._t_ns) - self._t_ns[0]))
