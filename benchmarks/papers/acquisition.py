"""How soon and how correctly a performer is found among unlabelled points, at the start and after a loss.

In clips of the protocol the history is forgotten at random frames, or all markers vanish for a while. Then noisy triangulated
points appear in random order, some missing, some false, and acquisition must label them.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.papers.frame import PaperTable, Request
from benchmarks.report import Column, Row, number_columns, text_columns
from calibration.placement import make_facing_rig
from calibration.subject.subject import Subject
from capture.packets import MarkerFrame
from config.arrays import Floats, Ints
from config.markers import read_marker_set
from database.clips import Clip
from database.files.resample import resample_clip
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.rotations import matrix_from_rotvec
from reconstruct.body_state import BodyState
from reconstruct.search.examples import compute_examples
from reconstruct.track.acquisition import Acquirer, Acquisition
from reconstruct.track.estimator import Estimator
from tools.evaluate.parallel import run_tasks
from tools.evaluate.protocol import ProtocolClip, open_once, read_query
from tools.evaluate.queries import FPS, NOISE_M, marker_frame, marker_positions, true_subject
from tools.evaluate.scores import WRONG_M

CLIPS = ("14_02", "02_05", "07_08", "16_15", "09_09", "16_05", "09_12", "05_18")
PRESETS = ("boxing", "locomotion", "all_around")
MAX_FRAMES = 60  # after which a performer who is not found counts as never found
REACH_M = 1.0  # half width of the box about the performer in which false points lie
N_TRIALS = 10  # of every case in every clip
RIG = replace(make_facing_rig((640, 480), 60.0, 5.0, 1.0, 1.2), floor_known=True)  # for frames to refer to; nothing is projected


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


def perform_clip(clip: Clip, preset: str) -> Performance:
    """Put markers on a clip's own skeleton."""
    subject = true_subject(clip.name, clip.skeleton, read_marker_set(preset))
    clip = resample_clip(clip, FPS)
    joint_m = compute_forward_kinematics(clip.skeleton, clip.rotvec, clip.root_m)[1]
    return Performance(subject, clip, marker_positions(subject, clip.rotvec, clip.root_m), joint_m)


@dataclass(frozen=True, slots=True)
class Searcher:
    """What searches for one performer, and solves for the pose of what it finds."""

    subject: Subject
    acquirer: Acquirer
    estimator: Estimator

    def search(self, points: Floats, k: int, last: BodyState | None) -> Acquisition | None:
        """Search the points of frame k; None where no labelling is trusted. last: the last known state."""
        found = self.acquirer.acquire(points, lambda choice: label_points(points, choice, k), round(k * 1e9 / FPS), last)
        return found if found is not None and found.trusted else None

    def compute_error_mm(self, found: Acquisition, frame: MarkerFrame, true_joint_m: Floats) -> float:
        """Return the mean error of the joints of the pose that is solved from labels, NaN where none is."""
        estimate = self.estimator.estimate(frame, found.state)
        if estimate is None:
            return float("nan")
        state = estimate.state
        rotvec = state.joints.copy()
        rotvec[0] = 0.0
        joint_m = compute_forward_kinematics(self.subject.skeleton, rotvec, np.zeros(3))[1] @ state.rotation.T + state.position_m
        return 1e3 * float(np.linalg.norm(joint_m - true_joint_m, axis=1).mean())


def label_points(points: Floats, choice: Ints, k: int) -> MarkerFrame:
    """Return frame k, in which point choice[m] is marker m, -1 for none."""
    return marker_frame(points[choice], choice >= 0, NOISE_M, k)


