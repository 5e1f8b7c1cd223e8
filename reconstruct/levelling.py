"""The world of a run: found by the performer's first seconds where the rig knows no floor, and moved when asked.

It follows from poses and requests alone, so that a replay finds the same.
"""

import numpy as np

from calibration.world import level_motion, recentre_motion
from config.arrays import Floats
from database.geometry.kinematics import forward
from database.geometry.rigid import RigidMotion
from database.geometry.skeleton import Skeleton
from reconstruct.history import BodyState
from reconstruct.pose import Pose, TrackingState

LEVEL_S = 1.5  # of tracked poses
SAMPLE_NS = 45_000_000  # between those that are looked at
MAX_GAP_S = 1.0  # after a longer pause it begins anew


class MovingWorld:
    """How the world is to be moved before the next step. level: whether its floor is known."""

    def __init__(self, skeleton: Skeleton, level: bool) -> None:
        self.level, self._skeleton = level, skeleton
        self._move: RigidMotion | None = None
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
            self._forget()
        return motion

    def recentre(self, performer: BodyState) -> None:
        """Have the performer over the origin, looking along +Z."""
        before = self._move
        now = performer if before is None else performer.moved(before)
        motion = recentre_motion(now.rotation[:, 2], now.position_m)
        self._move = motion if before is None else motion.after(before)

    def add(self, pose: Pose) -> None:
        """Add the pose of a step; of a floor that is unknown the first seconds of tracked ones tell.

        The origin then is under the performer, who looks along +Z, where the first of the poses was.
        """
        if self.level or pose.state is not TrackingState.TRACKING:
            return
        since_ns = pose.t_capture_ns - self._t_ns[-1] if self._t_ns else SAMPLE_NS
        if 0 <= since_ns < SAMPLE_NS:
            return
        if not 0 <= since_ns <= MAX_GAP_S * 1e9:
            self._forget()
        G, p = forward(self._skeleton, pose.rotvec, pose.root_m)
        self._t_ns.append(pose.t_capture_ns)
        self._joints_m.append(p)
        self._ahead.append(G[0][:, 2])
        if self._t_ns[-1] - self._t_ns[0] < LEVEL_S * 1e9:
            return
        seconds = 1e-9 * (np.array(self._t_ns) - self._t_ns[0])
        level, _ = level_motion(np.stack(self._joints_m), seconds)
        facing = recentre_motion(level.rotation @ self._ahead[0], level.move(self._joints_m[0][0]))
        self._move, self.level = facing.after(level), True
