"""Whether markers that come back get their labels: `duocap evaluate labels --motion DIR`.

Clips of the protocol after a short T-pose, as two cameras see their markers, 0.3 px off, without drawing: blobs go through the
pipeline of live capture. Markers are hidden from both cameras as in `duocap evaluate missing`; the label of one that comes back
is looked at in its first frames. Markers are hidden by nothing else, and none are merged.
"""

from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from calibration.subject import Subject
from capture.packets import Blobs, MarkerFrame, PairedBlobs
from capture.simulated_performer import Performer, performer_from_scene
from capture.simulated_scene import SimulatedScene
from config.settings import Settings
from database.clips import Clip, clip_slice
from database.rotations import Floats
from database.store import PoseDatabase, open_database
from reconstruct.pipeline import Pipeline
from tools.evaluation.figures_file import write_figures
from tools.evaluation.missing_masks import CASES, Bools, Case, seen_in
from tools.evaluation.missing_styles import lesson, style_of
from tools.evaluation.parallel import in_processes
from tools.evaluation.protocol import MAIN, OTHERS, ProtocolClip, askable
from tools.evaluation.queries import FPS
from tools.progress import progress_bar

TPOSE_S, CHANGE_S = 1.0, 0.5
NOISE_PX = 0.3
FIRST = 3  # frames after a marker came back, in which its label is looked at
SAME_PX = 1e-6  # a label's place is its blob's
AIM = 99.5
RIGHT, WRONG, NONE = 0, 1, 2


@dataclass(frozen=True, slots=True)
class LabelOptions:
    """What is measured. Empty clips are all; seconds 0: whole clips; styles: without a learned style, with one, or both."""

    motion: Path
    database: Path
    clips: tuple[str, ...] = ()
    markers: tuple[str, ...] = ("boxing", "all_around")
    seconds: float = 8.0
    cases: tuple[Case, ...] = CASES
    styles: tuple[bool, ...] = (False, True)
    processes: int = 2
    seed: int = 1


@dataclass(frozen=True, slots=True)
class LabelRun:
    """One clip, case, and whether a style helped.

    returns: markers that came back; right, wrong, none: their labels over their first frames, at most `FIRST` each, counted;
    at_once: returns that were right in the very first; taken: hidden markers with a label, frame by frame; hidden: all of these.
    """

    clip: str
    behaviour: str
    markers: str
    style: bool
    case: Case
    returns: int
    at_once: int
    right: int
    wrong: int
    none: int
    taken: int
    hidden: int


@dataclass(frozen=True, slots=True)
class Show:
    """A performance: the frames before the clip, marker places of all, (N, M, 3) [m], their image points, (2, N, M, 2) [px]."""

    performer: Performer
    subject: Subject
    before: int
    marker_m: Floats
    image_px: Floats


def show_of(clip_name: str, scene: SimulatedScene, performer: Performer, seconds: float) -> Show:
    """Let a performer be seen by both cameras at 60 Hz for so long after the T-pose and the change out of it."""
    at_s = np.arange(0.0, min(performer.duration_s, TPOSE_S + CHANGE_S + seconds), 1.0 / FPS)
    marker_m = performer.markers_of(*performer.joints_at(at_s))
    rng = np.random.default_rng([scene.seed, *clip_name.encode()])
    image = np.array([[camera.project(points) for points in marker_m] for camera in performer.rig.cameras])
    image += NOISE_PX * rng.normal(size=image.shape)
    worn = performer.markers
    subject = Subject(
        clip_name, performer.clip.skeleton, worn, performer.offset_m, np.zeros(len(worn)), np.array([0.0, 1.0, 0.0])
    )
    return Show(performer, subject, int(np.searchsorted(at_s, TPOSE_S + CHANGE_S)), marker_m, image)


def blobs_of(camera: int, image_px: Floats, seen: Bools, n: int, order: np.ndarray) -> Blobs:
    """Give a camera's blobs of frame n: the markers that are seen, (M,), at image points (M, 2), in an order, (M,)."""
    shown = order[seen[order]]
    k = len(shown)
    points = np.ascontiguousarray(image_px[shown])
    return Blobs(camera, n, round(n * 1e9 / FPS), points, np.full(k, 30.0), np.full((k, 3), 255.0), np.full(k, NOISE_PX))


