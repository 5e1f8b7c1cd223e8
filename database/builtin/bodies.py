"""Bodies of any size from a few proportions.

Segment lengths are fractions of stature after Drillis & Contini (1966) as tabulated by Winter (2009, fig. 4.1): ankle at
0.039, knee at 0.285, hip at 0.530, shoulder at 0.818, upper arm 0.186, forearm 0.146, hand 0.108, foot 0.152. The
joints that table lacks (hips, spine, neck) are at our own fractions of the trunk.
"""

from typing import Final

import numpy as np

from config.arrays import Floats
from config.errors import DuocapError
from config.joints import JOINT_INDEX, N_JOINTS, PARENTS
from database.geometry.skeleton import Skeleton

ANKLE: Final = 0.039
KNEE: Final = 0.285
HIP: Final = 0.530
FOOT_BALL: Final = 0.070  # from the ankle forward to the ball
FOOT_TOE: Final = 0.042  # from the ball to the tip

# Heights of the trunk's joints and of the arm's attachment between the hip (0) and the top of the head (1).
TRUNK: Final = {"hips": 0.045, "spine": 0.105, "chest": 0.27, "upperChest": 0.44, "neck": 0.655, "upperNeck": 0.715, "head": 0.78}
SHOULDER: Final = 0.595
UPPER_ARM: Final = 0.605
# How far the trunk's joints are ahead of the hips, as shares of the stature.
TRUNK_AHEAD: Final = (0.0, -0.004, -0.006, -0.008, -0.006, 0.0, 0.004)


def build_person_skeleton(
    height_m: float = 1.75,
    leg_ratio: float = 1.0,
    arm_ratio: float = 1.0,
    shoulder_ratio: float = 1.0,
    hip_ratio: float = 1.0,
    name: str | None = None,
) -> Skeleton:
    """Return the skeleton of a person; a ratio of 1 is the average adult's share of the stature.

    Args:
        height_m: stature.
        leg_ratio: hip height (the trunk takes up the rest).
        arm_ratio: arm length.
        shoulder_ratio, hip_ratio: widths.
        name: of the person; None: the height.
    Raises: DuocapError: a height or ratio that no person has.
    """
    if not 0.6 <= height_m <= 2.4:
        raise DuocapError(f"a body of {height_m:g} m was asked for; heights are in metres, from 0.6 to 2.4")
    ratios = {"leg_ratio": leg_ratio, "arm_ratio": arm_ratio, "shoulder_ratio": shoulder_ratio, "hip_ratio": hip_ratio}
    for key, value in ratios.items():
        if not 0.7 <= value <= 1.4:
            raise DuocapError(f"{key} = {value:g} is no human proportion; give a share of the average from 0.7 to 1.4")
    rest = np.zeros((N_JOINTS, 3))
    tails = np.zeros((N_JOINTS, 3))
    _place_trunk(rest, tails, HIP * leg_ratio)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        _place_leg(rest, tails, side, sign, leg_ratio, hip_ratio)
        _place_arm(rest, tails, side, sign, HIP * leg_ratio, arm_ratio, shoulder_ratio)
    offsets = np.array([rest[j] - rest[parent] if parent >= 0 else np.zeros(3) for j, parent in enumerate(PARENTS)])
    return Skeleton(name or f"builtin_{round(height_m * 100)}cm", offsets * height_m, tails * height_m)


def _compute_level(hip: float, height: float) -> float:
    """Return a height between hip and top of the head as a share of the stature."""
    return hip + height * (1.0 - hip)


def _place_trunk(rest: Floats, tails: Floats, hip: float) -> None:
    """Place the joints from the hips to the head, as shares of the stature."""
    points = np.array([(0.0, _compute_level(hip, height), z) for height, z in zip(TRUNK.values(), TRUNK_AHEAD, strict=True)])
    _place_chain(rest, tails, list(TRUNK), np.concatenate([points, [(0.0, 1.0, TRUNK_AHEAD[-1])]]))


def _place_leg(rest: Floats, tails: Floats, side: str, sign: float, leg: float, width: float) -> None:
    """Write one leg as shares of the stature; straight down, the toe tip on the floor."""
    x = sign * 0.052 * width
    knee = ANKLE + (KNEE - ANKLE) * (HIP * leg - ANKLE) / (HIP - ANKLE)
    points = np.array(
        [(x, HIP * leg, 0.0), (x, knee, 0.0), (x, ANKLE, 0.0), (x, 0.012, FOOT_BALL), (x, 0.0, FOOT_BALL + FOOT_TOE)]
    )
    _place_chain(rest, tails, [side + part for part in ("UpperLeg", "LowerLeg", "Foot", "Toes")], points)


def _place_arm(rest: Floats, tails: Floats, side: str, sign: float, hip: float, arm: float, width: float) -> None:
    """Write one arm as shares of the stature; level to the side."""
    y, x = _compute_level(hip, UPPER_ARM), sign * 0.110 * width
    elbow, wrist, tip = (x + sign * arm * reach for reach in (0.186, 0.332, 0.440))
    points = np.array(
        [
            (sign * 0.020, _compute_level(hip, SHOULDER), 0.010),
            (x, y, -0.006),
            (elbow, y, -0.006),
            (wrist, y, -0.006),
            (tip, y, -0.006),
        ]
    )
    _place_chain(rest, tails, [side + part for part in ("Shoulder", "UpperArm", "LowerArm", "Hand")], points)


def _place_chain(rest: Floats, tails: Floats, joints: list[str], points: Floats) -> None:
    """Write the joints of a limb and the ends of its bones; `points` has one more row, the tip."""
    for k, joint in enumerate(joints):
        rest[JOINT_INDEX[joint]] = points[k]
        tails[JOINT_INDEX[joint]] = points[k + 1] - points[k]
