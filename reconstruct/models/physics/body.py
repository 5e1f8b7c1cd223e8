"""Masses, centres, inertias and contact points of a skeleton's segments.

Every segment of de Leva 1996 lies between two points of the rest pose and goes to the joints that move it, cut at the joints that
lie in it, by a density over its length that has the segment's centre and spread:

    head (top of the head to `neck`): head, upperNeck, neck        trunk (`neck` to the middle of the hip joints):
    upper arm, forearm, hand, thigh, shank: their joint            hips up to the omphalion; above it spine, chest, upperChest,
    foot (heel to tip): Foot, Toes                                 cut at the heights of the joints

So the mass, centre and inertia of each segment in the rest pose are the table's, whichever joints a skeleton has. A joint that is
left without mass (one that a file lacks lies on another), and the shoulders, then take the mass of a small ball from the joint
above, which moves the whole by a millimetre or two.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import ArrayLike

from calibration.subject.model import LEGS_OF_STATURE
from config.arrays import Floats, Ints, ReadOnlyArrays
from config.errors import DuocapError
from config.joints import JOINT_INDEX, JOINTS, N_JOINTS, PARENTS
from database.geometry.skeleton import Skeleton
from reconstruct.models.physics.anthropometry import (
    Anthropometry,
    SegmentShape,
    check_mass_kg,
    compute_trunk_levels,
    estimate_mass_kg,
    read_segment_shape,
)

SHOULDER_SHARE = 0.01  # of the body's mass, taken from the trunk
LEAST_SHARE = 0.001  # of the body's mass, of any joint
BALL_M = 0.04  # radius of gyration of what is taken
SHORTEST_M = 1e-3
HEEL_BEHIND = 0.25  # from the ankle, share of the way from ankle to tip of the toes, level
HEEL_WIDTH, BALL_WIDTH, TIP_WIDTH = 0.22, 0.36, 0.26  # of the length of the foot
AXIS_HEIGHT = 0.4  # of the ankle's height over the sole: the axis of a foot
FORWARD, SIDEWAYS, UPWARD = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])


class FootPart(IntEnum):
    """The part of a foot that a contact point belongs to."""

    HEEL = 0
    BALL = 1
    TIP = 2


@dataclass(frozen=True, slots=True)
class ContactPoints(ReadOnlyArrays):
    """The P points of the soles at which the ground may push.

    Attributes:
        names: names of the points.
        joint: joint that each point is fixed to, (P,).
        offset_m: position in that joint's frame, (P, 3) [m].
        foot: 0 for the left foot, 1 for the right, (P,).
        part: part of the foot, a `FootPart`, (P,).
    """

    names: tuple[str, ...]
    joint: Ints
    offset_m: Floats
    foot: Ints
    part: Ints

    def __post_init__(self) -> None:
        for array in (self.joint, self.offset_m, self.foot, self.part):
            array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.joint)


@dataclass(frozen=True, slots=True)
class Body(ReadOnlyArrays):
    """A skeleton with masses.

    Attributes:
        mass_kg: mass of each joint's segment, (J,), > 0.
        center_m: centre of mass in the joint's frame, (J, 3) [m].
        inertia_kg_m2: inertia about the centre of mass, in the joint's axes, (J, 3, 3) [kg m^2].
        contacts: the points that touch the ground.
    """

    skeleton: Skeleton
    mass_kg: Floats
    center_m: Floats
    inertia_kg_m2: Floats
    contacts: ContactPoints

    def __post_init__(self) -> None:
        assert self.mass_kg.shape == (N_JOINTS,) and self.inertia_kg_m2.shape == (N_JOINTS, 3, 3)
        for array in (self.mass_kg, self.center_m, self.inertia_kg_m2):
            array.setflags(write=False)

    @property
    def total_kg(self) -> float:
        """Mass of the whole body."""
        return float(self.mass_kg.sum())

    def with_mass(self, joint: str, mass_kg: float) -> "Body":
        """Return the body with another mass of one joint's segment, its density changed. Raises DuocapError."""
        row = _find_joint_row(joint)
        if not (np.isfinite(mass_kg) and mass_kg > 0.0):
            raise DuocapError(f"mass of {joint} {mass_kg:g} kg: a segment needs a mass above 0")
        mass, inertia = self.mass_kg.copy(), self.inertia_kg_m2.copy()
        inertia[row] *= mass_kg / mass[row]
        mass[row] = mass_kg
        return replace(self, mass_kg=mass, inertia_kg_m2=inertia)

    def with_load(self, joint: str, load_kg: float, at_m: ArrayLike | None = None) -> "Body":
        """Return the body with a load fixed to a joint, such as a heavy shoe.

        Args:
            joint: name of the joint.
            load_kg: mass of the load [kg].
            at_m: position of the load in the joint's frame, (3,) [m]; None for the segment's centre.
        Raises DuocapError: no such joint, or a load that is not a number from 0.
        """
        row = _find_joint_row(joint)
        if not (np.isfinite(load_kg) and load_kg >= 0.0):
            raise DuocapError(f"load of {joint} {load_kg:g} kg: expected a mass from 0")
        at = self.center_m[row] if at_m is None else np.asarray(at_m, np.float64)
        both = _Lump(self.mass_kg[row], self.center_m[row], self.inertia_kg_m2[row]).joined(_build_ball(load_kg, at))
        mass, center, inertia = self.mass_kg.copy(), self.center_m.copy(), self.inertia_kg_m2.copy()
        mass[row], center[row], inertia[row] = both.mass_kg, both.center_m, both.inertia_kg_m2
        return replace(self, mass_kg=mass, center_m=center, inertia_kg_m2=inertia)


