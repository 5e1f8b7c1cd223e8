"""The paths of hands, feet and hips in the last two seconds, as lines that fade."""

from collections import deque

import numpy as np
import viser
from numpy.typing import NDArray

from config.arrays import Floats
from reconstruct.pose import TrackingState
from stream.protocol.joints import Joints
from stream.protocol.messages import PoseMessage, SkeletonMessage
from stream.viewer.scene.colors import DARK, GroundColors, convert_to_linear_colors

TRAILED = ("hips", "leftHand", "rightHand", "leftFoot", "rightFoot")
LENGTH_NS = 2_000_000_000
STEP_NS = 50_000_000  # a finer line looks the same and costs three times as much to send and to draw
GAP_NS = 500_000_000
THICKNESS_M = 0.008


class Trail:
    """The last positions of K points, at most one in STEP_NS; a jump in time clears them."""

    def __init__(self) -> None:
        self._positions: deque[tuple[int, Floats]] = deque()

    def add(self, t_ns: int, position_m: Floats) -> bool:
        """Add the positions (K, 3) at a time; return whether the trail has changed."""
        last = self._positions[-1][0] if self._positions else None
        if last is not None and not 0 <= t_ns - last <= GAP_NS:
            self._positions.clear()
        elif last is not None and t_ns - last < STEP_NS:
            return False
        self._positions.append((t_ns, position_m.copy()))
        while t_ns - self._positions[0][0] > LENGTH_NS:
            self._positions.popleft()
        return True

    def segments(self) -> tuple[Floats, Floats]:
        """Return segments (S, 2, 3) of all points, point by point, and the freshness of their ends, 0 to 1, (S, 2)."""
        if len(self._positions) < 2:
            return np.zeros((0, 2, 3)), np.zeros((0, 2))
        t_ns = np.array([t for t, _ in self._positions], float)
        path = np.stack([position_m for _, position_m in self._positions], 1)  # (K, N, 3)
        fresh = np.clip(1.0 - (t_ns[-1] - t_ns) / LENGTH_NS, 0.0, 1.0)
        ends = np.stack([path[:, :-1], path[:, 1:]], 2).reshape(-1, 2, 3)
        return ends, np.tile(np.stack([fresh[:-1], fresh[1:]], 1), (len(path), 1))


class Trails:
    """The trails of one body in the scene, as one object."""

    def __init__(self, scene: viser.SceneApi, name: str, skeleton: SkeletonMessage) -> None:
        self._joints = [skeleton.names.index(joint) for joint in TRAILED if joint in skeleton.names]
        self._names = [skeleton.names[joint] for joint in self._joints]
        self._trail = Trail()
        self._lines = scene.add_line_segments(
            name, np.zeros((1, 2, 3)), np.zeros((1, 2, 3), np.uint8), thickness=THICKNESS_M, visible=False
        )
        self.on = True
        self.set_ground(DARK)

    def set_ground(self, ground: GroundColors) -> None:
        """Set the colours that are readable on a floor, to whose colour the trails fade."""
        self._colors = np.array([ground.side(name) for name in self._names], float)
        self._ground = np.array(ground.plane, float)

    def show(self, pose: PoseMessage, joints: Joints) -> None:
        """Extend the trails; lost poses leave none."""
        if pose.state is TrackingState.LOST or not self._trail.add(pose.t_capture_ns, joints.position_m[self._joints]):
            return
        self.draw()

    def draw(self) -> None:
        """Draw the trails."""
        ends_m, fresh = self._trail.segments()
        self._lines.visible = self.on and len(ends_m) > 0
        if self._lines.visible:
            self._lines.colors = self._shades(fresh)
            self._lines.points = ends_m.astype(np.float32)

    def _shades(self, fresh: Floats) -> NDArray[np.uint8]:
        """Return the colours of the ends of segments, (S, 2, 3), fading to the ground."""
        own = np.repeat(self._colors, len(fresh) // len(self._colors), axis=0)[:, None]
        share = fresh[..., None]
        return convert_to_linear_colors(share * own + (1.0 - share) * self._ground)

    def clear(self) -> None:
        """Clear the trails."""
        self._trail = Trail()
        self._lines.visible = False

    def remove(self) -> None:
        """Remove the lines from the scene."""
        self._lines.remove()
