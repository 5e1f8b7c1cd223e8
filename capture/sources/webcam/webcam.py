"""A webcam of this machine through OpenCV, as a source that never waits for ever.

A thread opens the device, applies settings, grabs and timestamps; the reader decodes. So the next frame is fetched while the last
is decoded, only the newest is kept, and a driver that hangs blocks its own thread and nothing else.

What C libraries print on standard error goes to the log at debug: cheap cameras make the JPEG decoder complain in every frame.
"""

import contextlib
import io
import logging
import os
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import cv2

from capture.clock import now_ns
from capture.packets import Frame
from capture.sources.source import CameraError, Facts, Stamp
from capture.sources.webcam.backends import Backend, choose_backend, describe_open_failure
from capture.sources.webcam.device import DeviceFrame, Grabber
from capture.sources.webcam.names import CameraIdentity, Lister, list_cameras, locate_camera
from capture.sources.webcam.settings import Device, check_settings
from config.errors import SettingsError, SourceError
from config.settings import CameraSettings

log = logging.getLogger(__name__)

MAX_LINES = 50  # different ones, a process
CHUNK_BYTES = 4096
_lock = threading.Lock()
_redirected = False


def redirect_library_output() -> None:
    """Log what C libraries write to standard error, and keep Python's own; once a process.

    Nothing is done where standard error is not file 2, as in a windowed program.
    """
    global _redirected
    with _lock:
        if _redirected or not _is_file_2(sys.stderr):
            return
        _redirected = True
        sys.stderr.flush()
        kept = os.dup(2)
        sys.stderr = os.fdopen(kept, "w", encoding=sys.stderr.encoding, errors="backslashreplace", buffering=1)
        reading, writing = os.pipe()
        os.dup2(writing, 2)
        os.close(writing)
        threading.Thread(target=_log_lines, args=(reading,), name="library-output", daemon=True).start()


def _is_file_2(stream: object) -> bool:
    """Return whether a stream writes to file 2."""
    try:
        return isinstance(stream, io.TextIOBase) and stream.fileno() == 2
    except (OSError, ValueError):
        return False


def _log_lines(reading: int) -> None:
    """Log each line the first time it comes."""
    logged: set[str] = set()
    rest = b""
    while chunk := os.read(reading, CHUNK_BYTES):
        *lines, rest = (rest[-CHUNK_BYTES:] + chunk).split(b"\n")
        for line in lines:
            text = line.decode("utf-8", "replace").strip()
            if text and text not in logged and len(logged) < MAX_LINES:
                logged.add(text)
                log.debug("a library says: %s", text)


OPEN_S = 60.0  # Media Foundation may take 20
READ_S = 3.0
ADJUST_S = 2.0
JOIN_S = 1.0
READING_NS = 1_000_000_000
SET_ON_OPENING = ("backend", "width", "height", "fps", "fourcc")


def open_device(index: int, backend: Backend) -> Device:
    """Open a device by OpenCV; what it prints goes to the log."""
    redirect_library_output()
    # Or a camera that was unplugged would hold its thread for ten seconds.
    os.environ.setdefault("OPENCV_VIDEOIO_V4L_SELECT_TIMEOUT", "2")
    return cv2.VideoCapture(index, backend.api)


@dataclass(frozen=True, slots=True)
class DeviceProvider:
    """How cameras are listed and opened; picklable, replaced in tests."""

    lister: Lister = list_cameras
    opener: Callable[[int, Backend], Device] = open_device


@dataclass(slots=True)
class _Request:
    """Settings to apply, and the deviations that came of it."""

    settings: CameraSettings
    done: threading.Event = field(default_factory=threading.Event)
    deviations: list[str] = field(default_factory=list)


