"""What reflections cost, and what is left of them: rendered performers in a dark room that was never learned.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.reflections [--seconds 20] [--only walk] [--counts 0 4 10] [--seed 1] [--json F]

Each scene is drawn and detected once, with a live background that starts without knowing the room. Then the pipeline sees the
same spots twice: with no rule, and with that of the labels (`reconstruct/reflections.py`). A third of the reflections flicker.
The subject is calibrated without any. Figures begin a second after the T-pose.
"""

import argparse
import json
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.unsynchronised import there_and_back
from calibration.camera import Rig
from calibration.subject import Subject
from capture.detector import Detector
from capture.labels import Expected
from capture.live_background import LiveBackground
from capture.packets import Blobs, Bools, Floats, MarkerFrame, PairedBlobs
from capture.simulated import SimulatedCamera
from capture.simulated_performer import Performer, load_motion, performer_from_scene
from capture.simulated_scene import SimulatedScene
from config.settings import Settings
from database.default import default_database
from database.kinematics import forward
from database.store import PoseDatabase
from reconstruct.pipeline import Pipeline
from reconstruct.pose import Pose, State
from reconstruct.reflections import Reflections
from tools.subject_session import subject_from_pairs

FPS, TPOSE_S, BEGIN_S = 30.0, 2.0, 3.0
CASES = {"walk": "locomotion", "punches": "boxing"}
COUNTS = (0, 4, 10)
RULES = ("none", "labels")
MARKER_PX = 3.0  # a blob this near to where a marker shows is its
FLICKER_SHARE, FLICKER_S, LIT_SHARE = 1 / 3, 0.3, 0.6


@dataclass(frozen=True, slots=True)
class Seen:
    """One pair as detected without any rule; true: which blobs are markers, in each view."""

    pair: PairedBlobs
    true: tuple[Bools, Bools]


@dataclass(frozen=True, slots=True)
class Figures:
    """One rule on one scene: false blobs that reach matching and true ones taken away, per pair of views; joint and marker error
    [mm]; share of pairs that are tracked; labels on something that is no marker, per pair; time of `Reflections` a pair [ms]."""

    case: str
    reflections: int
    rule: str
    false: float
    taken: float
    joint_mm: float
    joint_p95_mm: float
    marker_mm: float
    marker_p95_mm: float
    tracked: float
    mislabelled: float
    ms: float


@dataclass(frozen=True, slots=True)
class Stage:
    """Who moves, as they are calibrated, and the poses they are told by."""

    performer: Performer
    subject: Subject
    database: PoseDatabase


def flickering(camera: SimulatedCamera, index: int, k: int, seed: int, n: int) -> Floats:
    """Give the places of the reflections that are dark in frame k, (D, 2) [px]."""
    rng = np.random.default_rng((seed, index, 31))
    places = np.zeros((n, 2))
    for r in range(n):  # as SimulatedCamera places them
        places[r] = rng.uniform(0.05, 0.95, 2) * camera.size
        rng.uniform(1.0, 3.0, 2), rng.uniform(200.0, 500.0)
    spell = int(k / FPS / FLICKER_S)
    lit = np.random.default_rng((seed, index, spell, 47)).random(n) < LIT_SHARE
    return places[(np.arange(n) < FLICKER_SHARE * n) & ~lit]


def shots(performer: Performer, scene: SimulatedScene, index: int) -> list[tuple[Blobs, Bools]]:
    """Give what one camera sees, and which of it is markers."""
    camera, settings = SimulatedCamera(scene, index, performer), Settings().detector
    lens = performer.rig.cameras[index]
    detector = Detector(settings, live=LiveBackground(settings.k_sigma, settings.min_difference))
    seen = []
    for k in range(int(performer.duration_s * FPS) - 1):
        blobs = detector.step(camera.frame_at(k))
        markers = lens.project(camera.view_at(k)[0].path_m[1])
        true = near(blobs.points_px, markers, MARKER_PX)
        dark = ~true & near(blobs.points_px, flickering(camera, index, k, scene.seed, scene.reflections), 4.0)
        seen.append((kept(blobs, ~dark), true[~dark]))
    return seen


