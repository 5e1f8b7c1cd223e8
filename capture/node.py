"""A camera node: a camera's process on another machine than the reconstruction, that nobody there started.

It says hello until a run wants it, opens its camera with the settings it is told, sends blobs stamped in the run's clock, and
waits for the next run when that one ends. It captures on through a network that fails for a while.
"""

import contextlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from capture.clock import now_ns
from capture.control import Details, Order
from capture.endpoints import KeySettings
from capture.node_line import NodeLine
from capture.opening import Opening, hung_s
from capture.plan import CameraPlan, Detects
from capture.sources import Source
from capture.worker import HANG_S, CameraWorker
from config.cameras import CAMERAS
from config.errors import DuocapError, SourceError
from config.settings import DetectorSettings

log = logging.getLogger(__name__)

TURN_MS = 50
HELLO_PERIOD_NS = 500_000_000
READY_PERIOD_NS = 1_000_000_000
PATIENCE_NS = 5_000_000_000  # without an answer, before the user is told
GIVE_UP_NS = 60_000_000_000  # out of reach for so long: the camera is let go
PAUSE_NS = 2_000_000_000  # after a failure or the end of a run
MAX_LEARN_S = 600.0


@dataclass(frozen=True, slots=True)
class NodePlan:
    """One node.

    camera: 0 left, 1 right; address: of the run's control socket; detector: gets settings, source, and what `told_room` gives by
    name; others as in CameraPlan.
    """

    camera: int
    address: str
    source: Callable[[], Source]
    detector: Callable[..., Detects]
    paced: bool
    keys: KeySettings | None = None

    @property
    def name(self) -> str:
        """Give the name of the camera."""
        return CAMERAS[self.camera]


class CameraNode:
    """One node; call turn() often, from one thread, and close() at the end. tell: receives news in words.

    Raises EndpointError, KeyFileError: the address is none, or its machine's key is not known.
    """

    def __init__(self, plan: NodePlan, tell: Callable[[str], None] = log.info) -> None:
        self._plan, self._tell = plan, tell
        self.line = NodeLine(plan.address, plan.keys)
        self._opening: Opening | None = None
        self.worker: CameraWorker | None = None
        self._hello_due_ns = self._ready_due_ns = 0
        self._started = self._end_told = False
        self._t_begin_ns = now_ns()
        self._unreached = False
        self._said = ""
        self._say(f"looking for the run at {plan.address}")

    def turn(self, timeout_ms: int = TURN_MS) -> None:
        """Do what is due, waiting at most timeout_ms for orders. Raises what is a bug of ours; a camera's failure is told."""
        for order in self.line.orders(timeout_ms):
            self._obey(order)
        self._look_after_line()
        if not self.line.session:
            self._greet()
            return
        try:
            self._work()
        except DuocapError as error:
            self._fail("failed", " ".join(str(error).split()))
        except Exception as error:
            self._fail("fault", f"{type(error).__name__}: {error}")
            raise

    def close(self) -> None:
        """Tell the run that this node ends, and end."""
        if self.line.session:
            self.line.report("failed", f"the {self._plan.name} camera's node was ended there")
        self._release()
        self.line.close()

    def _greet(self) -> None:
        """Say hello now and then."""
        now = now_ns()
        if now >= self._hello_due_ns:
            self._hello_due_ns = now + HELLO_PERIOD_NS
            self.line.report("hello", self._plan.name)

    def _obey(self, order: Order) -> None:
        """Follow one order."""
        if order.kind == "welcome" and not self.line.session:
            self._join(order)
        elif order.kind == "wait":
            self._say(order.text)
            self._leave()
        elif order.kind == "stop" and self.line.session:
            self._say("the run has ended; waiting for the next")
            self._leave()
            self._hello_due_ns = now_ns() + PAUSE_NS
        elif order.kind == "start" and self.worker is not None:
            self._started = True
            self.worker.start(blobs_address(order.address, self._plan.address), order.t_start_ns)
            self._say("capturing")
        elif order.kind == "tune" and self.worker is not None:
            self.worker.tune(order.details)

    def _join(self, order: Order) -> None:
        """Become part of a run: open the camera as it wants it, without keeping the line waiting."""
        self.line.session = order.text
        settings, room = detector_settings(order.details), told_room(order.details)
        plan = CameraPlan(
            self._plan.camera,
            self._plan.source,
            lambda source: self._plan.detector(settings, source, **room),
            self._plan.paced,
            clock=self.line.clock,
            keys=self._plan.keys,
        )
        self._opening = Opening(plan)
        self._say(f"found the run {order.text}; opening the camera")

    def _leave(self) -> None:
        """Be in no run."""
        self._release()
        self.line.session = ""

    def _work(self) -> None:
        """Get ready, then report on the capturing."""
        assert self._opening is not None
        for text in self._opening.tether.news.fetch():
            self._tell(text)
            self.line.report("event", text)
        self._watch_driver()
        if self.worker is None:
            self.worker = self._opening.result()
            if self.worker is None:
                self.line.beat(dict)
                return
        if self.worker.error is not None:
            raise self.worker.error
        self.line.beat(self.worker.counts, self.worker.details)
        now = now_ns()
        # Repeated until the start comes: either of the two may get lost with a connection.
        if not self._started and self.line.clock_known and now >= self._ready_due_ns:
            self._ready_due_ns = now + READY_PERIOD_NS
            self.line.report("ready", counts={**self.worker.announcement(), **self.line.clock_counts()})
        if self.worker.ended.is_set() and not self._end_told:
            self._end_told = True
            self.line.report("ended", counts=self.worker.counts())

    def _watch_driver(self) -> None:
        """Have a driver let go that has hung, and leave the run if it does not. Raises SourceError."""
        assert self._opening is not None
        late_s = hung_s(self._opening.tether, now_ns())
        if late_s and self.worker is not None:
            self.worker.free(now_ns())
        if late_s > HANG_S:
            raise SourceError("the camera's driver does not answer any more; end this node and start it again")

    def _look_after_line(self) -> None:
        """Tell when the run is out of reach and when it is back; let the camera go if it stays away."""
        if self.line.reached:
            if self._unreached:
                self._unreached = False
                self._say(f"{self._plan.address} answers again")
            return
        silence_ns = now_ns() - max(self.line.t_heard_ns, self._t_begin_ns)
        if silence_ns > PATIENCE_NS and not self._unreached:
            self._unreached = True
            self._say(
                f"{self._plan.address} does not answer: is `duocap run --{self._plan.name} node` running there, does a firewall "
                "close the port, are the keys known on both sides? waiting"
            )
        if silence_ns > GIVE_UP_NS and self.line.session:
            self._leave()

    def _fail(self, kind: str, words: str) -> None:
        """Tell here and there why there are no pictures, and try again in a while."""
        self._say(words)
        self.line.report(kind, f"{self._plan.name} camera's node: {words}")
        self._leave()
        self._hello_due_ns = now_ns() + PAUSE_NS

    def _release(self) -> None:
        """Let the camera go."""
        if self._opening is not None:
            self._opening.abandon()
        if self.worker is not None:
            self.worker.stop()
            self.worker.source.close()
        self.worker = self._opening = None
        self._started = self._end_told = False
        self._ready_due_ns = 0

    def _say(self, words: str) -> None:
        """Tell something once."""
        if words != self._said:
            self._said = words
            self._tell(words)


