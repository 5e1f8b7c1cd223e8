"""A picture to pose after, and the camera that is taken to have taken it: in front of the body, its lens without distortion."""

import cv2
import numpy as np

from calibration.camera import Camera
from calibration.placement import intrinsics_from_fov, looking_at
from config.arrays import Floats, Image
from stream.posing.document import PictureView, PosingError

DISTANCE_M, HEIGHT_M = 4.0, 1.2
TARGET_M = (0.0, 0.95, 0.0)
MIN_SIDE_PX, MAX_SIDE_PX = 16, 20_000
SHOWN_PX = 1600  # a larger picture is shown smaller
MAX_BYTES = 100_000_000


def picture_from_bytes(content: bytes, name: str) -> Image:
    """Return a picture of a file's bytes, (H, W, 3) RGB. Raises PosingError: it is none, or too small or large."""
    image = None
    if 0 < len(content) <= MAX_BYTES:
        try:
            image = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR)
        except cv2.error:
            image = None
    if image is None:
        raise PosingError(f"{name}: not a picture that can be read; give a PNG or a JPEG")
    height, width = image.shape[:2]
    if min(width, height) < MIN_SIDE_PX or max(width, height) > MAX_SIDE_PX:
        raise PosingError(f"{name}: {width}x{height} pixels; expected {MIN_SIDE_PX} to {MAX_SIDE_PX} each way")
    return np.ascontiguousarray(image[..., ::-1])


def shown_picture(image: Image) -> Image:
    """Return a picture small enough for a page."""
    scale = SHOWN_PX / max(image.shape[:2])
    if scale >= 1.0:
        return image
    return np.asarray(cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA), np.uint8)


def picture_camera(picture: PictureView) -> Camera:
    """Return the camera of a picture: its focal length is that of the field of view, and it looks at who stands at the origin."""
    matrix = intrinsics_from_fov(picture.size, picture.fov_deg)
    return looking_at("picture", picture.size, matrix, (0.0, HEIGHT_M, DISTANCE_M), TARGET_M)


def in_picture(picture: PictureView, point_m: Floats) -> Floats | None:
    """Return where a point, (3,) [m], is seen, (2,) [px]; None behind the camera."""
    camera = picture_camera(picture)
    if camera.to_camera(point_m[None])[0, 2] < 0.05:
        return None
    return np.asarray(camera.project(point_m[None])[0])
