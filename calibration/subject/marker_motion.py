"""Bodies fitted to named markers over a motion without a T-pose: lengths, places of markers and poses of some frames together.

Then each frame is posed by itself. What labels mean: `config.optical`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from calibration.subject.adjust import MarkerPriors, SubjectProblem, SubjectState, adjust_subject
from calibration.subject.model import learn_skeleton_space, skeleton_from_vectors
from calibration.subject.poses import fit_poses_to_markers, make_pose_markers, place_torso
from config.arrays import Bools, Floats, Ints
from config.errors import FileFormatError
from config.joints import JOINT_INDEX, JOINTS
from config.optical import find_marker_places
from database.builtin.bodies import build_person_skeleton
from database.clips import Clip
from database.files.c3d import read_c3d
from database.files.trc import read_trc

Progress = Callable[[int, int | None], None]
N_FITTED = 30  # frames that the body is fitted to, the better posed half of those tried
WORTH = 20.0  # independent frames that they are worth
HEIGHTS_M = (1.65, 1.75, 1.85)
SELDOM = 0.1  # share of the frames; markers seen in fewer are not used
LEAST = 12  # known markers of a file
# Parts of the body that somebody may have left without markers, and the joints of theirs.
PARTS = {
    "the trunk": ("spine", "chest", "upperChest", "leftShoulder", "rightShoulder"),
    "the head": ("neck", "upperNeck", "head"),
    "the left arm": ("leftUpperArm", "leftLowerArm", "leftHand"),
    "the right arm": ("rightUpperArm", "rightLowerArm", "rightHand"),
    "the left thigh": ("leftUpperLeg",),
    "the right thigh": ("rightUpperLeg",),
    "the left shank": ("leftLowerLeg",),
    "the right shank": ("rightLowerLeg",),
    "the left foot": ("leftFoot", "leftToes"),
    "the right foot": ("rightFoot", "rightToes"),
}


class UnknownMarkersError(FileFormatError):
    """Too few of a file's markers are of a set that is known."""


@dataclass(frozen=True, slots=True)
class NamedMarkers:
    """Markers over time whose place on a body is roughly known.

    Attributes:
        names: M; joint (M,), offset_m (M, 3), sigma_m (M,): where they are expected and how far they may be from there [m].
        torso: (M,).
        fps: frames a second.
        point_m: (N, M, 3), y up [m].
        valid: (N, M).
        axes: the file's axes that are our x, y and z.
    """

    names: tuple[str, ...]
    joint: Ints
    offset_m: Floats
    sigma_m: Floats
    torso: Bools
    fps: float
    point_m: Floats
    valid: Bools
    axes: tuple[int, int, int] = (0, 1, 2)


@dataclass(frozen=True, slots=True)
class MarkerMotion:
    """The motion of a marker file.

    Attributes:
        clip: poses and the skeleton they are of, with y up.
        start_s: time of the first frame in the file [s].
        axes: the file's axes that are our x, y and z.
        notes: for the user: how many markers posed the body.
        warnings: likewise: what no marker moves.
    """

    clip: Clip
    start_s: float
    axes: tuple[int, int, int]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]


def read_marker_motion(file: Path, progress: Progress | None = None, unit: str = "") -> MarkerMotion:
    """Return skeleton and motion of the markers of a C3D or TRC with labels of the usual sets.

    Args:
        file: the markers.
        progress: called with the frames posed and all.
        unit: of the points, if not the one that the file names.
    Raises: FileFormatError.
    """
    if file.suffix.lower() == ".c3d":
        c3d = read_c3d(file, unit)
        labels, fps, point_m, valid, start_s = c3d.labels, c3d.fps, c3d.point_m, c3d.valid, 0.0
    else:
        trc = read_trc(file, unit)
        labels, point_m, valid, start_s = trc.labels, trc.point_m, trc.valid, float(trc.seconds[0])
        if len(trc.seconds) < 2:
            raise FileFormatError(f"{file}: a single frame is no motion")
        fps = (len(trc.seconds) - 1) / float(trc.seconds[-1] - trc.seconds[0])
    markers = find_named_markers(str(file), labels, fps, point_m, valid)
    clip = fitted_clip(file.stem, markers, progress)
    posed = f"{len(markers.names)} of {len(labels)} markers have known names and posed a body of {clip.skeleton.height_m:.2f} m"
    return MarkerMotion(clip, start_s, markers.axes, (posed,), describe_unmoved(markers))


def describe_unmoved(markers: NamedMarkers) -> tuple[str, ...]:
    """Return in words which parts of the body no marker moves, if any."""
    worn = {JOINTS[joint] for joint in markers.joint.tolist()}
    still = [part for part, joints in PARTS.items() if not worn & set(joints)]
    if not still:
        return ()
    return (f"no marker moves {', '.join(still)}: carried along as they are in a relaxed pose, their forces are not measured",)


