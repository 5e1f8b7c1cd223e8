"""T-poses of people for tests of the subject's calibration: held a few degrees off, markers off their places, parts of a set."""

from dataclasses import replace

import numpy as np

from calibration.subject.fit import BodyPrior, TakesFit, TPose, fit_agreeing_takes
from calibration.subject.subject import Subject
from config.arrays import Floats
from config.joints import JOINT_INDEX, JOINTS, N_JOINTS
from database.builtin import build_person_skeleton
from database.geometry.kinematics import charted_from_local
from database.geometry.rotations import matrix_from_rotvec
from tests.support.people import person, worn_markers

BODIES = [
    build_person_skeleton(1.55),
    build_person_skeleton(1.66, shoulder_ratio=1.05),
    build_person_skeleton(1.72),
    build_person_skeleton(1.85, arm_ratio=1.05),
    build_person_skeleton(1.78, leg_ratio=1.05),
]


def held(
    subject: Subject, seed: int = 0, noise_m: float = 0.002, arms_rad: float = 0.0, turn_rad: float = 0.0, off_rad: float = 0.02
) -> TPose:
    """Return a T-pose of 60 frames; arms_rad: by which both arms point above level, turn_rad: about the vertical."""
    rng = np.random.default_rng(seed)
    rotvec = rng.normal(0.0, off_rad, (N_JOINTS, 3))
    rotvec[0] = [0.0, turn_rad, 0.0]
    rotvec[JOINT_INDEX["leftUpperArm"], 2] += arms_rad
    rotvec[JOINT_INDEX["rightUpperArm"], 2] -= arms_rad
    markers, _ = worn_markers(subject, charted_from_local(matrix_from_rotvec(rotvec))[None], np.array([[0.2, 0.95, -0.3]]))
    n = len(subject.markers)
    point = markers[0] + rng.normal(0.0, noise_m, (n, 3))
    return TPose(point, np.ones(n, bool), np.tile(noise_m**2 * np.eye(3), (n, 1, 1)), np.full(n, 1.5 * noise_m), 60)


def without(tpose: TPose, subject: Subject, side: str) -> TPose:
    """Return a take in which the markers of one side's limbs are not worn."""
    markers = subject.markers
    off = [not markers.torso[m] and JOINTS[j].startswith(side) for m, j in enumerate(markers.joint)]
    return hidden(tpose, np.flatnonzero(off))


def hidden(tpose: TPose, chosen: np.ndarray) -> TPose:
    """Return a take in which some markers are not seen."""
    valid = tpose.valid.copy()
    valid[chosen] = False
    return replace(tpose, valid=valid, point_m=np.where(valid[:, None], tpose.point_m, 0.0))


def scaled(tpose: TPose, factor: float) -> TPose:
    """Return what a rig of another scale would say."""
    return replace(tpose, point_m=tpose.point_m * factor)


def fitted(tposes: list[TPose], subject: Subject | None = None, **known: object) -> TakesFit:
    """Fit one performer to takes."""
    subject = person("dark_room", 1, build_person_skeleton(1.75)) if subject is None else subject
    return fit_agreeing_takes("Ann", subject.markers, tposes, BodyPrior(BODIES, **known))  # type: ignore[arg-type]


def offsets_mm(found: TakesFit, subject: Subject) -> Floats:
    """Return how far the offsets found are from the true ones, (M,) [mm]."""
    return np.asarray(1e3 * np.linalg.norm(found.fit.subject.offset_m - subject.offset_m, axis=1))
