"""A live run: cameras here or on other machines, the reconstruction, and what a person wants to know meanwhile."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from calibration.camera import Rig
from calibration.subject.subject import Subject
from capture.clock import now_ns
from capture.process.plan import CameraPlan
from capture.sockets.endpoints import find_key_settings
from capture.sources.network.address import hide_secrets
from capture.sources.webcam.webcam import DeviceProvider
from config.settings import Settings
from config.units import NS_PER_S
from reconstruct.process.main import ReconstructionPlan
from stream.protocol.messages import EventMessage, PoseMessage, StatusMessage
from stream.publish.fanout import OutputFactory
from stream.publish.subscriber import Subscriber
from stream.recording.folders import SUFFIX
from tools.interrupt import raise_on_interrupt
from tools.progress import Tell
from tools.run.cameras import NODE, check_camera_sources, describe_room, is_recorded, plan_camera
from tools.run.factories import RunFiles, plan_reconstruction
from tools.run.parts import AwaitedNode, NodeEntrance
from tools.run.record import SessionFolder, add_video_recorder
from tools.run.report import RunReport, RunStatistics
from tools.run.start import (
    await_cameras,
    check_sizes,
    format_missing_world,
    format_rig_quality,
    wait_for_empty_room,
)
from tools.run.supervisor import Supervisor, choose_session_name

TURN_MS = 10
SETTLE_S = 0.3  # the last pose is out by then, also that of a camera on another machine
DEFAULT_FPS = 60.0  # until the cameras have said theirs

Show = Callable[[RunStatistics, StatusMessage, str], None]  # the last: how the recording is, empty where there is none


@dataclass(frozen=True, slots=True)
class LiveRun:
    """Options of a live run.

    Attributes:
        cameras: sources of the cameras as the user named them, in the order of the rig.
        fps: frame rate of recordings, and the one asked of webcams [Hz]; None for their own.
        record: a file for the stream (.mcap), or the folder of a session that is to be made.
        seconds: None until the sources end.
        style: a file of the style to begin with.
        save_style: one for the last style learned.
        learn_s: time at the start during which the performer is out of view and the background is learned [s].
        devices: provider of webcams; None for this machine's own.
    """

    cameras: tuple[str, ...]
    rig: Rig
    subject: Subject
    database: Path
    fps: float | None = None
    outputs: Sequence[OutputFactory] = ()
    record: Path | None = None
    seconds: float | None = None
    learn_s: float = 0.0
    devices: DeviceProvider | None = None
    style: Path | None = None
    save_style: Path | None = None


def run_live(settings: Settings, what: LiveRun, tell: Tell, show: Show) -> RunReport:
    """Run until all sources end or Ctrl-C, and report.

    Args:
        what: the cameras, the performer and the outputs.
        tell: news in words.
        show: once a second.
    Raises: DuocapError for what the user can mend.
    """
    settings = check_camera_sources(what.cameras, settings, what.fps, tell, what.devices)
    for words in (format_rig_quality(what.rig), format_missing_world(what.rig, what.subject.world)):
        if words:
            tell(words)
    session, tally = choose_session_name(), RunStatistics()
    shown = [hide_secrets(source) for source in what.cameras]
    plans = plan_cameras(settings, what)
    folder = None
    if what.record is not None and what.record.suffix != SUFFIX:
        folder = SessionFolder(what.record, session, settings, shown, what.rig, what.subject, what.database, what.style)
        what = replace(what, rig=folder.rig or what.rig, subject=folder.subject or what.subject, style=folder.style)
    plan, entrance = plan_live_run(settings, what, session)
    recording: Callable[[], str] = str
    subscriber = Subscriber(settings.stream.address, ("pose", "status", "event"), find_key_settings(settings.stream))
    try:
        with raise_on_interrupt(), Supervisor(plans, plan, session, tell, entrance) as run:
            await_cameras(run, what.cameras, tell)
            check_sizes(what.rig, run.cameras)
            if folder is not None:
                folder.describe(run.cameras, plan.budget_ns)
                run.record(str(folder.folder))
                recording = partial(folder.line, run.cameras)
            if what.learn_s and not all(is_recorded(source) for source in what.cameras):
                wait_for_empty_room(run, what.learn_s, tell)
            t_start_ns = run.start()
            t_learned_ns = t_start_ns + round(what.learn_s * NS_PER_S) if what.learn_s else 0
            tell(f"streaming at {settings.stream.address}; Ctrl-C ends")
            try:
                _receive_until_end(
                    run,
                    subscriber,
                    tally,
                    tell,
                    lambda status: show(tally, status, recording()),
                    what.seconds,
                    t_learned_ns if what.learn_s else 0,
                )
            finally:
                if what.save_style is not None:
                    unsaved = f"no style was learned, so {what.save_style} is not written; move more, for longer"
                    tell(f"the style is in {what.save_style}" if run.style_saved else unsaved)
    except KeyboardInterrupt:
        if not tally.n_poses:
            raise
    finally:
        subscriber.close()
        if folder is not None:
            folder.finish({"poses": tally.n_poses})
    return tally.report()


def plan_live_run(settings: Settings, what: LiveRun, session: str) -> tuple[ReconstructionPlan, NodeEntrance | None]:
    """Plan the reconstruction, and where nodes come in if the run has any.

    Args:
        what: the cameras, the performer and the outputs.
    """
    fps = what.fps or DEFAULT_FPS
    files = RunFiles(what.outputs, what.record, what.style, what.save_style)
    plan = plan_reconstruction(what.rig, what.subject, what.database, settings, session, fps, files)
    if NODE not in what.cameras:
        return plan, None
    keys = find_key_settings(settings.stream)
    return replace(plan, nodes=settings.capture.inbox, keys=keys), NodeEntrance(settings.capture.control, keys)


def plan_cameras(settings: Settings, what: LiveRun) -> list[CameraPlan | AwaitedNode]:
    """Plan the cameras: the markers' colours known, the room to be learned, and a recorder that idles until told."""
    room = describe_room(what.subject.markers, what.learn_s, settings.landmarks.model)
    return [
        add_video_recorder(plan_camera(source, camera, settings, what.fps, room, what.devices))
        for camera, source in enumerate(what.cameras)
    ]


