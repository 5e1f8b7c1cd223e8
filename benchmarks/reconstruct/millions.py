"""A database of millions of poses: time and peak memory to build it, time and recall of a search among them and among 433,622.

    python -m benchmarks.reconstruct.millions --motion DIR --folder DIR [--poses 4000000] [--frames 80] [--json F]

All CMU and HDM05 motions but the protocol's queries, at 120 Hz, and variations of them, in which every joint swings slowly, until
there are half as many poses; with their mirror images, which are stored nowhere, there are as many as asked for. One file a
variation, each with a graph. Every step runs in a process of its own, whose peak is that of its resident memory, mapped files
included. Recall: of the nearest poses of every fourth query, by exhaustive search. `cold`: before each query a buffer larger than
any cache is written. Files in the folder stay and are not made again.
"""

import math
import os
import resource
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter, perf_counter_ns
from typing import Any

import numpy as np

from benchmarks.reconstruct.search import CLIPS, EVICT_BYTES
from benchmarks.report import parser_of, write_json
from config.arrays import Ints, Singles
from config.errors import DuocapError
from config.settings import Settings
from database.clips import Clip, clip_slice
from database.graph.build import graph_deriver
from database.graph.neighbours import graph_of
from database.parts import BuildOptions, build_part, plan_parts
from database.store import open_database, write_database, write_parts
from reconstruct.search.index import examples_and_lists
from reconstruct.search.nearest import Query, nearest_examples
from reconstruct.search.walk import PoseSearch
from tools.evaluate.protocol import LEAVE_OUT, cmu_folder, hdm_folder, protocol_clip
from tools.evaluate.queries import NOISE_M, load_query, marker_positions
from tools.evaluate.search.grown import grown_database
from tools.evaluate.search.measure import search_queries

FPS = 120.0
SWING_RAD = math.radians(4.0)  # RMS of how a joint coordinate of a variation departs
EXACT_EVERY = 4


@dataclass(frozen=True, slots=True)
class StepFigures:
    """One step: seconds, of these for the graph, peak memory [GB], poses, and the machine's load when it ended."""

    step: str
    seconds: float
    graph_s: float
    peak_gb: float
    poses: int
    load: float


@dataclass(frozen=True, slots=True)
class SearchFigures:
    """Search in one database: median times [us] of a query, poses examined on average, recall, distance over the exact one."""

    poses: int
    warm_us: float
    cold_us: float
    examined: float
    recall: float
    ratio: float


