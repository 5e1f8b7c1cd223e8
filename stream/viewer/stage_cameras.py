"""The cameras of a run in the scene, as frustums with their newest pictures; and those pictures with what was found drawn on.

Distortion is ignored for the frustums and counted where points are drawn on a picture.
"""

from contextlib import nullcontext
from dataclasses import dataclass

import cv2
import numpy as np
import viser
from numpy.typing import NDArray

from calibration.camera import Camera
from capture.preview import PreviewSubscriber
from capture.preview_picture import Preview
from capture.wire import MalformedMessageError
from config.cameras import CAMERAS
from database.rotations import Floats, matrix_from_rotvec
from stream.joints import joints_of, wxyz_from_matrix
from stream.messages import CameraReading, PoseMessage, RigMessage, SkeletonMessage, StatusMessage
from stream.viewer.stage_colors import LEFT, RIGHT, Color, marker_color, side_color
from stream.viewer.stage_pose import Atomic

Image = NDArray[np.uint8]
COLORS: tuple[Color, Color] = (LEFT, RIGHT)
FRUSTUM_M = 0.28
THICKNESS_PX = 2.0
BRIGHT_TO = 200.0  # pictures of dark rooms are brightened until their brightest pixels are here
MAX_GAIN = 8.0
DETECTION: Color = (255, 255, 255)
FAR_PX = 1e5


def camera_of(reading: CameraReading) -> Camera:
    """Give a camera as the stream describes it."""
    rotation = matrix_from_rotvec(reading.rotation)
    arrays = [np.array(a, float) for a in (reading.matrix, reading.distortions, rotation, reading.translation)]
    return Camera(reading.name, reading.size, *arrays)


@dataclass(frozen=True, slots=True)
class Frustum:
    """How a camera stands in the world. fov_rad: vertical; wxyz: camera to world."""

    fov_rad: float
    aspect: float
    wxyz: Floats
    place_m: Floats


def frustum_of(camera: Camera) -> Frustum:
    """Give the frustum of a camera: fov = 2 atan(h / 2 f_y)."""
    width, height = camera.size
    fov_rad = 2.0 * float(np.arctan2(0.5 * height, camera.matrix[1, 1]))
    return Frustum(fov_rad, width / height, wxyz_from_matrix(camera.rotation.T), camera.center_m)


class Cameras:
    """The cameras of one rig below the scene node `prefix`, with previews while they are wanted; call it from one thread."""

    def __init__(self, scene: viser.SceneApi, prefix: str, rig: RigMessage, atomic: Atomic = nullcontext) -> None:
        self._atomic = atomic
        self._cameras = [camera_of(reading) for reading in rig.cameras[: len(CAMERAS)]]
        self._nodes: list[viser.CameraFrustumHandle] = []
        for camera, name, color in zip(self._cameras, CAMERAS, COLORS, strict=False):
            frustum = frustum_of(camera)
            self._nodes.append(
                scene.add_camera_frustum(
                    f"{prefix}/{name}",
                    fov=frustum.fov_rad,
                    aspect=frustum.aspect,
                    scale=FRUSTUM_M,
                    thickness=THICKNESS_PX,
                    thickness_units="screen",
                    color=color,
                    wxyz=frustum.wxyz,
                    position=frustum.place_m,
                    cast_shadow=False,
                    receive_shadow=False,
                )
            )
        self._addresses = [""] * len(self._nodes)
        self._previews: list[PreviewSubscriber | None] = [None] * len(self._nodes)
        self._newest: list[tuple[Preview, Image] | None] = [None] * len(self._nodes)
        self._on = True
        self._pictures = False
        self.n_malformed = 0

    def status(self, status: StatusMessage) -> None:
        """Learn from the stream where the previews are."""
        for n in range(len(self._nodes)):
            address = status.cameras.get(CAMERAS[n], {}).get("preview", "")
            if isinstance(address, str) and address != self._addresses[n]:
                self._addresses[n] = address
                self._look(n)

    @property
    def on(self) -> bool:
        """Whether the cameras are to be seen."""
        return self._on

    @on.setter
    def on(self, on: bool) -> None:
        self._on = on
        for node in self._nodes:
            node.visible = on

    @property
    def pictures(self) -> bool:
        """Whether their pictures are wanted; while they are not the cameras encode nothing."""
        return self._pictures

    @pictures.setter
    def pictures(self, wanted: bool) -> None:
        if wanted != self._pictures:
            self._pictures = wanted
            for n, node in enumerate(self._nodes):
                self._look(n)
                if not wanted:
                    node.image = None

    def turn(self) -> bool:
        """Take what pictures came and hang them into the scene; tell whether there were any. Never waits."""
        came = [n for n, subscriber in enumerate(self._previews) if subscriber is not None and self._take(n, subscriber)]
        with self._atomic():
            for n in came:
                newest = self._newest[n]
                if newest is not None and self._on:
                    self._nodes[n].image = np.ascontiguousarray(brightened(newest[1])[..., ::-1])
        return bool(came)

    def picture(self, n: int, skeleton: SkeletonMessage | None = None, pose: PoseMessage | None = None) -> Image | None:
        """Give the newest picture of camera n (0 left), RGB (h, w, 3), with what was found drawn on; None without one."""
        newest = self._newest[n] if n < len(self._newest) else None
        if newest is None:
            return None
        return drawn(newest[1], newest[0], self._cameras[n], skeleton, pose)

    def remove(self) -> None:
        """Take the cameras out of the scene and stop looking."""
        self.pictures = False
        for node in self._nodes:
            node.remove()

    def _look(self, n: int) -> None:
        """Begin or cease to look at the previews of one camera."""
        subscriber, self._previews[n] = self._previews[n], None
        if subscriber is not None:
            subscriber.close()
        if self._pictures and self._addresses[n]:
            try:
                self._previews[n] = PreviewSubscriber(self._addresses[n])
            except MalformedMessageError:
                self.n_malformed += 1
        else:
            self._newest[n] = None

    def _take(self, n: int, subscriber: PreviewSubscriber) -> bool:
        """Take the newest picture of one camera."""
        preview = subscriber.newest()
        if preview is None:
            return False
        try:
            self._newest[n] = preview, preview.image()
        except MalformedMessageError:
            self.n_malformed += 1
            return False
        return True


