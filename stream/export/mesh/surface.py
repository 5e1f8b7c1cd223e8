"""A closed mesh of the surface of a solid given by distances: surface nets on a grid, then projected onto the surface.

Each cell of the grid that the surface crosses has a vertex, each crossed edge a quad of the four cells around it (Gibson 1998).
Cells in which two sheets of the surface would meet are filled first, so that the mesh is manifold.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from config.arrays import Bools, Floats

Lines = tuple[Floats, Floats, Floats]
Distance = Callable[[Floats], Floats]
Faces = NDArray[np.int32]

CORNERS = np.array([[i >> 2 & 1, i >> 1 & 1, i & 1] for i in range(8)])
EDGES = [(i, i | bit) for i in range(8) for bit in (4, 2, 1) if not i & bit]
COARSE = 3  # fine cells along the side of a coarse one
STEPS = 2


def _is_connected(corners: int) -> bool:
    """Return whether a set of corners of a cube (bits) is connected along its edges."""
    if not corners:
        return True
    reached = corners & -corners
    for _ in range(8):
        for i, j in EDGES:
            if reached >> i & 1 or reached >> j & 1:
                reached |= (1 << i | 1 << j) & corners
    return reached == corners


def _is_ambiguous(code: int) -> bool:
    """Return whether a cell with the inside corners `code` (bits) has more than one sheet, or a face crossed twice."""
    faces = [[i for i in range(8) if (i >> axis & 1) == side] for axis in range(3) for side in (0, 1)]
    for a, b, c, d in faces:  # a and d are diagonally opposite
        signs = [code >> i & 1 for i in (a, b, c, d)]
        if signs[0] == signs[3] and signs[1] == signs[2] and signs[0] != signs[1]:
            return True
    return not (_is_connected(code) and _is_connected(~code & 0xFF))


AMBIGUOUS = np.array([_is_ambiguous(code) for code in range(256)])


def extract_surface(distance: Distance, lines_m: Lines) -> tuple[Floats, Faces, Floats]:
    """Return vertices (V, 3), faces (F, 3) and outward unit normals (V, 3) of the surface where the distance is 0.

    lines_m: coordinates of the grid's lines along x, y and z, increasing; the solid must be inside the grid.
    """
    values = _sample_distance(distance, lines_m)
    inside = _fill_ambiguous_cells(values < 0.0)
    vertices, faces = _build_nets(values, inside, lines_m)
    step = float(min(np.diff(line).min() for line in lines_m))
    for _ in range(STEPS):
        value, gradient = _evaluate_with_gradient(distance, vertices)
        move = value[:, None] * gradient / np.maximum((gradient**2).sum(axis=1, keepdims=True), 0.25)
        vertices = vertices - move * np.minimum(1.0, 0.7 * step / np.maximum(np.linalg.norm(move, axis=1, keepdims=True), 1e-12))
    gradient = _evaluate_with_gradient(distance, vertices)[1]
    return vertices, faces, gradient / np.maximum(np.linalg.norm(gradient, axis=1, keepdims=True), 1e-12)


def _sample_distance(distance: Distance, lines_m: Lines) -> Floats:
    """Return the distance at all points of the grid; far from the surface that of a point nearby with the same sign."""
    coarse = tuple(line[::COARSE] for line in lines_m)
    points_m = np.stack(np.meshgrid(*coarse, indexing="ij"), axis=-1)
    around = distance(points_m.reshape(-1, 3)).reshape(points_m.shape[:3])
    values = around
    for axis, line in enumerate(lines_m):
        values = np.repeat(values, COARSE, axis=axis).take(range(len(line)), axis=axis)
    reach = COARSE * np.sqrt(sum(float(np.diff(line).max()) ** 2 for line in lines_m))
    near = np.nonzero(np.abs(values) < reach)
    values[near] = distance(np.stack([line[index] for line, index in zip(lines_m, near, strict=True)], axis=1))
    return values


def _compute_cell_codes(inside: Bools) -> NDArray[np.int64]:
    """Return the inside corners of every cell as bits."""
    n = np.array(inside.shape) - 1
    codes = np.zeros(n, np.int64)
    for i, (x, y, z) in enumerate(CORNERS):
        codes |= inside[x : x + n[0], y : y + n[1], z : z + n[2]].astype(np.int64) << i
    return codes


def _fill_ambiguous_cells(inside: Bools) -> Bools:
    """Fill ambiguous cells until there are none."""
    inside = inside.copy()
    while True:
        cells = np.argwhere(AMBIGUOUS[_compute_cell_codes(inside)])
        if not len(cells):
            return inside
        inside[tuple((cells[:, None] + CORNERS).reshape(-1, 3).T)] = True


def _build_nets(values: Floats, inside: Bools, lines_m: Lines) -> tuple[Floats, Faces]:
    """Return a vertex for each crossed cell, at the mean of its crossings, and two faces for each crossed edge of the grid."""
    codes = _compute_cell_codes(inside)
    crossed = (codes > 0) & (codes < 255)
    cells = np.argwhere(crossed)
    number = np.full(codes.shape, -1, np.int64)
    number[crossed] = np.arange(len(cells))
    corner = [tuple((cells + offset).T) for offset in CORNERS]
    points = [np.stack([line[index] for line, index in zip(lines_m, at, strict=True)], axis=1) for at in corner]
    total, count = np.zeros((len(cells), 3)), np.zeros((len(cells), 1))
    for i, j in EDGES:
        cut = (inside[corner[i]] != inside[corner[j]])[:, None]
        a, b = values[corner[i]][:, None], values[corner[j]][:, None]
        share = np.clip(np.divide(a, a - b, out=np.full_like(a, 0.5), where=np.abs(a - b) > 1e-12), 0.05, 0.95)
        total += cut * (points[i] + share * (points[j] - points[i]))
        count += cut
    vertices = total / count
    quads = np.concatenate([_build_quads(inside, number, axis) for axis in range(3)])
    return vertices, _split_quads(vertices, quads)


def _build_quads(inside: Bools, number: NDArray[np.int64], axis: int) -> NDArray[np.int64]:
    """Return the cells around each crossed edge along an axis, counter-clockwise seen from outside, (Q, 4)."""
    signs = np.moveaxis(inside, axis, 0)
    cell = np.moveaxis(number, axis, 0)
    leaving = np.argwhere(signs[:-1] != signs[1:])
    i, j, k = leaving.T
    around = np.stack([cell[i, j - 1, k - 1], cell[i, j, k - 1], cell[i, j, k], cell[i, j - 1, k]], axis=1)
    # moveaxis keeps the order of the other two axes: for y these are (x, z), of the opposite orientation.
    flipped = signs[i, j, k] == (axis == 1)
    around[flipped] = around[flipped][:, ::-1]
    return around


def _split_quads(vertices: Floats, quads: NDArray[np.int64]) -> Faces:
    """Split each quad along its shorter diagonal."""
    a, b, c, d = (vertices[quads[:, n]] for n in range(4))
    shorter = ((a - c) ** 2).sum(axis=1) <= ((b - d) ** 2).sum(axis=1)
    pairs = np.where(shorter[:, None, None], quads[:, [[0, 1, 2], [0, 2, 3]]], quads[:, [[0, 1, 3], [1, 2, 3]]])
    return np.ascontiguousarray(pairs.reshape(-1, 3), np.int32)


def _evaluate_with_gradient(distance: Distance, points_m: Floats, step_m: float = 5e-4) -> tuple[Floats, Floats]:
    """Return the distance, (N,), and its gradient by central differences, (N, 3)."""
    steps = step_m * np.concatenate([np.zeros((1, 3)), np.eye(3), -np.eye(3)])
    samples = distance((points_m + steps[:, None]).reshape(-1, 3)).reshape(7, -1)
    return samples[0], (samples[1:4] - samples[4:]).T / (2.0 * step_m)
