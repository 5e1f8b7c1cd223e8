"""Two-bone inverse kinematics on whole motions at once, and the arms of a plan."""

from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from config.arrays import Floats
from config.joints import JOINT_INDEX
from database.builtin.plan import ARM, MotionPlan, make_slow_noise
from database.geometry.rotations import matrix_from_rotvec, rotation_about, rotvec_from_matrix

X, Y, Z = np.eye(3)
MAX_REACH = 0.9997  # of a limb, as a share of its length; at 1 the rate of the bend has no bound


def rotate_vectors(rotation: Floats, vector: ArrayLike) -> Floats:
    """Return rotation @ vector: (N, 3, 3) and (3,) or (N, 3) -> (N, 3)."""
    return np.asarray(np.einsum("nij,...j->ni" if np.ndim(vector) == 1 else "nij,nj->ni", rotation, np.asarray(vector, float)))


def normalise_vectors(vector: Floats) -> Floats:
    """Return vectors of length 1: (N, 3) -> (N, 3)."""
    return np.asarray(vector / np.linalg.norm(vector, axis=-1, keepdims=True))


def compute_bend_angle(upper: Floats, lower: Floats, hinge: Floats, distance_m: Floats) -> Floats:
    """Return the hinge angle at which a limb's end is at a distance from its beginning.

    |a + R_k(theta) b|^2 = d^2 with a the upper bone, b the lower, k the hinge: C1 cos + C2 sin = (d^2 - a^2 - b^2) / 2 - C0.

    Args:
        upper, lower, hinge: (3,).
        distance_m: (N,) [m].
    Returns: The angle of positive bend, (N,) [rad], clamped where out of reach.
    """
    c0 = float((upper @ hinge) * (lower @ hinge))
    c1, c2 = float(upper @ lower) - c0, float(upper @ np.cross(hinge, lower))
    radius = np.hypot(c1, c2)
    longest = MAX_REACH * (np.linalg.norm(upper) + np.linalg.norm(lower))
    d = np.minimum(distance_m, longest)
    cosine = ((d * d - upper @ upper - lower @ lower) / 2.0 - c0) / radius
    return np.asarray(np.maximum(np.arctan2(c2, c1) + np.arccos(np.clip(cosine, -0.97, 1.0)), 0.0))


def solve_two_bones(upper: Floats, lower: Floats, hinge: Floats, target: Floats, pole: Floats) -> tuple[Floats, Floats]:
    """Return the rotations of a limb whose end is at `target` and whose middle joint points to `pole`.

    Args:
        upper, lower: bones at rest, (3,) [m].
        hinge: axis of positive bend at rest, (3,).
        target: end from beginning, (N, 3) [m].
        pole: (N, 3); target and pole in the frame of the limb's parent.
    Returns: Upper and lower rotation, (N, 3, 3) each.
    """
    angle = compute_bend_angle(upper, lower, hinge, np.linalg.norm(target, axis=-1))
    bend = matrix_from_rotvec(angle[:, None] * hinge)
    here = normalise_vectors(upper + rotate_vectors(bend, lower))
    there = normalise_vectors(target)
    local = _build_frame(here, np.cross(here, hinge))
    world = _build_frame(there, pole)
    return world @ np.swapaxes(local, -1, -2), bend


def _build_frame(first: Floats, second: Floats) -> Floats:
    """Return the frame of `first` (unit) and the part of `second` across it as columns: (N, 3) twice -> (N, 3, 3)."""
    across = normalise_vectors(second - np.sum(first * second, axis=-1, keepdims=True) * first)
    return np.stack([first, across, np.cross(first, across)], axis=-1)


MIRROR: Final = np.diag((-1.0, 1.0, 1.0))
ELBOW: Final = np.array((0.0, -1.0, 0.0))  # hinge of the left elbow in the T-pose: the forearm comes forward
POLE: Final = np.array((0.6, -0.75, -0.3))  # direction of the left elbow when the hand reaches for a position
SWAY: Final = {"flex": 0.03, "abduct": 0.02, "twist": 0.05, "elbow": 0.04, "pronate": 0.06, "wrist": 0.05}