def verdict(frame: MarkerFrame, marker: int, image_px: Floats) -> int:
    """Tell whether a marker that is seen, image points of all (2, M, 2), is labelled rightly in both views, wrongly, or not.

    Wrongly: it has another's blob, or another has its blob.
    """
    same = np.linalg.norm(frame.image_px - image_px[:, marker, None], axis=2) < SAME_PX  # (2, M): who has this marker's blob
    has = same & frame.seen
    if (frame.seen[:, marker] & ~has[:, marker]).any() or np.delete(has, marker, axis=1).any():
        return WRONG
    return RIGHT if has[:, marker].all() else NONE


def run_case(
    which: ProtocolClip, markers: str, show: Show, case: Case, pipeline: Pipeline, style: bool, seed: int
) -> LabelRun | None:
    """Put a performance with gaps through the pipeline, which forgets what was before; None where the clip is too short."""
    n, n_markers = show.marker_m.shape[:2]
    gaps = seen_in(case, show.subject, n - show.before, seed, which.stem)
    if gaps is None:
        return None
    visible = np.concatenate([np.ones((show.before, n_markers), bool), gaps])
    returned = np.zeros(visible.shape, bool)
    returned[1:] = visible[1:] & ~visible[:-1]
    counts, at_once, taken = {RIGHT: 0, WRONG: 0, NONE: 0}, 0, 0
    left = np.zeros(n_markers, int)  # frames in which a marker's label is still looked at
    rng = np.random.default_rng([seed, n])
    pipeline.forget()
    for k in range(n):
        left_view, right_view = (blobs_of(c, show.image_px[c, k], visible[k], k, rng.permutation(n_markers)) for c in (0, 1))
        pipeline.step(PairedBlobs(left_view, right_view))
        frame = pipeline.markers
        assert frame is not None
        taken += int((frame.seen.any(axis=0) & ~visible[k]).sum())
        left = np.where(returned[k], FIRST, np.where(visible[k], left, 0))
        for m in np.flatnonzero(left):
            found = verdict(frame, int(m), show.image_px[:, k])
            counts[found] += 1
            at_once += int(returned[k, m] and found == RIGHT)
        left = np.maximum(left - 1, 0)
    hidden = int((~visible).sum())
    cell = (which.stem, which.behaviour, markers, style, case, int(returned.sum()), at_once)
    return LabelRun(*cell, counts[RIGHT], counts[WRONG], counts[NONE], taken, hidden)


@lru_cache(maxsize=1)
def _database(path: Path) -> PoseDatabase:
    """Open a database once a process."""
    return open_database(path)


def practised(pipeline: Pipeline, seen: Clip, markers: str, seed: int) -> None:
    """Let a pipeline with a style see a motion whole, so that rehearsals tell how much the style is worth, as in a session."""
    scene = SimulatedScene(motion=seen.name, markers=markers, tpose_s=TPOSE_S, seed=seed)
    show = show_of(seen.name, scene, performer_from_scene(scene, seen), np.inf)
    everything = np.ones(len(show.subject.markers), bool)
    pipeline.forget()
    for k in range(len(show.marker_m)):
        left, right = (blobs_of(c, show.image_px[c, k], everything, k, np.arange(len(everything))) for c in (0, 1))
        pipeline.step(PairedBlobs(left, right))


