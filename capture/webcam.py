"""A webcam of this machine through OpenCV, as a source that never keeps anybody waiting for ever.

A thread of its own opens the device, sets it, grabs and stamps; the reader decodes. So the next frame is fetched while the last
is decoded, only the newest is kept, and a driver that hangs holds up its own thread and nothing else.
"""

import contextlib
import logging
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import cv2

from capture.camera_names import Identity, Lister, list_cameras, locate
from capture.clock import now_ns
from capture.packets import Frame
from capture.sources import Facts, Stamp
from capture.webcam_access import why_not
from capture.webcam_backends import Backend, backend_of
from capture.webcam_chatter import divert_chatter
from capture.webcam_device import Grabber, Shot
from capture.webcam_settings import Device, changed, check_settings
from config.errors import SettingsError, SourceError
from config.settings import CameraSettings

log = logging.getLogger(__name__)

OPEN_S = 60.0  # Media Foundation may take 20
READ_S = 3.0
ADJUST_S = 2.0
JOIN_S = 1.0
READING_NS = 1_000_000_000
ON_OPENING = ("backend", "width", "height", "fps", "fourcc")


def open_device(index: int, backend: Backend) -> Device:
    """Open a device by OpenCV, with what it prints going to the log."""
    divert_chatter()
    # Or a camera that was unplugged would hold its thread for ten seconds.
    os.environ.setdefault("OPENCV_VIDEOIO_V4L_SELECT_TIMEOUT", "2")
    return cv2.VideoCapture(index, backend.api)


@dataclass(frozen=True, slots=True)
class Devices:
    """Where cameras come from: a list of them, and a way to open one; picklable, tests have their own."""

    lister: Lister = list_cameras
    opener: Callable[[int, Backend], Device] = open_device


@dataclass(slots=True)
class _Request:
    """Settings that somebody wants set, and the words that came of it."""

    settings: CameraSettings
    done: threading.Event = field(default_factory=threading.Event)
    words: list[str] = field(default_factory=list)


