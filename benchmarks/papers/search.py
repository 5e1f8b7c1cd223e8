"""The search beside exhaustive search: poses examined, distances, time, recovery after jumps, and cost by the database's size."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter_ns

import numpy as np

from benchmarks.papers.frame import Chart, PaperTable, Request
from benchmarks.papers.grown import PAPER_POSES, cut_database, grown_database
from benchmarks.report import Column, Row, number_columns, text_columns
from config.arrays import Floats, Ints, Singles
from config.joints import N_JOINTS
from config.settings import SolveSettings
from database.geometry.rotations import matrix_from_rotvec
from database.graph.build import build_graph
from database.graph.neighbours import Graph, find_graph
from database.store import open_database
from reconstruct.body_state import BodyState
from reconstruct.search.examples import Examples, PoseTable, compute_examples
from reconstruct.search.exhaustive import Query, find_nearest_examples
from reconstruct.search.graph_search import PoseSearch
from reconstruct.search.lists import build_lists
from tools.evaluate.constant_velocity import VELOCITY_GAIN, VELOCITY_SHARE, MotionHistory
from tools.evaluate.protocol import MAIN, OTHERS, ProtocolClip, protocol_clip
from tools.evaluate.queries import FPS, MotionQuery, apply_variant
from tools.progress import open_progress_bar

SECONDS = 20.0
SIZES = (10_000, 30_000, 100_000, 200_000, PAPER_POSES)
SIZED_BY = ("14_02", "07_08")
JUMP_FRAMES = 23  # between jumps
RECOVERED = 1.01  # largest ratio of the mean distance after a jump to that of an undisturbed search
Found = tuple[Ints, Singles]  # rows and squared distances


@dataclass(frozen=True, slots=True)
class TimedSearch:
    """What was found for T queries, the time of each [us] and the number of poses examined, (T,) each."""

    found: list[Found]
    us: Floats
    examined: Floats


def make_graph(table: PoseTable, known: Graph | None = None) -> Graph:
    """Return the graph of a database, built if it has none."""
    return build_graph(table.rotvec, table.clip_start, fps=table.fps) if known is None else known


def make_queries(motion: MotionQuery, settings: SolveSettings) -> list[Query]:
    """Return the queries of a motion's frames from the third on (Chai & Hodgins 2005, eq. 2), weighted as the estimator does.

    The root and the last poses are the true ones, as if the estimator made no errors.
    """
    history = MotionHistory()
    R = matrix_from_rotvec(motion.rotvec[:, 0])
    local_m = np.einsum("nmi,nij->nmj", motion.marker_m - motion.root_m[:, None], R)
    weight = np.where(motion.visible, 1.0 / (motion.sigma_m**2 + settings.query_marker_sigma_m**2), 0.0)
    pose_weight = np.full(3 * (N_JOINTS - 1), settings.query_pose_sigma_rad**-2.0)
    queries = []
    for k in range(len(motion)):
        t_ns = round(k * 1e9 / FPS)
        predicted = history.predict(t_ns, VELOCITY_GAIN)
        if k >= 2 and predicted is not None:
            queries.append(Query(local_m[k], weight[k], predicted.joints[1:].ravel(), pose_weight))
        state = BodyState(t_ns, motion.rotvec[k].copy(), R[k], motion.root_m[k].copy())
        history = history.then(state, VELOCITY_SHARE)
    return queries


def query_clip(which: ProtocolClip, request: Request, table: PoseTable) -> tuple[list[Query], Examples]:
    """Return a clip's queries with 5 mm of noise, and the database's examples for its performer. Raises DuocapError."""
    query = apply_variant(request.load_query(which, SECONDS), "noise", 0)
    return make_queries(query, request.settings.solve), compute_examples(query.subject, table)


def time_exhaustive(examples: Examples, queries: Sequence[Query], count: int) -> TimedSearch:
    """Find the exact neighbours of every query by trying all poses."""
    found, us = [], []
    for query in queries:
        begin_ns = perf_counter_ns()
        found.append(find_nearest_examples(examples, query, count))
        us.append((perf_counter_ns() - begin_ns) / 1e3)
    return TimedSearch(found, np.array(us), np.full(len(us), float(len(examples))))


def time_search(search: PoseSearch, queries: Sequence[Query], count: int, swept: Floats | None = None) -> TimedSearch:
    """Find the neighbours of every query by the search; swept: a buffer that is written before each, to empty caches."""
    found, us, examined = [], [], []
    for query in queries:
        if swept is not None:
            swept += 1.0
        begin_ns = perf_counter_ns()
        found.append(search.nearest(query, count))
        us.append((perf_counter_ns() - begin_ns) / 1e3)
        examined.append(float(search.examined))
    return TimedSearch(found, np.array(us), np.array(examined))


def warm_search(search: PoseSearch, examples: Examples, query: Query, count: int) -> None:
    """Run every kernel, so that compiling is not measured."""
    for _ in range(3):
        search.nearest(query, count)
    find_nearest_examples(examples, query, count)
    search.forget()


def compute_ratio(found: Found, exact: Found) -> float:
    """Return the mean distance of the poses found over that of the nearest."""
    return float((np.sqrt(found[1]).mean() + 1e-9) / (np.sqrt(exact[1]).mean() + 1e-9))


def count_lost_frames(search: PoseSearch, queries: Sequence[Query], steady: Sequence[Found], count: int) -> Floats:
    """Jump within the queries without telling the search; return after how many frames it has recovered from each jump.

    steady: found for each query without jumps.
    """
    half, lost = len(queries) // 2, []
    for here in range(0, half, JUMP_FRAMES):
        search.nearest(queries[here], count)
        there = range(half + here, len(queries))
        ratios = (compute_ratio(search.nearest(queries[k], count), steady[k]) for k in there)
        lost.append(next((frames for frames, ratio in enumerate(ratios) if ratio < RECOVERED), len(there)))
    return np.array(lost, float)


def search_clip(which: ProtocolClip, request: Request, table: PoseTable, graph: Graph) -> Row:
    """Search the consecutive frames of one clip, then with jumps; the first frame, which has no seeds, is not counted."""
    queries, examples = query_clip(which, request, table)
    count = request.settings.solve.neighbours
    search = PoseSearch(examples, graph, build_lists(examples.marker_m))
    warm_search(search, examples, queries[0], count)
    exact, ours = time_exhaustive(examples, queries, count), time_search(search, queries, count)
    walk = time_search(PoseSearch(examples, graph, None), queries, count)
    moving = np.degrees(examples.pose[:: max(1, len(examples) // 5000)].std(axis=0)) > 1.0
    pairs = [(f, e) for (f, _), (e, _) in zip(ours.found, exact.found, strict=True)][1:]

    def compare(n: int) -> float:
        """Return the mean difference of the means of the first n found and nearest poses over the moving angles [deg]."""
        apart = [examples.pose[f[:n]].mean(axis=0) - examples.pose[e[:n]].mean(axis=0) for f, e in pairs]
        return float(np.degrees(np.abs(np.array(apart)[:, moving])).mean())

    lost = count_lost_frames(search, queries, ours.found, count)
    return {
        "behaviour": which.behaviour,
        "clip": which.stem,
        "poses": len(examples),
        "examined": ours.examined[1:].mean(),
        "least": ours.examined[1:].min(),
        "most": ours.examined[1:].max(),
        "ratio": np.mean([compute_ratio(f, e) for f, e in zip(ours.found[1:], exact.found[1:], strict=True)]),
        "recall": np.mean([len(np.intersect1d(f, e)) / len(e) for f, e in pairs]),
        "nearest deg": compare(1),
        "mean deg": compare(count),
        "us": np.median(ours.us[1:]),
        "exhaustive us": np.median(exact.us[1:]),
        "lost": lost.mean(),
        "walk examined": walk.examined[1:].mean(),
        "walk ratio": np.mean([compute_ratio(w, e) for w, e in zip(walk.found[1:], exact.found[1:], strict=True)]),
    }


def compute_search(request: Request) -> Iterator[Row]:
    """Yield a row for each clip. Raises DuocapError."""
    clips, path = request.find_clips(clip.stem for clip in (*MAIN, *OTHERS))
    table = open_database(path)
    graph = make_graph(table, find_graph(table))
    with open_progress_bar("search") as progress:
        for done, clip in enumerate(clips):
            progress(done, len(clips))
            yield search_clip(clip, request, table, graph)


def compute_costs(request: Request) -> Iterator[Row]:
    """Yield the cost of a query in parts of a database of the paper's size, with mirrored motions. Raises DuocapError."""
    whole = open_database(grown_database(request.motion))
    for size in SIZES[:2] if request.quick else SIZES:
        part = cut_database(whole, size)
        yield measure_cost(part, make_graph(part), request)


