"""Landmarks of rendered people: where they are on the body, how far off they are found, and poses that are made of them alone.

    python -m benchmarks.reconstruct.landmarks FILE.npz... --motion DIR [--cameras 0 1] [--rate 30] [--json F]

Each file holds what a detector found in rendered pictures of a clip after a T-pose, with the truth (`Recording`); its rig lies
beside it as `FILE.rig.toml`. Each clip is followed live, its subject calibrated from its T-pose, and solved with past and future
(offline); `exchanged` has more exchanges of left and right, 0.2 to 1 s in one view at a time; in `told` all exchanges are undone
by the truth, which says what they cost. The database holds nothing of the clips' people.

mm: distance of all joints; deg: mean turn between joint rotations; lost: share of frames not in the state tracking; over: of
those that are, the share more than 100 mm off on average; within 1, 2: share of joints no farther off than so many expected
errors; jitter: root mean square step of a joint in a frame while the body stands in its T-pose; slide: of feet that stand;
found: exchanges that are told while they last; false: exchanges that are told where there are none; ms: processor time of a step.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import process_time

import numpy as np

from benchmarks.report import build_parser, write_json
from calibration.camera import Rig
from calibration.formats.rig_toml import read_rig_toml
from calibration.subject.subject import Subject
from calibration.triangulate import triangulate_views
from capture.packets import Landmarks, MarkerFrame, Views, make_empty_blobs
from config.arrays import Bools, Floats, Ints
from config.joints import JOINTS
from config.landmarks import SOURCES, Exchange
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
from tools.evaluate.states import share_within, spans_of

SETTLED_S = 0.3  # after which a T-pose is held
USUAL_M = 0.03  # of a landmark, to tell whether it is exchanged
EXCHANGED = 3.0  # -ln of the probability of an exchange, likewise
EVERY_S, SHORTEST_S, LONGEST_S = 1.5, 0.2, 1.0  # of exchanges that are added
INJECTED = (Exchange.LEGS, Exchange.ARMS, Exchange.BODY, Exchange.UPPER)
FEET, STANDS_M_S = ("leftToes", "rightToes"), 0.05  # balls of the feet, which stand where they are slower
TRIANGULATED = ("shoulder", "elbow", "wrist", "hip", "knee", "ankle")


@dataclass(frozen=True, slots=True)
class Recording:
    """Landmarks of a clip, (F, V, 33, 2) [px], with scores, (F, V, 33), and the truth.

    joint_m: (F, J, 3) [m]; rotation: of the joints in the world, (F, J, 3, 3); rotvec: (F, J, 3) [rad]; begin_s: end of the
    T-pose [s].
    """

    stem: str
    rig: Rig
    seconds: Floats
    image_px: Floats
    score: Floats
    found: Bools
    joint_m: Floats
    rotation: Floats
    rotvec: Floats
    begin_s: float

    def thinned(self, rate: float) -> "Recording":
        """Return the recording at a lower rate, every n-th frame."""
        every = max(1, round(1.0 / (rate * float(np.median(np.diff(self.seconds)))))) if rate else 1
        names = ("seconds", "image_px", "score", "found", "joint_m", "rotation", "rotvec")
        return replace(self, **{name: getattr(self, name)[::every] for name in names})

    def views(self, cameras: Sequence[int], states: Ints | None = None) -> list[Views]:
        """Return what cameras see; states: exchanges that are undone, (F, V)."""
        found = []
        for n, t_s in enumerate(self.seconds):
            blobs = []
            for k, c in enumerate(cameras):
                source = SOURCES[0 if states is None else states[n, c]]
                each = Landmarks(self.image_px[n, c, source], self.score[n, c, source], 1.0) if self.found[n, c] else None
                blobs.append(replace(make_empty_blobs(k, n, round(1e9 * t_s)), landmarks=each))
            found.append(Views(tuple(blobs)))
        return found


def read_recording(path: Path) -> Recording:
    """Read a recording."""
    with np.load(path) as file:
        rig = read_rig_toml(path.with_suffix(".rig.toml"))
        return Recording(
            str(file["stem"]),
            rig,
            seconds=file["times_s"],
            image_px=file["landmarks_px"],
            score=file["score"],
            found=file["found"],
            joint_m=file["joint_m"],
            rotation=file["joint_rotation"],
            rotvec=file["rotvec"],
            begin_s=float(file["tpose_s"][1]),
        )


def measure_errors(recording: Recording, camera: int, joint: int, offset_m: Floats, landmark: int | Ints) -> Floats:
    """Return how far a landmark of the picture, one or of each frame another, is from a place on the body, (F, 2) [m].

    Across the line of sight.
    """
    at_m = recording.joint_m[:, joint] + recording.rotation[:, joint] @ offset_m
    own = recording.rig.cameras[camera]
    apart = recording.image_px[np.arange(len(at_m)), camera, landmark] - own.project(at_m)
    return np.asarray(apart * (own.to_camera(at_m)[:, 2] / own.focal_px)[:, None])


def compare_exchanges(recording: Recording, camera: int, markers: MarkerSet) -> Floats:
    """Return how badly each state of exchange fits the landmarks of a view, by the truth, (E, F)."""
    cost = np.zeros((len(SOURCES), len(recording.seconds)))
    for m, joint in enumerate(markers.joint):
        for state in range(len(SOURCES)):
            landmark = SOURCES[state, markers.landmark[m]]
            e = measure_errors(recording, camera, int(joint), markers.offset_m[m], landmark)
            far2 = np.nan_to_num((e**2).sum(axis=1)) / USUAL_M**2
            cost[state] += 9.0 * (np.sqrt(1.0 + far2 / 9.0) - 1.0)
    return cost


def find_exchanges(recording: Recording, markers: MarkerSet) -> Ints:
    """Return what each view has exchanged in each frame, by the truth, (F, V)."""
    priced = np.where(np.arange(len(SOURCES)) > 0, EXCHANGED, 0.0)[:, None]
    costs = [compare_exchanges(recording, c, markers) + priced for c in range(len(recording.rig))]
    return np.array([cost.argmin(axis=0) for cost in costs]).T


@dataclass(frozen=True, slots=True)
class Score:
    """How a clip was followed: errors of all joints [mm], of rotations [deg]; for the others see the module."""

    clip: str
    cameras: int
    way: str
    mm: float
    p95_mm: float
    deg: float = np.nan
    lost: float = np.nan
    over: float = np.nan
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


def score_clip(recording: Recording, cameras: Sequence[int], database: PoseDatabase, settings: Settings) -> Iterator[Score]:
    """Yield the scores of a clip: plain triangulation of twelve joints, and landmarks alone in every way."""
    markers = read_marker_set(NO_MARKERS)
    rig = replace(recording.rig, cameras=tuple(recording.rig.cameras[c] for c in cameras))
    first = int(np.searchsorted(recording.seconds, recording.begin_s))
    held = (recording.seconds > SETTLED_S) & (recording.seconds < recording.begin_s - SETTLED_S)
    views, truth = recording.views(cameras), find_exchanges(recording, markers)[:, list(cameras)]
    subject = fit_subject_to_pairs(
        "rendered", [each for each, use in zip(views, held, strict=True) if use], rig, markers, database, settings
    ).subject
    mm = 1e3 * _triangulate(views[first:], rig, markers, recording.joint_m[first:])
    yield Score(recording.stem, len(cameras), "triangulated", float(mm.mean()), float(np.percentile(mm, 95.0)))
    injected = inject_exchanges(recording, first)
    runs = {"live": np.zeros_like(injected), "exchanged": injected, "told": find_exchanges(recording, markers)}
    for way, states in runs.items():
        run = _follow(recording.views(cameras, states), rig, subject, database, settings)
        score = score_poses(recording, run.poses, subject, first, held)
        added = states[:, list(cameras)]
        if way == "exchanged":
            score = replace(score, found=100.0 * measure_found(run.told, added))
        elif way == "live":
            minutes = (recording.seconds[-1] - recording.begin_s) / 60.0
            score = replace(score, false_min=count_false(run.told[first:], truth[first:]) / minutes)
        yield replace(score, cameras=len(cameras), way=way, ms=run.ms)
        if way == "live":
            options = OfflineOptions(rig, subject, database, settings, np.ones(len(markers), bool))
            solved = solve_take(LiveTake(run.poses, run.markers, run.views), options).poses
            yield replace(score_poses(recording, list(solved), subject, first, held), cameras=len(cameras), way="offline")


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
    mm = 1e3 * error_m[first:]
    return Score(
        recording.stem,
        0,
        "",
        float(mm.mean()),
        float(np.percentile(mm, 95.0)),
        _measure_turn_deg(rotvec[first:], recording.rotvec[first:]),
        100.0 * float(np.mean(~tracking[first:])),
        100.0 * float(np.mean(mm[tracking[first:]].mean(axis=1) > 100.0)) if tracking[first:].any() else 0.0,
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


def _triangulate(views: Sequence[Views], rig: Rig, markers: MarkerSet, joint_m: Floats) -> Floats:
    """Return how far triangulated landmarks are from their twelve joints, in frames that two cameras see, (N, 12) [m]."""
    rows = [m for m, name in enumerate(markers.names) if any(part in name for part in TRIANGULATED)]
    found = []
    for each, truth_m in zip(views, joint_m, strict=True):
        px, seen = np.zeros((len(rig), len(rows), 2)), np.zeros((len(rig), len(rows)), bool)
        for c, blobs in enumerate(each.blobs):
            if blobs is not None and blobs.landmarks is not None:
                px[c], seen[c] = blobs.landmarks.image_px[markers.landmark[rows]], True
        if np.count_nonzero(seen[:, 0]) >= 2:
            found.append(np.linalg.norm(triangulate_views(rig, px, seen)[0] - truth_m[markers.joint[rows]], axis=1))
    return np.array(found)


def format_score(s: Score) -> str:
    """Return a line of the Markdown table."""
    errors = f"{s.mm:.0f} | {s.p95_mm:.0f} | {s.deg:.1f} | {s.lost:.1f} | {s.over:.1f} | {s.within_1:.0f} | {s.within_2:.0f}"
    return (
        f"| {s.clip} | {s.cameras} | {s.way} | {errors} | {s.jitter_mm:.1f} | {s.slide_mm_s:.0f} | {s.found:.0f} | "
        f"{s.false_min:.1f} | {s.ms:.1f} |"
    )


def main() -> None:
    """Measure and print."""
    parser = build_parser(__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--motion", type=Path, required=True)
    parser.add_argument("--cameras", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--rate", type=float, default=0.0)
    options = parser.parse_args()
    recordings = [read_recording(path).thinned(options.rate) for path in options.files]
    database = open_database(protocol_database(options.motion, None, [set_clip("07_08")]))
    titles = "clip | cameras | way | mm | p95 | deg | lost % | over % | within 1 | 2 | jitter mm | slide mm/s"
    titles += " | found % | false/min | ms"
    print(f"| {titles} |\n{'|---' * (titles.count('|') + 1)}|")
    scores = []
    for recording in recordings:
        for score in score_clip(recording, options.cameras, database, Settings()):
            scores.append(score)
            print(format_score(score), flush=True)
    write_json(options.json, [asdict(score) for score in scores])


if __name__ == "__main__":
    main()
