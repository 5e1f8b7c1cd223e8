"""Latency of the whole chain at 60 Hz, with the processes and sockets of a live run: the age of a pose when published.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.run.pipeline [--database DB] [--seconds S] [--repeat N] [--starts] [--json F]

Two camera processes show frames drawn beforehand at their due times and detect; the reconstruction process matches, labels,
solves, finishes and publishes; this one receives as a client would. Latency counts from the due time of the later frame of a
pair. Beside it what peers take for the same frames in the same run (`benchmarks.run.peers`), and the ratio of the medians'
sums, ours without `read` and `wait`, which are no work. Start-up: from the first process to ready and to the first pose, with
compiled kernels in numba's cache and without.
"""

import os
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.report import build_parser, find_database_file, run_main, write_json
from benchmarks.run.peers import measure_peers_ms
from benchmarks.run.stored_frames import StoredFrames, build_decoding_detector, open_stored, open_stored_images, store_frames
from calibration.subject.subject import Subject
from capture.process.detector import open_detector
from capture.process.plan import CameraPlan
from capture.sources.simulated.camera import SimulatedCamera
from capture.sources.simulated.performer import Performer, make_scene_performer
from config.settings import Settings
from database.builtin import make_demo_performance
from database.store import open_database
from reconstruct.pose import TrackingState
from stream.protocol.latency import Receipt, compute_latency
from stream.protocol.messages import PoseMessage
from stream.publish.subscriber import Subscriber
from tests.support.ports import free_address
from tools.demo.demo import SCENE, calibrate_demo_subject
from tools.demo.report import select_measured
from tools.run.factories import plan_reconstruction
from tools.run.supervisor import Supervisor, choose_session_name

FIRST_S, DRAWN_S = 2.0, 1.5  # part of the demo that is drawn: out of the T-pose into the first moves
SETTLED_S = 1.0  # figures begin this long after the first frame
SHORT_S = SETTLED_S + 1.0  # of runs that only start
PEERS_S = 8.0
TURN_MS = 2
MS = 1e-6


@dataclass(frozen=True, slots=True)
class Case:
    """Frames of one size and kind, and the targets: p50 and p99 from due to published [ms]."""

    name: str
    size: tuple[int, int]
    jpeg: bool
    p50_ms: float
    p99_ms: float = 16.7


CASES = (
    Case("640x480 raw", (640, 480), False, 3.0),
    Case("1280x720 raw", (1280, 720), False, 3.0),
    Case("1280x720 MJPEG", (1280, 720), True, 6.0),
)


@dataclass(frozen=True, slots=True)
class PipelineScene:
    """What runs at one image size need: performer, subject and stored frames."""

    performer: Performer
    subject: Subject
    stored: StoredFrames


@dataclass(frozen=True, slots=True)
class Run:
    """One paced run. ready_s, first_pose_s: since the first process was started; latency_ms: p50, p95, p99 by stage and in total.

    frames: due to each camera; skipped: of both cameras, for being late; poses: published of pairs; tracked: of these;
    peers_ms: the same of peers.
    """

    ready_s: float
    first_pose_s: float
    frames: int
    skipped: int
    poses: int
    tracked: int
    latency_ms: Mapping[str, tuple[float, ...]]
    total_ms: list[float]
    peers_ms: dict[str, tuple[float, ...]]


def build_scene(size: tuple[int, int], database: Path, folder: Path) -> PipelineScene:
    """Calibrate the performer for images of a size, and draw the frames into a folder.

    Args:
        size: of the images [px].
        database: the motion database.
        folder: where files are written.
    """
    scene = replace(SCENE, width_px=size[0], height_px=size[1])
    performer = make_scene_performer(scene, make_demo_performance(scene.fps, FIRST_S + DRAWN_S + 1.0))
    folder.mkdir(parents=True)
    stored = StoredFrames(folder, size, scene.fps, 0, False)
    frames = range(round(FIRST_S * scene.fps), round((FIRST_S + DRAWN_S) * scene.fps))
    for camera in (0, 1):
        store_frames(stored, SimulatedCamera(scene, camera, performer), camera, frames)
    return PipelineScene(performer, calibrate_demo_subject(performer, database, Settings()), stored)


