"""Arms of a score: angles told for the left side, mirrored for the right; hands drawn to a place where `reach` asks for it."""

from typing import Final

import numpy as np

from config.joints import JOINT_INDEX
from database.builtin.limbs import turn, two_bone
from database.builtin.score import ARM, Score
from database.builtin.tracks import slow_noise
from database.rotations import Floats, matrix_from_rotvec, rotvec_from_matrix

MIRROR: Final = np.diag((-1.0, 1.0, 1.0))
ELBOW: Final = np.array((0.0, -1.0, 0.0))  # hinge of the left elbow in the T-pose: the forearm comes forward
POLE: Final = np.array((0.6, -0.75, -0.3))  # where the left elbow points when the hand is drawn to a place
SWAY: Final = {"flex": 0.03, "abduct": 0.02, "twist": 0.05, "elbow": 0.04, "pronate": 0.06, "wrist": 0.05}


def arm_rotations(local: Floats, score: Score, side: str, stride: Floats, trunk: dict[str, Floats], t: Floats) -> None:
    """Write shoulder, upper arm, forearm and hand of one side into `local` (N, J, 3, 3)."""
    value = {channel: score.tracks[f"{side}.{channel}"].sample(t) for channel in ARM}
    for channel, size in SWAY.items():
        value[channel] = value[channel] + size * score.style.noise * slow_noise(f"{side}.{channel}", score.seed, t)
    swing = (0.55 if side == "left" else -0.55) * score.style.arm_swing * stride
    value["flex"] = value["flex"] + swing
    value["elbow"] = _bent_forward(value["elbow"] + trunk["elbow_swing"] * swing)
    shoulder = turn("y", -value["protract"]) @ turn("z", 0.3 * _soft(np.hypot(value["flex"], value["abduct"]) - 1.9))
    upper = _upper_arm(value)
    elbow = value["elbow"]
    if np.any(value["reach"] > 0.0):
        upper, elbow = _drawn(score, side, value, shoulder, upper)
    hand = turn("x", value["pronate"]) @ turn("z", -value["wrist"])
    parts = (shoulder, np.swapaxes(shoulder, -1, -2) @ upper, matrix_from_rotvec(elbow[:, None] * ELBOW), hand)
    for name, rotation in zip(("Shoulder", "UpperArm", "LowerArm", "Hand"), parts, strict=True):
        local[:, JOINT_INDEX[side + name]] = rotation if side == "left" else MIRROR @ rotation @ MIRROR


def _upper_arm(value: dict[str, Floats]) -> Floats:
    """Give the left upper arm in the chest's frame from its angles: hanging, twisted, then swung, (N, 3, 3)."""
    swung = np.stack([-value["flex"], np.zeros_like(value["flex"]), value["abduct"]], axis=-1)
    hanging = turn("z", np.full(len(swung), -np.pi / 2))
    return np.asarray(matrix_from_rotvec(swung) @ turn("y", value["twist"]) @ hanging)


def _drawn(score: Score, side: str, value: dict[str, Floats], shoulder: Floats, upper: Floats) -> tuple[Floats, Floats]:
    """Blend the arm towards the one whose hand is at (x, y, z); returns upper arm in the chest's frame and elbow angle."""
    offsets = score.skeleton.offsets_m
    flip = np.array((1.0 if side == "left" else -1.0, 1.0, 1.0))
    clavicle, arm, forearm, wrist = (
        offsets[JOINT_INDEX[side + part]] * flip for part in ("Shoulder", "UpperArm", "LowerArm", "Hand")
    )
    length = float(np.linalg.norm(forearm) + np.linalg.norm(wrist))
    middle = (clavicle + arm) * np.array((0.0, 1.0, 1.0))
    origin = clavicle + np.einsum("nij,j->ni", shoulder, arm)
    place = np.stack([value["x"], value["y"], value["z"]], axis=-1) * (length / 0.58) + middle
    wanted, bend = two_bone(forearm, wrist, ELBOW, place - origin, np.broadcast_to(POLE, place.shape))
    angle = np.linalg.norm(rotvec_from_matrix(bend), axis=-1)
    share = np.clip(value["reach"], 0.0, 1.0)
    away = rotvec_from_matrix(np.swapaxes(upper, -1, -2) @ wanted)
    return upper @ matrix_from_rotvec(share[:, None] * away), value["elbow"] + share * (angle - value["elbow"])


def _soft(value: Floats) -> Floats:
    """Give a smooth max(value, 0): 0.1 log(1 + exp(value / 0.1))."""
    return np.asarray(0.1 * np.logaddexp(0.0, value / 0.1))


def _bent_forward(angle: Floats) -> Floats:
    """Keep the elbow between straight and 150 degrees, smoothly."""
    return np.asarray(np.clip(0.03 * np.logaddexp(0.0, angle / 0.03), 0.0, 2.62))
