"""A database of millions of poses: time and peak memory to build it, time and recall of a search among them and among 433,622.

    python -m benchmarks.reconstruct.millions --motion DIR --folder DIR [--poses 4000000] [--frames 80] [--json F]

All CMU and HDM05 motions but the protocol's queries, at 120 Hz, and variations of them, in which every joint swings slowly, until
there are half as many poses; with their mirror images, which are stored nowhere, there are as many as asked for. One file a
variation, each with a graph. Every step runs in a process of its own, whose peak is that of its resident memory, mapped files and
the processes that read motions included. Both databases are searched by turns, so that they meet the same load. Recall: of the
nearest poses of every fourth query, by exhaustive search. `cold`: before each query a buffer larger than any cache is written.
Files in the folder stay and are not made again, so a run that was interrupted goes on.
"""

import math
import os
import resource
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.papers.grown import grown_database
from benchmarks.papers.search import TimedSearch, compute_ratio, time_search
from benchmarks.reconstruct.search import CLIPS, EVICT_BYTES, build_queries, compute_recall
from benchmarks.report import build_motion_parser, run_main, write_json
from config.arrays import Ints, Singles
from config.settings import Settings
from database.clips import Clip, slice_clip
from database.graph.build import make_graph_deriver
from database.graph.neighbours import find_graph
from database.parts import BuildOptions, build_part, plan_parts
from database.store import open_database, write_database, write_parts
from reconstruct.search.examples import Examples
from reconstruct.search.exhaustive import Query, find_nearest_examples
from reconstruct.search.graph_search import PoseSearch
from reconstruct.search.index import load_examples_and_lists
from tools.evaluate.protocol import LEAVE_OUT, cmu_folder, hdm_folder

FPS = 120.0
SWING_RAD = math.radians(4.0)  # RMS of how a joint coordinate of a variation departs
EXACT_EVERY = 4
ROUNDS = 5
OTHERS = ("16_15", "09_09", "05_18", "06_10", "49_02", "135_02")  # how many lists are searched was chosen on CLIPS


@dataclass(frozen=True, slots=True)
class StepFigures:
    """One step: seconds, of the processor and of these for the graph, peak memory [GB], poses, and the load when it ended."""

    step: str
    seconds: float
    processor_s: float
    graph_s: float
    peak_gb: float
    poses: int
    load: float


@dataclass(frozen=True, slots=True)
class SearchFigures:
    """Search in one database: median times [us] of a query, poses examined on average, recall, distance over the exact one."""

    clips: str
    poses: int
    warm_us: float
    cold_us: float
    examined: float
    recall: float
    ratio: float


