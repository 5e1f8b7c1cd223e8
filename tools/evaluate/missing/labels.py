"""Whether markers that return after a gap get their labels: `duocap evaluate labels`.

Clips of the protocol after a short T-pose, as blobs of two cameras or more with 0.3 px of noise, without drawing, go through the
pipeline of live capture. Markers are hidden from all cameras as in `duocap evaluate missing`, by nothing else, and none are
merged; the labels of a returning marker are checked in its first frames.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from enum import Enum
from functools import partial
from typing import Any

import numpy as np

from calibration.subject.subject import Subject
from capture.packets import Blobs, Landmarks, MarkerFrame, Views
from capture.sources.simulated.performer import Performer, make_scene_performer
from capture.sources.simulated.scene import SimulatedScene
from config.arrays import Bools, Floats
from config.settings import Settings
from database.clips import Clip
from reconstruct.models.style.model import StyleError
from reconstruct.offline.poses import LiveTake
from reconstruct.pipeline import Pipeline
from tools.evaluate.missing.masks import GapPlan, MissingCase, seen_in
from tools.evaluate.missing.styles import find_learnable, known_split, learn_style, no_split
from tools.evaluate.parallel import run_tasks
from tools.evaluate.protocol import ProtocolClip, open_for_clip
from tools.evaluate.queries import FPS, true_subject
from tools.evaluate.rendered import begin_of
from tools.evaluate.states import STATES_LEGEND, JudgedPoses, judge_poses, states_table
from tools.evaluate.tracking import solve_offline_take, track_views

TPOSE_S, CHANGE_S = 1.0, 0.5
NOISE_PX = 0.3
N_CHECKED = 3  # frames after a marker's return in which its label is checked
LATER_FRAMES = 15  # after which the label of a marker that is still seen must be right: a quarter of a second
SAME_PX = 1e-6  # a labelled image point is that of its blob
AIM = 99.5


class Label(Enum):
    """Whether the label of a visible marker is right, wrong or missing."""

    RIGHT = "right"
    WRONG = "wrong"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelOptions(GapPlan):
    """Options of `duocap evaluate labels`.

    Attributes:
        styles: without a learned style, with one, or both.
        offline: whether the whole take is labelled with past and future.
        cameras: number of cameras.
    """

    styles: tuple[bool, ...] = (False, True)
    offline: bool = False
    cameras: int = 2


@dataclass(frozen=True, slots=True)
class LabelRun:
    """One clip and case, with or without a style.

    Attributes:
        returns: markers that returned.
        right, wrong, none: numbers of right, wrong and missing labels over the first N_CHECKED frames of each return.
        at_once: returns labelled correctly in the first.
        later, later_right: markers seen for LATER_FRAMES since, and those then labelled correctly.
        taken: hidden markers with a label, summed over frames.
        hidden: hidden markers, likewise.
        poses: poses compared with the truth.
    """

    clip: str
    behaviour: str
    markers: str
    style: bool
    case: MissingCase
    returns: int
    at_once: int
    right: int
    wrong: int
    none: int
    later: int
    later_right: int
    taken: int
    hidden: int
    poses: JudgedPoses

    def as_json(self) -> dict[str, Any]:
        """Return the run without nested objects."""
        plain = {key: value for key, value in asdict(self).items() if key not in ("case", "poses")}
        return plain | {"what": self.case.what, "gap_s": self.case.gap_s} | self.poses.as_json()


@dataclass(frozen=True, slots=True)
class LabelScene:
    """Images of a performance.

    Attributes:
        subject: the performer, with the markers that are worn.
        before: frames before the clip.
        image_px: image points of all markers in all cameras, (V, N, M, 2) [px].
        joint_m: true, (N, J, 3) [m].
        landmarks: those found in every camera's pictures, (V, N); none: they were not looked for.
    """

    subject: Subject
    before: int
    image_px: Floats
    joint_m: Floats
    landmarks: Sequence[Sequence[Landmarks | None]] = ()

    def views_of(self, n: int, seen: Bools, rng: np.random.Generator) -> Views:
        """Return what the cameras see of frame n; seen: markers that are not hidden, (M,); rng: orders the blobs."""
        blobs = [blobs_of(c, each[n], seen, n, rng.permutation(len(seen))) for c, each in enumerate(self.image_px)]
        found = (each[n] for each in self.landmarks)
        if self.landmarks:
            blobs = [replace(each, landmarks=of_view) for each, of_view in zip(blobs, found, strict=True)]
        return Views(tuple(blobs))


def measure_labels(options: LabelOptions, settings: Settings) -> list[LabelRun]:
    """Run all cases on all clips, with and without a style as the options say. Raises DuocapError.

    A clip for which no style can be learned is run without one, or left out where only runs with a style are wanted.
    """
    clips = options.find_clips()
    learnable = find_learnable(clips, options.motion) if True in options.styles else clips
    plain = replace(options, styles=tuple(with_style for with_style in options.styles if not with_style))
    options_of = {clip: options if clip in learnable else plain for clip in clips}
    measured = [clip for clip in clips if options_of[clip].styles]
    if not measured:
        raise StyleError("a style can be learned for none of the clips; take longer ones, or --style none")
    tasks = [
        partial(_runs_of_clip, clip, markers, options_of[clip], settings) for markers in options.markers for clip in measured
    ]
    return [run for found in run_tasks(tasks, options.workers) for run in found]


def project_scene(clip_name: str, scene: SimulatedScene, performer: Performer, seconds: float) -> LabelScene:
    """Project a performer's markers into all cameras at 60 Hz; seconds: after the T-pose and the transition from it."""
    at_s = np.arange(0.0, min(performer.duration_s, TPOSE_S + CHANGE_S + seconds), 1.0 / FPS)
    orientation, joint_m = performer.joints_at(at_s)
    marker_m = performer.markers_of(orientation, joint_m)
    rng = np.random.default_rng([scene.seed, *clip_name.encode()])
    image = np.array([[camera.project(points) for points in marker_m] for camera in performer.rig.cameras])
    image += NOISE_PX * rng.normal(size=image.shape)
    subject = replace(true_subject(clip_name, performer.clip.skeleton, performer.markers), offset_m=performer.offset_m)
    return LabelScene(subject, int(np.searchsorted(at_s, TPOSE_S + CHANGE_S)), image, joint_m)


