"""The simulated camera: a Source that draws a performer at the times its shutter opens."""

import colorsys
import math

import numpy as np

from capture.packets import Frame
from capture.sources.simulated.image import CameraView, Renderer, Sensor
from capture.sources.simulated.marker import draw_marker
from capture.sources.simulated.performer import Performer, make_scene_performer
from capture.sources.simulated.rays import Cones, compute_visibility
from capture.sources.simulated.scene import SimulatedScene
from capture.sources.source import Facts, Stamp
from config.arrays import Floats
from config.markers import MarkerSet
from config.settings import CAMERA_NAMES
from config.units import NS_PER_S

BLOCK = 16  # frames
PHASES = (0.0, 1.0, 0.5, 0.25, 0.75, 0.125, 0.375, 0.625)  # of each camera, from the first to the second one's


def draw_shutter_times(scene: SimulatedScene, camera: int, duration_s: float) -> Floats:
    """Return the middle of every exposure of a camera that is not dropped, (N,) [s], increasing.

    t_k = offset + k / fps (1 + drift) + jitter_k. The latest camera has the whole skew, so no time is negative.

    Args:
        duration_s: of the motion.
    """
    count = math.floor(duration_s * scene.fps + 1e-6) + 1
    offset = 0.001 * (PHASES[camera] * scene.skew_ms - min(scene.skew_ms, 0.0))
    drift = 1e-6 * PHASES[camera] * scene.drift_ppm
    rng = np.random.default_rng((scene.seed, camera, 13))
    period = 1.0 / scene.fps
    jitter = np.clip(rng.normal(0.0, 0.001 * scene.jitter_ms, count), -0.4 * period, 0.4 * period)
    times = np.maximum(offset + np.arange(count) * period * (1.0 + drift) + jitter, 0.0)
    kept = rng.random(count) >= scene.drop
    kept[0] = True
    return np.asarray(times[kept])


def choose_marker_colors(markers: MarkerSet) -> Floats:
    """Return the colour of each marker, (M, 3) 0-255: its own, or one of a palette.

    The palette runs from yellow over green and blue to pink: red and orange resemble skin and wood.
    """
    count = len(markers)
    hues = 0.15 + 0.78 * np.arange(count) / max(count - 1, 1)
    palette = [colorsys.hsv_to_rgb(float(hue), 0.9, 1.0 if k % 2 else 0.8) for k, hue in enumerate(hues)]
    return np.where(markers.has_color[:, None], markers.color_rgb, 255.0 * np.array(palette))


