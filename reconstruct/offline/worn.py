"""Where the markers of a take sit on the body, told by all its frames.

A T-pose leaves markers' places off by a centimetre or two, the same in all frames: no error of pixels, which frames average out.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from calibration.subject.subject import Subject
from capture.packets import MarkerFrame
from config.arrays import Floats
from database.geometry.kinematics import compute_forward_kinematics
from reconstruct.offline.motion import TakeMotion

CALIBRATION_FRAMES: Final = 10.0  # that the calibrated place of a marker is worth
FAR_M: Final = 0.06  # markers so much farther from where they are expected count half: wrong labels


def estimate_marker_offsets_m(subject: Subject, offset_m: Floats, frames: Sequence[MarkerFrame], motion: TakeMotion) -> Floats:
    """Return where the markers sit in their joints' frames, (M, 3) [m]: where the cameras saw them on bodies in solved poses.

    The mean of what was seen, with robust weights, and of the calibrated places.

    Args:
        subject: the performer.
        offset_m: expected offsets, (M, 3) [m].
        frames: the markers of each frame.
        motion: the poses of the take.
    """
    orientation, place_m = compute_forward_kinematics(subject.skeleton, motion.rotvec, motion.position_m)
    point_m, valid = np.array([frame.point_m for frame in frames]), np.array([frame.valid for frame in frames])
    from_joint = np.where(valid[..., None], point_m - place_m[:, subject.joint], 0.0)
    seen_m = np.einsum("nmji,nmj->nmi", orientation[:, subject.joint], from_joint)
    weight = valid / (1.0 + ((seen_m - offset_m) ** 2).sum(axis=2) / FAR_M**2)
    total = CALIBRATION_FRAMES * subject.offset_m + np.einsum("nm,nmi->mi", weight, seen_m)
    return np.asarray(total / (CALIBRATION_FRAMES + weight.sum(axis=0))[:, None])
