"""What the processes of a run are told: when to start, where to send, where to record, and what they ask of each other."""

import logging
from collections.abc import Mapping

from capture.clock import now_ns
from capture.process.control import (
    RateOrder,
    RecentreOrder,
    RecordOrder,
    Report,
    StartOrder,
    SyncOrder,
    TuneOrder,
    decode_requested_order,
)
from capture.sockets.wire import MalformedMessageError
from config.settings import CAMERA_NAMES
from tools.run.child import ChildProcess
from tools.run.router import Router

log = logging.getLogger(__name__)

RECONSTRUCTION = "reconstruction"
PASSED_ON = (TuneOrder, RecordOrder, SyncOrder, RecentreOrder)  # orders that one process may ask to be given to another
START_DELAY_NS = 300_000_000
SKEW_SHARE = 0.6  # of the frame time: pairs may be half of it apart, and a tenth for jitter


class RunOrders:
    """The orders of one run, which a process that is started again is given once more.

    children: processes by name; receiver: address to which cameras send if there is no reconstruction here, else empty.
    """

    def __init__(self, board: Router, children: Mapping[str, ChildProcess], receiver: str) -> None:
        self._board, self._children, self._receiver = board, children, receiver
        self._record_to, self._every = "", 1
        self.t_start_ns = 0  # until the run has started

    def start(self) -> None:
        """Tell the cameras to start a moment from now."""
        self.t_start_ns = now_ns() + START_DELAY_NS
        self.start_all()

    def start_all(self) -> None:
        """Tell the reconstruction how far apart views of a moment may be, and the cameras to begin, or where to go on sending."""
        cameras = self._cameras()
        rates_mhz = [child.counts["fps_mhz"] for child in cameras if child.counts.get("fps_mhz")]
        budget_ns = round(SKEW_SHARE * 1e12 / min(rates_mhz)) if rates_mhz else 0
        if not self._receiver:
            self._board.send(self._children[RECONSTRUCTION], StartOrder(self.t_start_ns, budget_ns=budget_ns))
        for child in cameras:
            self._start(child)

    def record(self, folder: str) -> None:
        """Have the cameras here record their pictures to a folder, also after a restart; empty: no longer."""
        self._record_to = folder
        for child in self._cameras():
            self._record(child)

    def thin(self, every: int) -> None:
        """Have the cameras give only every n-th frame from now on, also after a restart."""
        self._every = every
        for child in self._cameras():
            self._board.send(child, RateOrder(every))

    def repeat(self, camera: ChildProcess) -> None:
        """Send a camera that is ready the orders given so far."""
        if self._record_to:
            self._record(camera)
        if self._every > 1:
            self._board.send(camera, RateOrder(self._every))
        if self.t_start_ns:
            self._start(camera)
            if camera.tuned:  # a camera that is started again begins with the settings of the run's start
                self._board.send(camera, TuneOrder(camera.tuned))

    def pass_on(self, report: Report) -> None:
        """Pass on an order that one process asks for to another, or to all cameras where it names none; drop a malformed one."""
        try:
            request = decode_requested_order(report)
        except MalformedMessageError as error:
            log.debug("dropped a request: %s", error)
            return
        if isinstance(request.order, PASSED_ON):
            for name in [request.process] if request.process in self._children else [camera.name for camera in self._cameras()]:
                self._board.send(self._children[name], request.order)
                if isinstance(request.order, TuneOrder):
                    self._children[name].tuned |= {key: value for key, value in request.order.settings.items() if "." in key}

    def _cameras(self) -> list[ChildProcess]:
        """Return the camera processes, in the order of the rig."""
        return [self._children[name] for name in CAMERA_NAMES if name in self._children]

    def _start(self, camera: ChildProcess) -> None:
        """Tell a camera when to start and where to send."""
        address = self._receiver
        if not address:
            reconstruction = self._children[RECONSTRUCTION]
            address = str(reconstruction.details.get("nodes", "")) if camera.is_node else reconstruction.address
        self._board.send(camera, StartOrder(self.t_start_ns, address))

    def _record(self, camera: ChildProcess) -> None:
        """Tell a camera where to record; nodes keep their pictures to themselves."""
        if not camera.is_node:
            self._board.send(camera, RecordOrder(self._record_to))
