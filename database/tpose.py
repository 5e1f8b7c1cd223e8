"""Generated T-poses, and arms lowered from them and raised to them.

Every session starts in a T-pose, which hardly any motion database has, so these clips are added to each. A stance is a vector of
angles; clips follow minimum-jerk curves (Flash & Hogan 1985) from stance to stance, plus a slow sway.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from config.arrays import Floats
from config.joints import JOINT_INDEX, N_JOINTS, mirror_joint_name
from database.clips import Clip, clip_from_local
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.rotations import matrix_from_rotvec, rotation_about
from database.geometry.skeleton import Skeleton

# Angles in degrees; feet_m: distance of the ankles; elevation: of the upper arm above level; front: rotated forward.
LIMB_ANGLES = ("elevation", "front", "twist", "elbow", "palm", "knee", "toe_out")
STANCE: Final[tuple[str, ...]] = (
    *(f"{side}_{angle}" for side in ("left", "right") for angle in LIMB_ANGLES),
    *("feet_m", "pelvis_pitch", "pelvis_roll", "spine_pitch", "spine_roll", "spine_yaw", "head_pitch", "head_yaw"),
)
# Centre and half range (uniform) of a person's T-pose, and of standing with the arms down or to the front.
T_POSE = {"elevation": (-3.0, 22.0), "front": (3.0, 10.0), "twist": (0.0, 25.0), "elbow": (9.0, 9.0), "palm": (0.0, 20.0)}
ARMS_DOWN = {"elevation": (-79.0, 7.0), "front": (20.0, 20.0), "twist": (0.0, 15.0), "elbow": (15.0, 10.0), "palm": (0.0, 20.0)}
ARMS_FRONT = {"elevation": (-15.0, 15.0), "front": (72.0, 12.0), "twist": (0.0, 15.0), "elbow": (12.0, 10.0), "palm": (0.0, 20.0)}
BODY = {
    "knee": (12.0, 12.0),
    "toe_out": (8.0, 8.0),
    "feet_m": (0.18, 0.09),
    "pelvis_pitch": (0.0, 4.0),
    "pelvis_roll": (0.0, 1.5),
    "spine_pitch": (3.0, 5.0),
    "spine_roll": (0.0, 3.0),
    "spine_yaw": (0.0, 4.0),
    "head_pitch": (4.0, 10.0),
    "head_yaw": (0.0, 10.0),
}
COMMON_SHARE = 0.5  # of a limb's deviation from the centre that left and right have in common
SWAY_DEG, SWAY_S = 0.8, 2.7
X, Y, Z = np.eye(3)
# The hinge of the elbow as motion capture has it: from level arms it bends forward and a little up.
ELBOW_AXIS = np.array([0.0, -0.86, 0.5])
STANDING_CLIPS, STANDING_S = 10, 5.0
LOWERING_S = (0.5, 0.8, 1.3, 2.2, 3.5)
HOLD_S = 0.7


def compute_median_skeleton(skeletons: Sequence[Skeleton]) -> Skeleton:
    """Return the median body, left and right averaged."""
    mirror = [JOINT_INDEX[mirror_joint_name(name)] for name in JOINT_INDEX]
    flip = np.array([-1.0, 1.0, 1.0])

    def middle(arrays: list[Floats]) -> Floats:
        median = np.median(np.array(arrays), axis=0)
        return np.ascontiguousarray((median + median[mirror] * flip) / 2)

    return Skeleton("median", middle([s.offsets_m for s in skeletons]), middle([s.tails_m for s in skeletons]))


def make_tpose_clips(skeleton: Skeleton, fps: float, seed: int = 0) -> Iterator[Clip]:
    """Return standing T-poses, arms lowered at several speeds by the side and by the front, and the same backwards.

    Args:
        skeleton: of the performer.
        fps: of the clips.
        seed: of their natural variations, so that a database is the same each time.
    """
    rng = np.random.default_rng(seed)
    for k in range(STANDING_CLIPS):
        body = _draw_values(rng, BODY)
        stances = [_draw_stance(rng, T_POSE, body, 0.25) for _ in range(round(STANDING_S) + 1)]
        n = len(stances) - 1
        yield _build_clip(f"generated_tpose_{k + 1}", skeleton, fps, stances, [STANDING_S / n] * n, rng)
    for way in ("side", "front"):
        for seconds in LOWERING_S:
            body = _draw_values(rng, BODY)
            t_pose, down = _draw_stance(rng, T_POSE, body, 0.0), _draw_stance(rng, ARMS_DOWN, body, 0.0)
            between = [_draw_stance(rng, ARMS_FRONT, body, 0.0)] if way == "front" else []
            times = [HOLD_S, *[seconds / (len(between) + 1)] * (len(between) + 1), HOLD_S]
            lowering = [t_pose, t_pose, *between, down, down]
            yield _build_clip(f"generated_lower_{way}_{seconds:g}s", skeleton, fps, lowering, times, rng)
            yield _build_clip(f"generated_raise_{way}_{seconds:g}s", skeleton, fps, lowering[::-1], times[::-1], rng)


def _draw_values(rng: np.random.Generator, ranges: dict[str, tuple[float, float]]) -> dict[str, float]:
    """Return a random value of each range, of a limb's for left and right."""
    drawn: dict[str, float] = {}
    for name, (middle, spread) in ranges.items():
        common, left, right = rng.uniform(-spread, spread, 3)
        if name in STANCE:
            drawn[name] = middle + common
        else:
            for side, own in (("left", left), ("right", right)):
                drawn[f"{side}_{name}"] = middle + COMMON_SHARE * common + (1 - COMMON_SHARE) * own
    return drawn


