"""Build the neighbour graph of a database exactly, and take new poses into it (Chai & Hodgins 2005, eq. 4)."""

import math
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from queue import SimpleQueue

import numpy as np
from numpy.typing import NDArray

from config.errors import DatabaseError
from database.graph import EPS_RAD, Graph
from database.graph_kernels import (
    LANES,
    NO_KEY,
    PARTNER_BITS,
    TILE,
    Segments,
    Table,
    _join_span,
    _keys_of_rows,
    _merge_keys,
    _middles,
)

Progress = Callable[[int, int, str], None]  # poses done, poses in all, what is being done

# Of our 66 coordinates 46 have a standard deviation of a degree and more over the CMU motions; the others, such as the second
# and third of a knee, stand still. A limit "per joint angle" is therefore a limit of 46 times as much on the L1 distance.
JOINT_ANGLES = 46
DEGREE = 16
# The limit is rounded up to whole steps a joint angle, so that adding clips to a database seldom moves it.
LIMIT_STEP_RAD = math.radians(0.25)
UNIT_RAD = 2.0**-21
LARGEST_RAD = 7.0  # 66 differences of twice this, in units, stay below 2^31
SEGMENT_S = 2.0 / 15.0  # duration of a segment
BLOCK = 1 << 15  # rows converted at once
SPAN = 16  # segments joined at once with all before them
MOST_THREADS = 4  # each holds a table of its own, 132 bytes a pose


