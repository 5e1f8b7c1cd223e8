"""A picture to pose after, how a session keeps it, and its camera: until it is solved or chosen, one in front of the body."""

from dataclasses import replace

import cv2
import numpy as np

from calibration.camera import Camera
from calibration.placement import intrinsics_from_fov, make_camera_looking_at
from config.arrays import Floats, Image
from stream.posing.document import PictureFile, PictureView, PosingError

DISTANCE_M, HEIGHT_M = 4.0, 1.2
TARGET_M = (0.0, 0.95, 0.0)
MIN_SIDE_PX, MAX_SIDE_PX = 16, 20_000
SHOWN_PX = 1600  # a larger picture is shown smaller
MAX_BYTES = 100_000_000
MAX_KEPT_BYTES = 2_000_000  # of a file that a session keeps as it is; a larger one is kept as it is shown
JPEG_QUALITIES = (90, 75, 50)
NEAR_M = 0.05


def decode_picture(content: bytes, name: str) -> Image:
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


def shrink_picture(image: Image) -> Image:
    """Return a picture small enough for a page."""
    scale = SHOWN_PX / max(image.shape[:2])
    if scale >= 1.0:
        return image
    return np.asarray(cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA), np.uint8)


def pack_picture_file(content: bytes, name: str, shown: Image) -> PictureFile:
    """Return what a session keeps of a picture: the bytes of its file, or of one that is too large a JPEG as it is shown.

    Args:
        content: content of the file.
        name: name of the file.
        shown: the picture as it is shown, (H, W, 3) RGB.
    """
    for quality in JPEG_QUALITIES:
        if len(content) <= MAX_KEPT_BYTES:
            break
        content = cv2.imencode(".jpg", shown[..., ::-1], (cv2.IMWRITE_JPEG_QUALITY, quality))[1].tobytes()
    return PictureFile(name, content)


def unpack_picture(picture: PictureView) -> Image | None:
    """Return the picture that a session keeps, as it is shown, (H, W, 3) RGB, or None. Raises PosingError: damaged."""
    if picture.file is None:
        return None
    image = shrink_picture(decode_picture(picture.file.content, picture.file.name))
    size = image.shape[1], image.shape[0]
    if size != picture.size:
        raise PosingError(f"the picture in it has {size[0]}x{size[1]} px, expected {picture.size[0]}x{picture.size[1]}")
    return image


def find_picture_camera(picture: PictureView) -> Camera:
    """Return the camera of a picture; until it is solved or chosen, one of its field of view that looks at who stands at the
    origin.
    """
    if picture.camera is not None:
        return picture.camera
    matrix = intrinsics_from_fov(picture.size, picture.fov_deg)
    return make_camera_looking_at("by hand", picture.size, matrix, (0.0, HEIGHT_M, DISTANCE_M), TARGET_M)


def remove_lens_distortion(camera: Camera) -> Camera:
    """Return the camera without distortion whose image centre is on its axis, as pages draw it."""
    K, (width, height) = camera.matrix.copy(), camera.size
    K[0, 2], K[1, 2] = 0.5 * (width - 1), 0.5 * (height - 1)
    return replace(camera, matrix=K, distortions=np.zeros(5), fisheye=False)


def undistort_picture(image: Image, camera: Camera) -> Image:
    """Return a picture as the camera `remove_lens_distortion` would have taken it, (H, W, 3)."""
    drawn = remove_lens_distortion(camera)
    if camera.fisheye:
        return np.asarray(cv2.fisheye.undistortImage(image, camera.matrix, camera.distortions, None, drawn.matrix), np.uint8)
    if not camera.distortions.any() and np.allclose(drawn.matrix, camera.matrix):
        return image
    return np.asarray(cv2.undistort(image, camera.matrix, camera.distortions, None, drawn.matrix), np.uint8)


def project_to_picture(picture: PictureView, point_m: Floats) -> Floats | None:
    """Return where a point, (3,) [m], is seen, (2,) [px]; None behind the camera."""
    camera = find_picture_camera(picture)
    if camera.to_camera(point_m[None])[0, 2] < NEAR_M:
        return None
    return np.asarray(camera.project(point_m[None])[0])
