"""The map of a plane to a picture, from points of both: the normalised linear method (Hartley & Zisserman 2004, alg. 4.2)."""

import numpy as np

from database.rotations import Floats

LEAST_TOLD = 1e-12  # of the equations' largest eigenvalue the second smallest: less, and points on a line leave the map open


def homography(points: Floats, px: Floats, weight: Floats) -> Floats:
    """Give the map that fits best.

    points, px: (N, 2); weight: (N,), 0 where not to be used; returns (3, 3) of unit norm, which takes (x, y, 1) to the picture.
    """
    used = weight > 0
    return _fitted(points[used], px[used])[0]


def homography_if_told(points: Floats, px: Floats) -> Floats | None:
    """Give the map of (N, 2) to (N, 2), (3, 3) of unit norm; None where the points do not tell it, as on a line."""
    H, told = _fitted(points, px)
    return H if told else None


def _fitted(points: Floats, px: Floats) -> tuple[Floats, bool]:
    """Give the map, and whether the points leave no other."""
    a, A = _normalised(points)
    b, B = _normalised(px)
    one = np.column_stack([a, np.ones(len(a))])
    zero = np.zeros_like(one)
    rows = np.concatenate([np.hstack([one, zero, -b[:, :1] * one]), np.hstack([zero, one, -b[:, 1:] * one])])
    _, values, vectors = np.linalg.svd(rows.T @ rows)
    H = np.linalg.inv(B) @ vectors[-1].reshape(3, 3) @ A
    return np.asarray(H / np.linalg.norm(H)), bool(values[-2] >= LEAST_TOLD * values[0])


def _normalised(points: Floats) -> tuple[Floats, Floats]:
    """Move points to their middle and scale them to a mean distance of sqrt(2): (N, 2) -> (N, 2) and the map (3, 3)."""
    middle = points.mean(axis=0)
    scale = np.sqrt(2.0) / max(float(np.linalg.norm(points - middle, axis=1).mean()), 1e-12)
    T = np.array([[scale, 0.0, -scale * middle[0]], [0.0, scale, -scale * middle[1]], [0.0, 0.0, 1.0]])
    return (points - middle) * scale, T
