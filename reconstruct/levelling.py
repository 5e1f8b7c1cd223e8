"""The world of a run whose rig knows no floor: by the performer's first seconds, so that a replay finds the same."""

import numpy as np

from calibration.world import level_motion, recentre_motion
from config.arrays import Floats
from database.geometry.kinematics import forward
from database.geometry.rigid import RigidMotion
from database.geometry.skeleton import Skeleton
from reconstruct.pose import Pose, TrackingState

LEVEL_S = 1.5  # of tracked poses
SAMPLE_NS = 45_000_000  # between those that are looked at
MAX_GAP_S = 1.0  # after a longer pause it begins anew


class Levelling:
    """Collects tracked poses of one performer until they tell up and the floor."""

    def __init__(self, skeleton: Skeleton) -> None:
        self._skeleton = skeleton
        self._t_ns: list[int] = []
        self._joints_m: list[Floats] = []
        self._ahead: list[Floats] = []

    def add(self, pose: Pose) -> RigidMotion | None:
        """Add a pose; return how the world is to be moved once that is known.

        The performer then is over the origin, and looks along +Z, where the first of the poses was.
        """
        if pose.state is not TrackingState.TRACKING or (self._t_ns and pose.t_capture_ns - self._t_ns[-1] < SAMPLE_NS):
            return None
        if self._t_ns and pose.t_capture_ns - self._t_ns[-1] > MAX_GAP_S * 1e9:
            self._t_ns, self._joints_m, self._ahead = [], [], []
        G, p = forward(self._skeleton, pose.rotvec, pose.root_m)
        self._t_ns.append(pose.t_capture_ns)
        self._joints_m.append(p)
        self._ahead.append(G[0][:, 2])
        if self._t_ns[-1] - self._t_ns[0] < LEVEL_S * 1e9:
            return None
        seconds = 1e-9 * (np.array(self._t_ns) - self._t_ns[0])
        level, _ = level_motion(np.stack(self._joints_m), seconds)
        facing = recentre_motion(level.rotation @ self._ahead[0], level.move(self._joints_m[0][0]))
        return facing.after(level)
