"""The cameras of a run in the scene, as frustums; and their newest pictures with the detections drawn in.

Pictures are not on the frustums, where they would stand between the user and the performer, but beside the scene, and behind the
body for who looks through a camera (`picture_plane`).

Distortion is ignored for the frustums and applied where points are drawn on a picture.
"""

from dataclasses import dataclass

import cv2
import numpy as np
import viser

from calibration.camera import Camera
from config.arrays import Floats, Image
from config.settings import CAMERA_NAMES
from reconstruct.pose import TrackingState
from stream.protocol.joints import compute_pose_joints, wxyz_from_matrix
from stream.protocol.messages import PoseMessage, RigMessage, SkeletonMessage, StatusMessage
from stream.viewer.scene.colors import (
    CAMERA_COLORS,
    DARK,
    EXCHANGED,
    Color,
    choose_marker_color,
)
from stream.viewer.scene.framing import camera_from_reading
from stream.viewer.videos import SeenPicture
from stream.web.landmarks import LandmarkColors, believe_pose_landmarks, draw_landmarks
from stream.web.picture import brighten_picture, is_drawable, round_to_pixel
from stream.web.preview import CameraPreview

FRUSTUM_M = 0.28
NAME_UP_M = 0.16  # above a camera
THICKNESS_PX = 2.0
DETECTION: Color = (255, 255, 255)
LANDMARK_COLORS = LandmarkColors(DARK.left, DARK.right, DARK.middle, EXCHANGED)


@dataclass(frozen=True, slots=True)
class Frustum:
    """The view of a camera in the world.

    Attributes:
        fov_rad: vertical field of view [rad].
        wxyz: quaternion of the rotation from camera to world.
        position_m: optical centre, (3,) [m].
    """

    fov_rad: float
    aspect: float
    wxyz: Floats
    position_m: Floats


def frustum_from_camera(camera: Camera) -> Frustum:
    """Return the frustum of a camera: fov = 2 atan(h / 2 f_y); of a fisheye its whole field of view from top to bottom."""
    width, height = camera.size
    fov_rad = 2.0 * float(np.arctan2(0.5 * height, camera.matrix[1, 1]))
    if camera.fisheye:
        edges = camera.undistort([(camera.matrix[0, 2], 0.0), (camera.matrix[0, 2], height - 1.0)])
        fov_rad = float(np.ptp(np.arctan(edges[:, 1])))
    return Frustum(fov_rad, width / height, wxyz_from_matrix(camera.rotation.T), camera.center_m)


