"""Where hands, feet and hips went in the last two seconds, as lines that fade."""

from collections import deque

import numpy as np
import viser
from numpy.typing import NDArray

from database.rotations import Floats
from stream.joints import Joints
from stream.messages import PoseMessage, SkeletonMessage
from stream.viewer.stage_colors import DARK, Ground, vertex_colors

TRAILED = ("hips", "leftHand", "rightHand", "leftFoot", "rightFoot")
LENGTH_NS = 2_000_000_000
STEP_NS = 50_000_000  # a finer line looks the same and costs three times as much to send and to draw
GAP_NS = 500_000_000
THICKNESS_M = 0.008


class Trail:
    """The last places of a few points, K of them, at most one in STEP_NS; a jump in time begins anew."""

    def __init__(self) -> None:
        self._places: deque[tuple[int, Floats]] = deque()

    def add(self, t_ns: int, places_m: Floats) -> bool:
        """Take the places (K, 3) at a time; tell whether the trail has changed."""
        last = self._places[-1][0] if self._places else None
        if last is not None and not 0 <= t_ns - last <= GAP_NS:
            self._places.clear()
        elif last is not None and t_ns - last < STEP_NS:
            return False
        self._places.append((t_ns, places_m.copy()))
        while t_ns - self._places[0][0] > LENGTH_NS:
            self._places.popleft()
        return True

    def segments(self) -> tuple[Floats, Floats]:
        """Give segments (S, 2, 3) of all points, one point after the other, and how fresh their ends are, 0 to 1, (S, 2)."""
        if len(self._places) < 2:
            return np.zeros((0, 2, 3)), np.zeros((0, 2))
        t_ns = np.array([t for t, _ in self._places], float)
        path = np.stack([places for _, places in self._places], 1)  # (K, N, 3)
        fresh = np.clip(1.0 - (t_ns[-1] - t_ns) / LENGTH_NS, 0.0, 1.0)
        ends = np.stack([path[:, :-1], path[:, 1:]], 2).reshape(-1, 2, 3)
        return ends, np.tile(np.stack([fresh[:-1], fresh[1:]], 1), (len(path), 1))


class Trails:
    """The trails of one body in the scene: one object of lines."""

    def __init__(self, scene: viser.SceneApi, name: str, skeleton: SkeletonMessage) -> None:
        self._scene, self._name = scene, name
        self._joints = [skeleton.names.index(joint) for joint in TRAILED if joint in skeleton.names]
        self._names = [skeleton.names[joint] for joint in self._joints]
        self._trail = Trail()
        self._lines = scene.add_line_segments(
            name, np.zeros((1, 2, 3)), np.zeros((1, 2, 3), np.uint8), thickness=THICKNESS_M, visible=False
        )
        self.on = True
        self.set_ground(DARK)

    def set_ground(self, ground: Ground) -> None:
        """Take colours that read well on the floor, to whose own old places fade."""
        self._colors = np.array([ground.side(name) for name in self._names], float)
        self._ground = np.array(ground.plane, float)

    def show(self, pose: PoseMessage, joints: Joints) -> None:
        """Lengthen the trails; what is lost leaves none."""
        if pose.state == "lost" or not self._trail.add(pose.t_capture_ns, joints.place_m[self._joints]):
            return
        self.draw()

    def draw(self) -> None:
        """Draw the trails as they are."""
        ends_m, fresh = self._trail.segments()
        self._lines.visible = self.on and len(ends_m) > 0
        if self._lines.visible:
            colors = self._shades(fresh)
            self._lines.colors = colors
            self._lines.points = ends_m.astype(np.float32)

    def _shades(self, fresh: Floats) -> NDArray[np.uint8]:
        """Give the colours of the ends of segments, (S, 2, 3), fading to the ground."""
        own = np.repeat(self._colors, len(fresh) // len(self._colors), axis=0)[:, None]
        share = fresh[..., None]
        return vertex_colors(share * own + (1.0 - share) * self._ground)

    def clear(self) -> None:
        """Forget where the body went."""
        self._trail = Trail()
        self._lines.visible = False

    def remove(self) -> None:
        """Take the lines out of the scene."""
        self._lines.remove()