def main() -> None:
    """Measure and print."""
    parser = build_motion_parser(__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="where to put databases: 2 GB for 4,000,000 poses")
    parser.add_argument("--poses", type=int, default=4_000_000)
    parser.add_argument("--frames", type=int, default=80, help="of each clip")
    options = parser.parse_args()
    steps: list[StepFigures] = []
    small = grown_database(options.motion)
    large = build_large_database(options.motion, options.folder, options.poses // 2, steps)
    for path in (small, large):
        run_step(steps, f"features and lists of {path.name}", load_index, path, options.motion, options.folder)
    searched = run_step(steps, "search in both", measure_search, (small, large), options.motion, options.folder, options.frames)
    print(*map(format_search, searched), sep="\n", flush=True)
    write_json(options.json, {"steps": steps, "search": searched})


def build_large_database(motion: Path, folder: Path, n_stored: int, steps: list[StepFigures]) -> Path:
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
            run_step(steps, f"{name}: poses and graph", make, motion, part, len(parts), left)
        parts.append(part)
        left -= open_database(part).n_poses
    write_parts(folder / "millions.db", parts, mirrored=True)
    return folder / "millions.db"


def build_motions(motion: Path, part: Path, _number: int, _left: int) -> tuple[int, float, None]:
    """Build the file of the recorded motions; return its poses and the seconds for its graph."""
    from database.build import BuildReport

    options = BuildOptions(FPS, skip_bad=True)
    sources = [cmu_folder(motion), hdm_folder(motion)]
    (task,) = plan_parts(sources, part, 1, options, LEAVE_OUT, BuildReport())
    spent: list[float] = []
    build_part(replace(task, out=part), lambda done, total, name: spent.append(perf_counter()) if name == "neighbours" else None)
    return open_database(part).n_poses, spent[-1] - spent[0], None


def build_variation(_motion: Path, part: Path, number: int, left: int) -> tuple[int, float, None]:
    """Build the file of one variation; return its poses and the seconds for its graph."""
    spent = [0.0]

    def timed(rotvec: Singles, clip_start: Ints, fps: float) -> Any:
        begun = perf_counter()
        arrays = make_graph_deriver()(rotvec, clip_start, fps)
        spent[0] = perf_counter() - begun
        return arrays

    write_database(part, vary_clips(part.parent / "motions.db", number, left), notes=[f"variation {number}"], derive=timed)
    return open_database(part).n_poses, spent[0], None


def vary_clips(motions: Path, number: int, n_poses: int) -> Iterator[Clip]:
    """Yield clips in which every joint coordinate swings with `SWING_RAD`, up to a number of poses."""
    database = open_database(motions)
    for k in range(database.n_clips):
        clip = database.clip(k)
        clip = slice_clip(clip, 0, min(clip.n_frames, n_poses))
        if clip.n_frames == 0:
            return
        n_poses -= clip.n_frames
        rng = np.random.default_rng([number, k])
        shape = clip.rotvec.shape[1:]
        turns = np.arange(clip.n_frames)[:, None, None] / FPS * rng.uniform(0.1, 0.5, shape) + rng.random(shape)
        swing = SWING_RAD * math.sqrt(2.0) * rng.normal(size=shape) * np.sin(2.0 * math.pi * turns)
        swing[:, 0] = 0.0
        yield Clip(f"{clip.name}_{number}", clip.skeleton, FPS, clip.rotvec + swing, clip.root_m.copy())


def load_index(path: Path, motion: Path, folder: Path) -> tuple[int, float, None]:
    """Compute features and lists, or read them."""
    examples, _ = load_examples_and_lists(build_queries(motion, 4)[1], open_database(path), folder)
    return len(examples), 0.0, None


def measure_search(paths: Sequence[Path], motion: Path, folder: Path, n_frames: int) -> tuple[int, float, list[SearchFigures]]:
    """Search successive frames of some clips."""
    subject = build_queries(motion, 4)[1]
    searched, figures = list[tuple[Examples, PoseSearch]](), list[SearchFigures]()
    for path in paths:
        table = open_database(path)
        examples, lists = load_examples_and_lists(subject, table, folder)
        searched.append((examples, PoseSearch(examples, find_graph(table), lists)))
    for clips, stems in (("chosen on", CLIPS), ("others", OTHERS)):
        figures += _measure_by_turns(clips, searched, build_queries(motion, n_frames, stems, subject)[0])
    return sum(len(examples) for examples, _ in searched), 0.0, figures


def _measure_by_turns(
    clips: str, searched: Sequence[tuple[Examples, PoseSearch]], queries: Sequence[Query]
) -> Iterator[SearchFigures]:
    """Search in databases by turns; yield the figures of each."""
    count, some = Settings().solve.neighbours, range(0, len(queries), EXACT_EVERY)
    warm: list[list[TimedSearch]] = [[] for _ in searched]
    for _ in range(1 + ROUNDS):  # the first compiles, or reads kernels
        for k, (_, finder) in enumerate(searched):
            finder.forget()
            warm[k].append(time_search(finder, queries, count))
    for k, (examples, finder) in enumerate(searched):
        finder.forget()
        cold = time_search(finder, queries, count, np.zeros(EVICT_BYTES // 8))
        exact = [find_nearest_examples(examples, queries[n], count) for n in some]
        found = [warm[k][0].found[n] for n in some]
        recall = compute_recall([rows for rows, _ in found], exact)
        ratio = float(np.mean([compute_ratio(one, near) for one, near in zip(found, exact, strict=True)]))
        us = float(np.median([each.us for each in warm[k][1:]])), float(np.median(cold.us))
        yield SearchFigures(clips, len(examples), *us, float(np.mean([each.examined for each in warm[k]])), recall, ratio)


def run_step(steps: list[StepFigures], step: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Run a step in a process of its own, print and add its figures; return what it measured.

    Args:
        steps: figures so far.
        step: its name.
        function: returns poses, seconds for a graph, and what it measured.
        arguments: of the function.
    """
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        begun = perf_counter()
        (n_poses, graph_s, found), processor_s, peak_gb = pool.submit(_measure_step, function, arguments).result()
        seconds = perf_counter() - begun
    steps.append(StepFigures(step, seconds, processor_s, graph_s, peak_gb, n_poses, os.getloadavg()[0]))
    print(format_step(steps[-1]), flush=True)
    return found


def _measure_step(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, float, float]:
    """Return what a step returns, and the processor seconds and peak memory [GB] of this process and of those it had read."""
    result = function(*arguments)
    own, readers = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    processor_s = own.ru_utime + own.ru_stime + readers.ru_utime + readers.ru_stime
    return result, processor_s, (own.ru_maxrss + BuildOptions().processes * readers.ru_maxrss) / 1e6


def format_step(figures: StepFigures) -> str:
    """Return one step in words."""
    graph = f", of these graph {figures.graph_s:.0f}" if figures.graph_s else ""
    peak = f"peak {figures.peak_gb:.2f} GB, load {figures.load:.1f}"
    seconds = f"{figures.seconds:7.1f} s, processor {figures.processor_s:.0f} s"
    return f"{figures.step:<52}{figures.poses:9d} poses {seconds}{graph}; {peak}"


def format_search(figures: SearchFigures) -> str:
    """Return the figures of a search in words."""
    f = figures
    times = f"warm {f.warm_us:.0f} us, cold {f.cold_us:.0f} us, {f.examined:.0f} poses examined"
    return f"{f.clips:<9} {f.poses:9d} poses: {times}, recall {f.recall:.3f}, distance ratio {f.ratio:.4f}"


if __name__ == "__main__":
    run_main(main)