def brightened(image: Image) -> Image:
    """Give a picture bright enough to see something in: as it is, or multiplied where all of it is dark."""
    peak = max(float(np.percentile(image[::2, ::2], 99.9)), 1.0)
    gain = min(max(1.0, BRIGHT_TO / peak), MAX_GAIN)
    return image if gain == 1.0 else np.asarray(cv2.convertScaleAbs(image, alpha=gain), np.uint8)


def drawn(
    image: Image, preview: Preview, camera: Camera, skeleton: SkeletonMessage | None = None, pose: PoseMessage | None = None
) -> Image:
    """Draw blobs, skeleton and markers on a picture: BGR in, RGB out."""
    canvas = np.ascontiguousarray(brightened(image)[..., ::-1])
    scale = image.shape[1] / preview.size[0]
    if skeleton is not None and pose is not None and pose.hash == skeleton.hash and pose.state != "lost":
        _draw_bones(canvas, skeleton, camera.project(joints_of(skeleton, pose).place_m) * scale)
        if pose.markers:
            places_px = camera.project(np.array([marker.xyz for marker in pose.markers])) * scale
            for marker, place in zip(pose.markers, places_px, strict=True):
                if _within(place):
                    cv2.drawMarker(canvas, _pixel(place), marker_color(marker), cv2.MARKER_TILTED_CROSS, 7, 1, cv2.LINE_AA)
    for point in preview.points_px * scale:
        if _within(point):
            cv2.circle(canvas, _pixel(point), 6, DETECTION, 1, cv2.LINE_AA)
    return canvas


def _draw_bones(canvas: Image, skeleton: SkeletonMessage, joints_px: Floats) -> None:
    """Draw the skeleton, each side in its colour."""
    for joint, parent in enumerate(skeleton.parents):
        if parent >= 0 and _within(joints_px[joint]) and _within(joints_px[parent]):
            color = side_color(skeleton.names[joint])
            cv2.line(canvas, _pixel(joints_px[joint]), _pixel(joints_px[parent]), color, 1, cv2.LINE_AA)


def _within(point: Floats) -> bool:
    """Whether a point can be drawn at all."""
    return bool(np.isfinite(point).all() and np.abs(point).max() < FAR_PX)


def _pixel(point: Floats) -> tuple[int, int]:
    """Give the pixel of a point."""
    return round(float(point[0])), round(float(point[1]))