def main(given: Sequence[str] | None = None) -> int:
    """Measure and print; 1 where something is missing."""
    parser = parser_of(__doc__)
    parser.add_argument("--motion", type=Path, required=True, help="unpacked CMU and HDM05 motions")
    parser.add_argument("--folder", type=Path, required=True, help="where to put databases: 2 GB for 4,000,000 poses")
    parser.add_argument("--poses", type=int, default=4_000_000)
    parser.add_argument("--frames", type=int, default=80, help="of each clip")
    options = parser.parse_args(given)
    steps: list[StepFigures] = []
    try:
        small = grown_database(options.motion)
        large = build(options.motion, options.folder, options.poses // 2, steps)
        searched = []
        for path in (small, large):
            steps.append(in_process(f"features and lists of {path.name}", make_index, path, options.motion, options.folder))
            print(line(steps[-1]), flush=True)
            figures: list[SearchFigures] = []
            steps.append(
                in_process(f"search in {path.name}", search, path, options.motion, options.folder, options.frames, figures)
            )
            print(line(steps[-1]), flush=True)
            searched += figures
            print(search_line(figures[0]), flush=True)
        write_json(options.json, {"steps": steps, "search": searched})
    except DuocapError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def build(motion: Path, folder: Path, n_stored: int, steps: list[StepFigures]) -> Path:
    """Make the database of several files, its mirror images to be searched."""
    parts: list[Path] = []
    left = n_stored
    while left > 0:
        name = "motions" if not parts else f"variation-{len(parts)}"
        part = folder / f"{name}.db"
        if part.exists():
            print(f"{part}: there already")
        else:
            make: Callable[..., Any] = build_motions if not parts else build_variation
            steps.append(in_process(f"{name}: poses and graph", make, motion, part, len(parts), left))
            print(line(steps[-1]), flush=True)
        parts.append(part)
        left -= open_database(part).n_poses
    write_parts(folder / "millions.db", parts, mirrored=True)
    return folder / "millions.db"


def build_motions(motion: Path, part: Path, _number: int, _left: int) -> tuple[int, float]:
    """Build the file of the recorded motions."""
    from database.build import BuildReport

    options = BuildOptions(FPS, skip_bad=True)
    sources = [cmu_folder(motion), hdm_folder(motion)]
    (task,) = plan_parts(sources, part, 1, options, LEAVE_OUT, BuildReport())
    spent: list[float] = []
    build_part(replace(task, out=part), lambda done, total, name: spent.append(perf_counter()) if name == "neighbours" else None)
    return open_database(part).n_poses, spent[-1] - spent[0]


def build_variation(_motion: Path, part: Path, number: int, left: int) -> tuple[int, float]:
    """Build the file of one variation."""
    spent = [0.0]

    def timed(rotvec: Singles, clip_start: Ints, fps: float) -> Any:
        begun = perf_counter()
        arrays = graph_deriver()(rotvec, clip_start, fps)
        spent[0] = perf_counter() - begun
        return arrays

    write_database(part, varied(part.parent / "motions.db", number, left), notes=[f"variation {number}"], derive=timed)
    return open_database(part).n_poses, spent[0]


def varied(motions: Path, number: int, n_poses: int) -> Iterator[Clip]:
    """Yield clips in which every joint coordinate swings with `SWING_RAD`, up to a number of poses."""
    database = open_database(motions)
    for k in range(database.n_clips):
        clip = database.clip(k)
        clip = clip_slice(clip, 0, min(clip.n_frames, n_poses))
        if clip.n_frames == 0:
            return
        n_poses -= clip.n_frames
        rng = np.random.default_rng([number, k])
        shape = clip.rotvec.shape[1:]
        turns = np.arange(clip.n_frames)[:, None, None] / FPS * rng.uniform(0.1, 0.5, shape) + rng.random(shape)
        swing = SWING_RAD * math.sqrt(2.0) * rng.normal(size=shape) * np.sin(2.0 * math.pi * turns)
        swing[:, 0] = 0.0
        yield Clip(f"{clip.name}_{number}", clip.skeleton, FPS, clip.rotvec + swing, clip.root_m.copy())


def make_index(path: Path, motion: Path, folder: Path) -> tuple[int, float]:
    """Compute features and lists, or read them."""
    examples, _ = examples_and_lists(_queries(motion, 4)[1], open_database(path), folder)
    return len(examples), 0.0


def search(path: Path, motion: Path, folder: Path, n_frames: int, figures: list[SearchFigures]) -> tuple[int, SearchFigures]:
    """Search successive frames of some clips."""
    table = open_database(path)
    queries, subject = _queries(motion, n_frames)
    examples, lists = examples_and_lists(subject, table, folder)
    finder, count = PoseSearch(examples, graph_of(table), lists), Settings().solve.neighbours
    some = range(0, len(queries), EXACT_EVERY)
    exact = {k: nearest_examples(examples, queries[k], count) for k in some}
    for query in queries[:3]:
        finder.nearest(query, count)
    buffer = np.zeros(EVICT_BYTES // 8)
    us: dict[bool, list[float]] = {False: [], True: []}
    found, examined = [], []
    for cold in (False, True):
        finder.forget()
        for query in queries:
            if cold:
                buffer += 1.0
            begun = perf_counter_ns()
            result = finder.nearest(query, count)
            us[cold].append((perf_counter_ns() - begun) / 1e3)
            if not cold:
                found.append(result)
                examined.append(finder.examined)
    recall = np.mean([len(np.intersect1d(found[k][0], exact[k][0])) / count for k in some])
    ratio = np.mean([np.sqrt(found[k][1]).mean() / np.sqrt(exact[k][1]).mean() for k in some])
    medians = [float(np.median(us[cold])) for cold in (False, True)]
    return len(examples), SearchFigures(len(examples), *medians, float(np.mean(examined)), float(recall), float(ratio))


def _queries(motion: Path, n_frames: int) -> tuple[list[Query], Any]:
    """Return queries of all clips with the body of one performer and 5 mm of noise, and this performer."""
    rng, queries, subject = np.random.default_rng(0), [], None
    for stem in CLIPS:
        query = load_query(protocol_clip(stem), motion, "boxing", (n_frames + 2) / 60.0)
        subject = query.subject if subject is None else subject
        marker_m = marker_positions(subject, query.rotvec, query.root_m)
        noisy = replace(query, marker_m=marker_m + rng.normal(0.0, NOISE_M, marker_m.shape), sigma_m=NOISE_M)
        queries += search_queries(noisy, Settings().solve)
    return queries, subject


def in_process(step: str, function: Callable[..., Any], *arguments: Any) -> StepFigures:
    """Run a step in a process of its own; a last argument that is a list takes its second result."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        begun = perf_counter()
        (n_poses, more), peak_gb = pool.submit(_measured, function, arguments).result()
        seconds = perf_counter() - begun
    if isinstance(arguments[-1], list):
        arguments[-1].append(more)
        more = 0.0
    return StepFigures(step, seconds, more, peak_gb, n_poses, os.getloadavg()[0])


def _measured(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, float]:
    """Return what a step returns, and this process's peak memory [GB]."""
    result = function(*arguments)
    return result, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def line(figures: StepFigures) -> str:
    """Return one step in words."""
    graph = f", of these graph {figures.graph_s:.0f}" if figures.graph_s else ""
    peak = f"peak {figures.peak_gb:.2f} GB, load {figures.load:.1f}"
    return f"{figures.step:<44}{figures.poses:9d} poses {figures.seconds:7.1f} s{graph}; {peak}"


def search_line(figures: SearchFigures) -> str:
    """Return the figures of a search in words."""
    f = figures
    times = f"warm {f.warm_us:.0f} us, cold {f.cold_us:.0f} us, {f.examined:.0f} poses examined"
    return f"{f.poses:9d} poses: {times}, recall {f.recall:.3f}, distance ratio {f.ratio:.4f}"


if __name__ == "__main__":
    sys.exit(main())
