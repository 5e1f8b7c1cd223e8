"""The one converter from our axes to those of other systems, of which docs/conventions.md holds the table.

Ours: right-handed, Y up, metres, the performer facing +Z with the left at +X. Every system is an orthogonal matrix and a scale. A
mirror (determinant -1) turns the sense of rotations: with p' = M p, a rotation about axis v becomes one about det(M) M v.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from database.rotations import Floats


@dataclass(frozen=True, slots=True)
class AxisSystem:
    """Another system's axes: matrix takes our directions to its own, (3, 3) orthogonal; scale: its units in a metre."""

    name: str
    matrix: Floats
    scale: float = 1.0

    def positions(self, places_m: ArrayLike) -> Floats:
        """Convert places or offsets: (..., 3) [m] -> (..., 3) in its units."""
        return self.scale * (np.asarray(places_m, float) @ self.matrix.T)

    def quaternions(self, xyzw: ArrayLike) -> Floats:
        """Convert rotations, of any level of a hierarchy: (..., 4) -> (..., 4), both x, y, z, w."""
        q = np.asarray(xyzw, float)
        turn = np.sign(np.linalg.det(self.matrix)) * self.matrix
        return np.concatenate([q[..., :3] @ turn.T, q[..., 3:]], axis=-1)


def _system(name: str, rows: list[list[float]], scale: float = 1.0) -> AxisSystem:
    """Make a system whose matrix is read-only."""
    matrix = np.array(rows, float)
    matrix.setflags(write=False)
    return AxisSystem(name, matrix, scale)


GLTF = _system("glTF, VRM, three.js, Godot", [[1, 0, 0], [0, 1, 0], [0, 0, 1]])
UNITY = _system("Unity, VMC", [[-1, 0, 0], [0, 1, 0], [0, 0, 1]])
UNREAL = _system("Unreal", [[1, 0, 0], [0, 0, 1], [0, 1, 0]], 100.0)
BLENDER = _system("Blender", [[1, 0, 0], [0, 0, -1], [0, 1, 0]])
OPENSIM = _system("OpenSim", [[0, 0, 1], [0, 1, 0], [-1, 0, 0]])
SYSTEMS = (GLTF, UNITY, UNREAL, BLENDER, OPENSIM)
