"""One image of a scene: background, body, markers, then what the sensor does to it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibration.camera import Camera
from capture.render_marker import draw_marker, ellipse_covariance
from capture.render_rays import draw_body
from capture.render_room import dark_room, pixel_rays, room
from config.jit import kernel
from database.rotations import Floats

Bytes = NDArray[np.uint8]
Floats32 = NDArray[np.float32]

STEP = 2  # the body is drawn at half the resolution and laid over the image with soft edges
POOL_EXTRA = 1 << 16  # each frame reads the ready-made noise from a place of its own within this many values
REFLEX = 700.0  # a retro-reflector at gain 1 is far above white, so that its middle is saturated


@dataclass(frozen=True, slots=True)
class Sensor:
    """What a camera adds to the picture.

    noise: standard deviation in black, grey levels; shot: photon noise, variance per grey level; gain: exposure, 1 is right;
    blur_px: standard deviation of the lens blur; dark: lights off, markers reflect.
    """

    noise: float = 1.5
    shot: float = 0.02
    gain: float = 1.0
    blur_px: float = 0.5
    dark: bool = True


@dataclass(frozen=True, slots=True)
class View:
    """What one camera sees at one moment.

    path_m: places of the markers at start, middle and end of the exposure, (3, M, 3) [m]; shown: visible share, (M,);
    seen_m: middle of the visible part at mid-exposure, (M, 3) [m]; shift_px: error of each drawn centre, (M, 2);
    body: ends of the body's round cones, (C, 3) each [m], None for an empty room. All in the world.
    """

    path_m: Floats
    shown: Floats
    seen_m: Floats
    shift_px: Floats
    body: tuple[Floats, Floats] | None


@kernel
def _lay_over(image: Bytes, layer: Floats32, box: NDArray[np.int64]) -> None:
    """Lay a half-resolution layer (colour times cover, cover) over the image by bilinear interpolation; box in half pixels.

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
def _add_noise(image: Bytes, pool: NDArray[np.int16], noise: float, shot: float) -> None:
    """Add sqrt(noise^2 + shot * value) times the pool's unit normals (in 1/256); both flat."""
    base, slope = np.float32(noise * noise / 65536.0), np.float32(shot / 65536.0)
    half, low, high = np.float32(0.5), np.float32(0.0), np.float32(255.0)
    for k in range(image.shape[0]):
        value = np.float32(image[k])
        value += np.float32(pool[k]) * np.sqrt(base + slope * value) + half
        image[k] = np.uint8(np.int32(min(max(value, low), high)))


class Renderer:
    """Draws what one camera sees of a performer.

    Everything that stays the same from frame to frame is prepared once: the empty room, the rays of the pixels, the noise.
    """

    def __init__(
        self,
        camera: Camera,
        scene: Camera,
        sensor: Sensor,
        colors_rgb: tuple[Floats, Floats],
        radii: Floats,
        seeds: tuple[int, int],
    ) -> None:
        """Prepare a camera.

        camera: in the world; scene: the same camera in the scene's frame (Y up, floor at 0); colors_rgb: of the
        body's cones (C, 3) and the markers (M, 3), 0-255; radii: of the cones, (C, 2) [m]; seeds: of the room
        (the same for both cameras) and of the noise.
        """
        self.camera, self.sensor, self._radii = camera, sensor, radii
        empty = dark_room(scene, seeds[0]) if sensor.dark else room(scene, seeds[0])
        self.background = np.asarray(np.clip(empty * sensor.gain + 0.5, 0, 255), np.uint8)
        self._rays = pixel_rays(camera, STEP).astype(np.float32)
        self._layer = np.zeros((*self._rays.shape[:2], 4), np.float32)
        # A lamp above and beside the cameras.
        self._light = scene.rotation @ (np.array([0.3, 0.8, 0.5]) / np.sqrt(0.98))
        self._body_bgr = np.ascontiguousarray(colors_rgb[0][:, ::-1] * sensor.gain)
        markers = np.full_like(colors_rgb[1], REFLEX) if sensor.dark else colors_rgb[1]
        self._marker_bgr = np.ascontiguousarray(markers[:, ::-1] * sensor.gain)
        rng = np.random.default_rng((seeds[1], 7))
        self._pool = np.asarray(np.rint(256.0 * rng.standard_normal(empty.size + POOL_EXTRA, np.float32)), np.int16)

    def image(self, view: View, radius_m: float, noise_at: int) -> Bytes:
        """Draw one frame, BGR; radius_m: of the markers; noise_at: where to read the noise, any integer >= 0."""
        image = self.background.copy()
        if view.body is not None and not self.sensor.dark:
            self._draw_body(image, view.body)
        self._draw_markers(image, view, radius_m)
        if self.sensor.noise > 0 or self.sensor.shot > 0:
            start = noise_at % POOL_EXTRA
            flat = image.reshape(-1)
            _add_noise(flat, self._pool[start : start + len(flat)], self.sensor.noise, self.sensor.shot)
        return image

    def _draw_markers(self, image: Bytes, view: View, radius_m: float) -> None:
        """Draw the visible part of every marker, far ones first, as an ellipse of its area about its middle."""
        px = self.camera.project(view.path_m) + view.shift_px
        moved = self.camera.project(view.seen_m) - self.camera.project(view.path_m[1])
        covariance = ellipse_covariance(self.camera, view.path_m[1], radius_m)
        depth = self.camera.to_camera(view.path_m[1])[:, 2]
        for m in np.argsort(-depth):
            if view.shown[m] > 0.0 and depth[m] > 0.0:
                Q = covariance[m] * view.shown[m]
                draw_marker(image, px[:, m] + moved[m], Q, self._marker_bgr[m], self.sensor.blur_px)

    def _draw_body(self, image: Bytes, body: tuple[Floats, Floats]) -> None:
        """Draw the body at half resolution and lay it over the image."""
        ends = (self.camera.to_camera(body[0]), self.camera.to_camera(body[1]))
        boxes = self._boxes(body, ends)
        seen = (boxes[:, 1] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 2])
        if not seen.any():
            return
        ends = (ends[0][seen], ends[1][seen])
        boxes = boxes[seen]
        whole = np.array([boxes[:, 0].min(), boxes[:, 1].max(), boxes[:, 2].min(), boxes[:, 3].max()])
        draw_body(ends, self._radii[seen], boxes, self._rays, self._light, self._body_bgr[seen], self._layer)
        _lay_over(image, self._layer, whole)
        self._layer[whole[2] : whole[3], whole[0] : whole[1]] = 0.0

    def _boxes(self, body: tuple[Floats, Floats], ends: tuple[Floats, Floats]) -> NDArray[np.int64]:
        """Give the half-pixel columns and rows each cone may touch, (C, 4); empty where it is not in front of the camera."""
        low, high = np.full((len(self._radii), 2), np.inf), np.full((len(self._radii), 2), -np.inf)
        near = np.full(len(self._radii), True)
        for points, x, radius in zip(body, ends, self._radii.T, strict=True):
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