def blobs_of(camera: int, image_px: Floats, seen: Bools, n: int, order: np.ndarray) -> Blobs:
    """Return a camera's blobs of frame n: those markers, at (M, 2), that are seen, (M,), in an order, (M,)."""
    shown = order[seen[order]]
    k = len(shown)
    points = np.ascontiguousarray(image_px[shown])
    return Blobs(camera, n, round(n * 1e9 / FPS), points, np.full(k, 30.0), np.full((k, 3), 255.0), np.full(k, NOISE_PX))


def check_label(frame: MarkerFrame, marker: int, image_px: Floats) -> Label:
    """Return how a visible marker is labelled; image_px: image points of all markers, (V, M, 2) [px].

    RIGHT: correctly in all views; WRONG: it has the blob of another marker, or another has its blob; NONE: else.
    """
    same = np.linalg.norm(frame.image_px - image_px[:, marker, None], axis=2) < SAME_PX  # (V, M): which have this marker's blob
    has = same & frame.seen
    if (frame.seen[:, marker] & ~has[:, marker]).any() or np.delete(has, marker, axis=1).any():
        return Label.WRONG
    return Label.RIGHT if has[:, marker].all() else Label.NONE


def track_performance(scene: LabelScene, visible: Bools, pipeline: Pipeline, seed: int, offline: bool) -> LiveTake:
    """Return the poses of a pipeline without history, or of the offline solution, for a performance; visible: (N, M)."""
    rng = np.random.default_rng([seed, len(visible)])
    live = track_views(pipeline, (scene.views_of(k, seen, rng) for k, seen in enumerate(visible))).take
    return solve_offline_take(pipeline, live) if offline else live


def run_case(
    which: ProtocolClip,
    markers: str,
    scene: LabelScene,
    case: MissingCase,
    pipeline: Pipeline,
    style: bool,
    seed: int,
    offline: bool = False,
) -> LabelRun | None:
    """Label a performance with gaps; None where the clip is too short for the case."""
    n, n_markers = scene.image_px.shape[1:3]
    gaps = seen_in(case, scene.subject, n - scene.before, seed, which.stem)
    if gaps is None:
        return None
    visible = np.concatenate([np.ones((scene.before, n_markers), bool), gaps])
    returned = np.zeros(visible.shape, bool)
    returned[1:] = visible[1:] & ~visible[:-1]
    counts, at_once, taken = dict.fromkeys(Label, 0), 0, 0
    since = np.full(n_markers, -1)  # frames since a marker's return, -1: hidden, or never returned
    later = later_right = 0
    to_check = np.zeros(n_markers, int)  # frames in which a marker's label is still to be checked
    take = track_performance(scene, visible, pipeline, seed, offline)
    for k, frame in enumerate(take.markers):
        taken += int((frame.seen[:, :n_markers].any(axis=0) & ~visible[k]).sum())  # landmarks come after those worn
        to_check = np.where(returned[k], N_CHECKED, np.where(visible[k], to_check, 0))
        for m in np.flatnonzero(to_check):
            label = check_label(frame, int(m), scene.image_px[:, k])
            counts[label] += 1
            at_once += int(returned[k, m] and label is Label.RIGHT)
        to_check = np.maximum(to_check - 1, 0)
        since = np.where(returned[k], 0, np.where(visible[k] & (since >= 0), since + 1, -1))
        for m in np.flatnonzero(since == LATER_FRAMES):
            later += 1
            later_right += int(check_label(frame, int(m), scene.image_px[:, k]) is Label.RIGHT)
    cell = (which.stem, which.behaviour, markers, style, case, int(returned.sum()), at_once)
    totals = (counts[Label.RIGHT], counts[Label.WRONG], counts[Label.NONE], later, later_right)
    judged = judge_poses(scene.subject.skeleton, take.poses[scene.before :], scene.joint_m[scene.before :], FPS)
    return LabelRun(*cell, *totals, taken, int((~visible).sum()), judged)


