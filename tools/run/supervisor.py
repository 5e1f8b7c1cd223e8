"""Start, watch and end the processes of a run: its cameras and the reconstruction, and whoever learns styles for it.

A process that dies or hangs while the run goes on is started again, for as long as the run lasts, unless it dies at once every
time; before the start any fault ends the run with one line. After a sleep of the machine nothing is called hung. Whatever happens
here, the children end too: they are told to, then made to, and they watch for this process to vanish. A camera node on another
machine is waited for, whenever it is not there.

What the user and the stream are told of a run's processes: news in words, and how its cameras are.
"""

import logging
import secrets
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType

from capture.clock import Clocks, SuspendDetector, now_ns, read_both_clocks_ns
from capture.process.camera import run_camera
from capture.process.control import CameraStatusOrder, EventOrder, Report, ReportKind, StopOrder, decode_report
from capture.process.link import PROCESSOR_MS, SupervisorAddress, freeze_objects
from capture.process.plan import CameraPlan
from capture.sockets.wire import MalformedMessageError
from config.logs import find_current_logs
from config.settings import CAMERA_NAMES
from reconstruct.process.learner import LearnerPlan
from reconstruct.process.main import ReconstructionPlan, reconstruction_main
from stream.recording.collector import CollectionPlan, collector_main
from tools.interrupt import raise_if_interrupted
from tools.run.child import READY_S, ChildProcess, format_duration
from tools.run.child_start import PreparedProcesses, limit_threads
from tools.run.learner import STYLE, LearnerProcess
from tools.run.orders import RECONSTRUCTION, RunOrders
from tools.run.parts import AwaitedNode, NodeEntrance, ProcessFaultError, Receiver, RunError
from tools.run.router import Router

MAX_UNSAID = 16
REJOIN_NS = 1_000_000_000  # subscribers need a moment to find a reconstruction that was started again


class RunNotices:
    """News of one run. reconstruction: the process that puts them on the stream, None where there is none; tell: the user."""

    def __init__(self, router: Router, reconstruction: ChildProcess | None, tell: Callable[[str], None]) -> None:
        self._router, self._reconstruction, self._tell = router, reconstruction, tell
        self._unsaid: deque[str] = deque(maxlen=MAX_UNSAID)

    def announce(self, text: str) -> None:
        """Tell the user and the stream, where there is one."""
        self._tell(text)
        if self._reconstruction is not None:
            self._unsaid.append(text)
            self.say_unsaid()

    def say_unsaid(self) -> None:
        """Put news on the stream, once a reconstruction that was started again has its subscribers back."""
        child = self._reconstruction
        if child is None:
            return
        back = child.restarts.n == 0 or (child.ready and now_ns() - child.ready_ns > REJOIN_NS)
        while back and self._unsaid:
            self._router.send(child, EventOrder(self._unsaid.popleft()))

    def describe(self, cameras: Iterable[ChildProcess]) -> None:
        """Set the details of the cameras here in the stream's status: previews, and nodes with their clocks."""
        if self._reconstruction is None:
            return
        for camera in cameras:
            if details := camera.described:
                self._router.send(self._reconstruction, CameraStatusOrder(camera.name, details))


log = logging.getLogger(__name__)

STOP_S = 4.0
DESCRIBE_PERIOD_NS = 1_000_000_000


def choose_session_name() -> str:
    """Return a name for a run that no other run has."""
    return secrets.token_hex(4)


