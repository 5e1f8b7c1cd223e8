"""A video of what was tracked, drawn over all cameras' images: labels, markers, skeleton, state.

It is the quickest way to see whether labels are right.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import cv2
import numpy as np

from calibration.camera import Camera
from calibration.subject.subject import Subject
from capture.packets import Blobs, Frame, MarkerFrame
from capture.recording.recording import CaptureRecording
from config.arrays import Floats, Image
from config.errors import SourceError
from config.files import replace_file
from config.joints import N_JOINTS, PARENTS
from config.landmarks import ABSENT, Exchange
from database.geometry.kinematics import compute_forward_kinematics
from reconstruct.pose import Pose, TrackingState
from stream.protocol.landmarks import PREFIX
from stream.web.landmarks import LandmarkColors, believe_landmarks, draw_landmarks
from tools.progress import ignore_progress
from tools.replay.replay import ReplayResult

SCALE = 2  # labels need room
GAIN_TO = 200.0  # dark recordings are brightened until their 99.99th percentile is here
LEFT_BGR, RIGHT_BGR, MIDDLE_BGR = (0, 220, 255), (80, 120, 255), (120, 255, 120)
LANDMARK_COLORS = LandmarkColors(LEFT_BGR, RIGHT_BGR, MIDDLE_BGR, (160, 64, 255))
BONE_BGR, ONE_VIEW_BGR = (200, 140, 40), (60, 60, 255)
STATE_BGR = {TrackingState.TRACKING: (120, 255, 120), TrackingState.COASTING: (0, 220, 255), TrackingState.LOST: (60, 60, 255)}


def write_overlay(
    file: Path,
    recording: CaptureRecording,
    subject: Subject,
    result: ReplayResult,
    progress: Callable[[int, int | None], None] = ignore_progress,
) -> None:
    """Write the overlay as a video (MJPG in AVI), the cameras in a grid, whole or not at all.

    Args:
        file: AVI to write.
        recording: the recording.
        subject: the performer.
        result: poses, labelled markers and views of the recording, and the cameras.
        progress: called with the amount done and the whole amount.
    Raises: SourceError: no video can be written there.
    """
    places, (width, height) = lay_out_grid(recording.sizes)
    part = file.with_name(f".{file.name}.part.avi")
    writer = cv2.VideoWriter(str(part), cv2.VideoWriter.fourcc(*"MJPG"), recording.fps, (width, height))
    try:
        if not writer.isOpened():
            raise SourceError(f"{file}: no video can be written here; choose a place in an existing folder, ending in .avi")
        for n, (pose, seen, images) in enumerate(_match_images_to_poses(recording, result.poses, result.markers)):
            canvas = np.zeros((height, width, 3), np.uint8)
            for c, (image, (x, y)) in enumerate(zip(images, places, strict=True)):
                if image is not None:
                    view = _draw_view(image, result.rig.cameras[c], c, subject, pose, seen)
                    _draw_landmarks(view, result.views[n].blobs[c], c, subject, pose, seen)
                    canvas[y : y + view.shape[0], x : x + view.shape[1]] = view
            writer.write(canvas)
            progress(n + 1, len(result.poses))
        writer.release()
        replace_file(part, file, SourceError)
    except BaseException:
        writer.release()  # before the file is removed, which Windows refuses of an open one
        part.unlink(missing_ok=True)
        raise


def lay_out_grid(sizes: Sequence[tuple[int, int]]) -> tuple[list[tuple[int, int]], tuple[int, int]]:
    """Return the corners x and y of the cameras' enlarged pictures, and width and height of all.

    Two lie side by side, more in rows of two or three. sizes: picture size of each camera [px].
    """
    columns = len(sizes) if len(sizes) < 3 else 2 if len(sizes) == 4 else 3
    width, height = (SCALE * max(size[axis] for size in sizes) for axis in (0, 1))
    places = [(width * (n % columns), height * (n // columns)) for n in range(len(sizes))]
    return places, (width * columns, height * -(-len(sizes) // columns))


def _match_images_to_poses(
    recording: CaptureRecording, poses: list[Pose], markers: list[MarkerFrame]
) -> Iterator[tuple[Pose, MarkerFrame, tuple[Image | None, ...]]]:
    """Return each pose with the image of each camera nearest in time, None before a camera's first."""
    half_ns = round(0.5e9 / recording.fps)
    waiting = list(zip(poses, markers, strict=True))[::-1]
    newest: tuple[Frame | None, ...] = (None,) * len(recording.sizes)
    for frames in recording.frames():
        times_ns = [frame.t_capture_ns for frame in frames if frame is not None]
        while waiting and waiting[-1][0].t_capture_ns + half_ns < min(times_ns):
            pose, seen = waiting.pop()
            yield _pair_pose_with_images(pose, seen, newest)
        newest = tuple(new or old for new, old in zip(frames, newest, strict=True))
    for pose, seen in waiting[::-1]:
        yield _pair_pose_with_images(pose, seen, newest)