def _tell_ended(run: Supervisor, n_told: int, tell: Tell) -> int:
    """Tell which videos in place of cameras have ended; return how many. n_told: how many had when it was last told."""
    over = [camera.name for camera in run.cameras if camera.ended]
    if len(over) != n_told:
        tell("the videos have ended" if run.ended else f"the video of the {' and the '.join(over)} camera has ended")
    return len(over)


def _is_known(run: Supervisor, message: EventMessage) -> bool:
    """Return whether the supervisor tells news himself, or it is only that cameras whose videos have ended are silent."""
    return message.kind == "process" or (message.kind == "camera" and run.ended)


def _receive_until_end(
    run: Supervisor,
    subscriber: Subscriber,
    tally: RunStatistics,
    tell: Tell,
    show: Callable[[StatusMessage], None],
    seconds: float | None,
    t_learned_ns: int,
) -> None:
    """Listen like a client until all sources have ended and a moment has passed, for so many seconds at most."""
    t_ended_ns, t_last_ns, ended = 0, now_ns() + int((seconds or 1e9) * NS_PER_S), 0
    while now_ns() < t_last_ns and (not t_ended_ns or now_ns() - t_ended_ns < SETTLE_S * NS_PER_S):
        for message in subscriber.receive(TURN_MS):
            if isinstance(message, PoseMessage):
                tally.add(message, now_ns())
            elif isinstance(message, StatusMessage):
                tally.status = message
                show(message)
                tally.next_second()
            elif isinstance(message, EventMessage) and message.kind == "doubt":
                tally.doubt(message)
            elif isinstance(message, EventMessage) and not _is_known(run, message):
                tell(message.text)
        run.turn(0)
        ended = _tell_ended(run, ended, tell)
        if 0 < t_learned_ns <= now_ns():
            tell("thank you; the background is learned, step in")
            t_learned_ns = 0
        t_ended_ns = t_ended_ns or (now_ns() if run.ended else 0)
