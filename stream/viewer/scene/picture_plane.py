"""The picture of a camera as a plane behind the body, seen from that camera: where the body lies on the picture of the performer.

The picture is without the lens's distortion, and is mixed with the colour of the floor, which is hidden meanwhile: nothing is
behind the plane, so that it looks as if it were translucent.
"""

from dataclasses import dataclass

import cv2
import numpy as np
import viser

from calibration.camera import Camera
from config.arrays import Floats, Image
from stream.protocol.joints import wxyz_from_matrix
from stream.viewer.scene.colors import Color

BEHIND_M = 2.5  # farther from the camera than the performer, so that no limb reaches through it
STEP_M = 0.5  # by which the plane follows who walks towards it
WIDTH_PX = 960
PICTURE = 0.8  # of the picture in the mix, at first


@dataclass(frozen=True, slots=True)
class PicturePlane:
    """A plane that fills the view of a camera at a depth.

    Attributes:
        width_m, height_m: its size.
        wxyz: rotation from camera to world.
        position_m: its middle, (3,).
    """

    width_m: float
    height_m: float
    wxyz: Floats
    position_m: Floats


def compute_picture_plane(camera: Camera, depth_m: float) -> PicturePlane:
    """Return where the picture of a camera without distortion lies at a depth; the principal point is on the camera's axis."""
    width, height = camera.size
    fx, fy, cx, cy = camera.matrix[0, 0], camera.matrix[1, 1], camera.matrix[0, 2], camera.matrix[1, 2]
    middle = depth_m * np.array([(0.5 * width - cx) / fx, (0.5 * height - cy) / fy, 1.0])
    position_m = camera.center_m + camera.rotation.T @ middle
    return PicturePlane(depth_m * width / fx, depth_m * height / fy, wxyz_from_matrix(camera.rotation.T), position_m)


def compute_undistortion(camera: Camera, size: tuple[int, int]) -> Floats:
    """Return where each pixel of a picture without distortion is in the camera's own, (h, w, 2) float32 [px of that size]."""
    width, height = size
    scale = width / camera.size[0]
    u, v = np.meshgrid((np.arange(width) + 0.5) / scale - 0.5, (np.arange(height) + 0.5) / scale - 0.5)
    x = (u - camera.matrix[0, 2]) / camera.matrix[0, 0]
    y = (v - camera.matrix[1, 2]) / camera.matrix[1, 1]
    rays = np.stack([x, y, np.ones_like(x)], axis=-1).reshape(-1, 3)
    pixels = camera.project(camera.center_m + rays @ camera.rotation)
    return ((pixels + 0.5) * scale - 0.5).reshape(height, width, 2).astype(np.float32)


class PictureBehind:
    """The plane of one camera, shown while the page looks through it; call it from one thread.

    camera: number of the camera that is looked through, None: no plane; share: of the picture in the mix, 0 to 1.
    """

    def __init__(self, scene: viser.SceneApi, name: str) -> None:
        self._scene, self._name = scene, name
        self._node: viser.ImageHandle | None = None
        self._maps: tuple[Camera, tuple[int, int], Floats] | None = None
        self._depth_m = 0.0
        self._shown: tuple[int, float, Color] | None = None
        self.camera: int | None = None
        self.share = PICTURE

    def hide(self) -> None:
        """Look through no camera."""
        self.camera, self._shown = None, None
        if self._node is not None:
            self._node.remove()
            self._node = None

    def show(self, image: Image, camera: Camera, root_m: Floats, ground: Color) -> None:
        """Show a picture of the camera.

        Args:
            image: BGR.
            camera: camera that took it.
            root_m: place of the performer, (3,) world [m].
            ground: colour that the picture is mixed with.
        """
        shown = (id(image), self.share, ground)
        if shown == self._shown:
            return
        self._shown = shown
        size = (min(image.shape[1], WIDTH_PX), round(min(image.shape[1], WIDTH_PX) * image.shape[0] / image.shape[1]))
        if self._maps is None or self._maps[0] is not camera or self._maps[1] != size:
            self._maps = (camera, size, compute_undistortion(camera, size))
        small = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
        plain = cv2.remap(small, self._maps[2], None, cv2.INTER_LINEAR, borderValue=ground[::-1])
        mixed = self.share * plain[..., ::-1] + (1.0 - self.share) * np.array(ground)
        self._place(np.ascontiguousarray(mixed.astype(np.uint8)), camera, root_m)

    def _place(self, picture: Image, camera: Camera, root_m: Floats) -> None:
        """Update the plane; another one is made where it has to be elsewhere."""
        depth_m = float((camera.rotation @ (root_m - camera.center_m))[2]) + BEHIND_M
        if self._node is not None and abs(depth_m - self._depth_m) < STEP_M:
            self._node.image = picture
            return
        if self._node is not None:
            self._node.remove()
        self._depth_m, plane = depth_m, compute_picture_plane(camera, depth_m)
        self._node = self._scene.add_image(
            self._name,
            picture,
            plane.width_m,
            plane.height_m,
            format="jpeg",
            jpeg_quality=80,
            cast_shadow=False,
            receive_shadow=False,
            wxyz=plane.wxyz,
            position=plane.position_m,
        )
