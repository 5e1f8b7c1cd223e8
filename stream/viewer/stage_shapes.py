"""The small meshes that the scene repeats: a bone, a ring."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Shape:
    """A mesh. vertices_m: (V, 3); faces: (F, 3), counter-clockwise seen from outside."""

    vertices_m: NDArray[np.float32]
    faces: NDArray[np.uint32]


def bone(waist: float = 0.2) -> Shape:
    """Give a bone from the origin to (0, 1, 0): pointed at both ends, 1 thick (in radius) at `waist` of its length."""
    return Shape(*_lathe(np.array([[0.0, 1.0], [0.3, 0.98], [1.0, waist], [0.45, 0.02], [0.0, 0.0]]), 8))


def ring(inner_m: float, outer_m: float, around: int = 32) -> Shape:
    """Give a flat ring on the floor that is seen from above."""
    angle = np.linspace(0.0, 2.0 * np.pi, around, endpoint=False)
    circle = np.stack([np.cos(angle), np.zeros(around), np.sin(angle)], 1)
    vertices = np.concatenate([inner_m * circle, outer_m * circle])
    here = np.arange(around)
    there = (here + 1) % around
    faces = np.concatenate([np.stack([here, there, here + around], 1), np.stack([there, there + around, here + around], 1)])
    return Shape(vertices.astype(np.float32), faces.astype(np.uint32))


def _lathe(profile: NDArray[np.float64], around: int) -> tuple[NDArray[np.float32], NDArray[np.uint32]]:
    """Turn a profile (radius, height), from top to bottom, around the y axis."""
    n = len(profile)
    angle = np.linspace(0.0, 2.0 * np.pi, around, endpoint=False)
    x = profile[:, :1] * np.sin(angle)
    z = profile[:, :1] * np.cos(angle)
    y = np.broadcast_to(profile[:, 1:], x.shape)
    vertices = np.stack([x, y, z], -1).reshape(-1, 3)
    ring_, step = np.meshgrid(np.arange(n - 1), np.arange(around), indexing="ij")
    here, beside = ring_ * around + step, ring_ * around + (step + 1) % around
    faces = np.concatenate(
        [
            np.stack([here, here + around, beside], -1).reshape(-1, 3),
            np.stack([beside, here + around, beside + around], -1).reshape(-1, 3),
        ]
    )
    return vertices.astype(np.float32), faces.astype(np.uint32)
