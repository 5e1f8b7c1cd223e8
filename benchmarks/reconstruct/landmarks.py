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
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from time import process_time

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
from benchmarks.report import build_parser, write_json
from calibration.camera import Rig
from calibration.subject.subject import Subject
from capture.packets import MarkerFrame, Views
from config.arrays import Bools, Floats, Ints
from config.joints import JOINTS
from config.landmarks import Exchange
from config.markers import NO_MARKERS, MarkerSet, read_marker_set
from config.settings import Settings
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.rotations import matrix_from_rotvec
from database.store import PoseDatabase, open_database
from reconstruct.offline.poses import LiveTake, OfflineOptions, solve_take
from reconstruct.pipeline import Pipeline
from reconstruct.pose import Pose, TrackingState
from tools.calibrate.session import fit_subject_to_pairs
from tools.evaluate.protocol import protocol_database, set_clip
from tools.evaluate.states import GOOD_MM, share_within, spans_of

SETTLED_S = 0.3  # after which a T-pose is held
EVERY_S, SHORTEST_S, LONGEST_S = 1.5, 0.2, 1.0  # of exchanges that are added
INJECTED = (Exchange.LEGS, Exchange.ARMS, Exchange.BODY, Exchange.UPPER)
WAYS = ("live", "offline", "exchanged", "told")
FIGURES = (  # of a score, and their decimals
    ("mm", 0),
    ("p95_mm", 0),
    ("twelve_mm", 0),
    ("deg", 1),
    ("lost", 1),
    ("over", 1),
    ("refused", 1),
    ("within_1", 0),
    ("within_2", 0),
    ("jitter_mm", 1),
    ("slide_mm_s", 0),
    ("found", 0),
    ("false_min", 1),
    ("ms", 1),
)
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


@dataclass(frozen=True, slots=True)
class Followed:
    """A run: poses, labelled markers and views of every moment, what views were said to have exchanged, (F, V), and ms a step."""

    poses: list[Pose]
    markers: list[MarkerFrame]
    views: list[Views]
    told: Ints
    ms: float


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
    rig = replace(recording.rig, cameras=tuple(recording.rig.cameras[c] for c in cameras))
    first = int(np.searchsorted(recording.seconds, recording.begin_s))
    held = (recording.seconds > SETTLED_S) & (recording.seconds < recording.begin_s - SETTLED_S)
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
        states = runs[way]
        run = _follow(recording.views(cameras, states), rig, subject, plan.database, plan.settings)
        score = score_poses(recording, run.poses, subject, first, held)
        added = states[:, list(cameras)]
        if way == "exchanged":
            score = replace(score, found=100.0 * measure_found(run.told, added))
        elif way == "live":
            minutes = (recording.seconds[-1] - recording.begin_s) / 60.0
            score = replace(score, false_min=count_false(run.told[first:], truth[first:]) / minutes)
        yield replace(score, cameras=len(cameras), way=way, ms=run.ms)
        if way == "live" and "offline" in plan.ways:
            options = OfflineOptions(rig, subject, plan.database, plan.settings, np.ones(len(markers), bool))
            solved = solve_take(LiveTake(run.poses, run.markers, run.views), options).poses
            yield replace(score_poses(recording, list(solved), subject, first, held), cameras=len(cameras), way="offline")


def _score_places(recording: Recording, way: str, place_m: Floats, joint: Ints) -> Score:
    """Return the score of triangulated joints, (F, 12, 3) [m], NaN where there is no place."""
    late = recording.seconds >= recording.begin_s
    mm = 1e3 * np.linalg.norm(place_m - recording.joint_m[:, joint], axis=2)[late]
    known = mm[np.isfinite(mm)]
    figures = (float(known.mean()), float(np.percentile(known, 95.0)), float(known.mean()))
    return Score(recording.stem, 0, way, figures[0], figures[1], figures[2], lost=100.0 - 100.0 * known.size / mm.size)


