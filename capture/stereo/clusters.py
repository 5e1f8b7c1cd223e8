"""Clusters of blobs of three views or more: which of them are one point.

A blob of a third view that pairs with both of a pair and lies where their point is seen confirms it. Pairs are joined in the
order of their costs less what those that confirm them save; a cluster takes a blob only where all its views then see one point.
"""

import math
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from calibration.camera import Camera, Rig
from calibration.triangulate import Sights, pack_camera, project_point, write_triangulated
from capture.packets import Blobs, Views
from capture.stereo.candidates import MAX_POSITION, UNPAIRED, UNPREDICTED, MatchedBlobs, compute_match_limits, find_candidates
from config.arrays import Bools, Floats, Ints, make_read_only
from config.jit import kernel
from config.settings import MatchSettings

UNSEEN = 0.5 * UNPAIRED  # a view that does not see a point, as an unpaired blob
LIKELIER = 1.0  # by how much less two blobs must cost as images of two predicted markers than as a point, not to be one


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


class BlobPairs(NamedTuple):
    """Possible pairs of blobs of several views: rows of a `BlobTable`, (E,) each, and fields as in `Candidates`."""

    first: Ints
    second: Ints
    distance_px: Floats
    point_m: Floats
    covariance_m2: Floats
    cost: Floats


def match_clusters(views: Views, seeing: list[int], rig: Rig, s: MatchSettings, predicted_m: Floats) -> MatchedBlobs:
    """Return the points of three views or more.

    Args:
        views: what the cameras saw at one time.
        seeing: numbers of the cameras that see something.
        s: of the matching.
        predicted_m: predicted markers, (M, 3) world [m].
    """
    blobs, lenses = [views[camera] for camera in seeing], [rig.cameras[camera] for camera in seeing]
    table, cameras = make_blob_table(blobs, lenses), pack_cameras(lenses)
    edges = _find_blob_pairs(views, seeing, rig, s, predicted_m)
    score, n_blobs = np.empty(len(edges.first)), len(table.camera)
    clusters = Clusters(np.full((n_blobs, len(seeing)), -1), np.full(n_blobs, -1), np.zeros(1, np.int64))
    score_pairs(cameras, table, edges, UNSEEN, s.epipolar_sigma_px, score)
    confirmed = score < edges.cost
    if len(predicted_m):
        apart = _compute_marker_cost(blobs, lenses, edges, predicted_m, s.temporal_sigma_m)
        score = np.where(confirmed | (edges.cost < apart + LIKELIER), score, UNPAIRED)
    else:
        score = score + np.where(confirmed, 0.0, _compute_outside_cost(edges.point_m, edges.point_m[confirmed], s.extent_m))
    order = np.argsort(score, kind="stable")
    order = order[score[order] < UNPAIRED]
    limit_px = compute_match_limits(abs(views.residual_skew_ns), s).max_epipolar_px
    grow_clusters(cameras, table, edges.first, edges.second, order, limit_px, clusters)
    member = clusters.member[clusters.member.max(axis=1) >= 0]
    blob = np.full((len(views), len(member)), -1)
    blob[seeing] = np.where(member >= 0, table.blob[member], -1).T
    point_m, covariance_m2 = triangulate_clusters(cameras, table, member)
    return MatchedBlobs(blob, point_m, covariance_m2, _compute_cluster_distances(edges, member))


def _find_blob_pairs(views: Views, seeing: list[int], rig: Rig, s: MatchSettings, predicted_m: Floats) -> BlobPairs:
    """Return the possible pairs of blobs of all views that are cheap enough."""
    start = dict(zip(seeing, np.cumsum([0, *(len(views[camera]) for camera in seeing)]).tolist(), strict=False))
    found = list[BlobPairs]()
    for a, b in combinations(seeing, 2):
        pair = find_candidates(views, (a, b), rig, s, predicted_m)
        cheap = pair.cost < UNPAIRED
        first, second = pair.first[cheap] + start[a], pair.second[cheap] + start[b]
        point_m, covariance_m2 = pair.point_m[cheap], pair.covariance_m2[cheap]
        found.append(BlobPairs(first, second, pair.distance_px[cheap], point_m, covariance_m2, pair.cost[cheap]))
    return BlobPairs._make(np.concatenate(parts) for parts in zip(*found, strict=True))


def _compute_marker_cost(
    blobs: Sequence[Blobs], cameras: Sequence[Camera], edges: BlobPairs, predicted_m: Floats, sigma_m: float
) -> Floats:
    """Return what pairs of blobs cost as images of two predicted markers, (E,): squared distances from these in their sigmas.

    A pair that no third view confirms and that costs more is most likely no point: with three views or more, lines through the
    images of different markers cross in many places of the body.

    Args:
        blobs: of each view, whose rows in their order are those of the edges.
        cameras: of these views.
        edges: the pairs.
        predicted_m: markers, (M, 3) [m] world.
        sigma_m: of each of them [m].
    """
    squared = np.concatenate(
        [_compute_squared_distances(each, camera, predicted_m, sigma_m) for each, camera in zip(blobs, cameras, strict=True)]
    )
    nearest = squared.argmin(axis=1)
    first = squared[np.arange(len(squared)), nearest]
    squared[np.arange(len(squared)), nearest] = np.inf
    second = squared.min(axis=1)
    a, b = edges.first, edges.second
    same = np.minimum(first[a] + second[b], second[a] + first[b])
    return np.asarray(np.where(nearest[a] == nearest[b], same, first[a] + first[b]))


