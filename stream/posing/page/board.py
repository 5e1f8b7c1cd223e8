"""A picture in the scene: behind the body where its camera sees it, with the joints that are clicked in it."""

import numpy as np
import viser

from config.arrays import Floats, Image
from stream.posing.document import ImagePoint, PictureView
from stream.posing.page.certainty import HELD
from stream.posing.picture import find_picture_camera, project_to_picture, undistort_picture
from stream.protocol.joints import wxyz_from_matrix

BEHIND, MIN_BEHIND_M = 1.5, 5.0  # the body's depth, and at least
CLICK_M = 0.006  # size of a click's dot, at a metre


class PictureBoard:
    """The picture of the session, or none; call it from one thread."""

    def __init__(self, scene: viser.SceneApi) -> None:
        self._scene = scene
        self._image: viser.ImageHandle | None = None
        self._dots: viser.PointCloudHandle | None = None
        self._marked: tuple[ImagePoint, ...] = ()
        self._picture: PictureView | None = None
        self._behind_m = MIN_BEHIND_M

    def hang(self, image: Image | None, picture: PictureView | None, body_m: Floats) -> None:
        """Hang a picture, (H, W, 3) RGB, behind the body at (3,) [m]; None: no picture.

        Args:
            image: (H, W, 3) RGB.
            picture: its size and camera.
            body_m: place of the body, (3,) [m].
        """
        self._remove()
        self._picture = picture
        if image is None or picture is None:
            return
        camera = find_picture_camera(picture)
        self._behind_m = max(BEHIND * float(camera.to_camera(body_m)[2]), MIN_BEHIND_M)
        width_m, height_m = self._behind_m * np.array(picture.size) / np.diag(camera.matrix)[:2]
        self._image = self._scene.add_image(
            "/picture",
            undistort_picture(image, camera),
            width_m,
            height_m,
            cast_shadow=False,
            receive_shadow=False,
            wxyz=wxyz_from_matrix(camera.rotation.T),
            position=camera.center_m + self._behind_m * camera.rotation[2],
        )

    def hides(self, body_m: Floats) -> bool:
        """Return whether the body, (3,) [m], is near the picture or behind it, which should hang farther away then."""
        return self._picture is not None and find_picture_camera(self._picture).to_camera(body_m)[2] > self._behind_m - 0.8

    def clicked_px(self, origin_m: Floats, direction: Floats) -> Floats | None:
        """Return where a ray, (3,) and (3,), meets the picture, (2,) [px]; None beside it."""
        if self._picture is None:
            return None
        camera = find_picture_camera(self._picture)
        ahead = camera.rotation[2]
        slope = float(direction @ ahead)
        distance_m = float((camera.center_m + self._behind_m * ahead - origin_m) @ ahead) / slope if abs(slope) > 1e-6 else -1.0
        seen = project_to_picture(self._picture, origin_m + distance_m * direction) if distance_m > 0.0 else None
        inside = seen is not None and bool(((seen >= -0.5) & (seen <= np.array(self._picture.size) - 0.5)).all())
        return seen if inside else None

    def mark(self, image_points: tuple[ImagePoint, ...]) -> None:
        """Mark points of the picture [px]."""
        if image_points == self._marked:
            return
        self._marked = image_points
        if self._dots is not None:
            self._dots.remove()
            self._dots = None
        if image_points and self._picture is not None:
            camera = find_picture_camera(self._picture)
            rays = camera.rays(np.array(image_points))
            depth_m = 0.98 * self._behind_m
            self._dots = self._scene.add_point_cloud(
                "/clicks",
                camera.center_m + depth_m * rays @ camera.rotation,
                np.tile(np.array(HELD, np.uint8), (len(rays), 1)),
                point_size=CLICK_M * depth_m,
                point_shape="circle",
            )

    def _remove(self) -> None:
        """Take the picture down, with its marks."""
        for part in (self._image, self._dots):
            if part is not None:
                part.remove()
        self._image = self._dots = None
        self._marked = ()


def compute_whole_fov_rad(picture: PictureView, aspect: float) -> float:
    """Return the vertical field of view of a page, width to height `aspect`, that shows a whole picture from its camera."""
    K, (width, height) = find_picture_camera(picture).matrix, picture.size
    return 2.0 * float(np.arctan(max(0.5 * height / K[1, 1], 0.5 * width / K[0, 0] / aspect)))
