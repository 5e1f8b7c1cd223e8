"""What the processes of a run are told: when to start, where to send, where to record, and what they ask of each other."""

from collections.abc import Mapping

from capture.clock import now_ns
from capture.control import Order, Report
from config.cameras import CAMERAS
from tools.child import Child
from tools.switchboard import Switchboard

RECONSTRUCTION = "reconstruction"
PASSED_ON = ("tune", "record", "sync")  # orders that one process may ask to be given to another
START_DELAY_NS = 300_000_000
SKEW_SHARE = 0.6  # of the frame time: pairs may be half of it apart, and a tenth for jitter


class RunOrders:
    """The orders of one run, which a process that is started again is given once more.

    children: by name; receiver: where cameras send if there is no reconstruction here, else empty.
    """

    def __init__(self, board: Switchboard, children: Mapping[str, Child], receiver: str) -> None:
        self._board, self._children, self._receiver = board, children, receiver
        self._record_to = ""
        self.t_start_ns = 0  # until the run has started

    def start(self) -> None:
        """Tell the cameras to start a moment from now."""
        self.t_start_ns = now_ns() + START_DELAY_NS
        self.start_all()

    def start_all(self) -> None:
        """Tell the reconstruction how far apart frames of a pair may be, and the cameras to begin, or where to go on sending."""
        cameras = self._cameras()
        rates_mhz = [child.counts["fps_mhz"] for child in cameras if child.counts.get("fps_mhz")]
        budget_ns = round(SKEW_SHARE * 1e12 / min(rates_mhz)) if rates_mhz else 0
        if not self._receiver:
            self._board.send(self._children[RECONSTRUCTION], Order("start", self.t_start_ns, details={"budget_ns": budget_ns}))
        for child in cameras:
            self._start(child)

    def record(self, folder: str) -> None:
        """Have the cameras here record their pictures to a folder, also after a restart; empty: no longer."""
        self._record_to = folder
        for child in self._cameras():
            self._record(child)

    def repeat(self, camera: Child) -> None:
        """Tell a camera that is ready what has been ordered so far."""
        if self._record_to:
            self._record(camera)
        if self.t_start_ns:
            self._start(camera)
            if camera.tuned:  # a camera that is started again begins with the settings of the run's start
                self._board.send(camera, Order("tune", details=camera.tuned))

    def pass_on(self, report: Report) -> None:
        """Give an order that one process asks for to another, or to all cameras where it names none."""
        details = dict(report.details)
        order = Order(str(details.pop("order", "")), text=str(details.pop("text", "")), details=details)
        if order.kind in PASSED_ON:
            for name in [report.text] if report.text in self._children else CAMERAS:
                self._board.send(self._children[name], order)
                if order.kind == "tune":
                    self._children[name].tuned |= {key: value for key, value in details.items() if "." in key}

    def _cameras(self) -> list[Child]:
        """Give the camera processes, left first."""
        return [self._children[name] for name in CAMERAS if name in self._children]

    def _start(self, camera: Child) -> None:
        """Tell a camera when to start and where to send."""
        self._board.send(camera, Order("start", self.t_start_ns, self._receiver or self._address_for(camera)))

    def _address_for(self, camera: Child) -> str:
        """Give where the reconstruction takes what a camera sends."""
        reconstruction = self._children[RECONSTRUCTION]
        return str(reconstruction.details.get("nodes", "")) if camera.is_node else reconstruction.address

    def _record(self, camera: Child) -> None:
        """Tell a camera where to record; nodes keep their pictures to themselves."""
        if not camera.is_node:
            self._board.send(camera, Order("record", text=self._record_to))