def blobs_address(told: str, control: str) -> str:
    """Give where to send blobs: the port the run told, at the host where it answers; its own name for itself may lead nowhere."""
    return f"{control.rpartition(':')[0]}:{told.rpartition(':')[2]}"


def settings_details(settings: DetectorSettings) -> Details:
    """Give the detector's settings as details of an order."""
    return {field.name: getattr(settings, field.name) for field in fields(settings)}


def detector_settings(details: Details) -> DetectorSettings:
    """Give the detector's settings that an order names; what it lacks or says in another kind keeps its default."""
    default = DetectorSettings()
    kinds = {field.name: type(getattr(default, field.name)) for field in fields(default)}
    told = {name: details[name] for name, kind in kinds.items() if isinstance(details.get(name), kind)}
    return DetectorSettings(**told)  # type: ignore[arg-type]


def room_details(colors_rgb: Sequence[Sequence[float]], learn_s: float) -> Details:
    """Give what detectors are to know of the room as details of an order: colours of markers, how long it is empty first."""
    details: Details = {}
    if colors_rgb:
        details["colors_rgb"] = ", ".join(" ".join(f"{value:g}" for value in color) for color in colors_rgb)
    if learn_s > 0.0:
        details["empty_s"] = learn_s
    return details


def told_room(details: Details) -> dict[str, Any]:
    """Give what an order tells of the room, by the names of a detector's arguments; what cannot be read is left out."""
    room: dict[str, Any] = {}
    with contextlib.suppress(ValueError):
        colors = [tuple(float(value) for value in color.split()) for color in str(details.get("colors_rgb", "")).split(",")]
        if all(len(color) == 3 and all(0.0 <= value <= 255.0 for value in color) for color in colors):
            room["colors_rgb"] = tuple(colors)
    learn_s = details.get("empty_s")
    if isinstance(learn_s, int | float) and 0.0 < learn_s <= MAX_LEARN_S:
        room["learn_s"] = float(learn_s)
    return room
