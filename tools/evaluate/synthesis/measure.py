"""Measure methods on the clips of the protocol, on several variants of their markers, and on the real markers of one clip."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from config.arrays import Floats
from config.settings import SolveSettings
from database.geometry.kinematics import compute_forward_kinematics
from database.store import PoseDatabase, open_database
from reconstruct.search.examples import Examples, compute_examples
from tools.cluster import ALONE, WorkerPlan
from tools.evaluate.asf_angles import angle_errors, own_angles
from tools.evaluate.methods import USUAL, SolvedMotion, solve
from tools.evaluate.parallel import run_tasks
from tools.evaluate.protocol import ProtocolClip, is_markers, measurable_clips, synthesis_clips
from tools.evaluate.queries import VARIANTS, MotionQuery, apply_variant, load_query
from tools.evaluate.scores import angle_errors_deg, geodesic_errors_deg, moving_angles, position_errors_mm
from tools.evaluate.synthesis.vicon import STEM, ViconQuery, markers_query, vicon_query

VICON = "vicon"  # the variant with real markers


@dataclass(frozen=True, slots=True)
class SynthesisErrors:
    """Errors of N frames, without the first, whose pose is given.

    Attributes:
        asf_deg: angles of the file's skeleton, the paper's measure, (N, D).
        component_deg: moving components of our rotation vectors, (N, A).
        geodesic_deg: rotation errors of the joints but the root, (N, J - 1).
        position_mm: position errors of the joints, (N, J).
        frame_ms: mean time of a frame [ms].
    """

    asf_deg: Floats
    component_deg: Floats
    geodesic_deg: Floats
    position_mm: Floats
    frame_ms: float

    def means(self) -> dict[str, float]:
        """Return the mean of each measure, the 95th percentile over frames of two, and the time."""
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
class SynthesisRun:
    """One cell of the table: a method on a variant of a clip. asf_deg, position_mm: mean errors of each frame, (N,)."""

    clip: str
    behaviour: str
    variant: str
    method: str
    frames: int
    means: dict[str, float]
    asf_deg: Floats
    position_mm: Floats

    def as_json(self) -> dict[str, Any]:
        """Return the run as JSON's own types."""
        named = {name: getattr(self, name) for name in ("clip", "behaviour", "variant", "method", "frames")}
        by_frame = {"asf_deg": self.asf_deg.round(3).tolist(), "position_mm": self.position_mm.round(2).tolist()}
        return {**named, **self.means, "by_frame": by_frame}


@dataclass(frozen=True, slots=True)
class SynthesisOptions:
    """Options of `duocap evaluate synthesis`.

    Attributes:
        clips, variants: clips and variants to measure, none for all.
        methods: methods to measure, none for the usual ones.
        seconds: length of each clip that is used [s], 0 for whole clips.
        c3d: the real markers.
    """

    motion: Path | None
    database: Path
    clips: tuple[ProtocolClip, ...] = ()
    seconds: float = 20.0
    markers: str = "boxing"
    variants: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    c3d: Path | None = None
    workers: WorkerPlan = ALONE
    seed: int = 1


def measure_synthesis(options: SynthesisOptions, settings: SolveSettings) -> list[SynthesisRun]:
    """Run every wanted method on every wanted variant of the clips, in the order of the protocol. Raises DuocapError."""
    clips = measurable_clips(open_database(options.database), options.clips, synthesis_clips())
    # Of a given file of markers, the truth is the body fitted to all of them.
    files = [partial(markers_query, clip.file) for clip in clips if clip.file is not None and is_markers(clip)]
    if options.c3d is not None and STEM in {clip.stem for clip in clips}:
        files.append(partial(vicon_query, options.c3d, options.motion))
    tasks = [partial(_runs_of_clip, clip, options, settings) for clip in clips if not is_markers(clip)]
    tasks += [partial(_runs_of_markers, read, options, settings) for read in files]
    runs = [run for found in run_tasks(tasks, options.workers) for run in found]
    order = [clip.stem for clip in (*clips, *synthesis_clips())]
    return sorted(runs, key=lambda run: order.index(run.clip) if run.clip in order else len(order))