def find_named_markers(where: str, labels: Sequence[str], fps: float, point_m: Floats, valid: Bools) -> NamedMarkers:
    """Return the markers with known labels, turned so that y is up: the axis along which the body is above its shanks and feet.

    Args:
        where: the file, for messages.
        labels: of the markers.
        fps: frames a second.
        point_m: in the file's axes, (N, M, 3) [m].
        valid: (N, M).
    Raises UnknownMarkersError: too few labels are known.
    """
    often = valid.mean(axis=0) > SELDOM
    known = find_marker_places([label.rpartition(":")[2] for label in labels])
    places = [known.places.get(label.rpartition(":")[2]) if often[k] else None for k, label in enumerate(labels)]
    rows = [(k, place) for k, place in enumerate(places) if place is not None]
    keep, found = [k for k, _ in rows], [place for _, place in rows]
    names, torso = tuple(labels[k] for k in keep), np.array([place.torso for place in found], bool)
    if len(found) < LEAST or int(torso.sum()) < 3:
        raise UnknownMarkersError(
            f"{where}: {len(found)} markers of known names, {int(torso.sum())} of the torso; expected at least {LEAST} and 3, "
            f"such as LASI, RASI, LPSI, RPSI, LKNE, LANK, or L.ASIS; found {', '.join(labels[:6])}, ..."
        )
    joint = np.array([JOINT_INDEX[place.joint] for place in found], np.int64)
    offset_m, sigma_m = np.array([place.offset_m for place in found]), np.array([place.sigma_m for place in found])
    point_m, valid = point_m[:, keep], valid[:, keep]
    axes = _axes_with_y_up(joint, point_m, valid)
    return NamedMarkers(names, joint, offset_m, sigma_m, torso, fps, np.ascontiguousarray(point_m[:, :, axes]), valid, axes)


def _axes_with_y_up(joint: Ints, point_m: Floats, valid: Bools) -> tuple[int, int, int]:
    """Return the file's axes in our order, x y z with y up; they turn into each other in a circle, so no motion is mirrored."""
    low = np.isin(joint, [JOINT_INDEX[f"{side}{name}"] for side in ("left", "right") for name in ("LowerLeg", "Foot", "Toes")])
    rise = _center(point_m, valid & ~low) - _center(point_m, valid & low)
    up = int(np.argmax(np.median(rise, axis=0)))
    return (up + 2) % 3, up, (up + 1) % 3


def _center(point_m: Floats, which: Bools) -> Floats:
    """Return the mean of some markers in every frame, (N, 3); zero where there are none."""
    count = which.sum(axis=1)
    total = (point_m * which[..., None]).sum(axis=1)
    return np.asarray(total / np.maximum(count, 1)[:, None])


def fitted_clip(name: str, markers: NamedMarkers, progress: Progress | None = None) -> Clip:
    """Return the poses of a motion's markers and the skeleton they are of. Raises FileFormatError: the torso is never seen."""
    at, seen, torso, joint = markers.point_m, markers.valid, markers.torso, markers.joint
    placed = np.flatnonzero((seen & torso).sum(axis=1) >= 3)
    if not len(placed):
        raise FileFormatError(f"{name}: no frame shows three markers of the torso; expected them in most")
    space = learn_skeleton_space([build_person_skeleton(height) for height in HEIGHTS_M])
    mean = space.skeleton(np.zeros(space.n_parameters))
    tried = placed[np.unique(np.linspace(0, len(placed) - 1, 2 * N_FITTED).astype(int))]
    # With markers where they are meant to be, bent arms are found from afar; free ones would be turned about straight arms.
    worn = (joint, markers.offset_m, torso)
    posed = [fit_poses_to_markers(mean, worn, at[n : n + 1], seen[n : n + 1]) for n in tried]
    best = np.sort(np.argsort([float(found.error_mm[0]) for found in posed], kind="stable")[:N_FITTED])
    takes = tuple(
        make_pose_markers(at[n], seen[n], *place_torso(mean, *worn[:2], torso & seen[n], at[n]), max(1.0, len(best) / WORTH))
        for n in tried[best]
    )
    poses = (tuple(posed[k].rotvec[0] for k in best), tuple(posed[k].root_m[0] for k in best))
    start = SubjectState(np.zeros(space.n_parameters), markers.offset_m, *poses)
    priors = MarkerPriors(joint, markers.offset_m, markers.sigma_m)
    fitted = adjust_subject(SubjectProblem(space, priors, takes), start, max_steps=40)
    skeleton = skeleton_from_vectors(space.vectors(fitted.state.y)[0], name)
    found = fit_poses_to_markers(
        skeleton, (joint, fitted.state.offset_m, torso), at, seen, progress or (lambda done, total: None)
    )
    return Clip(name, skeleton, markers.fps, found.rotvec, found.root_m)
