"""Kernels of the distance of a query to examples (Chai & Hodgins 2005, eq. 2), in single precision."""

import math
from typing import NamedTuple

import numpy as np

from config.arrays import Floats, Ints, Singles
from config.jit import inline_kernel, kernel
from database.files.resample import OTHER_SIDE, ROTVEC_SIGN

VALID, NOT_FINITE, NEGATIVE = 0, -1, -2  # of a query
HUGE = 1e15  # squares of larger numbers are infinite in single precision, or nearly so
# The joint coordinates of a mirror image, without the root: coordinate i is IMAGE_SIGN[i] times coordinate IMAGE_COLUMN[i].
IMAGE_COLUMN = (3 * (OTHER_SIDE[1:, None] - 1) + np.arange(3)).ravel()
IMAGE_SIGN = np.tile(ROTVEC_SIGN, len(OTHER_SIDE) - 1).astype(np.float32)


class RawQuery(NamedTuple):
    """A query in double precision: fields as those of `reconstruct.search.exhaustive.Query`, empty arrays in place of None."""

    marker_m: Floats
    marker_weight: Floats
    ray: Floats
    pose: Floats
    pose_weight: Floats


class KernelQuery(NamedTuple):
    """A query in single precision; values without weight are zero.

    Attributes:
        marker: marker coordinates (3M,), with weights (3M,).
        on_ray: markers on rays, (R,), and ray: their directions times the root of the weight, (R, 3).
        pose: joint coordinates and then those of their mirror image, (2D,), with weights (2D,), or both (0,).
    """

    marker: Singles
    marker_weight: Singles
    on_ray: Ints
    ray: Singles
    pose: Singles
    pose_weight: Singles


class Features(NamedTuple):
    """Data to compare with queries: markers (N, 3M) and joint coordinates of every pose, the last D of each row of (N', ...).

    Where N' is less than N, pose N' + n is the mirror image of pose n: |mirror(q_n) - q| = |q_n - mirror(q)|.
    """

    marker_m: Singles
    pose: Singles


@kernel
def check_query(raw: RawQuery) -> int:
    """Return VALID, NOT_FINITE or NEGATIVE; values without weight may be anything."""
    for m in range(raw.marker_weight.shape[0]):
        weight = raw.marker_weight[m]
        if weight < 0.0:
            return NEGATIVE
        if weight != 0.0:
            for i in range(3):
                d = raw.ray[m, i] if raw.ray.shape[0] > 0 else 0.0
                if not (abs(raw.marker_m[m, i]) <= HUGE and abs(d) <= HUGE and weight <= HUGE):
                    return NOT_FINITE
    for i in range(raw.pose.shape[0]):
        if raw.pose_weight[i] < 0.0:
            return NEGATIVE
        if raw.pose_weight[i] != 0.0 and not (abs(raw.pose[i]) <= HUGE and raw.pose_weight[i] <= HUGE):
            return NOT_FINITE
    return VALID


@kernel
def convert_query(raw: RawQuery) -> KernelQuery:
    """Convert a valid query to single precision."""
    n_markers, n_pose, n_rays = raw.marker_weight.shape[0], raw.pose.shape[0], 0
    marker, marker_weight = np.zeros(3 * n_markers, np.float32), np.zeros(3 * n_markers, np.float32)
    on_ray, ray = np.empty(n_markers, np.int64), np.empty((n_markers, 3), np.float32)
    pose, pose_weight = np.zeros(2 * n_pose, np.float32), np.zeros(2 * n_pose, np.float32)
    for m in range(n_markers):
        weight = raw.marker_weight[m]
        if weight == 0.0:
            continue
        along, length2 = 0.0, 0.0
        for i in range(3):
            x = raw.marker_m[m, i]
            d = raw.ray[m, i] if raw.ray.shape[0] > 0 else 0.0
            along += x * d
            length2 += d * d
            marker[3 * m + i], marker_weight[3 * m + i] = x, weight
            ray[n_rays, i] = d * math.sqrt(weight)
        if length2 > 0.0:
            # The ray's point nearest the root, so that single precision subtracts no large squares.
            for i in range(3):
                marker[3 * m + i] = raw.marker_m[m, i] - along * raw.ray[m, i]
            on_ray[n_rays] = m
            n_rays += 1
    for i in range(n_pose):
        if raw.pose_weight[i] != 0.0:
            pose[i], pose_weight[i] = raw.pose[i], raw.pose_weight[i]
    if n_pose == IMAGE_COLUMN.shape[0]:
        for i in range(n_pose):
            pose[n_pose + i], pose_weight[n_pose + i] = IMAGE_SIGN[i] * pose[IMAGE_COLUMN[i]], pose_weight[IMAGE_COLUMN[i]]
    return KernelQuery(marker, marker_weight, on_ray[:n_rays], ray[:n_rays], pose, pose_weight)