def write_arm_rotations(local: Floats, plan: MotionPlan, side: str, stride: Floats, trunk: dict[str, Floats], t: Floats) -> None:
    """Write shoulder, upper arm, forearm and hand of one side.

    Args:
        local: rotations relative to the parents, (N, J, 3, 3); written.
        plan: of the motion.
        side: `left` or `right`.
        stride: how far the right foot is ahead, in leg lengths, (N,).
        trunk: channels at the times t, (N,).
        t: times, (N,) [s].
    """
    value = {channel: plan.tracks[f"{side}.{channel}"].sample(t) for channel in ARM}
    for channel, size in SWAY.items():
        value[channel] = value[channel] + size * plan.style.noise * make_slow_noise(f"{side}.{channel}", plan.seed, t)
    swing = (0.55 if side == "left" else -0.55) * plan.style.arm_swing * stride
    value["flex"] = value["flex"] + swing
    value["elbow"] = _limit_elbow_angle(value["elbow"] + trunk["elbow_swing"] * swing)
    shoulder = rotation_about(Y, -value["protract"]) @ rotation_about(
        Z, 0.3 * _compute_softplus(np.hypot(value["flex"], value["abduct"]) - 1.9)
    )
    upper = _compute_upper_arm(value)
    elbow = value["elbow"]
    if np.any(value["reach"] > 0.0):
        upper, elbow = _blend_reach(plan, side, value, shoulder, upper)
    hand = rotation_about(X, value["pronate"]) @ rotation_about(Z, -value["wrist"])
    parts = (shoulder, np.swapaxes(shoulder, -1, -2) @ upper, matrix_from_rotvec(elbow[:, None] * ELBOW), hand)
    for name, rotation in zip(("Shoulder", "UpperArm", "LowerArm", "Hand"), parts, strict=True):
        local[:, JOINT_INDEX[side + name]] = rotation if side == "left" else MIRROR @ rotation @ MIRROR


def _compute_upper_arm(value: dict[str, Floats]) -> Floats:
    """Return the left upper arm in the chest's frame from its angles: hanging, twisted, then swung, (N, 3, 3)."""
    swung = np.stack([-value["flex"], np.zeros_like(value["flex"]), value["abduct"]], axis=-1)
    hanging = rotation_about(Z, np.full(len(swung), -np.pi / 2))
    return np.asarray(matrix_from_rotvec(swung) @ rotation_about(Y, value["twist"]) @ hanging)


def _blend_reach(plan: MotionPlan, side: str, value: dict[str, Floats], shoulder: Floats, upper: Floats) -> tuple[Floats, Floats]:
    """Return upper arm in the chest's frame and elbow angle, blended with those whose hand is at (x, y, z) by `reach`."""
    offsets = plan.skeleton.offsets_m
    flip = np.array((1.0 if side == "left" else -1.0, 1.0, 1.0))
    clavicle, arm, forearm, wrist = (
        offsets[JOINT_INDEX[side + part]] * flip for part in ("Shoulder", "UpperArm", "LowerArm", "Hand")
    )
    length = float(np.linalg.norm(forearm) + np.linalg.norm(wrist))
    middle = (clavicle + arm) * np.array((0.0, 1.0, 1.0))
    origin = clavicle + np.einsum("nij,j->ni", shoulder, arm)
    hand = np.stack([value["x"], value["y"], value["z"]], axis=-1) * (length / 0.58) + middle
    wanted, bend = solve_two_bones(forearm, wrist, ELBOW, hand - origin, np.broadcast_to(POLE, hand.shape))
    angle = np.linalg.norm(rotvec_from_matrix(bend), axis=-1)
    share = np.clip(value["reach"], 0.0, 1.0)
    away = rotvec_from_matrix(np.swapaxes(upper, -1, -2) @ wanted)
    return upper @ matrix_from_rotvec(share[:, None] * away), value["elbow"] + share * (angle - value["elbow"])


def _compute_softplus(value: Floats) -> Floats:
    """Return a smooth max(value, 0): 0.1 log(1 + exp(value / 0.1))."""
    return np.asarray(0.1 * np.logaddexp(0.0, value / 0.1))


def _limit_elbow_angle(angle: Floats) -> Floats:
    """Return an elbow angle limited to straight and 150 degrees, smoothly."""
    return np.asarray(np.clip(0.03 * np.logaddexp(0.0, angle / 0.03), 0.0, 2.62))
