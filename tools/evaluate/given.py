"""Anybody's motion files as clips: AMC with its skeleton, BVH, and the markers of a C3D, to which a body is fitted."""

from functools import lru_cache
from pathlib import Path

import numpy as np

from calibration.subject.marker_motion import NamedMarkers, find_named_markers, fitted_clip
from config.errors import FileFormatError
from database.clips import Clip
from database.files.asf_amc import read_amc
from database.files.c3d import read_c3d
from database.files.cleaning import clean_clip
from database.files.read import read_clip
from database.files.retarget import import_motion

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
        return fitted_clip(file.stem, read_markers(file))
    if skeleton is None:
        return clean_clip(read_clip(file))[0]
    return clean_clip(import_motion(str(file), read_amc(file, skeleton)).clip)[0]


def read_markers(file: Path) -> NamedMarkers:
    """Return the known markers of a C3D, with y up; prefixes such as `nick:` are stripped. Raises FileFormatError."""
    points = read_c3d(file)
    step = max(round(points.fps / FPS), 1)  # posing a frame takes tens of milliseconds
    point_m, valid = points.point_m[::step], points.valid[::step]
    markers = find_named_markers(str(file), points.labels, points.fps / step, point_m, valid)
    if not np.isfinite(markers.point_m).all():
        raise FileFormatError(f"{file}: some markers are not finite; export it again")
    return markers
