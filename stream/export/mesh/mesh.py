"""A skinned mesh of a person, computed from the proportions of a skeleton.

A solid of blended lofts around the bones (`shape`) is meshed as one closed surface (`surface`). Its vertices follow the joints of
the nearest lofts; the spine's joints share the trunk by height.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_matrix, csr_matrix, diags

from config.arrays import Floats
from stream.export.mesh.loft import Loft
from stream.export.mesh.shape import REQUIRED, SIDES, TRUNK, Solid, build_person, build_sticks, find_neck_base
from stream.export.mesh.surface import Lines, extract_surface

MIDDLE_M = 0.02  # distance beyond the middle up to which a side's limbs have weight
OTHER_SIDE = 1e-4
N_SMOOTHING = 8
MAX_JOINTS = 4  # of a vertex
SIZE_M = 1.55  # from hand to hand of a person of 1.75 m
COARSENESS = 1.15
STICK_STEP = 1.0 / 80.0
CACHED = 8
SPINE = ("hips", "spine", "chest", "upperChest", "neck")


def compute_skin_weights(
    solid: Solid, vertices_m: Floats, faces: NDArray[np.int32], names: tuple[str, ...], rest_m: Floats
) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Return the joints (V, 4) that move each vertex, by falling weight, and their weights (V, 4), which sum to 1.

    Args:
        solid: the body's solids.
        vertices_m: (V, 3) [m].
        faces: (F, 3).
        names: names of the joints.
        rest_m: positions of the joints in the rest pose, (J, 3) [m].
    """
    full = _compute_nearness(solid, vertices_m, names, rest_m)
    smooth = _build_smoothing_matrix(faces, len(vertices_m))
    for _ in range(N_SMOOTHING):
        full = smooth @ full
    joints = np.argsort(-full, axis=1, kind="stable")[:, :MAX_JOINTS]
    joints = np.pad(joints, ((0, 0), (0, MAX_JOINTS - joints.shape[1])))
    weights = np.take_along_axis(full, joints, axis=1)
    weights[:, min(MAX_JOINTS, full.shape[1]) :] = 0.0
    weights[weights < 0.01 * weights[:, :1]] = 0.0
    weights = (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)
    weights[:, 0] += 1.0 - weights.sum(axis=1)
    return np.where(weights > 0.0, joints, 0).astype(np.uint8), weights


def _compute_nearness(solid: Solid, vertices_m: Floats, names: tuple[str, ...], rest_m: Floats) -> Floats:
    """Return the weight of every joint at every vertex, (V, J): 0 for parts `soft_m` farther away than the nearest."""
    distances = np.stack([part.distance_m(vertices_m) for part in solid.lofts])
    nearest = distances.min(axis=0)
    spine = _compute_spine_weights(vertices_m, names, rest_m)
    full = np.zeros((len(vertices_m), len(names)))
    for part, distance in zip(solid.lofts, distances, strict=True):
        pull = np.maximum(1.0 - (distance - nearest) / part.soft_m, 0.0) ** 2 * _compute_side_weight(part, vertices_m)
        if part.joint == TRUNK:
            full = np.maximum(full, pull[:, None] * spine)
        else:
            j = names.index(part.joint)
            full[:, j] = np.maximum(full[:, j], pull)
    return np.asarray(full / full.sum(axis=1, keepdims=True))


def _compute_side_weight(part: Loft, vertices_m: Floats) -> Floats:
    """Return 1 on the part's own side of the body, OTHER_SIDE on the other, so that the thighs are separate."""
    if not part.joint.startswith(SIDES):
        return np.ones(len(vertices_m))
    sign = 1.0 if part.joint.startswith("left") else -1.0
    return np.clip(0.5 + sign * vertices_m[:, 0] / (2.0 * MIDDLE_M), OTHER_SIDE, 1.0)


def _compute_spine_weights(vertices_m: Floats, names: tuple[str, ...], rest_m: Floats) -> Floats:
    """Return the weights of the spine's joints by height, (V, J), with a transition of about half a bone at each joint."""
    shares = np.zeros((len(vertices_m), len(names)))
    chain = [names.index(name) for name in SPINE if name in names] or [0]
    heights = rest_m[chain, 1]
    if "neck" in names and set(REQUIRED) <= set(names):
        heights[-1] = find_neck_base(dict(zip(names, rest_m, strict=True)))[1]
    above = np.ones(len(vertices_m))
    for n, joint in enumerate(chain[:-1]):
        bones = np.abs(np.diff(heights[n : n + 3]))
        width = max(0.7 * float(bones.min()), 1e-3) if n else max(0.9 * float(bones[-1]), 1e-3)
        t = np.clip((vertices_m[:, 1] - heights[n + 1]) / width + 0.5, 0.0, 1.0)
        passed = t * t * (3.0 - 2.0 * t)
        shares[:, joint] = above * (1.0 - passed)
        above = above * passed
    shares[:, chain[-1]] = above
    return shares


