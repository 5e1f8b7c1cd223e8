"""What becomes of missing markers and of the pose without them: `duocap evaluate missing --motion DIR`.

Clips of the protocol, their markers noisy, some of them missing (`missing_masks`), solved with
and without a style that was learned from other frames (`missing_styles`), against holding and interpolating (`missing_methods`).
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from calibration.subject import Subject
from config.errors import DatabaseError
from config.joints import N_JOINTS
from config.markers import read_marker_set
from config.settings import Settings
from database.clips import Clip, clip_slice
from database.kinematics import forward
from database.resample import resample
from database.rotations import Floats, rotvec_from_matrix
from database.store import PoseDatabase, open_database
from reconstruct.basis import basis_for
from tools.evaluation.asf_angles import AsfAngles
from tools.evaluation.figures_file import write_figures
from tools.evaluation.missing_masks import CASES, Bools, Case, scored, seen_in
from tools.evaluation.missing_methods import METHODS, OF_STYLE, Given, method, rehearsed
from tools.evaluation.missing_styles import LESSONS, lesson_of, strangeness_deg, style_of
from tools.evaluation.missing_table import print_missing
from tools.evaluation.parallel import in_processes
from tools.evaluation.protocol import MAIN, OTHERS, ProtocolClip, askable
from tools.evaluation.queries import FPS, NOISE_M, Query, markers_of, varied
from tools.evaluation.scores import geodesic_errors_deg, position_errors_mm
from tools.progress import progress_bar

NONE = "none missing"


@dataclass(frozen=True, slots=True)
class MissingOptions:
    """What is measured. Empty clips, cases, methods are all of them; seconds 0: whole clips; styles: kinds of `LESSONS`;
    exact: markers without noise."""

    motion: Path
    database: Path
    clips: tuple[str, ...] = ()
    markers: tuple[str, ...] = ("boxing", "all_around")
    seconds: float = 8.0
    cases: tuple[Case, ...] = CASES
    methods: tuple[str, ...] = ()
    styles: tuple[str, ...] = ("known",)
    exact: bool = False
    processes: int = 2
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Errors:
    """Errors over the frames in which as many markers are missing as the case says.

    marker_mm: of the missing markers; marker_p95_mm: their 95th percentile; geodesic_deg: of all joints but the root;
    position_mm: of all joints.
    """

    marker_mm: float
    marker_p95_mm: float
    geodesic_deg: float
    position_mm: float


@dataclass(frozen=True, slots=True)
class MissingRun:
    """One cell: errors of a method, and of the same frames and markers with none missing.

    style: known or unknown; source: what it was learned from; strange_deg: how far the motion is from that; missing: share of the
    markers that were missing in the frames that count, their mean; frames: these; frame_ms: mean time of a frame.
    """

    clip: str
    behaviour: str
    markers: str
    style: str
    source: str
    strange_deg: float
    case: Case
    method: str
    missing: float
    frames: int
    errors: Errors
    whole: Errors
    frame_ms: float


@dataclass(frozen=True, slots=True)
class Answers:
    """Poses of N frames: rotvec (N, J, 3) [rad], root_m (N, 3) [m], marker_m (N, M, 3) [m], and the mean time of a frame [ms]."""

    rotvec: Floats
    root_m: Floats
    marker_m: Floats
    frame_ms: float


def query_of_clip(clip: Clip, which: ProtocolClip, markers: str, seconds: float) -> Query:
    """Give the frames of a clip at 60 Hz, at most `seconds` of them (0: all), with exact markers. Raises DuocapError."""
    clip = resample(clip, FPS)
    clip = clip_slice(clip, 0, min(clip.n_frames, round(seconds * FPS)) if seconds > 0 else clip.n_frames)
    worn = read_marker_set(markers)
    subject = Subject(which.stem, clip.skeleton, worn, worn.offset_m, np.zeros(len(worn)), np.array([0.0, 1.0, 0.0]))
    marker_m = markers_of(subject, clip.rotvec, clip.root_m)
    visible = np.ones(marker_m.shape[:2], bool)
    return Query(which.stem, which.behaviour, subject, clip.rotvec, clip.root_m, marker_m, visible, AsfAngles((), ()))


def noisy(query: Query, options: MissingOptions) -> Query:
    """Give the query as its markers are measured."""
    return query if options.exact else varied(query, "noise", options.seed)


def answers(name: str, given: Given) -> Answers:
    """Put a query through a method. Raises DatabaseError: no such method."""
    query = given.query
    finder = method(name, given)
    rotvec, root_m, marker_m = np.empty((len(query), N_JOINTS, 3)), np.empty((len(query), 3)), np.empty(query.marker_m.shape)
    spent = 0.0
    for n in range(len(query)):
        frame = query.frame(n)
        begun = perf_counter()
        moment, marker_m[n] = finder.step(n, frame)
        spent += perf_counter() - begun
        rotvec[n], root_m[n] = moment.joints, moment.position_m
        rotvec[n, 0] = rotvec_from_matrix(moment.rotation)
    return Answers(rotvec, root_m, marker_m, 1e3 * spent / len(query))


def errors_of(query: Query, visible: Bools, found: Answers) -> Errors:
    """Compare answers with the truth where markers are missing by a mask, (N, M)."""
    counts = scored(visible)
    skeleton = query.subject.skeleton
    true_m = markers_of(query.subject, query.rotvec, query.root_m)
    off_mm = 1e3 * np.linalg.norm(found.marker_m - true_m, axis=2)[counts[:, None] & ~visible]
    estimated, true = forward(skeleton, found.rotvec, found.root_m)[1], forward(skeleton, query.rotvec, query.root_m)[1]
    geodesic = geodesic_errors_deg(found.rotvec, query.rotvec)[counts]
    position = position_errors_mm(estimated, true)[counts]
    return Errors(float(off_mm.mean()), float(np.percentile(off_mm, 95)), float(geodesic.mean()), float(position.mean()))


@lru_cache(maxsize=1)
def _database(path: Path) -> PoseDatabase:
    """Open a database once a process."""
    return open_database(path)


def runs_of_clip(which: ProtocolClip, markers: str, options: MissingOptions, settings: Settings) -> list[MissingRun]:
    """Run all cases, methods and styles on one clip with one marker set. Raises DuocapError."""
    names = options.methods or tuple(METHODS)
    runs: list[MissingRun] = []
    plain: dict[tuple[Case, str], Answers] = {}  # of methods that take no style
    whole: Answers | None = None
    for kind in options.styles:
        told = lesson_of(kind, which, options.motion)
        query, seen = (
            noisy(query_of_clip(c, which, markers, s), options) for c, s in ((told.asked, options.seconds), (told.seen, 0))
        )
        style = style_of(told, query.subject.skeleton) if set(names) & set(OF_STYLE) else None
        given = Given(query, basis_for(query.subject, _database(options.database)), settings, style)
        if style is not None and "chosen" in names:
            given = replace(given, record=rehearsed(replace(given, query=seen)))
        whole = answers("local", given) if whole is None else whole
        strange = strangeness_deg(told.poses(), query.rotvec)
        for case in options.cases:
            visible = seen_in(case, query.subject, len(query), options.seed, which.stem)
            if visible is None:
                continue
            with_gaps = replace(given, query=replace(query, visible=visible))
            count = scored(visible)
            fixed = (float((~visible)[count].mean()), int(count.sum()))
            reference = errors_of(query, visible, whole)
            for name in names:
                known = plain.get((case, name))
                found = answers(name, with_gaps) if known is None else known
                if name not in OF_STYLE:
                    plain[case, name] = found
                cell = (which.stem, which.behaviour, markers, kind, told.source, strange, case, name, *fixed)
                runs.append(MissingRun(*cell, errors_of(query, visible, found), reference, found.frame_ms))
    return runs


def cases_named(names: Sequence[str]) -> tuple[Case, ...]:
    """Give the cases whose share, limb or gap is named (`50%`, `a leg`, `2s`), all of them if none is. Raises DatabaseError."""
    if not names:
        return CASES
    plain = [name.replace(" ", "").lower() for name in names]
    whats = {case.what.replace(" ", "") for case in CASES}
    gaps = {f"{case.gap_s:g}s" for case in CASES}
    foreign = [name for name in plain if name not in whats | gaps]
    if foreign:
        raise DatabaseError(f"{foreign[0]!r} is no case; take {', '.join(sorted(whats))}, {', '.join(sorted(gaps))}")
    asked_whats, asked_gaps = set(plain) & whats or whats, set(plain) & gaps or gaps
    return tuple(c for c in CASES if c.what.replace(" ", "") in asked_whats and f"{c.gap_s:g}s" in asked_gaps)


def evaluate_missing(options: MissingOptions, settings: Settings, json_file: Path | None, plot: Path | None) -> list[MissingRun]:
    """Measure, print the tables, write the figures. Raises DuocapError."""
    begun = perf_counter()
    for kind in options.styles:
        if kind not in LESSONS:
            raise DatabaseError(f"{kind!r} is no kind of style; take {', '.join(LESSONS)}")
    for name in options.methods:
        if name not in METHODS:
            raise DatabaseError(f"{name!r} is no method; take {', '.join(METHODS)}")
    clips = askable(open_database(options.database), options.clips, (*MAIN, *OTHERS))
    tasks = [partial(runs_of_clip, clip, markers, options, settings) for markers in options.markers for clip in clips]
    found: dict[int, list[MissingRun]] = {}
    with progress_bar("clips") as progress:
        progress(0, len(tasks))
        for index, some in in_processes(tasks, options.processes):
            found[index] = some
            progress(len(found), len(tasks))
    runs = [run for index in range(len(tasks)) for run in found[index]]
    print_missing(runs)
    noise = "exact markers" if options.exact else f"{1e3 * NOISE_M:g} mm of noise in every coordinate"
    print(f"\n{noise}; {perf_counter() - begun:.0f} s in all")
    if json_file is not None:
        write_figures(json_file, [as_json(run) for run in runs])
    if plot is not None and runs:
        from tools.evaluation.missing_plot import plot_missing

        plot_missing(runs, plot)
    return runs


def as_json(run: MissingRun) -> dict[str, Any]:
    """Give a run flat: the case by its parts, errors with none missing beside the others."""
    plain = {k: v for k, v in asdict(run).items() if k not in ("case", "errors", "whole")}
    errors = asdict(run.errors) | {f"whole_{key}": value for key, value in asdict(run.whole).items()}
    return plain | {"what": run.case.what, "gap_s": run.case.gap_s} | errors