def run_method(
    query: MotionQuery, examples: Examples, settings: SolveSettings, name: str, variant: str = "exact", seed: int = 1
) -> SynthesisErrors:
    """Put a variant of a query through a method. Raises DatabaseError: no such method or variant."""
    return errors_of(query, solve(apply_variant(query, variant, seed), examples, settings, name))


def errors_of(query: MotionQuery, found: SolvedMotion) -> SynthesisErrors:
    """Compare poses with a query's truth, from the second frame on."""
    _, estimated = compute_forward_kinematics(query.subject.skeleton, found.rotvec, found.root_m)
    _, true = compute_forward_kinematics(query.subject.skeleton, query.rotvec, query.root_m)
    components = angle_errors_deg(found.rotvec, query.rotvec)[:, moving_angles(query.rotvec)]
    # A BVH or C3D has no angles of an Acclaim skeleton.
    no_angles = np.full((len(query), 1), np.nan)
    asf = angle_errors(own_angles(query.asf, found.rotvec), query.asf) if query.asf.chains else no_angles
    geodesic = geodesic_errors_deg(found.rotvec, query.rotvec)
    return SynthesisErrors(asf[1:], components[1:], geodesic[1:], position_errors_mm(estimated, true)[1:], found.frame_ms)


class ExampleCache:
    """Examples of a database for the last subject: clips of one person share them."""

    def __init__(self, database: PoseDatabase) -> None:
        self._database = database
        self._last: tuple[bytes, Examples] | None = None

    def examples(self, query: MotionQuery) -> Examples:
        """Return the examples for a query's skeleton and markers."""
        subject = query.subject
        key = subject.skeleton.offsets_m.tobytes() + subject.offset_m.tobytes() + subject.joint.tobytes()
        if self._last is None or self._last[0] != key:
            self._last = (key, compute_examples(subject, self._database))
        return self._last[1]


@lru_cache(maxsize=1)
def _cache(database: Path) -> ExampleCache:
    """Return the process's cache of examples."""
    return ExampleCache(open_database(database))


def _runs_of_clip(which: ProtocolClip, options: SynthesisOptions, settings: SolveSettings) -> list[SynthesisRun]:
    """Run all wanted methods and variants on one clip. Raises DuocapError."""
    query = load_query(which, options.motion, options.markers, options.seconds)
    examples = _cache(options.database).examples(query)
    return [
        _run(query, variant, name, run_method(query, examples, settings, name, variant, options.seed))
        for variant in options.variants or tuple(VARIANTS)
        for name in options.methods or USUAL
    ]


def _runs_of_markers(
    read: Callable[[str, float], ViconQuery], options: SynthesisOptions, settings: SolveSettings
) -> list[SynthesisRun]:
    """Run all wanted methods on real markers. Raises DuocapError.

    Args:
        read: reads them by marker set and length [s].
        options: what is wanted.
        settings: of the solver.
    """
    vicon = read(options.markers, options.seconds)
    query, others = vicon.query, vicon.others
    examples = _cache(options.database).examples(query)
    true_mm = float(others.errors_mm(query.rotvec, query.root_m).mean())
    runs = []
    for name in options.methods or USUAL:
        found = solve(query, examples, settings, name)
        predicted_mm = float(others.errors_mm(found.rotvec, found.root_m).mean())
        extra = {"others_mm": predicted_mm, "others_true_pose_mm": true_mm}
        runs.append(_run(query, VICON, name, errors_of(query, found), extra))
    return runs


def _run(
    query: MotionQuery, variant: str, name: str, errors: SynthesisErrors, extra: dict[str, float] | None = None
) -> SynthesisRun:
    """Return one cell."""
    by_frame = errors.asf_deg.mean(axis=1), errors.position_mm.mean(axis=1)
    means = errors.means() | (extra or {})
    return SynthesisRun(query.stem, query.behaviour, variant, name, len(errors.position_mm), means, *by_frame)
