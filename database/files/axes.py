"""The rest pose of a motion file: which rotation of a joint is that of our T-pose.

B_j turns directions at joint j of our rest pose into the axes of the file's joint, so that ours is G'_j = G_j B_j, with G the
file's world orientations. The file's rest pose, all rotations zero, tells B where it is a person that stands. In it, legs point
down and arms to the side by the smallest rotations; feet and hands have the rotation of the bone above, so a foot keeps its
angle to the shin; the trunk keeps the file's axes.

Many programs write axes along their bones instead, and such a rest pose is no body. Then B follows from the motion: the bone of
a joint has one direction in its axes, knees and elbows bend about one axis, and else a joint is turned about its bone as in the
middle of its range. As such axes lie along and across the bone, what is found is rounded to them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations, product

import numpy as np

from config.arrays import Floats
from config.joints import JOINT_INDEX, JOINTS, N_JOINTS, PARENTS
from database.files.source_motion import SourceMotion, SourcePoses, compute_rest_pose
from database.geometry.rotations import find_nearest_rotation, rotation_between
from database.geometry.skeleton import MIDDLE_OF_RANGE_RAD, REFERENCE

FORWARD_FOOT = np.array([0.0, -0.3, 0.95])
MAX_FRAMES = 400  # of a motion that are looked at
ALONG = np.cos(np.deg2rad(3.0))  # a bone lies along an axis
NEAR_AXES = np.cos(np.deg2rad(40.0))  # rotations are rounded to axes that are so near; 45 degrees would be half way
NEAR_COLLAR = np.cos(np.deg2rad(10.0))
BENT = np.sin(np.deg2rad(12.0))  # of a knee or elbow whose axis can be told: a shoulder's noise of 1 cm is 3 degrees
MIN_BENT = 10  # frames
OPPOSED = np.cos(np.deg2rad(120.0))
ONE_AXIS = 0.85  # length of the mean of unit vectors that have one direction
FOOT_NEEDED = 0.5  # share of a leg's length by which its foot is below the hip
TRUNK = ("spine", "chest", "upperChest", "neck", "upperNeck", "head")
CUBE = np.array(
    [
        M
        for order in permutations(range(3))
        for signs in product((1.0, -1.0), repeat=3)
        if np.linalg.det(M := np.eye(3)[list(order)] * np.array(signs)[:, None]) > 0.0
    ]
)


@dataclass(frozen=True, slots=True)
class JointMapping:
    """Our joints in a file.

    Attributes:
        source: the file's joint for each of ours, (J,), -1 where it has none.
        rest: the rotations B, (J, 3, 3).
        from_rest: whether they are those of the file's rest pose.
    """

    source: tuple[int, ...]
    rest: Floats
    from_rest: bool


def find_joint_axes(motion: SourceMotion, source: Sequence[int], poses: SourcePoses | None) -> JointMapping:
    """Return the rotations from our rest pose to the axes of the file's joints.

    Args:
        motion: of the file.
        source: its joint for each of ours, -1 for none.
        poses: its joints in all frames; None: the rest pose is believed whatever it is.
    """
    rest = compute_rest_pose(motion)
    if poses is None or is_standing_person(rest.positions, source):
        A = _compute_rest_rotations(rest.positions, source)
        B = [A[j] if source[j] < 0 else rest.orientations[source[j]].T @ A[j] for j in range(N_JOINTS)]
        return JointMapping(tuple(source), np.array(B), True)
    return JointMapping(tuple(source), _find_axes_in_motion(motion, source, poses), False)


def is_standing_person(place: Sequence[Floats], source: Sequence[int]) -> bool:
    """Return whether joints, K of (3,), stand as a body does: head over hips over feet, left and right on their sides."""

    def at(name: str) -> Floats:
        return place[source[JOINT_INDEX[name]]]

    lateral, shoulders = at("leftUpperLeg") - at("rightUpperLeg"), at("leftUpperArm") - at("rightUpperArm")
    up = at("leftUpperArm") + at("rightUpperArm") - at("leftUpperLeg") - at("rightUpperLeg")
    sizes = [float(np.linalg.norm(v)) for v in (lateral, shoulders, up)]
    if min(sizes) < 1e-9:
        return False
    lateral, shoulders, up = lateral / sizes[0], shoulders / sizes[1], up / sizes[2]
    if lateral @ shoulders < 0.7 or abs(lateral @ up) > 0.5:
        return False
    forward = np.cross(lateral, up)
    has = {name: source[JOINT_INDEX[name]] >= 0 for name in JOINTS}
    if has["head"] and (at("head") - at("hips")) @ up < 0.7 * np.linalg.norm(at("head") - at("hips")):
        return False
    steps, reach = 0.0, 0.0
    for side, sign in (("left", 1.0), ("right", -1.0)):
        foot = at(side + ("Foot" if has[side + "Foot"] else "LowerLeg"))
        knee, hip = at(side + "LowerLeg"), at(side + "UpperLeg")
        if (hip - foot) @ up < FOOT_NEEDED * (np.linalg.norm(foot - knee) + np.linalg.norm(knee - hip)):
            return False
        hand = at(side + ("Hand" if has[side + "Hand"] else "LowerArm")) - at(side + "UpperArm")
        length = float(np.linalg.norm(hand))
        if sign * (hand @ lateral) < -0.3 * length or hand @ up > 0.5 * length:
            return False
        if has[side + "Toes"]:
            toes = at(side + "Toes") - foot
            steps, reach = steps + float(toes @ forward), reach + float(np.linalg.norm(toes))
    return steps >= -0.3 * reach


def find_main_child(source: Sequence[int], joint: int) -> int:
    """Return the first of our joints right below a joint that the file has, in the trunk also further up; -1 for none."""
    children = [c for c in range(N_JOINTS) if PARENTS[c] == joint]
    mapped = next((c for c in children if source[c] >= 0), -1)
    return mapped if mapped >= 0 or JOINTS[joint] not in TRUNK[:-1] else find_main_child(source, children[0])


def _compute_rest_rotations(rest: Sequence[Floats], source: Sequence[int]) -> Floats:
    """Return A of every joint, (J, 3, 3); each differs from its parent's by the smallest rotation that fits its bone."""
    A = np.empty((N_JOINTS, 3, 3))
    A[0] = _compute_body_axes(rest, source)
    for joint in range(1, N_JOINTS):
        A[joint] = A[PARENTS[joint]]
        name, child = JOINTS[joint], find_main_child(source, joint)
        if source[joint] < 0 or child < 0:
            continue
        ours, theirs = _find_bone_direction(name), rest[source[child]] - rest[source[joint]]
        if name.endswith("Foot"):
            forward = A[joint].T @ theirs
            ours = FORWARD_FOOT if forward[2] < 0.3 * np.linalg.norm(forward) else None
        if ours is not None and np.linalg.norm(theirs) > 1e-9:
            A[joint] = rotation_between(A[joint] @ ours, theirs) @ A[joint]
    return A


