"""Render one image of a scene: room, body, markers, then noise of the sensor. The room is the same world in both cameras."""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from calibration.camera import Camera
from calibration.triangulate import pack_camera
from capture.sources.simulated.marker import DrawnMarkers, draw_markers
from capture.sources.simulated.rays import Cones, draw_body
from config.arrays import Bytes, Floats
from config.jit import kernel

# Half width (x), height (y) and the back wall (z) of the room [m]; the cameras look towards -z.
HALF_WIDTH_M, CEILING_M, BACK_M = 4.5, 3.2, -3.0


def compute_pixel_rays(camera: Camera, step: int = 1) -> Floats:
    """Return x/z and y/z of the centres of `step` x `step` blocks of pixels, undistorted, (h, w, 2)."""
    width, height = camera.size
    half = 0.5 * (step - 1)
    x, y = np.meshgrid(np.arange(0, width, step) + half, np.arange(0, height, step) + half)
    return camera.undistort(np.stack([x, y], axis=-1))


def render_room(camera: Camera, seed: int) -> Bytes:
    """Render the lit room without the performer, BGR (height, width, 3).

    camera: in the scene's frame (Y up, floor at 0, performer near the origin).
    """
    rays = compute_pixel_rays(camera)
    d = np.concatenate([rays, np.ones((*rays.shape[:2], 1))], axis=-1) @ camera.rotation
    o = np.clip(camera.center_m, (-HALF_WIDTH_M + 0.1, 0.1, BACK_M + 0.1), (HALF_WIDTH_M - 0.1, CEILING_M - 0.1, 1e3))
    rng = np.random.default_rng((seed, 5))
    image = _render_surfaces(o, d, rng)
    image = cv2.GaussianBlur(image, (0, 0), 0.7)
    return np.asarray(np.clip(image + 0.5, 0, 255), np.uint8)


def _render_surfaces(o: Floats, d: Floats, rng: np.random.Generator) -> Floats:
    """Return the colour of the nearest surface of the box along rays o + t d, (h, w, 3) BGR."""
    planes = ((1, 0.0, -1), (1, CEILING_M, 1), (0, -HALF_WIDTH_M, -1), (0, HALF_WIDTH_M, 1), (2, BACK_M, -1))
    distances = np.full((len(planes), *d.shape[:2]), np.inf)
    for (axis, offset, side), t in zip(planes, distances, strict=True):
        np.divide(offset - o[axis], d[..., axis], out=t, where=d[..., axis] * side > 1e-9)
    nearest, distance = distances.argmin(axis=0), distances.min(axis=0)
    hit = o + np.where(np.isfinite(distance), distance, 0.0)[..., None] * d
    image = np.full(d.shape, 90.0)
    for index, (axis, _, _) in enumerate(planes):
        seen = (nearest == index) & np.isfinite(distance)
        u, v = (hit[seen, i] for i in range(3) if i != axis)
        image[seen] = _render_floor(u, v, rng) if index == 0 else _render_wall(u, v, axis, rng)
    # Light decreases with the distance from the lamp above the performer.
    away = np.linalg.norm(hit - np.array([0.5, 2.6, 1.0]), axis=-1)
    return np.asarray(image * (0.55 + 0.75 / (1.0 + 0.12 * away**2))[..., None])


def _render_floor(x: Floats, z: Floats, rng: np.random.Generator) -> Floats:
    """Return planks 14 cm wide along z, each of its own brown; x, z (N,) [m], colours (N, 3), here and below."""
    tone = rng.uniform(0.8, 1.1, 997)
    plank = np.floor(x / 0.14).astype(np.int64)
    board = plank * 31 + np.floor((z + 0.37 * (plank % 5)) / 1.3).astype(np.int64) * 17
    gap = np.abs(x / 0.14 - plank - 0.5) > 0.47
    grain = 1.0 + 0.05 * np.sin(40.0 * x + 3.0 * np.sin(5.0 * z)) * np.sin(2.1 * z + 0.3 * plank)
    light = tone[board % 997] * grain * np.where(gap, 0.7, 1.0)
    return np.asarray(light[..., None] * np.array([70.0, 98.0, 128.0]))


