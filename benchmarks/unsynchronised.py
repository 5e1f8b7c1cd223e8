"""Two cameras that nobody synchronised against two that are: joint error with and without the time model, and the offset found.

    python -m benchmarks.unsynchronised --motion DIR [--database DB] [--rendered] [--seeds 3] [--json F]

The evaluation clip of boxing (14_02 from frame 3001) after a T-pose, two cameras at 30 Hz of which the right one looks later by a
constant skew, or runs at 25 Hz. `known`: stamps are true; `hidden`: both cameras are stamped as if they looked at once, so that
the offset has to be found; `drift`: and the right one's clock runs slow. Markers are projected, with what hides them, 0.3 px of
noise, and near ones merged; with --rendered they are drawn and detected. Errors are against the truth at the pose's own time,
averaged over the clip and the seeds, and given as ratios to perfectly synchronised cameras of the same run.
"""

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from calibration.subject import Subject
from capture.detector import Detector
from capture.packets import Blobs
from capture.simulated import SimulatedCamera
from capture.simulated_performer import Performer, performer_from_scene
from capture.simulated_scene import SimulatedScene
from capture.synchronise import Synchroniser
from capture.time_offset import OffsetEstimate
from config.settings import DetectorSettings, Settings, TimeSettings
from database.clips import Clip, clip_slice
from database.kinematics import forward
from database.store import PoseDatabase, open_database
from reconstruct.pipeline import Pipeline
from reconstruct.pose import Pose, State
from tools.evaluation.protocol import protocol_clip, protocol_database, query
from tools.evaluation.scores import geodesic_errors_deg
from tools.subject_session import subject_from_pairs

FPS = 30.0
NOISE_PX = 0.3
SIGMA_PX = 0.11  # what the detector says of markers of this size
SHOWN = 0.5
TPOSE_S = 2.0
OFF = TimeSettings(interpolate=False, estimate=False)
KNOWN = TimeSettings(interpolate=True, estimate=False)
ON = TimeSettings()


@dataclass(frozen=True, slots=True)
class Case:
    """One line of the table: true skew [ms], rates, clock error of the right camera, whether its stamps hide the skew, passes
    of the clip, forth and back."""

    name: str
    skew_ms: float = 0.0
    right_fps: float = FPS
    left_fps: float = FPS
    drift_ppm: float = 0.0
    hidden: bool = False
    passes: int = 1


@dataclass(frozen=True, slots=True)
class Figures:
    """What came out: mean joint error [mm], [deg] and its 95th percentile, share tracked, poses a second, the age of a pose when
    its pair is complete [ms], and of the offset the error [ms]: at the end, on average over the second half, its own sigma, and
    the seconds of the clip after which it was applied."""

    case: str
    model: str
    mm: float
    p95_mm: float
    deg: float
    tracked: float
    rate: float
    age_ms: float
    offset_end_ms: float
    offset_rms_ms: float
    sigma_ms: float
    found_s: float


def there_and_back(clip: Clip, passes: int) -> Clip:
    """Repeat a clip forth and back."""
    order = np.concatenate([np.arange(clip.n_frames)[:: -1 if k % 2 else 1] for k in range(passes)])
    return replace(clip, rotvec=np.ascontiguousarray(clip.rotvec[order]), root_m=np.ascontiguousarray(clip.root_m[order]))


def performer_of(clip: Clip, occlude: float) -> Performer:
    """Put the clip on the stage."""
    scene = SimulatedScene(
        motion=clip.name, markers="boxing", fps=FPS, tpose_s=TPOSE_S, pixel_noise_px=NOISE_PX, occlude=occlude, seed=1
    )
    return performer_from_scene(scene, clip)


def shots(performer: Performer, case: Case, index: int, seed: int, rendered: bool) -> list[tuple[float, Blobs]]:
    """Give what a camera sees: true time [s] and blobs, stamped as the case has it."""
    fps = case.right_fps if index else case.left_fps
    drift = 1e-6 * case.drift_ppm if index else 0.0
    skew_s = 1e-3 * case.skew_ms if index else 0.0
    n = int(performer.duration_s * fps) - 1
    nominal = np.arange(n) / fps + (0.37 * seed) / FPS  # the phase differs from seed to seed, for both cameras alike
    true_s = nominal * (1.0 + drift) + skew_s
    stamp_s = nominal if case.hidden else true_s
    camera = SimulatedCamera(replace(performer.scene, seed=seed), index, performer)
    camera.times_s = true_s
    detector = Detector(DetectorSettings(mode="dark"))
    seen = []
    for k in range(n):
        blobs = detector.step(camera.frame_at(k)) if rendered else projected(camera, performer, k, seed)
        seen.append((float(true_s[k]), replace(blobs, index=k, t_capture_ns=round(1e9 * stamp_s[k]))))
    return seen


