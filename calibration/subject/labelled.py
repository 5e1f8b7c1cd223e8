"""Marker files of which it is known what their labels mean, and which way is up: C3D and TRC, labelled or not."""

import re
from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np

from calibration.subject.functional import WornMarkers
from config.arrays import Bools, Floats, Ints
from config.errors import FileFormatError
from config.joints import JOINT_INDEX
from config.markers import read_marker_set
from config.optical import LEAST_MARKERS, LEAST_TORSO, MarkerPlace, find_marker_places, list_optical_sets, read_optical_set
from config.words import format_count
from database.builtin.bodies import build_person_skeleton
from database.files.retarget import AXES
from database.geometry.rigid import fit_rigid_motion
from database.marker_files.points import OpticalPoints

SELDOM = 0.02  # share of the frames; labels that are seen in fewer tell nothing of the body
FILE_SIGMA_M = 0.05  # of a marker file's places
ANONYMOUS = re.compile(r"\W*(u|un[a-z]*|m|marker|point|pt|track|traj[a-z]*|new)?[\W_]*\d*", re.IGNORECASE)  # no names of markers
LOW = [JOINT_INDEX[f"{side}{name}"] for side in ("left", "right") for name in ("LowerLeg", "Foot", "Toes")]
LOW_OF_TRUNK = [JOINT_INDEX[name] for name in ("hips", "leftUpperLeg", "rightUpperLeg")]  # where no shank has markers
TRUNK = [JOINT_INDEX[name] for name in ("hips", "spine", "chest", "upperChest", "leftShoulder", "rightShoulder")]
LEAST_HANDED, N_LOOKED_AT = 4, 60  # markers that have a handedness, and frames that are looked at
MIRRORED_TIMES = 1.5  # farther from a body than from its mirror image; three real files 0.1 to 0.5, their mirror images 2 to 8


class UnknownMarkersError(FileFormatError):
    """Too few of a file's markers are of a set that is known."""


@dataclass(frozen=True, slots=True)
class LabelledTake:
    """A marker file and the markers worn in it.

    Attributes:
        points: the file's points.
        worn: the M markers.
        marker: of each point of the file the marker that it is labelled as, (P,), -1 for none.
        set_name: the marker set that the labels are of.
        has_labels: whether enough is labelled for a body to be fitted.
        unused: labels of points that are no markers of the body, which are left out.
        turn: from the file's axes to these, a rotation, (3, 3).
    """

    points: OpticalPoints
    worn: WornMarkers
    marker: Ints
    set_name: str
    has_labels: bool
    unused: tuple[str, ...] = ()
    turn: Floats = field(default_factory=lambda: np.eye(3))

    def markers(self) -> tuple[Floats, Bools]:
        """Return the markers as they are labelled, (N, M, 3) [m], and which are seen, (N, M)."""
        known, shape = np.flatnonzero(self.marker >= 0), (len(self.points), len(self.worn.names))
        point_m, valid = np.zeros((*shape, 3)), np.zeros(shape, bool)
        point_m[:, self.marker[known]] = self.points.point_m[:, known]
        valid[:, self.marker[known]] = self.points.valid[:, known]
        return point_m, valid


def label_take(points: OpticalPoints, markers: str | None = None) -> LabelledTake:
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
    points, often = points.choose(np.flatnonzero(wanted)), often[wanted]
    marker = {label: k for k, label in enumerate(places)}
    own = np.array([marker.get(label, -1) if seen else -1 for label, seen in zip(points.labels, often, strict=True)])
    worn = wear_places(places)
    labelled = own[own >= 0]
    has_labels = len(labelled) >= LEAST_MARKERS and int(worn.torso[labelled].sum()) >= LEAST_TORSO
    return LabelledTake(points, worn, own, set_name, has_labels, unused)


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
    if len(places) < LEAST_MARKERS or torso < LEAST_TORSO:
        raise UnknownMarkersError(
            f"{points.file}: {format_count(len(places), 'label is', 'labels are')} known, {torso} of the trunk (found "
            f"{', '.join(labels[:6])}, ...); expected "
            f"at least {LEAST_MARKERS} and {LEAST_TORSO}; of others and of points without labels `duocap solve` makes a "
            f"motion: name the set worn by --markers, one of {', '.join(list_optical_sets())}, or a file"
        )
    return known.set_name, places


def wear_places(places: dict[str, MarkerPlace]) -> WornMarkers:
    """Return markers at their places."""
    rows = list(places.values())
    return WornMarkers(
        joint=np.array([JOINT_INDEX[row.joint] for row in rows], np.int64),
        offset_m=np.array([row.offset_m for row in rows], float).reshape(-1, 3),
        sigma_m=np.array([row.sigma_m for row in rows], float),
        names=tuple(places),
        torso=np.array([row.torso for row in rows], bool),
    )


