"""Record two cameras without a rig: pictures, stamps and detections, for calibration or for later."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from capture.clock import now_ns
from capture.endpoints import key_settings
from capture.network_address import without_secrets
from config.cameras import CAMERAS
from config.settings import Settings
from stream.collector import CollectionPlan
from stream.session import DETECTIONS
from tools.cameras import NODE, camera_plan, check_cameras
from tools.interrupt import interrupt_on_sigterm
from tools.record import SessionFolder, with_video
from tools.run_start import await_cameras
from tools.supervisor import NodeEntrance, Supervisor, new_session

TURN_MS = 20
LINE_NS = 1_000_000_000
SETTLE_NS = 300_000_000

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class RecordReport:
    """What was recorded. frames: by camera; unrecorded: pictures that are not in the videos."""

    folder: Path
    seconds: float
    frames: tuple[int, int]
    unrecorded: int
    n_bytes: int

    def lines(self) -> list[str]:
        """Say so."""
        left, right = self.frames
        lost = f", {self.unrecorded} pictures not recorded" if self.unrecorded else ""
        return [
            f"{self.folder}: {self.seconds:.0f} s, {left} and {right} pictures{lost}, {self.n_bytes * 1e-6:.0f} MB",
            f"with a rig and a subject: duocap replay {self.folder} --rig rig.toml --subject subject.toml",
        ]


def record_cameras(
    settings: Settings, cameras: tuple[str, str], folder: Path, fps: float | None, seconds: float | None, tell: Tell
) -> RecordReport:
    """Record until the sources end, so many seconds have passed, or Ctrl-C. tell: news, and a line a second.

    Raises DuocapError for what the user can mend.
    """
    settings = check_cameras(cameras, settings, fps, tell)
    session = new_session()
    left, right = (with_video(camera_plan(source, camera, settings, fps)) for camera, source in enumerate(cameras))
    made = SessionFolder(folder, session, settings, [without_secrets(source) for source in cameras])
    plan, entrance = CollectionPlan(folder / DETECTIONS, session), None
    if NODE in cameras:
        keys = key_settings(settings.stream)
        plan = CollectionPlan(folder / DETECTIONS, session, settings.capture.inbox, keys)
        entrance = NodeEntrance(settings.capture.control, keys)
    run: Supervisor | None = None
    begun_ns = now_ns()
    try:
        with interrupt_on_sigterm(), Supervisor((left, right), plan, session, tell, entrance) as run:
            await_cameras(run, cameras, tell)
            made.describe(run.cameras, 0)
            run.record(str(folder))
            begun_ns = run.start()
            tell(f"recording to {folder}; Ctrl-C ends")
            _watch(run, seconds, partial(made.line, run.cameras), tell)
    except KeyboardInterrupt:
        if run is None or now_ns() < begun_ns:
            raise
    finally:
        made.finish({})
    return _report(run, made, begun_ns)


def _watch(run: Supervisor, seconds: float | None, line: Callable[[], str], tell: Tell) -> None:
    """Look after the processes until it is over, with a line a second."""
    begun_ns = now_ns()
    due_ns, t_ended_ns = begun_ns + LINE_NS, 0
    while not t_ended_ns or now_ns() - t_ended_ns < SETTLE_NS:
        run.turn(TURN_MS)
        t_ns = now_ns()
        if t_ns >= due_ns:
            due_ns += LINE_NS
            tell(line())
        if not t_ended_ns and (run.ended or (seconds is not None and t_ns - begun_ns >= seconds * 1e9)):
            t_ended_ns = t_ns


def _report(run: Supervisor, made: SessionFolder, begun_ns: int) -> RecordReport:
    """Sum up, by what the processes told last."""
    counts = [run.children[name].counts for name in CAMERAS]
    frames = (counts[0].get("frames", 0), counts[1].get("frames", 0))
    unrecorded = sum(count.get("unrecorded", 0) for count in counts)
    return RecordReport(made.folder, (now_ns() - begun_ns) * 1e-9, frames, unrecorded, made.n_bytes())