def near(points_px: Floats, places_px: Floats, reach_px: float) -> Bools:
    """Tell which points (N, 2) are near one of the places (P, 2)."""
    apart = np.linalg.norm(points_px[:, None] - places_px[None], axis=2)
    return np.asarray(apart.min(axis=1, initial=np.inf) < reach_px)


def kept(blobs: Blobs, keep: Bools) -> Blobs:
    """Give some of the blobs."""
    parts = (blobs.points_px[keep], blobs.area_px[keep], blobs.color_rgb[keep], blobs.sigma_px[keep])
    return Blobs(blobs.camera, blobs.index, blobs.t_capture_ns, *parts, blobs.light)


def pairs_of(performer: Performer, scene: SimulatedScene) -> list[Seen]:
    """Draw and detect a scene."""
    left, right = shots(performer, scene, 0), shots(performer, scene, 1)
    return [Seen(PairedBlobs(a[0], b[0]), (a[1], b[1])) for a, b in zip(left, right, strict=True)]


class Noted(Reflections):
    """Leaves reflections out, or nothing, and notes which spots reach matching."""

    def __init__(self, reject: bool) -> None:
        super().__init__()
        self._reject = reject
        self.reached: PairedBlobs | None = None
        self.spent_s = 0.0

    def without(self, pair: PairedBlobs, rig: Rig, expected: Expected | None) -> PairedBlobs:
        """Give what reaches matching."""
        begin = time.thread_time()
        self.reached = super().without(pair, rig, expected) if self._reject else pair
        self.spent_s += time.thread_time() - begin
        return self.reached

    def agreed(self, frame: MarkerFrame) -> MarkerFrame:
        """Give what labels are trusted."""
        begin = time.thread_time()
        frame = super().agreed(frame) if self._reject else frame
        self.spent_s += time.thread_time() - begin
        return frame

    def learn(self, pair: PairedBlobs, frame: MarkerFrame, tracked: bool) -> None:
        """Learn, and measure how long it takes."""
        begin = time.thread_time()
        super().learn(pair, frame, tracked)
        self.spent_s += time.thread_time() - begin


def measured(case: str, count: int, rule: str, seen: list[Seen], stage: Stage) -> Figures:
    """Put a scene through the pipeline under one rule."""
    pipeline, noted = Pipeline(stage.performer.rig, stage.subject, stage.database, Settings()), Noted(rule == "labels")
    pipeline.warm()
    pipeline._reflections = noted
    poses, counts, begin_s = [], [], noted.spent_s
    for one in seen:
        poses.append(pipeline.step(one.pair))
        assert pipeline.markers is not None and noted.reached is not None
        counts.append((*false_and_taken(one, noted.reached), mislabelled(stage.performer, pipeline.markers)))
    ms = 1e3 * (noted.spent_s - begin_s) / len(seen)
    return Figures(case, count, rule, **figures(stage, poses, np.array(counts, float)), ms=ms)


def false_and_taken(one: Seen, reached: PairedBlobs) -> tuple[int, int]:
    """Count the false spots that reached matching, and the markers that were seen but did not."""
    false = taken = 0
    for blobs, after, true in zip((one.pair.left, one.pair.right), (reached.left, reached.right), one.true, strict=True):
        hits = int(near(after.points_px, blobs.points_px[true], 1e-6).sum())
        false, taken = false + len(after) - hits, taken + int(true.sum()) - hits
    return false, taken


def mislabelled(performer: Performer, frame: MarkerFrame) -> int:
    """Count labels on what is not that marker, in both views."""
    truth = performer.markers_of(*performer.joints_at(np.array([1e-9 * frame.t_capture_ns])))[0]
    off_px = [np.linalg.norm(c.project(truth) - px, axis=1) for c, px in zip(performer.rig.cameras, frame.image_px, strict=True)]
    return int((frame.seen & (np.array(off_px) > 2.0 * MARKER_PX)).sum())


