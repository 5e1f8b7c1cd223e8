"""Local models: distributions over the poses near the query of one frame, and what all that fit them have in common."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from config.arrays import Floats, Ints, Singles, make_read_only
from config.joints import N_JOINTS

DOFS = 3 * (N_JOINTS - 1)


class Quadratic(NamedTuple):
    """A quadratic energy 1/2 (w - center)' precision (w - center), a Gaussian; center: (B,), precision: (B, B)."""

    center: Floats
    precision: Floats


def add_quadratics(first: Quadratic, second: Quadratic) -> Quadratic:
    """Return the sum of two quadratic energies but for a constant: the product of their Gaussians."""
    precision = first.precision + second.precision
    pull = first.precision @ first.center + second.precision @ second.center
    return Quadratic(np.asarray(np.linalg.solve(precision, pull)), precision)


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A quadratic energy over poses q = mean + directions w (Chai & Hodgins 2005, eq. 3).

    Attributes:
        mean: (J, 3) [rad], row 0 zero.
        directions: (J, 3, B), row 0 zero.
        center: minimum in w, (B,).
        precision: (B, B), or of the root as well, (B + 6, B + 6).
    """

    mean: Floats
    directions: Floats
    center: Floats
    precision: Floats


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The nearest poses of a query, nearest first: rows of the examples (K,), poses (K, D) [rad], weights (K,) of any scale.

    informed: from 0 to 1, how much the query was told by markers; where it knew none, they agree with its pose because it asked.
    """

    rows: Ints
    poses: Singles
    weights: Floats
    informed: float = 1.0


def weigh_neighbours(rows: Ints, poses: Singles, distances: NDArray[np.floating], sharpness: float) -> Neighbours:
    """Return the nearest examples with weights that fall with their squared distances.

    Args:
        rows, poses, distances: rows of the examples, their poses and distances, (K,), (K, D) and (K,), nearest first.
        sharpness: how fast the weights fall, in units of the median distance beyond the nearest.
    """
    d = distances.astype(np.float64)
    weights = np.exp(-0.5 * sharpness / max(float(d[len(d) // 2] - d[0]), 1e-9) * (d - d[0]))
    return Neighbours(rows, poses, weights)


def compute_strangeness_rad(neighbours: Neighbours, pose: Floats) -> float:
    """Return how far a pose, (D,) [rad], is from the nearest of its neighbours, root mean square over joint coordinates."""
    apart = neighbours.poses[0] - pose
    return math.sqrt(float(apart @ apart) / len(apart))


def build_local_model(mean: Floats, directions: Floats, quadratic: Quadratic) -> LocalModel:
    """Return the local model of a mean pose and directions around it.

    Args:
        mean: pose, (D,) [rad].
        directions: directions of the joint coordinates, (J, 3, B).
        quadratic: energy of the coordinates, (B,).
    """
    pose = np.zeros((N_JOINTS, 3))
    pose[1:] = mean.reshape(-1, 3)
    return LocalModel(pose, make_read_only(directions), quadratic.center, np.ascontiguousarray(quadratic.precision))


def _build_all_directions() -> Floats:
    """Return directions along every coordinate of every joint but the root, (J, 3, D)."""
    directions = np.zeros((N_JOINTS, 3, DOFS))
    directions.reshape(3 * N_JOINTS, DOFS)[3:] = np.eye(DOFS)
    directions.setflags(write=False)
    return directions


FULL = _build_all_directions()


# The first direction that moves each joint, and the one after the last, (J, 2).
FULL_SPAN = make_read_only(np.maximum(3 * np.arange(N_JOINTS)[:, None] + [-3, 0], 0))


def find_direction_span(directions: Floats) -> Ints:
    """Return the first of some directions (J, 3, B) that moves each joint, and the one after the last, (J, 2)."""
    full = directions is FULL or directions.base is FULL  # or a view of it
    return FULL_SPAN if full else make_read_only(np.tile([0, directions.shape[2]], (N_JOINTS, 1)))
