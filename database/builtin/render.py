"""From a score to a clip: feet first, the pelvis above them, legs by inverse kinematics, trunk and arms last."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d
from scipy.signal import lfilter

from config.joints import JOINT_INDEX, N_JOINTS
from database.builtin.arms import arm_rotations
from database.builtin.limbs import turn, turned, two_bone
from database.builtin.score import GRAVITY, SIDES, TRUNK, Score
from database.builtin.tracks import hermite_track, slow_noise
from database.clips import Clip, clip_from_local
from database.rotations import Floats
from database.skeleton import Skeleton

REACH: Final = 0.997  # share of the leg a planted foot may need: a bend of 9 degrees is left in the knee
SWING_REACH: Final = 0.99  # share of the leg to which a swinging foot is drawn in
SWAY: Final = {
    **{"ahead": 0.004, "aside": 0.006, "pelvis_yaw": 0.012, "pelvis_pitch": 0.01, "pelvis_roll": 0.006},
    **{"spine_yaw": 0.015, "spine_pitch": 0.015, "spine_roll": 0.01, "head_yaw": 0.04, "head_pitch": 0.025, "head_roll": 0.015},
}
SPINE_SHARE: Final = {"spine": 0.35, "chest": 0.35, "upperChest": 0.3}
NECK_SHARE: Final = {"neck": 0.3, "upperNeck": 0.3, "head": 0.4}


@dataclass(frozen=True, slots=True)
class FootPath:
    """One foot over time: ankle_m (N, 3), orientation (N, 3, 3), toe bend (N,) [rad], planted (N,), place (N, 3).

    free: 0 on the ground, 1 in the middle of a swing, (N,); place: x, z below the ankle [m] and yaw [rad].
    """

    ankle_m: Floats
    orientation: Floats
    toe_rad: Floats
    planted: NDArray[np.bool_]
    free: Floats
    place: Floats


def render(score: Score, name: str, fps: float, seconds: float | None = None) -> Clip:
    """Perform a score at `fps` frames a second, up to its end or for `seconds`."""
    t = np.arange(max(round((score.time if seconds is None else seconds) * fps), 1)) / fps
    trunk = {channel: score.tracks[channel].sample(t) for channel in TRUNK}
    for channel, size in SWAY.items():
        trunk[channel] = trunk[channel] + size * score.style.noise * slow_noise(channel, score.seed, t)
    feet = {side: foot_path(score, side, t) for side in SIDES}
    heading = _smooth((feet["left"].place[:, 2] + feet["right"].place[:, 2]) / 2.0, 0.12, fps)
    stride = _couple_gait(score, trunk, feet, heading, fps)
    pelvis = turn("y", heading + trunk["pelvis_yaw"]) @ turn("x", trunk["pelvis_pitch"]) @ turn("z", trunk["pelvis_roll"])
    root = _root(score, trunk, feet, heading, pelvis, t, fps)
    local = np.broadcast_to(np.eye(3), (len(t), N_JOINTS, 3, 3)).copy()
    local[:, 0] = pelvis
    for side in SIDES:
        _write_leg(local, score.skeleton, side, feet[side], root, pelvis, heading)
        arm_rotations(local, score, side, stride, trunk, t)
    _write_trunk(local, trunk, heading, fps)
    return clip_from_local(name, score.skeleton, fps, local, root)


def foot_path(score: Score, side: str, t: Floats) -> FootPath:
    """Give a foot's path: it rolls over the ball when its heel is up, over the heel when its toes are."""
    foot, skeleton = score.feet[side], score.skeleton
    ankle_height = _sole_m(skeleton)
    ball = skeleton.offsets_m[JOINT_INDEX[f"{side}Toes"]]
    heel = np.array((0.0, -ankle_height, -0.6 * float(ball[2])))
    place = np.stack([foot.x.sample(t), foot.z.sample(t), foot.yaw.sample(t)], axis=-1)
    pitch = foot.pitch.sample(t)
    lift = foot.lift.sample(t) + sum((hermite_track(keys, t) for keys in foot.flights), np.zeros(len(t)))
    yaw = turn("y", place[:, 2])
    orientation = yaw @ turn("x", pitch)
    pivot = np.where(pitch[:, None] > 0.0, ball, heel)
    ankle = np.stack([place[:, 0], lift + ankle_height, place[:, 1]], axis=-1) + turned(yaw, pivot) - turned(orientation, pivot)
    planted, free = np.ones(len(t), bool), np.zeros(len(t))
    for start, end in foot.swings:
        inside = (t > start) & (t < end)
        planted &= ~inside
        phase = (t - start) / (end - start)
        free = np.maximum(free, np.where(inside, np.sin(np.pi * phase) ** 2, 0.0))
    # The toes lie flat on the ground and straighten as the ball rises, slowly enough for their tip to stay above it.
    grip = np.clip(1.0 - np.maximum(lift, 0.0) / (2.0 * np.linalg.norm(skeleton.tails_m[JOINT_INDEX[f"{side}Toes"]])), 0.0, 1.0)
    return FootPath(ankle, orientation, -np.maximum(pitch, 0.0) * grip, planted, free, place)


