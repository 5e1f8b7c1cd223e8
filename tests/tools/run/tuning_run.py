"""A run to be tuned in tests: two cameras on loopback that show large and small markers in the dark, real processes."""

import threading
from functools import partial
from pathlib import Path
from types import TracebackType

import cv2
import numpy as np

from capture.packets import Views
from config.loading import load_settings
from config.per_camera import add_tuned_values
from config.settings import CAMERA_NAMES, Settings
from reconstruct.pose import Pose
from reconstruct.process.main import ReconstructionPlan
from tests.support import fakes
from tests.support.cameras.mjpeg import MjpegServer, encoded
from tests.support.ports import free_port
from tools.run.cameras import plan_camera
from tools.run.factories import open_sink
from tools.run.supervisor import Supervisor, choose_session_name

SIZE = (320, 240)
LARGE, SMALL = 8, 4  # markers of about 113 and 28 pixels
PICTURES, HZ = 30, 15.0


def dark_room(shift: int) -> np.ndarray:
    """A picture of large and small bright spots that sway to and fro."""
    image = np.zeros((SIZE[1], SIZE[0], 3), np.uint8)
    sway = round(10 * np.sin(2 * np.pi * shift / PICTURES))
    for n in range(LARGE + SMALL):
        place = (30 + 70 * (n % 4) + sway, 40 + 65 * (n // 4) + 7 * (n % 3))
        cv2.circle(image, place, 6 if n < LARGE else 3, (235, 235, 235), -1, cv2.LINE_AA)
    return cv2.GaussianBlur(image, (3, 3), 0.7)


class StillPipeline(fakes.FakePipeline):
    """Return poses of somebody who stands still, whatever is seen."""

    def __init__(self) -> None:
        self._n = 0

    def step(self, pair: Views) -> Pose:
        self._n += 1
        return fakes.pose(self._n, pair.t_capture_ns, np.array([0.0, 1.0, 0.0]))


class TuningRun:
    """Two cameras, their processes and the reconstruction's, turned by a thread; told: what was said to the user."""

    def __init__(self, tuned: Path, servers: tuple[MjpegServer, MjpegServer]) -> None:
        self.told: list[str] = []
        addresses = (f"stream.{name}=tcp://127.0.0.1:{free_port()}" for name in ("address", "service"))
        given = load_settings(None, [*addresses, f"capture.tuned={tuned}", "stream.open=true"])
        self.settings: Settings = add_tuned_values(given, [server.url for server in servers], self.told.append)
        session = choose_session_name()
        sink = partial(open_sink, fakes.rig(), fakes.subject(), self.settings, session, cameras=True)
        left, right = (plan_camera(server.url, n, self.settings, None) for n, server in enumerate(servers))
        plan = ReconstructionPlan(StillPipeline, sink, round(0.6e9 / HZ))
        self.run = Supervisor((left, right), plan, session, self.told.append)
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._turn, daemon=True)

    def __enter__(self) -> "TuningRun":
        self.run.__enter__()
        self.run.wait_ready()
        self.run.start()
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._ending.set()
        self._thread.join()
        self.run.__exit__(kind, error, trace)

    def _turn(self) -> None:
        while not self._ending.is_set():
            self.run.turn(10)


def servers() -> tuple[MjpegServer, MjpegServer]:
    """Two cameras that show the same room."""
    jpegs = [encoded(dark_room(n)) for n in range(PICTURES)]
    left, right = (MjpegServer(jpegs, fps=HZ) for _ in CAMERA_NAMES[:2])
    return left, right
