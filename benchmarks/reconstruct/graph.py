"""Cost of building the neighbour graph, against brute force and scikit-learn's BallTree.

    python -m benchmarks.reconstruct.graph [--database DB | --motion DIR] [--rows N] [--json F]

Poses are those of DB, of the paper's 433,622 poses at 120 Hz made of the CMU motions in DIR, or of the built-in database. Brute
force and the tree look up a random sample of poses; their time for all follows in proportion (brute force: half of it, as each
pair is needed once). Both run on one thread, as the build they are compared with. All must find the same number of poses within
the limit, or the run ends with status 1.
"""

import os
import sys
import time
from pathlib import Path
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from benchmarks.report import library, parser_of, write_json
from config.errors import DatabaseError, DuocapError
from database.graph.build import UNIT_RAD, build_graph, extended, limit_rad, pose_rows
from database.graph.kernels import PoseRows, _near
from database.graph.neighbours import Graph, graph_summary
from database.store import PoseDatabase, open_database
from tools.arguments import open_or_default
from tools.evaluate.search.grown import grown_database

Counts = NDArray[np.int64]
TILE_ROWS = 2048
TREE_ROWS = 100  # a tree takes milliseconds a row


def brute_force(poses: PoseRows, sample: Counts) -> Counts:
    """Count the poses within the limit of each of a sample, in tiles that stay in the cache."""
    out, n = np.empty(TILE_ROWS, np.int64), len(poses.rows)
    counts = np.full(len(sample), -1)
    for first in range(0, n, TILE_ROWS):
        stop = min(first + TILE_ROWS, n)
        for k, row in enumerate(sample):
            counts[k] += _near(poses.rows, int(row), poses.rows, poses.segments.radius[:0], first, stop, poses.limit, out)
    return counts


def ball_tree(database: PoseDatabase, sample: Counts, limit: float) -> tuple[float, float, Counts]:
    """Return seconds to build, seconds to look up, and the counts. Raises DatabaseError without scikit-learn."""
    neighbors = library("sklearn.neighbors", "scikit-learn")  # not needed with --rows 0
    flat = database.rotvec[:, 1:].reshape(database.n_poses, -1).astype(np.float64)
    begun = time.perf_counter()
    tree = neighbors.BallTree(flat, metric="manhattan")
    built = time.perf_counter()
    counts = tree.query_radius(flat[sample], np.nextafter(limit, 0.0), count_only=True) - 1
    return built - begun, time.perf_counter() - built, np.asarray(counts, np.int64)


def built_on(threads: int, database: PoseDatabase) -> tuple[float, Graph]:
    """Return seconds and graph with a number of threads."""
    with patch.object(os, "cpu_count", lambda: threads):
        begun = time.perf_counter()
        graph = build_graph(database.rotvec, database.clip_start, fps=database.fps)
        return time.perf_counter() - begun, graph


def added(database: PoseDatabase, graph: Graph) -> tuple[int, float, bool]:
    """Add the last twentieth of the clips to the graph of the others: poses added, seconds, whether the result is the same."""
    cut = max(1, database.n_clips - max(1, database.n_clips // 20))
    old_n = int(database.clip_start[cut])
    old = build_graph(database.rotvec[:old_n], database.clip_start[: cut + 1], fps=database.fps)
    begun = time.perf_counter()
    grown = extended(old, database.rotvec, database.clip_start, fps=database.fps)
    took = time.perf_counter() - begun
    same = np.array_equal(grown.neighbour, graph.neighbour) and np.array_equal(grown.ball, graph.ball)
    return database.n_poses - old_n, took, same


def measure(database: PoseDatabase, n_rows: int) -> dict[str, float | str]:
    """Measure all. Raises DatabaseError: the results differ."""
    n = database.n_poses
    few = int(database.clip_start[1])
    build_graph(database.rotvec[:few], database.clip_start[:2], fps=database.fps)  # compiles
    one, graph = built_on(1, database)
    several, again = built_on(os.cpu_count() or 1, database)
    out: dict[str, float | str] = {"poses": n, "graph": graph_summary(graph).line()}
    out |= {"one thread s": one, f"{os.cpu_count()} threads s": several}
    n_new, took, same = added(database, graph)
    out |= {"poses added": n_new, "adding s": took, "anew / adding": several / took}
    if not same or not np.array_equal(graph.neighbour, again.neighbour):
        raise DatabaseError("the graph depends on how it is built, in threads or by adding clips; expected one and the same")
    if n_rows == 0:
        return out
    limit = limit_rad(database.rotvec, database.clip_start, database.fps, 60.0)
    poses = pose_rows(database.rotvec, database.clip_start, database.fps, limit, 0)
    sample = np.random.default_rng(0).choice(n, min(n_rows, n), replace=False)
    brute_force(poses, sample[:1])
    begun = time.perf_counter()
    counts = brute_force(poses, sample)
    brute = (time.perf_counter() - begun) * n / len(sample) / 2
    few_rows = sample[:TREE_ROWS]
    built, looked, tree_counts = ball_tree(database, few_rows, poses.limit * UNIT_RAD)
    tree = built + looked * n / len(few_rows)
    wrong = int((counts != graph.ball[sample]).sum())
    # The tree's coordinates are not rounded: a pose at the limit may be on the other side.
    off = int(np.abs(tree_counts - graph.ball[few_rows]).max())
    out |= {"brute force s": brute, "brute force / one thread": brute / one}
    out |= {"BallTree s": tree, "BallTree / one thread": tree / one}
    out |= {"rows that differ": wrong, "poses more or fewer in the tree": off}
    if wrong or off > 2:
        raise DatabaseError(f"{wrong} of {len(sample)} balls differ from brute force, by {off} from the tree; expected none")
    return out


def main() -> int:
    """Run and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--database", type=Path, help="a database (default: the built-in one)")
    parser.add_argument("--motion", type=Path, help="CMU motions, to measure at the paper's size")
    parser.add_argument("--rows", type=int, default=1000, help="poses looked up by brute force; 0: only build")
    options = parser.parse_args()
    try:
        database = open_database(grown_database(options.motion)) if options.motion else open_or_default(options.database)
        figures = measure(database, options.rows)
    except DuocapError as error:
        print(error, file=sys.stderr)
        return 1
    for name, value in figures.items():
        print(f"{name:<32} {value if isinstance(value, str) else f'{value:.4g}' if value % 1 else f'{value:.0f}'}")
    write_json(options.json, figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
