"""Cameras that run while somebody is guided: opened, watched, told of in words; what they send comes to this process itself."""

from collections.abc import Sequence
from types import TracebackType
from typing import Self

from capture.clock import now_ns
from capture.process.control import RoomSettings
from capture.process.plan import CameraPlan
from capture.sources.network.address import hide_secrets
from config.errors import SourceError
from config.settings import CAMERA_NAMES, Settings
from stream.guidance.html import CameraCondition
from tools.progress import Tell
from tools.run.cameras import CameraKind, check_camera_source, check_camera_sources, find_camera_kind, plan_camera
from tools.run.child import ChildProcess
from tools.run.parts import AwaitedNode, Receiver
from tools.run.start import format_opened_camera
from tools.run.supervisor import Supervisor, choose_session_name

STEP_OUT_NS = 5_000_000_000
PATIENCE_NS = 5_000_000_000
SILENT_NS = 2_000_000_000


def plan_guided_cameras(
    sources: Sequence[str], settings: Settings, fps: float | None, tell: Tell, room: RoomSettings | None = None
) -> tuple[CameraPlan, ...]:
    """Plan the cameras, after a look at their properties beforehand.

    Args:
        sources: sources of the cameras as the user named them.
        settings: settings of the run.
        fps: frame rate asked of the cameras [Hz]; None for their own.
        tell: receives progress messages as text.
        room: settings for learning the background; None if it is not learned.
    Raises: SourceError, SettingsError.
    """
    for source in sources:
        if find_camera_kind(source) is CameraKind.NODE:
            raise SourceError(
                "a camera at another machine (node) keeps its pictures there, where nobody looks for boards; for calibration "
                "connect it to this machine, or record there and give the videos"
            )
    if len(sources) == 1:
        check_camera_source(sources[0], 0, fps, settings)
    else:
        settings = check_camera_sources(sources, settings, fps, tell)
    plans = (plan_camera(source, camera, settings, fps, room) for camera, source in enumerate(sources))
    return tuple(plan for plan in plans if not isinstance(plan, AwaitedNode))


class GuidedCameras:
    """Cameras that run; use it as a context manager and call `turn` often.

    Args:
        address: address to which they send blobs.
        learn_s: time at the start during which everybody is out of view and the background is learned [s].
    Raises: RunError, ProcessFaultError as the supervisor does.
    """

    def __init__(
        self, plans: Sequence[CameraPlan], sources: Sequence[str], address: str, tell: Tell, learn_s: float = 0.0
    ) -> None:
        self._sources, self._tell = tuple(sources), tell
        self._run = Supervisor(plans, Receiver(address), choose_session_name(), tell)
        self._told: set[str] = set()
        self._heard_ns = [0] * len(plans)
        self._wait_due_ns = now_ns() + PATIENCE_NS
        self._learn_ns = round(1e9 * learn_s)
        self._start_ns = 0  # when they begin, 0 while not all are there
        self.started = False

    def __enter__(self) -> Self:
        self._run.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._run.__exit__(kind, error, trace)

    @property
    def ended(self) -> bool:
        """Whether all sources have come to their end; cameras never do."""
        return self.started and self._run.ended

    @property
    def sizes(self) -> tuple[tuple[int, int], ...]:
        """Width and height of each camera's pictures [px]; (0, 0) where that is not known."""
        return tuple((child.counts.get("width", 0), child.counts.get("height", 0)) for child in self._run.cameras)

    @property
    def period_ns(self) -> int:
        """Time between two frames of the slowest camera."""
        rates_mhz = [child.counts["fps_mhz"] for child in self._run.cameras if child.counts.get("fps_mhz")]
        return round(1e12 / min(rates_mhz)) if rates_mhz else 33_000_000

    def turn(self, timeout_ms: int) -> None:
        """Look after the cameras; they begin when all are there."""
        self._run.turn(timeout_ms)
        cameras = self._run.cameras
        for child in cameras:
            if child.ready and child.name not in self._told:
                self._told.add(child.name)
                self._tell(format_opened_camera(child.name, child.counts, child.details))
        t_ns = now_ns()
        if not self._start_ns and all(child.ready for child in cameras):
            self._start_ns = t_ns + (STEP_OUT_NS if self._learn_ns else 0)
        if self._start_ns and not self.started:
            if t_ns >= self._start_ns:
                self.started = True
                self._run.start()
        elif not self.started and now_ns() >= self._wait_due_ns:
            self._wait_due_ns = now_ns() + 3 * PATIENCE_NS
            self._tell("still waiting for the " + " and the ".join(f"{c.name} camera" for c in cameras if not c.ready))

    def heard(self, camera: int, t_ns: int) -> None:
        """Note that a camera sent something."""
        self._heard_ns[camera] = t_ns

    def previews(self) -> list[object]:
        """Return where each camera's small pictures are."""
        return [child.details.get("preview") for child in self._run.cameras]

    def words(self) -> list[CameraCondition]:
        """Return the condition of each camera, in words."""
        return [self._camera_words(n, child) for n, child in enumerate(self._run.cameras)]

    def trouble(self) -> str:
        """Return the reason why everything waits, empty for none: a camera that is lost, an empty room to learn."""
        left_s = (self._start_ns - now_ns()) * 1e-9
        if self._start_ns and self._learn_ns and left_s + 1e-9 * self._learn_ns > 0.0:
            if left_s > 0.0:
                return f"step out of the cameras' view: {left_s + 1.0:.0f}"
            return f"stay out of view: {left_s + 1e-9 * self._learn_ns + 1.0:.0f} s more, the background is learned"
        if not self.started:
            return ""
        for n, child in enumerate(self._run.cameras):
            words = self._wrong(n, child)
            if words and not child.ended:
                return f"the {child.name} camera: {words}"
        return ""

    def _wrong(self, n: int, child: ChildProcess) -> str:
        """Return in words what is wrong with a camera, empty if nothing is."""
        if child.details.get("reopening"):
            return "it is gone; looking for it"
        if not child.ready:
            return "it is being opened" + ("" if not self.started else " again")
        silent_ns = now_ns() - max(self._heard_ns[n], child.ready_ns)
        if self.started and silent_ns > SILENT_NS and not child.ended:
            return str(child.details.get("health") or "") or f"no pictures for {silent_ns * 1e-9:.0f} s"
        return ""

    def _camera_words(self, n: int, child: ChildProcess) -> CameraCondition:
        """Return how a camera is."""
        wrong = self._wrong(n, child)
        name = f"{CAMERA_NAMES[n]} camera" if len(self._sources) > 1 else "camera"
        called = hide_secrets(self._sources[n])
        if wrong:
            return CameraCondition(name, False, f"{called}: {wrong}")
        health = str(child.details.get("health") or "")
        size, fps = self.sizes[n], child.counts.get("fps_mhz", 0) / 1000.0
        parts = [str(child.details.get("name") or called), f"{size[0]}x{size[1]}", f"{fps:.4g} frames/s"]
        return CameraCondition(name, True, ", ".join(parts + ([health] if health else [])))
