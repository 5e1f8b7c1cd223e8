"""Faults of cameras, cables and processes in a live run: frames lost, and time to recover.

    python -m benchmarks.run.faults [--times 10] [--only unplugged,frozen] [--cameras 3] [--size 640x480] [--every 1]
                                    [--database DB] [--json F]

Servers in their own processes play a rendered performance as MJPEG over HTTP; supervisor, camera processes and reconstruction
are those of `duocap run`. A fault of the right camera (or of what its name says) lasts some seconds; `none` is the same without.
Recovered means tracked by all cameras for half a second; the time counts from the end of the fault, for killed processes from
the kill. Poses: those published from the beginning of the fault to recovery, by what they were tracked by or their state; lost:
frames due in that time without a tracked pose; tracking: share of the poses; mm: mean distance of their joints from the truth.
"""

import os
import resource
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import cv2
import numpy as np
import psutil

from benchmarks.report import (
    Column,
    Row,
    TablePrinter,
    build_parser,
    find_database_file,
    number_columns,
    parse_size,
    run_main,
    write_json,
)
from benchmarks.run.looped_scene import LoopedScene, build_looped_scene
from calibration.formats.rig_toml import read_rig_toml
from calibration.subject.subject import read_subject
from capture.process.plan import CameraPlan
from capture.recording.sink import VideoSink
from config.settings import CAMERA_NAMES, Settings, StreamSettings
from reconstruct.pose import TrackingState
from stream.protocol.messages import EventMessage, PoseMessage, SkeletonMessage, StatusMessage
from stream.publish.subscriber import Subscriber
from tests.support.cameras.mjpeg import MjpegProcess, Play, encoded
from tests.support.ports import free_address
from tools.demo.report import compute_stream_joints_m
from tools.run.cameras import plan_camera
from tools.run.child import ChildProcess
from tools.run.factories import plan_reconstruction
from tools.run.supervisor import Supervisor, choose_session_name

MOVED_PX = 12
READY_S, SETTLED_S, GIVE_UP_S = 180.0, 0.5, 40.0
QUIET_S = 1.5  # between two faults
LONG_QUIET_S = 7.0  # before a process is killed: a run ends when one dies within 5 s of being ready, four times
ASLEEP_S = 8
KINDS = ("all", "some", "one", "coasting", "lost")


@dataclass(slots=True)
class FaultOutcome:
    """One fault. poses: by `classify_pose`; lost: frames without a tracked pose; recover_s: None: never; events: their texts.

    error_mm: of the joints of tracked poses, mean.
    """

    poses: Counter[str] = field(default_factory=Counter)
    lost: int = 0
    error_mm: float = float("nan")
    recover_s: float | None = None
    events: list[str] = field(default_factory=list)


