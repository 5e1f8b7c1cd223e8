"""BVH: T-pose rest, centimetres, degrees, Y up, joints by their VRM names.

ROOT OFFSET is zero and the hips' position is in the position channels alone: three.js adds the two, Blender does not.
Rotation channels are in the order of matrix multiplication: "Yrotation Zrotation Xrotation" is R = Ry Rz Rx.
"""

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from calibration.subject.props import Prop
from capture.rate import estimate_frame_period_s
from config.arrays import Floats
from config.files import write_atomically
from config.joints import JOINTS, N_JOINTS, PARENTS
from stream.take.resampling import fill_lost_frames, resample_evenly
from stream.take.take import Take

Triple = tuple[float, float, float]

CM_PER_M = 100.0
NEAR_RAD = math.pi / 4
# The angle about the middle axis should stay away from 90 degrees. Knees, hips and elbows bend about X or Y and hardly about Z; a
# hanging arm is rotated by 90 degrees about Z from the T-pose, but hardly about X.
LIMB_ORDER = (1, 2, 0)
ARM_ORDER = (2, 0, 1)
ARM_JOINTS = ("leftShoulder", "leftUpperArm", "rightShoulder", "rightUpperArm")
CHILDREN = tuple(tuple(child for child in range(N_JOINTS) if PARENTS[child] == joint) for joint in range(N_JOINTS))


def write_bvh(file: Path, take: Take) -> None:
    """Write a take as BVH, resampled to equal frame times."""
    write_atomically(file, format_bvh(take))


def format_bvh(take: Take) -> str:
    """Return a take as the text of a BVH file."""
    even = fill_lost_frames(resample_evenly(take))
    lines = ["HIERARCHY", *_format_joint(even, 0, 0), "MOTION", f"Frames: {len(even)}"]
    lines.append(f"Frame Time: {estimate_frame_period_s(even.seconds):.9f}")
    values = _compute_channel_values(even)
    cells = " ".join(["%.6f"] * values.shape[1])
    lines += [cells % tuple(row) for row in values.tolist()]
    return "\n".join(lines) + "\n"


def find_euler_order(joint: int) -> tuple[int, int, int]:
    """Return the axes (0 X, 1 Y, 2 Z) of a joint's rotation channels in the order of multiplication."""
    return ARM_ORDER if JOINTS[joint] in ARM_JOINTS else LIMB_ORDER


def euler_from_matrix(rotation: Floats, order: tuple[int, int, int]) -> Floats:
    """Return angles with R = R_a(x) R_b(y) R_c(z): (N, 3, 3) -> (N, 3) [rad], continuous from frame to frame.

    order: a, b, c, a cyclic permutation of the axes. The other solution (x + pi, pi - y, z + pi) and multiples of 2 pi are used
    where they are closer to the frame before; where y is 90 degrees only x + z is defined, and z is kept.
    """
    a, b, c = order
    assert order in ((0, 1, 2), (1, 2, 0), (2, 0, 1))
    R = rotation
    cosine = np.hypot(R[:, a, a], R[:, a, b])
    y = np.arctan2(R[:, a, c], cosine)
    regular = cosine > 1e-9
    x = np.where(regular, np.arctan2(-R[:, b, c], R[:, c, c]), np.arctan2(R[:, c, b], R[:, b, b]))
    z = np.where(regular, np.arctan2(-R[:, a, b], R[:, a, a]), 0.0)
    # Plain numbers: each frame depends on the one before, and arrays of three are slow.
    angles = list(zip(x.tolist(), y.tolist(), z.tolist(), strict=True))
    for n, is_regular in enumerate(regular.tolist()):
        if n:
            angles[n] = _choose_closest_angles(angles[n], angles[n - 1], is_regular)
    return np.array(angles, float).reshape(-1, 3)


