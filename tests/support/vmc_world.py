"""What a receiver of VMC makes of it: bones by name from datagrams, and their places in the world by Unity's hierarchy."""

from collections.abc import Iterable

import numpy as np
from pythonosc.osc_packet import OscPacket

from database.geometry.rotations import matrix_from_quaternion

# Unity's humanoid, written down from its own documentation of HumanBodyBones; a missing parent passes its children on.
PARENT = {
    "Spine": "Hips",
    "Chest": "Spine",
    "UpperChest": "Chest",
    "Neck": "UpperChest",
    "Head": "Neck",
    "LeftShoulder": "UpperChest",
    "LeftUpperArm": "LeftShoulder",
    "LeftLowerArm": "LeftUpperArm",
    "LeftHand": "LeftLowerArm",
    "LeftUpperLeg": "Hips",
    "LeftLowerLeg": "LeftUpperLeg",
    "LeftFoot": "LeftLowerLeg",
    "LeftToes": "LeftFoot",
    "RightShoulder": "UpperChest",
    "RightUpperArm": "RightShoulder",
    "RightLowerArm": "RightUpperArm",
    "RightHand": "RightLowerArm",
    "RightUpperLeg": "Hips",
    "RightLowerLeg": "RightUpperLeg",
    "RightFoot": "RightLowerLeg",
    "RightToes": "RightFoot",
}
Messages = list[tuple[str, list[object]]]


def decoded(datagrams: Iterable[bytes | bytearray]) -> Messages:
    """Return the messages of datagrams in order: address and arguments."""
    packets = [OscPacket(bytes(datagram)) for datagram in datagrams]
    return [(timed.message.address, list(timed.message.params)) for packet in packets for timed in packet.messages]


def bones(messages: Messages) -> dict[str, list[float]]:
    """Return the local transforms by bone: x, y, z and x, y, z, w."""
    return {str(values[0]): values[1:] for address, values in messages if address == "/VMC/Ext/Bone/Pos"}


def in_world(local: dict[str, list[float]]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return rotation (3, 3) and place (3,) of each bone in the receiver's world, whose formulas are those of any handedness."""

    def of(name: str) -> tuple[np.ndarray, np.ndarray]:
        rotation, place = matrix_from_quaternion(local[name][3:]), np.array(local[name][:3])
        parent = PARENT.get(name)
        while parent is not None and parent not in local:
            parent = PARENT.get(parent)
        if parent is None:
            return rotation, place
        R, p = of(parent)
        return R @ rotation, p + R @ place

    return {name: of(name) for name in local}
