"""A skinned mesh of a person, made from the proportions of a skeleton alone.

A solid melted together of lofts around the bones (`body_mesh_shape`) is meshed as one closed skin (`body_mesh_surface`)
that follows the joints by the lofts' nearness (`body_mesh_weights`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from database.rotations import Floats
from stream.export.body_mesh_shape import REQUIRED, Solid, person, sticks
from stream.export.body_mesh_surface import closed_surface
from stream.export.body_mesh_weights import skin

MARGIN_M = 0.30
STEP_M, FINE_M = 0.022, 0.0125
CACHED = 8


@dataclass(frozen=True, slots=True)
class BodyMesh:
    """A closed skin in the rest pose, root at the origin, and how it follows the joints; all arrays are read-only.

    vertices_m, normals: (V, 3), outward unit normals; faces: (F, 3) int32, counter-clockwise from outside;
    joints: (V, 4) uint8; weights: (V, 4) float32, falling, they sum to 1; unused ones are 0 of joint 0.
    """

    vertices_m: Floats
    normals: Floats
    faces: NDArray[np.int32]
    joints: NDArray[np.uint8]
    weights: NDArray[np.float32]

    def __post_init__(self) -> None:
        for array in (self.vertices_m, self.normals, self.faces, self.joints, self.weights):
            array.setflags(write=False)

    def posed(self, rotations: Floats, places_m: Floats, rest_m: Floats) -> Floats:
        """Give the vertices of a pose by linear blending, (V, 3).

        rotations: of the joints in the world, (J, 3, 3); places_m: of the joints in the world, rest_m: in the rest pose, (J, 3).
        """
        moved = np.zeros_like(self.vertices_m)
        for joint, weight in zip(self.joints.T, self.weights.T, strict=True):
            turned = np.einsum("vij,vj->vi", rotations[joint], self.vertices_m - rest_m[joint])
            moved += weight[:, None] * (turned + places_m[joint])
        return moved


def body_mesh(names: Sequence[str], parents: Sequence[int], offsets_m: ArrayLike) -> BodyMesh:
    """Make the mesh of a skeleton, the same for the same skeleton.

    names: joints, parent first, by VRM name where they have one; parents: -1 for the root; offsets_m: from the parent in the
    T-pose, (J, 3) [m]. A skeleton without the bones that VRM requires gets a round stick along each bone.
    """
    offsets = tuple(map(tuple, np.asarray(offsets_m, float).tolist()))
    return _made(tuple(names), tuple(int(parent) for parent in parents), offsets)


def rest_places_m(parents: Sequence[int], offsets_m: ArrayLike) -> Floats:
    """Give the joints of the rest pose with the root at the origin, (J, 3) [m]."""
    places = np.zeros((len(parents), 3))
    for joint, parent in enumerate(parents):
        if parent >= 0:
            places[joint] = places[parent] + np.asarray(offsets_m, float)[joint]
    return places


@lru_cache(CACHED)
def _made(names: tuple[str, ...], parents: tuple[int, ...], offsets_m: tuple[tuple[float, ...], ...]) -> BodyMesh:
    """Make the mesh."""
    rest = rest_places_m(parents, offsets_m)
    human = set(REQUIRED) <= set(names)
    solid = person(dict(zip(names, rest, strict=True))) if human else sticks(names, parents, rest)
    vertices, faces, normals = closed_surface(solid.distance_m, _lines(solid, names, rest, human))
    joints, weights = skin(solid, vertices, faces, names, rest)
    return BodyMesh(np.ascontiguousarray(vertices), np.ascontiguousarray(normals), faces, joints, weights)


def _lines(solid: Solid, names: tuple[str, ...], rest_m: Floats, human: bool) -> tuple[Floats, Floats, Floats]:
    """Give the lines of the grid: closer where hands, head and feet are, which have the small forms."""
    low, high = rest_m.min(axis=0) - MARGIN_M, rest_m.max(axis=0) + MARGIN_M
    scale = max(float(np.ptp(rest_m, axis=0).max()), 0.1) / 1.55
    if not human:
        return tuple(np.arange(a, b, STEP_M * scale) for a, b in zip(low, high, strict=True))  # type: ignore[return-value]
    at = dict(zip(names, rest_m, strict=True))
    left, right = at["leftHand"], at["rightHand"]
    fine_x = [(left[0] - 0.02, left[0] + 0.25), (right[0] - 0.25, right[0] + 0.02), (-0.07 * scale, 0.07 * scale)]
    fine_y = [(at["head"][1] - 0.06 * scale, at["head"][1] + 0.12 * scale), (left[1] - 0.03, left[1] + 0.03)]
    x = _spaced(low[0], high[0], fine_x, scale)
    y = _spaced(low[1], high[1], fine_y, scale)
    return x, y, _spaced(low[2], high[2], [(-0.01 * scale, 0.16 * scale)], scale)


def _spaced(low: float, high: float, fine: list[tuple[float, float]], scale: float) -> Floats:
    """Give coordinates from low to high, FINE_M apart within the given parts and STEP_M elsewhere, gently changing."""
    even = np.linspace(low, high, 2000)
    away = np.min([np.maximum(np.maximum(a - even, even - b), 0.0) for a, b in fine], axis=0)
    step = scale * np.minimum(FINE_M + 0.15 * away / scale, STEP_M)
    count = np.cumsum((even[1] - even[0]) / step)
    return np.interp(np.arange(int(count[-1])), count, even)
