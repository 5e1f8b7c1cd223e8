"""The stage: where a motion happens and how it begins.

The stage (scene frame) has Y up, its floor at 0 and the middle of the motion at the origin; the performer faces +Z, where the
cameras stand. A rig that was given keeps its world: the stage is moved in front of it, and all truth is in the rig's world.
"""

import math
from dataclasses import replace

import numpy as np

from calibration.camera import Rig
from calibration.placement import all_in_view
from capture.render_body import Body
from config.errors import CalibrationError
from config.joints import N_JOINTS
from database.clips import Clip
from database.kinematics import charted, forward, local_rotations
from database.rotations import Floats, matrix_from_rotvec, quaternion_from_matrix

BLEND_S = 1.2  # from the T-pose to the motion's first pose
TURN_S_PER_RAD = 0.6  # and this much longer for turning from the cameras to the motion's first heading


def slerped(first: Floats, second: Floats, u: Floats) -> Floats:
    """Give rotation vectors between unit quaternions of one hemisphere: (S, J, 4) xyzw twice, u (S, 1) -> (S, J, 3)."""
    angle = np.arccos(np.clip(np.sum(first * second, axis=-1), -1.0, 1.0))
    small = angle < 1e-4
    sine = np.where(small, 1.0, np.sin(angle))
    a = np.where(small, 1.0 - u, np.sin((1.0 - u) * angle) / sine)[..., None]
    b = np.where(small, u, np.sin(u * angle) / sine)[..., None]
    q = a * first + b * second
    q = np.where(q[..., 3:] < 0.0, -q, q)
    norm = np.linalg.norm(q[..., :3], axis=-1, keepdims=True)
    turn = 2.0 * np.arctan2(norm, q[..., 3:])
    return np.asarray(q[..., :3] * np.where(norm < 1e-9, 2.0, turn / np.where(norm < 1e-9, 1.0, norm)))


def continuous(matrices: Floats) -> Floats:
    """Give quaternions whose neighbours in time lie in one hemisphere, (N, J, 3, 3) -> (N, J, 4)."""
    q = quaternion_from_matrix(matrices)
    flips = np.sum(q[1:] * q[:-1], axis=-1) < 0.0
    sign = np.where(np.concatenate([np.zeros((1, flips.shape[1]), bool), np.cumsum(flips, axis=0) % 2 == 1]), -1.0, 1.0)
    return np.ascontiguousarray(q * sign[..., None])


def moved(clip: Clip, R: Floats, t: Floats) -> Clip:
    """Move a whole clip by x -> R x + t."""
    rotvec = clip.rotvec.copy()
    local = local_rotations(rotvec)[:, 0]
    full = np.broadcast_to(np.eye(3), (len(rotvec), N_JOINTS, 3, 3)).copy()
    full[:, 0] = R @ local
    rotvec[:, 0] = charted(full)[:, 0]
    return replace(clip, rotvec=rotvec, root_m=np.ascontiguousarray(clip.root_m @ R.T + t))


def _yaw(angle_rad: float) -> Floats:
    """Give a turn about +Y, (3, 3)."""
    return matrix_from_rotvec(np.array([0.0, angle_rad, 0.0]))


def _facing_rad(clip: Clip) -> float:
    """Give the mean heading of the hips, from +Z towards +X; the first pose's where the headings cancel out."""
    ahead = local_rotations(clip.rotvec)[:, 0, :, 2]
    mean = ahead.mean(axis=0)
    x, _, z = mean if math.hypot(mean[0], mean[2]) > 0.3 else ahead[0]
    return math.atan2(x, z)


def _lowest(clip: Clip, body: Body) -> Floats:
    """Give the height of the body's lowest point in (at most 200) poses, (S,)."""
    frames = np.unique(np.linspace(0, clip.n_frames - 1, min(clip.n_frames, 200)).astype(np.int64))
    G, p = forward(clip.skeleton, clip.rotvec[frames], clip.root_m[frames])
    lowest = []
    for k in range(len(frames)):
        a, b = body.posed(G[k], p[k])
        lowest.append(min((a[:, 1] - body.radii[:, 0]).min(), (b[:, 1] - body.radii[:, 1]).min()))
    return np.array(lowest)