def _render_wall(u: Floats, v: Floats, axis: int, rng: np.random.Generator) -> Floats:
    """Return plaster with a skirting board, pictures and a shelf of books; ceilings (axis 1) are plain."""
    stains = cv2.resize(rng.normal(0.0, 1.0, (9, 13)), (256, 256), interpolation=cv2.INTER_CUBIC)
    row = np.clip((v + 4.0) / 16.0 * 255, 0, 255).astype(np.int64)
    column = np.clip((u + 4.5) / 16.0 * 255, 0, 255).astype(np.int64)
    plaster = np.array([168.0, 176.0, 180.0]) + 5.0 * stains[row, column][..., None]
    if axis == 1:
        return np.asarray(plaster)
    # The coordinates are x, y, z without `axis`: on side walls (axis 0) height is first.
    along, height = (u, v) if axis == 2 else (v, u)
    image = np.where((height < 0.1)[..., None], np.array([110.0, 120.0, 125.0]), plaster)
    for left in rng.permutation(np.arange(-4.0, 4.0, 1.6))[:4]:
        width, bottom = rng.uniform(0.5, 1.1), rng.uniform(0.7, 1.5)
        picture = (along > left) & (along < left + width) & (height > bottom) & (height < bottom + rng.uniform(0.5, 1.0))
        color, second = rng.uniform(40, 190, 3), rng.uniform(40, 190, 3)
        wave = (np.sin(along * rng.uniform(4, 14) + 2.0 * np.sin(height * rng.uniform(3, 9))) > 0.0)[..., None]
        image = np.where(picture[..., None], np.where(wave, color, second), image)
    return np.asarray(image)


Floats32 = NDArray[np.float32]

STEP = 2  # the body is drawn at half the resolution and composed with soft edges
POOL_EXTRA = 1 << 16  # each frame reads the precomputed noise from its own offset within this many values
REFLEX = 700.0  # a retro-reflector at gain 1 is far above white, so that its middle is saturated


@dataclass(frozen=True, slots=True)
class Sensor:
    """The sensor of a camera.

    noise: standard deviation in black, grey levels; shot: photon noise, variance per grey level; gain: of the exposure;
    blur_px: standard deviation of the lens blur; dark: lights off, markers reflect.
    """

    noise: float = 1.5
    shot: float = 0.02
    gain: float = 1.0
    blur_px: float = 0.5
    dark: bool = True


@dataclass(frozen=True, slots=True)
class CameraView:
    """What one camera sees in one frame.

    path_m: positions of the markers at start, middle and end of the exposure, (3, M, 3) [m]; shown: visible share, (M,);
    seen_m: middle of the visible part at mid-exposure, (M, 3) [m]; shift_px: error of each drawn centre, (M, 2);
    body: the body's cones, None for an empty room. All in the world.
    """

    path_m: Floats
    shown: Floats
    seen_m: Floats
    shift_px: Floats
    body: Cones | None