def figures(stage: Stage, poses: list[Pose], counts: Floats) -> dict[str, float]:
    """Compare poses with the truth; counts: false, taken, mislabelled, by pair."""
    performer, subject = stage.performer, stage.subject
    seconds = np.array([pose.t_capture_ns for pose in poses]) * 1e-9
    part = seconds >= BEGIN_S
    rotvec, root = np.array([p.rotvec for p in poses])[part], np.array([p.root_m for p in poses])[part]
    true_rotvec, true_root = performer.poses_at(seconds[part])
    joints = forward(subject.skeleton, rotvec, root)[1] - forward(performer.clip.skeleton, true_rotvec, true_root)[1]
    joint_mm = 1e3 * np.linalg.norm(joints, axis=-1)
    markers = np.array([p.marker_m for p in poses])[part] - performer.markers_of(*performer.joints_at(seconds[part]))
    marker_mm = 1e3 * np.linalg.norm(markers, axis=-1)
    tracked = np.array([p.state is State.TRACKING for p in poses])
    false, taken, wrong = counts[part].mean(axis=0).tolist()
    return {
        "false": false,
        "taken": taken,
        "mislabelled": wrong,
        "joint_mm": float(joint_mm.mean()),
        "joint_p95_mm": float(np.percentile(joint_mm, 95)),
        "marker_mm": float(marker_mm.mean()),
        "marker_p95_mm": float(np.percentile(marker_mm, 95)),
        "tracked": float(tracked[part].mean()),
    }


def performer_for(motion: str, markers: str, seconds: float, seed: int) -> Performer:
    """Put a motion on the stage, forth and back as often as it takes."""
    scene = SimulatedScene(motion=motion, markers=markers, fps=FPS, tpose_s=TPOSE_S, seed=seed)
    clip = load_motion(scene)
    passes = int(np.ceil(seconds * clip.fps / clip.n_frames))
    clip = there_and_back(clip, max(passes, 1))
    return performer_from_scene(scene, clip)


HEAD = (
    f"{'case':8s} {'refl.':>5s} {'rule':7s} {'false':>6s} {'taken':>6s} {'joint mm':>9s} {'p95':>6s} "
    f"{'marker mm':>9s} {'p95':>6s} {'tracked':>7s} {'mislab.':>7s} {'ms':>6s}"
)


def line(r: Figures) -> str:
    """Lay one line out."""
    errors = f"{r.joint_mm:9.1f} {r.joint_p95_mm:6.1f} {r.marker_mm:9.1f} {r.marker_p95_mm:6.1f}"
    return (
        f"{r.case:8s} {r.reflections:5d} {r.rule:7s} {r.false:6.2f} {r.taken:6.3f} {errors} {r.tracked:7.3f} "
        f"{r.mislabelled:7.3f} {r.ms:6.3f}"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--only", choices=tuple(CASES), help="one of the motions")
    parser.add_argument("--counts", type=int, nargs="*", default=COUNTS, help="reflections in each view")
    parser.add_argument("--rules", choices=RULES, nargs="*", default=RULES)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    database = default_database()
    rows: list[Figures] = []
    print(HEAD)
    for case in [given.only] if given.only else CASES:
        performer = performer_for(case, CASES[case], given.seconds, given.seed)
        bare = pairs_of(performer, performer.scene)
        calm = [one.pair for one in bare if one.pair.t_capture_ns < 1e9 * TPOSE_S]
        subject = subject_from_pairs("one", calm, performer.rig, performer.markers, database, Settings()).subject
        for count in given.counts:
            seen = pairs_of(performer, replace(performer.scene, reflections=count)) if count else bare
            for rule in given.rules:
                rows.append(measured(case, count, rule, seen, Stage(performer, subject, database)))
                print(line(rows[-1]), flush=True)
    if given.json is not None:
        given.json.write_text(json.dumps([asdict(row) for row in rows], indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