def projected(camera: SimulatedCamera, performer: Performer, k: int, seed: int) -> Blobs:
    """Give the blobs of frame k without drawing it: of markers at least half of which shows; those that touch are one blob."""
    view, _ = camera.view_at(k)
    lens = performer.rig.cameras[camera._index]
    show = np.flatnonzero(view.shown >= SHOWN)
    show = np.random.default_rng((seed, camera._index, k, 41)).permutation(show)
    px = lens.project(view.path_m[1][show]) + view.shift_px[show]
    radius = lens.focal_px * performer.radius_m / lens.to_camera(view.path_m[1][show])[:, 2]
    area = np.pi * radius**2
    kept: list[int] = []
    for m in range(len(show)):
        near = next((o for o in kept if np.linalg.norm(px[m] - px[o]) < radius[m] + radius[o]), None)
        if near is None:
            kept.append(m)
        else:
            share = area[m] / (area[m] + area[near])
            px[near], area[near] = (1 - share) * px[near] + share * px[m], area[near] + area[m]
    n = len(kept)
    return Blobs(camera._index, k, 0, px[kept], area[kept], np.full((n, 3), 240.0), np.full(n, SIGMA_PX))


def arriving(left: list[tuple[float, Blobs]], right: list[tuple[float, Blobs]]) -> Iterator[tuple[float, Blobs]]:
    """Give the frames of both cameras as they would arrive."""
    yield from sorted(left + right, key=lambda shot: shot[0])


