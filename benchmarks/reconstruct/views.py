"""What each camera more gives: the same scenes seen by one to four, with markers hidden from each camera by itself.

    python -m benchmarks.reconstruct.views --motion DIR [--set tuning test] [--seconds 4] [--markers SET] [--json F] [--plot F]

A walk, a box and a dance of each set, not drawn: a marker that the body leaves half in view is a blob with noise. Two cameras in
front, the third at the performer's left, the fourth behind; the subject is calibrated from the T-pose that the first two see. A
share of the markers is hidden from each camera by itself, others every half second. mm: mean error of the joints over all frames
of the clip; lost: share of the frames not in the state tracking; ms: processor time of a step, in the same run.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import build_motion_parser, format_heads, format_line, group_rows, open_set_database, run_main, write_json
from calibration.placement import add_cameras_around, make_facing_rig
from calibration.quality.picture import open_figure, save_figure
from calibration.subject.subject import Subject
from capture.packets import Blobs, Views
from capture.sources.simulated.camera import SimulatedCamera
from capture.sources.simulated.performer import make_scene_performer
from capture.sources.simulated.scene import SimulatedScene
from config.settings import Settings
from database.clips import Clip
from database.store import PoseDatabase
from reconstruct.pipeline import Pipeline
from tools.evaluate.missing.labels import NOISE_PX, blobs_of
from tools.evaluate.protocol import read_query, set_clip
from tools.evaluate.rendered import MIN_VISIBLE, RenderedOptions, RenderedPerformance, begin_of, calibrate
from tools.evaluate.states import judge_poses
from tools.evaluate.tracking import track_views

CLIPS = {
    "tuning": {"07_08": "walk", "14_02": "box", "05_18": "dance"},
    "test": {"02_01": "walk", "02_05": "box", "49_22": "dance"},
}
HIDDEN = (0.0, 1.0 / 3.0, 0.5)
CAMERAS = (1, 2, 3, 4)
TPOSE_S = 1.0
FOV_DEG, DISTANCE_M = 60.0, 3.5  # of the picture


@dataclass(frozen=True, slots=True)
class ViewsRun:
    """One clip seen by some cameras. hidden: share of the markers; mm: mean error; lost: share of the frames; ms: of a step."""

    clip: str
    what: str
    hidden: float
    cameras: int
    mm: float
    lost: float
    ms: float


def run_clip(stem: str, what: str, motion: Path, database: PoseDatabase, given: RenderedOptions) -> Iterator[ViewsRun]:
    """Yield the runs of a clip with a share of its markers hidden. Raises DuocapError: it cannot be rendered or calibrated."""
    settings = Settings()
    rendered = render_views(read_query(set_clip(stem), motion), given)
    subject = calibrate(rendered.of_cameras(2), given, database, settings)
    for cameras in CAMERAS:
        mm, lost, ms = _measure_run(rendered.of_cameras(cameras), subject, database, settings)
        yield ViewsRun(stem, what, given.occlude, cameras, mm, lost, ms)


def render_views(clip: Clip, given: RenderedOptions) -> RenderedPerformance:
    """Return a performance after a T-pose as cameras at 60 Hz see it, without drawing. Raises DuocapError: it leaves the view."""
    clip = begin_of(clip, given.seconds)
    scene = SimulatedScene(
        motion=clip.name,
        views=given.cameras,
        markers=given.markers,
        tpose_s=TPOSE_S,
        occlude=given.occlude,
        occlude_each=given.occlude_each,
        seed=given.seed,
    )
    performer = make_scene_performer(scene, clip)
    cameras = [SimulatedCamera(scene, camera, performer) for camera in range(scene.views)]
    seconds = cameras[0].times_s
    visible = np.empty((len(cameras), len(seconds), len(performer.markers)), bool)
    rng, views = np.random.default_rng(given.seed), []
    for n in range(len(seconds)):
        blobs = list[Blobs]()
        for c, camera in enumerate(cameras):
            view, _ = camera.view_at(n)
            visible[c, n] = view.shown >= MIN_VISIBLE
            px = performer.rig.cameras[c].project(view.path_m[1]) + NOISE_PX * rng.normal(size=(len(view.shown), 2))
            blobs.append(blobs_of(c, px, visible[c, n], n, rng.permutation(len(px))))
        views.append(Views(tuple(blobs)))
    begin_s = performer.duration_s - (clip.n_frames - 1) / clip.fps
    return RenderedPerformance(performer, views, seconds, visible, int(np.searchsorted(seconds, begin_s)), begin_s)


def _measure_run(
    rendered: RenderedPerformance, subject: Subject, database: PoseDatabase, settings: Settings
) -> tuple[float, float, float]:
    """Return mean error [mm], share lost and processor time of a step [ms] of one run."""
    performer = rendered.performer
    pipeline = Pipeline(performer.rig, subject, database, settings)
    pipeline.warm()
    tracked, part = track_views(pipeline, rendered.views), slice(rendered.begin, None)
    judged = judge_poses(subject.skeleton, tracked.take.poses[part], performer.joints_at(rendered.seconds[part])[1], 60.0)
    return float(judged.mean_mm.mean()), 1.0 - float(judged.tracking.mean()), float(np.median(tracked.step_ms[part]))


def format_table(runs: Sequence[ViewsRun]) -> Iterator[str]:
    """Yield the lines of a Markdown table: a line a clip and share hidden, the means of each share, and the time of a step."""
    yield from format_heads(("clip", "hidden", *(f"{n} camera" + "s" * (n > 1) for n in CAMERAS), "three over two"))
    for same in group_rows(runs, "hidden"):
        for own in group_rows(same, "clip"):
            yield _format_line(f"{own[0].clip} {own[0].what}", own)
        yield _format_line("**mean**", same)
    times = [np.mean([run.ms for run in runs if run.cameras == n]) for n in CAMERAS]
    yield format_line(("ms of a step", "", *(f"{ms:.1f}" for ms in times), f"{times[2] / times[1]:.2f}"))


def _format_line(head: str, runs: Sequence[ViewsRun]) -> str:
    """Return the line of some runs together: mm, and in brackets the percentage lost."""
    mm, lost = ([np.mean([getattr(run, name) for run in runs if run.cameras == n]) for n in CAMERAS] for name in ("mm", "lost"))
    cells = (f"{one:.0f} ({100 * share:.0f} %)" for one, share in zip(mm, lost, strict=True))
    return format_line((head, f"{100 * runs[0].hidden:.0f} %", *cells, f"{mm[2] / mm[1]:.2f}"))


def draw_figure(runs: Sequence[ViewsRun], file: Path) -> None:
    """Draw where the cameras stand, from above, and the mean errors of each number of them."""
    with open_figure(10.0, 4.2, "constrained") as figure:
        floor, errors = figure.subplots(1, 2)
        _draw_floor(floor)
        for same, color in zip(group_rows(runs, "hidden"), ("tab:green", "tab:orange", "tab:red"), strict=False):
            mm = [np.mean([run.mm for run in same if run.cameras == n]) for n in CAMERAS]
            label = f"{100 * same[0].hidden:.0f} % hidden from each" if same[0].hidden else "all shown"
            errors.plot(CAMERAS, mm, "o-", color=color, label=label)
        errors.set(xticks=CAMERAS, ylim=(0.0, None), xlabel="cameras", ylabel="mean error of the joints [mm]")
        errors.legend()
    save_figure(figure, file, 110)


def _draw_floor(ax: Any) -> None:
    """Draw cameras before, beside and behind a performer, with what they see."""
    pair = make_facing_rig((640, 480), FOV_DEG, DISTANCE_M, 1.5, 1.3)
    rig = add_cameras_around(pair, max(CAMERAS), FOV_DEG, [DISTANCE_M] * (max(CAMERAS) - 2), 1.6)
    for n, camera in enumerate(rig.cameras, 1):
        (x, _, z), ahead = camera.center_m, camera.rotation[2]
        turn = np.arctan2(ahead[0], ahead[2]) + np.radians(FOV_DEG) * np.array([-0.5, 0.5])
        reach_m = 1.6 * DISTANCE_M
        ax.fill([x, *(x + reach_m * np.sin(turn))], [z, *(z + reach_m * np.cos(turn))], color="tab:blue", alpha=0.1, lw=0)
        ax.plot(x, z, "o", color="tab:blue", ms=9)
        ax.annotate(f"{n} {camera.name}", (x, z), xytext=(0, 9 if z > 0 else -16), textcoords="offset points", ha="center")
    ax.plot(0.0, 0.0, "o", color="black", ms=12)
    ax.annotate("", (0.0, 0.9), (0.0, 0.0), arrowprops={"arrowstyle": "->", "lw": 2})
    ax.annotate("performer", (0.0, 0.0), xytext=(0, -18), textcoords="offset points", ha="center")
    side_m = 1.25 * DISTANCE_M
    ax.set(xlim=(-side_m, side_m), ylim=(-side_m, side_m), aspect="equal", xlabel="from above [m]")


def main() -> None:
    """Measure and print."""
    parser = build_motion_parser(__doc__, seconds=4.0)
    parser.add_argument("--set", nargs="+", choices=tuple(CLIPS), default=list(CLIPS), dest="sets")
    parser.add_argument("--markers", default="all_around")
    parser.add_argument("--plot", type=Path, metavar="F.png")
    options = parser.parse_args()
    clips = {stem: what for name in options.sets for stem, what in CLIPS[name].items()}
    database = open_set_database(options.motion, clips)
    runs = []
    for hidden in HIDDEN:
        for stem, what in clips.items():
            given = RenderedOptions(options.markers, options.seconds, hidden, cameras=max(CAMERAS), occlude_each=True)
            for run in run_clip(stem, what, options.motion, database, given):
                runs.append(run)
                print(f"{run.clip}, {100 * hidden:.0f} % hidden, {run.cameras}: {run.mm:.1f} mm, {run.ms:.2f} ms", flush=True)
    print("\n".join(format_table(runs)))
    write_json(options.json, runs)
    if options.plot is not None:
        draw_figure(runs, options.plot)


if __name__ == "__main__":
    run_main(main)
