"""From a plan to a clip: feet first, the pelvis above them, legs by inverse kinematics, trunk and arms last."""

from dataclasses import dataclass
from itertools import accumulate
from typing import Final

import numpy as np
from numpy.typing import NDArray

from config.arrays import Floats
from config.joints import JOINT_INDEX, N_JOINTS
from database.builtin.limbs import X, Y, Z, rotate_vectors, solve_two_bones, write_arm_rotations
from database.builtin.plan import GRAVITY, SIDES, TRUNK, MotionPlan, interpolate_hermite, make_slow_noise
from database.clips import Clip, clip_from_local
from database.geometry.rotations import rotation_about
from database.geometry.skeleton import Skeleton

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
    """One foot over time: ankle_m (N, 3), orientation (N, 3, 3), toe bend (N,) [rad], planted (N,), pose2d (N, 3).

    free: 0 on the ground, 1 in the middle of a swing, (N,).
    """

    ankle_m: Floats
    orientation: Floats
    toe_rad: Floats
    planted: NDArray[np.bool_]
    free: Floats
    pose2d: Floats


def render_plan(plan: MotionPlan, name: str, fps: float, seconds: float | None = None) -> Clip:
    """Return a plan as a clip.

    Args:
        plan: the plan.
        name: of the clip.
        fps: frames a second.
        seconds: duration; None: up to the plan's end.
    """
    t = np.arange(max(round((plan.time if seconds is None else seconds) * fps), 1)) / fps
    trunk = {channel: plan.tracks[channel].sample(t) for channel in TRUNK}
    for channel, size in SWAY.items():
        trunk[channel] = trunk[channel] + size * plan.style.noise * make_slow_noise(channel, plan.seed, t)
    feet = {side: compute_foot_path(plan, side, t) for side in SIDES}
    heading = _blur_over_time((feet["left"].pose2d[:, 2] + feet["right"].pose2d[:, 2]) / 2.0, 0.12, fps)
    stride = _couple_gait(plan, trunk, feet, heading, fps)
    pelvis = _share_rotation(heading + trunk["pelvis_yaw"], trunk["pelvis_pitch"], trunk["pelvis_roll"], 1.0)
    root = _compute_root_path(plan, trunk, feet, heading, pelvis, t, fps)
    local = np.broadcast_to(np.eye(3), (len(t), N_JOINTS, 3, 3)).copy()
    local[:, 0] = pelvis
    for side in SIDES:
        _write_leg(local, plan.skeleton, side, feet[side], root, pelvis, heading)
        write_arm_rotations(local, plan, side, stride, trunk, t)
    _write_trunk(local, trunk, heading, fps)
    return clip_from_local(name, plan.skeleton, fps, local, root)


def compute_foot_path(plan: MotionPlan, side: str, t: Floats) -> FootPath:
    """Return a foot's path.

    It rolls over the ball when its heel is up, over the heel when its toes are up.

    Args:
        plan: the plan.
        side: `left` or `right`.
        t: times, (N,) [s].
    """
    foot, skeleton = plan.feet[side], plan.skeleton
    ankle_height = _compute_sole_height_m(skeleton)
    ball = skeleton.offsets_m[JOINT_INDEX[f"{side}Toes"]]
    heel = np.array((0.0, -ankle_height, -0.6 * float(ball[2])))
    pose2d = np.stack([foot.x.sample(t), foot.z.sample(t), foot.yaw.sample(t)], axis=-1)
    pitch = foot.pitch.sample(t)
    lift = foot.lift.sample(t) + sum((interpolate_hermite(keys, t) for keys in foot.flights), np.zeros(len(t)))
    yaw = rotation_about(Y, pose2d[:, 2])
    orientation = yaw @ rotation_about(X, pitch)
    pivot = np.where(pitch[:, None] > 0.0, ball, heel)
    ankle = (
        np.stack([pose2d[:, 0], lift + ankle_height, pose2d[:, 1]], axis=-1)
        + rotate_vectors(yaw, pivot)
        - rotate_vectors(orientation, pivot)
    )
    planted, free = np.ones(len(t), bool), np.zeros(len(t))
    for start, end in foot.swings:
        inside = (t > start) & (t < end)
        planted &= ~inside
        phase = (t - start) / (end - start)
        free = np.maximum(free, np.where(inside, np.sin(np.pi * phase) ** 2, 0.0))
    # The toes are flat on the ground and straighten as the ball rises, slowly enough for their tip to stay above ground.
    grip = np.clip(1.0 - np.maximum(lift, 0.0) / (2.0 * np.linalg.norm(skeleton.tails_m[JOINT_INDEX[f"{side}Toes"]])), 0.0, 1.0)
    return FootPath(ankle, orientation, -np.maximum(pitch, 0.0) * grip, planted, free, pose2d)