@dataclass
class Bench:
    """What all cases share: database, subject and settings."""

    database: PoseDatabase
    settings: Settings
    subject: Subject

    def figures(
        self, performer: Performer, case: Case, model: str, time: TimeSettings, seeds: list[int], rendered: bool
    ) -> Figures:
        """Measure one case under one model of time."""
        runs = [self._run(performer, case, time, seed, rendered) for seed in seeds]
        mean = {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
        return Figures(case.name, model, **mean)

    def _run(self, performer: Performer, case: Case, time: TimeSettings, seed: int, rendered: bool) -> dict[str, float]:
        """Put one seed through."""
        seen = [shots(performer, case, index, seed, rendered) for index in (0, 1)]
        settings = replace(self.settings, time=time)
        pipeline = Pipeline(performer.rig, self.subject, self.database, settings)
        pipeline.warm()
        synchroniser = Synchroniser(round(0.6e9 / min(FPS, case.right_fps)), time)
        poses: list[Pose] = []
        ages: list[float] = []
        offsets: list[OffsetEstimate] = []
        for true_s, blobs in arriving(*seen):
            pair = synchroniser.push(blobs)
            if pair is None:
                continue
            poses.append(pipeline.step(pair))
            ages.append(1e3 * true_s - 1e-6 * pair.t_capture_ns)
            synchroniser.learn(pipeline.markers, performer.rig)
            offsets.append(synchroniser.offset)
        return {**score(performer, self.subject, poses), "age_ms": float(np.mean(ages)), **offset_errors(case, poses, offsets)}


def score(performer: Performer, subject: Subject, poses: list[Pose]) -> dict[str, float]:
    """Compare poses after the T-pose and the way out of it with the truth."""
    seconds = np.array([pose.t_capture_ns for pose in poses]) * 1e-9
    begin_s = performer.scene.tpose_s + 1.5
    part = seconds >= begin_s
    rotvec = np.array([pose.rotvec for pose in poses])[part]
    root_m = np.array([pose.root_m for pose in poses])[part]
    true_rotvec, true_root = performer.poses_at(seconds[part])
    mm = 1e3 * np.linalg.norm(
        forward(subject.skeleton, rotvec, root_m)[1] - forward(performer.clip.skeleton, true_rotvec, true_root)[1], axis=-1
    )
    tracked = np.array([pose.state is State.TRACKING for pose in poses])[part]
    return {
        "mm": float(mm.mean()),
        "p95_mm": float(np.percentile(mm, 95)),
        "deg": float(geodesic_errors_deg(rotvec, true_rotvec).mean()),
        "tracked": float(tracked.mean()),
        "rate": float(part.sum() / (seconds[-1] - begin_s)),
    }


def offset_errors(case: Case, poses: list[Pose], offsets: list[OffsetEstimate]) -> dict[str, float]:
    """Compare the offsets in use, and their own uncertainty, with the truth."""
    nothing = dict.fromkeys(("offset_end_ms", "offset_rms_ms", "sigma_ms", "found_s"), float("nan"))
    if not offsets or not case.hidden:
        return nothing
    seconds = np.array([pose.t_capture_ns for pose in poses]) * 1e-9
    # The right camera's stamps are early by what it looks later.
    true_ms = -(case.skew_ms + 1e-3 * case.drift_ppm * seconds)
    off = np.array([offset.offset_ms for offset in offsets]) - true_ms
    good = np.flatnonzero([offset.sure for offset in offsets])
    found = seconds[good[0]] - TPOSE_S if len(good) else np.inf
    second_half = off[len(off) // 2 :]
    rms = float(np.sqrt(np.mean(second_half**2)))
    return {
        "offset_end_ms": float(off[-1]),
        "offset_rms_ms": rms,
        "sigma_ms": float(offsets[-1].sigma_ms),
        "found_s": float(found),
    }


HEAD = (
    f"{'case':26s} {'model':10s}   mm ratio    p95   deg ratio tracked   /s age ms | offset off by: end   rms sigma found after s"
)


def line(row: Figures, reference: Figures) -> str:
    """Lay one line out."""
    r = row
    error = f"{r.mm:5.1f} {r.mm / reference.mm:5.2f} {r.p95_mm:6.1f} {r.deg:5.2f} {r.deg / reference.deg:5.2f}"
    found = f"{r.offset_end_ms:18.2f} {r.offset_rms_ms:5.2f} {r.sigma_ms:5.2f} {r.found_s:6.1f}"
    return f"{r.case:26s} {r.model:10s}{error} {r.tracked:7.3f} {r.rate:4.1f} {r.age_ms:6.1f} |{found}"


def cases(passes: int) -> list[tuple[Case, list[tuple[str, TimeSettings]]]]:
    """Give what is measured, and under which models of time; the first is the measure of all others."""
    off, known, on = ("none", OFF), ("stamps", KNOWN), ("estimated", ON)
    wanted: list[tuple[Case, list[tuple[str, TimeSettings]]]] = [(Case("synchronised"), [off, known, on])]
    for skew in (4.0, 8.0, 12.0, 16.0):
        wanted.append((Case(f"{skew:g} ms, known", skew), [off, known]))
    wanted.append((Case("30 against 25 Hz, known", 3.0, 25.0), [off, known]))
    wanted.append((Case("25 Hz both, synchronised", 0.0, 25.0, 25.0), [known]))
    for skew in (0.0, 4.0, 8.0, 12.0, 16.0):
        wanted.append((Case(f"{skew:g} ms, hidden", skew, hidden=True), [off, on]))
    for skew in (0.0, 8.0):
        wanted.append((Case(f"{skew:g} ms, hidden, {passes} passes", skew, hidden=True, passes=passes), [on]))
    wanted.append((Case(f"8 ms, drift, {passes} passes", 8.0, drift_ppm=100.0, hidden=True, passes=passes), [on]))
    return wanted


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--motion", type=Path, required=True)
    parser.add_argument("--database", type=Path)
    parser.add_argument("--rendered", action="store_true", help="draw and detect instead of projecting")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--occlude", type=float, default=0.0, help="share of the markers hidden")
    parser.add_argument("--passes", type=int, default=5, help="of the clip, for the drift")
    parser.add_argument("--only", default="", help="cases that have this in their name")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    settings = Settings()
    database = open_database(protocol_database(given.motion, given.database))
    clip = query(protocol_clip("14_02"), given.motion)
    clip = clip_slice(clip, 0, clip.n_frames)
    performers = {k: performer_of(there_and_back(clip, k), given.occlude) for k in (1, given.passes)}
    bench = Bench(database, settings, calibrated(performers[1], database, settings, given.rendered))
    seeds = list(range(1, given.seeds + 1))
    rows: list[Figures] = []
    print(HEAD)
    for case, models in cases(given.passes):
        if given.only and given.only not in case.name and rows:
            continue
        for model, time in models:
            rows.append(bench.figures(performers[case.passes], case, model, time, seeds, given.rendered))
            print(line(rows[-1], rows[0]), flush=True)
    if given.json is not None:
        given.json.write_text(json.dumps([asdict(row) for row in rows], indent=2), encoding="utf-8")


def calibrated(performer: Performer, database: PoseDatabase, settings: Settings, rendered: bool) -> Subject:
    """Fit the subject to the T-pose as synchronised cameras see it; the same for all cases."""
    left, right = (shots(performer, Case(""), index, 0, rendered) for index in (0, 1))
    synchroniser, pairs = Synchroniser(10_000_000, OFF), []
    for true_s, blobs in arriving(left, right):
        pair = synchroniser.push(blobs)
        if pair is not None and true_s < TPOSE_S:
            pairs.append(pair)
    return subject_from_pairs("boxer", pairs, performer.rig, performer.markers, database, settings).subject


if __name__ == "__main__":
    main()