def build_body(skeleton: Skeleton, mass_kg: float | None = None, table: Anthropometry = Anthropometry.MEAN) -> Body:
    """Return a skeleton with the masses of a table. Raises DuocapError.

    Args:
        skeleton: the skeleton.
        mass_kg: mass of the whole body [kg]; None for the mass usual for its stature.
        table: table of segment masses.
    """
    total_kg = estimate_mass_kg(estimate_stature_m(skeleton), table) if mass_kg is None else check_mass_kg(mass_kg)
    rest = skeleton.rest_positions_m()
    lumps: dict[int, _Lump] = {}
    for segment in _build_segments(skeleton, rest, table):
        for joint, lump in _cut_segment(segment, rest):
            lumps[joint] = lump if joint not in lumps else lumps[joint].joined(lump)
    scale = total_kg / sum(lump.mass_kg for lump in lumps.values())
    lumps = {joint: each.scaled(scale) for joint, each in lumps.items()}
    _add_light_joint_mass(lumps, skeleton, rest, total_kg)
    rows = [lumps[joint] for joint in range(N_JOINTS)]
    center_m = np.array([each.center_m for each in rows]) - rest
    inertia = np.array([each.inertia_kg_m2 for each in rows])
    return Body(skeleton, np.array([each.mass_kg for each in rows]), center_m, inertia, build_contact_points(skeleton))


def estimate_stature_m(skeleton: Skeleton) -> float:
    """Return a person's height: the skeleton's, or the one its legs tell where that is more, as files end short of the crown."""
    legs = np.linalg.norm(skeleton.offsets_m[[JOINT_INDEX["leftLowerLeg"], JOINT_INDEX["leftFoot"]]], axis=1).sum()
    return max(skeleton.height_m, float(legs) / LEGS_OF_STATURE)


def build_contact_points(skeleton: Skeleton) -> ContactPoints:
    """Return six points of each sole, on the ground of the rest pose: inner and outer of heel, ball and tip."""
    rest = skeleton.rest_positions_m()
    names: list[str] = []
    rows: list[tuple[int, Floats, int, int]] = []
    for foot, side in enumerate(("left", "right")):
        sole = _build_sole(skeleton, rest, side)
        outward = np.cross(UPWARD, sole.ahead) * (1.0 if side == "left" else -1.0)
        ankle, ball = JOINT_INDEX[f"{side}Foot"], JOINT_INDEX[f"{side}Toes"]
        places = (
            (FootPart.HEEL, ankle, sole.heel_m, HEEL_WIDTH),
            (FootPart.BALL, ankle, sole.ball_m, BALL_WIDTH),
            (FootPart.TIP, ball, sole.tip_m, TIP_WIDTH),
        )
        for part, joint, middle, width in places:
            for where, sign in (("Inner", -0.5), ("Outer", 0.5)):
                names.append(f"{side}{part.name.title()}{where}")
                rows.append((joint, middle + sign * width * sole.length_m * outward - rest[joint], foot, int(part)))
    joints, feet, parts = (np.array([row[k] for row in rows], np.int64) for k in (0, 2, 3))
    return ContactPoints(tuple(names), joints, np.array([row[1] for row in rows]), feet, parts)


def _find_joint_row(name: str) -> int:
    """Return the row of a joint. Raises DuocapError: it has another name."""
    if name not in JOINT_INDEX:
        raise DuocapError(f"no joint {name!r}; the joints are {', '.join(JOINTS)}")
    return JOINT_INDEX[name]


@dataclass(frozen=True, slots=True)
class _Lump:
    """Mass [kg], centre (3,) [m] and inertia about it (3, 3) [kg m^2], in axes of the rest pose."""

    mass_kg: float
    center_m: Floats
    inertia_kg_m2: Floats

    def joined(self, other: "_Lump") -> "_Lump":
        """Return both as one."""
        mass = self.mass_kg + other.mass_kg
        center = (self.mass_kg * self.center_m + other.mass_kg * other.center_m) / mass
        return _Lump(mass, center, _compute_inertia_about(self, center) + _compute_inertia_about(other, center))

    def scaled(self, factor: float) -> "_Lump":
        """Return it with another density."""
        return _Lump(factor * self.mass_kg, self.center_m, factor * self.inertia_kg_m2)


