"""How skin follows joints: each vertex by the parts of the body that are near, the trunk shared out by height."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_matrix, csr_matrix, diags

from database.rotations import Floats
from stream.export.body_mesh_loft import Loft
from stream.export.body_mesh_shape import SIDES, TRUNK, Solid

MIDDLE_M = 0.02  # how far over the middle a side's limbs pull at skin
FOREIGN = 1e-4
SMOOTHING = 8
AT_MOST = 4
SPINE = ("hips", "spine", "chest", "upperChest", "neck")


def skin(
    solid: Solid, vertices_m: Floats, faces: NDArray[np.int32], names: tuple[str, ...], rest_m: Floats
) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Give the joints (V, 4) that move each vertex, strongest first, and their weights (V, 4), which sum to 1."""
    full = _nearness(solid, vertices_m, names, rest_m)
    smooth = _neighbour_means(faces, len(vertices_m))
    for _ in range(SMOOTHING):
        full = smooth @ full
    joints = np.argsort(-full, axis=1, kind="stable")[:, :AT_MOST]
    joints = np.pad(joints, ((0, 0), (0, AT_MOST - joints.shape[1])))
    weights = np.take_along_axis(full, joints, axis=1)
    weights[:, min(AT_MOST, full.shape[1]) :] = 0.0
    weights[weights < 0.01 * weights[:, :1]] = 0.0
    weights = (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)
    weights[:, 0] += 1.0 - weights.sum(axis=1)
    return np.where(weights > 0.0, joints, 0).astype(np.uint8), weights


def _nearness(solid: Solid, vertices_m: Floats, names: tuple[str, ...], rest_m: Floats) -> Floats:
    """Give the share of every joint in every vertex, (V, J): what is `soft_m` farther than the nearest part does not pull."""
    distances = np.stack([part.distance_m(vertices_m) for part in solid.lofts])
    nearest = distances.min(axis=0)
    spine = _spine_shares(vertices_m, names, rest_m)
    full = np.zeros((len(vertices_m), len(names)))
    for part, distance in zip(solid.lofts, distances, strict=True):
        pull = np.maximum(1.0 - (distance - nearest) / part.soft_m, 0.0) ** 2 * _own_side(part, vertices_m)
        if part.joint == TRUNK:
            full = np.maximum(full, pull[:, None] * spine)
        else:
            j = names.index(part.joint)
            full[:, j] = np.maximum(full[:, j], pull)
    return np.asarray(full / full.sum(axis=1, keepdims=True))


def _own_side(part: Loft, vertices_m: Floats) -> Floats:
    """Give 1 on the part's own side of the body, next to nothing on the other: thighs must not stick together."""
    if not part.joint.startswith(SIDES):
        return np.ones(len(vertices_m))
    sign = 1.0 if part.joint.startswith("left") else -1.0
    return np.clip(0.5 + sign * vertices_m[:, 0] / (2.0 * MIDDLE_M), FOREIGN, 1.0)


def _spine_shares(vertices_m: Floats, names: tuple[str, ...], rest_m: Floats) -> Floats:
    """Give the shares of the spine's joints by height, (V, J); the change is spread over half a bone about each joint."""
    shares = np.zeros((len(vertices_m), len(names)))
    chain = [names.index(name) for name in SPINE if name in names] or [0]
    heights = rest_m[chain, 1]
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


def _neighbour_means(faces: NDArray[np.int32], count: int) -> csr_matrix:
    """Give the matrix that takes the mean of a vertex and its neighbours, weighing both alike, (V, V)."""
    start, end = faces.ravel(), np.roll(faces, -1, axis=1).ravel()
    links = coo_matrix((np.ones(len(start)), (start, end)), shape=(count, count)).tocsr()
    degree = np.asarray(links.sum(axis=1)).ravel()
    return csr_matrix(0.5 * diags(np.ones(count)) + 0.5 * diags(1.0 / degree) @ links)