def run_trial(act: Performance, searcher: Searcher, case: AcquisitionCase, rng: np.random.Generator) -> AcquisitionTrial:
    """Forget the history at a random frame and search until the performer is found."""
    gap = 0 if case.gap_s is None else round(case.gap_s * FPS)
    n, M = act.marker_m.shape[:2]
    begin = int(rng.integers(0, max(1, n - gap - MAX_FRAMES)))
    R, t = matrix_from_rotvec([0.0, rng.uniform(-np.pi, np.pi), 0.0]), rng.uniform(-1.0, 1.0, 3) * [1.0, 0.0, 1.0]
    last = None
    if case.gap_s is not None:
        at = max(begin - 1, 0)
        rotation = R @ matrix_from_rotvec(act.clip.rotvec[at, 0])
        last = BodyState(round(at * 1e9 / FPS), act.clip.rotvec[at], rotation, R @ act.clip.root_m[at] + t)
    shown = np.sort(rng.choice(M, M - case.missing, replace=False))
    false = rng.uniform(-REACH_M, REACH_M, (case.false, 3))
    false += (act.marker_m[min(begin + gap, n - 1)] @ R.T + t)[shown].mean(axis=0)
    searcher.acquirer.forget()
    slowest_s = 0.0
    for k in range(begin + gap, begin + gap + MAX_FRAMES):
        now = min(k, n - 1)
        true_m = act.marker_m[now] @ R.T + t
        points = np.concatenate([true_m[shown], false]) + rng.normal(0.0, NOISE_M, (len(shown) + case.false, 3))
        points = np.ascontiguousarray(points[rng.permutation(len(points))])
        begin_s = time.thread_time()
        found = searcher.search(points, k, last)
        slowest_s = max(slowest_s, time.thread_time() - begin_s)
        if found is not None:
            used = found.point_of_marker >= 0
            wrong = np.linalg.norm(points[found.point_of_marker] - true_m, axis=1)[used] > WRONG_M
            frame = label_points(points, found.point_of_marker, k)
            error_mm = searcher.compute_error_mm(found, frame, act.joint_m[now] @ R.T + t)
            frames = k + 1 - begin - gap
            return AcquisitionTrial(frames, int(wrong.sum()), float(used.sum() / len(shown)), error_mm, 1e3 * slowest_s)
    return AcquisitionTrial(0, 0, 0.0, np.nan, 1e3 * slowest_s)


def _try_clip(clip: ProtocolClip, preset: str, request: Request, path: Path) -> dict[AcquisitionCase, list[AcquisitionTrial]]:
    """Return the trials of each case on one clip; random numbers depend on the clip and the case only."""
    database, act = open_once(path), perform_clip(read_query(clip, request.motion), preset)
    examples, settings = compute_examples(act.subject, database), request.settings.solve
    estimator = Estimator(act.subject, examples, RIG, settings)
    searcher = Searcher(act.subject, Acquirer(act.subject, examples, estimator, settings, database.rotvec[:, 0]), estimator)
    run_trial(act, searcher, AcquisitionCase(), np.random.default_rng(0))  # so that loading of kernels is not measured
    found = {}
    for case in QUICK_CASES if request.quick else CASES:
        rng = np.random.default_rng([request.seed, *str(case).encode(), *clip.stem.encode()])
        found[case] = [run_trial(act, searcher, case, rng) for _ in range(request.count or N_TRIALS)]
    return found


def summarise_trials(trials: Sequence[AcquisitionTrial]) -> Row:
    """Return the figures of some trials: shares found right at once, with a wrong label, never; errors are of right ones."""
    frames = np.array([t.frames or MAX_FRAMES for t in trials])
    ms = np.array([t.search_ms for t in trials])
    error = [t.error_mm for t in trials if t.frames and not t.wrong]
    return {
        "n": len(trials),
        "at once %": 100.0 * np.mean([t.frames == 1 and not t.wrong for t in trials]),
        "frames": np.median(frames),
        "frames p95": np.percentile(frames, 95),
        "wrong %": 100.0 * np.mean([t.wrong > 0 for t in trials]),
        "never %": 100.0 * np.mean([t.frames == 0 for t in trials]),
        "mm": np.median(error) if error else None,
        "ms": np.median(ms),
        "ms max": ms.max(),
        "trials": list(trials),
    }


def compute_acquisition(request: Request) -> Iterator[Row]:
    """Yield a row for each marker set and case. Raises DuocapError."""
    clips, path = request.find_clips(CLIPS)
    presets = PRESETS if request.markers == "all" else (request.markers,)
    tasks = [partial(_try_clip, clip, preset, request, path) for preset in presets for clip in clips]
    found = run_tasks(tasks, request.workers)
    for n, preset in enumerate(presets):
        part = found[n * len(clips) : (n + 1) * len(clips)]
        for case in part[0]:
            trials = [trial for of_clip in part for trial in of_clip[case]]
            yield {"markers": preset, "case": str(case), **summarise_trials(trials)}


TABLE = PaperTable(
    "acquisition",
    "Chai & Hodgins 2005, section 4",
    "a performer found among unlabelled points (--markers all: of three marker sets; --count: trials of each case and clip)",
    (
        *text_columns("markers", "case"),
        Column("n", 0),
        Column("at once %", 1),
        *number_columns(0, "frames", "frames p95"),
        *number_columns(1, "wrong %", "never %"),
        Column("mm", 0),
        *number_columns(1, "ms", "ms max"),
    ),
    compute_acquisition,
)