class Webcam:
    """A `capture.sources.source.Source` of one webcam.

    facts: `name`, `backend`, `width`, `height`, `fourcc`, `fps_announced`, `fps_reached`, `stamp`, `exposure` and so on by the
    driver, `otherwise` (deviations), and counts: `stale` (dropped as too old), `damaged` (cut short on the cable), `skipped`
    (a newer one came before they were read).
    """

    def __init__(
        self, identity: CameraIdentity, camera: int, settings: CameraSettings, devices: DeviceProvider | None = None
    ) -> None:
        """Open the camera, wherever it is plugged in now.

        Raises SourceError: it is missing, in use, may not be opened, or gives no frames; SettingsError: impossible settings.
        """
        check_settings(settings)
        self._backend, self._identity, self._camera = choose_backend(settings.backend), identity, camera
        self._settings = self._wanted = settings
        self._devices = devices or DeviceProvider()
        self.name = identity.label or identity.name
        self.size, self.fps, self.truncated = (settings.width, settings.height), settings.fps, False
        self.n_frames: int | None = None
        self.stamp = Stamp.READ
        self.facts: Facts = {"name": self.name}
        self._grabber: Grabber | None = None
        self._changed = threading.Condition()
        self._frame: DeviceFrame | None = None
        self._error: Exception | None = None
        self._requests: list[_Request] = []
        self._closing = False
        self._index = self._t_asked_ns = 0
        self._thread = threading.Thread(target=self._run, name=f"webcam-{self.name}", daemon=True)
        self._thread.start()
        self._wait_for_opening()

    def read(self) -> Frame | None:
        """Wait for the next frame; None once closed. Raises CameraError: the camera is lost, or silent for some seconds."""
        t_begin_ns = now_ns()
        while (frame := self._next_frame()) is not None:
            image, jpeg = frame.picture()
            if image is not None and (image.shape[1], image.shape[0]) == self.size:
                self._index += 1
                return Frame(self._camera, self._index - 1, frame.t_ns, image, jpeg)
            self.facts["damaged"] = int(self.facts["damaged"]) + 1
            if now_ns() - t_begin_ns > READ_S * 1e9:
                raise CameraError(self.name, f"has given only damaged pictures for {READ_S:g} s; try another cable or port")
        return None

    def _next_frame(self) -> DeviceFrame | None:
        """Wait for a frame of the thread; None once closed. Raises CameraError."""
        with self._changed:
            self._t_asked_ns = now_ns()
            if not self._changed.wait_for(lambda: self._frame or self._error or self._closing, READ_S):
                raise CameraError(self.name, f"has given no picture for {READ_S:g} s; is it plugged in?")
            if self._closing:
                return None
            if self._error is not None:
                raise self._error
            frame, self._frame = self._frame, None
            return frame

    def adjust(self, settings: Mapping[str, Any]) -> list[str]:
        """Change exposure, gain, white balance and focus between two frames; return deviations, for the user.

        settings: some, by name. May be called by any thread; waits for two seconds at most.
        """
        try:
            wanted = replace(self._wanted, **settings)
            check_settings(wanted)
        except SettingsError as error:
            return [str(error)]
        self._wanted, request = wanted, _Request(wanted)
        with self._changed:
            if self._closing or self._error is not None:
                return ["the camera is not open"]
            self._requests.append(request)
        if not request.done.wait(ADJUST_S):
            return ["the camera does not answer; it will be set once it does"]
        later = [name for name in SET_ON_OPENING if getattr(wanted, name) != getattr(self._settings, name)]
        return request.deviations + [f"camera.{name} counts from the next start on" for name in later]

    def close(self) -> None:
        """Close the camera; a driver that hangs is left to itself."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        if self._thread is not threading.current_thread():
            self._thread.join(JOIN_S)

    def _wait_for_opening(self) -> None:
        """Wait until the camera gives frames. Raises the error of its thread."""
        with self._changed:
            ready = self._changed.wait_for(lambda: self._grabber or self._error, OPEN_S)
            error = self._error
        if error is not None:
            self._thread.join(JOIN_S)
            raise error
        if not ready or self._grabber is None:
            self._closing = True
            raise CameraError(self.name, f"could not be opened within {OPEN_S:g} s; plug it in anew, or try another port")
        self.size, self.fps, self.stamp = self._grabber.size, self._grabber.fps, self._grabber.stamp
        if self._grabber.deviations:
            self.facts["otherwise"] = "; ".join(self._grabber.deviations)

    def _run(self) -> None:
        """Open, then pass on frames until closed; an error ends it and is passed on too."""
        device: Device | None = None
        try:
            device = self._opened()
            grabber = Grabber(device, self._backend, self._settings, self.name, self.facts)
            grabber.begin()
            with self._changed:
                self._grabber = grabber
                self._changed.notify_all()
            while not self._closing:
                self._apply_requests(grabber)
                self._pass_on(grabber.next_frame(), grabber.stamp)
        except SourceError as error:
            self._fail(error)
        except Exception as error:
            log.debug("webcam", exc_info=True)
            self._fail(CameraError(self.name, f"fails: {' '.join(str(error).split()) or type(error).__name__}"))
        finally:
            if device is not None:
                with contextlib.suppress(cv2.error):
                    device.release()

    def _opened(self) -> Device:
        """Find the camera and open it. Raises SourceError."""
        index = locate_camera(self._identity, self._devices.lister(self._backend))
        device = self._devices.opener(index, self._backend)
        if device.isOpened():
            return device
        device.release()
        raise CameraError(self.name, f"cannot be opened: {describe_open_failure(index, self._backend)}")

    def _apply_requests(self, grabber: Grabber) -> None:
        """Apply requested settings."""
        with self._changed:
            requests, self._requests = self._requests, []
        for request in requests:
            request.deviations = grabber.adjust(request.settings)
            request.done.set()

    def _pass_on(self, frame: DeviceFrame, stamp: Stamp) -> None:
        """Pass a frame to the reader, in place of one that was not read. stamp: may change as the driver's times prove wrong."""
        with self._changed:
            self.stamp = stamp
            if self._frame is not None and now_ns() - self._t_asked_ns < READING_NS:  # nobody reads while a run starts
                self.facts["skipped"] = int(self.facts["skipped"]) + 1
            self._frame = frame
            self._changed.notify_all()

    def _fail(self, error: Exception) -> None:
        """Pass an error to the reader."""
        with self._changed:
            self._error = error
            self._changed.notify_all()