def _pair_pose_with_images(
    pose: Pose, seen: MarkerFrame, newest: tuple[Frame | None, ...]
) -> tuple[Pose, MarkerFrame, tuple[Image | None, ...]]:
    """Return a pose with the images of frames."""
    return pose, seen, tuple(None if frame is None else frame.image for frame in newest)


def _draw_view(image: Image, camera: Camera, c: int, subject: Subject, pose: Pose, seen: MarkerFrame) -> Image:
    """Draw one camera's part."""
    peak = max(float(np.percentile(image, 99.99)), 1.0)
    bright = cv2.convertScaleAbs(image, alpha=max(1.0, GAIN_TO / peak))
    view = np.asarray(cv2.resize(bright, None, fx=SCALE, fy=SCALE, interpolation=cv2.INTER_LINEAR), np.uint8)
    _, joints = compute_forward_kinematics(subject.skeleton, pose.rotvec, pose.root_m)
    _draw_bones(view, camera.project(joints))
    placed = camera.project(pose.marker_m)
    for m, name in enumerate(subject.markers.names):
        side = name.removeprefix(PREFIX)
        color = LEFT_BGR if side.startswith("left") else RIGHT_BGR if side.startswith("right") else MIDDLE_BGR
        if np.isfinite(placed[m]).all():
            cv2.drawMarker(view, _scale_to_pixel(placed[m]), color, cv2.MARKER_TILTED_CROSS, 8, 1, cv2.LINE_AA)
        if seen.seen[c, m] and subject.markers.worn[m]:
            at = _scale_to_pixel(seen.image_px[c, m])
            cv2.circle(view, at, 8, color if seen.valid[m] else ONE_VIEW_BGR, 1, cv2.LINE_AA)
            cv2.putText(view, name, (at[0] + 9, at[1] + 4), cv2.FONT_HERSHEY_SIMPLEX, 0.38, color, 1, cv2.LINE_AA)
    text = f"{pose.index}  {pose.t_capture_ns * 1e-9:.2f} s  {pose.state}"
    cv2.putText(view, text, (8, 20), cv2.FONT_HERSHEY_SIMPLEX, 0.55, STATE_BGR[pose.state], 1, cv2.LINE_AA)
    return view


def _draw_landmarks(view: Image, blobs: Blobs | None, c: int, subject: Subject, pose: Pose, seen: MarkerFrame) -> None:
    """Draw the landmarks of one camera's part, if it has any."""
    if blobs is None or blobs.landmarks is None:
        return
    told = int(pose.exchanged[c]) if len(pose.exchanged) else ABSENT
    believed = believe_landmarks(subject.markers.names, seen.seen[c].tolist(), None if told == ABSENT else Exchange(told))
    draw_landmarks(view, blobs.landmarks, believed, LANDMARK_COLORS, SCALE)


def _draw_bones(view: Image, joints_px: Floats) -> None:
    """Draw the skeleton."""
    for joint in range(1, N_JOINTS):
        ends = joints_px[[joint, PARENTS[joint]]]
        if np.isfinite(ends).all() and np.abs(ends).max() < 1e4:
            cv2.line(view, _scale_to_pixel(ends[0]), _scale_to_pixel(ends[1]), BONE_BGR, 2, cv2.LINE_AA)


def _scale_to_pixel(point: Floats) -> tuple[int, int]:
    """Return a point of the enlarged image."""
    return round(float(SCALE * np.clip(point[0], -1e4, 1e4))), round(float(SCALE * np.clip(point[1], -1e4, 1e4)))
