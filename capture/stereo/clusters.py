"""Clusters of blobs of three views or more: which of them are one point.

A blob of a third view that pairs with both of a pair confirms it. Pairs are joined in the order of their costs less what those
that confirm them save, and a cluster takes a blob only where all its views then see one point.
"""

from typing import NamedTuple

import numpy as np

from calibration.camera import Camera
from calibration.triangulate import Sights, packed_camera, project_point, write_triangulated
from capture.packets import Blobs
from config.arrays import Bools, Floats, Ints, read_only
from config.jit import kernel


class BlobTable(NamedTuple):
    """The blobs of V views in one list: camera (N,), blob: number within its view (N,), px and ideal (N, 2), sigma_px (N,)."""

    camera: Ints
    blob: Ints
    px: Floats
    ideal: Floats
    sigma_px: Floats


class Clusters(NamedTuple):
    """Clusters as they grow: member (C, V), rows of the table or -1; of: cluster of each row, (N,) or -1; n: of them, (1,)."""

    member: Ints
    of: Ints
    n: Ints


def make_blob_table(views: list[Blobs], cameras: list[Camera]) -> BlobTable:
    """Return the blobs of V views, a camera each."""
    return BlobTable(
        camera=np.repeat(np.arange(len(views)), [len(blobs) for blobs in views]),
        blob=np.concatenate([np.arange(len(blobs)) for blobs in views]),
        px=np.concatenate([blobs.points_px for blobs in views]),
        ideal=np.concatenate([camera.undistort(blobs.points_px) for camera, blobs in zip(cameras, views, strict=True)]),
        sigma_px=np.concatenate([blobs.sigma_px for blobs in views]),
    )


def pack_cameras(cameras: list[Camera]) -> Floats:
    """Return cameras as rows of numbers for the kernels, (V, 22)."""
    return read_only(np.stack([packed_camera(camera) for camera in cameras]))


def start_clusters(n_blobs: int, n_views: int) -> Clusters:
    """Return no clusters of so many blobs."""
    return Clusters(np.full((n_blobs, n_views), -1), np.full(n_blobs, -1), np.zeros(1, np.int64))


@kernel
def score_pairs(camera: Ints, first: Ints, second: Ints, cost: Floats, unseen: float, score: Floats) -> None:
    """Write the cost of pairs of blobs, (E,), less what blobs of other cameras save that pair with both.

    camera: of the blobs, (N,); first, second: the pairs, (E,), rows of a table; cost: of each pair, (E,); unseen: cost of a
    camera that does not see a point, which the cheapest two pairs with a blob of it save where they cost less.
    """
    n_blobs = len(camera)
    of_two = np.full((n_blobs, n_blobs), np.inf)
    for e in range(len(first)):
        of_two[first[e], second[e]] = of_two[second[e], first[e]] = cost[e]
    least = np.empty(camera.max() + 1)
    for e in range(len(first)):
        i, j = first[e], second[e]
        least[:] = unseen
        for k in range(n_blobs):
            least[camera[k]] = min(least[camera[k]], of_two[i, k] + of_two[j, k])
        score[e] = cost[e] - (unseen - least).sum()


@kernel
def _meet_in_one_point(cameras: Floats, table: BlobTable, row: Ints, limit_px: float) -> bool:
    """Return whether the blobs of a cluster, (V,), lie within a limit of the images of one point [px]."""
    n_views = len(cameras)
    px, ideal = np.zeros((n_views, 1, 2)), np.zeros((n_views, 1, 2))
    sigma, seen = np.ones((n_views, 1)), np.zeros((n_views, 1), np.bool_)
    for v in range(n_views):
        if row[v] >= 0:
            seen[v, 0], sigma[v, 0] = True, table.sigma_px[row[v]]
            px[v, 0], ideal[v, 0] = table.px[row[v]], table.ideal[row[v]]
    point, covariance = np.empty((1, 3)), np.empty((1, 3, 3))
    write_triangulated(cameras, Sights(px, ideal, sigma, seen), point, covariance)
    uv, J = np.empty(2), np.empty((2, 3))
    for v in range(n_views):
        if seen[v, 0]:
            if not project_point(cameras[v], point[0], uv, J):
                return False
            if (uv[0] - px[v, 0, 0]) ** 2 + (uv[1] - px[v, 0, 1]) ** 2 > limit_px * limit_px:
                return False
    return True


@kernel
def _joined(clusters: Clusters, table: BlobTable, i: int, j: int, row: Ints) -> int:
    """Write the cluster that two blobs and their clusters make, (V,), and return its number of blobs, 0 where it cannot be."""
    row[:] = -1
    for k in (i, j):
        c = clusters.of[k]
        for v in range(len(row)):
            member = clusters.member[c, v] if c >= 0 else (k if table.camera[k] == v else -1)
            if member >= 0:
                if row[v] >= 0:
                    return 0
                row[v] = member
    n = 0
    for v in range(len(row)):
        n += row[v] >= 0
    return n


@kernel
def grow_clusters(
    cameras: Floats, table: BlobTable, first: Ints, second: Ints, order: Ints, limit_px: float, clusters: Clusters
) -> None:
    """Join pairs of blobs, first and second (E,), in an order, to clusters whose blobs meet in one point.

    cameras: (V, 22); order: numbers of pairs, (K,); limit_px: farthest that a blob may be from the image of its point.
    """
    row = np.empty(len(cameras), np.int64)
    for e in order:
        i, j = first[e], second[e]
        a, b = clusters.of[i], clusters.of[j]
        if a >= 0 and a == b:
            continue
        n = _joined(clusters, table, i, j, row)
        if n == 0 or (n > 2 and not _meet_in_one_point(cameras, table, row, limit_px)):
            continue
        target = a if a >= 0 else b
        if target < 0:
            target = clusters.n[0]
            clusters.n[0] += 1
        if a >= 0 and b >= 0:
            clusters.member[b] = -1
        clusters.member[target] = row
        for v in range(len(row)):
            if row[v] >= 0:
                clusters.of[row[v]] = target


def triangulate_clusters(cameras: Floats, table: BlobTable, member: Ints) -> tuple[Floats, Floats]:
    """Return the points of clusters and their covariances, (P, 3) [m] and (P, 3, 3) [m^2]; member: rows of the table, (P, V)."""
    seen: Bools = np.ascontiguousarray(member.T >= 0)
    row = np.where(seen, member.T, 0)
    sigma = np.where(seen, table.sigma_px[row], 1.0)
    point, covariance = np.empty((len(member), 3)), np.empty((len(member), 3, 3))
    sights = Sights(np.ascontiguousarray(table.px[row]), np.ascontiguousarray(table.ideal[row]), sigma, seen)
    write_triangulated(cameras, sights, point, covariance)
    return point, covariance