class Bench:
    """A live run to which faults are done."""

    def __init__(self, stack: ExitStack, scene: LoopedScene, database: Path, folder: Path) -> None:
        self.scene, self.folder, self._t0_s = scene, folder, time.perf_counter()
        moved = tuple(encoded(np.roll(_decode_jpeg(jpeg), MOVED_PX, axis=0)) for jpeg in scene.jpegs[1])
        plays = [
            Play(jpegs, scene.fps, moved=moved if camera == 1 else (), t0_s=self._t0_s)
            for camera, jpegs in enumerate(scene.jpegs)
        ]
        self.servers = [stack.enter_context(MjpegProcess(play)) for play in plays]
        address = free_address()
        settings = replace(Settings(), stream=StreamSettings(address=address, service="", preview=False))
        session = choose_session_name()
        rig, subject = read_rig_toml(scene.rig), read_subject(scene.subject)
        cameras = [_plan_camera(server.url, camera, settings) for camera, server in enumerate(self.servers)]
        plan = plan_reconstruction(rig, subject, database, settings, session, scene.fps)
        self._poses: list[tuple[float, PoseMessage]] = []
        self._events: list[str] = []
        self.status: StatusMessage | None = None
        self._skeleton: SkeletonMessage | None = None
        self._subscriber = Subscriber(address, ("skeleton", "pose", "status", "event"))
        stack.callback(self._subscriber.close)
        self.run = stack.enter_context(Supervisor(cameras, plan, session, lambda text: None))
        self.run.wait_ready(READY_S)
        self.run.start()

    def step(self) -> None:
        """Receive messages and let the supervisor work."""
        for message in self._subscriber.receive(5):
            if isinstance(message, PoseMessage):
                self._poses.append((time.perf_counter(), message))
            elif isinstance(message, EventMessage):
                self._events.append(message.text)
            elif isinstance(message, StatusMessage):
                self.status = message
            elif isinstance(message, SkeletonMessage):
                self._skeleton = message
        self.run.turn(0)

    def run_for(self, seconds: float) -> None:
        """Step for a time."""
        end_s = time.perf_counter() + seconds
        while time.perf_counter() < end_s:
            self.step()

    def steady_since(self, begin_s: float) -> float | None:
        """Return the time, at or after begin_s, since which poses are tracked by all cameras; None if they are not now."""
        since = None
        for t_s, pose in self._poses:
            if t_s >= begin_s:
                since = (since or t_s) if classify_pose(pose, len(self.servers)) == "all" else None
        return since

    def measure(self, fault: "Fault") -> FaultOutcome:
        """Begin a fault, end it after its time, and wait for recovery."""
        self.run_for(QUIET_S if fault.hold_s else LONG_QUIET_S)
        self._poses.clear()
        self._events.clear()
        t_begin_s = time.perf_counter()
        fault.begin(self)
        self.run_for(fault.hold_s)
        t_end_s = time.perf_counter() if fault.hold_s else t_begin_s
        fault.end(self)
        recovered = None
        while time.perf_counter() - t_end_s < GIVE_UP_S:
            self.step()
            since = self.steady_since(t_end_s)
            if since is not None and self._poses[-1][0] - since > SETTLED_S:
                recovered = since
                break
        self.run_for(0.3)
        until_s = recovered if recovered is not None else time.perf_counter()
        during = [pose for t_s, pose in self._poses if t_s <= until_s]
        poses = Counter(classify_pose(pose, len(self.servers)) for pose in during)
        due = round((until_s - t_begin_s) * self.scene.fps)
        lost = max(0, due - poses["all"] - poses["some"] - poses["one"])
        recover_s = None if recovered is None else recovered - t_end_s
        return FaultOutcome(poses, lost, self._error_mm(during), recover_s, list(self._events))

    def _error_mm(self, poses: Sequence[PoseMessage]) -> float:
        """Return the mean distance of the joints of tracked poses from the truth."""
        tracked = [pose for pose in poses if pose.state is TrackingState.TRACKING]
        if self._skeleton is None or not tracked:
            return float("nan")
        true_m = self.scene.joints_at(np.array([1e-9 * pose.t_capture_ns - self._t0_s for pose in tracked]))
        return 1e3 * float(np.linalg.norm(compute_stream_joints_m(self._skeleton, tracked) - true_m, axis=2).mean())


def classify_pose(pose: PoseMessage, n_cameras: int) -> str:
    """Return whether a pose is tracked by all cameras, by some, by one, coasting or lost."""
    if pose.state is not TrackingState.TRACKING:
        return str(pose.state)
    n_seen = len({camera for marker in pose.markers for camera in marker.cameras})
    return "all" if n_seen == n_cameras else "some" if n_seen > 1 else "one"


def _decode_jpeg(jpeg: bytes) -> np.ndarray:
    """Return the image of a JPEG."""
    image = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)
    assert image is not None
    return np.asarray(image)


def _plan_camera(url: str, camera: int, settings: Settings) -> CameraPlan:
    """Plan a camera that can be recorded."""
    plan = plan_camera(url, camera, settings, None)
    assert isinstance(plan, CameraPlan)
    return replace(plan, sinks=(partial(VideoSink, CAMERA_NAMES[camera]),))


@dataclass(frozen=True, slots=True)
class Fault:
    """How a fault begins and ends, and how long it lasts [s]."""

    begin: Callable[[Bench], None]
    end: Callable[[Bench], None] = lambda bench: None
    hold_s: float = 0.0


def build_camera_fault(flag: str, hold_s: float, all_cameras: bool = False) -> Fault:
    """Return a fault of the right camera, or of all.

    Args:
        flag: of the servers, which is on meanwhile.
        hold_s: how long [s].
        all_cameras: whether it is of all.
    """

    def switch(on: bool, bench: Bench) -> None:
        for server in bench.servers if all_cameras else bench.servers[1:2]:
            server.set(**{flag: on})

    return Fault(partial(switch, True), partial(switch, False), hold_s)


def build_kill_fault(name: str) -> Fault:
    """Return a fault that kills a process."""
    return Fault(lambda bench: os.kill(get_pid(bench.run.children[name]), signal.SIGKILL))


def get_pid(child: ChildProcess) -> int:
    """Return the number of a child's process, which is running."""
    assert child.process is not None and child.process.pid is not None
    return child.process.pid


