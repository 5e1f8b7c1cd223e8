"""Poses as VMC: root, bones, state and time, in that order, as OSC bundles.

Our axes become Unity's (`stream.axes`): performers face +Z in both, their left is at +X here and -X there.
The root stays at the origin and the hips carry the motion, as SlimeVR sends it: some receivers ignore the root. State and time
come last, since receivers that gather a frame end it with either.
"""

from stream.axes import UNITY
from stream.messages import PoseMessage, SkeletonMessage
from stream.vmc.bones import folded, product, sent_bones
from stream.vmc.datagrams import Datagrams, MessageForm
from stream.vmc.level import LEVEL, Placement

TRANSFORM = "fffffff"
ROOT_FORM = MessageForm("/VMC/Ext/Root/Pos", ("root",), TRANSFORM)
STATE_FORM = MessageForm("/VMC/Ext/OK", (), "iiii")
TIME_FORM = MessageForm("/VMC/Ext/T", (), "f")
LOADED = 1
CALIBRATED = 3
NORMAL_MODE = 0
GOOD, BAD = 1, 0


def state_numbers(tracked: bool) -> tuple[int, int, int, int]:
    """Give the numbers of /VMC/Ext/OK: model loaded, calibrated, normal mode, and whether the performer is tracked."""
    return LOADED, CALIBRATED, NORMAL_MODE, GOOD if tracked else BAD


class Heartbeat:
    """State and time alone, for as long as there is no pose to send."""

    def __init__(self) -> None:
        self._datagrams = Datagrams((STATE_FORM, TIME_FORM))

    def datagrams(self, tracked: bool, seconds: float) -> tuple[bytearray, ...]:
        """Give what to send, valid until the next call."""
        self._datagrams.put(0, *state_numbers(tracked))
        self._datagrams.put(1, seconds)
        return self._datagrams.buffers


class Composer:
    """Compose the poses of one skeleton; a value is written into datagrams that were encoded once.

    upper_chest: the receiver has that bone.
    """

    def __init__(self, skeleton: SkeletonMessage, upper_chest: bool = True) -> None:
        self.bones = sent_bones(skeleton, upper_chest)
        forms = [MessageForm("/VMC/Ext/Bone/Pos", (bone.name,), TRANSFORM) for bone in self.bones]
        self._datagrams = Datagrams([ROOT_FORM, *forms, STATE_FORM, TIME_FORM])
        self._datagrams.put(0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
        self._offsets: list[list[float]] = UNITY.positions(skeleton.offsets_m).tolist()

    def put_pose(self, pose: PoseMessage, placement: Placement = LEVEL) -> None:
        """Write a pose, placed in the receiver's world."""
        rotations: list[list[float]] = UNITY.quaternions(pose.rotations_xyzw).tolist()
        root = product(placement.turn_xyzw, pose.rotations_xyzw[0].tolist())
        rotations[0] = UNITY.quaternions(root).tolist()
        offsets = [UNITY.positions(placement.place(pose.root_m)).tolist(), *self._offsets[1:]]
        for number, bone in enumerate(self.bones):
            place, turn = folded(bone.chain, offsets, rotations)
            self._datagrams.put(1 + number, *place, *turn)

    def datagrams(self, tracked: bool, seconds: float) -> tuple[bytearray, ...]:
        """Give the last pose with the state and the time since the start [s], valid until the next call."""
        n_bones = len(self.bones)
        self._datagrams.put(1 + n_bones, *state_numbers(tracked))
        self._datagrams.put(2 + n_bones, seconds)
        return self._datagrams.buffers
