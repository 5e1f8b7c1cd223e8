"""Errors of poses, live and offline, of bodies calibrated from a rendered T-pose, and how often the expected errors hold.

    python -m benchmarks.reconstruct.calibrated --motion DIR [--set tuning test] [--every 2] [--seconds 3] [--json F]

Markers are detected in rendered images of two cameras. Three marker sets by turns; every clip counts alike. Unlike
`benchmarks.reconstruct.expected_errors` the solver knows neither the skeleton nor where markers sit.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.report import build_parser, write_json
from capture.packets import MarkerFrame
from config.arrays import Floats
from config.errors import DuocapError
from config.settings import Settings
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.skeleton import Skeleton
from database.store import PoseDatabase, open_database
from reconstruct.offline.poses import LiveTake, OfflineOptions, solve_take
from reconstruct.pipeline import Pipeline
from reconstruct.pose import Pose, TrackingState
from tools.evaluate.protocol import protocol_database, read_query, set_clip
from tools.evaluate.rendered import RenderedOptions, RenderedPerformance, calibrate, render
from tools.evaluate.sets import TEST, TUNING
from tools.evaluate.states import STATES_LEGEND, JudgedPoses, judge_poses, share_within, states_table

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
    every_clip = [set_clip(stem) for stems in SETS.values() for stem in stems]
    database = open_database(protocol_database(motion, None, every_clip))
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
    poses, frames = list[Pose](), list[MarkerFrame]()
    for pair in rendered.views:
        poses.append(pipeline.step(pair))
        assert pipeline.markers is not None
        frames.append(pipeline.markers)
    whole = np.ones(len(subject.markers), bool)
    given = OfflineOptions(performer.rig, subject, database, settings, whole)
    solved = solve_take(LiveTake(poses, frames, rendered.views), given)
    true_m = compute_forward_kinematics(performer.clip.skeleton, *performer.poses_at(rendered.seconds))[1]
    part, fps = slice(rendered.begin, len(poses)), 1.0 / float(np.diff(rendered.seconds).mean())
    tracked = np.array([pose.state is TrackingState.TRACKING for pose in poses[part]])
    found = []
    for made in (poses[part], solved.poses[part]):
        judged = judge_poses(made, _compute_errors_m(subject.skeleton, made, true_m[part]), fps)
        found.append((judged.error_m[tracked], (judged.error_m / judged.expected_m)[tracked], judged))
    return found


def _compute_errors_m(skeleton: Skeleton, poses: Sequence[Pose], true_m: Floats) -> Floats:
    """Return the errors of poses, (N, J) [m]; true_m: the joints' places, (N, J, 3) [m]."""
    rotvec, root_m = np.array([pose.rotvec for pose in poses]), np.array([pose.root_m for pose in poses])
    return np.asarray(np.linalg.norm(compute_forward_kinematics(skeleton, rotvec, root_m)[1] - true_m, axis=2))


def format_table(runs: Sequence[CalibratedErrors]) -> Iterator[str]:
    """Yield the lines of a Markdown table, a line a set and marker set, and one for all marker sets."""
    yield "| set, markers | clips | live: mm | within 1, 2 % | offline: mm | within 1, 2 % | offline over live |"
    yield "|---|---|---|---|---|---|---|"
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = build_parser(__doc__)
    parser.add_argument("--motion", type=Path, required=True)
    parser.add_argument("--set", nargs="+", choices=tuple(SETS), default=list(SETS))
    parser.add_argument("--every", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=3.0)
    options = parser.parse_args(arguments)
    runs = []
    for run in measure_clips(options.motion, options.set, options.every, options.seconds):
        runs.append(run)
        print(f"{run.clip} {run.markers} {run.how} {1e3 * run.error_m.mean():.1f} mm", file=sys.stderr)
    print("\n".join(format_table(runs)))
    kinds = dict.fromkeys((run.part, run.how) for run in runs)
    of_kinds = ((f"{part}, {how}", [run.poses for run in runs if (run.part, run.how) == (part, how)]) for part, how in kinds)
    print("\n".join(["", *states_table(of_kinds), STATES_LEGEND]))
    write_json(options.json, [{"clip": r.clip, "how": r.how, "error_mm": 1e3 * float(r.error_m.mean())} for r in runs])
    return 0


if __name__ == "__main__":
    try:
        raise SystemExit(main())
    except DuocapError as error:
        raise SystemExit(f"error: {error}") from error
