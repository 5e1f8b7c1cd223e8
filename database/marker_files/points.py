"""The points of any marker file, C3D or TRC, over time: of one person, in the file's own axes."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from config.arrays import Bools, Floats, Ints
from config.errors import FileFormatError
from config.optical import find_people
from database.marker_files.c3d import read_c3d
from database.marker_files.trc import read_trc

MARKER_SUFFIXES = (".c3d", ".trc")


@dataclass(frozen=True, slots=True)
class OpticalPoints:
    """Points of a marker file over time.

    Attributes:
        file: where they are from.
        labels: P, as in the file, without the performer before a colon.
        fps: frames a second.
        point_m: (N, P, 3) [m], zero where not valid.
        valid: (N, P).
        start_s: time of the first frame in the file [s].
    """

    file: Path
    labels: tuple[str, ...]
    fps: float
    point_m: Floats
    valid: Bools
    start_s: float = 0.0

    def __len__(self) -> int:
        return len(self.valid)

    def choose(self, columns: Ints) -> "OpticalPoints":
        """Return some of the points."""
        labels = tuple(self.labels[k] for k in columns.tolist())
        return replace(self, labels=labels, point_m=self.point_m[:, columns], valid=self.valid[:, columns])


def is_marker_file(path: Path) -> bool:
    """Return whether a file is one of markers by its name."""
    return path.suffix.lower() in MARKER_SUFFIXES


def read_points(path: Path, unit: str = "", person: str = "") -> OpticalPoints:
    """Read a marker file, in its own axes.

    Args:
        path: the file.
        unit: of its points, if not the one that it names.
        person: whose markers, where several people's are in it: what stands before their labels.
    Raises: FileFormatError: none, no motion, or the person is not said.
    """
    if not path.is_file():
        raise FileFormatError(f"{path}: no such file; expected markers as {' or '.join(MARKER_SUFFIXES)}")
    if not is_marker_file(path):
        raise FileFormatError(f"{path}: no marker file; expected {' or '.join(MARKER_SUFFIXES)}")
    start_s = 0.0
    if path.suffix.lower() == ".c3d":
        read = read_c3d(path, unit)
        labels, fps, point_m, valid = read.labels, read.fps, read.point_m, read.valid
    else:
        table = read_trc(path, unit)
        labels, point_m, valid, start_s = table.labels, table.point_m, table.valid, float(table.seconds[0])
        fps = (len(table.seconds) - 1) / max(float(table.seconds[-1] - start_s), 1e-9)
    if len(point_m) < 2:
        raise FileFormatError(f"{path}: a single frame is no motion")
    valid = valid & np.isfinite(point_m).all(axis=2)
    points = OpticalPoints(path, labels, fps, np.where(valid[..., None], point_m, 0.0), valid, start_s)
    return _choose_person(points, person)


def _choose_person(points: OpticalPoints, wanted: str) -> OpticalPoints:
    """Return the points of one person. Raises FileFormatError: there are several, or not the one who is wanted."""
    people = find_people(points.labels)
    if not wanted and len(people) < 2:
        return points
    named = ", ".join(people) or "nobody"
    if not wanted:
        raise FileFormatError(f"{points.file}: markers of {len(people)} people: {named}; choose one by --person NAME")
    prefix = next((prefix for name, prefix in people.items() if name.casefold() == wanted.casefold()), None)
    if prefix is None:
        raise FileFormatError(f"{points.file}: no markers of {wanted}; its labels name {named}")
    own = np.flatnonzero([label.startswith(prefix) for label in points.labels])
    chosen = points.choose(own)
    return replace(chosen, labels=tuple(label.removeprefix(prefix) for label in chosen.labels))
