"""Bodies fitted to named markers over a motion without a T-pose: lengths, places of markers and poses of some frames together.

Then each frame is posed by itself. The labels of the usual sets are known (`config.optical`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calibration.subject.functional import WornMarkers, fit_subject_to_motion
from calibration.subject.poses import fit_poses_to_markers
from config.arrays import Bools, Floats, Ints
from config.errors import CalibrationError, FileFormatError
from config.joints import JOINT_INDEX, mirror_joint_name
from config.optical import find_marker_places
from database.builtin.bodies import build_person_skeleton
from database.clips import Clip
from tools.progress import ProgressState

HEIGHTS_M = (1.65, 1.75, 1.85)
SELDOM = 0.1  # share of the frames; markers seen in fewer are not used
LEAST = 12  # known markers of a file

# Joint, offset in the rest pose [m] and how far a marker may be from there [m].
Place = tuple[str, tuple[float, float, float], float]


@dataclass(frozen=True, slots=True)
class NamedMarkers:
    """Markers over time whose place on a body is roughly known.

    Attributes:
        names: M; joint (M,), offset_m (M, 3), sigma_m (M,): where they are expected and how far they may be from there [m].
        torso: (M,).
        fps: frames a second.
        point_m: (N, M, 3), y up [m].
        valid: (N, M).
    """

    names: tuple[str, ...]
    joint: Ints
    offset_m: Floats
    sigma_m: Floats
    torso: Bools
    fps: float
    point_m: Floats
    valid: Bools


def mirror_image(place: Place) -> Place:
    """Return the place of the other side."""
    (joint, (x, y, z), sigma_m) = place
    return mirror_joint_name(joint), (-x, y, z), sigma_m


def find_named_markers(where: str, labels: Sequence[str], fps: float, point_m: Floats, valid: Bools) -> NamedMarkers:
    """Return the markers whose labels are known, turned so that y is up: the axis along which shoulders are farthest above feet.

    Args:
        where: the file, for messages.
        labels: of the points.
        fps: frames a second.
        point_m: (N, P, 3) [m].
        valid: (N, P).
    Raises FileFormatError: too few names are known.
    """
    often, known = valid.mean(axis=0) > SELDOM, find_marker_places(labels).places
    places = {k: known[label] for k, label in enumerate(labels) if often[k] and label in known}
    names = tuple(labels[k] for k in places)
    torso = np.array([place.torso for place in places.values()], bool)
    if len(places) < LEAST or int(torso.sum()) < 3:
        raise FileFormatError(
            f"{where}: {len(places)} markers of known names, {int(torso.sum())} of the torso; expected at least {LEAST} and 3 of "
            f"the usual sets, such as LFWT, RFWT, LBWT, C7, LKNE, LANK; found {', '.join(labels[:6])}, ..."
        )
    keep = list(places)
    joint = np.array([JOINT_INDEX[place.joint] for place in places.values()], np.int64)
    offset_m = np.array([place.offset_m for place in places.values()])
    sigma_m = np.array([place.sigma_m for place in places.values()])
    point_m, valid = point_m[:, keep], valid[:, keep]
    order = _axes_with_y_up(joint, point_m, valid)
    return NamedMarkers(names, joint, offset_m, sigma_m, torso, fps, np.ascontiguousarray(point_m[:, :, order]), valid)


def _axes_with_y_up(joint: Ints, point_m: Floats, valid: Bools) -> list[int]:
    """Return the file's axes in our order, x y z with y up; they turn into each other in a circle, so no motion is mirrored."""
    low = np.isin(joint, [JOINT_INDEX[f"{side}{name}"] for side in ("left", "right") for name in ("LowerLeg", "Foot")])
    high = np.isin(joint, [JOINT_INDEX[name] for name in ("chest", "upperChest", "leftShoulder", "rightShoulder", "head")])
    rise = _center(point_m, valid & high) - _center(point_m, valid & low)
    up = int(np.argmax(np.median(rise, axis=0)))
    return [(up + 2) % 3, up, (up + 1) % 3]


def _center(point_m: Floats, which: Bools) -> Floats:
    """Return the mean of some markers in every frame, (N, 3); zero where there are none."""
    count = which.sum(axis=1)
    total = (point_m * which[..., None]).sum(axis=1)
    return np.asarray(total / np.maximum(count, 1)[:, None])


def fitted_clip(name: str, markers: NamedMarkers, progress: ProgressState | None = None) -> Clip:
    """Return the poses of a motion's markers and the skeleton they are of. Raises FileFormatError: the torso is never seen."""
    worn = WornMarkers(markers.names, markers.joint, markers.offset_m, markers.sigma_m, markers.torso)
    people = [build_person_skeleton(height) for height in HEIGHTS_M]
    try:
        subject = fit_subject_to_motion(name, worn, people, markers.point_m, markers.valid).subject
    except CalibrationError as error:
        raise FileFormatError(f"{name}: {error}") from error
    wearing = (markers.joint, subject.offset_m, markers.torso)
    found = fit_poses_to_markers(
        subject.skeleton, wearing, markers.point_m, markers.valid, progress or (lambda done, total: None)
    )
    return Clip(name, subject.skeleton, markers.fps, found.rotvec, found.root_m)
