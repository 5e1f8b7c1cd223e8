"""Errors of synthesized poses by behaviour and method: Figure 6 of Chai & Hodgins 2005 on the protocol's clips.

`run_clip` is one cell of the table; `evaluate_synthesis` runs clips side by side, prints the table, and writes figures.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from config.joints import N_JOINTS
from config.settings import Settings, SolveSettings
from database.kinematics import forward
from database.rotations import Floats, rotvec_from_matrix
from database.store import PoseDatabase, open_database
from reconstruct.examples import Examples, examples_for
from reconstruct.history import Moment
from tools.evaluation.asf_angles import angle_errors, own_angles
from tools.evaluation.figures_file import write_figures
from tools.evaluation.methods import USUAL, method
from tools.evaluation.parallel import in_processes
from tools.evaluation.protocol import ProtocolClip, askable, synthesis_clips
from tools.evaluation.queries import VARIANTS, Query, query_of, varied
from tools.evaluation.scores import angle_errors_deg, geodesic_errors_deg, moving_angles, position_errors_mm
from tools.evaluation.synthesis_table import VICON, print_tables
from tools.evaluation.vicon import STEM, vicon_query
from tools.progress import progress_bar


@dataclass(frozen=True, slots=True)
class Errors:
    """Errors of N frames, the given first one left out.

    asf_deg: angles of the file's skeleton, the paper's measure, (N, D); component_deg: moving components of our rotation vectors,
    (N, A); geodesic_deg: (N, J - 1); position_mm: (N, J); frame_ms: mean time of a frame.
    """

    asf_deg: Floats
    component_deg: Floats
    geodesic_deg: Floats
    position_mm: Floats
    frame_ms: float

    def means(self) -> dict[str, float]:
        """Give the mean of each measure, the 95th percentile of frames of two, and the time."""
        return {
            "asf_deg": float(self.asf_deg.mean()),
            "component_deg": float(self.component_deg.mean()),
            "geodesic_deg": float(self.geodesic_deg.mean()),
            "position_mm": float(self.position_mm.mean()),
            "asf_deg_p95": float(np.percentile(self.asf_deg.mean(axis=1), 95)),
            "position_mm_p95": float(np.percentile(self.position_mm.mean(axis=1), 95)),
            "frame_ms": self.frame_ms,
        }


@dataclass(frozen=True, slots=True)
class Run:
    """One cell: clip, behaviour, variant, method, its means, and mean errors frame by frame for the plot, (N,) each."""

    clip: str
    behaviour: str
    variant: str
    method: str
    frames: int
    means: dict[str, float]
    asf_deg: Floats
    position_mm: Floats


@dataclass(frozen=True, slots=True)
class SynthesisOptions:
    """What is measured: empty clips and variants are all of them, empty methods the usual ones; seconds 0 is the whole clip."""

    motion: Path
    database: Path
    clips: tuple[str, ...] = ()
    seconds: float = 20.0
    markers: str = "boxing"
    variants: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    c3d: Path | None = None
    processes: int = 2
    seed: int = 1


Task = Callable[[], list[Run]]


def run_clip(
    query: Query, examples: Examples, settings: SolveSettings, name: str, variant: str = "exact", seed: int = 1
) -> Errors:
    """Put a query's markers through a method and compare with the truth. Raises DatabaseError: no such method or variant."""
    rotvec, root_m, frame_ms = synthesized(varied(query, variant, seed), examples, settings, name)
    return errors_of(query, rotvec, root_m, frame_ms)


def synthesized(query: Query, examples: Examples, settings: SolveSettings, name: str) -> tuple[Floats, Floats, float]:
    """Give a method's poses, (N, J, 3) charted [rad], roots, (N, 3) [m], and its mean time of a frame [ms]."""
    finder = method(name, query.subject, examples, settings)
    rotvec, root_m = np.empty((len(query), N_JOINTS, 3)), np.empty((len(query), 3))
    spent = 0.0
    for n in range(len(query)):
        frame = query.frame(n)
        begun = perf_counter()
        moment: Moment = finder.step(frame, query.start if n == 0 else None)
        spent += perf_counter() - begun
        rotvec[n], root_m[n] = moment.joints, moment.position_m
        rotvec[n, 0] = rotvec_from_matrix(moment.rotation)
    return rotvec, root_m, 1e3 * spent / len(query)


def errors_of(query: Query, rotvec: Floats, root_m: Floats, frame_ms: float = 0.0) -> Errors:
    """Compare poses with a query's truth, from the second frame on."""
    _, estimated = forward(query.subject.skeleton, rotvec, root_m)
    _, true = forward(query.subject.skeleton, query.rotvec, query.root_m)
    components = angle_errors_deg(rotvec, query.rotvec)[:, moving_angles(query.rotvec)]
    asf = angle_errors(own_angles(query.asf, rotvec), query.asf)
    geodesic = geodesic_errors_deg(rotvec, query.rotvec)
    later = slice(1, None)
    return Errors(asf[later], components[later], geodesic[later], position_errors_mm(estimated, true)[later], frame_ms)


