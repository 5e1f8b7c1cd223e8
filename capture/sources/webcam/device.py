"""One open webcam, used from one thread: drop stale frames, timestamp every frame, notice when the camera is lost.

A camera keeps frames in buffers. A frame that `grab` returns in under a millisecond was there already and is older than it seems;
such frames are dropped after opening, and after a pause in reading.
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
from capture.sources.jpeg import decode_whole_jpeg, find_jpeg_bytes, strip_jpeg_padding
from capture.sources.source import CameraError, Facts, Stamp, convert_to_bgr
from capture.sources.webcam.backends import Backend
from capture.sources.webcam.settings import Device, find_format_deviations, read_controls, read_format, set_controls, set_format
from config.settings import CameraSettings

STALE_NS = 1_000_000
MAX_STALE = 32  # a camera that is always this quick is not stale, but strange
PAUSE_PERIODS = 2.5  # frames not read for so long: the first ones are stale
FAILING_NS = 1_000_000_000  # reads may fail for so long before the camera counts as lost
RETRY_S = 0.02
FIRST_FRAMES, FIRST_NS = 13, 1_000_000_000  # the rate is measured over twelve intervals, or a second
SLOW_SHARE, HALF_SHARE, BETTER_SHARE = 0.85, 0.65, 1.25  # of the announced rate
MORE_BUFFERS = 3  # where one buffer halves the rate: the camera finds none free when the next frame begins
MAX_AGE_NS = 1_000_000_000  # a driver's time further back is of another clock
AHEAD_NS = 2_000_000  # or further ahead
MAX_IMPLAUSIBLE = 8  # driver times in a row


@dataclass(frozen=True, slots=True)
class DeviceFrame:
    """A frame of a device: pixels or compressed bytes, and when it was captured."""

    t_ns: int
    data: NDArray[Any]

    def picture(self) -> tuple[NDArray[np.uint8] | None, bytes | None]:
        """Return the pixels, BGR, and the compressed bytes if there are any; no pixels where the frame is damaged."""
        packed = find_jpeg_bytes(self.data)
        if packed is None:
            shape = self.data.shape
            is_image = self.data.dtype == np.uint8 and self.data.size and (len(shape) == 2 or (len(shape) == 3 and shape[2] >= 3))
            return (convert_to_bgr(self.data) if is_image else None), None
        jpeg = strip_jpeg_padding(packed)
        return (None, None) if jpeg is None else (decode_whole_jpeg(jpeg), jpeg)


@dataclass(slots=True)
class DriverTime:
    """The driver's times of frames, and whether they can be trusted."""

    trusted: bool
    t_last_ns: int = 0
    n_implausible: int = 0

    def of(self, t_driver_ns: int, t_read_ns: int) -> int | None:
        """Return the driver's time of a frame that was read at t_read_ns, None where it is implausible."""
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
    """The frames of an open device. clock, sleep: replaced in tests.

    facts: settings in force, and counts; deviations: from the settings, for the user; fps: reached at the start. `begin` and
    `next_frame` raise CameraError when the camera gives no frames (any more).
    """

    device: Device
    backend: Backend
    settings: CameraSettings
    name: str
    facts: Facts = field(default_factory=dict)
    clock: Callable[[], int] = now_ns
    sleep: Callable[[float], None] = time.sleep
    deviations: list[str] = field(default_factory=list)
    size: tuple[int, int] = (0, 0)
    fps: float = 0.0
    _driver: DriverTime = field(default_factory=lambda: DriverTime(True))
    _t_last_ns: int = 0  # when the last frame was read
    _t_last_stamp_ns: int = 0
    _t_rate_ns: int = 0
    _n_rate: int = 0

    @property
    def stamp(self) -> Stamp:
        """The kind of the timestamps."""
        return Stamp.DRIVER if self._driver.trusted else Stamp.READ

    def begin(self) -> None:
        """Apply the settings, drop stale frames, and measure the rate."""
        self._driver.trusted = self.backend.driver_time
        self.facts.update(stale=0, damaged=0, skipped=0)
        set_format(self.device, self.backend, self.settings)
        control_deviations = set_controls(self.device, self.backend, self.settings)
        self._request_raw()
        self.size = self._first_size()
        self.facts.update(read_format(self.device, self.backend))
        rate = self._measure_rate()
        announced = self.facts.get("fps_announced")
        expected = float(announced) if isinstance(announced, int | float) else self.settings.fps
        if self.backend.has_buffer and rate < HALF_SHARE * expected:
            rate = self._with_more_buffers(rate)
        self.fps = expected if abs(rate - expected) < 0.05 * expected else rate
        self.facts.update(read_controls(self.device, self.backend))
        self.facts.update(width=self.size[0], height=self.size[1], fps_reached=round(rate, 2), stamp=self.stamp.value)
        self.deviations += find_format_deviations(self.settings, self.facts, self.size) + control_deviations
        if rate < SLOW_SHARE * expected:
            self.deviations.append(
                f"gives {rate:.0f} frames/s of {expected:g}: automatic exposure takes long in dim light (more light, or a number "
                "for camera.exposure), or this machine is busy"
            )

    def adjust(self, settings: CameraSettings) -> list[str]:
        """Change exposure, gain, white balance and focus while frames come; return deviations, for the user."""
        deviations = set_controls(self.device, self.backend, settings, self.settings)
        self.settings = settings
        self.facts.update(read_controls(self.device, self.backend))
        return deviations

    def next_frame(self) -> DeviceFrame:
        """Wait for the next frame, after a pause for the first that is not stale."""
        paused = self._t_last_ns and self.clock() - self._t_last_ns > PAUSE_PERIODS * 1e9 / max(self.fps, 1.0)
        frame = self._skip_stale() if paused else self._grab()[0]
        self._count_rate()
        return frame

    def _skip_stale(self) -> DeviceFrame:
        """Return the first frame that had to be waited for."""
        for _ in range(MAX_STALE):
            frame, waited_ns = self._grab()
            if waited_ns >= STALE_NS:
                return frame
            self._count("stale")
        return frame

    def _grab(self) -> tuple[DeviceFrame, int]:
        """Return a frame and how long it was waited for [ns]; a failed read is repeated for a while. Raises CameraError."""
        t_failing_ns = self.clock()
        while True:
            t_begin_ns = self.clock()
            if self.device.grab():
                t_grabbed_ns = self.clock()
                ok, data = self.device.retrieve()
                if ok and data is not None and np.size(data):
                    t_read_ns = self.clock() if self.backend.waits_in_retrieve else t_grabbed_ns
                    self._t_last_ns = self.clock()
                    return DeviceFrame(self._timestamp(t_read_ns), np.asarray(data)), t_read_ns - t_begin_ns
            if self.clock() - t_failing_ns > FAILING_NS:
                when = "gives no pictures any more" if self._t_last_ns else "opens, but gives no pictures"
                raise CameraError(self.name, f"{when}; is it plugged in, and free of other programs?")
            self.sleep(RETRY_S)

    def _timestamp(self, t_read_ns: int) -> int:
        """Return the best timestamp of a frame that was read at t_read_ns; timestamps always increase."""
        t_ns = None
        if self._driver.trusted:
            told_ms = self.device.get(cv2.CAP_PROP_POS_MSEC)
            t_ns = self._driver.of(round(told_ms * 1e6) if math.isfinite(told_ms) else 0, t_read_ns)
            self.facts["stamp"] = self.stamp.value
        self._t_last_stamp_ns = max(t_read_ns if t_ns is None else t_ns, self._t_last_stamp_ns + 1)
        return self._t_last_stamp_ns

    def _request_raw(self) -> None:
        """Request compressed frames where possible: they are recorded as they are, and decoded only once."""
        if self.backend.raw_jpeg and read_format(self.device, self.backend).get("fourcc") in ("MJPG", "JPEG"):
            self.device.set(cv2.CAP_PROP_CONVERT_RGB, 0.0)

    def _first_size(self) -> tuple[int, int]:
        """Return the size of the first complete frame that is not stale. Raises CameraError: none within some tries."""
        frame = self._skip_stale()
        for _ in range(FIRST_FRAMES):
            if find_jpeg_bytes(frame.data) is None and not self._is_image(frame):
                self.device.set(cv2.CAP_PROP_CONVERT_RGB, 1.0)  # raw, but not compressed: let OpenCV convert it
            elif (image := frame.picture()[0]) is not None:
                return image.shape[1], image.shape[0]
            else:
                self._count("damaged")
            frame = self._grab()[0]
        raise CameraError(self.name, "gives pictures that cannot be decoded; try --set camera.fourcc=YUYV")

    def _is_image(self, frame: DeviceFrame) -> bool:
        """Return whether a frame holds BGR or grey pixels."""
        return frame.data.ndim == 2 or (frame.data.ndim == 3 and frame.data.shape[2] in (1, 3))

    def _measure_rate(self) -> float:
        """Return the rate of the next frames [Hz]."""
        first = last = self._grab()[0].t_ns
        n = 1
        while n < FIRST_FRAMES and (last - first < FIRST_NS or n < 3):
            last = self._grab()[0].t_ns
            n += 1
        return (n - 1) * 1e9 / max(last - first, 1)

    def _with_more_buffers(self, rate: float) -> float:
        """Try more buffers, which make some cameras faster; return the rate [Hz]."""
        self.device.set(cv2.CAP_PROP_BUFFERSIZE, MORE_BUFFERS)
        self._skip_stale()
        again = self._measure_rate()
        if again > BETTER_SHARE * rate:
            self.facts["buffers"] = MORE_BUFFERS
            return again
        self.device.set(cv2.CAP_PROP_BUFFERSIZE, 1)
        self._skip_stale()
        return rate

    def _count(self, name: str) -> None:
        """Increment a fact."""
        self.facts[name] = int(self.facts[name]) + 1

    def _count_rate(self) -> None:
        """Update the fact of the rate once a second."""
        self._n_rate += 1
        span_ns = self._t_last_stamp_ns - self._t_rate_ns
        if span_ns >= FIRST_NS:
            if self._t_rate_ns:
                self.facts["fps_reached"] = round(self._n_rate * 1e9 / span_ns, 2)
            self._t_rate_ns, self._n_rate = self._t_last_stamp_ns, 0
