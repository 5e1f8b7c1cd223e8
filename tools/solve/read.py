"""Marker files of optical systems, C3D and TRC, as points over time with y up, and what their labels mean."""

import re
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from calibration.subject.functional import WornMarkers
from config.arrays import Bools, Floats, Ints
from config.errors import FileFormatError
from config.joints import JOINT_INDEX
from config.markers import read_marker_set
from config.optical import MarkerPlace, find_marker_places, list_optical_sets, read_optical_set
from database.files.c3d import read_c3d
from database.files.trc import read_trc

SUFFIXES = (".c3d", ".trc")
LEAST_MARKERS = 8  # of a body; with fewer most joints would be guessed
LEAST_HZ = 15.0  # people's limbs move at up to some 6 Hz (Winter 2009, 2.4), which slower sampling does not show
LEAST_FRAMES = 8
SELDOM = 0.02  # share of the frames; labels that are seen in fewer tell nothing of the body
FILE_SIGMA_M = 0.05  # of a marker file's places
ANONYMOUS = re.compile(r"\W*(u|un[a-z]*|m|marker|point|pt|track|traj[a-z]*|new)?[\W_]*\d*", re.IGNORECASE)  # no names of markers


@dataclass(frozen=True, slots=True)
class OpticalPoints:
    """Points of a marker file over time.

    Attributes:
        file: where they are from.
        labels: P, as in the file, without the performer before a colon.
        fps: frames a second.
        point_m: y up, (N, P, 3) [m], zero where not valid.
        valid: (N, P).
    """

    file: Path
    labels: tuple[str, ...]
    fps: float
    point_m: Floats
    valid: Bools

    def __len__(self) -> int:
        return len(self.valid)


@dataclass(frozen=True, slots=True)
class LabelledTake:
    """A marker file and the markers worn in it.

    Attributes:
        points: the file's points, y up.
        worn: the M markers.
        marker: of each point of the file the marker that it is labelled as, (P,), -1 for none.
        set_name: the marker set that the labels are of.
        has_labels: whether enough is labelled for a body to be fitted.
        unused: labels of points that are no markers of the body, which are left out.
    """

    points: OpticalPoints
    worn: WornMarkers
    marker: Ints
    set_name: str
    has_labels: bool
    unused: tuple[str, ...] = ()


def is_marker_file(path: Path) -> bool:
    """Return whether a file is one of markers by its name."""
    return path.suffix.lower() in SUFFIXES


def read_marker_file(path: Path) -> OpticalPoints:
    """Read a marker file, in its own axes. Raises FileFormatError: none, or none of a person in motion."""
    if not path.is_file():
        raise FileFormatError(f"{path}: no such file; expected markers as {' or '.join(SUFFIXES)}")
    if not is_marker_file(path):
        raise FileFormatError(f"{path}: no marker file; expected {' or '.join(SUFFIXES)}")
    if path.suffix.lower() == ".c3d":
        read = read_c3d(path)
        labels, fps, point_m, valid = read.labels, read.fps, read.point_m, read.valid
    else:
        table = read_trc(path)
        labels, point_m, valid = tuple(name.rpartition(":")[2] for name in table.labels), table.point_m, table.valid
        fps = (len(table.seconds) - 1) / max(float(table.seconds[-1] - table.seconds[0]), 1e-9) if len(table.seconds) > 1 else 0.0
    valid = valid & np.isfinite(point_m).all(axis=2)
    points = OpticalPoints(path, labels, fps, np.where(valid[..., None], point_m, 0.0), valid)
    _check_points(points)
    return points


def _check_points(points: OpticalPoints) -> None:
    """Raise FileFormatError unless there is enough to solve."""
    if len(points) < LEAST_FRAMES or points.fps < LEAST_HZ:
        raise FileFormatError(
            f"{points.file}: {len(points)} frames at {points.fps:g} Hz; expected a motion of at least {LEAST_FRAMES} frames at "
            f"{LEAST_HZ:g} Hz"
        )
    seen = int((points.valid.mean(axis=0) > SELDOM).sum())
    if seen < LEAST_MARKERS:
        raise FileFormatError(f"{points.file}: shows {seen} markers; a body needs at least {LEAST_MARKERS}, better 20 or more")


