"""How well and how fast the search finds the nearest poses, against exhaustive search (Chai & Hodgins 2005, Table 1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter_ns

import numpy as np

from config.settings import Settings, SolveSettings
from database.graph import Graph, graph_of
from database.graph_build import build_graph
from database.rotations import Floats
from database.store import PoseDatabase, open_database
from reconstruct.examples import Examples, PoseTable, examples_for
from reconstruct.lists import build_lists
from reconstruct.nearest import Query, nearest_examples
from reconstruct.search import Search
from reconstruct.search_kernels import Rows, Singles
from tools.evaluation.figures_file import write_figures
from tools.evaluation.grown import PAPER_POSES, grown_database, part_of
from tools.evaluation.protocol import MAIN, OTHERS, ProtocolClip, protocol_clip
from tools.evaluation.queries import query_of, varied
from tools.evaluation.search_queries import search_queries
from tools.progress import progress_bar

SECONDS = 20.0
MARKERS = "boxing"
SIZES = (10_000, 30_000, 100_000, 200_000, PAPER_POSES)
SIZED_BY = ("14_02", "07_08")
JUMP_FRAMES = 23  # from jump to jump
FOUND = 1.01  # a search has found its way again when its mean distance is less than this times that of one that was never lost
Found = tuple[Rows, Singles]


@dataclass(frozen=True, slots=True)
class Searched:
    """The frames of a clip, each an array (T,).

    examined: poses compared; ratio: mean distance of the K found over that of the K nearest; recall: share of these found;
    nearest_deg, mean_deg: from the nearest pose found to the nearest, from the mean of the K found to that of the K nearest, mean
    absolute degrees over the joint angles that move; us, exhaustive_us: time [us]; lost_frames: frames after each jump until
    the search has found its way again (see `FOUND`), 0 where that is the frame of the jump itself; walk_examined,
    walk_ratio: of the paper's search, which is the walk in the graph alone, from the exact neighbours of the first frame.
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
class Cost:
    """What a query costs in a database of a size, medians over queries [us], and the mean number of poses examined."""

    poses: int
    us: float
    exhaustive_us: float
    examined: float
    ratio: float


def evaluate_search(
    motion: Path,
    database: Path,
    settings: Settings,
    *,
    clips: Sequence[str] = (),
    json_file: Path | None = None,
    plot: Path | None = None,
    sizes: bool = False,
) -> tuple[tuple[Searched, ...], tuple[Cost, ...]]:
    """Measure, print the tables, and write figures and figure where asked for. Raises DuocapError.

    clips: of the protocol, by default all but the unknown subjects; sizes: also the cost against the size of the database, up to
    the paper's, which is built at the first time.
    """
    table = open_database(database)
    graph = graph_for(table, graph_of(table))
    wanted = [protocol_clip(stem) for stem in clips] or [*MAIN, *OTHERS]
    results = []
    with progress_bar("search") as progress:
        for done, clip in enumerate(wanted):
            progress(done, len(wanted))
            results.append(searched(clip, motion, table, graph, settings.solve))
    print("\n".join(table_lines(results, table.n_poses, settings.solve.neighbours)))
    costs = costs_by_size(motion, settings.solve) if sizes else ()
    if costs:
        print("\n".join(cost_lines(costs)))
    if json_file is not None:
        write_figures(json_file, {"clips": results, "sizes": costs})
    if plot is not None:
        from tools.evaluation.search_plot import draw

        print(f"wrote {draw(results, costs, plot)}")
    return tuple(results), costs


def graph_for(table: PoseTable, known: Graph | None = None) -> Graph:
    """Give the graph a database brings, or build it."""
    return build_graph(table.rotvec, table.clip_start, fps=table.fps) if known is None else known


def clip_queries(which: ProtocolClip, motion: Path, settings: SolveSettings, table: PoseTable) -> tuple[list[Query], Examples]:
    """Give a clip's queries with 5 mm noise and the database as its performer's markers show it. Raises DuocapError."""
    query = varied(query_of(which, motion, MARKERS, SECONDS), "noise", 0)
    return search_queries(query, settings), examples_for(query.subject, table)