def measure_cost(part: PoseTable, graph: Graph, request: Request) -> Row:
    """Return the cost of a query in a database; every fourth is also asked of exhaustive search."""
    found: list[tuple[TimedSearch, TimedSearch]] = []
    count = request.settings.solve.neighbours
    for stem in SIZED_BY:
        queries, examples = query_clip(protocol_clip(stem), request, part)
        search = PoseSearch(examples, graph, build_lists(examples.marker_m))
        warm_search(search, examples, queries[0], count)
        found.append((time_search(search, queries, count), time_exhaustive(examples, queries[::4], count)))
    pairs = [pair for ours, exact in found for pair in zip(ours.found[::4], exact.found, strict=True)]
    return {
        "poses": len(part.rotvec),
        "us": np.median(np.concatenate([ours.us for ours, _ in found])),
        "exhaustive us": np.median(np.concatenate([exact.us for _, exact in found])),
        "examined": np.concatenate([ours.examined for ours, _ in found]).mean(),
        "ratio": np.mean([compute_ratio(f, e) for f, e in pairs]),
        "method": "search",
    }


TABLES = (
    PaperTable(
        "search",
        "Chai & Hodgins 2005, Table 1",
        "poses examined for each frame (5 mm noise), distance over that of the nearest, frames lost after jumps; walk: as theirs",
        (
            *text_columns("behaviour", "clip"),
            *number_columns(0, "poses", "examined", "least", "most"),
            Column("ratio", 4),
            Column("recall", 3),
            *number_columns(4, "nearest deg", "mean deg"),
            *number_columns(0, "us", "exhaustive us"),
            Column("lost", 2),
            Column("walk examined", 0),
            Column("walk ratio", 4),
        ),
        compute_search,
        mean_over=("behaviour", "clip"),
    ),
    PaperTable(
        "search-sizes",
        "Chai & Hodgins 2005, section 5",
        f"cost of a query by the size of the database, to the paper's {PAPER_POSES} poses",
        (*number_columns(0, "poses", "us", "exhaustive us", "examined"), Column("ratio", 4)),
        compute_costs,
        choices=("",),
        chart=Chart("poses", "us", "method", log_x=True),
    ),
)
