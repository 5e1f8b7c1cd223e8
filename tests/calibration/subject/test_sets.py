"""Any marker set: six markers, none on hips or shoulders, none on arms or legs; and what then is not known is said."""

import numpy as np
import pytest

from calibration.quality.report import Grade
from calibration.subject.fit import BodyPrior, fit_agreeing_takes
from calibration.subject.quality import collect_lengths, judge_subject
from calibration.subject.subject import Subject
from calibration.subject.tpose import average_tpose
from config.joints import JOINT_INDEX
from config.markers import MarkerSet, marker_set_from_tables
from database.builtin import build_person_skeleton
from tests.calibration.subject.takes import BODIES, held
from tests.calibration.subject.test_tpose import frames_of

PLACES: dict[str, tuple[str, tuple[float, float, float]]] = {
    "left_shoulder": ("leftShoulder", (0.16, 0.065, 0.04)),
    "right_shoulder": ("rightShoulder", (-0.16, 0.065, 0.04)),
    "chest": ("upperChest", (0.0, 0.05, 0.12)),
    "back": ("upperChest", (0.0, 0.1, -0.08)),
    "waist_left": ("hips", (0.1, 0.0, 0.11)),
    "waist_right": ("hips", (-0.1, 0.0, 0.11)),
    "waist_front": ("hips", (0.0, 0.0, 0.14)),
    "left_hand": ("leftHand", (0.08, 0.04, 0.0)),
    "right_hand": ("rightHand", (-0.08, 0.04, 0.0)),
    "left_knee": ("leftLowerLeg", (0.0, 0.0, 0.06)),
    "right_knee": ("rightLowerLeg", (0.0, 0.0, 0.06)),
    "left_ankle": ("leftFoot", (0.0, 0.0, 0.05)),
    "right_ankle": ("rightFoot", (0.0, 0.0, 0.05)),
}
TORSO = ("left_shoulder", "right_shoulder", "chest", "back", "waist_left", "waist_right", "waist_front")
SETS = {
    "six, hands": ("left_shoulder", "right_shoulder", "waist_left", "waist_right", "left_hand", "right_hand"),
    "six, feet": ("left_shoulder", "right_shoulder", "waist_left", "waist_right", "left_ankle", "right_ankle"),
    "no hips": ("left_shoulder", "right_shoulder", "chest", "back", "left_hand", "right_hand", "left_knee", "right_knee"),
    "no shoulders": ("waist_left", "waist_right", "waist_front", "left_knee", "right_knee", "left_ankle", "right_ankle"),
}


def marker_set(names: tuple[str, ...]) -> MarkerSet:
    """Return a set of some of the markers."""
    tables = {n: {"joint": PLACES[n][0], "offset_m": list(PLACES[n][1]), "torso": n in TORSO} for n in names}
    return marker_set_from_tables("a test", tables)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("seed", [1, 2])
def test_any_set_is_labelled_and_fitted(name: str, seed: int) -> None:
    """Placed a centimetre off, held two degrees off: lengths within four of the sigmas that are stated."""
    rng = np.random.default_rng(seed)
    worn, true = marker_set(SETS[name]), build_person_skeleton(rng.uniform(1.6, 1.8))
    offset = worn.offset_m + rng.normal(0.0, 0.006, worn.offset_m.shape)
    subject = Subject("Ann", true, worn, offset, np.zeros(len(worn)))
    seen = held(subject, seed)
    tpose = average_tpose(frames_of(seen.point_m, 8, seed, 0.002)[0], worn, BODIES, np.array([0.0, 1.2, 4.0]))
    assert tpose.valid.all() and np.linalg.norm(tpose.point_m - seen.point_m, axis=1).max() < 0.01
    found = fit_agreeing_takes("Ann", worn, [tpose], BodyPrior(BODIES))
    sigma_m = found.fit.subject.length_sigma_m
    assert sigma_m is not None
    for bone in ("leftLowerLeg", "rightFoot", "leftLowerArm", "rightHand"):
        j = JOINT_INDEX[bone]
        off = np.linalg.norm(found.fit.subject.skeleton.offsets_m[j]) - np.linalg.norm(true.offsets_m[j])
        assert abs(off) < 4.0 * sigma_m[0, j]
    report = judge_subject(found, [tpose], ["it"])
    assert report.grade is Grade.PASS, report.lines
    lengths = {length.name: length for length in collect_lengths(found.fit)}
    arms_seen = any("hand" in marker for marker in worn.names)
    assert any("arm pointed" in finding.text for finding in report.findings) == arms_seen
    if not {"left_knee", "left_ankle"} & set(worn.names):
        assert not lengths["thighs"].measured and not lengths["shins"].measured
    assert any("follow from people of that size" in finding.text for finding in report.findings)
