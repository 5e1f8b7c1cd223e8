"""Anybody's motion files as clips: AMC with its skeleton, BVH, and the markers of a C3D, to which a body is fitted."""

import logging
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from calibration.subject.marker_motion import MarkerMotion, cut_to_held, pose_marker_file
from config.errors import FileFormatError
from database.clips import Clip
from database.files.asf_amc import read_amc
from database.files.cleaning import clean_clip
from database.files.read import read_clip
from database.files.retarget import import_motion
from database.marker_files.points import read_points

logger = logging.getLogger(__name__)
C3D = ".c3d"
FPS = 60.0  # rate at which markers are posed
SUFFIXES = (".amc", ".bvh", C3D)


def is_file_name(text: str) -> bool:
    """Return whether a clip is named as a file."""
    return Path(text).suffix.lower() in SUFFIXES


@lru_cache(maxsize=4)
def read_given(file: Path, skeleton: Path | None) -> Clip:
    """Return a file's motion, cleaned unless it is of markers; skeleton: skeleton file of an AMC. Raises FileFormatError."""
    kind = file.suffix.lower()
    if skeleton is not None and kind != ".amc":
        raise FileFormatError(f"{file}: --skeleton is for motions as .amc; leave it out")
    if not file.is_file():
        raise FileFormatError(f"{file}: no such file; expected a motion as {', '.join(SUFFIXES)}")
    if kind == C3D:
        return read_markers(file).clip
    if skeleton is None:
        return clean_clip(read_clip(file))[0]
    return clean_clip(import_motion(str(file), read_amc(file, skeleton)).clip)[0]


@lru_cache(maxsize=4)
def read_markers(file: Path) -> MarkerMotion:
    """Return the known markers of a C3D, with y up, and the body that they posed, where they do. Raises FileFormatError."""
    points = read_points(file)
    step = max(round(points.fps / FPS), 1)  # posing a frame takes tens of milliseconds
    fewer = replace(points, fps=points.fps / step, point_m=points.point_m[::step], valid=points.valid[::step])
    motion = cut_to_held(pose_marker_file(fewer))
    for line in motion.warnings:
        logger.warning("%s: %s", file, line)
    return motion