def suspend_run(bench: Bench) -> None:
    """Stop every process of the run, this one included, as a suspend of the machine does."""
    pids = " ".join(str(pid) for pid in (*map(get_pid, bench.run.children.values()), os.getpid()))
    script = f"kill -STOP {pids}; sleep {ASLEEP_S}; kill -CONT {pids}"
    subprocess.Popen(["/bin/sh", "-c", script], start_new_session=True)
    bench.run_for(0.6 * ASLEEP_S)


def fill_disk(bench: Bench) -> None:
    """Record, then limit the size of the camera processes' files."""
    folder = Path(tempfile.mkdtemp(dir=bench.folder))
    bench.run.record(str(folder))
    bench.run_for(1.5)
    limit_file_sizes(bench, 4096)


def empty_disk(bench: Bench) -> None:
    """Lift the limit and stop recording."""
    limit_file_sizes(bench, resource.RLIM_INFINITY)
    bench.run.record("")


def limit_file_sizes(bench: Bench, n_bytes: int) -> None:
    """Limit the size of the files that camera processes write."""
    for child in bench.run.cameras:
        resource.prlimit(get_pid(child), resource.RLIMIT_FSIZE, (n_bytes, resource.RLIM_INFINITY))


FAULTS = {
    "none": Fault(lambda bench: None, hold_s=4.0),
    "unplugged": build_camera_fault("refuse", 2.0),
    "stalled": build_camera_fault("stalled", 2.0),
    "frozen": build_camera_fault("frozen", 2.0),
    "black": build_camera_fault("black", 2.5),
    "overexposed": build_camera_fault("overexposed", 2.5),
    "half rate": build_camera_fault("half_rate", 5.0),
    "moved": build_camera_fault("moved", 10.0),
    "all unplugged": build_camera_fault("refuse", 2.0, all_cameras=True),
    "camera killed": build_kill_fault("right"),
    "reconstruction killed": build_kill_fault("reconstruction"),
    "disk full": Fault(fill_disk, empty_disk, 2.0),
    "asleep": Fault(suspend_run, hold_s=0.01),
}


def main() -> None:
    """Run and print a table."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    parser = build_parser(__doc__)
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--only", default=",".join(FAULTS))
    parser.add_argument("--cameras", type=int, default=3)
    parser.add_argument("--size", type=parse_size, default=(640, 480))
    parser.add_argument("--every", type=int, default=1, help="show only each so many of the scene's 60 frames a second")
    parser.add_argument("--database", type=Path)
    arguments = parser.parse_args()
    database = find_database_file(arguments.database)
    found: dict[str, list[FaultOutcome]] = {}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        scene = build_looped_scene(arguments.size, database, folder, n_views=arguments.cameras, every=arguments.every)
        bench = Bench(stack, scene, database, folder)
        bench.run_for(6.0)
        memory = measure_memory_mb(bench)
        counts = number_columns(0, "times", *KINDS, "frames lost")
        ends = (*number_columns(1, "tracking %", "mm"), *number_columns(2, "recover s", "worst"))
        table = TablePrinter((Column("fault"), *counts, *ends))
        for name in arguments.only.split(","):
            found[name] = [bench.measure(FAULTS[name]) for _ in range(arguments.times)]
            table.show({"fault": name, **summarise_fault(found[name])})
        for name, outcomes in found.items():
            print(f"{name}, the first time:", *dict.fromkeys(outcomes[0].events), sep="\n    ")
        after = measure_memory_mb(bench)
        print("MB of each process, first and last:", *(f"{name} {memory[name]:.0f} {after[name]:.0f}" for name in after))
    write_json(arguments.json, {"faults": found, "memory_mb": [memory, after]})


def summarise_fault(outcomes: list[FaultOutcome]) -> Row:
    """Return the medians of one fault, and the longest time to recover."""
    recover_s = [np.inf if outcome.recover_s is None else outcome.recover_s for outcome in outcomes]
    poses = {key: float(np.median([outcome.poses[key] for outcome in outcomes])) for key in KINDS}
    n_tracked, n_poses = (sum(outcome.poses[key] for outcome in outcomes for key in kinds) for kinds in (KINDS[:3], KINDS))
    return {
        "times": len(outcomes),
        **poses,
        "frames lost": float(np.median([outcome.lost for outcome in outcomes])),
        "tracking %": 100.0 * n_tracked / max(n_poses, 1),
        "mm": float(np.nanmedian([outcome.error_mm for outcome in outcomes])),
        "recover s": float(np.median(recover_s)),
        "worst": float(max(recover_s)),
    }


def measure_memory_mb(bench: Bench) -> dict[str, float]:
    """Return the resident memory of each process."""
    return {name: psutil.Process(get_pid(child)).memory_info().rss / 2**20 for name, child in bench.run.children.items()}


if __name__ == "__main__":
    run_main(main)
