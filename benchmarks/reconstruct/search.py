"""One query among 150,000 and 433,622 real poses: ours against faiss, scikit-learn and exhaustive search, at equal recall.

    python -m benchmarks.reconstruct.search --motion DIR [--poses 433622] [--frames 80] [--json F]

Every method gets the same queries, consecutive frames of clips that the database lacks, and the same weights. The others'
features are scaled by the weights beforehand; ours takes them with every query, as they change when markers are hidden. The
others search more until their recall is ours. `cold`: between queries a buffer larger than any cache is written, and methods
take turns query by query. `warm`: query after query. One thread each. Needs faiss-cpu and scikit-learn.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter, perf_counter_ns
from typing import Any

import numpy as np

from benchmarks.report import build_parser, format_ratio_cells, import_library, write_json
from config.arrays import Floats, Ints, Singles
from config.errors import DuocapError
from config.settings import Settings, SolveSettings
from database.graph.neighbours import find_graph
from database.store import open_database
from reconstruct.search.examples import Examples, compute_examples
from reconstruct.search.lists import build_lists
from reconstruct.search.nearest import Query, compute_distances, find_nearest, find_nearest_examples
from reconstruct.search.walk import PoseSearch
from tools.evaluate.protocol import protocol_clip, protocol_database
from tools.evaluate.queries import NOISE_M, load_query, marker_positions
from tools.evaluate.search.grown import PAPER_POSES, grown_database
from tools.evaluate.search.measure import graph_for, search_queries

CLIPS = ("14_02", "07_08", "09_12", "02_05", "16_05")  # boxing, walking, transitions, boxing, jumping
EVICT_BYTES = 256 << 20
Ask = Callable[[int], Ints]  # from the number of a query to the rows of the poses found


@dataclass(frozen=True, slots=True)
class SearchMethodFigures:
    """Of one method: seconds to build, medians [us] with warm and cold caches, recall, mean distance over the exact one."""

    method: str
    build_s: float
    warm_us: float
    cold_us: float
    recall: float
    ratio: float


def main(given: Sequence[str] | None = None) -> int:
    """Measure and print; 1 where something is missing."""
    parser = build_parser(__doc__)
    parser.add_argument("--motion", type=Path, required=True, help="unpacked CMU motions")
    parser.add_argument("--poses", type=int, choices=(150_000, PAPER_POSES), help="one database only: about 150,000 or 433622")
    parser.add_argument("--frames", type=int, default=80, help="of each clip")
    options = parser.parse_args(given)
    try:
        all_figures: dict[int, list[SearchMethodFigures]] = {}
        for wanted in (150_000, PAPER_POSES) if options.poses is None else (options.poses,):
            path = grown_database(options.motion) if wanted == PAPER_POSES else protocol_database(options.motion)
            n, figures = measure_methods(path, options.motion, options.frames, Settings().solve)
            print(f"\n{n} poses, K = {Settings().solve.neighbours}\n" + "\n".join(format_figures(figures)), flush=True)
            all_figures[n] = figures
        write_json(options.json, {str(n): figures for n, figures in all_figures.items()})
    except DuocapError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def measure_methods(path: Path, motion: Path, n_frames: int, settings: SolveSettings) -> tuple[int, list[SearchMethodFigures]]:
    """Measure every method on one database."""
    faiss, neighbors = import_library("faiss", "faiss-cpu"), import_library("sklearn.neighbors", "scikit-learn")
    faiss.omp_set_num_threads(1)
    table = open_database(path)
    queries, examples = _build_queries(motion, n_frames, settings, table)
    count = settings.neighbours
    begun = perf_counter()
    graph = graph_for(table, find_graph(table))
    search = PoseSearch(examples, graph, build_lists(examples.marker_m))
    ours_s = perf_counter() - begun
    exact = [find_nearest_examples(examples, query, count) for query in queries]
    scaled, points = _scale_features(examples, queries)
    last_seeds: list[Ints | None] = [None]

    def bounded(k: int) -> Ints:
        rows, _ = find_nearest_examples(examples, queries[k], count, last_seeds[0])
        last_seeds[0] = rows
        return rows

    methods: dict[str, tuple[float, Ask]] = {
        "ours": (ours_s, lambda k: search.nearest(queries[k], count)[0]),
        "exhaustive": (0.0, lambda k: find_nearest(compute_distances(examples, queries[k]), count)),
        "exhaustive, bounded by the last": (0.0, bounded),
    }
    recall = _compute_recall([methods["ours"][1](k) for k in range(len(queries))], exact)
    search.forget()
    methods |= _build_faiss_methods(faiss, scaled, points, exact, recall)
    begun = perf_counter()
    tree = neighbors.KDTree(scaled)
    methods["sklearn KDTree"] = (perf_counter() - begun, lambda k: tree.query(points[k : k + 1], count, return_distance=False)[0])
    cold, found = _time_cold(methods, len(queries))
    warm = _time_warm(methods, len(queries))
    return len(examples), [
        SearchMethodFigures(
            name,
            build_s,
            warm[name],
            cold[name],
            _compute_recall(found[name], exact),
            _compute_distance_ratio(found[name], queries, examples, exact),
        )
        for name, (build_s, _) in methods.items()
    ]


def _build_queries(motion: Path, n_frames: int, settings: SolveSettings, table: Any) -> tuple[list[Query], Examples]:
    """Return queries of all clips with the body of one performer and 5 mm of noise, and the examples for this performer."""
    rng, queries, subject = np.random.default_rng(0), [], None
    for stem in CLIPS:
        query = load_query(protocol_clip(stem), motion, "boxing", (n_frames + 2) / 60.0)
        subject = query.subject if subject is None else subject
        marker_m = marker_positions(subject, query.rotvec, query.root_m)
        noisy = replace(query, marker_m=marker_m + rng.normal(0.0, NOISE_M, marker_m.shape), sigma_m=NOISE_M)
        queries += search_queries(noisy, settings)
    assert subject is not None
    return queries, compute_examples(subject, table)


def _scale_features(examples: Examples, queries: Sequence[Query]) -> tuple[Singles, Singles]:
    """Return poses, (N, F), and queries, (Q, F), scaled so that the weighted distance is Euclidean."""
    root = np.sqrt(np.concatenate([np.repeat(queries[0].marker_weight, 3), queries[0].pose_weight])).astype(np.float32)
    points = [np.concatenate([query.marker_m.ravel(), query.pose if query.pose is not None else []]) for query in queries]
    features = np.concatenate([examples.marker_m, examples.pose], axis=1)
    return features * root, np.array(points, np.float32) * root


def _build_faiss_methods(faiss: Any, scaled: Singles, points: Singles, exact: Sequence[Any], recall: float) -> dict[str, Any]:
    """Build IVF and HNSW indices; set them to the least search with our recall."""
    count, methods = len(exact[0][0]), {}

    def ask(index: Any) -> Ask:
        return lambda k: np.asarray(index.search(points[k : k + 1], count)[1][0])

    begun = perf_counter()
    ivf = faiss.IndexIVFFlat(faiss.IndexFlatL2(scaled.shape[1]), scaled.shape[1], 1024)
    ivf.train(scaled)
    ivf.add(scaled)
    ivf_s = perf_counter() - begun
    for ivf.nprobe in (4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 56, 64, 96, 128, 256):
        if _compute_recall(ivf.search(points, count)[1], exact) >= recall:
            break
    methods[f"faiss IVF1024, nprobe {ivf.nprobe}"] = (ivf_s, ask(ivf))
    begun = perf_counter()
    hnsw = faiss.IndexHNSWFlat(scaled.shape[1], 16)
    hnsw.hnsw.efConstruction = 64
    hnsw.add(scaled)
    hnsw_s = perf_counter() - begun
    for hnsw.hnsw.efSearch in (150, 175, 200, 250, 300, 350, 400, 500, 600, 800, 1200, 1600):
        if _compute_recall(hnsw.search(points, count)[1], exact) >= recall:
            break
    methods[f"faiss HNSW16, ef {hnsw.hnsw.efSearch}"] = (hnsw_s, ask(hnsw))
    return methods


def _time_cold(methods: dict[str, tuple[float, Ask]], n: int) -> tuple[dict[str, float], dict[str, list[Ints]]]:
    """Return each method's median time with caches emptied before every query [us], and what it found."""
    buffer = np.zeros(EVICT_BYTES // 8)
    us: dict[str, list[float]] = {name: [] for name in methods}
    found: dict[str, list[Ints]] = {name: [] for name in methods}
    for k in range(n):
        for name, (_, ask) in methods.items():
            buffer += 1.0
            begun = perf_counter_ns()
            found[name].append(ask(k))
            us[name].append((perf_counter_ns() - begun) / 1e3)
    return {name: float(np.median(values)) for name, values in us.items()}, found


def _time_warm(methods: dict[str, tuple[float, Ask]], n: int) -> dict[str, float]:
    """Return each method's median time, query after query [us]."""
    medians = {}
    for name, (_, ask) in methods.items():
        us = []
        for k in range(n):
            begun = perf_counter_ns()
            ask(k)
            us.append((perf_counter_ns() - begun) / 1e3)
        medians[name] = float(np.median(us))
    return medians


def _compute_recall(found: Sequence[Ints], exact: Sequence[tuple[Ints, Singles]]) -> float:
    """Return the share of the nearest that was found."""
    return float(np.mean([len(np.intersect1d(f, e)) / len(e) for f, (e, _) in zip(found, exact, strict=True)]))


def _compute_distance_ratio(
    found: Sequence[Ints], queries: Sequence[Query], examples: Examples, exact: Sequence[tuple[Ints, Singles]]
) -> float:
    """Return the mean over queries of the mean distance found over the exact one."""
    ratios: list[Floats] = []
    for rows, query, (_, d2) in zip(found, queries, exact, strict=True):
        some = Examples(examples.pose[rows], examples.marker_m[rows], examples.clip[rows], examples.fps)
        ratios.append(np.sqrt(compute_distances(some, query)).mean() / np.sqrt(d2).mean())
    return float(np.mean(ratios))


def format_figures(figures: Sequence[SearchMethodFigures]) -> list[str]:
    """Return the table in words; ratios of times are theirs over ours."""
    ours = figures[0]
    head = f"{'method':<34}{'build s':>8}{'warm us':>10}{'cold us':>10}{'recall':>8}{'distance':>10}{'x warm':>8}{'x cold':>8}"
    return [head] + [
        f"{f.method:<34}{f.build_s:8.1f}{f.warm_us:10.0f}{f.cold_us:10.0f}{f.recall:8.3f}{f.ratio:10.4f}"
        + format_ratio_cells((f.warm_us, f.cold_us), (ours.warm_us, ours.cold_us))
        for f in figures
    ]


if __name__ == "__main__":
    sys.exit(main())
