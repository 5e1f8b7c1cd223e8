"""The bones of VMC from our joints: Unity's names, local transforms, and joints that Unity lacks folded into those above.

A joint without a bone (upperNeck) would be lost with its rotation and its length. The bones above it take them over exactly: over
a chain of joints a, b, c below the last joint with a bone, L = L_a L_b L_c and t = o_a + L_a (o_b + L_b o_c), so that
all remaining joints are where they were.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from stream.messages import SkeletonMessage

UPPER_CHEST = "upperChest"
Quaternion = Sequence[float]
Place = Sequence[float]


@dataclass(frozen=True, slots=True)
class Bone:
    """A bone that is sent. name: of Unity's HumanBodyBones; chain: joints from below its parent bone down to its own."""

    name: str
    chain: tuple[int, ...]

    @property
    def joint(self) -> int:
        """The joint whose place and orientation the bone has."""
        return self.chain[-1]


def unity_name(vrm_bone: str) -> str:
    """Give Unity's HumanBodyBones name of a VRM 1.0 bone (of those the body has): leftUpperArm is LeftUpperArm."""
    return vrm_bone[:1].upper() + vrm_bone[1:]


def sent_bones(skeleton: SkeletonMessage, upper_chest: bool = True) -> tuple[Bone, ...]:
    """Give the bones of a skeleton, parent first; upper_chest False: as for a body that has no such bone."""
    bone_of = [skeleton.humanoid.get(name) for name in skeleton.names]
    sent = [bone is not None and (upper_chest or bone != UPPER_CHEST) for bone in bone_of]
    bones = []
    for joint, bone in enumerate(bone_of):
        if sent[joint] and bone is not None:
            chain = [joint]
            while (parent := skeleton.parents[chain[0]]) >= 0 and not sent[parent]:
                chain.insert(0, parent)
            bones.append(Bone(unity_name(bone), tuple(chain)))
    return tuple(bones)


def folded(chain: Sequence[int], offsets_m: Sequence[Place], rotations_xyzw: Sequence[Quaternion]) -> tuple[Place, Quaternion]:
    """Give the one local transform (place, rotation) that a chain of joints amounts to."""
    place, rotation = offsets_m[chain[0]], rotations_xyzw[chain[0]]
    for joint in chain[1:]:
        step = turned(rotation, offsets_m[joint])
        place = (place[0] + step[0], place[1] + step[1], place[2] + step[2])
        rotation = product(rotation, rotations_xyzw[joint])
    return place, rotation


def product(a: Quaternion, b: Quaternion) -> Quaternion:
    """Give the rotation b followed by a, both x, y, z, w."""
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


def turned(rotation: Quaternion, place: Place) -> Place:
    """Turn a place by a unit quaternion: v + w t + q x t with t = 2 q x v."""
    x, y, z, w = rotation
    px, py, pz = place
    tx, ty, tz = 2.0 * (y * pz - z * py), 2.0 * (z * px - x * pz), 2.0 * (x * py - y * px)
    return (px + w * tx + y * tz - z * ty, py + w * ty + z * tx - x * tz, pz + w * tz + x * ty - y * tx)
