"""How strong people are: the largest torques of the joints of the legs.

Anderson, Madigan & Nussbaum 2007 (Maximum voluntary joint torque as a function of joint angle and angular velocity, J. Biomech.
40, table 3, men of 18 to 25): the largest isometric torque c1 as a share of weight times height, mean and standard deviation, and
the gain c6 of muscles that are stretched. The limit is that of a strong person, two deviations above the mean, while stretched:
what a leg may do at the most, at any angle and speed. Hips sideways, trunk and arms are without limits, as no table of the kind
was found for them; in walks, runs and jumps they are far from what they can.
"""

from typing import NamedTuple

import numpy as np

from config.arrays import Floats
from config.joints import JOINT_INDEX
from reconstruct.models.physics.body import Body
from reconstruct.models.physics.dynamics import N_TANGENT, find_joint_rows
from reconstruct.models.physics.field.state import STANDARD_GRAVITY

STRONG = 2.0  # standard deviations above the mean


class Strength(NamedTuple):
    """A direction of a joint: sign of its torque about the joint's X axis, c1, its deviation, and c6."""

    joint: str
    sign: int
    mean: float
    deviation: float
    gain: float


# About X, which points to the left in the rest pose, a positive torque turns what the joint carries backwards and the toes down.
LEGS = (
    Strength("UpperLeg", 1, 0.161, 0.049, 0.242),  # extension
    Strength("UpperLeg", -1, 0.113, 0.025, 0.218),
    Strength("LowerLeg", -1, 0.163, 0.040, 0.095),  # extension
    Strength("LowerLeg", 1, 0.087, 0.015, 0.304),
    Strength("Foot", 1, 0.095, 0.022, 0.295),  # plantar flexion
    Strength("Foot", -1, 0.033, 0.005, 0.828),
)


def compute_torque_limits(body: Body) -> tuple[Floats, Floats]:
    """Return the least and the largest torque of each row of u, (72,) each [Nm]; infinite where there is no limit."""
    least, largest = np.full(N_TANGENT, -np.inf), np.full(N_TANGENT, np.inf)
    unit = body.total_kg * STANDARD_GRAVITY * body.skeleton.height_m
    for side in ("left", "right"):
        for each in LEGS:
            row = find_joint_rows(JOINT_INDEX[side + each.joint]).start
            limit = each.sign * (each.mean + STRONG * each.deviation) * (1.0 + each.gain) * unit
            (largest if each.sign > 0 else least)[row] = limit
    return least, largest
