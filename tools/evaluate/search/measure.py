"""Measure how well and how fast the search finds the nearest poses, against exhaustive search; tables of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter_ns

import numpy as np

from config.arrays import Floats, Ints, Singles
from config.joints import N_JOINTS
from config.settings import SolveSettings
from database.geometry.rotations import matrix_from_rotvec
from database.graph.build import build_graph
from database.graph.neighbours import Graph, find_graph
from database.store import PoseDatabase, open_database
from reconstruct.history import BodyState
from reconstruct.search.examples import Examples, PoseTable, compute_examples
from reconstruct.search.lists import build_lists
from reconstruct.search.nearest import Query, find_nearest_examples
from reconstruct.search.walk import PoseSearch
from tools.evaluate.past import VELOCITY_GAIN, VELOCITY_SHARE, MotionHistory
from tools.evaluate.protocol import MAIN, OTHERS, ProtocolClip, protocol_clip
from tools.evaluate.queries import FPS, MotionQuery, apply_variant, load_query
from tools.evaluate.search.grown import PAPER_POSES, grown_database, part_of
from tools.progress import open_progress_bar

SECONDS = 20.0
MARKERS = "boxing"
SIZES = (10_000, 30_000, 100_000, 200_000, PAPER_POSES)
SIZED_BY = ("14_02", "07_08")
JUMP_FRAMES = 23  # between jumps
RECOVERED = 1.01  # largest ratio of the mean distance after a jump to that of an undisturbed search
Found = tuple[Ints, Singles]  # rows and squared distances


@dataclass(frozen=True, slots=True)
class SearchedFrames:
    """The queries of a clip, each an array (T,).

    examined: poses compared; ratio: mean distance of the K found over that of the K nearest; recall: share of these found;
    nearest_deg, mean_deg: mean absolute difference over the moving joint angles of the nearest pose, and of the mean of the K, to
    the exact ones [deg]; us, exhaustive_us: time [us]; lost_frames: frames after each jump until the search has recovered
    (`RECOVERED`), 0: at once; walk_examined, walk_ratio: of the walk in the graph alone, the paper's search, started at the exact
    neighbours of the first frame.
    """

    clip: str
    behaviour: str
    examined: Floats
    ratio: Floats
    recall: Floats
    nearest_deg: Floats
    mean_deg: Floats
    us: Floats
    exhaustive_us: Floats
    lost_frames: Floats
    walk_examined: Floats
    walk_ratio: Floats


@dataclass(frozen=True, slots=True)
class QueryCost:
    """Cost of a query in a database of some size: median times [us], mean number of poses examined and mean distance ratio."""

    poses: int
    us: float
    exhaustive_us: float
    examined: float
    ratio: float


def measure_search(motion: Path, table: PoseDatabase, settings: SolveSettings, clips: Sequence[str] = ()) -> list[SearchedFrames]:
    """Search the frames of clips, by default of all but the unknown subjects. Raises DuocapError."""
    graph = graph_for(table, find_graph(table))
    wanted = [protocol_clip(stem) for stem in clips] or [*MAIN, *OTHERS]
    results = []
    with open_progress_bar("search") as progress:
        for done, clip in enumerate(wanted):
            progress(done, len(wanted))
            results.append(search_clip(clip, motion, table, graph, settings))
    return results


def graph_for(table: PoseTable, known: Graph | None = None) -> Graph:
    """Return the graph of a database, built if it has none."""
    return build_graph(table.rotvec, table.clip_start, fps=table.fps) if known is None else known


def search_queries(motion: MotionQuery, settings: SolveSettings) -> list[Query]:
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


def clip_queries(which: ProtocolClip, motion: Path, settings: SolveSettings, table: PoseTable) -> tuple[list[Query], Examples]:
    """Return a clip's queries with 5 mm of noise, and the database's examples for its performer. Raises DuocapError."""
    query = apply_variant(load_query(which, motion, MARKERS, SECONDS), "noise", 0)
    return search_queries(query, settings), compute_examples(query.subject, table)


def search_clip(which: ProtocolClip, motion: Path, table: PoseDatabase, graph: Graph, settings: SolveSettings) -> SearchedFrames:
    """Search the consecutive frames of one clip, then with jumps. Raises DuocapError."""
    queries, examples = clip_queries(which, motion, settings, table)
    count = settings.neighbours
    search = PoseSearch(examples, graph, build_lists(examples.marker_m))
    warm(search, examples, queries[0], count)
    exact, exhaustive_us = timed_exhaustive(examples, queries, count)
    found, us, examined = timed_search(search, queries, count)
    walked, _, walk_examined = timed_search(PoseSearch(examples, graph, None), queries, count)
    moving = np.degrees(examples.pose[:: max(1, len(examples) // 5000)].std(axis=0)) > 1.0
    pairs = list(zip(found, exact, strict=True))
    nearest_deg = [_mean_deg(examples.pose[f[:1]], examples.pose[e[:1]], moving) for (f, _), (e, _) in pairs]
    mean_deg = [_mean_deg(examples.pose[f], examples.pose[e], moving) for (f, _), (e, _) in pairs]
    return SearchedFrames(
        which.stem,
        which.behaviour,
        examined,
        np.array([distance_ratio(f, e) for f, e in pairs]),
        np.array([len(np.intersect1d(f, e)) / len(e) for (f, _), (e, _) in pairs]),
        np.array(nearest_deg),
        np.array(mean_deg),
        us,
        exhaustive_us,
        frames_lost(search, queries, found, count),
        walk_examined,
        np.array([distance_ratio(w, e) for w, e in zip(walked, exact, strict=True)]),
    )


def warm(search: PoseSearch, examples: Examples, query: Query, count: int) -> None:
    """Run every kernel, so that compiling is not measured."""
    for _ in range(3):
        search.nearest(query, count)
    find_nearest_examples(examples, query, count)
    search.forget()


def timed_exhaustive(examples: Examples, queries: Sequence[Query], count: int) -> tuple[list[Found], Floats]:
    """Return the exact neighbours of every query and the time of exhaustive search, (T,) [us]."""
    found, us = [], []
    for query in queries:
        begin_ns = perf_counter_ns()
        found.append(find_nearest_examples(examples, query, count))
        us.append((perf_counter_ns() - begin_ns) / 1e3)
    return found, np.array(us)


def timed_search(search: PoseSearch, queries: Sequence[Query], count: int) -> tuple[list[Found], Floats, Floats]:
    """Return the neighbours found for every query, the time [us] and the number of poses examined, (T,) each."""
    found, us, examined = [], [], []
    for query in queries:
        begin_ns = perf_counter_ns()
        found.append(search.nearest(query, count))
        us.append((perf_counter_ns() - begin_ns) / 1e3)
        examined.append(float(search.examined))
    return found, np.array(us), np.array(examined)


def distance_ratio(found: Found, exact: Found) -> float:
    """Return the mean distance of the poses found over that of the nearest."""
    return float((np.sqrt(found[1]).mean() + 1e-9) / (np.sqrt(exact[1]).mean() + 1e-9))


def frames_lost(search: PoseSearch, queries: Sequence[Query], steady: Sequence[Found], count: int) -> Floats:
    """Jump within the queries without telling the search; return after how many frames it has recovered from each jump.

    steady: found for each query without jumps.
    """
    half, lost = len(queries) // 2, []
    for here in range(0, half, JUMP_FRAMES):
        search.nearest(queries[here], count)
        there = range(half + here, len(queries))
        ratios = (distance_ratio(search.nearest(queries[k], count), steady[k]) for k in there)
        lost.append(next((frames for frames, ratio in enumerate(ratios) if ratio < RECOVERED), len(there)))
    return np.array(lost, float)


def _mean_deg(found: Singles, exact: Singles, moving: np.ndarray) -> float:
    """Return the mean absolute difference of the means of some poses over the moving angles [deg]."""
    return float(np.degrees(np.abs(found.mean(axis=0) - exact.mean(axis=0))[moving]).mean())


def costs_by_size(motion: Path, settings: SolveSettings) -> tuple[QueryCost, ...]:
    """Measure parts of a database of the paper's size, 120 Hz, with mirrored motions. Raises DuocapError."""
    whole = open_database(grown_database(motion))
    costs = []
    with open_progress_bar("sizes") as progress:
        for done, size in enumerate(SIZES):
            progress(done, len(SIZES))
            part = part_of(whole, size)
            costs.append(_cost(motion, settings, part, graph_for(part)))
    return tuple(costs)


