"""The poses of a walker with 41 markers: a body fitted to the walk itself, then posed frame by frame.

There is no T-pose: lengths, places of markers and poses of some frames are found together, from where markers are meant to be.
"""

from pathlib import Path

import numpy as np

from calibration.subject.adjust import MarkerPriors, SubjectProblem, adjust
from calibration.subject.model import skeleton_of, skeleton_space
from calibration.subject.poses import pose_markers, poses_of_markers, torso_placement
from config.arrays import Bools, Floats, Ints
from config.errors import FileFormatError
from config.joints import JOINT_INDEX, mirrored
from database.builtin.bodies import body
from database.clips import Clip
from database.files.trc import TrcPoints, read_trc
from tools.progress import ProgressState

N_FITTED = 30  # frames that the body is fitted to
WORTH = 20.0  # independent frames that they are worth
HEIGHTS_M = (1.65, 1.75, 1.85)
MIDDLE_M = 0.005

# Joint, offset in the rest pose [m] and how far it may be from there [m], of the left side; `R.` is its mirror image. TH and SH
# are clusters on thigh and shank that nobody says more of.
LEFT = {
    "Shoulder": ("leftShoulder", (0.15, 0.05, -0.03), 0.02),
    "Clavicle": ("upperChest", (0.03, 0.13, 0.10), 0.025),
    "Biceps": ("leftUpperArm", (0.20, 0.04, 0.00), 0.05),
    "Elbow": ("leftUpperArm", (0.32, 0.03, -0.02), 0.02),
    "Forearm": ("leftLowerArm", (0.13, 0.04, 0.00), 0.05),
    "Wrist": ("leftLowerArm", (0.255, 0.025, 0.00), 0.02),
    "ASIS": ("hips", (0.125, 0.04, 0.05), 0.02),
    "PSIS": ("hips", (0.045, 0.04, -0.16), 0.02),
    "Knee": ("leftUpperLeg", (0.055, -0.43, 0.00), 0.02),
    "Ankle": ("leftLowerLeg", (0.04, -0.43, -0.01), 0.015),
    "Heel": ("leftFoot", (0.00, -0.04, -0.07), 0.02),
    "MT5": ("leftFoot", (0.055, -0.04, 0.10), 0.02),
    "Toe": ("leftToes", (-0.02, 0.02, 0.04), 0.03),
    **{f"TH{k}": ("leftUpperLeg", (0.07, -0.22, 0.03), 0.12) for k in range(1, 5)},
    **{f"SH{k}": ("leftLowerLeg", (0.05, -0.20, 0.00), 0.12) for k in range(1, 5)},
}
MIDDLE = {"S2": ("hips", (0.0, 0.02, -0.165), 0.02)}
TORSO = ("ASIS", "PSIS", "S2")


def walker_clip(file: Path, progress: ProgressState) -> Clip:
    """Return the poses of a walk's markers. Raises FileFormatError: markers of other names."""
    points = read_trc(file)
    names, joint, offset_m, sigma_m = marker_places(file, points)
    keep = [points.labels.index(name) for name in names]
    at, seen = points.point_m[:, keep], points.valid[:, keep]
    torso = np.array([name.rpartition(".")[2] in TORSO for name in names])
    space = skeleton_space([body(height) for height in HEIGHTS_M])
    mean = space.skeleton(np.zeros(space.n_parameters))
    rows = np.unique(np.linspace(0, len(at) - 1, N_FITTED).astype(int))
    takes = tuple(
        pose_markers(at[n], seen[n], *torso_placement(mean, joint, offset_m, torso & seen[n], at[n]), max(1.0, len(rows) / WORTH))
        for n in rows
    )
    fitted = adjust(SubjectProblem(space, MarkerPriors(joint, offset_m, sigma_m), takes), max_steps=40)
    skeleton = skeleton_of(space.vectors(fitted.state.y)[0], file.stem)
    worn: tuple[Ints, Floats, Bools] = (joint, fitted.state.offset_m, torso)
    found = poses_of_markers(skeleton, worn, at, seen, progress)
    fps = (len(points.seconds) - 1) / float(points.seconds[-1] - points.seconds[0])
    return Clip(file.stem, skeleton, fps, found.rotvec, found.root_m)


def marker_places(file: Path, points: TrcPoints) -> tuple[list[str], Ints, Floats, Floats]:
    """Return the known markers of a file: names, joints (M,), offsets (M, 3) [m] and how far they may be from there (M,) [m]."""
    names, rows = [], []
    for name in points.labels:
        side, _, bone = name.rpartition(".")
        if side in ("L", "R") and bone in LEFT:
            joint, offset, sigma = LEFT[bone]
            sign = 1.0 if side == "L" else -1.0
            rows.append((joint if side == "L" else mirrored(joint), (sign * offset[0], *offset[1:]), sigma))
        elif name in MIDDLE:
            rows.append(MIDDLE[name])
        else:
            continue
        names.append(name)
    if sum(name.rpartition(".")[2] in TORSO for name in names) < 3:
        raise FileFormatError(f"{file}: expected the markers L.ASIS, R.ASIS, L.PSIS, R.PSIS and so on")
    joints = np.array([JOINT_INDEX[row[0]] for row in rows], np.int64)
    return names, joints, np.array([row[1] for row in rows]), np.array([row[2] for row in rows])
