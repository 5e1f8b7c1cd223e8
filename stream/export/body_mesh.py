"""A skinned mesh of a person, made from the proportions of a skeleton alone.

A solid melted together of lofts around the bones (`body_mesh_shape`) is meshed as one closed skin (`body_mesh_surface`)
that follows the joints by the lofts' nearness (`body_mesh_weights`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from database.rotations import Floats
from stream.export.body_mesh_shape import REQUIRED, person, sticks
from stream.export.body_mesh_surface import Lines, closed_surface
from stream.export.body_mesh_weights import skin

SIZE_M = 1.55  # from hand to hand of a person of 1.75 m
COARSENESS = 1.15
STICKS = 1.0 / 80.0
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
    at = dict(zip(names, rest, strict=True)) if set(REQUIRED) <= set(names) else None
    solid = sticks(names, parents, rest) if at is None else person(at)
    vertices, faces, normals = closed_surface(solid.distance_m, _grid(at, rest))
    joints, weights = skin(solid, vertices, faces, names, rest)
    return BodyMesh(np.ascontiguousarray(vertices), np.ascontiguousarray(normals), faces, joints, weights)


def _grid(at: Mapping[str, Floats] | None, rest_m: Floats) -> Lines:
    """Give the lines of the grid: even for sticks; for a person (at: joints by name) closer where forms are small or bend."""
    size = max(float(np.ptp(rest_m, axis=0).max()), 0.1)
    low, high = rest_m.min(axis=0) - 0.2 * size, rest_m.max(axis=0) + 0.2 * size
    if at is None:
        x, y, z = (_spaced(a, b, [(0.0, STICKS * size)]) for a, b in zip(low, high, strict=True))
        return x, y, z
    s = COARSENESS * size / SIZE_M
    steps_x, steps_y = [(0.0, 0.013 * s), (0.12 * s, 0.017 * s)], [(at["head"][1], 0.0105 * s)]
    for side, sign in (("left", 1.0), ("right", -1.0)):
        shoulder, elbow, hand = (at[side + part][0] for part in ("UpperArm", "LowerArm", "Hand"))
        steps_x += [(shoulder, 0.018 * s), (0.5 * (shoulder + elbow), 0.03 * s), (elbow, 0.016 * s)]
        steps_x += [(0.5 * (elbow + hand), 0.026 * s), (hand, 0.013 * s), (hand + sign * 0.2 * s, 0.009 * s)]
        hip, knee, ankle, wrist = (at[side + part][1] for part in ("UpperLeg", "LowerLeg", "Foot", "Hand"))
        steps_y += [(ankle, 0.013 * s), (0.5 * (ankle + knee), 0.03 * s), (knee, 0.017 * s), (0.5 * (knee + hip), 0.03 * s)]
        steps_y += [
            (hip, 0.018 * s),
            (0.5 * (hip + wrist), 0.024 * s),
            (wrist - 0.03 * s, 0.011 * s),
            (wrist + 0.03 * s, 0.010 * s),
        ]
    x, y = _spaced(low[0], high[0], steps_x), _spaced(low[1], high[1], steps_y)
    return x, y, _spaced(low[2], high[2], [(-0.07 * s, 0.017 * s), (-0.03 * s, 0.012 * s), (0.13 * s, 0.012 * s)])


def _spaced(low: float, high: float, steps_m: Sequence[tuple[float, float]]) -> Floats:
    """Give coordinates from low to high whose steps go over from one (place, step) to the next."""
    even = np.linspace(low, high, 4000)
    places, steps = np.array(sorted(steps_m)).T
    count = np.cumsum((even[1] - even[0]) / np.interp(even, places, steps))
    return np.interp(np.arange(1, int(count[-1])), count, even)