def _check_style(pipeline: Pipeline, seen: Clip, markers: str, seed: int, cameras: int) -> None:
    """Let a pipeline with a style see a motion with all markers, so that held-out checks weight the style, as in a session."""
    simulated = SimulatedScene(motion=seen.name, views=cameras, markers=markers, tpose_s=TPOSE_S, seed=seed)
    scene = project_scene(seen.name, simulated, make_scene_performer(simulated, seen), np.inf)
    track_performance(scene, np.ones(scene.image_px.shape[1:3], bool), pipeline, seed, False)


def _runs_of_clip(which: ProtocolClip, markers: str, options: LabelOptions, settings: Settings) -> list[LabelRun]:
    """Run all cases on one clip, without a style and with one that knows its motion. Raises DuocapError."""
    split = (known_split if any(options.styles) else no_split)(which, options.motion)
    clip = begin_of(split.query, options.seconds)
    simulated = SimulatedScene(motion=clip.name, views=options.cameras, markers=markers, tpose_s=TPOSE_S, seed=options.seed)
    performer = make_scene_performer(simulated, clip)
    scene = project_scene(which.stem, simulated, performer, options.seconds or np.inf)
    style = learn_style(split, scene.subject.skeleton) if any(options.styles) else None
    pipeline = Pipeline(performer.rig, scene.subject, open_for_clip(options.database, which), settings)
    pipeline.warm()
    runs = []
    for with_style in sorted(options.styles):  # a pipeline cannot give up its style: without one first
        if with_style:
            pipeline.take_style(style)
            _check_style(pipeline, split.seen, markers, options.seed, options.cameras)
        found = [
            run_case(which, markers, scene, case, pipeline, with_style, options.seed, options.offline) for case in options.cases
        ]
        runs += [run for run in found if run is not None]
    return runs


def _percent(part: int, whole: int) -> str:
    """Return a share in percent as text."""
    return f"{100.0 * part / whole:.2f}" if whole else "-"


def table(runs: list[LabelRun]) -> list[str]:
    """Return a line for each marker set, case and style, over the returns of all clips, and a line for all cases."""
    lines = [
        f"{'markers':<12}{'missing':<18}{'style':<8}{'returns':>8}{'at once %':>11}{'right %':>9}{'wrong %':>9}"
        f"{'none %':>8}{'later %':>9}{'taken %':>9}"
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
    """Return the line of some runs together."""
    right, wrong, none = (sum(getattr(run, name) for run in runs) for name in ("right", "wrong", "none"))
    returns, checked = sum(run.returns for run in runs), right + wrong + none
    later = _percent(sum(run.later_right for run in runs), sum(run.later for run in runs))
    taken = _percent(sum(run.taken for run in runs), sum(run.hidden for run in runs))
    shares = f"{_percent(sum(run.at_once for run in runs), returns):>11}{_percent(right, checked):>9}"
    return f"{head}{returns:>8}{shares}{_percent(wrong, checked):>9}{_percent(none, checked):>8}{later:>9}{taken:>9}"


def by_clip(runs: list[LabelRun]) -> list[str]:
    """Return a line for each marker set, clip and style, over all cases."""
    lines = []
    for markers, clip, style in dict.fromkeys((run.markers, run.clip, run.style) for run in runs):
        same = [run for run in runs if (run.markers, run.clip, run.style) == (markers, clip, style)]
        lines.append(_line(f"{markers:<12}{clip + ' ' + same[0].behaviour:<18.17}{'with' if style else 'without':<8}", same))
    return lines


def report(runs: list[LabelRun], elapsed_s: float) -> Iterator[str]:
    """Yield the lines of both tables."""
    yield from table(runs)
    yield ""
    cells = dict.fromkeys((run.markers, run.case, run.style) for run in runs)
    yield from states_table(
        (
            f"{markers}, {case}, {'with' if style else 'without'}",
            [run.poses for run in runs if (run.markers, run.case, run.style) == (markers, case, style)],
        )
        for markers, case, style in cells
    )
    yield STATES_LEGEND
    yield "\nby clip:"
    yield from by_clip(runs)
    yield f"\nright, wrong, none: of the first {N_CHECKED} frames of every marker that came back; aim {AIM:g} % right"
    yield f"later: right {LATER_FRAMES} frames after the return, of the markers seen until then"
    yield f"taken: hidden markers that were given another's blob; {elapsed_s:.0f} s in all"