def _sole_m(skeleton: Skeleton) -> float:
    """Give the height of the ankles above the floor in the rest pose [m]."""
    rest = skeleton.rest_positions_m()
    return float(rest[JOINT_INDEX["leftFoot"], 1] - (rest + skeleton.tails_m)[:, 1].min())


def _smooth(value: Floats, seconds: float, fps: float) -> Floats:
    """Blur along time with a Gaussian of deviation `seconds`."""
    return np.asarray(gaussian_filter1d(value, seconds * fps, axis=0, mode="nearest"))


def _couple_gait(score: Score, trunk: dict[str, Floats], feet: dict[str, FootPath], heading: Floats, fps: float) -> Floats:
    """Let pelvis and trunk follow the feet; give how far the right foot is ahead of the left, in leg lengths, (N,)."""
    apart = feet["right"].place - feet["left"].place
    ahead = apart[:, 0] * np.sin(heading) + apart[:, 1] * np.cos(heading)
    stride = trunk["gait"] * _smooth(ahead / score.leg_m, 0.06, fps)
    on_right = _smooth(feet["right"].planted.astype(float) - feet["left"].planted, 0.08, fps)
    trunk["pelvis_yaw"] = trunk["pelvis_yaw"] + 0.11 * stride
    trunk["spine_yaw"] = trunk["spine_yaw"] - 0.22 * stride * (0.6 + 0.4 * score.style.arm_swing)
    trunk["pelvis_roll"] = trunk["pelvis_roll"] - 0.06 * trunk["gait"] * on_right
    trunk["spine_roll"] = trunk["spine_roll"] + 0.075 * trunk["gait"] * on_right
    return stride


def _root(
    score: Score, trunk: dict[str, Floats], feet: dict[str, FootPath], heading: Floats, pelvis: Floats, t: Floats, fps: float
) -> Floats:
    """Give the pelvis: carried over the supporting feet, as high as the planted legs allow, plus leaps, (N, 3) [m]."""
    ground = _carried(score, feet, fps)
    sine, cosine = np.sin(heading), np.cos(heading)
    ahead, aside = trunk["ahead"] * score.leg_m, trunk["aside"] * score.leg_m
    x = ground[:, 0] + ahead * sine + aside * cosine
    z = ground[:, 1] + ahead * cosine - aside * sine
    hop = _smooth(sum((hermite_track(keys, t) for keys in score.hops), np.zeros(len(t))), 0.015, fps)
    rest = score.skeleton.rest_positions_m()
    hip = rest[JOINT_INDEX["leftUpperLeg"]]
    standing = _sole_m(score.skeleton) + REACH * score.leg_m - hip[1] - trunk["drop"] * score.leg_m
    ceiling = np.full(len(t), np.inf)
    for side in SIDES:
        arm = turned(pelvis, score.skeleton.offsets_m[JOINT_INDEX[f"{side}UpperLeg"]])
        foot = feet[side]
        across2 = (x + arm[:, 0] - foot.ankle_m[:, 0]) ** 2 + (z + arm[:, 2] - foot.ankle_m[:, 2]) ** 2
        reach = np.sqrt(np.maximum((REACH * score.leg_m) ** 2 - across2, (0.3 * score.leg_m) ** 2))
        limit = foot.ankle_m[:, 1] + reach - arm[:, 1]
        ceiling = np.minimum(ceiling, limit + 0.15 * score.leg_m * foot.free)
    height = _below(standing + hop, ceiling, fps)
    return np.stack([x, height, z], axis=-1)


def _below(wish: Floats, ceiling: Floats, fps: float) -> Floats:
    """Give a smooth height that follows `wish` under a ceiling: what is missing is blurred after it was widened in time."""
    height = wish
    for spread_s, blur_s in ((0.06, 0.04), (0.04, 0.02)):  # the second pass catches what the first blur let through
        spread = round(spread_s * fps)
        missing = np.pad(np.maximum(height - ceiling, 0.0), spread, mode="edge")
        widest = np.max(np.lib.stride_tricks.sliding_window_view(missing, 2 * spread + 1), axis=-1)
        height = height - _smooth(widest, blur_s, fps)
    return np.asarray(height)


