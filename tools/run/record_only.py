"""Record cameras without a rig: pictures, stamps and detections, for calibration or for later."""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from capture.clock import now_ns
from capture.recording.session import list_recording_parts
from capture.sockets.endpoints import find_key_settings
from capture.sources.network.address import hide_secrets
from capture.sources.recorded_times import read_video_stamps
from config.errors import SourceError
from config.settings import CAMERA_NAMES, Settings
from stream.recording.collector import CollectionPlan
from stream.recording.session import DETECTIONS
from tools.interrupt import raise_on_interrupt
from tools.progress import Tell
from tools.run.cameras import NODE, check_camera_sources, plan_camera
from tools.run.parts import NodeEntrance
from tools.run.record import SessionFolder, add_video_recorder
from tools.run.start import await_cameras
from tools.run.supervisor import Supervisor, choose_session_name

TURN_MS = 20
LINE_NS = 1_000_000_000
SETTLE_NS = 300_000_000


@dataclass(frozen=True, slots=True)
class RecordReport:
    """Result of a recording.

    Attributes:
        frames: number of pictures in each camera's video, or of detections of a camera node.
        missed: pictures that came meanwhile and are not in the videos, since machine or disk were too slow.
    """

    folder: Path
    seconds: float
    frames: tuple[int, ...]
    missed: tuple[int, ...]
    n_bytes: int

    def lines(self) -> list[str]:
        """Return the result of the recording, in words."""
        frames = " and ".join(str(count) for count in self.frames)
        lost = " and ".join(
            f"{count} of the {name} camera" for name, count in zip(CAMERA_NAMES, self.missed, strict=False) if count
        )
        return [
            f"{self.folder}: {self.seconds:.0f} s, {frames} pictures, {self.n_bytes * 1e-6:.0f} MB",
            *([f"not recorded, since machine or disk were too slow: {lost}"] if lost else []),
            f"with a rig and a subject: duocap replay {self.folder} --rig rig.toml --subject subject.toml",
        ]


def record_cameras(
    settings: Settings, cameras: Sequence[str], folder: Path, fps: float | None, seconds: float | None, tell: Tell, show: Tell
) -> RecordReport:
    """Record until the sources end, so many seconds have passed, or Ctrl-C.

    Args:
        cameras: sources of the cameras as the user named them.
        folder: folder of the new session.
        fps: frame rate of recordings, and the one asked of webcams [Hz]; None for their own.
        seconds: None: until the sources end [s].
        tell: news.
        show: a line a second, of which the newest counts.
    Raises: DuocapError for what the user can mend.
    """
    settings = check_camera_sources(cameras, settings, fps, tell)
    session = choose_session_name()
    plans = [add_video_recorder(plan_camera(source, camera, settings, fps)) for camera, source in enumerate(cameras)]
    made = SessionFolder(folder, session, settings, [hide_secrets(source) for source in cameras])
    plan, entrance = CollectionPlan(folder / DETECTIONS, session, len(cameras)), None
    if NODE in cameras:
        keys = find_key_settings(settings.stream)
        plan = replace(plan, nodes=settings.capture.inbox, keys=keys)
        entrance = NodeEntrance(settings.capture.control, keys)
    run: Supervisor | None = None
    begun_ns = now_ns()
    try:
        with raise_on_interrupt(), Supervisor(plans, plan, session, tell, entrance) as run:
            await_cameras(run, cameras, tell, "what writes down the detections")
            made.describe(run.cameras, 0)
            run.record(str(folder))
            begun_ns = run.start()
            tell(f"recording to {folder}; Ctrl-C ends")
            _watch_recording(run, seconds, partial(made.line, run.cameras), show)
    except KeyboardInterrupt:
        if run is None or not made.begun:
            raise
    finally:
        made.finish({})
    return _summarize_recording(run, made, begun_ns)


def _watch_recording(run: Supervisor, seconds: float | None, line: Callable[[], str], show: Tell) -> None:
    """Watch the processes until the recording ends, with a line a second."""
    begun_ns = now_ns()
    due_ns, t_ended_ns = begun_ns + LINE_NS, 0
    while not t_ended_ns or now_ns() - t_ended_ns < SETTLE_NS:
        run.turn(TURN_MS)
        t_ns = now_ns()
        if t_ns >= due_ns:
            due_ns += LINE_NS
            show(line())
        if not t_ended_ns and (run.ended or (seconds is not None and t_ns - begun_ns >= seconds * 1e9)):
            t_ended_ns = t_ns


def _summarize_recording(run: Supervisor, made: SessionFolder, begun_ns: int) -> RecordReport:
    """Sum up, by the files, or by what the processes told last where a camera keeps its pictures to itself."""
    kept, missed, seconds = zip(*(count_recorded_pictures(made.folder, camera.name) for camera in run.cameras), strict=True)
    frames = tuple(n or camera.counts.get("frames", 0) for n, camera in zip(kept, run.cameras, strict=True))
    return RecordReport(made.folder, max(seconds) or (now_ns() - begun_ns) * 1e-9, frames, missed, made.n_bytes())


def count_recorded_pictures(folder: Path, name: str) -> tuple[int, int, float]:
    """Return how many pictures of a camera are recorded, how many between them are not, and over how many seconds."""
    n_kept, n_missed, t_ns = 0, 0, np.zeros(0, np.int64)
    for video in list_recording_parts(folder, name, "mkv"):
        with contextlib.suppress(SourceError):  # whoever reads the session is told
            rows, _ = read_video_stamps(video.with_suffix(".csv"))
            n_kept += len(rows)
            n_missed += int(np.sum(np.maximum(np.diff(rows[:, 0]) - 1, 0)))
            t_ns = np.append(t_ns, rows[:, 1])
    return n_kept, n_missed, float(np.ptp(t_ns)) * 1e-9 if len(t_ns) else 0.0