def limit_rad(
    rotvec: NDArray[np.float32], clip_start: NDArray[np.int64], fps: float, camera_fps: float, eps_rad: float = EPS_RAD
) -> float:
    """Give the L1 distance under which poses are joined: max(f_m dd / f_c, eps) of eq. 4, over all joint angles [rad].

    dd is to be the largest L1 distance of consecutive poses. One bad frame among thousands would then join everything with
    everything, so the 2 largest steps (away and back) and one in a thousand do not count. Rounded up to `LIMIT_STEP_RAD`.
    """
    steps = np.sort(np.concatenate([np.zeros(1), *_steps_rad(rotvec, clip_start)]))
    counted = max(len(steps) - 1 - (2 + len(steps) // 1000), 0)
    per_angle = max(fps * float(steps[counted]) / camera_fps / JOINT_ANGLES, eps_rad)
    return JOINT_ANGLES * LIMIT_STEP_RAD * math.ceil(per_angle / LIMIT_STEP_RAD - 1e-9)


def _steps_rad(rotvec: NDArray[np.float32], clip_start: NDArray[np.int64]) -> Iterator[NDArray[np.float64]]:
    """Give the L1 distances of consecutive poses, clip by clip."""
    for first, stop in pairwise(clip_start):
        yield np.abs(np.diff(rotvec[first:stop, 1:].astype(np.float64), axis=0)).sum((1, 2))


def build_graph(
    rotvec: NDArray[np.float32],
    clip_start: NDArray[np.int64],
    *,
    fps: float,
    camera_fps: float = 60.0,
    degree: int = DEGREE,
    eps_rad: float = EPS_RAD,
    seed: int = 0,
    progress: Progress | None = None,
) -> Graph:
    """Join every pose with a sample of the poses whose L1 distance from it is under the limit of eq. 4, the root left out.

    rotvec: charted rotation vectors, row 0 the root, (N, J, 3) [rad]; clip_start: first pose of each clip and N; fps, camera_fps:
    f_m and f_c; degree: how many of a ball are kept. They are drawn uniformly, for each pose by itself, so that edges have a
    direction; to them come the poses before and after in the clip, whatever their distance. The balls are exact, for
    coordinates rounded to `UNIT_RAD`; no list of them is ever held.
    Raises DatabaseError for coordinates that are no rotation vectors.
    """
    limit = limit_rad(rotvec, clip_start, fps, camera_fps, eps_rad)
    poses = _Poses.of(rotvec, clip_start, fps, limit, seed)
    table = _empty_table(len(rotvec), degree)
    _join(poses, 0, table, progress)
    start, neighbour = _csr(poses.follows, table[0])
    return Graph(start, neighbour, table[1], poses.limit * UNIT_RAD, degree, seed, camera_fps, eps_rad)


def extended(
    graph: Graph,
    rotvec: NDArray[np.float32],
    clip_start: NDArray[np.int64],
    *,
    fps: float,
    progress: Progress | None = None,
) -> Graph:
    """Give the graph of a database to whose end clips were added; the same as building it anew.

    graph: of the first poses, which end where a clip ends; rotvec, clip_start, fps: of all poses. Only new poses are compared
    with all, unless they move the limit (see `limit_rad`), which takes a new build.
    Raises DatabaseError for a graph that ends within a clip, and as `build_graph`.
    """
    old_n, degree, seed = graph.n_poses, graph.degree, graph.seed
    if old_n not in clip_start:
        raise DatabaseError(f"the neighbour graph ends at pose {old_n}, in the middle of a clip; build the database again")
    limit = limit_rad(rotvec, clip_start, fps, graph.camera_fps, graph.eps_rad)
    if abs(limit - graph.radius_rad) > UNIT_RAD:
        anew = partial(build_graph, rotvec, clip_start, fps=fps, camera_fps=graph.camera_fps, eps_rad=graph.eps_rad)
        return anew(degree=degree, seed=seed, progress=progress)
    poses = _Poses.of(rotvec, clip_start, fps, limit, seed)
    keys, ball = _empty_table(len(rotvec), degree)
    ball[:old_n] = graph.ball
    _keys_of_rows(np.asarray(graph.start), np.asarray(graph.neighbour), poses.follows, poses.salt, keys)
    _join(poses, int(np.searchsorted(poses.segments[0], old_n)), (keys, ball), progress)
    start, neighbour = _csr(poses.follows, keys)
    return replace(graph, start=start, neighbour=neighbour, ball=ball)


@dataclass(frozen=True, slots=True)
class _Poses:
    """What the kernels are told of a database's poses."""

    rows: NDArray[np.int32]
    segments: Segments
    follows: NDArray[np.bool_]
    limit: int
    salt: int

    @classmethod
    def of(cls, rotvec: NDArray[np.float32], clip_start: NDArray[np.int64], fps: float, limit: float, seed: int) -> "_Poses":
        rows = _whole_rows(rotvec)
        start = _segment_starts(clip_start, max(2, round(SEGMENT_S * fps)))
        centre = np.empty((len(start) - 1, rows.shape[1]), np.int32)
        radius = np.empty(len(start) - 1, np.int32)
        _middles(rows, start, centre, radius)
        follows = np.ones(len(rows), np.bool_)
        follows[clip_start[:-1]] = False
        salt = int(np.random.default_rng(seed).integers(1 << 32))
        return cls(rows, (start, centre, radius), follows, math.ceil(limit / UNIT_RAD), salt)


def _whole_rows(rotvec: NDArray[np.float32]) -> NDArray[np.int32]:
    """Give the coordinates in units, (N, D), D a multiple of LANES; those that never move are left out."""
    n = len(rotvec)
    if n >= 1 << PARTNER_BITS:
        raise DatabaseError(f"{n} poses are too many for a neighbour graph; expected fewer than {1 << PARTNER_BITS}")
    flat = rotvec[:, 1:].reshape(n, -1)
    low, high = flat.min(axis=0).astype(np.float64), flat.max(axis=0).astype(np.float64)
    if not (low > -LARGEST_RAD).all() or not (high < LARGEST_RAD).all():
        worst = max(-low.min(), high.max())
        raise DatabaseError(f"a rotation vector has a part of {worst:.1f} rad; expected pi at most, build the database again")
    moving = np.flatnonzero(np.rint(high / UNIT_RAD) > np.rint(low / UNIT_RAD))
    rows = np.zeros((n, max(LANES, -(-len(moving) // LANES) * LANES)), np.int32)
    for first in range(0, n, BLOCK):
        part = slice(first, first + BLOCK)
        rows[part, : len(moving)] = np.rint(flat[part][:, moving].astype(np.float64) / UNIT_RAD)
    return rows


def _segment_starts(clip_start: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    """Cut every clip into segments of `length` poses, the last of a clip shorter; gives their first poses and N."""
    cuts = [np.arange(first, stop, length) for first, stop in pairwise(clip_start)]
    return np.concatenate([*cuts, clip_start[-1:]]).astype(np.int64)


def _empty_table(n_poses: int, degree: int) -> Table:
    """Give keys (N, degree) and ball sizes (N,) before any pair was found."""
    return np.full((n_poses, degree), NO_KEY, np.int64), np.zeros(n_poses, np.int32)


def _join(poses: _Poses, first_segment: int, table: Table, progress: Progress | None) -> None:
    """Join the poses of segments from `first_segment` on with all before them; every thread fills a table of its own."""
    start = poses.segments[0]
    spans = [(s, min(s + SPAN, len(start) - 1)) for s in range(first_segment, len(start) - 1, SPAN)]
    n_threads = max(1, min(os.cpu_count() or 1, MOST_THREADS, len(spans) // 8))
    n, degree = table[0].shape
    tables = [table, *(_empty_table(n, degree) for _ in range(n_threads - 1))]
    free: SimpleQueue[Table] = SimpleQueue()
    for each in tables:
        free.put(each)

    def run(span: tuple[int, int]) -> int:
        work = np.empty((3, max(TILE, int(np.diff(start).max()))), np.int64)
        mine = free.get()
        try:
            _join_span(poses.rows, poses.segments, span, poses.follows, poses.limit, poses.salt, mine, work)
        finally:
            free.put(mine)
        return int(start[span[1]] - start[span[0]])

    done, total = 0, int(start[-1] - start[first_segment])
    with ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(n_threads))
        # Interrupted, it shall end with the spans that are being joined.
        stack.callback(pool.shutdown, wait=True, cancel_futures=True)
        # The late spans meet the most poses; begun first, they leave no thread alone with them at the end.
        for future in as_completed([pool.submit(run, span) for span in reversed(spans)]):
            done += future.result()
            if progress is not None:
                progress(done, total, "neighbours")
    for keys, ball in tables[1:]:
        _merge_keys(table[0], keys)
        np.add(table[1], ball, out=table[1])


def _csr(follows: NDArray[np.bool_], keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Give the rows, start (N + 1,) and neighbour (E,): the sampled partners and the poses beside in the clip, ascending."""
    n, degree = keys.shape
    absent = np.int64(n)
    rows = np.full((n, degree + 2), absent, np.int64)
    rows[:, :degree] = np.where(keys == NO_KEY, absent, keys & ((1 << PARTNER_BITS) - 1))
    later = np.flatnonzero(follows)
    rows[later, degree] = later - 1
    rows[later - 1, degree + 1] = later
    rows.sort(axis=1)
    there = rows < absent
    start = np.concatenate([[0], np.cumsum(there.sum(axis=1))]).astype(np.int64)
    return start, rows[there].astype(np.int32)