def _build_smoothing_matrix(faces: NDArray[np.int32], count: int) -> csr_matrix:
    """Return the matrix that averages a vertex with the mean of its neighbours, (V, V)."""
    start, end = faces.ravel(), np.roll(faces, -1, axis=1).ravel()
    links = coo_matrix((np.ones(len(start)), (start, end)), shape=(count, count)).tocsr()
    degree = np.asarray(links.sum(axis=1)).ravel()
    return csr_matrix(0.5 * diags(np.ones(count)) + 0.5 * diags(1.0 / degree) @ links)


@dataclass(frozen=True, slots=True)
class BodyMesh:
    """A closed surface in the rest pose, root at the origin, with its skin weights; all arrays are read-only.

    Attributes:
        vertices_m, normals: (V, 3), outward unit normals.
        faces: (F, 3) int32, counter-clockwise from outside.
        joints: (V, 4) uint8.
        weights: (V, 4) float32, falling, summing to 1; unused ones are 0 of joint 0.
    """

    vertices_m: Floats
    normals: Floats
    faces: NDArray[np.int32]
    joints: NDArray[np.uint8]
    weights: NDArray[np.float32]

    def __post_init__(self) -> None:
        for array in (self.vertices_m, self.normals, self.faces, self.joints, self.weights):
            array.setflags(write=False)

    def posed(self, rotations: Floats, positions_m: Floats, rest_m: Floats) -> Floats:
        """Return the vertices of a pose by linear blending, (V, 3).

        Args:
            rotations, positions_m: rotations and positions of the joints in the world, (J, 3, 3) and (J, 3) [m].
            rest_m: positions of the joints in the rest pose, (J, 3) [m].
        """
        moved = np.zeros_like(self.vertices_m)
        for joint, weight in zip(self.joints.T, self.weights.T, strict=True):
            rotated = np.einsum("vij,vj->vi", rotations[joint], self.vertices_m - rest_m[joint])
            moved += weight[:, None] * (rotated + positions_m[joint])
        return moved


def build_body_mesh(names: Sequence[str], parents: Sequence[int], offsets_m: ArrayLike) -> BodyMesh:
    """Return the mesh of a skeleton, cached.

    A skeleton without the bones that VRM requires has a round stick along each bone.

    Args:
        names: joints, parent first, by VRM name where they have one.
        parents: -1 for the root.
        offsets_m: offsets of the joints from their parents in the T-pose, (J, 3) [m].
    """
    offsets = tuple(map(tuple, np.asarray(offsets_m, float).tolist()))
    return _build_body_mesh(tuple(names), tuple(int(parent) for parent in parents), offsets)


def compute_rest_positions_m(parents: Sequence[int], offsets_m: ArrayLike) -> Floats:
    """Return the joints of the rest pose with the root at the origin, (J, 3) [m]."""
    positions = np.zeros((len(parents), 3))
    for joint, parent in enumerate(parents):
        if parent >= 0:
            positions[joint] = positions[parent] + np.asarray(offsets_m, float)[joint]
    return positions


@lru_cache(CACHED)
def _build_body_mesh(names: tuple[str, ...], parents: tuple[int, ...], offsets_m: tuple[tuple[float, ...], ...]) -> BodyMesh:
    """Build the mesh."""
    rest = compute_rest_positions_m(parents, offsets_m)
    at = dict(zip(names, rest, strict=True)) if set(REQUIRED) <= set(names) else None
    solid = build_sticks(names, parents, rest) if at is None else build_person(at)
    vertices, faces, normals = extract_surface(solid.distance_m, _build_grid_lines(at, rest))
    joints, weights = compute_skin_weights(solid, vertices, faces, names, rest)
    return BodyMesh(np.ascontiguousarray(vertices), np.ascontiguousarray(normals), faces, joints, weights)


def _build_grid_lines(at: Mapping[str, Floats] | None, rest_m: Floats) -> Lines:
    """Return the lines of the grid: even for sticks; for a person (at: joints by name) denser at small and bending parts."""
    size = max(float(np.ptp(rest_m, axis=0).max()), 0.1)
    low, high = rest_m.min(axis=0) - 0.2 * size, rest_m.max(axis=0) + 0.2 * size
    if at is None:
        x, y, z = (_build_coordinates(a, b, [(0.0, STICK_STEP * size)]) for a, b in zip(low, high, strict=True))
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
    x, y = _build_coordinates(low[0], high[0], steps_x), _build_coordinates(low[1], high[1], steps_y)
    return x, y, _build_coordinates(low[2], high[2], [(-0.07 * s, 0.017 * s), (-0.03 * s, 0.012 * s), (0.13 * s, 0.012 * s)])


def _build_coordinates(low: float, high: float, steps_m: Sequence[tuple[float, float]]) -> Floats:
    """Return coordinates from low to high with steps interpolated between (position, step)."""
    even = np.linspace(low, high, 4000)
    positions, steps = np.array(sorted(steps_m)).T
    count = np.cumsum((even[1] - even[0]) / np.interp(even, positions, steps))
    return np.interp(np.arange(1, int(count[-1])), count, even)