def on_stage(clip: Clip, body: Body, turn_rad: float) -> Clip:
    """Turn a clip to face +Z on average (and by `turn_rad`), its floor to 0 and its middle to the origin."""
    clip = moved(clip, _yaw(turn_rad - _facing_rad(clip)), np.zeros(3))
    _, p = forward(clip.skeleton, clip.rotvec, clip.root_m)
    middle = 0.5 * (p.min(axis=(0, 1)) + p.max(axis=(0, 1)))
    # Feet sink a little into every captured floor; the second percentile is the floor, jumps do not matter to it.
    floor = float(np.percentile(_lowest(clip, body), 2.0))
    return moved(clip, np.eye(3), np.array([-middle[0], -floor, -middle[2]]))


def with_tpose(clip: Clip, body: Body, tpose_s: float) -> Clip:
    """Put a T-pose of `tpose_s` that faces the cameras, and a smooth change to the first pose, before a clip on the stage."""
    if tpose_s <= 0.0:
        return clip
    pose = charted(np.broadcast_to(np.eye(3), (N_JOINTS, 3, 3)))
    ahead = local_rotations(clip.rotvec[:1])[0, 0, :, 2]
    blend_s = BLEND_S + TURN_S_PER_RAD * abs(math.atan2(ahead[0], ahead[2]))
    standing = replace(clip, rotvec=np.ascontiguousarray(pose[None]), root_m=np.zeros((1, 3)))
    root = np.array([clip.root_m[0, 0], -_lowest(standing, body)[0], clip.root_m[0, 2]])
    hold, blend = round(tpose_s * clip.fps), max(round(blend_s * clip.fps), 1)
    u = np.clip((np.arange(hold + blend) - hold) / blend, 0.0, 1.0)
    u = (u**3 * (10.0 - 15.0 * u + 6.0 * u**2))[:, None]  # no velocity or acceleration at either end
    ends = continuous(matrix_from_rotvec(np.stack([pose, clip.rotvec[0]])))
    first, second = (np.broadcast_to(q, (len(u), *q.shape)) for q in ends)
    rotvec = np.concatenate([slerped(first, second, u), clip.rotvec])
    root_m = np.concatenate([root + u * (clip.root_m[0] - root), clip.root_m])
    return replace(clip, rotvec=np.ascontiguousarray(rotvec), root_m=np.ascontiguousarray(root_m))


def extent(clip: Clip) -> Floats:
    """Give the joints and the ends of the bones over the whole motion, about ten poses a second, (S, 3) [m]."""
    frames = np.arange(0, clip.n_frames, max(round(clip.fps / 10.0), 1))
    G, p = forward(clip.skeleton, clip.rotvec[frames], clip.root_m[frames])
    tips = p + np.einsum("sjab,jb->sja", G, clip.skeleton.tails_m)
    return np.concatenate([p, tips]).reshape(-1, 3)


def stage_before(rig: Rig, points_m: Floats, distance_m: float) -> tuple[Floats, Floats]:
    """Give where the stage stands in the world of a rig that was given: upright in its images, facing it, all in view."""
    up = np.array([0.0, 1.0, 0.0])
    if not rig.floor_known:
        up = -(rig.left.rotation[1] + rig.right.rotation[1])
        up = up / np.linalg.norm(up)
    ahead = rig.left.rotation[2] + rig.right.rotation[2]
    level = ahead - (ahead @ up) * up
    level = level / np.linalg.norm(level)
    R = np.stack([np.cross(up, -level), up, -level], axis=1)
    middle = 0.5 * (rig.left.center_m + rig.right.center_m)
    for candidate in [distance_m] if distance_m > 0 else np.arange(0.5, 25.0, 0.1):
        place = middle + candidate * ahead / np.linalg.norm(ahead)
        place[1] = 0.0 if rig.floor_known else place[1]
        t = place if rig.floor_known else place - 0.9 * up
        if distance_m > 0 or all_in_view(rig, points_m @ R.T + t, 4.0):
            return np.ascontiguousarray(R), t
    raise CalibrationError(
        "the motion does not fit into the view of this rig at any distance; use a part of it (--start, --seconds) or place a rig"
    )
