"""A video of what was tracked, drawn over both cameras' images: labels, markers, skeleton, state.

It is the quickest way to see whether labels are right.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import cv2
import numpy as np

from calibration.camera import Camera, Rig
from calibration.subject.subject import Subject
from capture.packets import Frame, MarkerFrame
from capture.recording.recording import CaptureRecording
from config.arrays import Floats, Image
from config.errors import SourceError
from config.files import replace_file
from config.joints import N_JOINTS, PARENTS
from database.geometry.kinematics import forward
from reconstruct.pose import Pose, TrackingState

SCALE = 2  # labels need room
GAIN_TO = 200.0  # dark recordings are brightened until their 99.99th percentile is here
LEFT_BGR, RIGHT_BGR, MIDDLE_BGR = (0, 220, 255), (80, 120, 255), (120, 255, 120)
BONE_BGR, ONE_VIEW_BGR = (200, 140, 40), (60, 60, 255)
STATE_BGR = {TrackingState.TRACKING: (120, 255, 120), TrackingState.COASTING: (0, 220, 255), TrackingState.LOST: (60, 60, 255)}


def write_overlay(
    file: Path,
    recording: CaptureRecording,
    rig: Rig,
    subject: Subject,
    poses: list[Pose],
    markers: list[MarkerFrame],
    progress: Callable[[int, int | None], None] = lambda done, total: None,
) -> None:
    """Write the overlay as a video (MJPG in AVI), the cameras side by side, whole or not at all.

    poses, markers: of every pair, in order. Raises SourceError: no video can be written there.
    """
    width, height = (SCALE * sum(size[0] for size in recording.sizes), SCALE * max(size[1] for size in recording.sizes))
    part = file.with_name(f".{file.name}.part.avi")
    writer = cv2.VideoWriter(str(part), cv2.VideoWriter.fourcc(*"MJPG"), recording.fps, (width, height))
    try:
        if not writer.isOpened():
            raise SourceError(f"{file}: no video can be written here; choose a place in an existing folder, ending in .avi")
        for n, (pose, seen, images) in enumerate(_in_step(recording, poses, markers)):
            canvas = np.zeros((height, width, 3), np.uint8)
            at = 0
            for c, image in enumerate(images):
                view = _view(image, rig.cameras[c], c, subject, pose, seen)
                canvas[: view.shape[0], at : at + view.shape[1]] = view
                at += view.shape[1]
            writer.write(canvas)
            progress(n + 1, len(poses))
        writer.release()
        replace_file(part, file, SourceError)
    except BaseException:
        writer.release()  # before the file is removed, which Windows refuses of an open one
        part.unlink(missing_ok=True)
        raise


def _in_step(
    recording: CaptureRecording, poses: list[Pose], markers: list[MarkerFrame]
) -> Iterator[tuple[Pose, MarkerFrame, tuple[Image, ...]]]:
    """Return each pose with the left image it came from and the right one, if any, nearest in time."""
    waiting = list(zip(poses, markers, strict=True))[::-1]
    newest: tuple[Frame | None, ...] = (None,) * len(recording.sizes)
    for frames in recording.frames():
        newest = tuple(new or old for new, old in zip(frames, newest, strict=True))
        views = [frame for frame in newest if frame is not None]
        while waiting and len(views) == len(newest) and waiting[-1][0].index <= views[0].index:
            pose, seen = waiting.pop()
            yield pose, seen, tuple(view.image for view in views)


def _view(image: Image, camera: Camera, c: int, subject: Subject, pose: Pose, seen: MarkerFrame) -> Image:
    """Draw one camera's part."""
    peak = max(float(np.percentile(image, 99.99)), 1.0)
    bright = cv2.convertScaleAbs(image, alpha=max(1.0, GAIN_TO / peak))
    view = np.asarray(cv2.resize(bright, None, fx=SCALE, fy=SCALE, interpolation=cv2.INTER_LINEAR), np.uint8)
    _, joints = forward(subject.skeleton, pose.rotvec, pose.root_m)
    _bones(view, camera.project(joints))
    placed = camera.project(pose.marker_m)
    for m, name in enumerate(subject.markers.names):
        color = LEFT_BGR if name.startswith("left") else RIGHT_BGR if name.startswith("right") else MIDDLE_BGR
        if np.isfinite(placed[m]).all():
            cv2.drawMarker(view, _pixel(placed[m]), color, cv2.MARKER_TILTED_CROSS, 8, 1, cv2.LINE_AA)
        if seen.seen[c, m]:
            at = _pixel(seen.image_px[c, m])
            cv2.circle(view, at, 8, color if seen.valid[m] else ONE_VIEW_BGR, 1, cv2.LINE_AA)
            cv2.putText(view, name, (at[0] + 9, at[1] + 4), cv2.FONT_HERSHEY_SIMPLEX, 0.38, color, 1, cv2.LINE_AA)
    text = f"{pose.index}  {pose.t_capture_ns * 1e-9:.2f} s  {pose.state}"
    cv2.putText(view, text, (8, 20), cv2.FONT_HERSHEY_SIMPLEX, 0.55, STATE_BGR[pose.state], 1, cv2.LINE_AA)
    return view


def _bones(view: Image, joints_px: Floats) -> None:
    """Draw the skeleton."""
    for joint in range(1, N_JOINTS):
        ends = joints_px[[joint, PARENTS[joint]]]
        if np.isfinite(ends).all() and np.abs(ends).max() < 1e4:
            cv2.line(view, _pixel(ends[0]), _pixel(ends[1]), BONE_BGR, 2, cv2.LINE_AA)


def _pixel(point: Floats) -> tuple[int, int]:
    """Return a point of the enlarged image."""
    return round(float(SCALE * np.clip(point[0], -1e4, 1e4))), round(float(SCALE * np.clip(point[1], -1e4, 1e4)))