@inline_kernel
def _compute_marker_distance(markers: Singles, row: int | np.signedinteger, query: KernelQuery) -> np.float32:
    """Return the markers' part of the squared distance of one pose; of markers on a ray only what is across it."""
    q, w, on_ray, ray = query.marker, query.marker_weight, query.on_ray, query.ray
    s = np.float32(0.0)
    for i in range(q.shape[0]):
        e = markers[row, i] - q[i]
        s += w[i] * e * e
    for r in range(on_ray.shape[0]):
        along = np.float32(0.0)
        for i in range(3):
            along += ray[r, i] * (markers[row, 3 * on_ray[r] + i] - q[3 * on_ray[r] + i])
        s = max(s - along * along, np.float32(0.0))
    return s


@inline_kernel
def _compute_pose_distance(poses: Singles, row: int | np.signedinteger, query: KernelQuery) -> np.float32:
    """Return the joints' part of the squared distance of one pose."""
    D = query.pose.shape[0] // 2
    there, half = row, 0
    if row >= poses.shape[0]:
        there, half = row - poses.shape[0], D
    # Slices, since an index that is a sum might be negative for all that the compiler knows, which costs vector instructions.
    own, pose, weight = poses[there, poses.shape[1] - D :], query.pose[half:], query.pose_weight[half:]
    s = np.float32(0.0)
    for i in range(D):
        e = own[i] - pose[i]
        s += weight[i] * e * e
    return s


# Distances of many poses are computed in one call: a call costs more than the distance of one pose.
@kernel
def compute_marker_distances(markers: Singles, query: KernelQuery, out: Singles) -> None:
    """Write the markers' part of the squared distance of all poses, (N,).

    Args:
        markers: markers of all poses, (N, 3M) float32 [m].
        query: query that poses are compared with.
        out: squared distances, (N,); written.
    """
    for row in range(markers.shape[0]):
        out[row] = _compute_marker_distance(markers, row, query)


@kernel
def compute_row_distances(markers: Singles, query: KernelQuery, rows: Ints, out: Singles) -> None:
    """Write the markers' part of the squared distance of some poses, (R,).

    Args:
        markers: markers of all poses, (N, 3M) float32 [m].
        query: query that poses are compared with.
        rows: rows of the poses to compare, (R,).
        out: squared distances, (R,); written.
    """
    for k in range(rows.shape[0]):
        out[k] = _compute_marker_distance(markers, rows[k], query)


@kernel
def add_pose_distances_of(poses: Singles, query: KernelQuery, rows: Ints, limit: np.float32, out: Singles) -> None:
    """Add the squared joint differences of some poses to their distances, (R,), where these are under `limit`.

    Args:
        poses: joints of all poses, (N, D) float32 [rad].
        query: query that poses are compared with.
        rows: rows of the poses to compare, (R,).
        limit: squared distance that ends the comparison.
        out: squared distances, (R,); added to.
    """
    for k in range(rows.shape[0]):
        if out[k] < limit:
            out[k] += _compute_pose_distance(poses, rows[k], query)


@kernel
def write_distances(features: Features, raw: RawQuery, limit: np.float32, out: Singles) -> int:
    """Write the squared distances of all poses, (N,); where the markers' part alone exceeds `limit`, that part.

    Args:
        features: markers and joints of the known poses.
        raw: the query as given.
        limit: squared distance of the markers beyond which joints are not compared.
        out: squared distances, (N,); written.
    Returns: the status of the query.
    """
    status = check_query(raw)
    if status != VALID:
        return status
    query = convert_query(raw)
    compute_marker_distances(features.marker_m, query, out)
    for row in range(out.shape[0]):
        if out[row] <= limit:
            out[row] += _compute_pose_distance(features.pose, row, query)
    return status
