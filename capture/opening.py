"""A camera that is being opened by a thread of its own, and how long a driver may keep a thread before it has hung."""

import threading

from capture.lasting import Tether
from capture.plan import CameraPlan
from capture.worker import HANG_S, CameraWorker

OPENING_HANG_S = 60.0  # some drivers take half a minute to open a camera


def hung_s(tether: Tether, t_ns: int) -> float:
    """Give for how long a driver has kept the thread beyond what is usual, 0 where it has not [s]."""
    since_ns = tether.busy_since_ns
    busy_s = (t_ns - since_ns) * 1e-9 if since_ns else 0.0
    return max(0.0, busy_s - (OPENING_HANG_S if tether.opening else HANG_S))


class Opening:
    """A camera that is being opened by a thread, since a driver may take its time; its tether is there at once."""

    def __init__(self, plan: CameraPlan) -> None:
        self.tether = Tether()
        self._worker: CameraWorker | None = None
        self._error: Exception | None = None
        self._stop, self._lock = self.tether.stop, threading.Lock()
        threading.Thread(target=self._run, args=(plan,), name="open-camera", daemon=True).start()

    def _run(self, plan: CameraPlan) -> None:
        """Open, or keep the error; nobody may want it any more."""
        try:
            worker = CameraWorker(plan, self.tether)
        except Exception as error:  # noqa: BLE001 - whatever the driver raises, the main thread reports it
            self._error = error
            return
        with self._lock:
            self._worker = worker
            if self._stop.is_set():
                worker.stop()

    def result(self) -> CameraWorker | None:
        """Give the worker when it is there; raises what opening raised."""
        if self._error is not None:
            raise self._error
        return self._worker

    def abandon(self) -> None:
        """Close the camera as soon as it is open."""
        self._stop.set()
        with self._lock:
            if self._worker is not None:
                self._worker.source.close()