def _draw_stance(rng: np.random.Generator, arms: dict[str, tuple[float, float]], body: dict[str, float], drift: float) -> Floats:
    """Return a stance vector: random arms, and the body as given with a small drift of trunk and head."""
    values = {**body, **_draw_values(rng, arms)}
    for name in ("spine_pitch", "spine_roll", "spine_yaw", "head_pitch", "head_yaw"):
        values[name] += drift * rng.uniform(-BODY[name][1], BODY[name][1])
    return np.array([values[name] for name in STANCE])


def _build_clip(
    name: str, skeleton: Skeleton, fps: float, stances: list[Floats], times_s: list[float], rng: np.random.Generator
) -> Clip:
    """Return a clip that goes from stance to stance in `times_s` each."""
    knots = np.concatenate([[0.0], np.cumsum(times_s)])
    t = np.arange(int(knots[-1] * fps) + 1) / fps
    segment = np.clip(np.searchsorted(knots, t, side="right") - 1, 0, len(times_s) - 1)
    u = (t - knots[segment]) / np.array(times_s)[segment]
    share = (u**3 * (10.0 - 15.0 * u + 6.0 * u**2))[:, None]
    path = np.array(stances)
    values = path[segment] + share * (path[segment + 1] - path[segment])
    phase, period = rng.uniform(0, 2 * np.pi, len(STANCE)), SWAY_S * rng.uniform(0.7, 1.4, len(STANCE))
    still = np.array([key == "feet_m" or key.endswith("toe_out") for key in STANCE])
    values += np.where(still, 0.0, SWAY_DEG) * np.sin(2 * np.pi * t[:, None] / period + phase)
    local = _compute_local_rotations({key: values[:, k] for k, key in enumerate(STANCE)}, skeleton)
    return clip_from_local(name, skeleton, fps, local, _compute_hip_positions(skeleton, local))


def _rotation_about_axis(axis: Floats, degrees: Floats) -> Floats:
    """Return rotations about an axis, (N, 3, 3)."""
    return rotation_about(axis, np.deg2rad(degrees))


def _compute_local_rotations(stance: dict[str, Floats], skeleton: Skeleton) -> Floats:
    """Return rotations relative to the parent, (N, J, 3, 3), of stances with values (N,)."""
    n = len(stance["feet_m"])
    local = np.tile(np.eye(3), (n, N_JOINTS, 1, 1))
    pelvis = _rotation_about_axis(X, stance["pelvis_pitch"]) @ _rotation_about_axis(Z, stance["pelvis_roll"])
    local[:, 0] = pelvis
    third = _rotation_about_axis(Y, stance["spine_yaw"] / 3) @ _rotation_about_axis(X, stance["spine_pitch"] / 3)
    third = third @ _rotation_about_axis(Z, stance["spine_roll"] / 3)
    for joint in ("spine", "chest", "upperChest"):
        local[:, JOINT_INDEX[joint]] = third
    head = _rotation_about_axis(Y, stance["head_yaw"] / 3) @ _rotation_about_axis(X, stance["head_pitch"] / 3)
    for joint in ("neck", "upperNeck", "head"):
        local[:, JOINT_INDEX[joint]] = head
    for side, sign in (("left", 1.0), ("right", -1.0)):
        _write_arm(local, stance, side, sign)
        _write_leg(local, stance, side, sign, pelvis, skeleton)
    return local


