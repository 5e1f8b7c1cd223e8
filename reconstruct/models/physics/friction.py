"""Coulomb friction by a cone of four edges (Wei et al. 2011, eq. 2): f_m = B_m exp(lambda_m)."""

import numpy as np
from numpy.typing import ArrayLike

from config.arrays import Floats
from config.errors import DuocapError

UP = (0.0, 1.0, 0.0)
N_EDGES = 4


def build_cone_basis(friction: float, normal: ArrayLike = UP) -> Floats:
    """Return B_m: the edges of the friction cone as columns, (3, 4), each with a component of 1 along the ground's normal.

    friction: coefficient, from 0; normal: unit, (3,). The edges lie on the round cone. The sum of the weights of a force
    is its normal component [N]. Raises DuocapError: friction below 0 or not a number.
    """
    if not (np.isfinite(friction) and friction >= 0.0):
        raise DuocapError(f"friction {friction:g}: expected a coefficient from 0, such as 0.8 for shoes on a floor")
    n = np.asarray(normal, np.float64) / np.linalg.norm(normal)
    ahead = np.array([0.0, 0.0, 1.0]) if abs(n[2]) < 0.9 else np.array([1.0, 0.0, 0.0])
    first = np.cross(n, ahead)
    first /= np.linalg.norm(first)
    second = np.cross(first, n)
    return np.stack([n + friction * side for side in (first, second, -first, -second)], axis=1)


def measure_cone_excess_n(force_n: Floats, friction: float, normal: ArrayLike = UP) -> Floats:
    """Return by how much forces leave the round friction cone: tangential over friction times normal, from 0 [N].

    Args:
        force_n: forces, (..., 3) [N].
        friction: coefficient of friction.
        normal: normal of the ground, (3,).
    """
    n = np.asarray(normal, np.float64) / np.linalg.norm(normal)
    along = force_n @ n
    across = np.linalg.norm(force_n - along[..., None] * n, axis=-1)
    return np.asarray(np.maximum(across - friction * np.maximum(along, 0.0), 0.0) + np.maximum(-along, 0.0))