class ExampleCache:
    """Examples of a database by skeleton and markers: clips of one subject share them."""

    def __init__(self, database: PoseDatabase) -> None:
        self._database = database
        self._kept: tuple[bytes, Examples] | None = None

    def examples(self, query: Query) -> Examples:
        """Give the examples for a query's subject; only the last subject's are kept."""
        subject = query.subject
        key = subject.skeleton.offsets_m.tobytes() + subject.offset_m.tobytes() + subject.joint.tobytes()
        if self._kept is None or self._kept[0] != key:
            self._kept = (key, examples_for(subject, self._database))
        return self._kept[1]


@lru_cache(maxsize=1)
def _cache(database: Path) -> ExampleCache:
    """Open a database once a process."""
    return ExampleCache(open_database(database))


def runs_of_clip(which: ProtocolClip, options: SynthesisOptions, settings: SolveSettings) -> list[Run]:
    """Run all wanted methods and variants on one clip. Raises DuocapError."""
    query = query_of(which, options.motion, options.markers, options.seconds)
    examples = _cache(options.database).examples(query)
    runs = []
    for variant in options.variants or tuple(VARIANTS):
        for name in options.methods or USUAL:
            errors = run_clip(query, examples, settings, name, variant, options.seed)
            by_frame = errors.asf_deg.mean(axis=1), errors.position_mm.mean(axis=1)
            frames = len(errors.position_mm)
            runs.append(Run(which.stem, which.behaviour, variant, name, frames, errors.means(), *by_frame))
    return runs


def runs_of_vicon(file: Path, options: SynthesisOptions, settings: SolveSettings) -> list[Run]:
    """Run all wanted methods on the real markers of clip 02_05. Raises DuocapError."""
    asked = vicon_query(file, options.motion, options.markers, options.seconds)
    query = asked.query
    examples = _cache(options.database).examples(query)
    floor_mm = float(asked.others.errors_mm(query.rotvec, query.root_m).mean())
    runs = []
    for name in options.methods or USUAL:
        rotvec, root_m, frame_ms = synthesized(query, examples, settings, name)
        errors = errors_of(query, rotvec, root_m, frame_ms)
        others = {"others_mm": float(asked.others.errors_mm(rotvec, root_m).mean()), "others_true_pose_mm": floor_mm}
        by_frame = errors.asf_deg.mean(axis=1), errors.position_mm.mean(axis=1)
        n = len(errors.position_mm)
        runs.append(Run(query.stem, query.behaviour, VICON, name, n, errors.means() | others, *by_frame))
    return runs


def tasks_of(options: SynthesisOptions, settings: SolveSettings) -> list[Task]:
    """Give what is to be run; the real markers where clip 02_05 is asked for."""
    clips = askable(open_database(options.database), options.clips, synthesis_clips())
    tasks: list[Task] = [partial(runs_of_clip, clip, options, settings) for clip in clips]
    if options.c3d is not None and STEM in {clip.stem for clip in clips}:
        tasks.append(partial(runs_of_vicon, options.c3d, options, settings))
    return tasks


def evaluate_synthesis(options: SynthesisOptions, settings: Settings, json_file: Path | None, plot: Path | None) -> list[Run]:
    """Measure, print the tables, write the figures. Raises DuocapError."""
    begun = perf_counter()
    runs: list[Run] = []
    tasks = tasks_of(options, settings.solve)
    with progress_bar("clips") as progress:
        progress(0, len(tasks))
        for done, (_, some) in enumerate(in_processes(tasks, options.processes), start=1):
            runs += some
            progress(done, len(tasks))
    order = [clip.stem for clip in synthesis_clips()]
    runs.sort(key=lambda run: order.index(run.clip) if run.clip in order else len(order))
    print_tables(runs)
    print(f"\n{perf_counter() - begun:.0f} s in all")
    if json_file is not None:
        write_figures(json_file, [_as_json(run) for run in runs])
    if plot is not None:
        from tools.evaluation.synthesis_plot import plot_runs

        plot_runs(runs, plot)
    return runs


def _as_json(run: Run) -> dict[str, Any]:
    """Give a run as JSON's own types."""
    named = {"clip": run.clip, "behaviour": run.behaviour, "variant": run.variant, "method": run.method, "frames": run.frames}
    by_frame = {"asf_deg": run.asf_deg.round(3).tolist(), "position_mm": run.position_mm.round(2).tolist()}
    return {**named, **run.means, "by_frame": by_frame}
