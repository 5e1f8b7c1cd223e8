"""Clips at another rate, and mirrored clips: a second motion from each, as natural as the first."""

import math
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from config.joints import JOINT_INDEX, JOINTS
from config.joints import mirror_joint_name as mirrored_name
from database.clips import Clip
from database.geometry.kinematics import charted_from_local, local_from_charted
from database.geometry.rotations import matrix_from_rotvec, rotvec_from_matrix
from database.geometry.skeleton import Skeleton

AnyFloat = TypeVar("AnyFloat", np.float32, np.float64)


def resample_clip(clip: Clip, fps: float) -> Clip:
    """Return the clip at `fps`: rotations by slerp (Shoemake 1985, in the form R0 exp(t log(R0^T R1))), the root linearly.

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
    # With the tolerance the last frame is kept where rounding puts its time just beyond the clip.
    n = math.floor((clip.n_frames - 1) / ratio + 1e-9) + 1
    times = np.minimum(np.arange(n) * ratio, clip.n_frames - 1)
    first = np.minimum(times.astype(np.int64), max(clip.n_frames - 2, 0))
    second = np.minimum(first + 1, clip.n_frames - 1)
    share = times - first
    before, after = local_from_charted(clip.rotvec[first]), local_from_charted(clip.rotvec[second])
    step = rotvec_from_matrix(np.swapaxes(before, -1, -2) @ after)
    rotvec = charted_from_local(before @ matrix_from_rotvec(share[:, None, None] * step))
    root_m = clip.root_m[first] + share[:, None] * (clip.root_m[second] - clip.root_m[first])
    return replace(clip, fps=fps, rotvec=np.ascontiguousarray(rotvec), root_m=np.ascontiguousarray(root_m))


SUFFIX = "_mirrored"
OTHER_SIDE = np.array([JOINT_INDEX[mirrored_name(name)] for name in JOINTS])
# Mirrored in the plane x = 0, positions change the sign of x; rotation vectors those of y and z.
_POSITION_SIGN = np.array([-1.0, 1.0, 1.0])
ROTVEC_SIGN = np.array([1.0, -1.0, -1.0])


def mirror_rotvec(rotvec: NDArray[AnyFloat]) -> NDArray[AnyFloat]:
    """Return charted rotation vectors, (N, J, 3), of the mirror images of poses; no number is rounded."""
    return np.ascontiguousarray(rotvec[:, OTHER_SIDE] * ROTVEC_SIGN.astype(rotvec.dtype))


def mirror_clip(clip: Clip) -> Clip:
    """Return a clip mirrored in the plane x = 0; mirrored twice it is the clip itself.

    With M = diag(-1, 1, 1) and j' the joint on the other side, L_j = M L_j' M. The references of the charts are mirror images
    of each other, so the charted vectors change sides and signs and nothing else. Joint positions are those of the clip on the
    other side with x reversed. The name gains, or loses, "_mirrored"; the skeleton is mirrored too.
    """
    name = clip.name.removesuffix(SUFFIX) if clip.name.endswith(SUFFIX) else clip.name + SUFFIX
    rotvec = mirror_rotvec(clip.rotvec)
    body = clip.skeleton
    offsets_m, tails_m = (np.ascontiguousarray(array[OTHER_SIDE] * _POSITION_SIGN) for array in (body.offsets_m, body.tails_m))
    skeleton = Skeleton(body.name, offsets_m, tails_m)
    return replace(clip, name=name, skeleton=skeleton, rotvec=rotvec, root_m=clip.root_m * _POSITION_SIGN)
