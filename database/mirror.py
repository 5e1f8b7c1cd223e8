"""Left and right exchanged: a second motion from every clip, as real as the first."""

from dataclasses import replace

import numpy as np

from config.joints import JOINT_INDEX, JOINTS
from config.joints import mirrored as mirrored_name
from database.clips import Clip
from database.skeleton import Skeleton

SUFFIX = "_mirrored"
_OTHER_SIDE = np.array([JOINT_INDEX[mirrored_name(name)] for name in JOINTS])
# The mirror is the plane x = 0. Places lose the sign of x; rotations keep their part about x and reverse those about y and z.
_PLACE = np.array([-1.0, 1.0, 1.0])
_TURN = np.array([1.0, -1.0, -1.0])


def mirrored(clip: Clip) -> Clip:
    """Give a clip as a mirror in the plane x = 0 shows it; applied twice it gives the clip itself.

    With M = diag(-1, 1, 1) and j' the joint on the other side, L_j = M L_j' M. The references of the charts are mirror images
    of each other, so the charted vectors change sides and signs and nothing else. Joint positions are those of the clip on the
    other side with x reversed. The name gets, or loses, "_mirrored"; the skeleton is mirrored too.
    """
    name = clip.name.removesuffix(SUFFIX) if clip.name.endswith(SUFFIX) else clip.name + SUFFIX
    rotvec = np.ascontiguousarray(clip.rotvec[:, _OTHER_SIDE] * _TURN)
    return replace(clip, name=name, skeleton=mirrored_skeleton(clip.skeleton), rotvec=rotvec, root_m=clip.root_m * _PLACE)


def mirrored_skeleton(skeleton: Skeleton) -> Skeleton:
    """Give the skeleton of the mirror image: bones of the left are those of the right."""
    offsets_m = np.ascontiguousarray(skeleton.offsets_m[_OTHER_SIDE] * _PLACE)
    tails_m = np.ascontiguousarray(skeleton.tails_m[_OTHER_SIDE] * _PLACE)
    return Skeleton(skeleton.name, offsets_m, tails_m)
