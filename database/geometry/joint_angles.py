"""Joint angles by the conventions of biomechanics (Wu et al. 2002 and 2005, of the ISB; Grood & Suntay 1983).

Every segment has a frame with X forward, Y towards the head and Z to the performer's right, in the anatomical position (upright,
arms hanging, palms forward). Y of thigh, shank, upper arm and forearm lies along the line between the joint centres; pelvis,
thorax, head, feet and toes have the axes of the rest pose, where soles are level. An angle turns the distal segment relative to
the proximal one about three axes: one fixed in the proximal segment, a floating one, one fixed in the distal segment:

    hip, knee, ankle, trunk, neck, elbow, wrist:  R = Rz(flexion) Rx(adduction) Ry(rotation)
    shoulder, of the upper arm to the thorax:     R = Ry(plane) Rx(-elevation) Ry(rotation)
    pelvis, to the world (Baker 2001):            R = Ry(rotation) Rx(obliquity) Rz(tilt), of a pelvis that faces +Z

The left side is measured in the mirror, so both sides have the same signs: flexion, adduction and internal rotation are positive.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from config.arrays import Bools, Floats, ReadOnlyArrays
from config.joints import JOINT_INDEX, PARENTS
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.skeleton import Skeleton

# Columns are the axes X, Y, Z of a segment in the rest pose, where the performer faces +Z and has the right hand at -X.
UPRIGHT = np.array([[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
MIRROR = np.diag([-1.0, 1.0, 1.0])  # of the world: left becomes right
SHORTEST_M = 1e-3  # a bone that is shorter has no direction
MOST_FORWARD = 0.9  # cosine: a limb that points forward in the rest pose does not tell which way its joint folds


class AngleTriple(NamedTuple):
    """Three angles between two segments, each the joint that carries it; the world is "".

    names: of the angles in the order of their axes, "" for one that is not given; signs: +1 or -1, what makes the named direction
    positive; sequence: axes; sided: whether there is one on each side, as of the right one.
    """

    proximal: str
    distal: str
    names: tuple[str, str, str]
    signs: tuple[int, int, int] = (1, 1, 1)
    sequence: str = "zxy"
    sided: bool = True


TRIPLES = (
    AngleTriple("", "hips", ("pelvis_rotation", "pelvis_obliquity", "pelvis_tilt"), (1, 1, -1), "yxz", False),
    AngleTriple("hips", "rightUpperLeg", ("hip_flexion", "hip_adduction", "hip_rotation")),
    AngleTriple("rightUpperLeg", "rightLowerLeg", ("knee_flexion", "knee_adduction", "knee_rotation"), (-1, 1, 1)),
    AngleTriple("rightLowerLeg", "rightFoot", ("ankle_dorsiflexion", "ankle_inversion", "ankle_rotation")),
    AngleTriple("rightFoot", "rightToes", ("toes_extension", "", "")),
    AngleTriple("hips", "upperChest", ("trunk_flexion", "trunk_bending", "trunk_rotation"), (-1, 1, 1), sided=False),
    AngleTriple("upperChest", "head", ("neck_flexion", "neck_bending", "neck_rotation"), (-1, 1, 1), sided=False),
    AngleTriple("upperChest", "rightUpperArm", ("shoulder_plane", "shoulder_elevation", "shoulder_rotation"), sequence="yxy"),
    AngleTriple("rightUpperArm", "rightLowerArm", ("elbow_flexion", "elbow_carrying", "elbow_pronation")),
    AngleTriple("rightLowerArm", "rightHand", ("wrist_flexion", "wrist_deviation", "wrist_rotation")),
)
# Arms as OpenSim's models have them: flexion and adduction from the hanging arm.
ARM_TRIPLE = AngleTriple("upperChest", "rightUpperArm", ("arm_flex", "arm_add", "arm_rot"))
# Pelvis as OpenSim's models have it: about axes of a world in which one walks along X.
PELVIS_TRIPLE = AngleTriple("", "hips", ("pelvis_tilt", "pelvis_list", "pelvis_rotation"), sided=False)


@dataclass(frozen=True, slots=True)
class JointAngles(ReadOnlyArrays):
    """Angles of a motion.

    Attributes:
        names: of the A angles, with `_r` or `_l` where there are two.
        joint: the joint that each is of, the first one below the proximal segment: at the hip, the thigh.
        angle_rad: (N, A) [rad], without jumps from frame to frame.
        axis: the axis in the world about which the distal segment turns while the angle grows, (N, A, 3).
    """

    names: tuple[str, ...]
    joint: tuple[int, ...]
    angle_rad: Floats
    axis: Floats

    def __post_init__(self) -> None:
        for array in (self.angle_rad, self.axis):
            array.setflags(write=False)


def compute_joint_angles(
    skeleton: Skeleton, rotvec: Floats, triples: tuple[AngleTriple, ...] = TRIPLES, known: Bools | None = None
) -> JointAngles:
    """Return the joint angles of poses.

    Args:
        skeleton: of the performer.
        rotvec: charted rotation vectors, (N, J, 3) [rad].
        triples: which angles.
        known: frames that have a pose, (N,); None for all. Angles are made free of jumps over these.
    """
    G = compute_forward_kinematics(skeleton, rotvec, np.zeros((len(rotvec), 3)))[0]
    names: list[str] = []
    joints: list[int] = []
    angles: list[Floats] = []
    axes: list[Floats] = []
    for triple in triples:
        for side in ("right", "left") if triple.sided else ("",):
            angle, axis = _compute_triple(skeleton, G, triple, side == "left")
            for k in (k for k, name in enumerate(triple.names) if name):
                names.append(triple.names[k] + (f"_{side[0]}" if side else ""))
                joints.append(_find_first_joint(triple, side))
                angles.append(remove_angle_jumps(angle[:, k], known))
                axes.append(axis[:, k])
    return JointAngles(tuple(names), tuple(joints), np.stack(angles, axis=1), np.stack(axes, axis=1))


def _compute_triple(skeleton: Skeleton, G: Floats, triple: AngleTriple, left: bool) -> tuple[Floats, Floats]:
    """Return three angles (N, 3) [rad] and their axes in the world (N, 3, 3), one a row."""
    A = orient_segment(skeleton, G, triple.proximal, left)
    B = orient_segment(skeleton, G, triple.distal, left)
    R = np.swapaxes(A, -1, -2) @ B
    signs = np.array(triple.signs, float)
    angle = signs * (_solve_yxy(R) if triple.sequence == "yxy" else _solve_three(R, triple.sequence))
    first = A[..., "xyz".index(triple.sequence[0])]
    last = B[..., "xyz".index(triple.sequence[2])]
    # The floating axis is at right angles to both; where they meet, none is told from the other.
    floating = np.cross(last, first) * (1.0 if triple.sequence == "zxy" else -1.0)
    floating /= np.maximum(np.linalg.norm(floating, axis=-1, keepdims=True), 1e-9)
    axis = signs[:, None] * np.stack([first, floating, last], axis=1)
    return angle, axis @ -MIRROR if left else axis


def orient_segment(skeleton: Skeleton, G: Floats, name: str, left: bool) -> Floats:
    """Return the axes X, Y, Z of a segment in the world as columns, (N, 3, 3).

    Args:
        skeleton: of the performer.
        G: orientations of the joints in the world, (N, J, 3, 3).
        name: the segment's joint, of the right side where there are two; "" for the world.
        left: the one of the left side instead, and all of it in the mirror.
    """
    if not name:
        return np.broadcast_to(UPRIGHT, G[:, 0].shape)
    joint = JOINT_INDEX[name.replace("right", "left") if left else name]
    turned = G[:, joint]
    along = skeleton.offsets_m[PARENTS.index(joint)] if joint in PARENTS else np.zeros(3)
    if left:
        turned, along = MIRROR @ turned @ MIRROR, along * (-1.0, 1.0, 1.0)
    return np.asarray(turned @ _orient_at_rest(name, along))


def _orient_at_rest(name: str, along_m: Floats) -> Floats:
    """Return the axes of a segment of the right side in the rest pose, (3, 3); along_m: to the next joint, (3,) [m]."""
    limb = name.removeprefix("right")
    if limb not in ("UpperLeg", "LowerLeg", "UpperArm", "LowerArm", "Hand"):
        return UPRIGHT
    length = float(np.linalg.norm(along_m))
    down = np.array([0.0, -1.0, 0.0]) if limb.endswith("Leg") else np.array([-1.0, 0.0, 0.0])
    forward = np.array([0.0, 0.0, 1.0])
    known = length > SHORTEST_M and abs(float(along_m @ forward)) < MOST_FORWARD * length
    y = -along_m / length if known else -down
    if limb in ("LowerArm", "Hand"):  # palms are down, so the thumb's side, Z, is forward
        x = np.cross(y, forward)
        x /= np.linalg.norm(x)
        return np.stack([x, y, np.cross(x, y)], axis=1)
    z = np.cross(forward, y)
    z /= np.linalg.norm(z)
    return np.stack([np.cross(y, z), y, z], axis=1)


def _solve_three(R: Floats, sequence: str) -> Floats:
    """Return angles (N, 3) with R = R_i(a) R_j(b) R_k(c), i, j, k three different axes, R (N, 3, 3)."""
    i, j, k = ("xyz".index(axis) for axis in sequence)
    even = 1.0 if (j - i) % 3 == 1 else -1.0
    second = np.arcsin(np.clip(even * R[:, i, k], -1.0, 1.0))
    first = np.arctan2(-even * R[:, j, k], R[:, k, k])
    third = np.arctan2(-even * R[:, i, j], R[:, i, i])
    return np.stack([first, second, third], axis=1)


def _solve_yxy(R: Floats) -> Floats:
    """Return plane, elevation >= 0 and rotation with R = Ry(plane) Rx(-elevation) Ry(rotation), (N, 3)."""
    elevation = np.arccos(np.clip(R[:, 1, 1], -1.0, 1.0))
    return np.stack([np.arctan2(-R[:, 0, 1], -R[:, 2, 1]), elevation, np.arctan2(-R[:, 1, 0], R[:, 1, 2])], axis=1)


def _find_first_joint(triple: AngleTriple, side: str) -> int:
    """Return the first joint on the way from the proximal segment to the distal one."""
    joint = JOINT_INDEX[triple.distal.replace("right", side) if side else triple.distal]
    end = JOINT_INDEX[triple.proximal.replace("right", side) if side else triple.proximal] if triple.proximal else -1
    while triple.sequence != "yxy" and PARENTS[joint] != end:
        joint = PARENTS[joint]
    return joint


def remove_angle_jumps(angle_rad: Floats, known: Bools | None) -> Floats:
    """Return an angle over time, (N,), without jumps by a whole turn, near zero in the middle of the motion."""
    out = np.array(angle_rad)
    rows = np.arange(len(out)) if known is None else np.flatnonzero(known)
    if len(rows):
        out[rows] = np.unwrap(out[rows])
        out -= 2.0 * np.pi * np.round(np.median(out[rows]) / (2.0 * np.pi))
    return out
