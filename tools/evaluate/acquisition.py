"""How soon and how correctly a performer is found among unlabelled points: `duocap evaluate acquisition`.

In clips of the protocol the history is forgotten at random frames, or all markers vanish for a while. Then noisy triangulated
points appear in random order, some missing, some false, and acquisition must label them.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from calibration.camera import Rig
from calibration.placement import intrinsics_from_fov, make_camera_looking_at
from calibration.subject.subject import Subject
from capture.packets import MarkerFrame
from config.arrays import Floats
from config.markers import read_marker_set
from config.settings import Settings
from database.clips import Clip
from database.files.resample import resample_clip
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.rotations import matrix_from_rotvec
from database.store import open_database
from reconstruct.history import BodyState
from reconstruct.search.examples import compute_examples
from reconstruct.track.acquisition import Acquirer, Acquisition
from reconstruct.track.estimator import Estimator
from tools.cluster import ALONE, WorkerPlan
from tools.evaluate.parallel import run_tasks
from tools.evaluate.protocol import ProtocolClip, measurable_clips, protocol_clip, read_query
from tools.evaluate.queries import FPS, NOISE_M, marker_frame, marker_positions, true_subject
from tools.evaluate.scores import WRONG_M

CLIPS = ("14_02", "02_05", "07_08", "16_15", "09_09", "16_05", "09_12", "05_18")
PRESETS = ("boxing", "locomotion", "all_around")
MAX_FRAMES = 60  # after which a performer who is not found counts as never found
REACH_M = 1.0  # half width of the box about the performer in which false points lie


@dataclass(frozen=True, slots=True)
class AcquisitionCase:
    """Numbers of missing markers and of false points; gap_s: how long all markers were gone before, None: there is no history."""

    missing: int = 0
    false: int = 0
    gap_s: float | None = None

    def __str__(self) -> str:
        past = "no past" if self.gap_s is None else f"gap {self.gap_s:g} s"
        return f"{past}, {self.missing} missing, {self.false} false"


CASES = (
    *(AcquisitionCase(missing, false) for missing, false in ((0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (0, 2), (2, 2))),
    *(AcquisitionCase(0, 0, gap_s) for gap_s in (0.3, 1.0, 3.0, 10.0)),
    *(AcquisitionCase(1, 1, gap_s) for gap_s in (0.3, 3.0)),
)
QUICK_CASES = (AcquisitionCase(), AcquisitionCase(1, 1), AcquisitionCase(0, 0, 3.0))


@dataclass(frozen=True, slots=True)
class AcquisitionTrial:
    """One search. frames: until the markers were labelled, 1 at once, 0 never; wrong: markers with a wrong label; labelled: share
    of those shown; error_mm: mean joint error of the pose solved from them; search_ms: longest search in a frame, processor time.
    """

    frames: int
    wrong: int
    labelled: float
    error_mm: float
    search_ms: float


@dataclass(frozen=True, slots=True)
class Performance:
    """A clip at 60 Hz with its markers, (N, M, 3), and joints, (N, J, 3) [m]."""

    subject: Subject
    clip: Clip
    marker_m: Floats
    joint_m: Floats


@dataclass(frozen=True, slots=True)
class Searcher:
    """What searches for one performer."""

    acquirer: Acquirer
    estimator: Estimator

    def search(self, points: Floats, k: int, last: BodyState | None) -> Acquisition | None:
        """Search the points of frame k; None where no labelling is trusted. last: the last known state."""
        found = self.acquirer.acquire(points, lambda choice: labelled_frame(points, choice, k), round(k * 1e9 / FPS), last)
        return found if found is not None and found.trusted else None


def rig_ahead() -> Rig:
    """Return two cameras for the frames to refer to; nothing is projected."""
    K = intrinsics_from_fov((640, 480), 60.0)
    left, right = (
        make_camera_looking_at(name, (640, 480), K, (x, 1.2, 5.0), (0.0, 1.0, 0.0), np.zeros(5))
        for name, x in (("left", -0.5), ("right", 0.5))
    )
    return Rig((left, right), 0.0, floor_known=True)


def performance(clip: Clip, preset: str) -> Performance:
    """Put markers on a clip's own skeleton."""
    subject = true_subject(clip.name, clip.skeleton, read_marker_set(preset))
    clip = resample_clip(clip, FPS)
    joint_m = compute_forward_kinematics(clip.skeleton, clip.rotvec, clip.root_m)[1]
    return Performance(subject, clip, marker_positions(subject, clip.rotvec, clip.root_m), joint_m)


def labelled_frame(points: Floats, choice: np.ndarray, k: int) -> MarkerFrame:
    """Return the frame in which point choice[m] is marker m, -1 for none."""
    return marker_frame(points[choice], choice >= 0, NOISE_M, k)


