"""The demo: a simulated performer before simulated cameras, through the same processes as a live run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from calibration.subject.subject import Subject
from capture.clock import now_ns
from capture.detection.detector import Detector, SoughtOnBody
from capture.landmarks.pacing import open_landmarks
from capture.packets import Blobs, Views
from capture.process.control import RoomSettings
from capture.process.detector import open_detector
from capture.process.plan import CameraPlan
from capture.sockets.endpoints import find_key_settings
from capture.sources.simulated.camera import SimulatedCamera, draw_shutter_times
from capture.sources.simulated.performer import Performer, make_scene_performer
from capture.sources.simulated.scene import SimulatedScene
from config.arrays import Floats
from config.markers import NO_MARKERS
from config.settings import Settings
from database.builtin import make_demo_performance
from database.geometry.rigid import RigidMotion
from database.store import open_database
from stream.protocol.compose import compose_rig_message
from stream.protocol.latency import Receipt
from stream.protocol.messages import Message, PoseMessage, RigMessage, SkeletonMessage
from stream.publish.fanout import OutputFactory
from stream.publish.subscriber import Subscriber
from stream.recording.worlds import find_world_motion, move_pose
from tools.calibrate.session import fit_subject_to_pairs
from tools.demo.rate import EVERY, RateWatch
from tools.demo.report import DemoReport, build_demo_report
from tools.interrupt import raise_on_interrupt
from tools.progress import Tell
from tools.run.child_start import PreparedProcesses
from tools.run.factories import RunFiles, plan_reconstruction
from tools.run.parts import RunError
from tools.run.supervisor import Supervisor, choose_session_name

# The performer walks in circles: markers that show from behind, too, and the first two cameras two metres apart.
SCENE = SimulatedScene(motion="demo", markers="all_around", baseline_m=2.0, look="dark", tpose_s=0.0, pixel_noise_px=0.3)
UNMARKED_SCENE = replace(SCENE, markers=NO_MARKERS, look="person", fps=30.0, exposure_ms=8.0)
TPOSE_S = (0.5, 2.5)
TPOSE_STEP = 3
TURN_MS = 30
SETTLE_S = 0.08  # the last pose is published well within this; afterwards poses would only be held
SKELETON_S = 5.0

Progress = Callable[[float, str], None]


def stage_demo(seconds: float | None, n_views: int = 2, has_markers: bool = True) -> Performer:
    """Return the performer of the demo, with the scene around it.

    Args:
        seconds: None for the whole programme.
        n_views: simulated cameras.
        has_markers: False: a person without any, in a lit room.
    Raises: DuocapError: an impossible length.
    """
    scene = replace(SCENE if has_markers else UNMARKED_SCENE, views=n_views)
    return make_scene_performer(scene, make_demo_performance(scene.fps, seconds))


def calibrate_demo_subject(performer: Performer, database: Path, settings: Settings) -> Subject:
    """Calibrate the performer as a user would: from the markers that two cameras see at least in the T-pose.

    With one camera the second is there for this.

    Args:
        performer: before cameras.
    Raises: CalibrationError: no T-pose seen.
    """
    if len(performer.rig) == 1:
        performer = stage_demo(performer.duration_s, has_markers=bool(performer.markers.worn.any()))
    cameras = [SimulatedCamera(performer.scene, camera, performer) for camera in range(len(performer.rig))]
    views = [Views(blobs) for blobs in zip(*(_detect_tpose(camera, settings) for camera in cameras), strict=True)]
    opened = open_database(database)
    return fit_subject_to_pairs("performer", views, performer.rig, performer.markers, opened, settings).subject


def _detect_tpose(camera: SimulatedCamera, settings: Settings) -> list[Blobs]:
    """Return what one camera sees of the T-pose."""
    sought = SoughtOnBody(bool(camera.performer.markers.worn.any()), open_landmarks(settings.landmarks.model, max_every=1))
    detector = Detector(settings.detector, sought=sought)
    first, last = (round(t * camera.fps) for t in TPOSE_S)
    return [detector.step(camera.frame_at(index)) for index in range(first, last, TPOSE_STEP)]


def _plan_camera(settings: Settings, performer: Performer, camera: int) -> CameraPlan:
    """Return the plan of a camera; its process gets the performer, and need not make the motion again."""
    source = partial(SimulatedCamera, performer.scene, camera, performer)
    room = RoomSettings(landmarks=settings.landmarks.model, has_markers=bool(performer.markers.worn.any()))
    detector = partial(open_detector, settings.detector, room=room)
    return CameraPlan(camera, source, detector, paced=True, preview=settings.stream.preview)


@dataclass(frozen=True, slots=True)
class DemoPlan:
    """Scene and outputs of a demo.

    Attributes:
        database: the motions to reconstruct with.
        seconds: length of the demo [s]; None for the whole programme.
        n_views: simulated cameras.
        has_markers: whether the performer wears any.
        outputs: factories of outputs that get every message besides the subscribers.
        record: a file to record to.
    """

    database: Path
    seconds: float | None = None
    n_views: int = 2
    has_markers: bool = True
    outputs: Sequence[OutputFactory] = ()
    record: Path | None = None


def run_demo(
    settings: Settings, demo: DemoPlan, tell: Tell, progress: Progress, prepared: PreparedProcesses | None = None
) -> DemoReport:
    """Calibrate, start the processes, listen like a client until the performance ends, and report.

    Args:
        demo: scene and outputs of the demo.
        tell: receives progress messages as text.
        progress: called with the share done and the last state.
        prepared: processes for it.

    Raises:
        DuocapError: for what the user can mend.
    """
    n_views = demo.n_views
    performer = stage_demo(demo.seconds, n_views, demo.has_markers)
    fps = performer.scene.fps
    tell("calibrating the performer from the T-pose")
    subject = calibrate_demo_subject(performer, demo.database, settings)
    tell(f"starting {n_views} camera{'s' * (n_views > 1)} and the reconstruction")
    session = choose_session_name()
    rig = performer.rig
    cameras = [_plan_camera(settings, performer, camera) for camera in range(n_views)]
    plan = plan_reconstruction(rig, subject, demo.database, settings, session, fps, RunFiles(demo.outputs, demo.record))
    subscriber = Subscriber(settings.stream.address, ("skeleton", "rig", "pose"), find_key_settings(settings.stream))
    with raise_on_interrupt(), Supervisor(cameras, plan, session, tell, prepared=prepared) as run:
        run.wait_ready()
        skeleton = _wait_for_skeleton(run, subscriber)
        t_start_ns, spent_ms = run.start(), run.processor_ms()
        tell(f"streaming at {settings.stream.address}")
        watch = RateWatch(t_start_ns, fps)
        world = SimulatedWorld(compose_rig_message(rig, session))
        advance = partial(_show_progress, progress, t_start_ns, performer.duration_s)
        receipts = _collect_stream(run, subscriber, world, advance, partial(_adapt_frame_rate, run, watch, tell))
        counts = [child.counts for child in run.cameras]
        passed_ms = max(1e-6 * (now_ns() - t_start_ns), 1.0)
        cores = {name: (ms - spent_ms[name]) / passed_ms for name, ms in run.processor_ms().items() if name in spent_ms}
    subscriber.close()

    def truth(times_s: Floats) -> Floats:
        return performer.joints_at(times_s)[1]

    captured = tuple(count["frames"] for count in counts)
    frames = tuple(count["frames"] + count["skipped"] for count in counts)
    due = watch.n_due(draw_shutter_times(performer.scene, 0, performer.duration_s))
    budget_ms = settings.stream.budget_ms
    report = build_demo_report(skeleton, watch.judged(receipts), truth, t_start_ns, frames, captured, budget_ms, due)
    return replace(report, rate=watch.words(), cores=cores)


class SimulatedWorld:
    """The poses of a stream in the world of the simulation, also once the performer was made the origin."""

    def __init__(self, rig: RigMessage) -> None:
        self._first = rig
        self._back: RigidMotion | None = None

    def poses(self, messages: Sequence[Message]) -> list[PoseMessage]:
        """Return the poses among messages in their order."""
        found = []
        for message in messages:
            if isinstance(message, RigMessage):
                self._back = find_world_motion(message, self._first)
            elif isinstance(message, PoseMessage):
                found.append(message if self._back is None else move_pose(message, self._back))
        return found


def _adapt_frame_rate(run: Supervisor, watch: RateWatch, tell: Tell, new: Sequence[Receipt]) -> None:
    """Take the poses that came; have the cameras give fewer frames where the machine does not hold all."""
    for receipt in new:
        watch.add(receipt.pose.t_capture_ns)
    if watch.turn(now_ns()):
        run.thin(EVERY)
        tell(watch.message())


def _show_progress(progress: Progress, t_start_ns: int, seconds: float, pose: PoseMessage) -> None:
    """Show how far the performance is."""
    progress(min(1.0, (pose.t_capture_ns - t_start_ns) * 1e-9 / seconds), pose.state)


def _wait_for_skeleton(run: Supervisor, subscriber: Subscriber) -> SkeletonMessage:
    """Wait for the skeleton that the stream sends to whoever joins."""
    for _ in range(round(SKELETON_S * 1e3 / TURN_MS)):
        run.turn(TURN_MS)
        for message in subscriber.receive():
            if isinstance(message, SkeletonMessage):
                return message
    raise RunError(f"no skeleton came from the stream within {SKELETON_S:g} s; is the machine busy? see --verbose and try again")


def _collect_stream(
    run: Supervisor,
    subscriber: Subscriber,
    world: SimulatedWorld,
    advance: Callable[[PoseMessage], None],
    take: Callable[[Sequence[Receipt]], None],
) -> list[Receipt]:
    """Collect poses until all sources have ended and a moment has passed; waits for the stream, so that receipts are prompt.

    The processes are looked after every TURN_MS, not after every pose.
    """
    receipts: list[Receipt] = []
    t_ended_ns = t_turn_ns = 0
    while not t_ended_ns or now_ns() - t_ended_ns < SETTLE_S * 1e9:
        new = [Receipt(pose, now_ns()) for pose in world.poses(subscriber.receive(TURN_MS))]
        take(new)
        if now_ns() - t_turn_ns >= TURN_MS * 1e6:
            t_turn_ns = now_ns()
            run.turn(0)
            t_ended_ns = t_ended_ns or (t_turn_ns if run.ended else 0)
        receipts += new
        if new:
            advance(new[-1].pose)
    return receipts