def _choose_closest_angles(angles: Triple, before: Triple, regular: bool) -> Triple:
    """Return the angles of the same rotation that are closest to `before`."""
    x, y, z = angles
    if regular and abs(x - before[0]) < NEAR_RAD and abs(y - before[1]) < NEAR_RAD and abs(z - before[2]) < NEAR_RAD:
        return angles  # the other solution is pi away in two angles
    if not regular:
        # R depends on x + sign(y) z alone; z is kept.
        x, z = x - math.copysign(before[2], y * before[2]), before[2]
    plain, other = _unwrap_angles((x, y, z), before), _unwrap_angles((x + math.pi, math.pi - y, z + math.pi), before)
    return min(plain, other, key=lambda v: abs(v[0] - before[0]) + abs(v[1] - before[1]) + abs(v[2] - before[2]))


def _unwrap_angles(angles: Triple, before: Triple) -> Triple:
    """Return angles modulo 2 pi, each within pi of the one before."""
    x, y, z = (v + math.tau * round((w - v) / math.tau) for v, w in zip(angles, before, strict=True))
    return x, y, z


def _compute_channel_values(take: Take) -> Floats:
    """Return one row a frame in the order of the hierarchy: hips' position [cm], then rotations [deg].

    A prop's, which follow those of the joint that carries it, are the same in every frame.
    """
    local = take.local_rotations()
    columns = [take.root_m * CM_PER_M]
    for joint in _list_depth_first(0):
        turns = [(local[:, joint], find_euler_order(joint))]
        turns += [(np.tile(prop.rotation, (len(take), 1, 1)), LIMB_ORDER) for prop in _find_carried(take, joint)]
        columns += [np.degrees(euler_from_matrix(rotation, order)) for rotation, order in turns]
    return np.concatenate(columns, axis=1)


def _list_depth_first(joint: int) -> Iterator[int]:
    """Return the joints in the order of the hierarchy."""
    yield joint
    for child in CHILDREN[joint]:
        yield from _list_depth_first(child)


def _find_carried(take: Take, joint: int) -> list[Prop]:
    """Return the props that a joint carries."""
    return [prop for prop in take.props if prop.joint == joint]


def _format_joint(take: Take, joint: int, depth: int) -> list[str]:
    """Return the hierarchy of a joint and its descendants; a leaf has an End Site at its tail, or a prop."""
    skeleton, tab, carried = take.skeleton, "\t" * depth, _find_carried(take, joint)
    channels = f"3 {_format_channels(find_euler_order(joint))}"
    channels = channels if depth else f"6 Xposition Yposition Zposition {channels[2:]}"
    lines = [f"{tab}{'JOINT' if depth else 'ROOT'} {JOINTS[joint]}", f"{tab}{{"]
    lines += [f"{tab}\tOFFSET {_format_offset_cm(skeleton.offsets_m[joint] * (depth > 0))}", f"{tab}\tCHANNELS {channels}"]
    for prop in carried:
        lines += _format_prop(prop, tab + "\t")
    for child in CHILDREN[joint]:
        lines += _format_joint(take, child, depth + 1)
    if not CHILDREN[joint] and not carried:
        lines += _format_end(skeleton.tails_m[joint], tab + "\t")
    return [*lines, f"{tab}}}"]


def _format_prop(prop: Prop, tab: str) -> list[str]:
    """Return the hierarchy of a prop: a joint of its own, its far end as End Site."""
    lines = [f"{tab}JOINT {prop.name}", f"{tab}{{", f"{tab}\tOFFSET {_format_offset_cm(prop.grip_m)}"]
    lines += [f"{tab}\tCHANNELS 3 {_format_channels(LIMB_ORDER)}", *_format_end(np.array([0.0, 0.0, prop.length_m]), tab + "\t")]
    return [*lines, f"{tab}}}"]


def _format_channels(order: tuple[int, int, int]) -> str:
    """Return the names of rotation channels."""
    return " ".join(f"{'XYZ'[axis]}rotation" for axis in order)


def _format_end(tail_m: Floats, tab: str) -> list[str]:
    """Return an End Site."""
    return [f"{tab}End Site", f"{tab}{{", f"{tab}\tOFFSET {_format_offset_cm(tail_m)}", f"{tab}}}"]


def _format_offset_cm(offset_m: NDArray[np.float64]) -> str:
    """Return an offset in centimetres."""
    return " ".join(f"{value:.6f}" for value in offset_m * CM_PER_M)
