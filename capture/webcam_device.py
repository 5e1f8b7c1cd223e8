"""One open webcam, used from one thread: stale frames drained, every frame stamped, a camera that is gone recognised.

A camera keeps frames in buffers. What `grab` gives in under a millisecond lay there already and is older than it seems; after
opening, and whenever nobody fetched frames for a while, such frames are let go of.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from capture.clock import now_ns
from capture.sources import Facts, Stamp
from capture.webcam_backends import Backend
from capture.webcam_jpeg import decoded, jpeg_bytes, whole_jpeg
from capture.webcam_settings import (
    Device,
    control_facts,
    format_facts,
    format_words,
    set_controls,
    set_format,
)
from config.errors import SourceError
from config.settings import CameraSettings

STALE_NS = 1_000_000
MAX_STALE = 32  # a camera that is always this quick is not stale, but strange
PAUSE_PERIODS = 2.5  # nobody fetched frames for so long: what comes first is old
FAILING_NS = 1_000_000_000  # reads may fail for so long before the camera counts as gone
RETRY_S = 0.02
FIRST_FRAMES, FIRST_NS = 13, 1_000_000_000  # whose rate is measured: twelve intervals, or a second
SLOW_SHARE, HALF_SHARE, BETTER_SHARE = 0.85, 0.65, 1.25  # of the announced rate
MORE_BUFFERS = 3  # where one buffer halves the rate: the camera finds none free when the next frame begins
MAX_AGE_NS = 1_000_000_000  # a driver's time further back is on another clock
AHEAD_NS = 2_000_000  # or further ahead
MAX_IMPLAUSIBLE = 8  # of them in a row: the driver's clock is not ours any more


@dataclass(frozen=True, slots=True)
class Shot:
    """What a device gave: pixels or compressed bytes, and when they were captured."""

    t_ns: int
    data: NDArray[Any]

    def picture(self) -> tuple[NDArray[np.uint8] | None, bytes | None]:
        """Give the pixels, BGR, and the compressed bytes if it came as such; no pixels where the frame is damaged."""
        packed = jpeg_bytes(self.data)
        if packed is None:
            return _bgr(self.data), None
        jpeg = whole_jpeg(packed)
        return (None, None) if jpeg is None else (decoded(jpeg), jpeg)


def _bgr(data: NDArray[Any]) -> NDArray[np.uint8] | None:
    """Give a C-contiguous BGR image; None for what is no image."""
    if data.dtype != np.uint8 or data.ndim not in (2, 3) or data.size == 0:
        return None
    if data.ndim == 2:
        data = np.repeat(data[:, :, None], 3, axis=2)
    return np.ascontiguousarray(data[:, :, :3]) if data.shape[2] >= 3 else None


@dataclass(slots=True)
class DriverTime:
    """Whether the driver's time of frames can be trusted, as it shows over time."""

    trusted: bool
    t_last_ns: int = 0
    n_implausible: int = 0

    def of(self, t_driver_ns: int, t_read_ns: int) -> int | None:
        """Give the driver's time of a frame that was handed over at t_read_ns; None where it cannot be right."""
        plausible = self.t_last_ns < t_driver_ns <= t_read_ns + AHEAD_NS and t_read_ns - t_driver_ns < MAX_AGE_NS
        if plausible:
            self.t_last_ns, self.n_implausible = t_driver_ns, 0
            return min(t_driver_ns, t_read_ns)
        self.n_implausible += 1
        if self.n_implausible >= MAX_IMPLAUSIBLE:
            self.trusted = False
        return None