def _compute_sole_height_m(skeleton: Skeleton) -> float:
    """Return the height of the ankles above the floor in the rest pose [m]."""
    rest = skeleton.rest_positions_m()
    return float(rest[JOINT_INDEX["leftFoot"], 1] - (rest + skeleton.tails_m)[:, 1].min())


def _blur_over_time(value: Floats, seconds: float, fps: float) -> Floats:
    """Blur along time with a Gaussian of deviation `seconds`."""
    from scipy.ndimage import gaussian_filter1d

    return np.asarray(gaussian_filter1d(value, seconds * fps, axis=0, mode="nearest"))


def _couple_gait(plan: MotionPlan, trunk: dict[str, Floats], feet: dict[str, FootPath], heading: Floats, fps: float) -> Floats:
    """Make pelvis and trunk follow the feet; return how far the right foot is ahead of the left, in leg lengths, (N,)."""
    apart = feet["right"].pose2d - feet["left"].pose2d
    ahead = apart[:, 0] * np.sin(heading) + apart[:, 1] * np.cos(heading)
    stride = trunk["gait"] * _blur_over_time(ahead / plan.leg_m, 0.06, fps)
    on_right = _blur_over_time(feet["right"].planted.astype(float) - feet["left"].planted, 0.08, fps)
    trunk["pelvis_yaw"] = trunk["pelvis_yaw"] + 0.11 * stride
    trunk["spine_yaw"] = trunk["spine_yaw"] - 0.22 * stride * (0.6 + 0.4 * plan.style.arm_swing)
    trunk["pelvis_roll"] = trunk["pelvis_roll"] - 0.06 * trunk["gait"] * on_right
    trunk["spine_roll"] = trunk["spine_roll"] + 0.075 * trunk["gait"] * on_right
    return stride


def _compute_root_path(
    plan: MotionPlan, trunk: dict[str, Floats], feet: dict[str, FootPath], heading: Floats, pelvis: Floats, t: Floats, fps: float
) -> Floats:
    """Return the pelvis's positions: over the supporting feet, as high as the planted legs allow, plus leaps, (N, 3) [m]."""
    ground = _compute_ground_path(plan, feet, fps)
    sine, cosine = np.sin(heading), np.cos(heading)
    ahead, aside = trunk["ahead"] * plan.leg_m, trunk["aside"] * plan.leg_m
    x = ground[:, 0] + ahead * sine + aside * cosine
    z = ground[:, 1] + ahead * cosine - aside * sine
    hop = _blur_over_time(sum((interpolate_hermite(keys, t) for keys in plan.hops), np.zeros(len(t))), 0.015, fps)
    rest = plan.skeleton.rest_positions_m()
    hip = rest[JOINT_INDEX["leftUpperLeg"]]
    standing = _compute_sole_height_m(plan.skeleton) + REACH * plan.leg_m - hip[1] - trunk["drop"] * plan.leg_m
    ceiling = np.full(len(t), np.inf)
    for side in SIDES:
        arm = rotate_vectors(pelvis, plan.skeleton.offsets_m[JOINT_INDEX[f"{side}UpperLeg"]])
        foot = feet[side]
        across2 = (x + arm[:, 0] - foot.ankle_m[:, 0]) ** 2 + (z + arm[:, 2] - foot.ankle_m[:, 2]) ** 2
        reach = np.sqrt(np.maximum((REACH * plan.leg_m) ** 2 - across2, (0.3 * plan.leg_m) ** 2))
        limit = foot.ankle_m[:, 1] + reach - arm[:, 1]
        ceiling = np.minimum(ceiling, limit + 0.15 * plan.leg_m * foot.free)
    height = _limit_height(standing + hop, ceiling, fps)
    return np.stack([x, height, z], axis=-1)


def _limit_height(height: Floats, ceiling: Floats, fps: float) -> Floats:
    """Return a smooth height below a ceiling: the excess is widened in time, blurred and subtracted."""
    for spread_s, blur_s in ((0.06, 0.04), (0.04, 0.02)):  # the second pass catches what the first blur let through
        spread = round(spread_s * fps)
        excess = np.pad(np.maximum(height - ceiling, 0.0), spread, mode="edge")
        widest = np.max(np.lib.stride_tricks.sliding_window_view(excess, 2 * spread + 1), axis=-1)
        height = height - _blur_over_time(widest, blur_s, fps)
    return height