@dataclass(frozen=True, slots=True)
class _Segment:
    """A segment of the table between two points (3,) [m] of the rest pose; front: its axis forwards (3,); joints: from the first
    end on, each up to where the next begins."""

    shape: SegmentShape
    first_m: Floats
    second_m: Floats
    front: Floats
    joints: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Sole:
    """Middles of heel, ball and tip on the ground, (3,) [m]; the level direction ahead, (3,); length and height of the ankle."""

    heel_m: Floats
    ball_m: Floats
    tip_m: Floats
    ahead: Floats
    length_m: float
    ankle_height_m: float


def _compute_inertia_about(lump: _Lump, point: Floats) -> Floats:
    """Return a lump's inertia about a point, (3, 3)."""
    d = lump.center_m - point
    return np.asarray(lump.inertia_kg_m2 + lump.mass_kg * ((d @ d) * np.eye(3) - np.outer(d, d)))


def _build_ball(mass_kg: float, center_m: Floats) -> _Lump:
    """Return a small ball."""
    return _Lump(mass_kg, np.asarray(center_m, np.float64), mass_kg * BALL_M**2 * np.eye(3))


def _build_sole(skeleton: Skeleton, rest: Floats, side: str) -> _Sole:
    """Return the sole of a foot on the ground of the rest pose, the lowest point of the skeleton."""
    ankle, ball = JOINT_INDEX[f"{side}Foot"], JOINT_INDEX[f"{side}Toes"]
    ground = float((rest + skeleton.tails_m)[:, 1].min())
    tip = rest[ball] + skeleton.tails_m[ball]
    level = (tip - rest[ankle]) * (1.0, 0.0, 1.0)
    reach = float(np.linalg.norm(level))
    if reach < 0.02:  # no foot to speak of, as in files without one
        level, reach = FORWARD, max(0.1 * skeleton.height_m, 0.05)
    ahead = np.asarray(level / np.linalg.norm(level))
    along = float(np.clip((rest[ball] - rest[ankle]) @ ahead, 0.3 * reach, 0.9 * reach))
    base = rest[ankle] * (1.0, 0.0, 1.0) + ground * UPWARD
    heel, middle, end = (base + s * ahead for s in (-HEEL_BEHIND * reach, along, reach))
    return _Sole(heel, middle, end, ahead, (1.0 + HEEL_BEHIND) * reach, float(rest[ankle, 1] - ground))


def _build_segments(skeleton: Skeleton, rest: Floats, table: Anthropometry) -> Iterator[_Segment]:
    """Yield the segments of a skeleton in the rest pose."""

    def end(name: str) -> Floats:
        return np.asarray(rest[JOINT_INDEX[name]] + skeleton.tails_m[JOINT_INDEX[name]])

    def at(name: str) -> Floats:
        return np.asarray(rest[JOINT_INDEX[name]])

    cervical, middle = at("neck"), 0.5 * (at("leftUpperLeg") + at("rightUpperLeg"))
    xiphoid, omphalion = (cervical + share * (middle - cervical) for share in compute_trunk_levels(table))
    back = ("upperChest", "chest", "spine")
    yield _Segment(read_segment_shape("head", table), end("head"), cervical, FORWARD, ("head", "upperNeck", "neck"))
    yield _Segment(read_segment_shape("upperTrunk", table), cervical, xiphoid, FORWARD, back)
    yield _Segment(read_segment_shape("middleTrunk", table), xiphoid, omphalion, FORWARD, back)
    yield _Segment(read_segment_shape("lowerTrunk", table), omphalion, middle, FORWARD, ("hips",))
    for side in ("left", "right"):
        limbs = (
            ("upperArm", "UpperArm", FORWARD),
            ("forearm", "LowerArm", UPWARD),
            ("hand", "Hand", UPWARD),
            ("thigh", "UpperLeg", FORWARD),
            ("shank", "LowerLeg", FORWARD),
        )
        for name, joint, front in limbs:
            yield _Segment(read_segment_shape(name, table), at(side + joint), end(side + joint), front, (side + joint,))
        sole = _build_sole(skeleton, rest, side)
        lift = AXIS_HEIGHT * max(sole.ankle_height_m, 0.0) * UPWARD
        shape = read_segment_shape("foot", table)
        yield _Segment(shape, sole.heel_m + lift, sole.tip_m + lift, SIDEWAYS, (f"{side}Foot", f"{side}Toes"))