def label_take(points: OpticalPoints, markers: str | None) -> LabelledTake:
    """Return a take with what its labels mean; points of other names than markers' are left out.

    Args:
        points: of the file, in its own axes.
        markers: name of a marker set, or file of one; None: by the labels.
    Raises: FileFormatError: too few labels are known, or some stand twice.
    """
    often = points.valid.mean(axis=0) > SELDOM
    labels = [label for label, seen in zip(points.labels, often, strict=True) if seen]
    set_name, places = _find_places(points, labels, markers)
    twice = [label for label, count in Counter(label for label in labels if label in places).items() if count > 1]
    if twice:
        raise FileFormatError(f"{points.file}: {twice[0]} stands twice; export one performer a file")
    wanted = [label in places or ANONYMOUS.fullmatch(label) is not None for label in points.labels]
    unused = tuple(label for label, keep, seen in zip(points.labels, wanted, often, strict=True) if seen and not keep)
    points, often = _choose_points(points, np.flatnonzero(wanted)), often[wanted]
    marker = {label: k for k, label in enumerate(places)}
    own = np.array([marker.get(label, -1) if seen else -1 for label, seen in zip(points.labels, often, strict=True)])
    worn = wear_places(places)
    labelled = own[own >= 0]
    has_labels = len(labelled) >= LEAST_MARKERS and int(worn.torso[labelled].sum()) >= 3
    return LabelledTake(points, worn, own, set_name, has_labels, unused)


def _choose_points(points: OpticalPoints, columns: Ints) -> OpticalPoints:
    """Return some of the points."""
    labels = tuple(points.labels[k] for k in columns.tolist())
    return replace(points, labels=labels, point_m=points.point_m[:, columns], valid=points.valid[:, columns])


def _find_places(points: OpticalPoints, labels: list[str], markers: str | None) -> tuple[str, dict[str, MarkerPlace]]:
    """Return the marker set and the places of the markers worn, by their labels. Raises FileFormatError."""
    if markers is not None and markers not in list_optical_sets():
        wanted = read_marker_set(markers)
        names = tuple(JOINT_INDEX)
        rows = zip(wanted.names, wanted.joint, wanted.offset_m, wanted.torso, strict=True)
        return markers, {
            name: MarkerPlace(name, names[joint], (float(x), float(y), float(z)), FILE_SIGMA_M, bool(torso))
            for name, joint, (x, y, z), torso in rows
        }
    known = find_marker_places(labels)
    places = {label: known.places[label] for label in labels if label in known.places}
    torso = sum(place.torso for place in places.values())
    if markers is not None:
        taken = {(place.name, place.joint) for place in places.values()}
        others = {label: place for label, place in read_optical_set(markers).items() if (place.name, place.joint) not in taken}
        return markers, places | others
    if len(places) < LEAST_MARKERS or torso < 3:
        some = ", ".join(labels[:6])
        raise FileFormatError(
            f"{points.file}: {len(places)} labels are known, {torso} of the trunk (found {some}, ...); expected at least "
            f"{LEAST_MARKERS} and 3: name the set worn by --markers, one of {', '.join(list_optical_sets())}, or a file"
        )
    return known.set_name, places


def wear_places(places: dict[str, MarkerPlace]) -> WornMarkers:
    """Return markers at their places."""
    rows = list(places.values())
    return WornMarkers(
        tuple(places),
        np.array([JOINT_INDEX[row.joint] for row in rows], np.int64),
        np.array([row.offset_m for row in rows], float).reshape(-1, 3),
        np.array([row.sigma_m for row in rows], float),
        np.array([row.torso for row in rows], bool),
    )