def runs_of_clip(which: ProtocolClip, markers: str, options: LabelOptions, settings: Settings) -> list[LabelRun]:
    """Run all cases on one clip, without a style and with one, learned as in `missing_styles`. Raises DuocapError."""
    told = lesson(which, options.motion)
    clip = told.asked
    if options.seconds > 0:
        clip = clip_slice(clip, 0, min(clip.n_frames, round(options.seconds * clip.fps) + 1))
    scene = SimulatedScene(motion=clip.name, markers=markers, tpose_s=TPOSE_S, seed=options.seed)
    performer = performer_from_scene(scene, clip)
    show = show_of(which.stem, scene, performer, options.seconds or np.inf)
    style = style_of(told, show.subject.skeleton) if any(options.styles) else None
    pipeline = Pipeline(performer.rig, show.subject, _database(options.database), settings)
    pipeline.warm()
    runs = []
    for with_style in sorted(options.styles):  # a pipeline that has a style keeps it
        if with_style:
            pipeline.take_style(style)
            practised(pipeline, told.seen, markers, options.seed)
        found = [run_case(which, markers, show, case, pipeline, with_style, options.seed) for case in options.cases]
        runs += [run for run in found if run is not None]
    return runs


def percent(part: int, whole: int) -> str:
    """Give a share in per cent."""
    return f"{100.0 * part / whole:.2f}" if whole else "-"


def table(runs: list[LabelRun]) -> list[str]:
    """Give a line for each marker set, case and with or without a style, all clips' returns together; and for all cases."""
    lines = [
        f"{'markers':<12}{'missing':<18}{'style':<8}{'returns':>8}{'at once %':>11}{'right %':>9}{'wrong %':>9}"
        f"{'none %':>8}{'taken %':>9}"
    ]
    for markers in dict.fromkeys(run.markers for run in runs):
        part = [run for run in runs if run.markers == markers]
        for case in (*dict.fromkeys(run.case for run in part), None):
            for style in sorted({run.style for run in part}):
                same = [run for run in part if run.style == style and case in (run.case, None)]
                lines.append(
                    _line(f"{markers:<12}{'all' if case is None else str(case):<18}{'with' if style else 'without':<8}", same)
                )
    return lines


def _line(head: str, runs: list[LabelRun]) -> str:
    """Give the figures of some runs together."""
    right, wrong, none = (sum(getattr(run, name) for run in runs) for name in ("right", "wrong", "none"))
    returns, looked = sum(run.returns for run in runs), right + wrong + none
    taken = percent(sum(run.taken for run in runs), sum(run.hidden for run in runs))
    shares = f"{percent(sum(run.at_once for run in runs), returns):>11}{percent(right, looked):>9}"
    return f"{head}{returns:>8}{shares}{percent(wrong, looked):>9}{percent(none, looked):>8}{taken:>9}"


def by_clip(runs: list[LabelRun]) -> list[str]:
    """Give a line for each marker set and clip, all cases together."""
    lines = []
    for markers, clip, style in dict.fromkeys((run.markers, run.clip, run.style) for run in runs):
        same = [run for run in runs if (run.markers, run.clip, run.style) == (markers, clip, style)]
        lines.append(_line(f"{markers:<12}{clip + ' ' + same[0].behaviour:<18.17}{'with' if style else 'without':<8}", same))
    return lines


def evaluate_labels(options: LabelOptions, settings: Settings, json_file: Path | None) -> list[LabelRun]:
    """Measure, print the tables, write the figures. Raises DuocapError."""
    begun = perf_counter()
    clips = askable(open_database(options.database), options.clips, (*MAIN, *OTHERS))
    tasks = [partial(runs_of_clip, clip, markers, options, settings) for markers in options.markers for clip in clips]
    found: dict[int, list[LabelRun]] = {}
    with progress_bar("clips") as progress:
        progress(0, len(tasks))
        for index, some in in_processes(tasks, options.processes):
            found[index] = some
            progress(len(found), len(tasks))
    runs = [run for index in range(len(tasks)) for run in found[index]]
    print("\n".join(table(runs)))
    print("\nby clip:\n" + "\n".join(by_clip(runs)))
    print(f"\nright, wrong, none: of the first {FIRST} frames of every marker that came back; aim {AIM:g} % right")
    print(f"taken: hidden markers that were given another's blob; {perf_counter() - begun:.0f} s in all")
    if json_file is not None:
        write_figures(json_file, [as_json(run) for run in runs])
    return runs


def as_json(run: LabelRun) -> dict[str, Any]:
    """Give a run flat."""
    return {key: value for key, value in asdict(run).items() if key != "case"} | {"what": run.case.what, "gap_s": run.case.gap_s}