def _carried(score: Score, feet: dict[str, FootPath], fps: float) -> Floats:
    """Give where the body is over the ground, (N, 2) [m]: the bounded motion of a cart on a table (Kajita et al. 2003, eq. 2).

    x - (h / g) x'' = support point; its solution is the support blurred by exp(-w |t|) w / 2 with w^2 = g / h.
    """
    points, weights = [], []
    for side in SIDES:
        foot = feet[side]
        forward = 0.25 * float(score.skeleton.offsets_m[JOINT_INDEX[f"{side}Toes"], 2])
        yaw = foot.place[:, 2]
        points.append(foot.place[:, :2] + forward * np.stack([np.sin(yaw), np.cos(yaw)], axis=-1))
        weights.append(foot.planted + 1e-3)
    weight = np.stack(weights)[..., None]
    support = (weight * np.stack(points)).sum(axis=0) / weight.sum(axis=0)
    decay = float(np.exp(-np.sqrt(GRAVITY / (1.1 * score.leg_m)) / fps))
    pad = int(3 * fps)
    padded = np.pad(support, ((pad, pad), (0, 0)), mode="edge")
    for _ in range(2):  # forward, then backward in time
        origin = padded[:1].copy()
        padded = (lfilter([1.0 - decay], [1.0, -decay], padded - origin, axis=0) + origin)[::-1]
    return _smooth(padded[pad:-pad], 0.04, fps)


def _write_leg(
    local: Floats, skeleton: Skeleton, side: str, foot: FootPath, root: Floats, pelvis: Floats, heading: Floats
) -> None:
    """Write one leg's rotations so that the ankle is where the foot wants it."""
    upper, lower, ankle, toes = (JOINT_INDEX[side + part] for part in ("UpperLeg", "LowerLeg", "Foot", "Toes"))
    hip = root + turned(pelvis, skeleton.offsets_m[upper])
    inverse = np.swapaxes(pelvis, -1, -2)
    lateral = turned(inverse, turned(turn("y", 0.5 * (heading + foot.place[:, 2])), np.array((1.0, 0.0, 0.0))))
    target = turned(inverse, _drawn_in(foot, foot.ankle_m - hip, skeleton, side))
    hinge = np.array((1.0, 0.0, 0.0))
    local[:, upper], local[:, lower] = two_bone(
        skeleton.offsets_m[lower], skeleton.offsets_m[ankle], hinge, target, np.cross(target, lateral)
    )
    shank = pelvis @ local[:, upper] @ local[:, lower]
    local[:, ankle] = np.swapaxes(shank, -1, -2) @ foot.orientation
    local[:, toes] = turn("x", foot.toe_rad)


def _drawn_in(foot: FootPath, away: Floats, skeleton: Skeleton, side: str) -> Floats:
    """Draw a swinging foot in where the leg would be too short, softly, so that the knee never snaps straight, (N, 3) [m]."""
    leg = sum(float(np.linalg.norm(skeleton.offsets_m[JOINT_INDEX[side + part]])) for part in ("LowerLeg", "Foot"))
    distance = np.linalg.norm(away, axis=-1)
    most, soft = SWING_REACH * leg, 0.012 * leg
    near = most - soft * np.logaddexp(0.0, (most - distance) / soft)
    share = np.minimum(8.0 * foot.free, 1.0)
    return np.asarray(away * (1.0 + share * (near / distance - 1.0))[:, None])


def _write_trunk(local: Floats, trunk: dict[str, Floats], heading: Floats, fps: float) -> None:
    """Write spine and neck; the head stays level and looks where the body is about to turn."""
    ahead = round(0.35 * fps)
    coming = np.pad(heading, (0, ahead), mode="edge")[ahead:] - heading
    look = _smooth(np.clip(0.7 * coming, -0.6, 0.6), 0.1, fps)
    for joint, share in SPINE_SHARE.items():
        local[:, JOINT_INDEX[joint]] = _bent(trunk["spine_yaw"], trunk["spine_pitch"], trunk["spine_roll"], share)
    yaw = look + trunk["head_yaw"] - 0.8 * (trunk["pelvis_yaw"] + trunk["spine_yaw"])
    pitch = trunk["head_pitch"] - 0.75 * (trunk["pelvis_pitch"] + trunk["spine_pitch"])
    roll = trunk["head_roll"] - 0.8 * (trunk["pelvis_roll"] + trunk["spine_roll"])
    for joint, share in NECK_SHARE.items():
        local[:, JOINT_INDEX[joint]] = _bent(yaw, pitch, roll, share)


def _bent(yaw: Floats, pitch: Floats, roll: Floats, share: float) -> Floats:
    """Give one joint's share of a bend, (N, 3, 3)."""
    return turn("y", share * yaw) @ turn("x", share * pitch) @ turn("z", share * roll)