class Cameras:
    """The cameras of one rig below the scene node `prefix`, with previews while they are wanted; call it from one thread."""

    def __init__(self, scene: viser.SceneApi, prefix: str, rig: RigMessage) -> None:
        self._cameras = [camera_from_reading(reading) for reading in rig.cameras]
        self._names = CAMERA_NAMES[: len(self._cameras)]
        self._nodes: list[viser.CameraFrustumHandle] = []
        self._labels: list[viser.LabelHandle] = []
        for camera, name, color in zip(self._cameras, self._names, CAMERA_COLORS, strict=False):
            frustum = frustum_from_camera(camera)
            label_m = frustum.position_m + [0.0, NAME_UP_M, 0.0]
            label = scene.add_label(
                f"{prefix}/{name}_name", name, position=label_m, font_screen_scale=0.8, anchor="bottom-center"
            )
            self._labels.append(label)
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
                    position=frustum.position_m,
                    cast_shadow=False,
                    receive_shadow=False,
                )
            )
        self._addresses: list[object] = [""] * len(self._nodes)
        self._previews = [CameraPreview() for _ in self._nodes]
        self._pictures = False

    def update_status(self, status: StatusMessage) -> None:
        """Take the addresses of the previews from a status."""
        self._addresses = [status.camera(name).get("preview") for name in self._names]
        self._subscribe()

    def __len__(self) -> int:
        return len(self._cameras)

    @property
    def n_malformed(self) -> int:
        """Number of addresses and previews that were refused."""
        return sum(preview.n_malformed for preview in self._previews)

    def show(self, on: bool) -> None:
        """Show the cameras or hide them."""
        for node in (*self._nodes, *self._labels):
            node.visible = on

    def want_pictures(self, wanted: bool) -> None:
        """Have the cameras send pictures, or no longer: they encode none then."""
        if wanted != self._pictures:
            self._pictures = wanted
            self._subscribe()

    def update(self) -> bool:
        """Take the pictures that have come, without waiting; return whether there were any."""
        return sum(preview.poll() for preview in self._previews) > 0

    def camera(self, n: int) -> Camera:
        """Return a camera by its number."""
        return self._cameras[n]

    def plain_picture(self, n: int) -> Image | None:
        """Return the newest picture of camera n as it came, BGR; None without one."""
        newest = self._previews[n].newest
        return None if newest is None else newest[1]

    def picture(self, n: int, skeleton: SkeletonMessage | None = None, pose: PoseMessage | None = None) -> Image | None:
        """Return the newest picture of camera n, RGB (h, w, 3), with the detections drawn in; None without one.

        Args:
            n: number of the camera.
            skeleton: skeleton of the pose; None to draw no body.
            pose: pose to draw.
        """
        newest = self._previews[n].newest
        if newest is None:
            return None
        preview, image = newest
        points_px = preview.points_px * (image.shape[1] / preview.size[0])
        return self.draw_on(SeenPicture(image, points_px, preview.landmarks), n, skeleton, pose)

    def draw_on(self, shown: SeenPicture, n: int, skeleton: SkeletonMessage | None, pose: PoseMessage | None) -> Image:
        """Draw a pose, and what was found, on a picture of camera n; RGB out.

        Args:
            shown: the picture.
            n: number of the camera.
            skeleton: skeleton of the pose.
            pose: pose to draw; None: none.
        """
        canvas = draw_overlay(shown.image, shown.points_px, self._cameras[n], skeleton, pose)
        if shown.landmarks is not None and pose is not None:
            scale = shown.image.shape[1] / self._cameras[n].size[0]
            draw_landmarks(canvas, shown.landmarks, believe_pose_landmarks(pose, n), LANDMARK_COLORS, scale)
        return canvas

    def remove(self) -> None:
        """Remove the cameras from the scene and unsubscribe."""
        self.want_pictures(False)
        for node in (*self._nodes, *self._labels):
            node.remove()

    def _subscribe(self) -> None:
        """Subscribe to the previews while they are wanted."""
        for preview, address in zip(self._previews, self._addresses, strict=True):
            preview.subscribe(address if self._pictures else "")


def draw_overlay(
    image: Image, points_px: Floats, camera: Camera, skeleton: SkeletonMessage | None = None, pose: PoseMessage | None = None
) -> Image:
    """Draw blobs, skeleton and markers on a picture: BGR in, RGB out.

    Args:
        image: BGR.
        points_px: detections in the picture, (N, 2).
        camera: camera that took the picture.
        skeleton: skeleton of the pose; None to draw no body.
        pose: pose to draw.
    """
    canvas = np.ascontiguousarray(brighten_picture(image)[..., ::-1])
    scale = image.shape[1] / camera.size[0]
    if skeleton is not None and pose is not None and pose.hash == skeleton.hash and pose.state is not TrackingState.LOST:
        _draw_bones(canvas, skeleton, camera.project(compute_pose_joints(skeleton, pose).position_m) * scale)
        if pose.markers:
            markers_px = camera.project(np.array([marker.xyz for marker in pose.markers])) * scale
            for marker, point in zip(pose.markers, markers_px, strict=True):
                if is_drawable(point):
                    cv2.drawMarker(
                        canvas, round_to_pixel(point), choose_marker_color(marker), cv2.MARKER_TILTED_CROSS, 7, 1, cv2.LINE_AA
                    )
    for point in points_px:
        if is_drawable(point):
            cv2.circle(canvas, round_to_pixel(point), 6, DETECTION, 1, cv2.LINE_AA)
    return canvas


def _draw_bones(canvas: Image, skeleton: SkeletonMessage, joints_px: Floats) -> None:
    """Draw the skeleton, left and right in their colours."""
    for joint, parent in enumerate(skeleton.parents):
        if parent >= 0 and is_drawable(joints_px[joint]) and is_drawable(joints_px[parent]):
            color = DARK.side(skeleton.names[joint])
            cv2.line(canvas, round_to_pixel(joints_px[joint]), round_to_pixel(joints_px[parent]), color, 1, cv2.LINE_AA)