def _cost(motion: Path, settings: SolveSettings, part: PoseTable, graph: Graph) -> QueryCost:
    """Measure one size."""
    us, exhaustive_us, examined, ratios = [], [], [], []
    for stem in SIZED_BY:
        queries, examples = clip_queries(protocol_clip(stem), motion, settings, part)
        search = PoseSearch(examples, graph, build_lists(examples.marker_m))
        warm(search, examples, queries[0], settings.neighbours)
        exact, slow_us = timed_exhaustive(examples, queries[::4], settings.neighbours)
        found, quick_us, compared = timed_search(search, queries, settings.neighbours)
        us.append(quick_us)
        exhaustive_us.append(slow_us)
        examined.append(compared)
        ratios += [distance_ratio(f, e) for f, e in zip(found[::4], exact, strict=True)]
    medians = float(np.median(np.concatenate(us))), float(np.median(np.concatenate(exhaustive_us)))
    return QueryCost(len(part.rotvec), *medians, float(np.concatenate(examined).mean()), float(np.mean(ratios)))


def table_lines(results: Sequence[SearchedFrames], n_poses: int, count: int) -> list[str]:
    """Return the lines of Table 1: by behaviour, then of all; without the first frame, whose search has no seeds."""
    lines = [
        f"{count} nearest of {n_poses} poses; markers: {MARKERS} with 5 mm noise",
        "",
        f"{'':<14}{'poses examined':^23}{'distance':>9}{'recall':>8}{'nearest':>9}{'mean':>8}{'us':>7}{'us':>12}{'lost':>8}",
        f"{'behaviour':<14}{'mean':>8}{'min':>7}{'max':>8}{'ratio':>9}{'@' + str(count):>8}{'deg':>9}{'deg':>8}{'':>7}"
        f"{'exhaustive':>12}{'frames':>8}",
    ]
    for behaviour in dict.fromkeys(each.behaviour for each in results):
        lines.append(_line(behaviour, [each for each in results if each.behaviour == behaviour]))
    walk = np.concatenate([each.walk_examined[1:] for each in results])
    ratio = np.concatenate([each.walk_ratio[1:] for each in results])
    alone = f"{'walk alone':<14}{walk.mean():8.0f}{walk.min():7.0f}{walk.max():8.0f}{ratio.mean():9.4f}"
    return [*lines, _line("all", results), alone]


def _line(name: str, results: Sequence[SearchedFrames]) -> str:
    """Return one line of the table."""

    def over(field: str) -> Floats:
        return np.concatenate([getattr(each, field)[1:] for each in results])

    examined, lost = over("examined"), np.concatenate([each.lost_frames for each in results])
    return (
        f"{name:<14}{examined.mean():8.0f}{examined.min():7.0f}{examined.max():8.0f}{over('ratio').mean():9.4f}"
        f"{over('recall').mean():8.3f}{over('nearest_deg').mean():9.4f}{over('mean_deg').mean():8.4f}{np.median(over('us')):7.0f}"
        f"{np.median(over('exhaustive_us')):12.0f}{lost.mean():5.2f}/{lost.max():.0f}"
    )


def cost_lines(costs: Sequence[QueryCost]) -> list[str]:
    """Return the lines of the cost by the size of the database."""
    lines = ["", f"{'poses':>8}{'us':>8}{'exhaustive us':>15}{'examined':>10}{'ratio':>8}"]
    return lines + [f"{c.poses:8d}{c.us:8.0f}{c.exhaustive_us:15.0f}{c.examined:10.0f}{c.ratio:8.4f}" for c in costs]