def _find_bone_direction(name: str) -> Floats | None:
    """Return the direction in which a limb's bone points in our rest pose; None for joints that keep their parent's rotation."""
    if name.endswith(("UpperLeg", "LowerLeg")):
        return np.array([0.0, -1.0, 0.0])
    if name.endswith(("UpperArm", "LowerArm")):
        return np.array([1.0 if name.startswith("left") else -1.0, 0.0, 0.0])
    return None


def _compute_body_axes(rest: Sequence[Floats], source: Sequence[int]) -> Floats:
    """Return the axes of the file's rest pose (left, up, forward as columns), rounded to coordinate axes."""
    names = ("leftUpperLeg", "rightUpperLeg", "leftUpperArm", "rightUpperArm")
    left_leg, right_leg, left_arm, right_arm = (rest[source[JOINT_INDEX[name]]] for name in names)
    lateral = left_leg - right_leg + left_arm - right_arm
    up = left_arm + right_arm - left_leg - right_leg
    axes = np.zeros((3, 3))
    u = int(np.argmax(np.abs(up)))
    axes[u, 1] = np.sign(up[u])
    lateral[u] = 0.0
    x = int(np.argmax(np.abs(lateral)))
    axes[x, 0] = np.sign(lateral[x]) or 1.0
    axes[:, 2] = np.cross(axes[:, 0], axes[:, 1])
    return axes


