"""A motion as a film: figure, forces of the ground, and key poses where they are wanted, seen from the side of its way."""

from pathlib import Path
from typing import cast

import av
import cv2
import numpy as np

from calibration.quality.picture import INK, QUIET
from config.arrays import Floats, Image
from config.files import open_atomically
from tools.physics.animate import Animation
from tools.physics.strip import BONE_COLORS, KEY, Strip, compute_headings, steady_places

SIZE = (1280, 720)
PIXELS_A_M = 260.0
GROUND_AT = 0.86  # of the height
TURN_HZ = 0.15  # the view follows turns of the way no faster than this
GRID_POINTS = 241  # of a line of the ground: every 5 cm
CODECS = ("libx264", "mpeg4")  # the first that is there


def write_film(file: Path, made: Animation) -> None:
    """Write an animation as an MP4 film at its own rate.

    Args:
        file: MP4 file to write.
        made: the animation of a script.
    """
    from scipy.ndimage import gaussian_filter1d

    fps, strip = made.problem.fps, Strip(made)
    row = strip.rows[-1]
    hips = made.q[:, :3]
    heading = np.unwrap(compute_headings(hips, fps))
    angle = gaussian_filter1d(heading, fps / (2.0 * np.pi * TURN_HZ), mode="nearest") + np.radians(70.0)
    center = np.insert(steady_places(hips, fps), 1, 0.0, axis=1)
    center[:, 1] = strip.floor_m(center)
    codec = next(name for name in CODECS if name in av.codecs_available)
    with open_atomically(file) as out, av.open(out, "w", format="mp4") as container:
        video = cast("av.VideoStream", container.add_stream(codec, rate=round(fps)))
        video.width, video.height, video.pix_fmt = *SIZE, "yuv420p"
        for n in range(len(made.q)):
            image = _draw_frame(strip, row.ends_m[n], center[n], angle[n])
            for each in row.arrows:
                for at, force in zip(each.at_m[n], each.force_m[n], strict=True):
                    _draw_arrow(image, _project(np.array([at, at + force]), center[n], angle[n]), each.color)
            cv2.putText(image, f"{n / fps:.2f} s", (24, 40), cv2.FONT_HERSHEY_SIMPLEX, 0.8, _bgr(INK), 2, cv2.LINE_AA)
            container.mux(video.encode(av.VideoFrame.from_ndarray(image, format="bgr24")))
        container.mux(video.encode())


def _draw_frame(strip: Strip, ends_m: Floats, center_m: Floats, angle: float) -> Image:
    """Return a picture of one frame without its forces: ground, key poses, bones from far to near."""
    image = np.full((SIZE[1], SIZE[0], 3), 255, np.uint8)
    grid = np.arange(-6.0, 6.1, 0.5 if strip.problem.surroundings.mounds else 1.0)
    origin = np.round(center_m)
    for a in grid:
        for line in (((a, -6), (a, 6)), ((-6, a), (6, a))):
            first, last = np.insert(np.array(line), 1, 0.0, axis=1)
            points = origin + np.linspace(first, last, GRID_POINTS)
            points[:, 1] = strip.floor_m(points)
            ends_px = np.rint(np.clip(_project(points, center_m, angle), -4000, 4000)).astype(np.int32)
            cv2.polylines(image, [ends_px], False, _bgr(QUIET), 1, cv2.LINE_AA)
    for bones in strip.keys.values():
        if np.abs(bones[0, 0] - center_m)[[0, 2]].max() < 4.0:
            for bone in bones:
                _draw_line(image, _project(bone, center_m, angle), KEY, 6)
    depth = ends_m.mean(axis=1) @ np.array([np.sin(angle), 0.0, np.cos(angle)])
    for bone in np.argsort(depth):
        _draw_line(image, _project(ends_m[bone], center_m, angle), BONE_COLORS[bone], 5)
    return image


def _project(points_m: Floats, center_m: Floats, angle: float) -> Floats:
    """Return points (..., 3) [m] in the picture of a viewer far off in a direction about Y, somewhat above, (..., 2) [px]."""
    d = points_m - (center_m[0], 0.0, center_m[2])
    across, towards = np.array([np.cos(angle), 0.0, -np.sin(angle)]), np.array([np.sin(angle), 0.0, np.cos(angle)])
    x = SIZE[0] / 2 + PIXELS_A_M * (d @ across)
    y = GROUND_AT * SIZE[1] - PIXELS_A_M * (d[..., 1] - 0.25 * (d @ towards))
    return np.stack([x, y + PIXELS_A_M * center_m[1]], axis=-1)


def _draw_line(image: Image, ends_px: Floats, color: str, width: int) -> None:
    """Draw a line between two points, (2, 2) [px]."""
    a, b = np.rint(np.clip(ends_px, -4000, 4000)).astype(int).tolist()
    cv2.line(image, a, b, _bgr(color), width, cv2.LINE_AA)


def _draw_arrow(image: Image, ends_px: Floats, color: str) -> None:
    """Draw an arrow from the first point to the second, (2, 2) [px], unless it is very short."""
    if np.linalg.norm(ends_px[1] - ends_px[0]) > 4.0:
        a, b = np.rint(np.clip(ends_px, -4000, 4000)).astype(int).tolist()
        cv2.arrowedLine(image, a, b, _bgr(color), 3, cv2.LINE_AA, tipLength=0.15)


def _bgr(color: str) -> tuple[int, int, int]:
    """Return a colour as OpenCV takes it."""
    from matplotlib.colors import to_rgb

    red, green, blue = (round(255 * part) for part in to_rgb(color))
    return blue, green, red