@kernel
def compose_layer(image: Bytes, layer: Floats32, box: NDArray[np.int64]) -> None:
    """Compose a half-resolution layer (colour times cover, cover) over the image by bilinear interpolation; box in half pixels.

    The four samples about a cell surround 2 x 2 pixels, which lie a quarter and three quarters of the way across it.
    """
    height, width = layer.shape[:2]
    for row in range(max(box[2] - 1, 0), min(box[3], height - 1)):
        for column in range(max(box[0] - 1, 0), min(box[1], width - 1)):
            a, b = layer[row, column], layer[row, column + 1]
            c, d = layer[row + 1, column], layer[row + 1, column + 1]
            if a[3] + b[3] + c[3] + d[3] <= 0.0:
                continue
            for k in range(4):
                x, y = 2 * column + 1 + k % 2, 2 * row + 1 + k // 2
                wx, wy = 0.25 + 0.5 * (k % 2), 0.25 + 0.5 * (k // 2)
                wa, wb, wc, wd = (1.0 - wy) * (1.0 - wx), (1.0 - wy) * wx, wy * (1.0 - wx), wy * wx
                cover = wa * a[3] + wb * b[3] + wc * c[3] + wd * d[3]
                for i in range(3):
                    value = wa * a[i] + wb * b[i] + wc * c[i] + wd * d[i]
                    image[y, x, i] = int(min(image[y, x, i] * (1.0 - cover) + value, 255.0) + 0.5)


@kernel
def add_image_noise(image: Bytes, pool: NDArray[np.int16], noise: float, shot: float) -> None:
    """Add sqrt(noise^2 + shot * value) times the pool's unit normals (in 1/256); both flat."""
    base, slope = np.float32(noise * noise / 65536.0), np.float32(shot / 65536.0)
    half, low, high = np.float32(0.5), np.float32(0.0), np.float32(255.0)
    for k in range(image.shape[0]):
        value = np.float32(image[k])
        value += np.float32(pool[k]) * np.sqrt(base + slope * value) + half
        image[k] = np.uint8(np.int32(min(max(value, low), high)))


class Renderer:
    """Draws a performer as one camera sees them. Room, rays of the pixels and noise are computed once."""

    def __init__(
        self,
        camera: Camera,
        scene: Camera,
        sensor: Sensor,
        colors_rgb: tuple[Floats, Floats],
        seeds: tuple[int, int],
    ) -> None:
        """Prepare a camera.

        camera: in the world; scene: the same camera in the scene's frame (Y up, floor at 0); colors_rgb: of the
        body's cones (C, 3) and the markers (M, 3), 0-255; seeds: of the room (the same for both cameras) and of the noise.
        """
        self.camera, self.sensor, self._packed = camera, sensor, pack_camera(camera)
        empty = render_room(scene, seeds[0])
        if sensor.dark:  # slightly above black
            empty = np.asarray(empty * 0.02 + 1.0, np.uint8)
        self.background = np.asarray(np.clip(empty * sensor.gain + 0.5, 0, 255), np.uint8)
        self._rays = compute_pixel_rays(camera, STEP).astype(np.float32)
        self._layer = np.zeros((*self._rays.shape[:2], 4), np.float32)
        # A lamp above and beside the cameras.
        self._light = scene.rotation @ (np.array([0.3, 0.8, 0.5]) / np.sqrt(0.98))
        self._body_bgr = np.ascontiguousarray(colors_rgb[0][:, ::-1] * sensor.gain)
        markers = np.full_like(colors_rgb[1], REFLEX) if sensor.dark else colors_rgb[1]
        self._marker_bgr = np.ascontiguousarray(markers[:, ::-1] * sensor.gain)
        rng = np.random.default_rng((seeds[1], 7))
        self._pool = np.asarray(np.rint(256.0 * rng.standard_normal(empty.size + POOL_EXTRA, np.float32)), np.int16)

    def image(self, view: CameraView, radius_m: float, noise_at: int) -> Bytes:
        """Return one frame, BGR.

        Args:
            view: what the camera sees.
            radius_m: of the markers.
            noise_at: offset of the noise, any integer >= 0.
        """
        image = self.background.copy()
        if view.body is not None and not self.sensor.dark:
            self._draw_body(image, view.body)
        markers = DrawnMarkers(view.path_m, view.shown, view.seen_m, view.shift_px, radius_m, self._marker_bgr)
        draw_markers(image, self._packed, markers, self.sensor.blur_px)
        if self.sensor.noise > 0 or self.sensor.shot > 0:
            start = noise_at % POOL_EXTRA
            flat = image.reshape(-1)
            add_image_noise(flat, self._pool[start : start + len(flat)], self.sensor.noise, self.sensor.shot)
        return image

    def _draw_body(self, image: Bytes, body: Cones) -> None:
        """Draw the body at half resolution and compose it over the image."""
        cones = Cones(self.camera.to_camera(body.a), self.camera.to_camera(body.b), body.radii)
        boxes = self._boxes(body, cones)
        seen = (boxes[:, 1] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 2])
        if not seen.any():
            return
        boxes = boxes[seen]
        whole = np.array([boxes[:, 0].min(), boxes[:, 1].max(), boxes[:, 2].min(), boxes[:, 3].max()])
        draw_body(cones.selected(seen), boxes, self._rays, self._light, self._body_bgr[seen], self._layer)
        compose_layer(image, self._layer, whole)
        self._layer[whole[2] : whole[3], whole[0] : whole[1]] = 0.0

    def _boxes(self, body: Cones, cones: Cones) -> NDArray[np.int64]:
        """Return the half-pixel columns and rows each cone may touch, (C, 4); empty where it is not in front of the camera.

        body: in the world; cones: the same in the camera's frame.
        """
        n = len(body.radii)
        low, high = np.full((n, 2), np.inf), np.full((n, 2), -np.inf)
        near = np.full(n, True)
        for points, x, radius in zip(body[:2], cones[:2], body.radii.T, strict=True):
            px = self.camera.project(points)
            # The outline of a sphere spreads by at most f r / (z - r) times the obliqueness; a quarter more for the lens.
            spread = 1.25 * self.camera.focal_px * radius / np.maximum(x[:, 2] - radius, 0.05)
            spread = spread * np.linalg.norm(x, axis=1) / np.maximum(x[:, 2], 0.05) + STEP
            near &= x[:, 2] > radius + 0.05
            low = np.minimum(low, np.nan_to_num(px) - spread[:, None])
            high = np.maximum(high, np.nan_to_num(px) + spread[:, None])
        limit = np.array(self._layer.shape[1::-1])
        first = np.clip(np.floor(low / STEP), 0, limit).astype(np.int64)
        last = np.clip(np.ceil(high / STEP) + 1, 0, limit).astype(np.int64)
        last[~near] = first[~near]
        return np.stack([first[:, 0], last[:, 0], first[:, 1], last[:, 1]], axis=1)