def _write_arm(local: Floats, stance: dict[str, Floats], side: str, sign: float) -> None:
    """Write one arm: the upper arm by the smallest rotation from level to its direction, then about itself."""
    mirror = np.array([1.0, sign, sign])
    elevation, front = np.deg2rad(stance[f"{side}_elevation"]), np.deg2rad(stance[f"{side}_front"])
    # d: direction of a left arm. The smallest rotation from +x to d is about x cross d.
    d = np.stack([np.cos(elevation) * np.cos(front), np.sin(elevation), np.cos(elevation) * np.sin(front)], axis=1)
    axis = np.cross([1.0, 0.0, 0.0], d)
    sine = np.linalg.norm(axis, axis=1, keepdims=True)
    swing = axis * np.where(sine < 1e-9, 1.0, np.arctan2(sine, d[:, :1]) / np.maximum(sine, 1e-9))
    upper = matrix_from_rotvec(swing * mirror) @ _rotation_about_axis(X, stance[f"{side}_twist"])
    local[:, JOINT_INDEX[f"{side}UpperArm"]] = upper
    local[:, JOINT_INDEX[f"{side}LowerArm"]] = _rotation_about_axis(ELBOW_AXIS * mirror, stance[f"{side}_elbow"])
    local[:, JOINT_INDEX[f"{side}Hand"]] = _rotation_about_axis(X, stance[f"{side}_palm"])


def _write_leg(local: Floats, stance: dict[str, Floats], side: str, sign: float, pelvis: Floats, skeleton: Skeleton) -> None:
    """Write one leg so that the ankles are `feet_m` apart and the sole is level."""
    hip = skeleton.offsets_m[JOINT_INDEX[f"{side}UpperLeg"]]
    length = sum(float(np.linalg.norm(skeleton.offsets_m[JOINT_INDEX[side + part]])) for part in ("LowerLeg", "Foot"))
    spread = np.rad2deg(np.arcsin(np.clip((stance["feet_m"] / 2 - abs(hip[0])) / length, -0.5, 0.5)))
    knee = stance[f"{side}_knee"]
    world = _rotation_about_axis(Z, sign * spread) @ _rotation_about_axis(Y, sign * stance[f"{side}_toe_out"])
    upper = world @ _rotation_about_axis(X, -knee / 2)
    local[:, JOINT_INDEX[f"{side}UpperLeg"]] = np.swapaxes(pelvis, 1, 2) @ upper
    local[:, JOINT_INDEX[f"{side}LowerLeg"]] = _rotation_about_axis(X, knee)
    sole = _rotation_about_axis(Y, sign * stance[f"{side}_toe_out"])
    local[:, JOINT_INDEX[f"{side}Foot"]] = np.swapaxes(upper @ _rotation_about_axis(X, knee), 1, 2) @ sole


def _compute_hip_positions(skeleton: Skeleton, local: Floats) -> Floats:
    """Return hip positions, (N, 3) [m], with the middle of the ankles over the origin and the lowest toe on the floor."""
    clip = clip_from_local("", skeleton, 1.0, local, np.zeros((len(local), 3)))
    G, p = compute_forward_kinematics(skeleton, clip.rotvec, clip.root_m)
    feet, toes = ([JOINT_INDEX[side + part] for side in ("left", "right")] for part in ("Foot", "Toes"))
    ankles = p[:, feet].mean(axis=1)
    tips = p[:, toes] + np.einsum("nfij,fj->nfi", G[:, toes], skeleton.tails_m[toes])
    lowest = np.minimum(p[:, toes, 1].min(axis=1), tips[..., 1].min(axis=1))
    return np.stack([-ankles[:, 0], -lowest, -ankles[:, 2]], axis=1)
