"""Retargeting: from a motion file's own skeleton and rest pose to the project's.

With G_k the file's orientations in the world, B_j the rotation from our rest pose to the axes of its joint
(`database.files.axes`), and p_k its positions, ours are

    G'_j = G_k B_j,    offset'_j = median over frames of G'_parent^T (p_j - p_parent),    L'_j = G'_parent^T G'_j.

Where the file has joints between two of ours that bend, a joint would not stay where it was. Its bone is then turned by the
smallest rotation that points to where the next joint was; of two bones in a row in trunk and neck the joint between gives way, so
that chest and head stay. What is left is said in mm and degrees.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from config.arrays import Floats
from config.joints import JOINT_INDEX, JOINTS, N_JOINTS, PARENTS
from config.words import format_count
from database.clips import Clip, clip_from_local
from database.files.axes import JointMapping, find_joint_axes
from database.files.lengths import build_skeleton, find_metres_per_unit, find_offset_joints
from database.files.names import match_joints
from database.files.source_motion import (
    SourceMotion,
    SourcePoses,
    compute_rest_pose,
    compute_source_poses,
    list_path_from_root,
)
from database.geometry.rotations import compute_geodesic_rad, rotation_between
from database.geometry.skeleton import Skeleton

# Two bones in a row, of which the joint between gives way; and single bones that point to the next joint.
CHAINS = (("spine", "chest", "upperChest"), ("neck", "upperNeck", "head"))
POINTING = ("UpperLeg", "LowerLeg", "Foot", "Shoulder", "UpperArm", "LowerArm")
AXES = {sign + name: float(sign + "1") * np.eye(3)[k] for k, name in enumerate("xyz") for sign in ("", "-")}
ON_PLACE_M = 1e-6  # a joint that is nearer stays as it is
SAME = 1e-6  # share of a bone: less is rounding
SAID_M = 1e-3  # joints further off are said


@dataclass(frozen=True, slots=True)
class ImportHints:
    """What the user says about a file, in place of what is found: unit (a key of UNITS_M), up (a key of AXES), rate_hz, names
    (our joint -> the file's), and person, whose markers are taken where several people's are in the file."""

    unit: str = ""
    up: str = ""
    rate_hz: float = 0.0
    names: dict[str, str] = field(default_factory=dict)
    person: str = ""


NO_HINTS = ImportHints()


class Residual(NamedTuple):
    """How far joints of an imported motion are from where the file has them: largest and median [m], whose the largest is, and by
    how much bones were turned for it [rad]."""

    worst_m: float
    median_m: float
    joint: str
    turned_rad: float


@dataclass(frozen=True, slots=True)
class ImportedMotion:
    """A motion of a file as a clip: residual; found: what was found of unit and axes; notes: what was doubted or forgiven."""

    clip: Clip
    residual: Residual
    found: str
    notes: tuple[str, ...]

    def lines(self) -> list[str]:
        """Return lines for the user: one, and one a note."""
        worst = f"joints within {1e3 * self.residual.worst_m:.1f} mm"
        if self.residual.worst_m > SAID_M:
            turned = f"bones turned by up to {np.rad2deg(self.residual.turned_rad):.1f} degrees"
            worst = f"joints off by up to {1e3 * self.residual.worst_m:.0f} mm ({self.residual.joint}), {turned}"
        clip = self.clip
        return [
            f"{format_count(clip.n_frames, 'frame')} at {clip.fps:g} Hz, {clip.skeleton.height_m:.2f} m tall, {self.found}; "
            f"{worst}",
            *self.notes,
        ]


def import_motion(where: str, motion: SourceMotion, hints: ImportHints = NO_HINTS) -> ImportedMotion:
    """Return a motion with our joints, rest pose, metres and Y up, and how well it fits.

    Args:
        where: the file, for messages.
        motion: of the file.
        hints: what the user says about it.
    Raises: FileFormatError: it is no person.
    """
    match = match_joints(where, motion, hints.names)
    source = match.source
    poses = compute_source_poses(motion, list_path_from_root(motion.parents, source[0]))
    mapping = find_joint_axes(motion, source, poses)
    body = _Body(motion, mapping, [poses.positions[max(k, 0)] for k in source])
    G = _compute_orientations(poses, body)
    offsets = _measure_offsets(body, G)
    unit, unit_said = find_metres_per_unit(where, motion, offsets, hints.unit)
    skeleton = build_skeleton(motion, mapping, offsets * unit, unit)
    up, up_said = _find_up(body, hints.up)
    turned = [np.array(each) for each in G]
    p = _place_joints(body, turned, skeleton.offsets_m / unit)
    residual = _measure_residual(body, p, (G, turned), unit)
    W = rotation_between(AXES[up], AXES["y"])
    local = np.stack([W @ turned[0], *(np.swapaxes(turned[PARENTS[j]], 1, 2) @ turned[j] for j in range(1, N_JOINTS))], axis=1)
    clip = clip_from_local(motion.name, skeleton, hints.rate_hz or motion.fps, local, (body.place[0] * unit) @ W.T)
    shaped = ", ".join(f"{name} {motion.names[k]}" for name, k in zip(JOINTS, source, strict=True) if k >= 0)
    notes = [
        *motion.notes,
        *([f"its names do not tell which joint is which, so by its shape: {shaped}"] if match.by_shape else []),
    ]
    notes += [*_list_doubts(body, turned, unit)]
    return ImportedMotion(clip, residual, f"{unit_said}, {up_said}", tuple(notes))


def map_source_joints(where: str, motion: SourceMotion) -> JointMapping:
    """Return the file's joint for each of ours and the rotations between the rest poses. Raises FileFormatError: no person."""
    return find_joint_axes(motion, match_joints(where, motion).source, None)


def fit_rest_skeleton(where: str, still: SourceMotion) -> tuple[JointMapping, Skeleton]:
    """Return the file's joints as ours and a skeleton of its bones in its rest pose, whose unit is taken as metres.

    Args:
        where: the file, for messages.
        still: its rest pose, as a motion of one frame [m].
    Raises: FileFormatError: no person.
    """
    mapping = map_source_joints(where, still)
    poses = compute_source_poses(still, ())
    body = _Body(still, mapping, [poses.positions[max(k, 0)] for k in mapping.source])
    offsets = _measure_offsets(body, _compute_orientations(poses, body))
    return mapping, build_skeleton(still, mapping, offsets, 1.0)


def find_joint_path(motion: SourceMotion, mapping: JointMapping, joint: int) -> list[int]:
    """Return the file's joints whose rotations together are that of our joint relative to our parent, outermost first.

    Args:
        motion: of the file.
        mapping: of its joints to ours.
        joint: ours.
    """
    if mapping.source[joint] < 0:
        return []
    above = list_path_from_root(motion.parents, mapping.source[_find_mapped_parent(mapping.source, joint)])
    return [k for k in list_path_from_root(motion.parents, mapping.source[joint]) if k not in above]


def _find_mapped_parent(source: Sequence[int], joint: int) -> int:
    """Return the nearest ancestor of our joint that the file has too."""
    joint = PARENTS[joint]
    while source[joint] < 0:
        joint = PARENTS[joint]
    return joint


@dataclass(frozen=True, slots=True)
class _Body:
    """A motion, its joints as ours, and where ours were, J of (N, 3) [file units]."""

    motion: SourceMotion
    mapping: JointMapping
    place: Sequence[Floats]

    @property
    def source(self) -> tuple[int, ...]:
        """The file's joint for each of ours, (J,), -1 where it has none."""
        return self.mapping.source


def _compute_orientations(poses: SourcePoses, body: _Body) -> list[Floats]:
    """Return our orientations in the file's world, J of (N, 3, 3); joints that the file lacks turn with the one above."""
    G = list[Floats]()
    for joint, k in enumerate(body.source):
        G.append(G[PARENTS[joint]] if k < 0 else poses.orientations[k] @ body.mapping.rest[joint])
    return G


def _measure_offsets(body: _Body, G: Sequence[Floats]) -> Floats:
    """Return our offsets, (J, 3) [file units]: medians over the frames; joints that the file lacks share the next one's."""
    offsets, rest = np.zeros((N_JOINTS, 3)), compute_rest_pose(body.motion)
    for joint in range(1, N_JOINTS):
        if body.source[joint] < 0:
            continue
        above = _find_mapped_parent(body.source, joint)
        step = (body.place[joint] - body.place[above])[:, None, :] @ G[above]
        whole = np.median(step[:, 0], axis=0)
        k = body.source[above]
        rigid = body.mapping.rest[above].T @ rest.orientations[k].T @ (rest.positions[body.source[joint]] - rest.positions[k])
        if np.abs(whole - rigid).max() < SAME * np.abs(rigid).max():
            whole = rigid  # to the last digit the same in all takes of a person
        elif any(joint == JOINT_INDEX[chain[2]] and body.source[JOINT_INDEX[chain[1]]] >= 0 for chain in CHAINS):
            # The longest that it gets between joints that bend, so that the chain reaches as far in every frame.
            whole = whole * (float(np.linalg.norm(step[:, 0], axis=1).max()) / max(float(np.linalg.norm(whole)), 1e-12))
        steps = find_offset_joints(joint, above)
        offsets[steps] = whole / len(steps)
    return offsets


def _place_joints(body: _Body, G: list[Floats], offsets: Floats) -> Floats:
    """Turn bones, in place, where a joint would not stay where it was, and return where all joints are, (J, N, 3) [file units].

    Args:
        body: the motion.
        G: our orientations, J of (N, 3, 3), which are changed.
        offsets: ours, (J, 3) [file units].
    """
    size = float(np.abs(offsets).sum())
    p, goals = np.empty((N_JOINTS, *body.place[0].shape)), dict[int, Floats]()
    chains = {JOINT_INDEX[a]: (JOINT_INDEX[b], JOINT_INDEX[c]) for a, b, c in CHAINS}
    p[0] = body.place[0]
    for joint in range(N_JOINTS):
        if joint:
            p[joint] = p[PARENTS[joint]] + G[PARENTS[joint]] @ offsets[joint]
        middle, end = chains.get(joint, (-1, -1))
        if end >= 0 and body.source[joint] >= 0 and body.source[middle] >= 0 and body.source[end] >= 0:
            goals[middle] = _find_middle(p[joint], body.place[middle], body.place[end], offsets[[middle, end]])
            goals[end] = body.place[end]
        elif JOINTS[joint].endswith(POINTING) and body.source[joint] >= 0:
            goals[joint + 1] = body.place[joint + 1]
        child = next((c for c in goals if PARENTS[c] == joint and body.source[c] >= 0), -1)
        if child >= 0:
            _point_bone(G, joint, G[joint] @ offsets[child], goals[child] - p[joint], ON_PLACE_M * size)
        for below in range(joint + 1, N_JOINTS):
            if body.source[below] < 0 and PARENTS[below] == joint:
                G[below] = G[joint]
    return p


def _point_bone(G: list[Floats], joint: int, bone: Floats, wanted: Floats, near: float) -> None:
    """Turn a joint, in place, by the smallest rotation that takes its bone, (N, 3), to the direction wanted, if not near."""
    off = np.linalg.norm(bone - wanted, axis=1)
    length = np.linalg.norm(bone, axis=1) * np.linalg.norm(wanted, axis=1)
    rows = np.flatnonzero((off > near) & (length > 1e-12))
    if len(rows):
        G[joint] = np.array(G[joint])
    for n in rows:
        G[joint][n] = rotation_between(bone[n], wanted[n]) @ G[joint][n]


def _find_middle(start: Floats, middle: Floats, end: Floats, offsets: Floats) -> Floats:
    """Return where the joint between two bones must be for the chain to reach `end`: nearest to where it was, (N, 3).

    Args:
        start, middle, end: where the joints are, (N, 3).
        offsets: the two bones, (2, 3).
    """
    a, b = np.linalg.norm(offsets, axis=1)
    whole = end - start
    distance = np.maximum(np.linalg.norm(whole, axis=1, keepdims=True), 1e-12)
    axis = whole / distance
    reach = np.clip(distance, abs(a - b), a + b)
    along = (reach**2 + a**2 - b**2) / np.maximum(2.0 * reach, 1e-12)
    across = (middle - start) - axis * np.sum((middle - start) * axis, axis=1, keepdims=True)
    size = np.linalg.norm(across, axis=1, keepdims=True)
    height = np.sqrt(np.maximum(a**2 - along**2, 0.0))
    return np.asarray(start + axis * along + np.where(size > 1e-9, across / np.maximum(size, 1e-12), 0.0) * height)


def _measure_residual(body: _Body, p: Floats, G: tuple[Sequence[Floats], Sequence[Floats]], unit: float) -> Residual:
    """Return how far joints are from where they were, and by how much bones were turned.

    Args:
        body: the motion.
        p: where our joints are, (J, N, 3) [file units].
        G: our orientations before and after bones were turned, J of (N, 3, 3) each.
        unit: metres per unit.
    """
    mapped = [joint for joint in range(N_JOINTS) if body.source[joint] >= 0]
    off = unit * np.array([np.linalg.norm(p[joint] - body.place[joint], axis=1) for joint in mapped])
    worst = int(np.argmax(off.max(axis=1)))
    changed = [joint for joint in mapped if G[0][joint] is not G[1][joint] and not np.array_equal(G[0][joint], G[1][joint])]
    turned = max((float(compute_geodesic_rad(G[0][joint], G[1][joint]).max()) for joint in changed), default=0.0)
    return Residual(float(off.max()), float(np.median(off)), JOINTS[mapped[worst]], turned)


def _find_up(body: _Body, hint: str) -> tuple[str, str]:
    """Return which axis of the file's world points up, and what to say of it.

    Y, or the axis that is up in the rest pose if the trunk is nearer it; without a rest pose, the axis along which people stand.
    """
    if hint:
        return hint, f"{hint.upper()} up as given"
    arms = body.place[JOINT_INDEX["leftUpperArm"]] + body.place[JOINT_INDEX["rightUpperArm"]]
    legs = body.place[JOINT_INDEX["leftUpperLeg"]] + body.place[JOINT_INDEX["rightUpperLeg"]]
    trunk = arms - legs
    trunk = (trunk / np.maximum(np.linalg.norm(trunk, axis=1, keepdims=True), 1e-12)).mean(axis=0)
    rest_up = compute_rest_pose(body.motion).orientations[body.source[0]] @ body.mapping.rest[0][:, 1]
    likely = {name: float(axis @ trunk) for name, axis in AXES.items()}
    best = max(likely, key=lambda name: likely[name])
    if body.mapping.from_rest:
        rest = max(AXES, key=lambda name: float(AXES[name] @ rest_up))
        best = rest if likely[rest] > likely["y"] else "y"
        # A rest pose that lies in the world that the body stands in tells nothing of the world.
        if likely[best] < 0.3 and max(likely.values()) > 0.8:
            best = max(likely, key=lambda name: likely[name])
    elif likely[best] < 0.7:
        best = "y"
    return best, f"{best.upper()} up"


def _list_doubts(body: _Body, G: Sequence[Floats], unit: float) -> list[str]:
    """Return what a user should look at."""
    doubts = list[str]()
    if not body.mapping.from_rest:
        doubts.append("its pose without rotations is no person who stands; the joints' axes were found from the motion")
    backward = _measure_backward_knees(body, G)
    if backward > 0.5:
        doubts.append(
            f"knees bend forwards in {100 * backward:.0f} % of the frames in which they bend: is it mirrored or turned?"
        )
    missing = [JOINTS[j] for j, k in enumerate(body.source) if k < 0 and JOINTS[j] not in ("chest", "upperNeck", "upperChest")]
    if missing:
        doubts.append(f"not in the file, so held straight: {', '.join(missing)}")
    below = [k for k in body.motion.moves if k in body.source[1:]]
    change = max((float(np.abs(body.motion.moves[k] - body.motion.offsets[k]).max()) * unit for k in below), default=0.0)
    if change > SAID_M:
        doubts.append(f"bones change their length by up to {1e3 * change:.0f} mm in the file; their medians are taken")
    return doubts


def _measure_backward_knees(body: _Body, G: Sequence[Floats]) -> float:
    """Return the share of frames, of those in which a knee bends by more than 40 degrees, in which it bends forwards."""
    wrong = bent = 0
    for side in ("left", "right"):
        hip, knee, foot = (JOINT_INDEX[side + part] for part in ("UpperLeg", "LowerLeg", "Foot"))
        if body.source[foot] < 0:
            continue
        first, second = (
            v / np.maximum(np.linalg.norm(v, axis=1, keepdims=True), 1e-12)
            for v in (body.place[knee] - body.place[hip], body.place[foot] - body.place[knee])
        )
        about_left = np.sum(np.cross(first, second) * G[hip][:, :, 0], axis=1)
        is_bent = (np.sum(first * second, axis=1) < np.cos(np.deg2rad(40.0))) & (np.abs(about_left) > 0.3)
        bent, wrong = bent + int(np.count_nonzero(is_bent)), wrong + int(np.count_nonzero(is_bent & (about_left < 0.0)))
    return wrong / bent if bent > 5 else 0.0
