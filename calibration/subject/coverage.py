"""What a marker set leaves to chance: limbs and a trunk that no marker tells of, and a torso that rests on markers that swing."""

import numpy as np

from calibration.quality.report import Finding, Grade
from config.joints import JOINT_INDEX, JOINTS
from config.markers import MarkerSet, find_unmarked_chains

LIMBS = {"leftUpperArm": "left arm", "rightUpperArm": "right arm", "leftUpperLeg": "left leg", "rightUpperLeg": "right leg"}
TRUNK = ("hips", "spine", "chest", "upperChest", "leftShoulder", "rightShoulder", "neck")  # what torso markers should be on
CARRIED_M = 0.3  # from its joint: what is farther is on something that is carried, or hangs


def judge_marker_coverage(markers: MarkerSet) -> list[Finding]:
    """Return a finding for each part of the body whose movement the markers do not determine.

    Fewer markers are the performer's choice and no fault of the calibration; a torso that swings is.
    """
    if not markers.worn.all():
        return []  # landmarks are on every limb, and at both ends of the trunk
    return [*_judge_limbs(markers), *_judge_trunk(markers), *_judge_torso(markers)]


def _judge_limbs(markers: MarkerSet) -> list[Finding]:
    """Return findings on limbs without a marker, which then move as in similar motions."""
    limbs = [LIMBS[first] for first in find_unmarked_chains(markers.joint) if first in LIMBS]
    if not limbs:
        return []
    verb, each = ("has", "it moves") if len(limbs) == 1 else ("have", "they move")
    text = f"{' and '.join(limbs)} {verb} no marker: {each} as in similar motions and may be far off (joint_source: inferred)"
    return [Finding(Grade.PASS, text, "wear a marker on each hand and foot")]


def _judge_trunk(markers: MarkerSet) -> list[Finding]:
    """Return findings on a trunk whose bending no marker shows: all markers of the torso are on the hips, or none."""
    on_hips = markers.joint == JOINT_INDEX["hips"]
    torso = markers.torso
    if (torso & on_hips).any() and (torso & ~on_hips).any():
        return []
    where, other = ("the hips", "shoulders or chest") if (torso & on_hips).any() else ("chest and shoulders", "the waist")
    text = f"all torso markers are on {where}: how the trunk bends is left to chance"
    return [Finding(Grade.PASS, text, f"wear two more on {other}, with torso = true")]


def _judge_torso(markers: MarkerSet) -> list[Finding]:
    """Return findings on markers of the torso that do not move with it."""
    off_trunk = ~np.isin(markers.joint, [JOINT_INDEX[joint] for joint in TRUNK])
    carried = np.linalg.norm(markers.offset_m, axis=1) > CARRIED_M
    swinging = [
        f"{name} ({JOINTS[joint]})"
        for name, joint, swings in zip(markers.names, markers.joint, markers.torso & (off_trunk | carried), strict=True)
        if swings
    ]
    if not swinging:
        return []
    text = f"the torso rests on markers that swing: {', '.join(swinging)}"
    return [Finding(Grade.POOR, text, "set torso = false for these, and wear them on waist, chest or shoulders")]
