"""The camera process: read, detect, send blobs; pixels never leave it.

One thread reads and detects; the main thread answers the supervisor, so that a driver that hangs blocks nothing but itself.
"""

from capture.clock import SuspendDetector, now_ns
from capture.process.control import Order, RateOrder, RecordOrder, ReportKind, StartOrder, StopOrder, TuneOrder
from capture.process.link import SupervisorAddress, SupervisorLink, freeze_objects, run_child
from capture.process.plan import CameraPlan
from capture.process.reader import CameraOpening, CameraReader
from config.errors import DuocapError

CONTROL_PERIOD_MS = 50


class DriverHungError(Exception):
    """The camera's driver does not return; only another process can open the camera again."""


def run_camera(address: SupervisorAddress, plan: CameraPlan) -> None:
    """Run a camera process; the function that its supervisor starts."""
    run_child(address, lambda supervisor: CameraLoop(supervisor, plan).run())


class CameraLoop:
    """The main thread of a camera process: open the source, report that it is ready, follow orders until told to stop.

    Raises what the source or the detector raised, and DriverHungError.
    """

    def __init__(self, supervisor: SupervisorLink, plan: CameraPlan) -> None:
        self._supervisor, self._plan = supervisor, plan
        self._suspend = SuspendDetector()
        self._reader: CameraReader | None = None
        self._end_reported = False

    def run(self) -> None:
        """Work until told to stop."""
        self._supervisor.report(ReportKind.HELLO)
        opening = CameraOpening(self._plan)
        while not any(self._obey(order) for order in self._supervisor.orders(CONTROL_PERIOD_MS)):
            suspended_ns = self._suspend.turn()
            if suspended_ns and opening.handle.busy_since_ns:
                opening.handle.busy_since_ns = now_ns()  # not the driver's fault
            self._report_events(opening.handle.notices.fetch())
            if opening.watch_driver():
                raise DriverHungError("its driver does not answer any more")
            if self._reader is None:
                self._reader = opening.result()
                if self._reader is None:
                    self._supervisor.beat(dict)
                    continue
                self._report_ready(self._reader)
            self._watch_reader(self._reader, suspended_ns)
        opening.abandon()
        if self._reader is not None:
            self._reader.stop()
            self._report_events(self._reader.sink_notices())
            if isinstance(self._reader.error, DuocapError):
                raise self._reader.error

    def _report_events(self, texts: list[str]) -> None:
        """Pass notices on."""
        for text in texts:
            self._supervisor.report(ReportKind.EVENT, text)

    def _report_ready(self, reader: CameraReader) -> None:
        """Report that the camera is open, and what it is."""
        freeze_objects()
        preview = {"preview": reader.preview} if reader.preview else {}
        self._supervisor.report(ReportKind.READY, counts=reader.announcement(), details={**reader.details(), **preview})

    def _watch_reader(self, reader: CameraReader, suspended_ns: int) -> None:
        """Report the reader's state; have the camera opened again after a suspend. Raises the reader's error."""
        self._supervisor.beat(reader.counts, reader.details)
        self._report_events(reader.sink_notices())
        if reader.error is not None:
            raise reader.error
        if suspended_ns:
            reader.reopen()
        if reader.ended.is_set() and not self._end_reported:
            self._end_reported = True
            self._supervisor.report(ReportKind.ENDED, counts=reader.counts())

    def _obey(self, order: Order) -> bool:
        """Follow one order; return True for stop."""
        if self._reader is not None:
            match order:
                case StartOrder():
                    self._reader.start(order.address, order.t_start_ns)
                case TuneOrder():
                    self._reader.tune(order.settings)
                case RateOrder():
                    self._reader.thin(order.every)
                case RecordOrder():
                    self._reader.record(order.folder)
        return isinstance(order, StopOrder)
