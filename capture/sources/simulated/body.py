"""A body with volume around a skeleton: round cones along the bones, as thick as those of a person of that height."""

from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from capture.sources.simulated.rays import Cones, compute_surface_distance
from config.arrays import Floats, ReadOnlyArrays
from config.joints import JOINT_INDEX
from config.markers import MarkerSet
from database.geometry.kinematics import charted_from_local, compute_forward_kinematics
from database.geometry.skeleton import Skeleton

SKIN, SHIRT, TROUSERS, SHOES = (196, 150, 125), (88, 96, 112), (52, 54, 66), (38, 36, 36)
PROP = (120, 100, 80)
HAIR, EYES, LIPS, SHADOW = (62, 44, 32), (40, 30, 30), (150, 72, 68), (172, 124, 100)

# Joint, end of its bone, radii at both ends for a person of 1.75 m, colour.
LIMBS: tuple[tuple[str, str, float, float, tuple[int, int, int]], ...] = (
    ("UpperLeg", "LowerLeg", 0.082, 0.056, TROUSERS),
    ("LowerLeg", "Foot", 0.056, 0.040, TROUSERS),
    ("Foot", "Toes", 0.040, 0.032, SHOES),
    ("Toes", "", 0.032, 0.026, SHOES),
    ("Shoulder", "UpperArm", 0.062, 0.056, SHIRT),
    ("UpperArm", "LowerArm", 0.052, 0.042, SHIRT),
    ("LowerArm", "Hand", 0.042, 0.031, SKIN),
    ("Hand", "", 0.034, 0.028, SKIN),
)
# A marker this far outside the body is on a prop (a sword): a thin stick joins it to its joint.
PROP_GAP_M, PROP_RADIUS_M = 0.12, 0.012


@dataclass(frozen=True, slots=True)
class ConeBody(ReadOnlyArrays):
    """Round cones fixed to joints.

    joint: (C,); a, b: ends in the joint's frame, (C, 3) [m]; radii: at a and b, (C, 2) [m]; color_rgb: (C, 3) 0-255.
    """

    joint: NDArray[np.int64]
    a: Floats
    b: Floats
    radii: Floats
    color_rgb: Floats

    def __post_init__(self) -> None:
        for array in (self.joint, self.a, self.b, self.radii, self.color_rgb):
            array.setflags(write=False)

    def posed(self, G: Floats, p: Floats) -> Cones:
        """Return the cones in the world: orientations (..., J, 3, 3), positions (..., J, 3) [m] -> ends (..., C, 3) [m]."""
        R, t = G[..., self.joint, :, :], p[..., self.joint, :]
        a = np.einsum("...cij,cj->...ci", R, self.a) + t
        return Cones(a, np.einsum("...cij,cj->...ci", R, self.b) + t, self.radii)


class SilhouettePart(NamedTuple):
    """A round cone of a joint: its ends in the joint's frame, (3,) [m], the radii at both, and its colour RGB."""

    joint: str
    a: Floats
    b: Floats
    radius_a_m: float
    radius_b_m: float
    color_rgb: tuple[int, int, int]


# What tells front from back and a hand from a stick: joint (of either side, where it has one), from the end of its bone to a and
# to b (x to the left, y up, z ahead) [m], radii at both for a person of 1.75 m, colour.
FACE: tuple[tuple[tuple[float, float, float], tuple[float, float, float], float, float, tuple[int, int, int]], ...] = (
    ((0.0, -0.082, -0.022), (0.0, -0.105, -0.030), 0.092, 0.088, HAIR),
    ((0.032, -0.105, 0.078), (0.034, -0.105, 0.077), 0.014, 0.014, EYES),
    ((-0.032, -0.105, 0.078), (-0.034, -0.105, 0.077), 0.014, 0.014, EYES),
    ((0.0, -0.112, 0.084), (0.0, -0.140, 0.094), 0.009, 0.015, SHADOW),
    ((0.022, -0.176, 0.062), (-0.022, -0.176, 0.062), 0.011, 0.011, LIPS),
    ((0.086, -0.115, -0.004), (0.084, -0.140, -0.002), 0.018, 0.014, SHADOW),
    ((-0.086, -0.115, -0.004), (-0.084, -0.140, -0.002), 0.018, 0.014, SHADOW),
)


