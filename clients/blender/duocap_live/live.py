"""The connection: a timer of Blender's takes the newest pose and puts the armature into it."""

import time

import bpy
from duocap_client import Client

from .armature import apply_pose, keyframe, make_armature

PERIOD_S = 1 / 60
SILENT_S = 2.0


class Live:
    """One connection to a stream. words: what to tell the user."""

    def __init__(self, address: str, armature: bpy.types.Object | None) -> None:
        self.client = Client(address)
        self.armature = armature
        self.words = "waiting for the stream"
        self.record = False
        self._t_heard_s = time.monotonic()
        self._t_record_s = 0.0

    def step(self) -> bool:
        """Take the newest pose if there is one; tell whether there was."""
        pose = self.client.latest(0.0)
        skeleton = self.client.skeleton
        now_s = time.monotonic()
        if pose is None or skeleton is None:
            if now_s - self._t_heard_s > SILENT_S:
                self.words = "the stream is silent: is duocap running?"
            return False
        self._t_heard_s = now_s
        if self.armature is None:
            self.armature = make_armature(skeleton)
        self.words = f"{pose.state}, {self.client.n_missed} missed"
        if pose.state != "lost":
            apply_pose(self.armature, skeleton, pose)
            if self.record:
                self._keep(pose.t_capture_ns * 1e-9)
        return True

    def _keep(self, t_s: float) -> None:
        """Write keyframes at the scene's own rate, beginning at its first frame."""
        self._t_record_s = self._t_record_s or t_s
        scene = bpy.context.scene
        rate = scene.render.fps / scene.render.fps_base
        keyframe(self.armature, scene.frame_start + (t_s - self._t_record_s) * rate)


_live: Live | None = None


def start(address: str, armature: bpy.types.Object | None) -> Live:
    """Connect; what was connected before ends."""
    global _live
    stop()
    _live = Live(address, armature)
    bpy.app.timers.register(_tick)
    return _live


def stop() -> None:
    """Disconnect."""
    global _live
    if _live is not None:
        _live.client.close()
        _live = None


def current() -> Live | None:
    """Return the connection, None if there is none."""
    return _live


def _tick() -> float | None:
    """Take one step and ask for the next; None ends the timer."""
    if _live is None:
        return None
    try:
        _live.step()
    except ReferenceError:  # the user deleted the armature
        stop()
        return None
    return PERIOD_S
