"""Bring clips to another frame rate."""

import math
from dataclasses import replace

import numpy as np

from database.clips import Clip
from database.kinematics import charted, local_rotations
from database.rotations import matrix_from_rotvec, rotvec_from_matrix


def resample(clip: Clip, fps: float) -> Clip:
    """Give the clip at `fps`: rotations by slerp (Shoemake 1985, in the form R0 exp(t log(R0^T R1))), the root linearly.

    The first pose stays the first; the last is the last instant within the clip. A whole ratio takes a subset of the frames,
    unchanged. Motion faster than half the new rate is not filtered out: bodies have hardly any above 10 Hz.
    """
    if fps <= 0:
        raise ValueError(f"fps must be above zero, not {fps}")
    ratio = clip.fps / fps
    whole = round(ratio)
    if whole >= 1 and abs(ratio - whole) < 1e-9 * ratio:
        rotvec, root_m = (np.ascontiguousarray(array[::whole]) for array in (clip.rotvec, clip.root_m))
        return replace(clip, fps=fps, rotvec=rotvec, root_m=root_m)
    # The tolerance keeps the last frame where rounding would put its time just beyond the clip.
    n = math.floor((clip.n_frames - 1) / ratio + 1e-9) + 1
    times = np.minimum(np.arange(n) * ratio, clip.n_frames - 1)
    first = np.minimum(times.astype(np.int64), max(clip.n_frames - 2, 0))
    second = np.minimum(first + 1, clip.n_frames - 1)
    share = times - first
    before, after = local_rotations(clip.rotvec[first]), local_rotations(clip.rotvec[second])
    turn = rotvec_from_matrix(np.swapaxes(before, -1, -2) @ after)
    rotvec = charted(before @ matrix_from_rotvec(share[:, None, None] * turn))
    root_m = clip.root_m[first] + share[:, None] * (clip.root_m[second] - clip.root_m[first])
    return replace(clip, fps=fps, rotvec=np.ascontiguousarray(rotvec), root_m=np.ascontiguousarray(root_m))