def build_body_around(skeleton: Skeleton, is_person: bool = False) -> ConeBody:
    """Return a body of average build around a skeleton; radii scale with the height.

    is_person: with a face, hair and hands, by which body landmarks tell front from back.
    """
    scale = skeleton.height_m / 1.75
    parts = _build_trunk(skeleton, scale)
    for side in ("left", "right"):
        parts += _build_limbs(skeleton, side, scale) + (_build_hand(skeleton, side, scale) if is_person else [])
    return _arrays_from_parts(parts + (_build_face(skeleton, scale) if is_person else []))


def _build_face(skeleton: Skeleton, scale: float) -> list[SilhouettePart]:
    """Return hair, eyes, nose, mouth and ears."""
    top = skeleton.tails_m[JOINT_INDEX["head"]]
    return [
        SilhouettePart("head", top + scale * np.array(a), top + scale * np.array(b), r_a * scale, r_b * scale, color)
        for a, b, r_a, r_b, color in FACE
    ]


def _build_hand(skeleton: Skeleton, side: str, scale: float) -> list[SilhouettePart]:
    """Return a flat hand with its fingers together and the thumb ahead."""
    tip, ahead = skeleton.tails_m[JOINT_INDEX[side + "Hand"]], scale * np.array([0.0, 0.0, 1.0])
    return [
        SilhouettePart(side + "Hand", 0.3 * tip + across * ahead, tip + across * ahead, 0.020 * scale, 0.013 * scale, SKIN)
        for across in (-0.025, 0.025)
    ] + [SilhouettePart(side + "Hand", 0.2 * tip + 0.02 * ahead, 0.6 * tip + 0.06 * ahead, 0.018 * scale, 0.011 * scale, SKIN)]


def _arrays_from_parts(parts: list[SilhouettePart]) -> ConeBody:
    """Return parts as arrays."""
    return ConeBody(
        np.array([JOINT_INDEX[part.joint] for part in parts], np.int64),
        np.array([part.a for part in parts], float),
        np.array([part.b for part in parts], float),
        np.array([(part.radius_a_m, part.radius_b_m) for part in parts], float),
        np.array([part.color_rgb for part in parts], float),
    )


def _build_limbs(skeleton: Skeleton, side: str, scale: float) -> list[SilhouettePart]:
    """Return one side's leg and arm."""
    parts: list[SilhouettePart] = []
    for name, end, r_a, r_b, color in LIMBS:
        tip = skeleton.offsets_m[JOINT_INDEX[side + end]] if end else skeleton.tails_m[JOINT_INDEX[side + name]]
        parts.append(SilhouettePart(side + name, np.zeros(3), tip, r_a * scale, r_b * scale, color))
    # The heel: behind and below the ankle, as low as the toes.
    down = min(float(skeleton.offsets_m[JOINT_INDEX[side + "Toes"]][1]), -0.03)
    heel = np.array([0.0, down, -0.035 * scale])
    parts.append(SilhouettePart(side + "Foot", np.zeros(3), heel, 0.040 * scale, 0.032 * scale, SHOES))
    return parts


def _build_trunk(skeleton: Skeleton, scale: float) -> list[SilhouettePart]:
    """Return pelvis, belly, chest, neck and head: cones across the spine make an oval trunk."""

    def across(joint: str, middle: Floats, half_width_m: float, radius_m: float, color: tuple[int, int, int]) -> SilhouettePart:
        side = np.array([half_width_m * scale, 0.0, 0.0])
        return SilhouettePart(joint, middle - side, middle + side, radius_m * scale, radius_m * scale, color)

    offset = {name: skeleton.offsets_m[index] for name, index in JOINT_INDEX.items()}
    crotch = 0.5 * (offset["leftUpperLeg"] + offset["rightUpperLeg"])
    top = skeleton.tails_m[JOINT_INDEX["head"]]
    up = top / max(float(np.linalg.norm(top)), 1e-6)
    return [
        across("hips", 0.7 * crotch, 0.075, 0.098, TROUSERS),
        across("hips", 0.1 * crotch, 0.065, 0.100, TROUSERS),
        across("spine", 0.35 * offset["chest"], 0.055, 0.098, SHIRT),
        across("spine", 0.85 * offset["chest"], 0.055, 0.098, SHIRT),
        across("chest", 0.35 * offset["upperChest"], 0.060, 0.100, SHIRT),
        across("chest", 0.85 * offset["upperChest"], 0.070, 0.102, SHIRT),
        across("upperChest", 0.5 * offset["leftShoulder"] * [0, 1, 1] + 0.25 * offset["neck"], 0.080, 0.098, SHIRT),
        SilhouettePart("upperChest", 0.4 * offset["neck"], offset["neck"], 0.070 * scale, 0.056 * scale, SHIRT),
        SilhouettePart("neck", np.zeros(3), offset["upperNeck"], 0.055 * scale, 0.053 * scale, SKIN),
        SilhouettePart("upperNeck", np.zeros(3), offset["head"], 0.053 * scale, 0.055 * scale, SKIN),
        SilhouettePart("head", top - 0.155 * scale * up, top - 0.092 * scale * up, 0.072 * scale, 0.092 * scale, SKIN),
    ]


