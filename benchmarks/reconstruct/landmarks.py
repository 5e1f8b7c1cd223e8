"""Poses of rendered people that are made of landmarks alone, beside triangulation of the same landmarks.

    python -m benchmarks.reconstruct.landmarks FILE.npz... --motion DIR [--cameras 0 1] [--rate 30] [--ways live offline]
        [--pose2sim PYTHON] [--json F]

Files are those of `recorded_landmarks`. Each clip is followed live, its subject calibrated from its T-pose, and solved with past
and future (offline); `exchanged` has more exchanges of left and right, 0.2 to 1 s in one view at a time; in `told` all exchanges
are undone by the truth, which says what they cost. The database holds nothing of the clips' people. Plain triangulation, and
Pose2Sim's own with its filter, are of twelve joints, for which the column `twelve` has the poses' mean errors, too. PYTHON is
that of an environment with Pose2Sim (`pip install pose2sim`).

mm: distance of all joints; deg: mean turn between joint rotations; lost: share of frames not in the state tracking, and of those
for which a triangulation has no place; over: of those that are, the share more than 100 mm off on average; refused: of frames
under 50 mm, those that are lost; within 1, 2: share of joints no farther off than so many expected errors; jitter: root mean
square step of a joint in a frame while the body stands in its T-pose; slide: of feet that stand; found: exchanges that are told
while they last; false: exchanges that are told where there are none; ms: processor time of a step. The last rows are means over
the clips with 95 % intervals by clip.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.reconstruct.innovations import resample_estimate
from benchmarks.reconstruct.pose2sim import run_pose2sim
from benchmarks.reconstruct.recorded_landmarks import (
    Recording,
    find_exchanges,
    read_recording,
    select_joint_rows,
    triangulate_joints,
)
from benchmarks.report import Column, TablePrinter, build_motion_parser, group_rows, open_set_database, run_main, write_json
from calibration.camera import Rig
from calibration.subject.subject import Subject
from capture.packets import Views
from config.arrays import Bools, Floats, Ints
from config.joints import JOINTS
from config.landmarks import Exchange
from config.markers import NO_MARKERS, MarkerSet, read_marker_set
from config.settings import Settings
from database.clips import find_runs
from database.geometry.rotations import compute_geodesic_rad, matrix_from_rotvec
from database.store import PoseDatabase
from reconstruct.pipeline import Pipeline
from reconstruct.pose import Pose
from tools.calibrate.session import fit_subject_to_pairs
from tools.evaluate.states import GOOD_MM, compute_pose_joints, judge_poses, share_within
from tools.evaluate.tracking import solve_offline_take, track_views

EVERY_S, SHORTEST_S, LONGEST_S = 1.5, 0.2, 1.0  # of exchanges that are added
INJECTED = (Exchange.LEGS, Exchange.ARMS, Exchange.BODY, Exchange.UPPER)
WAYS = ("live", "offline", "exchanged", "told")
WHOLE = ("mm", "p95_mm", "twelve_mm", "within_1", "within_2", "slide_mm_s", "found")  # figures without decimals
FEET, STANDS_M_S = ("leftToes", "rightToes"), 0.05  # balls of the feet, which stand where they are slower


@dataclass(frozen=True, slots=True)
class Score:
    """How a clip was followed: errors of all joints [mm], of rotations [deg]; for the others see the module."""

    clip: str
    cameras: int
    way: str
    mm: float
    p95_mm: float
    twelve_mm: float = np.nan
    deg: float = np.nan
    lost: float = np.nan
    over: float = np.nan
    refused: float = np.nan
    within_1: float = np.nan
    within_2: float = np.nan
    jitter_mm: float = np.nan
    slide_mm_s: float = np.nan
    found: float = np.nan
    false_min: float = np.nan
    ms: float = np.nan


FIGURES = [Column(f.name, 0 if f.name in WHOLE else 1) for f in fields(Score)[3:]]


def inject_exchanges(recording: Recording, seed: int) -> Ints:
    """Return exchanges of arms, legs, upper body and body in turn, in one view at a time, by turns, (F, V)."""
    random, states = np.random.default_rng(seed), np.zeros(recording.found.shape, np.int64)
    begin_s, n = recording.begin_s + EVERY_S, 0
    while begin_s < recording.seconds[-1] - LONGEST_S:
        lasts_s = float(random.uniform(SHORTEST_S, LONGEST_S))
        during = (recording.seconds >= begin_s) & (recording.seconds < begin_s + lasts_s)
        states[during, n % 2] = INJECTED[n % len(INJECTED)]
        begin_s, n = begin_s + EVERY_S, n + 1
    return states


@dataclass(frozen=True, slots=True)
class Plan:
    """How clips are scored. ways: those of poses; pose2sim: python that has Pose2Sim, None: without it."""

    cameras: tuple[int, ...]
    database: PoseDatabase
    settings: Settings = field(default_factory=Settings)
    ways: tuple[str, ...] = WAYS
    pose2sim: Path | None = None


def score_clip(recording: Recording, plan: Plan) -> Iterator[Score]:
    """Yield the scores of a clip: triangulations of twelve joints, and landmarks alone in every way."""
    markers, cameras = read_marker_set(NO_MARKERS), plan.cameras
    rig = recording.select_rig(cameras)
    first = int(np.searchsorted(recording.seconds, recording.begin_s))
    held = recording.held
    views, truth = recording.views(cameras), find_exchanges(recording, markers)[:, list(cameras)]
    twelve = markers.joint[select_joint_rows(markers)]
    yield _score_places(recording, "triangulated", _triangulate(views, rig, markers), twelve)
    if plan.pose2sim is not None:
        for way, place_m in run_pose2sim(recording, cameras, plan.pose2sim):
            yield _score_places(recording, way, place_m, twelve)
    subject = fit_subject_to_pairs(
        "rendered", [each for each, use in zip(views, held, strict=True) if use], rig, markers, plan.database, plan.settings
    ).subject
    injected = inject_exchanges(recording, first)
    runs = {"live": np.zeros_like(injected), "exchanged": injected, "told": find_exchanges(recording, markers)}
    for way in (way for way in runs if way in plan.ways or (way, "offline" in plan.ways) == ("live", True)):
        pipeline = Pipeline(rig, subject, plan.database, plan.settings)
        pipeline.warm()
        seen = recording.views(cameras, runs[way])
        run = track_views(pipeline, seen)
        told = np.array([np.maximum(p.exchanged, 0) if len(p.exchanged) else np.zeros(len(rig), int) for p in run.take.poses])
        score = score_poses(recording, run.take.poses, subject, first, held)
        if way == "exchanged":
            score = replace(score, found=100.0 * measure_found(told, injected[:, list(cameras)]))
        elif way == "live":
            minutes = (recording.seconds[-1] - recording.begin_s) / 60.0
            score = replace(score, false_min=count_false(told[first:], truth[first:]) / minutes)
        yield replace(score, way=way, ms=float(np.median(run.step_ms)))
        if way == "live" and "offline" in plan.ways:
            solved = solve_offline_take(pipeline, replace(run.take, views=seen)).poses
            yield replace(score_poses(recording, solved, subject, first, held), way="offline")


def _score_places(recording: Recording, way: str, place_m: Floats, joint: Ints) -> Score:
    """Return the score of triangulated joints, (F, 12, 3) [m], NaN where there is no place."""
    late = recording.seconds >= recording.begin_s
    mm = 1e3 * np.linalg.norm(place_m - recording.joint_m[:, joint], axis=2)[late]
    known = mm[np.isfinite(mm)]
    figures = (float(known.mean()), float(np.percentile(known, 95.0)), float(known.mean()))
    return Score(recording.stem, 0, way, figures[0], figures[1], figures[2], lost=100.0 - 100.0 * known.size / mm.size)


def score_poses(recording: Recording, poses: Sequence[Pose], subject: Subject, first: int, held: Bools) -> Score:
    """Return the scores of poses.

    Args:
        recording: with the truth.
        poses: one of every moment.
        subject: whose poses they are.
        first: moment from which on they count.
        held: moments in which the body stands still, (F,).
    """
    joint_m = compute_pose_joints(subject.skeleton, poses)
    turns = (matrix_from_rotvec(rotvec[first:]) for rotvec in (np.array([pose.rotvec for pose in poses]), recording.rotvec))
    judged = judge_poses(subject.skeleton, poses[first:], recording.joint_m[first:], 0.0)
    ratio, tracking = judged.error_m / np.maximum(judged.expected_m, 1e-9), judged.tracking
    mm, twelve = 1e3 * judged.error_m, subject.joint[select_joint_rows(subject.markers)]
    good = judged.mean_mm < GOOD_MM
    return Score(
        recording.stem,
        0,
        "",
        float(mm.mean()),
        float(np.percentile(mm, 95.0)),
        float(mm[:, twelve].mean()),
        float(np.degrees(compute_geodesic_rad(*turns)).mean()),
        100.0 * float(np.mean(~tracking)),
        100.0 * float(np.mean(judged.mean_mm[tracking] > 100.0)) if tracking.any() else 0.0,
        100.0 * float(np.mean(~tracking[good])) if good.any() else 0.0,
        share_within([ratio], 1.0),
        share_within([ratio], 2.0),
        1e3 * float(np.sqrt((np.diff(joint_m[held], axis=0) ** 2).sum(axis=2).mean())),
        measure_slide_mm_s(joint_m[first:], recording.joint_m[first:], recording.seconds[first:]),
    )


def measure_slide_mm_s(joint_m: Floats, truth_m: Floats, seconds: Floats) -> float:
    """Return how fast the balls of the feet move along the floor while the true ones stand [mm/s]; NaN where none stands."""
    feet = [JOINTS.index(name) for name in FEET]
    moved, stands = (
        np.diff(each[:, feet], axis=0)[:, :, [0, 2]] / np.diff(seconds)[:, None, None] for each in (joint_m, truth_m)
    )
    still = np.linalg.norm(stands, axis=2) < STANDS_M_S
    return 1e3 * float(np.linalg.norm(moved, axis=2)[still].mean()) if still.any() else np.nan


def measure_found(told: Ints, injected: Ints) -> float:
    """Return the share of exchanges, (F, V), that are told in at least half of their frames."""
    found = []
    for c in range(injected.shape[1]):
        for begin, end in find_runs(injected[:, c] > 0):
            found.append(np.mean(told[begin:end, c] == injected[begin:end, c]) >= 0.5)
    return float(np.mean(found)) if found else np.nan


def count_false(told: Ints, truth: Ints) -> int:
    """Return how many exchanges are told, (F, V), in none of whose frames the truth has any."""
    spans = [(c, begin, end) for c in range(told.shape[1]) for begin, end in find_runs(told[:, c] > 0)]
    return sum(not (truth[begin:end, c] > 0).any() for c, begin, end in spans)


def _triangulate(views: Sequence[Views], rig: Rig, markers: MarkerSet) -> Floats:
    """Return the twelve joints by plain triangulation, (F, 12, 3) [m], NaN where fewer than two cameras see the body."""
    nothing = np.full((len(select_joint_rows(markers)), 3), np.nan)
    found = (triangulate_joints(each, rig, markers) for each in views)
    return np.array([nothing if point_m is None else point_m for point_m in found])


def average_scores(scores: Sequence[Score]) -> Iterator[dict[str, str]]:
    """Yield a row for every way: means over the clips with 95 % intervals by clip."""
    for same in group_rows(scores, "way"):
        row = {"clip": f"{len(same)} clips", "way": same[0].way}
        for figure in FIGURES:
            values = np.array([getattr(score, figure.name) for score in same])
            texts = [f"{x:.{figure.digits}f}" for x in resample_estimate(partial(_average, values), len(values))]
            row[figure.name] = f"{texts[0]} ({texts[1]}-{texts[2]})" if np.isfinite(values).any() else "-"
        yield row


def _average(values: Floats, clips: Ints) -> float:
    """Return the mean over some clips of what is known."""
    known = values[clips][np.isfinite(values[clips])]
    return float(known.mean()) if known.size else np.nan


def main() -> None:
    """Measure and print."""
    parser = build_motion_parser(__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--cameras", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--rate", type=float, default=0.0)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    parser.add_argument("--pose2sim", type=Path, metavar="PYTHON")
    options = parser.parse_args()
    recordings = [read_recording(path).thinned(options.rate) for path in options.files]
    database = open_set_database(options.motion, ["07_08"])
    plan = Plan(tuple(options.cameras), database, ways=tuple(options.ways), pose2sim=options.pose2sim)
    table = TablePrinter((Column("clip"), Column("cameras"), Column("way"), *FIGURES))
    for recording in recordings:
        for score in score_clip(recording, plan):
            table.add(replace(score, cameras=len(plan.cameras)))
    means = TablePrinter((Column("clip"), Column("way"), *(Column(figure.name) for figure in FIGURES)))
    for row in average_scores(table.rows):
        means.show(row)
    write_json(options.json, table.rows)


if __name__ == "__main__":
    run_main(main)
