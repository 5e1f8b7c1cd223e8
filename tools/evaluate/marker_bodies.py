"""Bodies fitted to named markers over a motion without a T-pose: lengths, places of markers and poses of some frames together.

Then each frame is posed by itself. Vicon's names, with a letter for the side, are known with their usual places.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from calibration.subject.adjust import MarkerPriors, SubjectProblem, SubjectState, adjust_subject
from calibration.subject.model import learn_skeleton_space, skeleton_from_vectors
from calibration.subject.poses import fit_poses_to_markers, make_pose_markers, place_torso
from config.arrays import Bools, Floats, Ints
from config.errors import FileFormatError
from config.joints import JOINT_INDEX, mirror_joint_name
from database.builtin.bodies import build_person_skeleton
from database.clips import Clip
from tools.progress import ProgressState

N_FITTED = 30  # frames that the body is fitted to, the better posed half of those tried
WORTH = 20.0  # independent frames that they are worth
HEIGHTS_M = (1.65, 1.75, 1.85)
SELDOM = 0.1  # share of the frames; markers seen in fewer are not used
LEAST = 12  # known markers of a file

# Joint, offset in the rest pose [m] and how far a marker may be from there [m].
Place = tuple[str, tuple[float, float, float], float]
# Of the left side, after the letter L; R is the mirror image.
VICON_LEFT: Mapping[str, Place] = {
    "FWT": ("hips", (0.125, 0.04, 0.08), 0.03),
    "MWT": ("hips", (0.16, 0.05, -0.04), 0.04),
    "BWT": ("hips", (0.06, 0.05, -0.14), 0.03),
    "HIP": ("leftUpperLeg", (0.07, -0.05, 0.0), 0.06),
    "THI": ("leftUpperLeg", (0.08, -0.22, 0.02), 0.08),
    "KNE": ("leftUpperLeg", (0.06, -0.43, 0.00), 0.025),
    "KNI": ("leftUpperLeg", (-0.05, -0.43, 0.00), 0.03),
    "SHN": ("leftLowerLeg", (0.03, -0.20, 0.04), 0.08),
    "ANK": ("leftLowerLeg", (0.05, -0.43, -0.01), 0.02),
    "HEE": ("leftFoot", (0.00, -0.04, -0.07), 0.025),
    "HEL": ("leftFoot", (0.00, -0.04, -0.07), 0.025),
    "MT5": ("leftFoot", (0.055, -0.04, 0.10), 0.025),
    "MT1": ("leftFoot", (-0.03, -0.03, 0.12), 0.03),
    "TOE": ("leftFoot", (0.00, -0.03, 0.15), 0.035),
    "SHO": ("leftShoulder", (0.14, 0.06, -0.01), 0.025),
    "FSH": ("leftShoulder", (0.13, 0.03, 0.05), 0.04),
    "BSH": ("leftShoulder", (0.13, 0.03, -0.07), 0.04),
    "BAC": ("upperChest", (0.08, 0.03, -0.14), 0.06),
    "UPA": ("leftUpperArm", (0.15, 0.03, 0.02), 0.06),
    "ELB": ("leftUpperArm", (0.28, 0.03, -0.02), 0.025),
    "IEL": ("leftUpperArm", (0.28, -0.03, 0.02), 0.04),
    "FRM": ("leftLowerArm", (0.13, 0.03, 0.00), 0.05),
    "WRE": ("leftLowerArm", (0.15, 0.03, 0.00), 0.08),
    "WRA": ("leftLowerArm", (0.255, 0.02, 0.03), 0.03),
    "IWR": ("leftLowerArm", (0.255, 0.01, 0.03), 0.04),
    "WRB": ("leftLowerArm", (0.255, 0.02, -0.03), 0.03),
    "OWR": ("leftLowerArm", (0.255, 0.01, -0.03), 0.04),
    "FIN": ("leftHand", (0.09, 0.02, 0.00), 0.04),
    "IHAND": ("leftHand", (0.09, 0.02, 0.03), 0.05),
    "OHAND": ("leftHand", (0.09, 0.02, -0.03), 0.05),
    "FHD": ("head", (0.07, 0.17, 0.10), 0.05),
    "BHD": ("head", (0.07, 0.17, -0.08), 0.05),
}
VICON_MIDDLE: Mapping[str, Place] = {
    "C7": ("upperChest", (0.0, 0.14, -0.07), 0.03),
    "T10": ("chest", (0.0, 0.03, -0.13), 0.05),
    "CLAV": ("upperChest", (0.0, 0.07, 0.09), 0.04),
    "STRN": ("chest", (0.0, 0.05, 0.13), 0.05),
    "ARIEL": ("head", (0.0, 0.25, 0.02), 0.06),
}
VICON_TORSO = ("FWT", "MWT", "BWT", "C7", "T10", "CLAV", "STRN")


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


def vicon_place(label: str) -> Place | None:
    """Return where a marker of this name sits, None for an unknown name."""
    place = VICON_LEFT.get(label[1:])
    if label in VICON_MIDDLE or place is None or label[:1] not in ("L", "R"):
        return VICON_MIDDLE.get(label)
    return place if label[0] == "L" else mirror_image(place)


def mirror_image(place: Place) -> Place:
    """Return the place of the other side."""
    (joint, (x, y, z), sigma_m) = place
    return mirror_joint_name(joint), (-x, y, z), sigma_m


def vicon_markers(where: str, labels: Sequence[str], fps: float, point_m: Floats, valid: Bools) -> NamedMarkers:
    """Return the markers with Vicon's names, turned so that y is up: the axis along which shoulders are farthest above feet.

    where: the file, for messages. Raises FileFormatError: too few names are known.
    """
    often = valid.mean(axis=0) > SELDOM
    places = {k: place for k, label in enumerate(labels) if often[k] and (place := vicon_place(label.upper())) is not None}
    names = tuple(labels[k] for k in places)
    torso = np.array([label.upper().lstrip("LR") in VICON_TORSO or label.upper() in VICON_TORSO for label in names], bool)
    if len(places) < LEAST or int(torso.sum()) < 3:
        raise FileFormatError(
            f"{where}: {len(places)} markers of known names, {int(torso.sum())} of the torso; expected at least {LEAST} and 3 of "
            f"Vicon's, such as LFWT, RFWT, LBWT, C7, LKNE, LANK; found {', '.join(labels[:6])}, ..."
        )
    keep = list(places)
    joint = np.array([JOINT_INDEX[place[0]] for place in places.values()], np.int64)
    offset_m = np.array([place[1] for place in places.values()])
    sigma_m = np.array([place[2] for place in places.values()])
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