def turn_upright(take: LabelledTake, up: str = "") -> LabelledTake:
    """Return a take with y up: the axis along which the body is above its legs; without labels, the longest of the body.

    Axes turn into each other in a circle, so that no motion is mirrored.

    Args:
        take: in the file's axes.
        up: the axis, such as `-z`, in place of the one that is found.
    """
    rise_m = AXES[up] if up else _measure_rise(take)
    axis = int(np.argmax(np.abs(rise_m)))
    turn = np.eye(3)[[(axis + 2) % 3, axis, (axis + 1) % 3]]
    if rise_m[axis] < 0.0:
        turn *= np.array([[1.0], [-1.0], [-1.0]])
    point_m = np.ascontiguousarray(take.points.point_m @ turn.T)
    return replace(take, points=replace(take.points, point_m=point_m), turn=turn)


def _measure_rise(take: LabelledTake) -> Floats:
    """Return by how much the body is above its shanks and feet, or its pelvis, median over the frames, by axis, (3,) [m]."""
    known = np.flatnonzero(take.marker >= 0)
    joint = take.worn.joint[take.marker[known]]
    is_low = np.isin(joint, LOW if np.isin(joint, LOW).any() else LOW_OF_TRUNK)
    low, high = known[is_low], known[~is_low]
    if not take.has_labels or not len(low) or not len(high):
        return _measure_height(take.points)
    both = take.points.valid[:, low].any(axis=1) & take.points.valid[:, high].any(axis=1)
    rise = _find_center(take.points, high) - _find_center(take.points, low)
    return np.asarray(np.median(rise[both] if both.any() else rise, axis=0))


def _measure_height(points: OpticalPoints) -> Floats:
    """Return the extent of the points by axis, (3,) [m], negative where what is low stays less level than what is high."""
    shown: Bools = points.valid.sum(axis=1) >= 0.5 * points.valid.sum(axis=1).max()
    at = np.where(points.valid[shown, :, None], points.point_m[shown], np.nan)
    low, high = np.nanmin(at, axis=1), np.nanmax(at, axis=1)
    extent = np.median(high - low, axis=0)
    return np.asarray(np.where(np.ptp(low, axis=0) <= np.ptp(high, axis=0), extent, -extent))


def _find_center(points: OpticalPoints, columns: Ints) -> Floats:
    """Return the mean of some points in every frame, (N, 3) [m], zero where none is seen."""
    valid = points.valid[:, columns, None]
    return np.asarray((points.point_m[:, columns] * valid).sum(axis=1) / np.maximum(valid.sum(axis=1), 1))


def describe_mirrored(take: LabelledTake) -> tuple[str, ...]:
    """Return in words that labels are of a mirrored body: an axis negated, left-handed axes, or sides exchanged; take: y up.

    A trunk's markers have a handedness: what is at the front, to the left and above. Where their names contradict it, they fit
    the mirror image of the usual places far better than the places. Points without labels have no such names.
    """
    own_m, mirrored_m = _measure_mirrored(take)
    if not own_m > MIRRORED_TIMES * mirrored_m:
        return ()
    return (
        f"left and right are mirrored: the trunk's markers are {1e3 * own_m:.0f} mm from where people wear them, and only "
        f"{1e3 * mirrored_m:.0f} mm in a mirror; an axis of the file is negated (left-handed axes), or the labels of left and "
        "right are exchanged: export it again",
    )


def _measure_mirrored(take: LabelledTake) -> tuple[float, float]:
    """Return how far the trunk's markers are from their usual places and from these mirrored, RMS, median over frames [m]."""
    point_m, valid = take.markers()
    place_m = build_person_skeleton(1.75).rest_positions_m()[take.worn.joint] + take.worn.offset_m
    valid = valid & np.isin(take.worn.joint, TRUNK)
    rows = np.flatnonzero(valid.sum(axis=1) >= LEAST_HANDED)
    if not len(rows):
        return 0.0, 0.0
    rows = rows[np.unique(np.linspace(0, len(rows) - 1, N_LOOKED_AT).astype(int))]
    off_m = [
        [_measure_off_places(places, point_m[row], valid[row].astype(float)) for row in rows]
        for places in (place_m, place_m * (-1.0, 1.0, 1.0))
    ]
    own_m, mirrored_m = np.median(off_m, axis=1).tolist()
    return own_m, mirrored_m


def _measure_off_places(place_m: Floats, point_m: Floats, weights: Floats) -> float:
    """Return the RMS distance of points from places laid on them, (M, 3) each [m]; weights: (M,)."""
    R, t = fit_rigid_motion(place_m, point_m, weights)
    return float(np.sqrt(np.average(((place_m @ R.T + t - point_m) ** 2).sum(axis=1), weights=weights)))