def searched(which: ProtocolClip, motion: Path, table: PoseDatabase, graph: Graph, settings: SolveSettings) -> Searched:
    """Search the frames of one clip one after the other, then with jumps. Raises DuocapError."""
    queries, examples = clip_queries(which, motion, settings, table)
    count = settings.neighbours
    search = Search(examples, graph, build_lists(examples.marker_m))
    warm(search, examples, queries[0], count)
    exact, exhaustive_us = timed_exhaustive(examples, queries, count)
    found, us, examined = timed_search(search, queries, count)
    walked, _, walk_examined = timed_search(Search(examples, graph, None), queries, count)
    moving = np.degrees(examples.pose[:: max(1, len(examples) // 5000)].std(axis=0)) > 1.0
    pairs = list(zip(found, exact, strict=True))
    nearest_deg = [_mean_deg(examples.pose[f[:1]], examples.pose[e[:1]], moving) for (f, _), (e, _) in pairs]
    mean_deg = [_mean_deg(examples.pose[f], examples.pose[e], moving) for (f, _), (e, _) in pairs]
    return Searched(
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


def warm(search: Search, examples: Examples, query: Query, count: int) -> None:
    """Run every kernel once, so that compiling is not measured."""
    for _ in range(3):
        search.nearest(query, count)
    nearest_examples(examples, query, count)
    search.forget()


def timed_exhaustive(examples: Examples, queries: Sequence[Query], count: int) -> tuple[list[Found], Floats]:
    """Give the nearest of every query and the time that trying all took, (T,) [us]."""
    found, us = [], []
    for query in queries:
        begun = perf_counter_ns()
        found.append(nearest_examples(examples, query, count))
        us.append((perf_counter_ns() - begun) / 1e3)
    return found, np.array(us)


def timed_search(search: Search, queries: Sequence[Query], count: int) -> tuple[list[Found], Floats, Floats]:
    """Give what was found for every query, the time it took [us] and the poses examined, (T,) each."""
    found, us, examined = [], [], []
    for query in queries:
        begun = perf_counter_ns()
        found.append(search.nearest(query, count))
        us.append((perf_counter_ns() - begun) / 1e3)
        examined.append(float(search.examined))
    return found, np.array(us), np.array(examined)


def distance_ratio(found: Found, exact: Found) -> float:
    """Give the mean distance of what was found over that of the nearest."""
    return float((np.sqrt(found[1]).mean() + 1e-9) / (np.sqrt(exact[1]).mean() + 1e-9))


def frames_lost(search: Search, queries: Sequence[Query], steady: Sequence[Found], count: int) -> Floats:
    """Jump about in the queries without a word to the search; give how many frames it takes after each jump to find its way.

    steady: what the search found for each query when there was no jump.
    """
    half, lost = len(queries) // 2, []
    for here in range(0, half, JUMP_FRAMES):
        search.nearest(queries[here], count)
        there = range(half + here, len(queries))
        ratios = (distance_ratio(search.nearest(queries[k], count), steady[k]) for k in there)
        lost.append(next((frames for frames, ratio in enumerate(ratios) if ratio < FOUND), len(there)))
    return np.array(lost, float)


def _mean_deg(found: Singles, exact: Singles, moving: np.ndarray) -> float:
    """Give the mean absolute difference of two means of poses over the angles that move [deg]."""
    return float(np.degrees(np.abs(found.mean(axis=0) - exact.mean(axis=0))[moving]).mean())


def costs_by_size(motion: Path, settings: SolveSettings) -> tuple[Cost, ...]:
    """Measure parts of the database of the paper's size, 120 Hz, mirrored motions among them. Raises DuocapError."""
    whole = open_database(grown_database(motion))
    costs = []
    with progress_bar("sizes") as progress:
        for done, size in enumerate(SIZES):
            progress(done, len(SIZES))
            part = part_of(whole, size)
            costs.append(_cost(motion, settings, part, graph_for(part)))
    return tuple(costs)


def _cost(motion: Path, settings: SolveSettings, part: PoseTable, graph: Graph) -> Cost:
    """Measure one size."""
    us, exhaustive_us, examined, ratios = [], [], [], []
    for stem in SIZED_BY:
        queries, examples = clip_queries(protocol_clip(stem), motion, settings, part)
        search = Search(examples, graph, build_lists(examples.marker_m))
        warm(search, examples, queries[0], settings.neighbours)
        exact, slow = timed_exhaustive(examples, queries[::4], settings.neighbours)
        found, quick, looked_at = timed_search(search, queries, settings.neighbours)
        us.append(quick)
        exhaustive_us.append(slow)
        examined.append(looked_at)
        ratios += [distance_ratio(f, e) for f, e in zip(found[::4], exact, strict=True)]
    medians = float(np.median(np.concatenate(us))), float(np.median(np.concatenate(exhaustive_us)))
    return Cost(len(part.rotvec), *medians, float(np.concatenate(examined).mean()), float(np.mean(ratios)))


def table_lines(results: Sequence[Searched], n_poses: int, count: int) -> list[str]:
    """Give Table 1 in words: a line a behaviour, then all; frames after the first, which starts from nothing."""
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


def _line(name: str, results: Sequence[Searched]) -> str:
    """Give one line of the table."""

    def over(field: str) -> Floats:
        return np.concatenate([getattr(each, field)[1:] for each in results])

    examined, lost = over("examined"), np.concatenate([each.lost_frames for each in results])
    return (
        f"{name:<14}{examined.mean():8.0f}{examined.min():7.0f}{examined.max():8.0f}{over('ratio').mean():9.4f}"
        f"{over('recall').mean():8.3f}{over('nearest_deg').mean():9.4f}{over('mean_deg').mean():8.4f}{np.median(over('us')):7.0f}"
        f"{np.median(over('exhaustive_us')):12.0f}{lost.mean():5.2f}/{lost.max():.0f}"
    )


def cost_lines(costs: Sequence[Cost]) -> list[str]:
    """Give the cost against the size of the database in words."""
    lines = ["", f"{'poses':>8}{'us':>8}{'exhaustive us':>15}{'examined':>10}{'ratio':>8}"]
    return lines + [f"{c.poses:8d}{c.us:8.0f}{c.exhaustive_us:15.0f}{c.examined:10.0f}{c.ratio:8.4f}" for c in costs]