def score_poses(recording: Recording, poses: list[Pose], subject: Subject, first: int, held: Bools) -> Score:
    """Return the scores of poses.

    Args:
        recording: with the truth.
        poses: one of every moment.
        subject: whose poses they are.
        first: moment from which on they count.
        held: moments in which the body stands still, (F,).
    """
    rotvec, root_m = np.array([pose.rotvec for pose in poses]), np.array([pose.root_m for pose in poses])
    joint_m = compute_forward_kinematics(subject.skeleton, rotvec, root_m)[1]
    error_m = np.linalg.norm(joint_m - recording.joint_m, axis=2)
    expected_m = np.array([np.full(error_m.shape[1], np.nan) if pose.error_m is None else pose.error_m for pose in poses])
    tracking = np.array([pose.state is TrackingState.TRACKING for pose in poses])
    ratio = (error_m / np.maximum(expected_m, 1e-9))[first:]
    mm, twelve = 1e3 * error_m[first:], subject.joint[select_joint_rows(subject.markers)]
    good = mm.mean(axis=1) < GOOD_MM
    return Score(
        recording.stem,
        0,
        "",
        float(mm.mean()),
        float(np.percentile(mm, 95.0)),
        float(mm[:, twelve].mean()),
        _measure_turn_deg(rotvec[first:], recording.rotvec[first:]),
        100.0 * float(np.mean(~tracking[first:])),
        100.0 * float(np.mean(mm[tracking[first:]].mean(axis=1) > 100.0)) if tracking[first:].any() else 0.0,
        100.0 * float(np.mean(~tracking[first:][good])) if good.any() else 0.0,
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
        for begin, end in spans_of(injected[:, c] > 0):
            found.append(np.mean(told[begin:end, c] == injected[begin:end, c]) >= 0.5)
    return float(np.mean(found)) if found else np.nan


def count_false(told: Ints, truth: Ints) -> int:
    """Return how many exchanges are told, (F, V), in none of whose frames the truth has any."""
    spans = [(c, begin, end) for c in range(told.shape[1]) for begin, end in spans_of(told[:, c] > 0)]
    return sum(not (truth[begin:end, c] > 0).any() for c, begin, end in spans)


def _follow(views: list[Views], rig: Rig, subject: Subject, database: PoseDatabase, settings: Settings) -> Followed:
    """Return a run; ms: median processor time of a step."""
    pipeline = Pipeline(rig, subject, database, settings)
    pipeline.warm()
    poses, markers, told, spent_s = [], [], np.zeros((len(views), len(rig)), np.int64), []
    for n, each in enumerate(views):
        begin_s = process_time()
        poses.append(pipeline.step(each))
        spent_s.append(process_time() - begin_s)
        assert pipeline.markers is not None
        markers.append(pipeline.markers)
        told[n] = np.maximum(poses[-1].exchanged, 0) if len(poses[-1].exchanged) else 0
    return Followed(poses, markers, views, told, 1e3 * float(np.median(spent_s)))


def _measure_turn_deg(first: Floats, second: Floats) -> float:
    """Return the mean angle between rotations of joints, given as rotation vectors, (F, J, 3) [rad]."""
    A, B = (matrix_from_rotvec(each.reshape(-1, 3)) for each in (first, second))
    cosine = 0.5 * (np.einsum("nij,nij->n", A, B) - 1.0)
    return float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))).mean())


def _triangulate(views: Sequence[Views], rig: Rig, markers: MarkerSet) -> Floats:
    """Return the twelve joints by plain triangulation, (F, 12, 3) [m], NaN where fewer than two cameras see the body."""
    nothing = np.full((len(select_joint_rows(markers)), 3), np.nan)
    found = (triangulate_joints(each, rig, markers) for each in views)
    return np.array([nothing if point_m is None else point_m for point_m in found])


def average_scores(scores: Sequence[Score]) -> Iterator[str]:
    """Yield a line of the Markdown table for every way: means over the clips with 95 % intervals by clip."""
    for way in dict.fromkeys(score.way for score in scores):
        same, cells = [score for score in scores if score.way == way], []
        for name, decimals in FIGURES:
            values = np.array([getattr(score, name) for score in same])
            texts = [f"{x:.{decimals}f}" for x in resample_estimate(partial(_average, values), len(values))]
            cells.append(f"{texts[0]} ({texts[1]}-{texts[2]})" if np.isfinite(values).any() else "")
        yield f"| {len(same)} clips | {same[0].cameras} | {way} | {' | '.join(cells)} |"


def _average(values: Floats, clips: Ints) -> float:
    """Return the mean over some clips of what is known."""
    known = values[clips][np.isfinite(values[clips])]
    return float(known.mean()) if known.size else np.nan


def format_score(score: Score) -> str:
    """Return a line of the Markdown table."""
    values = ((getattr(score, name), decimals) for name, decimals in FIGURES)
    cells = " | ".join(f"{value:.{decimals}f}" if np.isfinite(value) else "" for value, decimals in values)
    return f"| {score.clip} | {score.cameras} | {score.way} | {cells} |"


def main() -> None:
    """Measure and print."""
    parser = build_parser(__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--motion", type=Path, required=True)
    parser.add_argument("--cameras", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--rate", type=float, default=0.0)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    parser.add_argument("--pose2sim", type=Path, metavar="PYTHON")
    options = parser.parse_args()
    recordings = [read_recording(path).thinned(options.rate) for path in options.files]
    database = open_database(protocol_database(options.motion, None, [set_clip("07_08")]))
    plan = Plan(tuple(options.cameras), database, ways=tuple(options.ways), pose2sim=options.pose2sim)
    print(f"| clip | cameras | way | {' | '.join(name for name, _ in FIGURES)} |\n{'|---' * (3 + len(FIGURES))}|")
    scores = []
    for recording in recordings:
        for score in score_clip(recording, plan):
            scores.append(replace(score, cameras=len(plan.cameras)))
            print(format_score(scores[-1]), flush=True)
    print("\n".join(average_scores(scores)))
    write_json(options.json, [asdict(score) for score in scores])


if __name__ == "__main__":
    main()