def _compute_ground_path(plan: MotionPlan, feet: dict[str, FootPath], fps: float) -> Floats:
    """Return the body's x and z, (N, 2) [m]: the bounded motion of a cart on a table (Kajita et al. 2003, eq. 2).

    x - (h / g) x'' = support point; its solution is the support blurred by exp(-w |t|) w / 2 with w^2 = g / h.
    """
    points, weights = [], []
    for side in SIDES:
        foot = feet[side]
        forward = 0.25 * float(plan.skeleton.offsets_m[JOINT_INDEX[f"{side}Toes"], 2])
        yaw = foot.pose2d[:, 2]
        points.append(foot.pose2d[:, :2] + forward * np.stack([np.sin(yaw), np.cos(yaw)], axis=-1))
        weights.append(foot.planted + 1e-3)
    weight = np.stack(weights)[..., None]
    support = (weight * np.stack(points)).sum(axis=0) / weight.sum(axis=0)
    decay = float(np.exp(-np.sqrt(GRAVITY / (1.1 * plan.leg_m)) / fps))
    pad = int(3 * fps)
    padded = np.pad(support, ((pad, pad), (0, 0)), mode="edge")
    for _ in range(2):  # forward, then backward in time
        origin = padded[:1].copy()
        padded = (_filter_low_pass(padded - origin, decay) + origin)[::-1]
    return _blur_over_time(padded[pad:-pad], 0.04, fps)


def _filter_low_pass(x: Floats, decay: float) -> Floats:
    """Return y_n = decay y_(n-1) + (1 - decay) x_n of columns that begin with 0, (N, K); scipy.signal is slow to import."""
    columns = [list(accumulate(column, lambda y, v: (1.0 - decay) * v + decay * y)) for column in x.T.tolist()]
    return np.array(columns).T


def _write_leg(
    local: Floats, skeleton: Skeleton, side: str, foot: FootPath, root: Floats, pelvis: Floats, heading: Floats
) -> None:
    """Write one leg's rotations so that the ankle is at its position on the foot's path."""
    upper, lower, ankle, toes = (JOINT_INDEX[side + part] for part in ("UpperLeg", "LowerLeg", "Foot", "Toes"))
    hip = root + rotate_vectors(pelvis, skeleton.offsets_m[upper])
    inverse = np.swapaxes(pelvis, -1, -2)
    lateral = rotate_vectors(inverse, rotate_vectors(rotation_about(Y, 0.5 * (heading + foot.pose2d[:, 2])), X))
    target = rotate_vectors(inverse, _limit_reach(foot, foot.ankle_m - hip, skeleton, side))
    local[:, upper], local[:, lower] = solve_two_bones(
        skeleton.offsets_m[lower], skeleton.offsets_m[ankle], X, target, np.cross(target, lateral)
    )
    shank = pelvis @ local[:, upper] @ local[:, lower]
    local[:, ankle] = np.swapaxes(shank, -1, -2) @ foot.orientation
    local[:, toes] = rotation_about(X, foot.toe_rad)


def _limit_reach(foot: FootPath, away: Floats, skeleton: Skeleton, side: str) -> Floats:
    """Return the ankle from the hip with a swinging foot drawn in where the leg is too short, smoothly, (N, 3) [m]."""
    leg = sum(float(np.linalg.norm(skeleton.offsets_m[JOINT_INDEX[side + part]])) for part in ("LowerLeg", "Foot"))
    distance = np.linalg.norm(away, axis=-1)
    longest, soft = SWING_REACH * leg, 0.012 * leg
    near = longest - soft * np.logaddexp(0.0, (longest - distance) / soft)
    share = np.minimum(8.0 * foot.free, 1.0)
    return np.asarray(away * (1.0 + share * (near / distance - 1.0))[:, None])


def _write_trunk(local: Floats, trunk: dict[str, Floats], heading: Floats, fps: float) -> None:
    """Write spine and neck; the head stays level and turns ahead of the body."""
    ahead = round(0.35 * fps)
    coming = np.pad(heading, (0, ahead), mode="edge")[ahead:] - heading
    look = _blur_over_time(np.clip(0.7 * coming, -0.6, 0.6), 0.1, fps)
    for joint, share in SPINE_SHARE.items():
        local[:, JOINT_INDEX[joint]] = _share_rotation(trunk["spine_yaw"], trunk["spine_pitch"], trunk["spine_roll"], share)
    yaw = look + trunk["head_yaw"] - 0.8 * (trunk["pelvis_yaw"] + trunk["spine_yaw"])
    pitch = trunk["head_pitch"] - 0.75 * (trunk["pelvis_pitch"] + trunk["spine_pitch"])
    roll = trunk["head_roll"] - 0.8 * (trunk["pelvis_roll"] + trunk["spine_roll"])
    for joint, share in NECK_SHARE.items():
        local[:, JOINT_INDEX[joint]] = _share_rotation(yaw, pitch, roll, share)


def _share_rotation(yaw: Floats, pitch: Floats, roll: Floats, share: float) -> Floats:
    """Return a share of the rotation by yaw, pitch and roll, (N, 3, 3)."""
    return rotation_about(Y, share * yaw) @ rotation_about(X, share * pitch) @ rotation_about(Z, share * roll)
