"""A wand waved before two cameras: its true path, as videos of a dark room and as bright spots."""

from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from calibration.camera import Camera, Rig
from calibration.placement import place_rig
from calibration.triangulate import pack_camera
from calibration.wand.tracks import Sightings
from capture.sources.simulated.marker import DrawnMarkers, draw_marker, draw_markers
from config.arrays import Floats

SIZE = (640, 480)


def wand_rig(distorted: bool = True) -> Rig:
    """Return two cameras that are not alike: at unlike heights, turned to each other, 1.1 m apart."""
    return place_rig(SIZE, 60.0, (-0.6, 1.35, 3.2), (0.5, 1.1, 3.35), (0.05, 1.0, 0.0), distorted)


@dataclass(frozen=True)
class Wave:
    """How a wand moves.

    length_m: between its markers; n_markers: 1 or 2; half_m: how far it goes from the middle; middle_m; pace: 1 is a calm wave.
    """

    length_m: float = 0.5
    n_markers: int = 2
    half_m: tuple[float, float, float] = (0.9, 0.7, 0.8)
    middle_m: tuple[float, float, float] = (0.0, 1.0, 0.0)
    pace: float = 1.0
    seed: int = 0

    def at(self, t_s: Floats) -> Floats:
        """Return the markers' places at moments (T,) [s]: (T, K, 3) [m]."""
        rng = np.random.default_rng((self.seed, 5))
        middle = np.array(self.middle_m) + np.array(self.half_m) * np.clip(_smooth(rng, self.pace * t_s), -1.2, 1.2)
        if self.n_markers == 1:
            return middle[:, None]
        along = _smooth(rng, self.pace * t_s)
        along = 0.5 * self.length_m * along / np.linalg.norm(along, axis=1, keepdims=True)
        return np.stack([middle - along, middle + along], axis=1)


def _smooth(rng: np.random.Generator, t_s: Floats) -> Floats:
    """Return three random smooth courses of about one, (T, 3)."""
    rate, phase = rng.uniform(0.1, 0.5, (3, 3)), rng.uniform(0.0, 2.0 * np.pi, (3, 3))
    share = rng.normal(size=(3, 3))
    share /= 0.75 * np.linalg.norm(share, axis=0)
    return np.asarray(sum(share[k] * np.sin(2.0 * np.pi * rate[k] * t_s[:, None] + phase[k]) for k in range(3)))


def in_view(camera: Camera, points_m: Floats, margin_px: float = 4.0) -> np.ndarray:
    """Return which points a camera sees."""
    px = camera.project(points_m)
    return np.all((px > margin_px) & (px < np.array(camera.size) - 1.0 - margin_px), axis=-1)


def sightings(
    camera: Camera,
    path: Wave,
    t_s: Floats,
    *,
    noise_px: float = 0.15,
    late_s: float = 0.0,
    still: int = 3,
    lost: float = 0.03,
    seed: int = 1,
) -> Sightings:
    """Return a camera's bright spots at moments (T,): the wand, reflections that stay and flicker, some lost, stamps late."""
    rng = np.random.default_rng((seed, 3, camera.name == "right"))
    places = rng.uniform(0.05, 0.95, (still, 2)) * camera.size
    found = []
    for markers in path.at(t_s):
        px = camera.project(markers)[in_view(camera, markers) & (rng.random(len(markers)) > lost)]
        spots = np.concatenate([px, places[rng.random(still) < 0.9]])
        found.append(rng.permutation(spots + rng.normal(0.0, noise_px, spots.shape)))
    return Sightings(t_s + late_s, tuple(found), camera.size)


def both_sightings(
    rig: Rig, path: Wave, seconds: float, fps: float = 30.0, late_s: float = 0.0, **how: float
) -> tuple[Sightings, Sightings]:
    """Return both cameras' spots; late_s: by which the right camera's stamps are late: it really looked so much earlier."""
    t_s = np.arange(round(seconds * fps)) / fps
    left = sightings(rig.cameras[0], path, t_s, **how)  # type: ignore[arg-type]
    return left, sightings(rig.cameras[1], path, t_s - late_s, late_s=late_s, **how)  # type: ignore[arg-type]


def write_wand_videos(
    folder: Path,
    rig: Rig,
    path: Wave,
    seconds: float,
    *,
    fps: float = 30.0,
    late_s: float = 0.0,
    reflections: int = 3,
    extra: tuple[Wave, ...] = (),
    radius_m: float = 0.0125,
    noise_px: float = 0.0,
    seed: int = 0,
) -> tuple[Path, ...]:
    """Render a video of each camera, such as left.avi: wand, other moving markers, reflections, noise, occlusions of some tenths
    of a second.

    noise_px: by which each marker is drawn beside its place, standard deviation.
    """
    times = np.arange(round(seconds * fps)) / fps
    files = tuple(folder / f"{camera.name}.avi" for camera in rig.cameras)
    for side, (file, camera) in enumerate(zip(files, rig.cameras, strict=True)):
        rng = np.random.default_rng((seed, side))
        writer = cv2.VideoWriter(str(file), cv2.CAP_OPENCV_MJPEG, cv2.VideoWriter.fourcc(*"MJPG"), fps, camera.size)
        writer.set(cv2.VIDEOWRITER_PROP_QUALITY, 97)
        room = _dark_room(camera, reflections, rng)
        pool = rng.normal(0.0, 1.5, (4, *room.shape)).astype(np.float32)
        hidden = [(start, start + rng.uniform(0.1, 0.4), int(rng.integers(2))) for start in np.arange(1.5, seconds, 2.7)]
        for n, t in enumerate(times - side * late_s):
            picture = room.copy()
            for each, wave in enumerate((path, *extra)):
                gone = {k for start, end, k in hidden if each == 0 and start <= t < end}
                off = rng.normal(0.0, noise_px, (2, 2))
                _draw(picture, camera, wave.at(t + np.array([-0.002, 0.0, 0.002])), radius_m, gone, off)
            writer.write(np.clip(picture + pool[n % 4] + 0.5, 0.0, 255.0).astype(np.uint8))
        writer.release()
    return files


def _dark_room(camera: Camera, reflections: int, rng: np.random.Generator) -> np.ndarray:
    """Draw the empty room: dim, with a few bright spots."""
    image = np.full((camera.size[1], camera.size[0], 3), 4, np.uint8)
    for _ in range(reflections):
        place = rng.uniform(0.05, 0.95, 2) * camera.size
        draw_marker(image, np.repeat(place[None], 3, axis=0), np.diag(rng.uniform(1.0, 3.0, 2) ** 2), np.full(3, 300.0), 0.5)
    return image


def _draw(image: np.ndarray, camera: Camera, path_m: Floats, radius_m: float, gone: set[int], off_px: Floats) -> None:
    """Draw markers on their way through an exposure, (3, K, 3) [m], each beside its place by off_px (2, 2)."""
    n = path_m.shape[1]
    shown = np.array([float(k not in gone) for k in range(n)])
    markers = DrawnMarkers(path_m, shown, path_m[1].copy(), off_px[:n].copy(), radius_m, np.full((n, 3), 450.0))
    draw_markers(image, pack_camera(camera), markers, 0.5)
