"""Whether the labels of a marker file are those of a mirrored body: an axis negated, left-handed axes, or sides exchanged.

Where trunks wear their markers has a handedness: what is at the front, to the left and above. Markers whose names contradict it
fit the mirror image of the usual places far better than the places themselves. Points without labels have no such names; their
mirror image is a person as well.
"""

import numpy as np

from calibration.subject.labelled import LabelledTake
from config.arrays import Floats
from config.joints import JOINT_INDEX
from database.builtin.bodies import build_person_skeleton
from database.geometry.rigid import fit_rigid_motion

TRUNK = [JOINT_INDEX[name] for name in ("hips", "spine", "chest", "upperChest", "leftShoulder", "rightShoulder")]
LEAST, N_FRAMES = 4, 60  # markers that have a handedness, and frames that are looked at
TIMES = 1.5  # farther from a body than from its mirror image; of three real files 0.1 to 0.5, of their mirror images 2 to 8


def describe_mirrored(take: LabelledTake) -> tuple[str, ...]:
    """Return in words that the labels are those of a mirrored body, if they are; take: y up."""
    own_m, mirrored_m = _measure_both(take)
    if not own_m > TIMES * mirrored_m:
        return ()
    return (
        f"left and right are mirrored: the trunk's markers are {1e3 * own_m:.0f} mm from where people wear them, and only "
        f"{1e3 * mirrored_m:.0f} mm in a mirror; an axis of the file is negated (left-handed axes), or the labels of left and "
        "right are exchanged: export it again",
    )


def _measure_both(take: LabelledTake) -> tuple[float, float]:
    """Return how far the trunk's markers are from their usual places and from these mirrored, RMS, median over frames [m]."""
    point_m, valid = take.markers()
    place_m = build_person_skeleton(1.75).rest_positions_m()[take.worn.joint] + take.worn.offset_m
    valid = valid & np.isin(take.worn.joint, TRUNK)
    rows = np.flatnonzero(valid.sum(axis=1) >= LEAST)
    if not len(rows):
        return 0.0, 0.0
    rows = rows[np.unique(np.linspace(0, len(rows) - 1, N_FRAMES).astype(int))]
    off_m = [
        [_measure_off(places, point_m[row], valid[row].astype(float)) for row in rows]
        for places in (place_m, place_m * (-1.0, 1.0, 1.0))
    ]
    own_m, mirrored_m = np.median(off_m, axis=1).tolist()
    return own_m, mirrored_m


def _measure_off(place_m: Floats, point_m: Floats, weights: Floats) -> float:
    """Return the RMS distance of points from places laid on them, (M, 3) each [m]; weights: (M,)."""
    R, t = fit_rigid_motion(place_m, point_m, weights)
    return float(np.sqrt(np.average(((place_m @ R.T + t - point_m) ** 2).sum(axis=1), weights=weights)))