@dataclass(slots=True)
class Grabber:
    """The frames of an open device. name: for errors; clock, sleep: for tests.

    facts: how it is really set, and counts; words: what it does otherwise than asked; fps: reached at the start.
    Raises SourceError by `begin` and `shoot`: it gives no frames (any more).
    """

    device: Device
    backend: Backend
    settings: CameraSettings
    name: str
    facts: Facts = field(default_factory=dict)
    clock: Callable[[], int] = now_ns
    sleep: Callable[[float], None] = time.sleep
    words: list[str] = field(default_factory=list)
    size: tuple[int, int] = (0, 0)
    fps: float = 0.0
    _driver: DriverTime = field(default_factory=lambda: DriverTime(True))
    _t_last_ns: int = 0  # when the last frame was handed over
    _t_stamp_ns: int = 0
    _t_rate_ns: int = 0
    _n_rate: int = 0

    @property
    def stamp(self) -> Stamp:
        """What the frames' times are."""
        return Stamp.DRIVER if self._driver.trusted else Stamp.READ

    def begin(self) -> None:
        """Set the device as asked, let old frames go, and measure over the first ones what it really gives."""
        self._driver.trusted = self.backend.driver_time
        self.facts.update(stale=0, damaged=0, skipped=0)
        set_format(self.device, self.backend, self.settings)
        said = set_controls(self.device, self.backend, self.settings)
        self._ask_raw()
        self.size = self._first_size()
        self.facts.update(format_facts(self.device, self.backend))
        rate = self._measured()
        announced = self.facts.get("fps_announced")
        expected = float(announced) if isinstance(announced, int | float) else self.settings.fps
        if self.backend.has_buffer and rate < HALF_SHARE * expected:
            rate = self._with_more_buffers(rate)
        self.fps = expected if abs(rate - expected) < 0.05 * expected else rate
        self.facts.update(control_facts(self.device, self.backend))
        self.facts.update(width=self.size[0], height=self.size[1], fps_reached=round(rate, 2), stamp=self.stamp.value)
        self.words += format_words(self.settings, self.facts, self.size) + said
        if rate < SLOW_SHARE * expected:
            self.words.append(
                f"gives {rate:.0f} frames/s of {expected:g}: automatic exposure takes long in dim light (more light, or a number "
                "for camera.exposure), or this machine is busy"
            )

    def adjust(self, settings: CameraSettings) -> list[str]:
        """Set exposure, gain, white balance and focus anew while frames come; say what the camera did otherwise."""
        words = set_controls(self.device, self.backend, settings, self.settings)
        self.settings = settings
        self.facts.update(control_facts(self.device, self.backend))
        return words

    def shoot(self) -> Shot:
        """Wait for the next frame; after a pause for the first that is not stale."""
        paused = self._t_last_ns and self.clock() - self._t_last_ns > PAUSE_PERIODS * 1e9 / max(self.fps, 1.0)
        shot = self._fresh() if paused else self._frame()[0]
        self._count_rate()
        return shot

    def _fresh(self) -> Shot:
        """Let stale frames go; give the first that had to be waited for."""
        for _ in range(MAX_STALE):
            shot, waited_ns = self._frame()
            if waited_ns >= STALE_NS:
                return shot
            self._count("stale")
        return shot

    def _frame(self) -> tuple[Shot, int]:
        """Give a frame and how long it was waited for; a read that fails is repeated for a while. Raises SourceError."""
        t_failing_ns = self.clock()
        while True:
            t_begin_ns = self.clock()
            if self.device.grab():
                t_grabbed_ns = self.clock()
                ok, data = self.device.retrieve()
                if ok and data is not None and np.size(data):
                    t_read_ns = self.clock() if self.backend.waits_in_retrieve else t_grabbed_ns
                    self._t_last_ns = self.clock()
                    return Shot(self._stamped(t_read_ns), np.asarray(data)), t_read_ns - t_begin_ns
            if self.clock() - t_failing_ns > FAILING_NS:
                when = "gives no pictures any more" if self._t_last_ns else "opens, but gives no pictures"
                raise SourceError(f"camera {self.name!r} {when}; is it plugged in, and free of other programs?")
            self.sleep(RETRY_S)

    def _stamped(self, t_read_ns: int) -> int:
        """Give the best time there is for a frame that was handed over at t_read_ns; times only ever grow."""
        t_ns = None
        if self._driver.trusted:
            told_ms = self.device.get(cv2.CAP_PROP_POS_MSEC)
            t_ns = self._driver.of(round(told_ms * 1e6) if math.isfinite(told_ms) else 0, t_read_ns)
            self.facts["stamp"] = self.stamp.value
        self._t_stamp_ns = max(t_read_ns if t_ns is None else t_ns, self._t_stamp_ns + 1)
        return self._t_stamp_ns

    def _ask_raw(self) -> None:
        """Have compressed frames as they are, where backend and camera can: they are recorded so, and decoded only once."""
        if self.backend.raw_jpeg and format_facts(self.device, self.backend).get("fourcc") in ("MJPG", "JPEG"):
            self.device.set(cv2.CAP_PROP_CONVERT_RGB, 0.0)

    def _first_size(self) -> tuple[int, int]:
        """Let stale frames go and give the size of the first whole one. Raises SourceError: none within some tries."""
        shot = self._fresh()
        for _ in range(FIRST_FRAMES):
            if jpeg_bytes(shot.data) is None and not self._is_image(shot):
                self.device.set(cv2.CAP_PROP_CONVERT_RGB, 1.0)  # raw, but not compressed: OpenCV knows better what it is
            elif (image := shot.picture()[0]) is not None:
                return image.shape[1], image.shape[0]
            else:
                self._count("damaged")
            shot = self._frame()[0]
        raise SourceError(f"camera {self.name!r} gives pictures that cannot be decoded; try --set camera.fourcc=YUYV")

    def _is_image(self, shot: Shot) -> bool:
        """Tell whether pixels came as BGR or grey."""
        return shot.data.ndim == 2 or (shot.data.ndim == 3 and shot.data.shape[2] in (1, 3))

    def _measured(self) -> float:
        """Give the rate that is really reached, over the next frames."""
        first = last = self._frame()[0].t_ns
        n = 1
        while n < FIRST_FRAMES and (last - first < FIRST_NS or n < 3):
            last = self._frame()[0].t_ns
            n += 1
        return (n - 1) * 1e9 / max(last - first, 1)

    def _with_more_buffers(self, rate: float) -> float:
        """See whether more buffers make it faster, as they do with some cameras; give the rate."""
        self.device.set(cv2.CAP_PROP_BUFFERSIZE, MORE_BUFFERS)
        self._fresh()
        again = self._measured()
        if again > BETTER_SHARE * rate:
            self.facts["buffers"] = MORE_BUFFERS
            return again
        self.device.set(cv2.CAP_PROP_BUFFERSIZE, 1)
        self._fresh()
        return rate

    def _count(self, name: str) -> None:
        """Add one to a fact."""
        self.facts[name] = int(self.facts[name]) + 1

    def _count_rate(self) -> None:
        """Keep the fact of the rate up to date, once a second."""
        self._n_rate += 1
        span_ns = self._t_stamp_ns - self._t_rate_ns
        if span_ns >= FIRST_NS:
            if self._t_rate_ns:
                self.facts["fps_reached"] = round(self._n_rate * 1e9 / span_ns, 2)
            self._t_rate_ns, self._n_rate = self._t_stamp_ns, 0
