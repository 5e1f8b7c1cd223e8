"""How soon and how rightly the performer is found among unlabelled points: `duocap evaluate acquisition`.

A clip of the protocol goes on while the past is forgotten at random frames, or all markers vanish for a while; then noisy
triangulated points come back, shuffled, some missing, some false, and the search must label them.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from calibration.camera import Rig
from calibration.placement import intrinsics_from_fov, looking_at
from calibration.subject import Subject
from capture.packets import Floats, MarkerFrame
from config.markers import read_marker_set
from config.settings import Settings
from database.clips import Clip
from database.kinematics import forward
from database.resample import resample
from database.rotations import matrix_from_rotvec
from database.store import PoseDatabase, open_database
from reconstruct.acquire import Acquirer
from reconstruct.candidates import Found
from reconstruct.estimator import Estimator
from reconstruct.examples import examples_for
from reconstruct.history import Moment
from tools.evaluation.figures_file import write_figures
from tools.evaluation.protocol import askable, protocol_clip, query
from tools.evaluation.scores import WRONG_M

CLIPS = ("14_02", "02_05", "07_08", "16_15", "09_09", "16_05", "09_12", "05_18")
PRESETS = ("boxing", "locomotion", "all_around")
NOISE_M, FPS, PATIENCE_FRAMES = 0.005, 60.0, 60
REACH_M = 1.0  # false points lie within a box of this half width about the performer


@dataclass(frozen=True, slots=True)
class Case:
    """What is made difficult: markers missing, false points, seconds all markers were gone before, None: no past at all."""

    missing: int = 0
    false: int = 0
    gap_s: float | None = None

    def __str__(self) -> str:
        past = "no past" if self.gap_s is None else f"gap {self.gap_s:g} s"
        return f"{past}, {self.missing} missing, {self.false} false"


CASES = (
    *(Case(missing, false) for missing, false in ((0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (0, 2), (2, 2))),
    *(Case(0, 0, gap_s) for gap_s in (0.3, 1.0, 3.0, 10.0)),
    *(Case(1, 1, gap_s) for gap_s in (0.3, 3.0)),
)
QUICK_CASES = (Case(), Case(1, 1), Case(0, 0, 3.0))


@dataclass(frozen=True, slots=True)
class Trial:
    """One return. frames: until it was labelled, 1 is at once, 0 never; wrong: markers labelled wrongly; labelled: share of
    those shown; error_mm: mean joint error of the pose solved from it; search_ms: longest search of one frame, processor time."""

    frames: int
    wrong: int
    labelled: float
    error_mm: float
    search_ms: float


@dataclass(frozen=True, slots=True)
class Performance:
    """A clip at 60 Hz somewhere in the world, with the markers worn, (N, M, 3), and joints (N, J, 3) [m]."""

    subject: Subject
    clip: Clip
    marker_m: Floats
    joint_m: Floats


def rig_ahead() -> Rig:
    """Give two cameras that solved frames refer to; they see nothing by themselves here."""
    K = intrinsics_from_fov((640, 480), 60.0)
    left, right = (
        looking_at(name, (640, 480), K, (x, 1.2, 5.0), (0.0, 1.0, 0.0), np.zeros(5))
        for name, x in (("left", -0.5), ("right", 0.5))
    )
    return Rig(left, right, 0.0, floor_known=True)


def performance(clip: Clip, preset: str) -> Performance:
    """Put markers on a clip's own skeleton."""
    worn = read_marker_set(preset)
    subject = Subject(clip.name, clip.skeleton, worn, worn.offset_m, np.zeros(len(worn)), np.array([0.0, 1.0, 0.0]))
    clip = resample(clip, FPS)
    G, p = forward(clip.skeleton, clip.rotvec, clip.root_m)
    marker_m = p[:, subject.joint] + np.einsum("nmij,mj->nmi", G[:, subject.joint], subject.offset_m)
    return Performance(subject, clip, marker_m, p)


def marker_frame(point_m: Floats, valid: np.ndarray, k: int) -> MarkerFrame:
    """Give a frame of triangulated markers, (M, 3), of which `valid` are seen."""
    n = len(point_m)
    covariance = np.tile(NOISE_M**2 * np.eye(3), (n, 1, 1)) * valid[:, None, None]
    seen, image = np.stack([valid, valid]), np.zeros((2, n, 2))
    point = np.where(valid[:, None], point_m, 0.0)
    return MarkerFrame(
        k, round(k * 1e9 / FPS), 0, valid, point, covariance, seen, image, np.ones((2, n)), np.zeros(n), np.zeros((0, 3))
    )


def labelled_frame(points: Floats, choice: np.ndarray, k: int) -> MarkerFrame:
    """Give the frame in which point choice[m] is marker m, -1 for none."""
    return marker_frame(points[choice], choice >= 0, k)


def sought(acquirer: Acquirer, points: Floats, k: int, last: Moment | None) -> Found | None:
    """Search the points of frame k; None where nothing is trusted."""
    found = acquirer.seek(points, lambda choice: labelled_frame(points, choice, k), round(k * 1e9 / FPS), last)
    return found if found is not None and found.trusted else None