def run_paced(scene: PipelineScene, case: Case, database: Path, seconds: float) -> Run:
    """Start the processes, receive until the cameras end, and return the figures.

    Args:
        scene: the scene.
        case: what is measured.
        database: the motion database.
        seconds: length [s].
    """
    settings = Settings()
    settings = replace(settings, stream=replace(settings.stream, address=free_address()))
    stored = replace(scene.stored, n_shown=round(seconds * scene.stored.fps), jpeg=case.jpeg)
    detector = partial(build_decoding_detector if case.jpeg else open_detector, settings.detector)
    left, right = (CameraPlan(camera, partial(open_stored, stored, camera), detector, paced=True) for camera in (0, 1))
    session, rig = choose_session_name(), scene.performer.rig
    plan = plan_reconstruction(rig, scene.subject, database, settings, session, stored.fps)
    subscriber, poses = Subscriber(settings.stream.address, ("pose",)), list[PoseMessage]()
    begun, first_pose_s = time.perf_counter(), float("nan")
    with Supervisor((left, right), plan, session) as run:
        run.wait_ready()
        ready_s = time.perf_counter() - begun
        t_start_ns = run.start()
        turns_left = 50
        while turns_left:
            run.turn(TURN_MS)
            poses += [message for message in subscriber.receive() if isinstance(message, PoseMessage)]
            if poses and np.isnan(first_pose_s):
                first_pose_s = time.perf_counter() - begun
            turns_left -= run.ended
        skipped = sum(child.counts.get("skipped", 0) for child in run.cameras)
    subscriber.close()
    measured = [receipt.pose for receipt in select_measured([Receipt(pose) for pose in poses])]
    settled = [pose for pose in measured if pose.t_capture_ns >= t_start_ns + SETTLED_S * 1e9]
    tracked = sum(pose.state is TrackingState.TRACKING for pose in settled)
    total_ms = [(pose.t_publish_ns - pose.t_capture_ns) * MS for pose in settled]
    frames = stored.n_shown - round(SETTLED_S * stored.fps)
    latency_ms = compute_latency((Receipt(pose) for pose in settled), budget_ms=0.0).stages_ms
    peers = {} if seconds <= SHORT_S else _measure_peers(scene, stored, database)
    return Run(ready_s, first_pose_s, frames, skipped, len(settled), tracked, latency_ms, total_ms, peers)


def _measure_peers(scene: PipelineScene, stored: StoredFrames, database: Path) -> dict[str, tuple[float, ...]]:
    """Return what peers take for the frames of a run, at the same rate."""
    images, first = (open_stored_images(stored, 0), open_stored_images(stored, 1)), round(FIRST_S * stored.fps)
    n = round(PEERS_S * stored.fps)
    return measure_peers_ms(images, scene.performer, scene.subject, open_database(database), first, n)


def measure_starts(scene: PipelineScene, case: Case, database: Path, folder: Path) -> str:
    """Start with everything cached, and with an empty cache of compiled kernels in `folder`; return the figures.

    Args:
        scene: the scene.
        case: what is measured.
        database: the motion database.
        folder: of the empty cache.
    """
    lines = []
    before = os.environ.get("NUMBA_CACHE_DIR")
    for what, cache in (("everything cached", before), ("nothing compiled", str(folder))):
        if cache is not None:
            os.environ["NUMBA_CACHE_DIR"] = cache
        run = run_paced(scene, case, database, SHORT_S)
        lines.append(f"start-up, {what}: ready after {run.ready_s:.1f} s, first pose after {run.first_pose_s:.1f} s")
    if before is None:
        del os.environ["NUMBA_CACHE_DIR"]
    else:
        os.environ["NUMBA_CACHE_DIR"] = before
    return "\n".join(lines)


def format_run(case: Case, run: Run) -> str:
    """Return the lines of a run."""
    lines = [f"{case.name}: {run.poses} poses of {run.frames} frames, {run.tracked} tracked, {run.skipped} frames skipped"]
    lines += [f"    {stage:<15}" + "".join(f"{value:>9.2f}" for value in run.latency_ms[stage]) for stage in run.latency_ms]
    lines += [f"    peer {stage:<10}" + "".join(f"{value:>9.2f}" for value in run.peers_ms[stage]) for stage in run.peers_ms]
    if run.peers_ms:
        ours = sum(ms[0] for stage, ms in run.latency_ms.items() if stage not in ("read", "wait", "total"))  # what is work
        theirs = sum(ms[0] for stage, ms in run.peers_ms.items() if stage != "total")
        lines.append(f"    our stages take {ours / theirs:.2f} times as long as the peers, p50")
    p50, _, p99 = run.latency_ms["total"]
    met = ["met" if value <= target else "MISSED" for value, target in ((p50, case.p50_ms), (p99, case.p99_ms))]
    lines.append(f"    targets p50 <= {case.p50_ms:g} ms {met[0]}, p99 <= {case.p99_ms:g} ms {met[1]}")
    return "\n".join(lines)


def main() -> None:
    """Run all cases and print the tables."""
    parser = build_parser(__doc__)
    parser.add_argument("--database", type=Path, help="motion database; default the built-in motions")
    parser.add_argument("--seconds", type=float, default=15.0, help="of every run (default 15)")
    parser.add_argument("--repeat", type=int, default=1, help="runs of every case, of which the quickest counts (default 1)")
    parser.add_argument("--starts", action="store_true", help="start once more without compiled kernels")
    options = parser.parse_args()
    database = find_database_file(options.database)
    found: dict[str, Run] = {}
    with tempfile.TemporaryDirectory() as temporary:
        scenes = {size: build_scene(size, database, Path(temporary) / f"{size[0]}") for size in {case.size for case in CASES}}
        for case in CASES:
            runs = [run_paced(scenes[case.size], case, database, options.seconds) for _ in range(options.repeat)]
            # Other programs on the machine only add to the time.
            found[case.name] = min(runs, key=lambda run: run.latency_ms["total"][0])
            print(format_run(case, found[case.name]), flush=True)
        if options.starts:
            print(measure_starts(scenes[CASES[0].size], CASES[0], database, Path(temporary) / "numba"))
    write_json(options.json, found)


if __name__ == "__main__":
    run_main(main)
