"""One query among 150,000 and 433,622 real poses: ours against faiss, scikit-learn and exhaustive search, at equal recall.

    python -m benchmarks.reconstruct.search --motion DIR [--poses 433622] [--frames 80] [--json F]

Every method gets the same queries, consecutive frames of clips that the database lacks, and the same weights. The others'
features are scaled by the weights beforehand; ours takes them with every query, as they change when markers are hidden. The
others search more until their recall is ours. `cold`: between queries a buffer larger than any cache is written, and methods
take turns query by query. `warm`: query after query. One thread each. Needs faiss-cpu and scikit-learn.
"""

import importlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import perf_counter, perf_counter_ns
from typing import Any

import numpy as np

from benchmarks.papers.grown import PAPER_POSES, grown_database
from benchmarks.papers.search import make_graph, make_queries
from benchmarks.report import Column, TablePrinter, build_motion_parser, number_columns, run_main, write_json
from calibration.subject.subject import Subject
from config.arrays import Floats, Ints, Singles
from config.errors import DatabaseError
from config.settings import Settings, SolveSettings
from database.graph.neighbours import find_graph
from database.store import open_database
from reconstruct.search.examples import Examples, compute_examples
from reconstruct.search.exhaustive import Query, compute_distances, find_nearest, find_nearest_examples
from reconstruct.search.graph_search import PoseSearch
from reconstruct.search.lists import build_lists
from tools.evaluate.protocol import protocol_clip, protocol_database
from tools.evaluate.queries import NOISE_M, load_query, marker_positions

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


def main() -> None:
    """Measure and print; ratios of times are the others' over ours."""
    parser = build_motion_parser(__doc__)
    parser.add_argument("--poses", type=int, choices=(150_000, PAPER_POSES), help="one database only: about 150,000 or 433622")
    parser.add_argument("--frames", type=int, default=80, help="of each clip")
    options = parser.parse_args()
    found: dict[str, list[SearchMethodFigures]] = {}
    for wanted in (150_000, PAPER_POSES) if options.poses is None else (options.poses,):
        path = grown_database(options.motion) if wanted == PAPER_POSES else protocol_database(options.motion)
        n, figures = measure_methods(path, options.motion, options.frames, Settings().solve)
        print(f"\n{n} poses, K = {Settings().solve.neighbours}\n")
        times = number_columns(0, "warm_us", "cold_us")
        ratios = number_columns(2, "x warm", "x cold")
        table = TablePrinter((Column("method"), Column("build_s", 1), *times, Column("recall", 3), Column("ratio", 4), *ratios))
        for f in figures:
            ahead = {"x warm": f.warm_us / figures[0].warm_us, "x cold": f.cold_us / figures[0].cold_us}
            table.show(asdict(f) | ahead)
        found[str(n)] = figures
    write_json(options.json, found)


def import_library(name: str, package: str) -> Any:
    """Import what is no dependency of duocap. Raises DatabaseError: it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise DatabaseError(f"{package} is not installed; expected it for the comparison: pip install {package}") from error


def measure_methods(path: Path, motion: Path, n_frames: int, settings: SolveSettings) -> tuple[int, list[SearchMethodFigures]]:
    """Measure every method on one database."""
    faiss, neighbors = import_library("faiss", "faiss-cpu"), import_library("sklearn.neighbors", "scikit-learn")
    faiss.omp_set_num_threads(1)
    table = open_database(path)
    queries, subject = build_queries(motion, n_frames)
    examples, count = compute_examples(subject, table), settings.neighbours
    begun = perf_counter()
    graph = make_graph(table, find_graph(table))
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
    recall = compute_recall([methods["ours"][1](k) for k in range(len(queries))], exact)
    search.forget()
    methods |= _build_faiss_methods(faiss, scaled, points, exact, recall)
    begun = perf_counter()
    tree = neighbors.KDTree(scaled)
    methods["sklearn KDTree"] = (perf_counter() - begun, lambda k: tree.query(points[k : k + 1], count, return_distance=False)[0])
    cold, found = _time_cold(methods, len(queries))
    warm = {name: float(np.median([time_ask(ask, k)[1] for k in range(len(queries))])) for name, (_, ask) in methods.items()}
    return len(examples), [
        SearchMethodFigures(
            name,
            build_s,
            warm[name],
            cold[name],
            compute_recall(found[name], exact),
            _compute_distance_ratio(found[name], queries, examples, exact),
        )
        for name, (build_s, _) in methods.items()
    ]


def build_queries(
    motion: Path, n_frames: int, stems: Sequence[str] = CLIPS, subject: Subject | None = None
) -> tuple[list[Query], Subject]:
    """Return queries of clips with the body of one performer and 5 mm of noise, and this performer.

    Args:
        motion: folder of the motions.
        n_frames: queries of each clip.
        stems: of the clips.
        subject: the performer, None for that of the first clip.
    """
    rng, queries = np.random.default_rng(0), list[Query]()
    for stem in stems:
        query = load_query(protocol_clip(stem), motion, "boxing", (n_frames + 2) / 60.0)
        subject = query.subject if subject is None else subject
        marker_m = marker_positions(subject, query.rotvec, query.root_m)
        noisy = replace(query, marker_m=marker_m + rng.normal(0.0, NOISE_M, marker_m.shape), sigma_m=NOISE_M)
        queries += make_queries(noisy, Settings().solve)
    assert subject is not None
    return queries, subject


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
        if compute_recall(ivf.search(points, count)[1], exact) >= recall:
            break
    methods[f"faiss IVF1024, nprobe {ivf.nprobe}"] = (ivf_s, ask(ivf))
    begun = perf_counter()
    hnsw = faiss.IndexHNSWFlat(scaled.shape[1], 16)
    hnsw.hnsw.efConstruction = 64
    hnsw.add(scaled)
    hnsw_s = perf_counter() - begun
    for hnsw.hnsw.efSearch in (150, 175, 200, 250, 300, 350, 400, 500, 600, 800, 1200, 1600):
        if compute_recall(hnsw.search(points, count)[1], exact) >= recall:
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
            rows, spent_us = time_ask(ask, k)
            found[name].append(rows)
            us[name].append(spent_us)
    return {name: float(np.median(values)) for name, values in us.items()}, found


def time_ask(ask: Ask, k: int) -> tuple[Ints, float]:
    """Return what is found for a query, and its time [us]."""
    begun = perf_counter_ns()
    rows = ask(k)
    return rows, (perf_counter_ns() - begun) / 1e3


def compute_recall(found: Sequence[Ints], exact: Sequence[tuple[Ints, Singles]]) -> float:
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


if __name__ == "__main__":
    run_main(main)
