"""What a motion file says, before it is brought to the project's own skeleton."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from database.rotations import Floats

NEXT_AXIS = {"x": (1, 2), "y": (2, 0), "z": (0, 1)}


@dataclass(frozen=True, slots=True)
class SourceMotion:
    """A hierarchy with any joint names and any rest pose, and its rotations.

    name: file stem; subject: whose skeleton it is; fps: frames a second;
    names, parents: K joints, parents first, -1 for the root;
    offsets: joint from its parent in the rest pose, (K, 3) [file units], root's row zero;
    ends: end of each leaf's bone from its joint in the rest pose, joint -> (3,) [file units];
    rotations: of each joint relative to its parent, in rest-pose axes, (N, 3, 3), None where it never turns;
    root: position of the root joint, (N, 3) [file units]; metres_per_unit: 0 when the file does not say.
    """

    name: str
    subject: str
    fps: float
    names: tuple[str, ...]
    parents: tuple[int, ...]
    offsets: Floats
    ends: dict[int, Floats]
    rotations: tuple[Floats | None, ...]
    root: Floats
    metres_per_unit: float = 0.0


def matrix_from_euler(angles_rad: ArrayLike, axes: Sequence[str]) -> Floats:
    """Give R = R_a0(angle 0) R_a1(angle 1)...: angles (N, k) [rad], axes k of "x", "y", "z" -> (N, 3, 3)."""
    angles = np.asarray(angles_rad, float)
    # Columns first: multiplying from the right by a turn about one axis mixes the two other columns.
    columns = np.zeros((3, 3, len(angles)))
    for i in range(3):
        columns[i, i] = 1.0
    for k, axis in enumerate(axes):
        cosine, sine = np.cos(angles[:, k]), np.sin(angles[:, k])
        i, j = NEXT_AXIS[axis]
        first, second = columns[i].copy(), columns[j]
        columns[i] = cosine * first + sine * second
        columns[j] = cosine * second - sine * first
    return np.ascontiguousarray(columns.transpose(2, 1, 0))