def draw_worn_offsets(
    skeleton: Skeleton, body: ConeBody, markers: MarkerSet, radius_m: float, sigma_m: float, seed: int
) -> Floats:
    """Return the true offsets of the worn markers, (M, 3) [m] in each joint's frame: nominal offset plus a random error, on the
    surface of the body.

    A marker less than its radius above the surface (T-pose) is moved outward from its bone; one that would float is moved to
    the surface, unless it is so far away that it must be on a prop.

    Args:
        skeleton: of the performer.
        body: the body around it.
        markers: the set that is worn.
        radius_m: of the markers.
        sigma_m: standard deviation of the placement in each axis.
        seed: of the random errors.
    """
    G, p = _compute_rest_pose(skeleton)
    cones = body.posed(G, p)
    noise = np.random.default_rng((seed, 11)).normal(0.0, sigma_m, markers.offset_m.shape)
    offset_m = markers.offset_m + noise
    for m, joint in enumerate(markers.joint):
        outward = _find_outward_direction(markers.offset_m[m], skeleton.tails_m[joint])
        for _ in range(200):
            distance, _ = compute_surface_distance(cones, p[joint] + offset_m[m])
            if distance >= radius_m - 1e-6:
                break
            offset_m[m] += max(radius_m - distance, 1e-4) * outward
        distance, away = compute_surface_distance(cones, p[joint] + offset_m[m])
        if distance < PROP_GAP_M:
            offset_m[m] -= max(distance - radius_m, 0.0) * away
    return np.asarray(offset_m)


def _find_outward_direction(nominal_m: Floats, bone_m: Floats) -> Floats:
    """Return the direction in which a marker leaves the body: from the bone to its nominal offset, (3,).

    Up and a little forward where the nominal offset is on the line of the bone, as on top of the shoulder.
    """
    along = bone_m / max(float(np.linalg.norm(bone_m)), 1e-9)
    for direction, least in ((nominal_m, 0.025), (np.array([0.0, 1.0, 0.6]), 0.0)):
        across = direction - (direction @ along) * along
        if np.linalg.norm(across) > least:
            return np.asarray(across / np.linalg.norm(across))
    return np.array([0.0, 0.0, 1.0])


def add_props(skeleton: Skeleton, body: ConeBody, markers: MarkerSet, offset_m: Floats, radius_m: float) -> ConeBody:
    """Return the body with a stick from the joint to every marker far outside it, ending short of the marker.

    Args:
        skeleton: of the performer.
        body: the body around it.
        markers: the set that is worn.
        offset_m: of the markers in their joints' frames, (M, 3).
        radius_m: of the markers.
    """
    G, p = _compute_rest_pose(skeleton)
    cones = body.posed(G, p)
    names, parts = list(JOINT_INDEX), []
    for m, joint in enumerate(markers.joint):
        distance, _ = compute_surface_distance(cones, p[joint] + offset_m[m])
        length = float(np.linalg.norm(offset_m[m]))
        if distance > PROP_GAP_M:
            end = offset_m[m] * (1.0 - (radius_m + PROP_RADIUS_M) / length)
            parts.append(SilhouettePart(names[joint], np.zeros(3), end, PROP_RADIUS_M, PROP_RADIUS_M, PROP))
    if not parts:
        return body
    extra = _arrays_from_parts(parts)
    return ConeBody(*(np.concatenate([getattr(body, each.name), getattr(extra, each.name)]) for each in fields(ConeBody)))


def _compute_rest_pose(skeleton: Skeleton) -> tuple[Floats, Floats]:
    """Return orientations and positions of the T-pose, hips at the origin."""
    return compute_forward_kinematics(
        skeleton, charted_from_local(np.broadcast_to(np.eye(3), (len(JOINT_INDEX), 3, 3))), np.zeros(3)
    )
