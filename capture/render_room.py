"""The room behind the performer: planks on the floor, walls with pictures, a door; the same world in both cameras."""

import cv2
import numpy as np
from numpy.typing import NDArray

from calibration.camera import Camera
from database.rotations import Floats

Bytes = NDArray[np.uint8]
# Half width (x), height (y) and the back wall (z) of the room [m]; the cameras look towards -z.
HALF_WIDTH_M, CEILING_M, BACK_M = 4.5, 3.2, -3.0


def pixel_rays(camera: Camera, step: int = 1) -> Floats:
    """Give x/z and y/z of the centres of `step` x `step` blocks of pixels, distortion undone, (h, w, 2)."""
    width, height = camera.size
    half = 0.5 * (step - 1)
    x, y = np.meshgrid(np.arange(0, width, step) + half, np.arange(0, height, step) + half)
    return camera.undistort(np.stack([x, y], axis=-1))


def room(camera: Camera, seed: int) -> Bytes:
    """Render the lit room without the performer, BGR (height, width, 3).

    camera: in the scene's frame (Y up, floor at 0, performer near the origin).
    """
    rays = pixel_rays(camera)
    d = np.concatenate([rays, np.ones((*rays.shape[:2], 1))], axis=-1) @ camera.rotation
    o = np.clip(camera.center_m, (-HALF_WIDTH_M + 0.1, 0.1, BACK_M + 0.1), (HALF_WIDTH_M - 0.1, CEILING_M - 0.1, 1e3))
    rng = np.random.default_rng((seed, 5))
    image = _surfaces(o, d, rng)
    image = cv2.GaussianBlur(image, (0, 0), 0.7)
    return np.asarray(np.clip(image + 0.5, 0, 255), np.uint8)


def dark_room(camera: Camera, seed: int) -> Bytes:
    """Render what is left of the room with the lights off: a trace above black, BGR."""
    return np.asarray(room(camera, seed) * 0.02 + 1.0, np.uint8)


def _surfaces(o: Floats, d: Floats, rng: np.random.Generator) -> Floats:
    """Give the colour of the nearest surface of the box along rays o + t d, (h, w, 3) BGR."""
    planes = ((1, 0.0, -1), (1, CEILING_M, 1), (0, -HALF_WIDTH_M, -1), (0, HALF_WIDTH_M, 1), (2, BACK_M, -1))
    distance = np.full(d.shape[:2], np.inf)
    image = np.full(d.shape, 90.0)
    for index, (axis, place, side) in enumerate(planes):
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(d[..., axis] * side > 1e-9, (place - o[axis]) / d[..., axis], np.inf)
        nearer = t < distance
        distance = np.where(nearer, t, distance)
        hit = o + np.where(np.isfinite(t), t, 0.0)[..., None] * d
        u, v = (hit[..., i] for i in range(3) if i != axis)
        paint = _floor(u, v, rng) if index == 0 else _wall(u, v, axis, rng)
        image = np.where(nearer[..., None], paint, image)
    # Light falls off from the lamp above the performer.
    hit = o + np.where(np.isfinite(distance), distance, 0.0)[..., None] * d
    away = np.linalg.norm(hit - np.array([0.5, 2.6, 1.0]), axis=-1)
    return np.asarray(image * (0.55 + 0.75 / (1.0 + 0.12 * away**2))[..., None])


def _floor(x: Floats, z: Floats, rng: np.random.Generator) -> Floats:
    """Give planks 14 cm wide along z, each of its own brown."""
    tone = rng.uniform(0.8, 1.1, 997)
    plank = np.floor(x / 0.14).astype(np.int64)
    board = plank * 31 + np.floor((z + 0.37 * (plank % 5)) / 1.3).astype(np.int64) * 17
    gap = np.abs(x / 0.14 - plank - 0.5) > 0.47
    grain = 1.0 + 0.05 * np.sin(40.0 * x + 3.0 * np.sin(5.0 * z)) * np.sin(2.1 * z + 0.3 * plank)
    light = tone[board % 997] * grain * np.where(gap, 0.7, 1.0)
    return np.asarray(light[..., None] * np.array([70.0, 98.0, 128.0]))


def _wall(u: Floats, v: Floats, axis: int, rng: np.random.Generator) -> Floats:
    """Give plaster with a skirting board, pictures and a shelf of books; ceilings (axis 1) are plain."""
    stains = cv2.resize(rng.normal(0.0, 1.0, (9, 13)), (256, 256), interpolation=cv2.INTER_CUBIC)
    row = np.clip((v + 4.0) / 16.0 * 255, 0, 255).astype(np.int64)
    column = np.clip((u + 4.5) / 16.0 * 255, 0, 255).astype(np.int64)
    plaster = np.array([168.0, 176.0, 180.0]) + 5.0 * stains[row, column][..., None]
    if axis == 1:
        return np.asarray(plaster)
    # The kept coordinates come in the order x, y, z without `axis`: on side walls (axis 0) height comes first.
    along, height = (u, v) if axis == 2 else (v, u)
    image = np.where((height < 0.1)[..., None], np.array([110.0, 120.0, 125.0]), plaster)
    for left in rng.permutation(np.arange(-4.0, 4.0, 1.6))[:4]:
        width, bottom = rng.uniform(0.5, 1.1), rng.uniform(0.7, 1.5)
        picture = (along > left) & (along < left + width) & (height > bottom) & (height < bottom + rng.uniform(0.5, 1.0))
        color, second = rng.uniform(40, 190, 3), rng.uniform(40, 190, 3)
        wave = (np.sin(along * rng.uniform(4, 14) + 2.0 * np.sin(height * rng.uniform(3, 9))) > 0.0)[..., None]
        image = np.where(picture[..., None], np.where(wave, color, second), image)
    return np.asarray(image)
