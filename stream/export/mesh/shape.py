"""The shape of a person of average build from the joint positions: blended lofts (ovals of varying size along an axis).

Numbers are metres for a person of 1.75 m; they scale with the body. The rest pose is the T-pose of docs/conventions.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from config.arrays import Floats
from stream.export.mesh.loft import Loft, blend_distances, build_loft, compute_axes, scale_profile

Positions = Mapping[str, Floats]
X, Y, Z = np.eye(3)
SIDES = ("left", "right")
LIMBS = ("UpperLeg", "LowerLeg", "Foot", "UpperArm", "LowerArm", "Hand")
REQUIRED = ("hips", "spine", "head", *(side + limb for side in SIDES for limb in LIMBS))  # as in VRM
TRUNK = "trunk"  # in place of a joint: the joints of the spine, by height
HEAD_OVER_ANKLE_M, HIP_M, SHOULDER_M = 1.501, 0.091, 0.192
NECK_SHARE = 0.28  # of the way from the shoulders up to the head at which the neck begins
BETWEEN_M = 0.008  # from the middle plane to the inside of a leg, so that the surface between two legs is found


@dataclass(frozen=True, slots=True)
class Solid:
    """Lofts blended into one body: the trunk, both sides (blended with it, hardly with each other), and hollows."""

    trunk: tuple[Loft, ...]
    sides: tuple[tuple[Loft, ...], ...]
    hollows: tuple[Loft, ...] = ()
    seam_m: float = 0.008

    @property
    def lofts(self) -> tuple[Loft, ...]:
        """All lofts except the hollows."""
        return (*self.trunk, *(part for side in self.sides for part in side))

    def distance_m(self, points_m: Floats) -> Floats:
        """Return the approximate distance to the surface, negative inside: (N, 3) -> (N,)."""
        trunk = np.full(len(points_m), 10.0)
        for part in self.trunk:
            trunk = blend_distances(trunk, part.distance_m(points_m), part.blend_m)
        whole = trunk
        for side in self.sides:
            half = trunk
            for part in side:
                half = blend_distances(half, part.distance_m(points_m), part.blend_m)
            whole = blend_distances(whole, half, self.seam_m)
        for hollow in self.hollows:
            whole = -blend_distances(-whole, hollow.distance_m(points_m), hollow.blend_m)
        return whole


def build_person(positions: Positions) -> Solid:
    """Return the shape of a humanoid; positions: joints of the rest pose by VRM name, (3,) [m], at least REQUIRED."""
    at = _add_default_joints(positions)
    joints = frozenset(positions)
    ankle = 0.5 * (at["leftFoot"] + at["rightFoot"])
    size = float(np.linalg.norm(at["head"] - ankle)) / HEAD_OVER_ANKLE_M
    head, hollows = _build_head(at, joints, size**0.6)  # children have relatively large heads
    sides = tuple((*_build_leg(at, joints, side, size), *_build_arm(at, joints, side, size)) for side in SIDES)
    return Solid((*_build_trunk(at, size), *head), sides, hollows, 0.008 * size)


def build_sticks(names: tuple[str, ...], parents: tuple[int, ...], rest_m: Floats) -> Solid:
    """Return a round stick along every bone, for a skeleton that is no humanoid.

    Args:
        names: names of the joints.
        parents: index of the parent of each joint; -1 for the root.
        rest_m: (J, 3).
    """
    extent = max(float(np.ptp(rest_m, axis=0).max()), 0.1)
    parts = [_build_ball(names[0], rest_m[0], 0.03 * extent)]
    for joint, parent in enumerate(parents):
        if parent < 0:
            continue
        length = float(np.linalg.norm(rest_m[joint] - rest_m[parent]))
        r = float(np.clip(0.14 * length, 0.012 * extent, 0.035 * extent))
        rows = [(0.0, r, r), (0.3, 1.2 * r, 1.2 * r), (1.0, 0.8 * r, 0.8 * r)]
        parts.append(build_loft(names[parent], rest_m[parent], rest_m[joint], Z, rows, (r, 0.8 * r), blend_m=r, soft_m=2.0 * r))
        if joint not in parents:
            parts.append(_build_ball(names[joint], rest_m[joint], r))
    return Solid(tuple(parts), ())


def _build_ball(joint: str, middle: Floats, r: float) -> Loft:
    """Return a ball."""
    return build_loft(joint, middle, middle + 1e-6 * Y, Z, [(0, r, r), (1, r, r)], (r, r), blend_m=r, soft_m=2.0 * r)


def find_neck_base(at: Positions) -> Floats:
    """Return where the neck of a humanoid leaves its trunk, (3,) [m]: at the joint of the neck, or above it towards the head.

    Skeletons of optical systems have that joint on the breastbone, up to 80 mm below the shoulders.
    """
    shoulders = 0.5 * (at["leftUpperArm"] + at["rightUpperArm"])
    base = np.asarray(shoulders + NECK_SHARE * (at["head"] - shoulders))
    neck = at.get("neck", base)
    rise_m, whole_m = float(base[1] - neck[1]), float(at["head"][1] - neck[1])
    return np.asarray(neck + (min(rise_m / whole_m, 1.0) * (at["head"] - neck) if whole_m > rise_m > 0.0 else 0.0))


def _add_default_joints(positions: Positions) -> dict[str, Floats]:
    """Add the joints that a humanoid may lack, and have the neck begin at its base."""
    at = {name: np.asarray(position, float) for name, position in positions.items()}
    at["neck"] = find_neck_base(at)
    for side in SIDES:
        foot, knee = at[side + "Foot"], at[side + "LowerLeg"]
        shin = float(np.linalg.norm(foot - knee))
        at.setdefault(side + "Toes", foot + shin * (0.29 * Z - 0.11 * Y))
    return at


def _build_trunk(at: Positions, size: float) -> list[Loft]:
    """Return the trunk as one loft from crotch to neck, with chest and seat."""
    hip = 0.5 * (at["leftUpperLeg"] + at["rightUpperLeg"])
    hip_ratio = float(np.clip(abs(at["leftUpperLeg"] - hip) @ X / (HIP_M * size), 0.75, 1.3))
    middle = 0.5 * (at["leftUpperArm"] + at["rightUpperArm"])
    chest_ratio = float(np.clip(abs(at["leftUpperArm"] - middle) @ X / (SHOULDER_M * size), 0.8, 1.3))
    s, h, c = size, size * (0.5 + 0.5 * hip_ratio), size * (0.4 + 0.6 * chest_ratio)
    start, end = hip - 0.050 * s * Y, at["neck"] - 0.005 * s * Y
    rows = [
        (0.00, 0.090 * h, 0.078 * s, -0.012 * s),
        (0.10, 0.136 * h, 0.098 * s, -0.012 * s),
        (0.22, 0.149 * h, 0.100 * s, -0.008 * s),
        (0.33, 0.139 * h, 0.093 * s, 0.000),
        (0.46, 0.124 * s, 0.087 * s, 0.004 * s),
        (0.58, 0.131 * c, 0.094 * s, 0.006 * s),
        (0.72, 0.150 * c, 0.105 * s, 0.006 * s),
        (0.83, 0.150 * c, 0.101 * s, -0.003 * s),
        (0.92, 0.114 * c, 0.078 * s, -0.012 * s),
        (1.00, 0.054 * s, 0.046 * s, -0.014 * s),
    ]
    parts = [build_loft(TRUNK, start, end, Z, rows, (0.05 * s, 0.035 * s), blend_m=0.03 * s, soft_m=0.06 * s, power=2.3)]
    for side in SIDES:
        x = X if side == "left" else -X
        breast = start + 0.77 * (end - start) + 0.066 * c * x + 0.046 * s * Z
        parts.append(_build_ellipsoid(TRUNK, breast, (0.072 * c, 0.052 * s, 0.046 * s), 0.07 * s))
        seat = hip + 0.070 * h * x - 0.020 * s * Y - 0.062 * s * Z
        parts.append(_build_ellipsoid(TRUNK, seat, (0.075 * h, 0.080 * s, 0.062 * s), 0.05 * s))
    return parts


def _build_ellipsoid(
    joint: str, middle: Floats, half_m: tuple[float, float, float], blend_m: float, soft_m: float = 0.05
) -> Loft:
    """Return an ellipsoid with half axes along x, y and z."""
    x, y, z = half_m
    return build_loft(joint, middle, middle + 1e-6 * Y, Z, [(0, x, z), (1, x, z)], (y, y), blend_m=blend_m, soft_m=soft_m)


def _build_head(at: Positions, joints: frozenset[str], s: float) -> tuple[list[Loft], tuple[Loft, ...]]:
    """Return neck, skull, face, nose and ears, and the hollows of the eyes."""
    base, top = at["neck"], at["head"]
    soft = 0.03 * s

    def point(x: float, y: float, z: float) -> Floats:
        return np.asarray(top + s * np.array([x, y, z]))

    lower = "neck" if "neck" in joints else TRUNK
    upper = "upperNeck" if "upperNeck" in joints else lower
    half = base + 0.5 * (top - base)
    r = 0.056 * s
    neck = [(0.0, 1.3 * r, 1.2 * r), (1.0, r, r)]
    parts = [
        build_loft(lower, base - 0.045 * s * Y, half, Z, neck, (0.03 * s, 0.01 * s), blend_m=0.06 * s, soft_m=soft),
        build_loft(upper, half, point(0, 0.03, 0), Z, [(0, r, r), (1, r, r)], (0.01 * s, 0.02 * s), blend_m=0.02 * s,
            soft_m=soft),
        _build_ellipsoid("head", point(0, 0.090, 0.006), (0.074 * s, 0.090 * s, 0.094 * s), 0.02 * s, soft),
        build_loft("head", point(0, 0.075, 0.040), point(0, -0.020, 0.055), Z,
             [(0, 0.062 * s, 0.052 * s), (0.5, 0.056 * s, 0.050 * s), (1, 0.034 * s, 0.036 * s)],
             (0.03 * s, 0.022 * s), blend_m=0.03 * s, soft_m=soft, power=2.2),
        build_loft("head", point(0, 0.062, 0.092), point(0, 0.022, 0.103), Z,
             [(0, 0.009 * s, 0.009 * s), (1, 0.015 * s, 0.013 * s)], (0.008 * s, 0.007 * s), blend_m=0.014 * s, soft_m=soft),
    ]  # fmt: skip
    for x in (X, -X):
        parts.append(
            _build_ellipsoid("head", point(0, 0.045, -0.004) + 0.075 * s * x, (0.010 * s, 0.028 * s, 0.018 * s), 0.012 * s, soft)
        )
    hollows = [
        _build_ellipsoid("head", point(0, 0.062, 0.112) + 0.031 * s * x, (0.019 * s, 0.014 * s, 0.020 * s), 0.03 * s)
        for x in (X, -X)
    ]
    return parts, tuple(hollows)


def _build_leg(at: Positions, joints: frozenset[str], side: str, size: float) -> list[Loft]:
    """Return thigh, shin with its calf, foot and toes."""
    hip, knee, ankle, ball = (at[side + part] for part in ("UpperLeg", "LowerLeg", "Foot", "Toes"))
    s, outward = size, X if side == "left" else -X

    def place(joint_m: Floats, half_m: float) -> Floats:
        """Return the middle of a leg at a joint, outside it where a leg that is `half_m` wide would not fit."""
        return joint_m + max((half_m + BETWEEN_M) * s - float(joint_m @ outward), 0.0) * outward

    thigh = [
        (0.00, 0.076, 0.086, 0.000),
        (0.20, 0.079, 0.087, 0.002),
        (0.55, 0.070, 0.076, 0.006),
        (0.85, 0.057, 0.062, 0.004),
        (1.00, 0.053, 0.058, 0.002),
    ]
    shin = [
        (0.00, 0.051, 0.056, 0.000),
        (0.12, 0.051, 0.056, -0.006),
        (0.30, 0.055, 0.060, -0.014),
        (0.60, 0.043, 0.047, -0.010),
        (0.85, 0.034, 0.038, -0.004),
        (1.00, 0.035, 0.042, -0.004),
    ]
    parts = [
        build_loft(
            side + "UpperLeg",
            place(hip, 0.080),
            place(knee, 0.057),
            Z,
            scale_profile(thigh, s),
            (0.11 * s, 0.045 * s),
            blend_m=0.05 * s,
            soft_m=0.085 * s,
        ),
        build_loft(
            side + "LowerLeg",
            place(knee, 0.057),
            place(ankle, 0.035),
            Z,
            scale_profile(shin, s),
            (0.045 * s, 0.03 * s),
            blend_m=0.02 * s,
            soft_m=0.075 * s,
        ),
    ]
    return [*parts, *_build_foot(joints, side, ankle, ball, size)]


def _build_foot(joints: frozenset[str], side: str, ankle: Floats, ball: Floats, s: float) -> list[Loft]:
    """Return heel to ball, instep and toes, flat on the ground below."""
    ahead = ball - ankle
    ahead = ahead - (ahead @ Y) * Y
    length = float(np.linalg.norm(ahead))
    ahead = ahead / length if length > 0.02 * s else Z
    length = max(length, 0.06 * s)
    sole = min(float(ball @ Y) - 0.021 * s, float(ankle @ Y) - 0.045 * s)
    level = ankle - (ankle @ Y) * Y + sole * Y  # below the ankle on the ground
    high = float(ankle @ Y) - sole
    rows = [(0, 0.030 * s, 0.032 * s, 0.004 * s), (0.5, 0.034 * s, 0.032 * s, 0.004 * s), (1, 0.046 * s, 0.025 * s, -0.003 * s)]
    toes = [(0, 0.046 * s, 0.023 * s, 0.002 * s), (0.6, 0.043 * s, 0.017 * s, -0.004 * s), (1, 0.032 * s, 0.013 * s, -0.008 * s)]
    axis, front = level + 0.028 * s * Y, level + length * ahead + 0.028 * s * Y
    instep = [(0, 0.034 * s, 0.040 * s), (0.5, 0.034 * s, 0.034 * s), (1, 0.038 * s, 0.022 * s)]
    soft = 0.03 * s
    foot = side + "Foot"
    parts = [
        build_loft(foot, axis - 0.035 * s * ahead, front, Y, rows, (0.026 * s, 0.02 * s), blend_m=0.02 * s,
            soft_m=soft, power=2.5),
        build_loft(foot, level + 0.75 * high * Y, front - 0.25 * length * ahead, Y, instep, (0.02 * s, 0.02 * s),
            blend_m=0.03 * s,
             soft_m=soft),
    ]  # fmt: skip
    joint = side + "Toes" if side + "Toes" in joints else foot
    tip = front + 0.052 * s * ahead
    return [*parts, build_loft(joint, front, tip, Y, toes, (0.02 * s, 0.022 * s), blend_m=0.012 * s, soft_m=soft, power=2.5)]


def _build_arm(at: Positions, joints: frozenset[str], side: str, size: float) -> list[Loft]:
    """Return shoulder, upper arm, forearm and hand."""
    shoulder, elbow, wrist = (at[side + part] for part in ("UpperArm", "LowerArm", "Hand"))
    s = size
    joint = side + "Shoulder" if side + "Shoulder" in joints else TRUNK
    middle = 0.5 * (at["leftUpperArm"] + at["rightUpperArm"])
    inner = at["neck"] + 0.004 * s * Y + 0.1 * (shoulder - middle) - 0.012 * s * Z
    outer = shoulder + 0.012 * s * Y - 0.12 * (shoulder - middle)
    slope = [(0, 0.034, 0.046), (0.5, 0.037, 0.052), (1, 0.044, 0.054)]
    upper = [(0.00, 0.054, 0.056), (0.15, 0.053, 0.056), (0.50, 0.043, 0.048), (0.85, 0.038, 0.041), (1.00, 0.037, 0.040)]
    fore = [(0.00, 0.037, 0.040), (0.22, 0.040, 0.044), (0.60, 0.033, 0.037), (0.90, 0.024, 0.031), (1.00, 0.022, 0.031)]
    return [
        build_loft(joint, inner, outer, Z, scale_profile(slope, s), (0.05 * s, 0.03 * s), blend_m=0.07 * s, soft_m=0.06 * s),
        build_loft(
            side + "UpperArm",
            shoulder,
            elbow,
            Z,
            scale_profile(upper, s),
            (0.045 * s, 0.034 * s),
            blend_m=0.07 * s,
            soft_m=0.06 * s,
        ),
        build_loft(
            side + "LowerArm", elbow, wrist, Z, scale_profile(fore, s), (0.034 * s, 0.02 * s), blend_m=0.016 * s, soft_m=0.045 * s
        ),
        *_build_hand(side, elbow, wrist, s),
    ]


def _build_hand(side: str, elbow: Floats, wrist: Floats, s: float) -> list[Loft]:
    """Return palm, fingers as one, and thumb of a hand in line with its forearm, palm down, thumb ahead."""
    _, ahead, along = compute_axes(wrist - elbow, Z)
    up = np.cross(along, ahead)
    up = up if up @ Y >= 0 else -up

    def point(out: float, higher: float, front: float) -> Floats:
        return np.asarray(wrist + s * (out * along + higher * up + front * ahead))

    palm = [(0, 0.021, 0.031), (0.4, 0.020, 0.039), (1, 0.016, 0.043)]
    fingers = [(0, 0.016, 0.042), (0.5, 0.014, 0.039), (0.80, 0.012, 0.034), (1, 0.011, 0.018)]
    thumb = [(0, 0.017, 0.017), (0.6, 0.013, 0.013), (1, 0.011, 0.011)]
    joint, soft, thick = side + "Hand", 0.03 * s, 0.014 * s
    return [
        build_loft(joint, wrist, point(0.095, -0.003, 0.002), Z, scale_profile(palm, s), (0.015 * s, 0.012 * s),
            blend_m=thick, soft_m=soft),
        build_loft(joint, point(0.085, -0.003, 0.002), point(0.178, -0.010, 0.0), Z, scale_profile(fingers, s),
            (0.01 * s, 0.013 * s),
             blend_m=0.008 * s, soft_m=soft),
        build_loft(joint, point(0.035, -0.008, 0.026), point(0.098, -0.016, 0.071), up, scale_profile(thumb, s),
            (0.012 * s, 0.011 * s),
             blend_m=0.014 * s, soft_m=soft),
    ]  # fmt: skip