class Webcam:
    """A source of one webcam; see `capture.sources.Source`.

    facts: `name`, `backend`, `width`, `height`, `fourcc`, `fps_announced`, `fps_reached`, `stamp`, `exposure` and so on as the
    driver has them, `otherwise` in words, and counts: `stale` (let go of as too old), `damaged` (cut short on the cable),
    `skipped` (a newer one was there before they were read).
    """

    def __init__(self, identity: Identity, camera: int, settings: CameraSettings, devices: Devices | None = None) -> None:
        """Open the camera, wherever it is plugged in by now.

        Raises SourceError: it is not there, may not be opened, is in use, or gives nothing; SettingsError: impossible settings.
        """
        check_settings(settings)
        self._backend, self._identity, self._camera = backend_of(settings.backend), identity, camera
        self._settings = self._wanted = settings
        self._devices = devices or Devices()
        self.name = identity.label or identity.name
        self.size, self.fps, self.truncated = (settings.width, settings.height), settings.fps, False
        self.n_frames: int | None = None
        self.stamp = Stamp.READ
        self.facts: Facts = {"name": self.name}
        self._grabber: Grabber | None = None
        self._news = threading.Condition()
        self._shot: Shot | None = None
        self._error: Exception | None = None
        self._requests: list[_Request] = []
        self._closing = False
        self._index = self._t_asked_ns = 0
        self._thread = threading.Thread(target=self._run, name=f"webcam-{self.name}", daemon=True)
        self._thread.start()
        self._await_opening()

    @property
    def words(self) -> list[str]:
        """What the camera does otherwise than asked."""
        return list(self._grabber.words) if self._grabber is not None else []

    def read(self) -> Frame | None:
        """Wait for the next frame; None once closed. Raises SourceError: the camera is gone, or silent for some seconds."""
        t_begin_ns = now_ns()
        while (shot := self._next_shot()) is not None:
            image, jpeg = shot.picture()
            if image is not None and (image.shape[1], image.shape[0]) == self.size:
                self._index += 1
                return Frame(self._camera, self._index - 1, shot.t_ns, image, jpeg)
            self.facts["damaged"] = int(self.facts["damaged"]) + 1
            if now_ns() - t_begin_ns > READ_S * 1e9:
                raise SourceError(
                    f"camera {self.name!r} has given only damaged pictures for {READ_S:g} s; try another cable or port"
                )
        return None

    def _next_shot(self) -> Shot | None:
        """Wait for what the thread hands over; None once closed. Raises SourceError."""
        with self._news:
            self._t_asked_ns = now_ns()
            if not self._news.wait_for(lambda: self._shot or self._error or self._closing, READ_S):
                raise SourceError(f"camera {self.name!r} has given no picture for {READ_S:g} s; is it plugged in?")
            if self._closing:
                return None
            if self._error is not None:
                raise self._error
            shot, self._shot = self._shot, None
            return shot

    def adjust(self, settings: CameraSettings | Mapping[str, int | float | str]) -> list[str]:
        """Set exposure, gain, white balance and focus between two frames; give words on what was done otherwise.

        settings: all, or some by name. May be called by any thread; waits for two seconds at most.
        """
        try:
            wanted = settings if isinstance(settings, CameraSettings) else changed(self._wanted, settings)
            check_settings(wanted)
        except SettingsError as error:
            return [str(error)]
        self._wanted, request = wanted, _Request(wanted)
        with self._news:
            if self._closing or self._error is not None:
                return ["the camera is not open"]
            self._requests.append(request)
        if not request.done.wait(ADJUST_S):
            return ["the camera does not answer; it will be set once it does"]
        later = [name for name in ON_OPENING if getattr(wanted, name) != getattr(self._settings, name)]
        return request.words + [f"camera.{name} counts from the next start on" for name in later]

    def close(self) -> None:
        """Let the camera go; a driver that hangs is left to itself."""
        with self._news:
            self._closing = True
            self._news.notify_all()
        if self._thread is not threading.current_thread():
            self._thread.join(JOIN_S)

    def _await_opening(self) -> None:
        """Wait until the camera gives frames. Raises what kept it from that."""
        with self._news:
            ready = self._news.wait_for(lambda: self._grabber or self._error, OPEN_S)
            error = self._error
        if error is not None:
            self._thread.join(JOIN_S)
            raise error
        if not ready or self._grabber is None:
            self._closing = True
            raise SourceError(
                f"camera {self.name!r} could not be opened within {OPEN_S:g} s; plug it in anew, or try another port"
            )
        self.size, self.fps, self.stamp = self._grabber.size, self._grabber.fps, self._grabber.stamp
        if self._grabber.words:
            self.facts["otherwise"] = "; ".join(self._grabber.words)

    def _run(self) -> None:
        """Open, then hand over frames until closed; an error ends it and is handed over too."""
        device: Device | None = None
        try:
            device = self._opened()
            grabber = Grabber(device, self._backend, self._settings, self.name, self.facts)
            grabber.begin()
            with self._news:
                self._grabber = grabber
                self._news.notify_all()
            while not self._closing:
                self._obey(grabber)
                self._hand_over(grabber.shoot(), grabber.stamp)
        except SourceError as error:
            self._fail(error)
        except Exception as error:
            log.debug("webcam", exc_info=True)
            self._fail(SourceError(f"camera {self.name!r}: {' '.join(str(error).split()) or type(error).__name__}"))
        finally:
            if device is not None:
                with contextlib.suppress(cv2.error):
                    device.release()

    def _opened(self) -> Device:
        """Find the camera where it is now and open it. Raises SourceError."""
        index = locate(self._identity, self._devices.lister(self._backend))
        device = self._devices.opener(index, self._backend)
        if device.isOpened():
            return device
        device.release()
        raise SourceError(f"camera {self.name!r} cannot be opened: {why_not(index, self._backend)}")

    def _obey(self, grabber: Grabber) -> None:
        """Set what somebody wants set."""
        with self._news:
            requests, self._requests = self._requests, []
        for request in requests:
            request.words = grabber.adjust(request.settings)
            request.done.set()

    def _hand_over(self, shot: Shot, stamp: Stamp) -> None:
        """Give a frame to the reader, in place of one that was not fetched; stamp: the driver's may prove wrong any time."""
        with self._news:
            self.stamp = stamp
            if self._shot is not None and now_ns() - self._t_asked_ns < READING_NS:  # nobody reads while a run gets ready
                self.facts["skipped"] = int(self.facts["skipped"]) + 1
            self._shot = shot
            self._news.notify_all()

    def _fail(self, error: Exception) -> None:
        """Keep an error for the reader."""
        with self._news:
            self._error = error
            self._news.notify_all()
