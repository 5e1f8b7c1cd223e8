"""Stand-ins for cameras and detectors that travel to spawned processes, which for them need not import what solves poses."""

import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from capture.clock import now_ns
from capture.packets import Blobs, Frame
from capture.sources.source import Facts, Stamp
from config.errors import SourceError


class CountingSource:
    """Return small grey frames at a steady rate; stamps count from 0."""

    def __init__(self, camera: int, fps: float = 60.0, n_frames: int | None = None) -> None:
        self.name, self.size, self.fps, self.n_frames, self.truncated = "fake", (32, 24), fps, n_frames, False
        self.stamp, self.facts = Stamp.FILE, Facts()
        self._camera, self._index = camera, 0

    def read(self) -> Frame | None:
        if self.n_frames is not None and self._index >= self.n_frames:
            return None
        image = np.full((24, 32, 3), self._index % 256, np.uint8)
        frame = Frame(self._camera, self._index, round(self._index * 1e9 / self.fps), image)
        self._index += 1
        return frame

    def close(self) -> None:
        pass


class MissingSource:
    """Cannot be opened."""

    def __init__(self) -> None:
        raise SourceError("camera 7: no such camera; plug it in")


class BrokenSource(CountingSource):
    """Fails with a bug of ours after ten frames."""

    def read(self) -> Frame | None:
        if self._index == 10:
            raise ZeroDivisionError("a bug")
        return super().read()


class StuckSource(CountingSource):
    """Hangs in its driver after ten frames."""

    def read(self) -> Frame | None:
        if self._index == 10:
            time.sleep(3600)
        return super().read()


class ComingSource(CountingSource):
    """A camera that is there while a file is, stamps in the clock of all, at 50 Hz; an error else, also at opening."""

    def __init__(self, camera: int, here: Path) -> None:
        super().__init__(camera, 50.0)
        self._here = here
        self._check()

    def _check(self) -> None:
        if not self._here.exists():
            raise SourceError(f"{self._here.name}: unplugged")

    def read(self) -> Frame | None:
        time.sleep(0.02)
        self._check()
        frame = super().read()
        # Both cameras' stamps fall on one grid, so that they make pairs whenever they were opened.
        return None if frame is None else replace(frame, t_capture_ns=now_ns() // 20_000_000 * 20_000_000)


class Corner:
    """Sees one blob whose place tells the frame: x the index, y the camera."""

    def step(self, frame: Frame) -> Blobs:
        point = np.array([[float(frame.index), float(frame.camera)]])
        return Blobs(frame.camera, frame.index, frame.t_capture_ns, point, np.ones(1), np.zeros((1, 3)), np.ones(1))


def corner(source: object) -> Corner:
    """Return the detector of a source."""
    return Corner()