class SimulatedCamera:
    """One of the cameras of a scene; a `Source`.

    Frame k shows the performer at `times_s[k]`; its timestamp is that time.
    """

    def __init__(self, scene: SimulatedScene, camera: int, performer: Performer | None = None) -> None:
        """Prepare a camera by its number; performer: of this scene, where the caller has it already.

        Raises FileFormatError, CalibrationError, SettingsError as `make_scene_performer` does.
        """
        self.performer = make_scene_performer(scene) if performer is None else performer
        self._scene, self._index, self._camera = scene, camera, self.performer.rig.cameras[camera]
        self.name = f"simulated {CAMERA_NAMES[camera]}"
        self.size, self.fps, self.truncated = self._camera.size, scene.fps, False
        self.stamp, self.facts = Stamp.FILE, Facts()
        self.times_s = draw_shutter_times(scene, camera, self.performer.duration_s)
        self.n_frames: int | None = len(self.times_s)
        self._next, self._every, self._open = 0, 1, True
        self._center_m, self._block, self._views = self._camera.center_m, -1, list[tuple[CameraView, int]]()
        body = self.performer.body
        colors = (body.color_rgb, choose_marker_colors(self.performer.markers))
        sensor = Sensor(scene.noise, scene.shot, scene.gain, scene.blur_px, scene.look == "dark")
        stage = self.performer.camera_on_stage(self._camera)
        self._renderer = Renderer(self._camera, stage, sensor, colors, (scene.seed, 2 * scene.seed + camera))
        self._add_reflections()

    def read(self) -> Frame | None:
        """Return the next frame, or None at the end."""
        if not self._open or self._next >= len(self.times_s):
            return None
        frame = self.frame_at(self._next)
        self._next += self._every
        return frame

    def thin(self, every: int) -> None:
        """Leave out all but every n-th frame from now on, counted from the first of all, so that all cameras keep the same."""
        self._every, self.fps = every, self._scene.fps / every
        self._next = -(-self._next // every) * every

    def skip(self, t_ns: int) -> int:
        """Leave out the next frames that were captured before t_ns; return how many."""
        first = self._next
        while self._next < len(self.times_s) and self.times_s[self._next] * NS_PER_S < t_ns:
            self._next += self._every
        return (self._next - first) // self._every

    def close(self) -> None:
        """End the source."""
        self._open = False

    def frame_at(self, index: int) -> Frame:
        """Draw frame `index`, whatever was read before."""
        view, noise_at = self.view_at(index)
        return self._draw(index, view, noise_at)

    def frame_with_truth(self, index: int) -> tuple[Frame, Floats, Floats]:
        """Return frame `index`, the exact image points, (M, 2) [px], and the visible shares, (M,), of the markers."""
        view, noise_at = self.view_at(index)
        return self._draw(index, view, noise_at), self._camera.project(view.path_m[1]), view.shown

    def _draw(self, index: int, view: CameraView, noise_at: int) -> Frame:
        """Draw a view as frame `index`."""
        image = self._renderer.image(view, self.performer.radius_m, noise_at)
        return Frame(self._index, index, round(float(self.times_s[index]) * NS_PER_S), image)

    def view_at(self, index: int) -> tuple[CameraView, int]:
        """Return what the camera sees in frame `index`, and the offset of its noise."""
        block, place = divmod(index, BLOCK)
        if block != self._block:
            self._block, self._views = block, self._views_of(range(len(self.times_s))[block * BLOCK : (block + 1) * BLOCK])
        return self._views[place]

    def _views_of(self, frames: range) -> list[tuple[CameraView, int]]:
        """Return views of neighbouring frames and offsets of their noise; one by one they would cost several times as much."""
        middle, half = self.times_s[frames.start : frames.stop], 0.0005 * self._scene.exposure_ms
        G, p = self.performer.joints_at((middle[:, None] + np.array([-half, 0.0, half])).ravel())
        path_m = np.ascontiguousarray(self.performer.markers_of(G, p)).reshape(len(frames), 3, -1, 3)
        a, b, radii = self.performer.body.posed(G[1::3], p[1::3])
        return [self._view(index, path_m[k], Cones(a[k], b[k], radii)) for k, index in enumerate(frames)]

    def _view(self, index: int, path_m: Floats, cones: Cones) -> tuple[CameraView, int]:
        """Return the view of frame `index`, in which the markers move along path_m, (3, M, 3) [m], and the body is at cones."""
        middle = float(self.times_s[index])
        shown, seen = compute_visibility(self._center_m, path_m[1], self.performer.radius_m, cones)
        shown[self.performer.hidden_at(middle, self._index) | ~self.performer.markers.worn] = 0.0
        rng = np.random.default_rng((self._scene.seed, self._index, index, 29))
        shift = rng.normal(0.0, self._scene.pixel_noise_px, (len(shown), 2))
        body = cones if middle >= self._scene.empty_s else None
        return CameraView(path_m, shown, seen, shift, body), int(rng.integers(1 << 30))

    def _add_reflections(self) -> None:
        """Put bright spots that are no markers into the empty room, at random positions of this camera."""
        rng = np.random.default_rng((self._scene.seed, self._index, 31))
        background = self._renderer.background
        for _ in range(self._scene.reflections):
            position = rng.uniform(0.05, 0.95, 2) * self.size
            spot = np.diag(rng.uniform(1.0, 3.0, 2) ** 2)
            draw_marker(background, np.repeat(position[None], 3, axis=0), spot, np.full(3, rng.uniform(200.0, 500.0)), 0.5)