def _compute_squared_distances(blobs: Blobs, camera: Camera, marker_m: Floats, sigma_m: float) -> Floats:
    """Return squared distances of blobs from the images of markers, (N, M), in sigmas of the markers."""
    depth_m = np.maximum(camera.to_camera(marker_m)[:, 2], 0.3)
    away_px = np.linalg.norm(blobs.points_px[:, None] - camera.project(marker_m)[None], axis=2)
    return np.asarray((away_px * depth_m / (camera.focal_px * sigma_m)) ** 2)


def _compute_outside_cost(point_m: Floats, confirmed_m: Floats, extent_m: float) -> Floats:
    """Return what points, (E, 3), cost by their distance from the middle of confirmed ones, (C, 3) [m]."""
    if not len(confirmed_m):
        return np.zeros(len(point_m))
    from_body_m = np.linalg.norm(point_m - np.median(confirmed_m, axis=0), axis=1)
    return np.asarray(np.minimum((from_body_m / extent_m) ** 2 + UNPREDICTED, MAX_POSITION))


def _compute_cluster_distances(edges: BlobPairs, member: Ints) -> Floats:
    """Return the largest distance from an epipolar line within each cluster, (P,) [px]."""
    of = np.full(int(max(edges.first.max(initial=-1), edges.second.max(initial=-1), member.max(initial=-1))) + 1, -1)
    cluster, view = np.nonzero(member >= 0)
    of[member[cluster, view]] = cluster
    within = (of[edges.first] == of[edges.second]) & (of[edges.first] >= 0)
    distance_px = np.zeros(len(member))
    np.maximum.at(distance_px, of[edges.first[within]], edges.distance_px[within])
    return distance_px


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
    return make_read_only(np.stack([pack_camera(camera) for camera in cameras]))


@kernel
def score_pairs(cameras: Floats, table: BlobTable, edges: BlobPairs, unseen: float, sigma_px: float, score: Floats) -> None:
    """Write the cost of pairs of blobs, (E,), less what blobs of other cameras save that pair with both and see their point.

    Where the cameras and several markers lie near one plane, as with arms held level at the cameras' height, blobs of different
    markers lie on each other's epipolar lines in all views; only the place along the line then tells that they are no point.

    Args:
        cameras: (V, 22).
        edges: the pairs.
        unseen: cost of a camera that does not see a point, which the cheapest two pairs with a blob of it save where they and the
            blob's distance from the image of the pair's point cost less.
        sigma_px: usual distance from that image, beside the point's own uncertainty.
        score: (E,); written.
    """
    n_blobs = len(table.camera)
    of_two = np.full((n_blobs, n_blobs), np.inf)
    for e in range(len(edges.cost)):
        of_two[edges.first[e], edges.second[e]] = of_two[edges.second[e], edges.first[e]] = edges.cost[e]
    least, uv, J = np.empty(len(cameras)), np.empty(2), np.empty((2, 3))
    for e in range(len(edges.cost)):
        i, j = edges.first[e], edges.second[e]
        least[:] = unseen
        for k in range(n_blobs):
            camera, cost = table.camera[k], of_two[i, k] + of_two[j, k]
            if cost < least[camera] and project_point(cameras[camera], edges.point_m[e], uv, J):
                cost += _compute_image_cost(uv, J, edges.covariance_m2[e], table.px[k], sigma_px)
                least[camera] = min(least[camera], cost)
        score[e] = edges.cost[e] - (unseen - least).sum()


@kernel
def _compute_image_cost(uv: Floats, J: Floats, covariance_m2: Floats, px: Floats, sigma_px: float) -> float:
    """Return what the distance of a blob from a point's image costs: 2 log(1 + d'S^-1 d / 2), S = J C J' + sigma^2 I.

    uv (2,), J (2, 3): the image and its Jacobian; covariance_m2: C (3, 3); px: the blob, (2,).
    """
    a, b, c = sigma_px * sigma_px, 0.0, sigma_px * sigma_px
    for m in range(3):
        for n in range(3):
            a += J[0, m] * covariance_m2[m, n] * J[0, n]
            b += J[0, m] * covariance_m2[m, n] * J[1, n]
            c += J[1, m] * covariance_m2[m, n] * J[1, n]
    x, y = px[0] - uv[0], px[1] - uv[1]
    return 2.0 * math.log1p(0.5 * (c * x * x - 2.0 * b * x * y + a * y * y) / (a * c - b * b))


@kernel
def _is_one_point(cameras: Floats, table: BlobTable, row: Ints, limit_px: float) -> bool:
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
def _join_clusters(clusters: Clusters, table: BlobTable, i: int, j: int, row: Ints) -> int:
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
    """Join pairs of blobs, in an order, to clusters whose blobs meet in one point.

    Args:
        cameras: (V, 22).
        first, second: rows of the pairs' blobs, (E,).
        order: numbers of pairs, (K,).
        limit_px: farthest that a blob may be from the image of its point.
        clusters: grown in place.
    """
    row = np.empty(len(cameras), np.int64)
    for e in order:
        i, j = first[e], second[e]
        a, b = clusters.of[i], clusters.of[j]
        if a >= 0 and a == b:
            continue
        n = _join_clusters(clusters, table, i, j, row)
        if n == 0 or (n > 2 and not _is_one_point(cameras, table, row, limit_px)):
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
    """Return the points of clusters, (P, 3) [m], and their covariances, (P, 3, 3) [m^2].

    Args:
        cameras: (V, 22).
        member: rows of the table, (P, V), -1 for none.
    """
    seen: Bools = np.ascontiguousarray(member.T >= 0)
    row = np.where(seen, member.T, 0)
    sigma = np.where(seen, table.sigma_px[row], 1.0)
    point, covariance = np.empty((len(member), 3)), np.empty((len(member), 3, 3))
    sights = Sights(np.ascontiguousarray(table.px[row]), np.ascontiguousarray(table.ideal[row]), sigma, seen)
    write_triangulated(cameras, sights, point, covariance)
    return point, covariance
