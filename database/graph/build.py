"""Build the neighbour graph of a database exactly, extend it with new poses, and store it (Chai & Hodgins 2005, eq. 4)."""

import math
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from queue import SimpleQueue

import numpy as np
from numpy.typing import NDArray

from config.arrays import Bools, Floats, Ints, Singles
from config.errors import DatabaseError
from database.container import add_arrays
from database.graph.kernels import (
    LANES,
    NO_KEY,
    PARTNER_BITS,
    TILE,
    PartnerTable,
    PoseRows,
    Segments,
    _join_span,
    _merge_keys,
    _write_row_keys,
    _write_segment_centres,
)
from database.graph.neighbours import EPS_RAD, Graph, arrays_from_graph, find_graph
from database.store import Derive, Progress, list_database_files, open_database

# 46 of the 66 coordinates have a standard deviation of a degree or more over the CMU motions; the others, such as the second and
# third of a knee, hardly move. A limit per joint angle is therefore multiplied by 46 for the L1 distance.
JOINT_ANGLES = 46
DEGREE = 16
# The limit is rounded up to whole steps a joint angle, so that adding clips to a database seldom moves it.
LIMIT_STEP_RAD = math.radians(0.25)
UNIT_RAD = 2.0**-21
MAX_RAD = 7.0  # 66 differences of twice this, in units, stay below 2^31
SEGMENT_S = 2.0 / 15.0  # duration of a segment
BLOCK = 1 << 15  # rows converted at once
SPAN = 16  # segments joined in one call with all before them
MAX_THREADS = 4  # each has a table of its own, 132 bytes a pose