def _cut_segment(segment: _Segment, rest: Floats) -> Iterator[tuple[int, _Lump]]:
    """Yield a segment cut at its joints: rows of joints and their shares.

    Its mass lies along its length by the parabola of density that has the table's centre and spread, and everywhere alike across.
    """
    axis = segment.second_m - segment.first_m
    length = float(np.linalg.norm(axis))
    if length < SHORTEST_M:
        axis, length = SHORTEST_M * UPWARD, SHORTEST_M
    along = axis / length
    shape = segment.shape
    squares = np.array([shape.sagittal, shape.transverse, shape.longitudinal]) ** 2
    spread = 0.5 * (squares[0] + squares[1] - squares[2])  # variance along it; what is left of the squares is across
    density, frame = _fit_density(shape.center, spread), _compute_segment_axes(along, segment.front)
    for name, (first, stop) in zip(segment.joints, _find_joint_edges(segment, rest, along, length), strict=True):
        share, mean, square = (_integrate_moment(density, first, stop, power) for power in range(3))
        if share < 1e-9:
            continue
        mean, square = mean / share, square / share
        own = square - mean**2 - spread
        radii2 = length**2 * (squares + own * np.array([1.0, 1.0, 0.0]))
        mass = shape.mass * share
        yield JOINT_INDEX[name], _Lump(mass, segment.first_m + mean * length * along, mass * (frame * radii2) @ frame.T)


def _fit_density(center: float, spread: float) -> Polynomial:
    """Return the parabola on [0, 1] with an integral of 1, a mean and a variance; where it would be below 0, of a larger one."""
    off = center - 0.5
    second = max(180.0 * (spread + off**2 - 1.0 / 12.0), 6.0 * (6.0 * abs(off) - 1.0))
    return Polynomial([1.0 - second / 12.0, 12.0 * off, second])(Polynomial([-0.5, 1.0]))


def _find_joint_edges(segment: _Segment, rest: Floats, along: Floats, length: float) -> Sequence[tuple[float, float]]:
    """Return from where to where each joint of a segment has it, shares of its length.

    A joint's part lies on that side of it that is away from its parent: above it in trunk and head, ahead of it in the foot.
    """
    reach = [float((rest[JOINT_INDEX[name]] - segment.first_m) @ along) / length for name in segment.joints]
    if segment.joints[0].endswith("Foot"):
        cut = float(np.clip(reach[1], 0.0, 1.0))
        return (0.0, cut), (cut, 1.0)
    stops = np.maximum.accumulate(np.clip([*reach[:-1], 1.0], 0.0, 1.0)) if len(reach) > 1 else np.array([1.0])
    return list(zip([0.0, *stops[:-1].tolist()], stops.tolist(), strict=True))


def _integrate_moment(density: Polynomial, first: float, stop: float, power: int) -> float:
    """Return the integral of s^power times a density from `first` to `stop`."""
    integral = (density * Polynomial([0.0] * power + [1.0])).integ()
    return float(integral(stop) - integral(first))


def _compute_segment_axes(along: Floats, front: Floats) -> Floats:
    """Return the columns forwards, sideways and along of a segment, (3, 3)."""
    sideways = np.cross(along, front)
    sideways /= np.linalg.norm(sideways)
    return np.stack([np.cross(sideways, along), sideways, along], axis=1)


def _add_light_joint_mass(lumps: dict[int, _Lump], skeleton: Skeleton, rest: Floats, total_kg: float) -> None:
    """Move mass to the shoulders, and every joint with hardly any mass, a ball's mass from the nearest heavy joint."""
    wanted = {JOINT_INDEX[side + "Shoulder"]: SHOULDER_SHARE * total_kg for side in ("left", "right")}
    for joint in range(N_JOINTS):
        least = wanted.get(joint, LEAST_SHARE * total_kg)
        have = lumps[joint].mass_kg if joint in lumps else 0.0
        if have >= least:
            continue
        giver = _find_heavy_joint(joint, lumps, 4.0 * least)
        at = rest[joint] + (0.5 * skeleton.tails_m[joint] if joint in wanted else 0.0)
        ball = _build_ball(least - have, at)
        lumps[giver] = lumps[giver].scaled(1.0 - ball.mass_kg / lumps[giver].mass_kg)
        lumps[joint] = ball if joint not in lumps else lumps[joint].joined(ball)


def _find_heavy_joint(joint: int, lumps: dict[int, _Lump], least_kg: float) -> int:
    """Return the nearest joint above one, or else below the hips, that has a mass to give from."""
    above = PARENTS[joint]
    while above >= 0:
        if above in lumps and lumps[above].mass_kg > least_kg:
            return above
        above = PARENTS[above]
    return max(lumps, key=lambda row: lumps[row].mass_kg)
