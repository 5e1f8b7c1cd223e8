"""A stand-in for OpenCV's VideoCapture with the manners of real cameras: it refuses, rounds, buffers, stalls, vanishes.

`FakeDevice` behaves as its `Manners` say; `FakeCameras` is a picklable set of them for whole runs.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

import cv2
import numpy as np

from capture.clock import now_ns
from capture.sources.webcam.backends import V4L2, Backend
from capture.sources.webcam.names import LocalCamera
from capture.sources.webcam.settings import Device
from capture.sources.webcam.webcam import DeviceProvider

MJPG, YUYV = (float(cv2.VideoWriter.fourcc(*code)) for code in ("MJPG", "YUYV"))
FORGETTING = (cv2.CAP_PROP_FRAME_WIDTH, cv2.CAP_PROP_FRAME_HEIGHT, cv2.CAP_PROP_FPS)


class FakeClock:
    """Time that passes only when somebody sleeps."""

    def __init__(self, t_ns: int = 1_000_000_000_000) -> None:
        self.t_ns = t_ns

    def now_ns(self) -> int:
        return self.t_ns

    def sleep(self, seconds: float) -> None:
        self.t_ns += round(max(0.0, seconds) * 1e9)


@dataclass(frozen=True)
class Manners:
    """How a camera behaves.

    sizes: it has, the nearest is taken; fps: at most, and reached; announces: what `get` says instead of the truth; refuses:
    properties `set` does nothing for; steps: properties it rounds to a multiple of; forgets_format: size or rate make it YUYV
    again; busy: does not open; buffered: frames that wait after opening; grab_s: that a buffered frame takes.
    time: of the driver's stamps, "monotonic", "other" clock or "none"; lag_s: they are older than the frame by so much.
    truncate: every so many-th JPEG ends early, hole: lacks its middle; bad_reads: so many fail, from the frame `bad_from` on.
    stalls_at, vanishes_at: frames; half_with_one_buffer: the rate then is half.
    """

    sizes: tuple[tuple[int, int], ...] = ((640, 480), (320, 240))
    fps: float = 60.0
    announces: Mapping[int, float] = field(default_factory=dict)
    refuses: frozenset[int] = frozenset()
    steps: Mapping[int, float] = field(default_factory=dict)
    forgets_format: bool = False
    has_mjpg: bool = True
    busy: bool = False
    buffered: int = 0
    time: str = "monotonic"
    lag_s: float = 0.004
    truncate: int = 0
    hole: int = 0
    bad_from: int = -1
    bad_reads: int = 0
    stalls_at: int = -1
    stall_s: float = 3600.0
    vanishes_at: int = -1
    half_with_one_buffer: bool = False
    level: int = 40  # of the picture


class FakeDevice:
    """One open camera; frame k is taken at a period's multiple, and its picture tells k by its brightness."""

    def __init__(self, manners: Manners, backend: Backend = V4L2, clock: FakeClock | None = None) -> None:
        self.manners, self.backend, self.clock = manners, backend, clock
        self.props: dict[int, float] = {
            cv2.CAP_PROP_FRAME_WIDTH: float(manners.sizes[0][0]),
            cv2.CAP_PROP_FRAME_HEIGHT: float(manners.sizes[0][1]),
            cv2.CAP_PROP_FPS: manners.fps,
            cv2.CAP_PROP_FOURCC: YUYV,
            cv2.CAP_PROP_CONVERT_RGB: 1.0,
            cv2.CAP_PROP_BUFFERSIZE: 4.0,
        }
        self.calls: list[tuple[int, float]] = []
        self.released = False
        self.n_grabs = self.n_frames = 0
        self._t_start_ns = self._now()
        self._t_frame_ns = 0
        self._waiting = manners.buffered
        self._k_last = 0
        self._n_bad = 0

    def isOpened(self) -> bool:
        return not self.manners.busy and not self.released

    def release(self) -> None:
        self.released = True

    def get(self, prop: int) -> float:
        if prop in self.manners.announces:
            return self.manners.announces[prop]
        if prop == cv2.CAP_PROP_POS_MSEC:
            return self._driver_ms()
        return self.props.get(prop, -1.0)

    def set(self, prop: int, value: float) -> bool:
        self.calls.append((prop, value))
        if prop in self.manners.refuses:
            return False
        if prop == cv2.CAP_PROP_FOURCC and not (value == YUYV or (value == MJPG and self.manners.has_mjpg)):
            return False
        if prop == cv2.CAP_PROP_FPS:
            value = min(value, self.manners.fps)
        if step := self.manners.steps.get(prop):
            value = step * round(value / step)
        self.props[prop] = value
        if prop in FORGETTING and self.manners.forgets_format:
            self.props[cv2.CAP_PROP_FOURCC] = YUYV
        if prop in FORGETTING[:2]:
            self._take_nearest_size()
        return True

    def _take_nearest_size(self) -> None:
        """Like a driver, settle on a size it has, once width and height were told."""
        asked = [value for prop, value in self.calls[-2:] if prop in FORGETTING[:2]]
        if len(asked) == 2:
            width, height = min(self.manners.sizes, key=lambda size: abs(size[0] - asked[0]) + abs(size[1] - asked[1]))
            self.props[cv2.CAP_PROP_FRAME_WIDTH], self.props[cv2.CAP_PROP_FRAME_HEIGHT] = float(width), float(height)

    @property
    def period_ns(self) -> int:
        fps = min(self.manners.fps, self.props[cv2.CAP_PROP_FPS])
        if self.manners.half_with_one_buffer and self.props[cv2.CAP_PROP_BUFFERSIZE] == 1.0:
            fps /= 2.0
        return round(1e9 / fps)

    def _now(self) -> int:
        return self.clock.now_ns() if self.clock is not None else now_ns()

    def _sleep(self, seconds: float) -> None:
        (self.clock.sleep if self.clock is not None else time.sleep)(max(0.0, seconds))

    def _driver_ms(self) -> float:
        if self.manners.time == "none":
            return 0.0
        offset_ns = 5_000_000_000_000 if self.manners.time == "other" else 0
        return (self._t_frame_ns + offset_ns) * 1e-6

    def grab(self) -> bool:
        self.n_grabs += 1
        if 0 <= self.manners.vanishes_at <= self.n_frames:
            return False
        if self.manners.bad_from == self.n_frames and self._n_bad < self.manners.bad_reads:
            self._n_bad += 1
            return False
        if self.manners.stalls_at == self.n_frames:
            self._sleep(self.manners.stall_s)
        if not self.backend.waits_in_retrieve:
            self._wait()
        return True

    def _wait(self) -> None:
        """Return a buffered frame at once, or wait for the next one."""
        now, period = self._now(), self.period_ns
        k = (now - self._t_start_ns) // period
        capacity = max(self.manners.buffered, round(self.props[cv2.CAP_PROP_BUFFERSIZE]))
        self._waiting = min(self._waiting + max(0, k - self._k_last), capacity)
        self._k_last = max(k, self._k_last)
        self.n_frames += 1
        if self._waiting:
            self._waiting -= 1
            self._t_frame_ns = self._t_start_ns + (self._k_last - self._waiting - 1) * period
            self._sleep(0.0001)
            return
        self._k_last += 1
        self._sleep((self._t_start_ns + self._k_last * period - now) * 1e-9)
        self._t_frame_ns = self._t_start_ns + self._k_last * period - round(self.manners.lag_s * 1e9)

    def retrieve(self) -> tuple[bool, np.ndarray | None]:
        if self.backend.waits_in_retrieve:
            self._wait()
        size = int(self.props[cv2.CAP_PROP_FRAME_WIDTH]), int(self.props[cv2.CAP_PROP_FRAME_HEIGHT])
        image = picture(size, self.manners.level, self.n_frames)
        if self.props[cv2.CAP_PROP_CONVERT_RGB]:
            return True, image
        if self.props[cv2.CAP_PROP_FOURCC] == YUYV:
            return True, np.ascontiguousarray(image[:, :, :2])
        jpeg = cv2.imencode(".jpg", image)[1].tobytes()
        if self.manners.truncate and self.n_frames % self.manners.truncate == 0:
            jpeg = jpeg[: len(jpeg) // 2]
        if self.manners.hole and self.n_frames % self.manners.hole == 0:
            jpeg = jpeg[: len(jpeg) // 2] + jpeg[len(jpeg) // 2 + len(jpeg) // 5 :]
        return True, np.frombuffer(jpeg, np.uint8)[None]


def picture(size: tuple[int, int], level: int, k: int) -> np.ndarray:
    """Return a dark picture with texture and one bright spot that wanders with k."""
    image = _texture(size, level).copy()
    cv2.circle(image, (20 + 3 * k % (size[0] - 40), size[1] // 2), 5, (230, 240, 250), -1)
    return image


@cache
def _texture(size: tuple[int, int], level: int) -> np.ndarray:
    rows, columns = np.mgrid[0 : size[1], 0 : size[0]]
    grey = (level + 15 * np.sin(columns / 7.0) * np.cos(rows / 5.0)).clip(0, 255).astype(np.uint8)
    return np.repeat(grey[:, :, None], 3, axis=2)


@dataclass(frozen=True)
class Entry:
    """What cv2-enumerate-cameras would tell."""

    index: int
    name: str
    path: str | None = None
    vid: int | None = None
    pid: int | None = None


@dataclass(frozen=True)
class FakeCameras:
    """Cameras of a machine that is made up, by index; picklable."""

    cameras: tuple[LocalCamera, ...]
    manners: tuple[Manners, ...]

    def list(self, backend: Backend) -> list[LocalCamera]:
        return list(self.cameras)

    def open(self, index: int, backend: Backend) -> Device:
        found = next(
            (m for camera, m in zip(self.cameras, self.manners, strict=True) if camera.index == index), Manners(busy=True)
        )
        return FakeDevice(found, backend)

    def devices(self) -> DeviceProvider:
        return DeviceProvider(self.list, self.open)


def two_cameras(left: Manners | None = None, right: Manners | None = None) -> FakeCameras:
    """Return a machine with two cameras of different names."""
    small = ((320, 240),)
    return FakeCameras(
        (
            LocalCamera(0, "Left Cam", "Left Cam", "046d:0825", "/dev/video0", "1-1:1.0"),
            LocalCamera(2, "Right Cam", "Right Cam", "046d:085c", "/dev/video2", "1-2:1.0"),
        ),
        (left or Manners(small, 30.0), right or Manners(small, 30.0, level=60)),
    )
