"""The poses of a walker with 41 markers: a body fitted to the walk itself, then posed frame by frame.

There is no T-pose: lengths, places of markers and poses of some frames are found together, from where markers are meant to be.
"""

from pathlib import Path

import numpy as np

from config.errors import FileFormatError
from config.joints import JOINT_INDEX
from database.clips import Clip
from database.files.trc import TrcPoints, read_trc
from tools.evaluate.marker_bodies import NamedMarkers, fitted_clip, mirror_image
from tools.progress import ProgressState

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
    return fitted_clip(file.stem, walker_markers(file, read_trc(file)), progress)


def walker_markers(file: Path, points: TrcPoints) -> NamedMarkers:
    """Return the known markers of a file. Raises FileFormatError: those of the pelvis are not among them."""
    names, rows = [], []
    for name in points.labels:
        side, _, bone = name.rpartition(".")
        if side in ("L", "R") and bone in LEFT:
            rows.append(LEFT[bone] if side == "L" else mirror_image(LEFT[bone]))
        elif name in MIDDLE:
            rows.append(MIDDLE[name])
        else:
            continue
        names.append(name)
    torso = np.array([name.rpartition(".")[2] in TORSO for name in names], bool)
    if int(torso.sum()) < 3:
        raise FileFormatError(f"{file}: expected the markers L.ASIS, R.ASIS, L.PSIS, R.PSIS and so on")
    keep = [points.labels.index(name) for name in names]
    joint = np.array([JOINT_INDEX[row[0]] for row in rows], np.int64)
    fps = (len(points.seconds) - 1) / float(points.seconds[-1] - points.seconds[0])
    offset_m, sigma_m = np.array([row[1] for row in rows]), np.array([row[2] for row in rows])
    return NamedMarkers(tuple(names), joint, offset_m, sigma_m, torso, fps, points.point_m[:, keep], points.valid[:, keep])