def attempt(act: Performance, acquirer: Acquirer, estimator: Estimator, case: Case, rng: np.random.Generator) -> Trial:
    """Forget the past at a random frame and search until the performer is found."""
    gap = 0 if case.gap_s is None else round(case.gap_s * FPS)
    n, M = len(act.marker_m), act.marker_m.shape[1]
    begin = int(rng.integers(0, max(1, n - gap - PATIENCE_FRAMES)))
    turn, place = matrix_from_rotvec([0.0, rng.uniform(-np.pi, np.pi), 0.0]), rng.uniform(-1.0, 1.0, 3) * [1.0, 0.0, 1.0]
    last = None
    if case.gap_s is not None:
        at = max(begin - 1, 0)
        rotation = turn @ matrix_from_rotvec(act.clip.rotvec[at, 0])
        last = Moment(round(at * 1e9 / FPS), act.clip.rotvec[at], rotation, turn @ act.clip.root_m[at] + place)
    shown = np.sort(rng.choice(M, M - case.missing, replace=False))
    false = rng.uniform(-REACH_M, REACH_M, (case.false, 3))
    acquirer.forget()
    false += (act.marker_m[begin + gap if begin + gap < n else n - 1] @ turn.T + place)[shown].mean(axis=0)
    slowest = 0.0
    for k in range(PATIENCE_FRAMES):
        now = min(begin + gap + k, n - 1)
        true_m = act.marker_m[now] @ turn.T + place
        points = np.concatenate([true_m[shown], false]) + rng.normal(0.0, NOISE_M, (len(shown) + case.false, 3))
        points = np.ascontiguousarray(points[rng.permutation(len(points))])
        begun = time.thread_time()
        found = sought(acquirer, points, begin + gap + k, last)
        slowest = max(slowest, time.thread_time() - begun)
        if found is None:
            continue
        used = found.point_of_marker >= 0
        wrong = np.linalg.norm(points[found.point_of_marker] - true_m, axis=1)[used] > WRONG_M
        estimate = estimator.estimate(labelled_frame(points, found.point_of_marker, begin + gap + k), found.moment)
        error_mm = np.nan
        if estimate is not None:
            moment = estimate.moment
            rotvec = moment.joints.copy()
            rotvec[0] = 0.0
            _, p = forward(act.subject.skeleton, rotvec, np.zeros(3))
            joint_m = act.joint_m[now] @ turn.T + place
            error_mm = 1e3 * float(np.linalg.norm(p @ moment.rotation.T + moment.position_m - joint_m, axis=1).mean())
        return Trial(k + 1, int(wrong.sum()), float(used.sum() / len(shown)), error_mm, 1e3 * slowest)
    return Trial(0, 0, 0.0, np.nan, 1e3 * slowest)


HEAD = (
    f"{'markers':<12}{'case':<32}{'n':>5}{'1 frame':>9}{'median':>8}{'p95':>6}{'wrong':>8}{'never':>8}{'mm':>7}"
    f"{'ms p50':>8}{'p95':>7}{'max':>7}"
)


def row(preset: str, case: Case, trials: list[Trial]) -> str:
    """Give one line: share labelled rightly at once, frames until labelled, share with a wrong label, share never labelled."""
    frames = np.array([t.frames if t.frames else PATIENCE_FRAMES for t in trials])
    wrong = np.array([t.wrong > 0 for t in trials])
    never = np.array([t.frames == 0 for t in trials])
    at_once = np.array([t.frames == 1 and not t.wrong for t in trials])
    error = np.array([t.error_mm for t in trials if t.frames and not t.wrong])
    ms = np.array([t.search_ms for t in trials])
    return (
        f"{preset:<12}{case!s:<32}{len(trials):>5}{100 * at_once.mean():>8.1f}%{np.median(frames):>8.0f}"
        f"{np.percentile(frames, 95):>6.0f}{100 * wrong.mean():>7.1f}%{100 * never.mean():>7.1f}%"
        f"{np.median(error) if len(error) else np.nan:>7.0f}{np.median(ms):>8.1f}{np.percentile(ms, 95):>7.1f}{ms.max():>7.1f}"
    )


def evaluate_acquisition(
    motion: Path,
    database: Path,
    settings: Settings,
    *,
    clips: Sequence[str] = (),
    markers: Sequence[str] = (),
    n_trials: int = 10,
    cases: Sequence[Case] = CASES,
    seed: int = 0,
    json_file: Path | None = None,
) -> dict[tuple[str, str], list[Trial]]:
    """Try every case `n_trials` times on every clip (default CLIPS) with every marker set (default PRESETS).

    Prints the table, writes every trial where asked to. Gives the trials by marker set and case. Raises DuocapError.
    """
    poses = open_database(database)
    stems = [clip.stem for clip in askable(poses, clips, [protocol_clip(stem) for stem in CLIPS])]
    print(HEAD)
    results: dict[tuple[str, str], list[Trial]] = {}
    for preset in markers or PRESETS:
        for stem in stems:
            for case, trials in clip_trials(motion, stem, preset, poses, settings, cases, n_trials, seed):
                results.setdefault((preset, str(case)), []).extend(trials)
        for case in cases:
            print(row(preset, case, results[preset, str(case)]))
    if json_file is not None:
        entries = [{"markers": preset, "case": case, "trials": found} for (preset, case), found in results.items()]
        write_figures(json_file, entries)
    return results


def clip_trials(
    motion: Path,
    stem: str,
    preset: str,
    database: PoseDatabase,
    settings: Settings,
    cases: Sequence[Case],
    n_trials: int,
    seed: int,
) -> Iterator[tuple[Case, list[Trial]]]:
    """Give the trials of one clip, case by case; their randomness is that of the clip and the case."""
    act = performance(query(protocol_clip(stem), motion), preset)
    examples = examples_for(act.subject, database)
    estimator = Estimator(act.subject, examples, rig_ahead(), settings.solve)
    acquirer = Acquirer(act.subject, examples, estimator, settings.solve, database.rotvec[:, 0])
    attempt(act, acquirer, estimator, Case(), np.random.default_rng(0))  # every kernel once, so that loading is not measured
    for case in cases:
        rng = np.random.default_rng([seed, *str(case).encode(), *stem.encode()])
        yield case, [attempt(act, acquirer, estimator, case, rng) for _ in range(n_trials)]