def _find_axes_in_motion(motion: SourceMotion, source: Sequence[int], poses: SourcePoses) -> Floats:
    """Return B of every joint, (J, 3, 3), parents first, from some frames of the motion."""
    n_frames = len(motion.root)
    frames = np.unique(np.linspace(0, n_frames - 1, min(n_frames, MAX_FRAMES)).astype(int))
    G = [poses.orientations[max(k, 0)][frames] for k in source]
    p = [poses.positions[max(k, 0)][frames] for k in source]
    B = np.tile(np.eye(3), (N_JOINTS, 1, 1))
    B[0] = _find_hips_axes(G[0], p, source)
    B[0] = _round_to_axes(B[0], NEAR_AXES if float(np.abs(B[0][:, 0]).max()) > ALONG else NEAR_COLLAR)
    ours = [G[0] @ B[0]]
    for joint in range(1, N_JOINTS):
        above = ours[PARENTS[joint]]
        if source[joint] < 0:
            ours.append(above)
            continue
        B[joint] = _find_limb_axes(motion, source, joint, (G[joint], p), above)
        ours.append(G[joint] @ B[joint])
    return B


def _find_hips_axes(G: Floats, p: Sequence[Floats], source: Sequence[int]) -> Floats:
    """Return left, up and forward of the hips in their own axes, as columns: the line of the hips, and chest over feet."""
    left_leg, right_leg = p[JOINT_INDEX["leftUpperLeg"]], p[JOINT_INDEX["rightUpperLeg"]]
    part = "Foot" if source[JOINT_INDEX["leftFoot"]] >= 0 and source[JOINT_INDEX["rightFoot"]] >= 0 else "LowerLeg"
    feet = (p[JOINT_INDEX["left" + part]] + p[JOINT_INDEX["right" + part]]) / 2.0
    arms = (p[JOINT_INDEX["leftUpperArm"]] + p[JOINT_INDEX["rightUpperArm"]]) / 2.0
    middle = (left_leg + right_leg) / 2.0
    trunk, legs = arms - middle, middle - feet
    long = float(np.percentile(np.linalg.norm(legs, axis=1), 95))
    straight = np.linalg.norm(legs, axis=1) > 0.95 * long  # who sits tells nothing by the legs
    up = _average_directions(G, trunk) + (_average_directions(G[straight], legs[straight]) if straight.any() else 0.0)
    left = _average_directions(G, left_leg - right_leg)
    left = left / np.linalg.norm(left)
    up = up - left * (left @ up)
    up = up / np.linalg.norm(up)
    return np.stack([left, up, np.cross(left, up)], axis=1)


def _average_directions(G: Floats, direction: Floats) -> Floats:
    """Return the mean of unit vectors along world directions, (N, 3), in the axes of a joint, (N, 3, 3)."""
    unit = direction / np.maximum(np.linalg.norm(direction, axis=1, keepdims=True), 1e-12)
    return np.asarray((np.swapaxes(G, 1, 2) @ unit[:, :, None])[:, :, 0].mean(axis=0))


def _find_limb_axes(
    motion: SourceMotion, source: Sequence[int], joint: int, found: tuple[Floats, Sequence[Floats]], above: Floats
) -> Floats:
    """Return B of one joint.

    Args:
        motion: of the file.
        source: its joint for each of ours.
        joint: ours.
        found: its orientations in the file, (N, 3, 3), and positions of all joints, J of (N, 3).
        above: our orientations of the joint above, (N, 3, 3).
    """
    G, p = found
    name, child = JOINTS[joint], find_main_child(source, joint)
    usual = find_nearest_rotation((np.swapaxes(G, 1, 2) @ above).mean(axis=0))
    bone, ours, across = np.zeros(3), _find_usual_direction(name), np.array([1.0, 0.0, 0.0])
    if child >= 0:
        bone = _average_directions(G, p[child] - p[joint])
    elif source[joint] in motion.ends:
        bone = motion.ends[source[joint]]
    size = float(np.linalg.norm(bone))
    along_axis = size > 1e-9 and float(np.abs(bone).max()) > ALONG * size
    if name.endswith("Shoulder"):
        # Collar bones do not lie along the line of the shoulders in most T-poses.
        return _round_to_axes(usual, NEAR_COLLAR)
    if ours is None or size < 1e-9 or (not along_axis and name in TRUNK):
        return _round_to_axes(usual, NEAR_AXES if along_axis else NEAR_COLLAR)
    bone = bone / size
    if name.endswith("Arm"):
        across = np.array([0.0, -1.0, 0.0])
    B = _find_swung_axes(G, above @ REFERENCE[joint], ours, bone)
    hinge = _find_hinge(p, joint, child, G) if name.endswith(("UpperLeg", "UpperArm")) else None
    if hinge is not None:
        side = 1.0 if name.startswith("left") else -1.0
        axis = np.array(MIDDLE_OF_RANGE_RAD["LowerLeg" if name.endswith("Leg") else "LowerArm"]) * (1.0, side, side)
        bent = _frame_from_two(bone, hinge) @ _frame_from_two(ours, axis).T
        # No limb is turned about its bone by so much: it bends a little the wrong way, by noise.
        B = bent if (bent @ across) @ (B @ across) > OPPOSED else B
    if not along_axis:
        return B
    options = [axis * sign for axis in np.eye(3) for sign in (1.0, -1.0) if abs(axis @ bone) < 0.5]
    return _frame_from_two(bone, max(options, key=lambda axis: float(axis @ B @ across))) @ _frame_from_two(ours, across).T