class Supervisor:
    """The processes of one run; use it as a context manager, so that they end with the block.

    Args:
        cameras: cameras of the rig, in its order.
        reconstruction: or what only collects detections, or where else they go.
        entrance: entrance for camera nodes, if any is awaited.
        clocks: see `capture.clock`.
        prepared: processes to be used before new ones are started.
    Raises: RunError for what the user can mend (the child's own line), ProcessFaultError for what not, EndpointError for an
        impossible entrance.
    """

    def __init__(
        self,
        cameras: Sequence[CameraPlan | AwaitedNode],
        reconstruction: ReconstructionPlan | CollectionPlan | Receiver,
        session: str,
        tell: Callable[[str], None] = log.info,
        entrance: NodeEntrance | None = None,
        clocks: Clocks = read_both_clocks_ns,
        prepared: PreparedProcesses | None = None,
    ) -> None:
        self._prepared = prepared
        self._session, self._naps = session, SuspendDetector(clocks)
        self.children: dict[str, ChildProcess] = {}
        if not isinstance(reconstruction, Receiver):
            main = collector_main if isinstance(reconstruction, CollectionPlan) else reconstruction_main
            self.children[RECONSTRUCTION] = ChildProcess(RECONSTRUCTION, main, reconstruction)
        for name, plan in zip(CAMERA_NAMES, cameras, strict=False):
            self.children[name] = ChildProcess(name, run_camera if isinstance(plan, CameraPlan) else None, plan)
        self._router = Router(session, self.nodes, entrance)
        receiver = reconstruction.address if isinstance(reconstruction, Receiver) else ""
        self._orders = RunOrders(self._router, self.children, receiver)
        self._news = RunNotices(self._router, self.children.get(RECONSTRUCTION), tell)
        learner_plan = reconstruction.learner if isinstance(reconstruction, ReconstructionPlan) else LearnerPlan()
        self._learner = LearnerProcess(learner_plan, self._router, self._link(STYLE), self._news.announce)
        self._describe_due_ns = 0
        self.n_malformed = 0

    def __enter__(self) -> "Supervisor":
        # Side by side: a large plan is taken only as fast as its process comes up.
        with limit_threads(), ThreadPoolExecutor(len(self.children)) as pool:
            list(pool.map(self._spawn, self.children.values()))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    @property
    def cameras(self) -> list[ChildProcess]:
        """The camera processes, in the order of the rig."""
        return [self.children[name] for name in CAMERA_NAMES if name in self.children]

    def processor_ms(self) -> dict[str, int]:
        """Return the processor time that each process last said it has taken, and this one's, by name [ms]."""
        told = {name: child.counts[PROCESSOR_MS] for name, child in self.children.items() if PROCESSOR_MS in child.counts}
        return {**told, "client": round(1e3 * time.process_time())}

    @property
    def nodes(self) -> list[ChildProcess]:
        """The cameras that are nodes."""
        return [child for child in self.children.values() if child.is_node]

    @property
    def style_saved(self) -> bool:
        """Whether a style has been written to the file that was wanted."""
        return self._learner.has_saved

    @property
    def entrance(self) -> str:
        """Where nodes come in, empty if none is awaited."""
        return self._router.entrance

    def wait_ready(
        self,
        timeout_s: float = READY_S,
        nodes_timeout_s: float = float("inf"),
        watch: Callable[["Supervisor"], None] = lambda run: None,
    ) -> None:
        """Return when every process is ready, calling `watch` again and again meanwhile.

        Args:
            timeout_s: longest wait for processes of this machine [s].
            nodes_timeout_s: longest wait for nodes [s].
            watch: called at every turn.
        Raises: RunError, also when that takes too long; nodes may take forever.
        """
        t_begin_ns = now_ns()
        while waiting := [child for child in self.children.values() if not child.ready or child.away]:
            self.turn(100)
            watch(self)
            late = [c.name for c in waiting if now_ns() - t_begin_ns > (nodes_timeout_s if c.is_node else timeout_s) * 1e9]
            if late:
                names, took_s = ", ".join(late), (now_ns() - t_begin_ns) * 1e-9
                raise RunError(f"not ready after {took_s:.0f} s: {names}; is the machine busy? see --verbose and try again")

    def start(self) -> int:
        """Tell the cameras to start a moment from now; return that time [ns], 0 of every paced source."""
        freeze_objects()
        self._orders.start()
        return self._orders.t_start_ns

    def record(self, folder: str) -> None:
        """Have the cameras here record their pictures to a folder, also after a restart; empty: no longer."""
        self._orders.record(folder)

    def thin(self, every: int) -> None:
        """Have simulated cameras give only every n-th frame from now on, as the machine holds no more."""
        self._orders.thin(every)

    @property
    def ended(self) -> bool:
        """Whether all sources have come to their end."""
        return all(child.ended for child in self.cameras)

    def turn(self, timeout_ms: int) -> None:
        """Hear reports, waiting at most timeout_ms for the first, then look after every process; call it often."""
        raise_if_interrupted()
        if self._router.waiting(timeout_ms):
            self._hear_all()
        if slept_ns := self._naps.turn():
            self._wake(slept_ns)
        for child in self.children.values():
            self._look_after_node(child) if child.is_node else self._look_after(child)
        self._learner.turn()
        if now_ns() >= self._describe_due_ns:
            self._describe_due_ns = now_ns() + DESCRIBE_PERIOD_NS
            self._news.say_unsaid()
            self._news.describe(self.cameras)

    def stop(self) -> None:
        """End all processes: ask, wait, then terminate and at last kill."""
        for child in self.children.values():
            self._router.send(child, StopOrder())
        self._learner.stop()
        self._router.close_node_server()  # now, or it would welcome the nodes again that it has just let go
        deadline_ns = now_ns() + int(STOP_S * 1e9)
        for child in self.children.values():
            child.join(deadline_ns)
        self._learner.child.join(deadline_ns)
        self._router.close()

    def _spawn(self, child: ChildProcess) -> None:
        """Start a process; a node is only waited for."""
        if child.is_node:
            child.forget()
            child.away = True
        else:
            child.spawn(self._link(child.name), self._prepared)

    def _link(self, name: str) -> SupervisorAddress:
        """Return a process's connection to this one."""
        return SupervisorAddress(name, self._router.address, self._session, find_current_logs())

    def _hear_all(self) -> None:
        """Take all reports that have come."""
        for parts, from_node in self._router.mail():
            self._hear(parts, from_node)

    def _hear(self, parts: list[bytes], from_node: bool) -> None:
        """Take one report."""
        try:
            name = parts[0].decode("ascii", "replace")
            child = self._learner.child if name == STYLE else self.children[name]
            report = decode_report(parts[-1], self._session)
            if child.is_node != from_node:
                raise MalformedMessageError(f"a report of {child.name} came from elsewhere; it was dropped")
        except (KeyError, MalformedMessageError) as error:
            self.n_malformed += 1
            log.debug("dropped a report: %s", error)
            return
        child.hear(report, now_ns())
        self._take(child, report)

    def _take(self, child: ChildProcess, report: Report) -> None:
        """Do what a report asks for."""
        if child is self._learner.child:
            self._learner.take(report)
        elif report.kind is ReportKind.HELLO:
            child.address, child.ready, child.ended = report.text, False, False
        elif report.kind is ReportKind.READY:
            self._welcome_back(child)
            child.ready, child.ready_ns = True, child.ready_ns or now_ns()
            if child.name in CAMERA_NAMES:
                self._orders.repeat(child)
            elif self._orders.t_start_ns and child.name == RECONSTRUCTION:  # started again, it takes up the run
                self._orders.start_all()
                self._news.describe(self.cameras)
        elif report.kind is ReportKind.BEAT:
            self._welcome_back(child)
        elif report.kind is ReportKind.ENDED:
            child.ended = True
        elif report.kind in (ReportKind.FAILED, ReportKind.FAULT):
            child.complaint = report
        elif report.kind is ReportKind.EVENT:
            self._news.announce(report.text)
        elif report.kind is ReportKind.ASK:
            self._orders.pass_on(report)
        elif report.kind is ReportKind.LEARN and child.name == RECONSTRUCTION:
            self._learner.ask(report.text)

    def _wake(self, slept_ns: int) -> None:
        """After a sleep of the machine nothing that was silent is to blame; the cameras' processes notice it themselves."""
        for child in (*self.children.values(), self._learner.child):
            child.last_heard_ns = now_ns()
        self._news.announce(f"the machine was asleep, or too busy to go on, for {format_duration(slept_ns)}; going on")

    def _look_after(self, child: ChildProcess) -> None:
        """Start a dead or hung process again when that is due; raise for whatever cannot be mended so."""
        if child.due_ns:
            if now_ns() >= child.due_ns:
                child.again()
                self._spawn(child)
            return
        if not child.has_ended():
            return
        while self._router.waiting(50):  # its last words may still be on the way
            self._hear_all()
        words = child.plan_restart() if self._orders.t_start_ns else None
        if words is not None:
            self._news.announce(words)
        elif child.complaint is None or child.complaint.kind is ReportKind.FAULT:
            raise ProcessFaultError(child.fate())
        else:
            raise RunError(child.fate())

    def _look_after_node(self, child: ChildProcess) -> None:
        """Say when a node fails or falls silent; it comes back by itself."""
        if child.complaint is not None:
            self._news.announce(f"{child.complaint.text}; waiting for it")
            child.forget()
            child.away = True
        elif not child.away and child.is_hung():
            child.away = True
            self._news.announce(f"the {child.name} camera's node is out of reach; waiting for it")

    def _welcome_back(self, child: ChildProcess) -> None:
        """Note that a node is there."""
        if child.is_node and child.away:
            child.away = False
            self._news.announce(f"the {child.name} camera's node is there")
