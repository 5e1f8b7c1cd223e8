"""A take as a small drawing (SVG): its body at a few moments, from the front, in the colour of the state."""

from pathlib import Path
from typing import Final

import numpy as np

from capture.sockets.wire import MalformedMessageError
from config.arrays import Floats
from config.errors import DuocapError
from config.joints import JOINT_INDEX
from reconstruct.pose import TrackingState
from stream.protocol.joints import compute_pose_joints
from stream.protocol.messages import PoseMessage, SkeletonMessage
from stream.recording.folders import find_take
from stream.recording.recording import open_recording

N_POSES: Final = 6
WIDTH, HEIGHT, MARGIN = 46.0, 64.0, 4.0  # of one body's place [px]
METRES: Final = 2.1  # that the height shows
HEAD: Final = JOINT_INDEX["head"]
COLORS: Final = {TrackingState.TRACKING: "#2a7", TrackingState.COASTING: "#c80", TrackingState.LOST: "#c33"}


def draw_recording(recording: Path | None) -> str:
    """Return a drawing of a recording (.mcap, or a session's folder); empty for what is none."""
    if recording is None:
        return ""
    try:
        file = find_take(recording)
        opened = open_recording(file)
        n = len(opened.poses)
        poses = [opened.poses[int(k)] for k in np.linspace(0, n - 1, min(N_POSES, n)).round()]
    except (DuocapError, MalformedMessageError, OSError):
        return ""
    return draw_bodies(
        [compute_facing_joints_m(opened.skeleton, pose) for pose in poses],
        opened.skeleton.parents,
        [pose.state for pose in poses],
    )


def compute_facing_joints_m(skeleton: SkeletonMessage, pose: PoseMessage) -> Floats:
    """Return the joints of a pose about its root, facing +Z, (J, 3) [m]."""
    place = compute_pose_joints(skeleton, pose).position_m
    place = place - place[0]
    left, right = (place[skeleton.names.index(name)] for name in ("leftUpperLeg", "rightUpperLeg"))
    angle = np.arctan2(left[2] - right[2], left[0] - right[0]) + 0.5  # a little from the side, so that legs show
    c, s = np.cos(angle), np.sin(angle)
    return np.asarray(place @ np.array([[c, 0.0, -s], [0.0, 1.0, 0.0], [s, 0.0, c]]))


def draw_bodies(bodies: list[Floats], parents: tuple[int, ...], states: list[TrackingState]) -> str:
    """Return bodies side by side as SVG, feet on one line.

    Args:
        bodies: joints of each, (J, 3) [m].
        parents: index of the parent of each joint; -1 for the root.
        states: tracking state of each body.
    """
    scale = (HEIGHT - 2 * MARGIN) / METRES
    paths = []
    for n, (body, state) in enumerate(zip(bodies, states, strict=True)):
        x_px = (n + 0.5) * WIDTH + scale * body[:, 0]
        y_px = HEIGHT - MARGIN - scale * (body[:, 1] - body[:, 1].min())
        lines = "".join(f"M{x_px[p]:.1f} {y_px[p]:.1f}L{x_px[j]:.1f} {y_px[j]:.1f}" for j, p in enumerate(parents) if p >= 0)
        head = f'<circle cx="{x_px[HEAD]:.1f}" cy="{y_px[HEAD] - 3:.1f}" r="3.2" fill="{COLORS[state]}" stroke="none"/>'
        paths.append(f'<g stroke="{COLORS[state]}"><path d="{lines}"/>{head}</g>')
    size = f'width="{WIDTH * max(len(bodies), 1):.0f}" height="{HEIGHT:.0f}"'
    style = 'fill="none" stroke-width="2" stroke-linecap="round"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>{"".join(paths)}</svg>'