def _find_usual_direction(name: str) -> Floats | None:
    """Return the direction of a joint's bone in most T-poses; None for hands, whose bone follows the forearm."""
    if name in TRUNK:
        return np.array([0.0, 1.0, 0.0])
    if name.endswith("Foot"):
        return FORWARD_FOOT / float(np.linalg.norm(FORWARD_FOOT))
    return np.array([0.0, 0.0, 1.0]) if name.endswith("Toes") else _find_bone_direction(name)


def _find_swung_axes(G: Floats, usual: Floats, ours: Floats, bone: Floats) -> Floats:
    """Return the mean of the file's axes of a joint if it turned from where it usually is by the smallest rotations, (3, 3).

    Args:
        G: orientations in the file, (N, 3, 3).
        usual: our orientations in the middle of the joint's range, (N, 3, 3).
        ours, bone: the direction of its bone in our rest pose and in the file's axes.
    """
    total = np.zeros((3, 3))
    for theirs, middle in zip(G, usual, strict=True):
        total += theirs.T @ rotation_between(middle @ ours, theirs @ bone) @ middle
    B = find_nearest_rotation(total)
    return np.asarray(rotation_between(B @ ours, bone) @ B)


def _find_hinge(p: Sequence[Floats], joint: int, child: int, G: Floats) -> Floats | None:
    """Return the axis about which a knee or elbow bends, in the axes of the bone above, (3,); None if it hardly bends."""
    end = next((c for c in range(N_JOINTS) if PARENTS[c] == child), -1)
    if child < 0 or end < 0 or p[end] is p[child]:
        return None
    first, second = (
        v / np.maximum(np.linalg.norm(v, axis=1, keepdims=True), 1e-12) for v in (p[child] - p[joint], p[end] - p[child])
    )
    normal = np.cross(first, second)
    bent = np.linalg.norm(normal, axis=1) > BENT
    if np.count_nonzero(bent) < MIN_BENT:
        return None
    # Weighted by the sine: where a limb is nearly straight, the normal of its plane is the least exact.
    mean: Floats = (np.swapaxes(G[bent], 1, 2) @ normal[bent][:, :, None])[:, :, 0].sum(axis=0)
    has_one_axis = float(np.linalg.norm(mean)) > ONE_AXIS * float(np.linalg.norm(normal[bent], axis=1).sum())
    return mean if has_one_axis else None


def _frame_from_two(first: Floats, second: Floats) -> Floats:
    """Return right-handed axes as columns, the first along `first`, the second as near to `second` as can be."""
    x = first / np.linalg.norm(first)
    y = second - x * (x @ second)
    y = y / np.linalg.norm(y)
    return np.stack([x, y, np.cross(x, y)], axis=1)


def _round_to_axes(rotation: Floats, near: float) -> Floats:
    """Return the nearest rotation that takes axes to axes, or the rotation itself if none is near."""
    best = CUBE[np.argmax(np.einsum("kij,ij->k", CUBE, rotation))]
    cosine = (float(np.sum(best * rotation)) - 1.0) / 2.0
    return np.array(best) if cosine > near else rotation