def run_trial(act: Performance, searcher: Searcher, case: AcquisitionCase, rng: np.random.Generator) -> AcquisitionTrial:
    """Forget the history at a random frame and search until the performer is found."""
    gap = 0 if case.gap_s is None else round(case.gap_s * FPS)
    n, M = len(act.marker_m), act.marker_m.shape[1]
    begin = int(rng.integers(0, max(1, n - gap - MAX_FRAMES)))
    R, t = matrix_from_rotvec([0.0, rng.uniform(-np.pi, np.pi), 0.0]), rng.uniform(-1.0, 1.0, 3) * [1.0, 0.0, 1.0]
    last = None
    if case.gap_s is not None:
        at = max(begin - 1, 0)
        rotation = R @ matrix_from_rotvec(act.clip.rotvec[at, 0])
        last = BodyState(round(at * 1e9 / FPS), act.clip.rotvec[at], rotation, R @ act.clip.root_m[at] + t)
    shown = np.sort(rng.choice(M, M - case.missing, replace=False))
    false = rng.uniform(-REACH_M, REACH_M, (case.false, 3))
    searcher.acquirer.forget()
    false += (act.marker_m[begin + gap if begin + gap < n else n - 1] @ R.T + t)[shown].mean(axis=0)
    slowest_s = 0.0
    for k in range(MAX_FRAMES):
        now = min(begin + gap + k, n - 1)
        true_m = act.marker_m[now] @ R.T + t
        points = np.concatenate([true_m[shown], false]) + rng.normal(0.0, NOISE_M, (len(shown) + case.false, 3))
        points = np.ascontiguousarray(points[rng.permutation(len(points))])
        begin_s = time.thread_time()
        found = searcher.search(points, begin + gap + k, last)
        slowest_s = max(slowest_s, time.thread_time() - begin_s)
        if found is None:
            continue
        used = found.point_of_marker >= 0
        wrong = np.linalg.norm(points[found.point_of_marker] - true_m, axis=1)[used] > WRONG_M
        error_mm = joint_error_mm(act, searcher, found, points, begin + gap + k, act.joint_m[now] @ R.T + t)
        return AcquisitionTrial(k + 1, int(wrong.sum()), float(used.sum() / len(shown)), error_mm, 1e3 * slowest_s)
    return AcquisitionTrial(0, 0, 0.0, np.nan, 1e3 * slowest_s)


def joint_error_mm(
    act: Performance, searcher: Searcher, found: Acquisition, points: Floats, k: int, true_joint_m: Floats
) -> float:
    """Return the mean error of the joints of the pose that is solved from the labels, NaN where none is."""
    estimate = searcher.estimator.estimate(labelled_frame(points, found.point_of_marker, k), found.state)
    if estimate is None:
        return float("nan")
    state = estimate.state
    rotvec = state.joints.copy()
    rotvec[0] = 0.0
    _, p = compute_forward_kinematics(act.subject.skeleton, rotvec, np.zeros(3))
    return 1e3 * float(np.linalg.norm(p @ state.rotation.T + state.position_m - true_joint_m, axis=1).mean())


@dataclass(frozen=True, slots=True)
class AcquisitionOptions:
    """What is measured: `n_trials` of every case in every clip with every marker set; no clips: CLIPS; no markers: PRESETS."""

    motion: Path
    database: Path
    clips: tuple[str | ProtocolClip, ...] = ()
    markers: tuple[str, ...] = ()
    n_trials: int = 10
    cases: tuple[AcquisitionCase, ...] = CASES
    seed: int = 0
    workers: WorkerPlan = ALONE


Trials = dict[AcquisitionCase, list[AcquisitionTrial]]


def measure_acquisition(options: AcquisitionOptions, settings: Settings) -> Iterator[tuple[str, Trials]]:
    """Yield each marker set with the trials of every case. Raises DuocapError."""
    clips = measurable_clips(open_database(options.database), options.clips, [protocol_clip(stem) for stem in CLIPS])
    presets = options.markers or PRESETS
    tasks = [partial(_clip_trials, clip, preset, settings, options) for preset in presets for clip in clips]
    found = run_tasks(tasks, options.workers)
    for n, preset in enumerate(presets):
        trials: Trials = {}
        for of_clip in found[n * len(clips) : (n + 1) * len(clips)]:
            for case, tries in of_clip:
                trials.setdefault(case, []).extend(tries)
        yield preset, trials


def _clip_trials(
    clip: ProtocolClip, preset: str, settings: Settings, options: AcquisitionOptions
) -> list[tuple[AcquisitionCase, list[AcquisitionTrial]]]:
    """Return the trials of each case on one clip; random numbers depend on the clip and the case only."""
    database = open_database(options.database)
    act = performance(read_query(clip, options.motion), preset)
    examples = compute_examples(act.subject, database)
    estimator = Estimator(act.subject, examples, rig_ahead(), settings.solve)
    searcher = Searcher(Acquirer(act.subject, examples, estimator, settings.solve, database.rotvec[:, 0]), estimator)
    run_trial(act, searcher, AcquisitionCase(), np.random.default_rng(0))  # so that loading of kernels is not measured
    found = []
    for case in options.cases:
        rng = np.random.default_rng([options.seed, *str(case).encode(), *clip.stem.encode()])
        found.append((case, [run_trial(act, searcher, case, rng) for _ in range(options.n_trials)]))
    return found


HEAD = (
    f"{'markers':<12}{'case':<32}{'n':>5}{'1 frame':>9}{'median':>8}{'p95':>6}{'wrong':>8}{'never':>8}{'mm':>7}"
    f"{'ms p50':>8}{'p95':>7}{'max':>7}"
)


def row(preset: str, case: AcquisitionCase, trials: Sequence[AcquisitionTrial]) -> str:
    """Return a line: share labelled correctly at once, frames until labelled, shares with a wrong label and never labelled."""
    frames = np.array([t.frames if t.frames else MAX_FRAMES for t in trials])
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
