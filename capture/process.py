"""The camera process: read, detect, send blobs; pixels never leave it.

One thread reads and detects; the main thread answers the supervisor, so that a driver that hangs blocks nothing but itself.
"""

from capture.clock import now_ns
from capture.control import Order
from capture.lasting import Tether
from capture.lifeline import Lifeline, Link, live
from capture.naps import Naps
from capture.opening import Opening, hung_s
from capture.plan import CameraPlan
from capture.worker import HANG_S, CameraWorker
from config.errors import DuocapError
from config.long_lived import set_aside

CONTROL_PERIOD_MS = 50


class DriverHungError(Exception):
    """The camera's driver does not come back; only another process can open the camera again."""


def camera_main(link: Link, plan: CameraPlan) -> None:
    """Run a camera process; the target of its supervisor."""
    live(link, lambda lifeline: CameraDuty(lifeline, plan).run())


class CameraDuty:
    """What the main thread of a camera process does: open the source, say ready, then follow orders until told to stop.

    Raises what the source or the detector raised, and DriverHungError.
    """

    def __init__(self, lifeline: Lifeline, plan: CameraPlan) -> None:
        self._lifeline, self._plan = lifeline, plan
        self._naps = Naps()
        self._worker: CameraWorker | None = None
        self._end_told = False

    def run(self) -> None:
        """Work until told to stop."""
        self._lifeline.report("hello")
        opening = Opening(self._plan)
        while not any(self._obey(order) for order in self._lifeline.orders(CONTROL_PERIOD_MS)):
            slept_ns = self._naps.turn()
            if slept_ns and opening.tether.busy_since_ns:
                opening.tether.busy_since_ns = now_ns()  # not the driver's fault
            for text in opening.tether.news.fetch():
                self._lifeline.report("event", text)
            self._watch_driver(opening.tether)
            if self._worker is None:
                self._worker = opening.result()
                if self._worker is None:
                    self._lifeline.beat(dict)
                    continue
                self._say_ready(self._worker)
            self._look_after(self._worker, slept_ns)
        opening.abandon()
        if self._worker is not None:
            self._worker.stop()
            for text in self._worker.takers_news():
                self._lifeline.report("event", text)
            if isinstance(self._worker.error, DuocapError):
                raise self._worker.error

    def _say_ready(self, worker: CameraWorker) -> None:
        """Tell that the camera is open, and what it is."""
        set_aside()
        preview = {"preview": worker.preview} if worker.preview else {}
        self._lifeline.report("ready", counts=worker.announcement(), details={**worker.details(), **preview})

    def _look_after(self, worker: CameraWorker, slept_ns: int) -> None:
        """Tell how the worker is; help it over a sleep of the machine and a driver that hangs."""
        self._lifeline.beat(worker.counts, worker.details)
        for text in worker.takers_news():
            self._lifeline.report("event", text)
        if worker.error is not None:
            raise worker.error
        if slept_ns:
            worker.open_anew()
        if worker.ended.is_set() and not self._end_told:
            self._end_told = True
            self._lifeline.report("ended", counts=worker.counts())

    def _watch_driver(self, tether: Tether) -> None:
        """Have a driver let go that has hung, and give up if it does not."""
        late_s = hung_s(tether, now_ns())
        if late_s and self._worker is not None:
            self._worker.free(now_ns())
        if late_s > HANG_S:
            raise DriverHungError("its driver does not answer any more")

    def _obey(self, order: Order) -> bool:
        """Follow one order; True for stop."""
        worker = self._worker
        if worker is None:
            return order.kind == "stop"
        if order.kind == "start":
            worker.start(order.address, order.t_start_ns)
        elif order.kind == "status":
            self._lifeline.report("beat", counts=worker.counts())
        elif order.kind == "tune":
            worker.tune(order.details)
        elif order.kind == "record":
            worker.record(order.text)
        return order.kind == "stop"
