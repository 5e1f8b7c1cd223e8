"""Errors of poses, live and offline, of bodies calibrated from a rendered T-pose, and how often the expected errors hold.

    python -m benchmarks.reconstruct.calibrated --motion DIR [--set tuning test] [--every 2] [--seconds 3] [--json F]

Markers are detected in rendered images of two cameras. Three marker sets by turns; every clip counts alike. Unlike
`benchmarks.reconstruct.expected_errors` the solver knows neither the skeleton nor where markers sit.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.report import build_motion_parser, format_heads, open_set_database, run_main, write_json
from config.arrays import Floats
from config.errors import DuocapError
from config.settings import Settings
from database.store import PoseDatabase
from reconstruct.pipeline import Pipeline
from tools.evaluate.clip_sets import TEST, TUNING
from tools.evaluate.protocol import read_query, set_clip
from tools.evaluate.rendered import RenderedOptions, RenderedPerformance, calibrate, render
from tools.evaluate.states import STATES_LEGEND, JudgedPoses, judge_poses, share_within, states_table
from tools.evaluate.tracking import solve_offline_take, track_views

SETS = {"tuning": TUNING, "test": TEST}
MARKERS = ("boxing", "all_around", "dark_room")


@dataclass(frozen=True, slots=True)
class CalibratedErrors:
    """Errors of the joints of one clip where it was tracked, and those over the expected ones, (K, J).

    how: live or offline; poses: all of them beside the truth.
    """

    clip: str
    part: str
    markers: str
    how: str
    error_m: Floats
    share: Floats
    poses: JudgedPoses


def measure_clips(motion: Path, parts: Sequence[str], every: int, seconds: float) -> Iterator[CalibratedErrors]:
    """Yield the errors of every n-th clip of the sets. Raises DuocapError: no motions, or no database can be built of them."""
    database = open_set_database(motion, [stem for stems in SETS.values() for stem in stems])
    for part in parts:
        for n, stem in enumerate(list(SETS[part])[::every]):
            options = RenderedOptions(markers=MARKERS[n % len(MARKERS)], seconds=seconds)
            try:
                rendered = render(read_query(set_clip(stem), motion), options, Settings())
                both = _measure_live_and_offline(rendered, options, database)
            except DuocapError as error:  # a motion that leaves the view, or a T-pose that hides markers
                print(f"{stem}: {error}", file=sys.stderr)
                continue
            for how, (error_m, share, poses) in zip(("live", "offline"), both, strict=True):
                yield CalibratedErrors(stem, part, options.markers, how, error_m, share, poses)


def _measure_live_and_offline(
    rendered: RenderedPerformance, options: RenderedOptions, database: PoseDatabase
) -> list[tuple[Floats, Floats, JudgedPoses]]:
    """Return the errors of live and of offline poses, those over the expected ones, and all poses beside the truth."""
    settings, performer = Settings(), rendered.performer
    subject = calibrate(rendered, options, database, settings)
    pipeline = Pipeline(performer.rig, subject, database, settings)
    live = track_views(pipeline, rendered.views).take
    solved = solve_offline_take(pipeline, replace(live, views=rendered.views))
    part, fps = slice(rendered.begin, None), 1.0 / float(np.diff(rendered.seconds).mean())
    true_m = performer.joints_at(rendered.seconds[part])[1]
    both = [judge_poses(subject.skeleton, take.poses[part], true_m, fps) for take in (live, solved)]
    tracked = both[0].tracking
    return [(judged.error_m[tracked], (judged.error_m / judged.expected_m)[tracked], judged) for judged in both]


def format_table(runs: Sequence[CalibratedErrors]) -> Iterator[str]:
    """Yield the lines of a Markdown table, a line a set and marker set, and one for all marker sets."""
    yield from format_heads(
        ("set, markers", "clips", "live: mm", "within 1, 2 %", "offline: mm", "within 1, 2 %", "offline over live")
    )
    for part in dict.fromkeys(run.part for run in runs):
        for markers in (*MARKERS, "all"):
            some = [run for run in runs if run.part == part and markers in (run.markers, "all")]
            by_how = [[run for run in some if run.how == how] for how in ("live", "offline")]
            if some:
                mm = [1e3 * np.array([run.error_m.mean() for run in of]) for of in by_how]
                cells = [
                    f"{m.mean():.1f} | " + ", ".join(f"{share_within([run.share for run in of], k):.0f}" for k in (1.0, 2.0))
                    for m, of in zip(mm, by_how, strict=True)
                ]
                ratio = np.exp(np.log(mm[1] / mm[0]).mean())
                yield f"| {part}, {markers} | {len(mm[0])} | {cells[0]} | {cells[1]} | {ratio:.2f} |"


def main() -> None:
    """Measure and print."""
    parser = build_motion_parser(__doc__, seconds=3.0)
    parser.add_argument("--set", nargs="+", choices=tuple(SETS), default=list(SETS))
    parser.add_argument("--every", type=int, default=2)
    options = parser.parse_args()
    runs = []
    for run in measure_clips(options.motion, options.set, options.every, options.seconds):
        runs.append(run)
        print(f"{run.clip} {run.markers} {run.how} {1e3 * run.error_m.mean():.1f} mm", file=sys.stderr)
    print("\n".join(format_table(runs)))
    kinds = dict.fromkeys((run.part, run.how) for run in runs)
    of_kinds = ((f"{part}, {how}", [run.poses for run in runs if (run.part, run.how) == (part, how)]) for part, how in kinds)
    print("\n".join(["", *states_table(of_kinds), STATES_LEGEND]))
    write_json(options.json, [{"clip": r.clip, "how": r.how, "error_mm": 1e3 * float(r.error_m.mean())} for r in runs])


if __name__ == "__main__":
    run_main(main)