def compute_limit_rad(rotvec: Singles, clip_start: Ints, fps: float, camera_fps: float, eps_rad: float = EPS_RAD) -> float:
    """Return the L1 distance below which poses are joined: max(f_m dd / f_c, eps) of eq. 4, over all joint angles [rad].

    In the paper dd is the largest L1 distance of consecutive poses. One bad frame among thousands would then join all poses
    with each other, so the 2 largest steps (away and back) and one in a thousand do not count. Rounded up to `LIMIT_STEP_RAD`.

    Args:
        rotvec: charted rotation vectors, row 0 the root, (N, J, 3) [rad].
        clip_start: first pose of each clip and N, (C + 1,).
        fps: f_m.
        camera_fps: f_c.
        eps_rad: eps, the least limit.
    """
    steps = np.sort(np.concatenate([np.zeros(1), *_compute_steps_rad(rotvec, clip_start)]))
    counted = max(len(steps) - 1 - (2 + len(steps) // 1000), 0)
    per_angle = max(fps * float(steps[counted]) / camera_fps / JOINT_ANGLES, eps_rad)
    return JOINT_ANGLES * LIMIT_STEP_RAD * math.ceil(per_angle / LIMIT_STEP_RAD - 1e-9)


def _compute_steps_rad(rotvec: Singles, clip_start: Ints) -> Iterator[Floats]:
    """Return the L1 distances of consecutive poses, clip by clip."""
    for first, stop in pairwise(clip_start):
        yield np.abs(np.diff(rotvec[first:stop, 1:].astype(np.float64), axis=0)).sum((1, 2))


def build_graph(
    rotvec: Singles,
    clip_start: Ints,
    *,
    fps: float,
    camera_fps: float = 60.0,
    degree: int = DEGREE,
    eps_rad: float = EPS_RAD,
    seed: int = 0,
    progress: Progress | None = None,
) -> Graph:
    """Join every pose with a sample of its ball: the poses whose L1 distance from it, without the root, is below that of eq. 4.

    The samples are drawn uniformly and for each pose independently, so that edges have a direction. The previous and next pose
    of the clip are added at any distance. The balls are exact for coordinates rounded to `UNIT_RAD`, and never all in memory.

    Args:
        rotvec: charted rotation vectors, row 0 the root, (N, J, 3) [rad].
        clip_start: first pose of each clip and N.
        fps, camera_fps: f_m and f_c.
        degree: size of the samples.
        eps_rad: eps of eq. 4.
        seed: of the samples.
        progress: called with what is done, and of how much.
    Raises: DatabaseError: coordinates that are no rotation vectors.
    """
    limit = compute_limit_rad(rotvec, clip_start, fps, camera_fps, eps_rad)
    poses = pack_pose_rows(rotvec, clip_start, fps, limit, seed)
    table = _make_empty_table(len(rotvec), degree)
    _join_segments(poses, 0, table, progress)
    start, neighbour = _pack_csr(poses.follows, table.keys)
    return Graph(start, neighbour, table.ball, poses.limit * UNIT_RAD, degree, seed, camera_fps, eps_rad)


def extend_graph(graph: Graph, rotvec: Singles, clip_start: Ints, *, fps: float, progress: Progress | None = None) -> Graph:
    """Return the graph of a database to whose end clips were added, equal to that of a new build.

    Only new poses are compared with all others, unless they change the limit (see `limit_rad`), which needs a new build.

    Args:
        graph: of the first poses, which end where a clip ends.
        rotvec, clip_start, fps: of all poses.
        progress: called with what is done, and of how much.
    Raises: DatabaseError: the graph ends within a clip, and as `build_graph`.
    """
    old_n, degree, seed = graph.n_poses, graph.degree, graph.seed
    if old_n not in clip_start:
        raise DatabaseError(f"the neighbour graph ends at pose {old_n}, in the middle of a clip; build the database again")
    limit = compute_limit_rad(rotvec, clip_start, fps, graph.camera_fps, graph.eps_rad)
    if abs(limit - graph.radius_rad) > UNIT_RAD:
        rebuild = partial(build_graph, rotvec, clip_start, fps=fps, camera_fps=graph.camera_fps, eps_rad=graph.eps_rad)
        return rebuild(degree=degree, seed=seed, progress=progress)
    poses = pack_pose_rows(rotvec, clip_start, fps, limit, seed)
    table = _make_empty_table(len(rotvec), degree)
    table.ball[:old_n] = graph.ball
    _write_row_keys(np.asarray(graph.start), np.asarray(graph.neighbour), poses.follows, poses.salt, table.keys)
    _join_segments(poses, int(np.searchsorted(poses.segments.start, old_n)), table, progress)
    start, neighbour = _pack_csr(poses.follows, table.keys)
    return replace(graph, start=start, neighbour=neighbour, ball=table.ball)


def pack_pose_rows(rotvec: Singles, clip_start: Ints, fps: float, radius_rad: float, seed: int) -> PoseRows:
    """Return a database's poses as the kernels take them.

    Args:
        rotvec: charted rotation vectors, row 0 the root, (N, J, 3) [rad].
        clip_start: first pose of each clip and N, (C + 1,).
        fps: frames a second.
        radius_rad: L1 distance up to which poses are joined.
        seed: of the samples.
    """
    rows = _quantise_rows(rotvec)
    start = _compute_segment_starts(clip_start, max(2, round(SEGMENT_S * fps)))
    centre = np.empty((len(start) - 1, rows.shape[1]), np.int32)
    radius = np.empty(len(start) - 1, np.int32)
    _write_segment_centres(rows, start, centre, radius)
    follows = np.ones(len(rows), np.bool_)
    follows[clip_start[:-1]] = False
    salt = int(np.random.default_rng(seed).integers(1 << 32))
    return PoseRows(rows, Segments(start, centre, radius), follows, math.ceil(radius_rad / UNIT_RAD), salt)


def _quantise_rows(rotvec: Singles) -> NDArray[np.int32]:
    """Return the coordinates in units of `UNIT_RAD`, (N, D), D a multiple of LANES, without those that never change."""
    n = len(rotvec)
    if n >= 1 << PARTNER_BITS:
        raise DatabaseError(f"{n} poses are too many for a neighbour graph; expected fewer than {1 << PARTNER_BITS}")
    flat = rotvec[:, 1:].reshape(n, -1)
    low, high = flat.min(axis=0).astype(np.float64), flat.max(axis=0).astype(np.float64)
    if not (low > -MAX_RAD).all() or not (high < MAX_RAD).all():
        worst = max(-low.min(), high.max())
        raise DatabaseError(f"a rotation vector has a part of {worst:.1f} rad; expected pi at most, build the database again")
    moving = np.flatnonzero(np.rint(high / UNIT_RAD) > np.rint(low / UNIT_RAD))
    rows = np.zeros((n, max(LANES, -(-len(moving) // LANES) * LANES)), np.int32)
    for first in range(0, n, BLOCK):
        part = slice(first, first + BLOCK)
        rows[part, : len(moving)] = np.rint(flat[part][:, moving].astype(np.float64) / UNIT_RAD)
    return rows


def _compute_segment_starts(clip_start: Ints, length: int) -> Ints:
    """Return the first poses of segments of `length` poses, the last of a clip shorter, and N."""
    cuts = [np.arange(first, stop, length) for first, stop in pairwise(clip_start)]
    return np.concatenate([*cuts, clip_start[-1:]]).astype(np.int64)


def _make_empty_table(n_poses: int, degree: int) -> PartnerTable:
    """Return a table without any pair."""
    return PartnerTable(np.full((n_poses, degree), NO_KEY, np.int64), np.zeros(n_poses, np.int32))


def _join_segments(poses: PoseRows, first_segment: int, table: PartnerTable, progress: Progress | None) -> None:
    """Join the poses of segments from `first_segment` on with all before them; every thread fills a table of its own."""
    start = poses.segments.start
    spans = [(s, min(s + SPAN, len(start) - 1)) for s in range(first_segment, len(start) - 1, SPAN)]
    n_threads = max(1, min(os.cpu_count() or 1, MAX_THREADS, len(spans) // 8))
    n_poses, degree = table.keys.shape
    others = [_make_empty_table(n_poses, degree) for _ in range(n_threads - 1)]
    free: SimpleQueue[PartnerTable] = SimpleQueue()
    for each in (table, *others):
        free.put(each)

    def run(first: int, stop: int) -> int:
        work = np.empty((3, max(TILE, int(np.diff(start).max()))), np.int64)
        mine = free.get()
        try:
            _join_span(poses, first, stop, mine, work)
        finally:
            free.put(mine)
        return int(start[stop] - start[first])

    done, total = 0, int(start[-1] - start[first_segment])
    with ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(n_threads))
        # When interrupted, only the spans that are being joined are finished.
        stack.callback(pool.shutdown, wait=True, cancel_futures=True)
        # The last spans meet the most poses; begun first, they do not leave one thread alone with them at the end.
        for future in as_completed([pool.submit(run, first, stop) for first, stop in reversed(spans)]):
            done += future.result()
            if progress is not None:
                progress(done, total, "neighbours")
    for other in others:
        _merge_keys(table.keys, other.keys)
        np.add(table.ball, other.ball, out=table.ball)


def _pack_csr(follows: Bools, keys: Ints) -> tuple[Ints, NDArray[np.int32]]:
    """Return start (N + 1,) and neighbour (E,): the sampled partners and the previous and next pose of the clip, ascending."""
    n, degree = keys.shape
    absent = np.int64(n)
    rows = np.full((n, degree + 2), absent, np.int64)
    rows[:, :degree] = np.where(keys == NO_KEY, absent, keys & ((1 << PARTNER_BITS) - 1))
    later = np.flatnonzero(follows)
    rows[later, degree] = later - 1
    rows[later - 1, degree + 1] = later
    rows.sort(axis=1)
    present = rows < absent
    start = np.concatenate([[0], np.cumsum(present.sum(axis=1))]).astype(np.int64)
    return start, rows[present].astype(np.int32)


def make_graph_deriver(progress: Progress | None = None) -> Derive:
    """Return the function that computes the graph while a database is written."""
    return lambda rotvec, clip_start, fps: arrays_from_graph(build_graph(rotvec, clip_start, fps=fps, progress=progress))


def make_graph_extender(path: str | Path, progress: Progress | None = None) -> Derive | None:
    """Return the function that extends a database's graph by clips that are added, None if it has no graph.

    Nothing of the file stays mapped, so that it can be replaced. Raises DatabaseError: the graph does not fit the poses.
    """
    stored = find_graph(open_database(path))
    if stored is None:
        return None
    graph = replace(stored, start=np.array(stored.start), neighbour=np.array(stored.neighbour), ball=np.array(stored.ball))
    del stored
    return lambda rotvec, clip_start, fps: arrays_from_graph(extend_graph(graph, rotvec, clip_start, fps=fps, progress=progress))


def store_graph(
    path: str | Path, camera_fps: float = 60.0, degree: int = DEGREE, seed: int = 0, progress: Progress | None = None
) -> None:
    """Build the graph of a database and store it in its file, atomically, in place of an old one.

    Of a database of several files it is stored in each.

    Args:
        path: the database.
        camera_fps: f_c.
        degree: size of the samples.
        seed: of the samples.
        progress: called with what is done, and of how much.
    Raises: DatabaseError: as `open_database` and `build_graph`.
    """
    for file in list_database_files(path):
        database = open_database(file)
        rule = {"fps": database.fps, "camera_fps": camera_fps}
        graph = build_graph(database.rotvec, database.clip_start, **rule, degree=degree, seed=seed, progress=progress)
        # Windows does not replace a file that is still mapped.
        del database
        add_arrays(file, arrays_from_graph(graph))
