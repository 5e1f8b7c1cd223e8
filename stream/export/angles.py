"""Joint angles of a take: CSV by the conventions of the ISB, and `.mot` with the coordinates of OpenSim's models.

What each angle is: `database.geometry.joint_angles`. A `.mot` holds the coordinates of Rajagopal et al. 2016 or of gait2392 in
degrees and metres, for a model that walks along X. The joints of ankle and toes have the models' own oblique axes: angles about
these that come nearest to the foot are sought, and what a model's joint cannot do is left out.
"""

from pathlib import Path

import numpy as np

from config.arrays import Bools, Floats
from config.files import write_atomically
from config.joints import JOINT_INDEX
from database.geometry.joint_angles import (
    ARM_TRIPLE,
    PELVIS_TRIPLE,
    TRIPLES,
    UPRIGHT,
    compute_joint_angles,
    orient_segment,
    remove_angle_jumps,
)
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.rotations import rotation_about
from stream.export.csv import format_table
from stream.export.points import convert_to_ascii
from stream.take.resampling import resample_evenly
from stream.take.take import Take

# Axes of gait2392 and of Rajagopal et al. 2016, of the right side, in their parents' frames.
ANKLE_AXIS = np.array([-0.10501355, -0.17402245, 0.97912632])
SUBTALAR_AXIS = np.array([0.7871796, 0.60474746, -0.12094949])
TOES_AXIS = np.array([-0.58095440, 0.0, 0.81393611])
# The pelvis' origin from the middle of the hip joints in gait2392 [m], and the distance between these.
PELVIS_ORIGIN_M = np.array([0.0707, 0.0661, 0.0])
PELVIS_WIDTH_M = 0.167
ROUNDS = 20

LEG = ("hip_flexion", "hip_adduction", "hip_rotation", "knee_angle", "ankle_angle", "subtalar_angle", "mtp_angle")
ARM = ("arm_flex", "arm_add", "arm_rot", "elbow_flex", "pro_sup", "wrist_flex", "wrist_dev")
# Coordinates of the models under our names.
OURS = {
    "knee_angle": "knee_flexion",
    "elbow_flex": "elbow_flexion",
    "pro_sup": "elbow_pronation",
    "wrist_flex": "wrist_flexion",
    "wrist_dev": "wrist_deviation",
    "lumbar_bending": "trunk_bending",
    "lumbar_rotation": "trunk_rotation",
}


def write_angles_csv(file: Path, take: Take) -> None:
    """Write the joint angles of a take in degrees, one row a frame; the cells of a lost frame are empty."""
    write_atomically(file, format_angles_csv(take))


def write_mot(file: Path, take: Take) -> None:
    """Write the coordinates of OpenSim's full-body model (Rajagopal et al. 2016), in which bending a knee is positive."""
    write_atomically(file, format_mot(take, file.stem))


def write_gait2392_mot(file: Path, take: Take) -> None:
    """Write the coordinates of gait2392 and its kin: no arms, and bending a knee is negative."""
    write_atomically(file, format_mot(take, file.stem, gait2392=True))


def format_angles_csv(take: Take) -> str:
    """Return the joint angles of a take as the text of a CSV file."""
    found = compute_joint_angles(take.skeleton, take.rotvec, known=~take.lost)
    frames = zip(take.lost, np.degrees(found.angle_rad).tolist(), strict=True)
    rows = (["" if lost else f"{angle:.4f}" for angle in angles] for lost, angles in frames)
    return format_table(take, [f"{name}_deg" for name in found.names], rows)


def format_mot(take: Take, name: str, gait2392: bool = False) -> str:
    """Return a take as the text of a MOT file, at equal times; lost frames are left out, as OpenSim knows no gaps.

    Args:
        take: the motion.
        name: of the file, for its first line.
        gait2392: coordinates of this model, else those of Rajagopal et al. 2016.
    """
    even = resample_evenly(take)
    columns = compute_opensim_coordinates(even, gait2392)
    known = ~even.lost
    names = ["time", *columns]
    head = [
        convert_to_ascii(name) or "motion",
        "version=1",
        f"nRows={int(known.sum())}",
        f"nColumns={len(names)}",
        "inDegrees=yes",
    ]
    values = np.column_stack([even.seconds, *columns.values()])[known]
    rows = ["\t".join(f"{value:.6f}" for value in row) for row in values.tolist()]
    return "\n".join([*head, "", "endheader", "\t".join(names), *rows]) + "\n"


