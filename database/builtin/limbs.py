"""Two-bone inverse kinematics and axis rotations on whole motions at once."""

import numpy as np
from numpy.typing import ArrayLike

from database.rotations import Floats, matrix_from_rotvec

AXES = {"x": np.array((1.0, 0.0, 0.0)), "y": np.array((0.0, 1.0, 0.0)), "z": np.array((0.0, 0.0, 1.0))}
LONGEST = 0.9997  # share of its length a limb may reach; at 1 the bend's rate has no bound


def turn(axis: str, angle_rad: ArrayLike) -> Floats:
    """Give rotations about a coordinate axis: (N,) [rad] -> (N, 3, 3)."""
    return matrix_from_rotvec(np.asarray(angle_rad, float)[..., None] * AXES[axis])


def turned(rotation: Floats, vector: ArrayLike) -> Floats:
    """Give rotation @ vector: (N, 3, 3) and (3,) or (N, 3) -> (N, 3)."""
    return np.asarray(np.einsum("nij,...j->ni" if np.ndim(vector) == 1 else "nij,nj->ni", rotation, np.asarray(vector, float)))


def unit(vector: Floats) -> Floats:
    """Give vectors of length 1: (N, 3) -> (N, 3)."""
    return np.asarray(vector / np.linalg.norm(vector, axis=-1, keepdims=True))


def bend_angle(upper: Floats, lower: Floats, hinge: Floats, distance_m: Floats) -> Floats:
    """Give the hinge angle that puts the limb's end at a distance from its beginning.

    |a + R_k(theta) b|^2 = d^2 with a the upper bone, b the lower, k the hinge: C1 cos + C2 sin = (d^2 - a^2 - b^2) / 2 - C0.
    upper, lower, hinge: (3,); distance_m: (N,) [m]. Returns the root of positive bend, (N,) [rad]; out of reach is clamped.
    """
    c0 = float((upper @ hinge) * (lower @ hinge))
    c1, c2 = float(upper @ lower) - c0, float(upper @ np.cross(hinge, lower))
    radius = np.hypot(c1, c2)
    longest = LONGEST * (np.linalg.norm(upper) + np.linalg.norm(lower))
    d = np.minimum(distance_m, longest)
    cosine = ((d * d - upper @ upper - lower @ lower) / 2.0 - c0) / radius
    return np.asarray(np.maximum(np.arctan2(c2, c1) + np.arccos(np.clip(cosine, -0.97, 1.0)), 0.0))


def two_bone(upper: Floats, lower: Floats, hinge: Floats, target: Floats, pole: Floats) -> tuple[Floats, Floats]:
    """Give the rotations of a limb whose end is at `target` and whose middle joint points to `pole`.

    upper, lower: bones at rest, (3,) [m]; hinge: axis of positive bend at rest, (3,); target: end from beginning, (N, 3) [m];
    pole: (N, 3); target and pole in the frame of the limb's parent. Returns upper and lower rotation, (N, 3, 3) each.
    """
    angle = bend_angle(upper, lower, hinge, np.linalg.norm(target, axis=-1))
    bend = matrix_from_rotvec(angle[:, None] * hinge)
    here = unit(upper + turned(bend, lower))
    there = unit(target)
    local = _frame(here, np.cross(here, hinge))
    world = _frame(there, pole)
    return world @ np.swapaxes(local, -1, -2), bend


def _frame(first: Floats, second: Floats) -> Floats:
    """Give the frame of `first` (unit) and the part of `second` across it as columns: (N, 3) twice -> (N, 3, 3)."""
    across = unit(second - np.sum(first * second, axis=-1, keepdims=True) * first)
    return np.stack([first, across, np.cross(first, across)], axis=-1)
