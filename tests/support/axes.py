"""The axes of other systems, as docs/conventions.md has them, for judges that compare positions and rotations.

Ours: right-handed, Y up, metres, the performer facing +Z with the left at +X. Every system is an orthogonal matrix and a scale. A
mirror (determinant -1) reverses the sense of rotations: with p' = M p, a rotation about axis v becomes one about det(M) M v.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from config.arrays import Floats


@dataclass(frozen=True, slots=True)
class AxisSystem:
    """Another system's axes: matrix takes our directions to its own, (3, 3) orthogonal; scale: its units in a metre."""

    name: str
    matrix: Floats
    scale: float = 1.0

    def positions(self, position_m: ArrayLike) -> Floats:
        """Convert positions or offsets, (..., 3)."""
        return self.scale * (np.asarray(position_m, float) @ self.matrix.T)

    def quaternions(self, xyzw: ArrayLike) -> Floats:
        """Convert rotations, (..., 4), both x, y, z, w."""
        q = np.asarray(xyzw, float)
        M = np.sign(np.linalg.det(self.matrix)) * self.matrix
        return np.concatenate([q[..., :3] @ M.T, q[..., 3:]], axis=-1)


GLTF = AxisSystem("glTF, VRM, three.js, Godot", np.eye(3))
UNITY = AxisSystem("Unity, VMC", np.diag([-1.0, 1.0, 1.0]))
UNREAL = AxisSystem("Unreal", np.array([[1.0, 0, 0], [0, 0, 1], [0, 1, 0]]), 100.0)
BLENDER = AxisSystem("Blender", np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]]))
OPENSIM = AxisSystem("OpenSim", np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]]))
SYSTEMS = (GLTF, UNITY, UNREAL, BLENDER, OPENSIM)