def compute_opensim_coordinates(take: Take, gait2392: bool) -> dict[str, Floats]:
    """Return the coordinates of a model by their names, each (N,), in degrees and metres."""
    known = ~take.lost
    found = compute_joint_angles(take.skeleton, take.rotvec, (*TRIPLES, ARM_TRIPLE), known)
    ours = dict(zip(found.names, np.degrees(found.angle_rad).T, strict=True))
    pelvis = compute_joint_angles(take.skeleton, take.rotvec, (PELVIS_TRIPLE,), known)
    out = dict(zip(pelvis.names, np.degrees(pelvis.angle_rad).T, strict=True))
    G, p = compute_forward_kinematics(take.skeleton, take.rotvec, take.root_m)
    out |= dict(zip(("pelvis_tx", "pelvis_ty", "pelvis_tz"), _place_pelvis(take, G, p).T, strict=True))
    for side in ("r", "l"):
        feet = _compute_foot_coordinates(take, G, side == "l", known)
        for coordinate in LEG if gait2392 else (*LEG, *ARM):
            name = f"{coordinate}_{side}"
            values = feet[coordinate] if coordinate in feet else ours[f"{OURS.get(coordinate, coordinate)}_{side}"]
            out[name] = -values if gait2392 and coordinate == "knee_angle" else values
    out |= {"lumbar_extension": -ours["trunk_flexion"]}
    return out | {name: ours[OURS[name]] for name in ("lumbar_bending", "lumbar_rotation")}


def _place_pelvis(take: Take, G: Floats, p: Floats) -> Floats:
    """Return the pelvis' origin in a world in which one walks along X, (N, 3) [m]."""
    sides = [JOINT_INDEX[name] for name in ("leftUpperLeg", "rightUpperLeg")]
    width_m = float(np.linalg.norm(np.subtract(*take.skeleton.offsets_m[sides])))
    pelvis = orient_segment(take.skeleton, G, "hips", False)
    at = p[:, sides].mean(axis=1) + pelvis @ (width_m / PELVIS_WIDTH_M * PELVIS_ORIGIN_M)
    return np.asarray(at @ UPRIGHT)


def _compute_foot_coordinates(take: Take, G: Floats, left: bool, known: Bools) -> dict[str, Floats]:
    """Return the angles of ankle and toes about the models' axes, each (N,) [degrees]."""
    shank, foot, toes = (orient_segment(take.skeleton, G, name, left) for name in ("rightLowerLeg", "rightFoot", "rightToes"))
    R = np.swapaxes(shank, -1, -2) @ foot
    ankle, subtalar = np.zeros(len(R)), np.zeros(len(R))
    for _ in range(ROUNDS):
        ankle = _fit_angle(ANKLE_AXIS, R @ np.swapaxes(rotation_about(SUBTALAR_AXIS, subtalar), -1, -2))
        subtalar = _fit_angle(SUBTALAR_AXIS, np.swapaxes(rotation_about(ANKLE_AXIS, ankle), -1, -2) @ R)
    found = {"ankle_angle": ankle, "subtalar_angle": subtalar}
    found["mtp_angle"] = _fit_angle(TOES_AXIS, np.swapaxes(foot, -1, -2) @ toes)
    return {name: np.degrees(remove_angle_jumps(angle, known)) for name, angle in found.items()}


def _fit_angle(axis: Floats, R: Floats) -> Floats:
    """Return the angle about a unit axis whose rotation is nearest to each of R, (N, 3, 3) -> (N,) [rad]."""
    turn = np.stack([R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]], axis=1)
    along = np.einsum("i,nij,j->n", axis, R, axis)
    return np.asarray(np.arctan2(turn @ axis, np.trace(R, axis1=1, axis2=2) - along))
