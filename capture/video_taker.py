"""Record one camera's pictures as they come, while it is told to: a video and its stamps in a session folder.

The reading thread only puts a picture into a queue; a thread of the recording compresses what did not come as JPEG, writes a few
times a second, and asks for the disk itself every few seconds. What does not fit into the queue is dropped, counted and told. A
disk that is full or gone ends the recording, never the camera.
"""

import logging
import threading
from collections import deque
from dataclasses import replace
from pathlib import Path
from time import monotonic

import cv2
import numpy as np

from capture.packets import Blobs, Frame
from capture.sources import Source
from capture.video_stamps import StampWriter
from capture.video_writer import VideoWriter
from config.errors import reason

log = logging.getLogger(__name__)

FLUSH_S = 0.2
SYNC_S = 5.0
MAX_QUEUED = 240
MAX_QUEUED_BYTES = 96 << 20  # 100 pictures of 640x480 that did not come as JPEG
JPEG_QUALITY = 95
CLOSE_S = 3.0
MAX_PARTS = 1000
TELL_PERIOD_S = 1.0
NO_IMAGE = np.zeros((0, 0, 3), np.uint8)


def part_file(folder: Path, stem: str, part: int, suffix: str) -> Path:
    """Give the file of a part: left.mkv, left.2.mkv and so on."""
    return folder / (f"{stem}{suffix}" if part == 1 else f"{stem}.{part}{suffix}")


def free_part(folder: Path, stem: str) -> int:
    """Give the first part of a camera that is not there yet. Raises OSError."""
    taken = {file.name for file in folder.iterdir()}
    names = ({part_file(folder, stem, part, end).name for end in (".mkv", ".csv")} for part in range(1, MAX_PARTS))
    return next((part for part, both in enumerate(names, 1) if not both & taken), MAX_PARTS)


class VideoRecording:
    """One part of a recording: queue, thread and files; pictures of one size [px].

    n_written: pictures in the file; n_lost: dropped; fault: what ended it early; before: the part whose files come first.
    """

    def __init__(
        self, folder: Path, stem: str, source: Source, size: tuple[int, int], before: "VideoRecording | None" = None
    ) -> None:
        self._folder, self._stem, self.size = folder, stem, size
        self._fps, self._stamp = source.fps, str(source.stamp)
        self.file, self.fault = folder / f"{stem}.mkv", ""
        self.n_written = self.n_lost = 0
        self._queue: deque[tuple[Frame, int]] = deque()
        self._n_queued_bytes = self._n_being_written = 0
        self._closing = False
        self._changed = threading.Condition()
        self._before, self._named = before, threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"record-{stem}", daemon=True)
        self._thread.start()

    def put(self, frame: Frame, t_read_ns: int) -> None:
        """Take a picture; never waits."""
        if frame.jpeg is not None:
            frame = replace(frame, image=NO_IMAGE)  # or what waits would hold both
        n_bytes = _n_bytes(frame)
        with self._changed:
            if self._closing:
                return
            full = len(self._queue) >= MAX_QUEUED or self._n_queued_bytes + n_bytes > MAX_QUEUED_BYTES
            if self.fault or full:
                self.n_lost += 1
                return
            self._queue.append((frame, t_read_ns))
            self._n_queued_bytes += n_bytes

    def finish(self) -> None:
        """Take no more; the files are complete as soon as `is_done`."""
        with self._changed:
            self._closing = True
            self._changed.notify()

    @property
    def is_done(self) -> bool:
        """Tell whether the files are closed."""
        return not self._thread.is_alive()

    def wait(self, timeout_s: float) -> None:
        """Wait until the files are closed; a disk that hangs is left to itself."""
        self._thread.join(timeout_s)

    def end(self) -> str:
        """Say how it ended."""
        lost = f", {self.n_lost} are not in it" if self.n_lost else ""
        return f"{self.fault}{lost}" if self.fault else f"recorded {self.file}: {self.n_written} pictures{lost}"

    def _run(self) -> None:
        """Write until told to finish; the body of the thread."""
        video: VideoWriter | None = None
        stamps: StampWriter | None = None
        try:
            if self._before is not None:  # or the parts could be numbered in the wrong order
                self._before._named.wait(CLOSE_S)
                self._before = None
            part = free_part(self._folder, self._stem)
            self.file = part_file(self._folder, self._stem, part, ".mkv")
            video = VideoWriter(self.file, self.size, self._fps)
            stamps = StampWriter(self.file.with_suffix(".csv"))
            self._named.set()
            self._write_until_told(video, stamps)
            video.close()
            stamps.close()
        except Exception as error:  # the disk, most likely; whatever it is, the camera goes on and the user is told
            log.debug("recording failed", exc_info=True)
            self._fail(error)
            if video is not None:
                video.abandon()
            if stamps is not None:
                stamps.abandon()
        finally:
            self._named.set()

    def _write_until_told(self, video: VideoWriter, stamps: StampWriter) -> None:
        """Write what waits, a few times a second. Raises OSError."""
        synced_s, closing = monotonic(), False
        while not closing:
            with self._changed:
                closing = self._changed.wait_for(lambda: self._closing, FLUSH_S)
            self._write_queued(video, stamps)
            if monotonic() - synced_s > SYNC_S:
                video.sync()
                synced_s = monotonic()

    def _write_queued(self, video: VideoWriter, stamps: StampWriter) -> None:
        """Write what waits. Raises OSError."""
        with self._changed:
            waiting, self._queue = self._queue, deque()
            self._n_being_written = len(waiting)
        for frame, t_read_ns in waiting:
            video.write(frame.jpeg or _compressed(frame), frame.t_capture_ns)
            stamps.write(frame.index, frame.t_capture_ns, t_read_ns, self._stamp)
            with self._changed:  # one by one: what waits for the compressor counts
                self._n_queued_bytes -= _n_bytes(frame)
        video.flush()
        stamps.flush()
        self.n_written, self._n_being_written = self.n_written + self._n_being_written, 0

    def _fail(self, error: Exception) -> None:
        """End early and count what is not in the file."""
        with self._changed:
            what = reason(error) if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
            self.fault = f"{self.file}: recording stopped ({what}); what was recorded before is intact"
            self.n_lost += len(self._queue) + self._n_being_written
            self._queue.clear()


class VideoTaker:
    """Takes every picture of a camera and records while told to. stem: of the files, such as `left`.

    A camera that was opened anew, whose pictures count from 0 again or have another size, goes on in a new part.
    """

    def __init__(self, stem: str, source: Source) -> None:
        self._stem, self._source = stem, source
        self._size, self._last_index = source.size, -1
        self._lock = threading.Lock()
        self._recording: VideoRecording | None = None
        self._finishing: list[VideoRecording] = []
        self._folder = ""
        self._closed = False
        self._n_told, self._tell_due_s = 0, 0.0

    def take(self, frame: Frame, blobs: Blobs, t_read_ns: int) -> None:
        """Take a picture; never waits."""
        recording = self._recording
        size = (frame.image.shape[1], frame.image.shape[0])
        anew = size != self._size or frame.index <= self._last_index
        self._size, self._last_index = size, frame.index
        if recording is not None and anew:
            recording = self._next_part()
        if recording is not None:
            recording.put(frame, t_read_ns)

    def record(self, folder: str) -> None:
        """Record to a folder from now on, to a part of its own; empty: stop. The same folder again changes nothing."""
        with self._lock:
            if folder == self._folder or self._closed:
                return
            self._finish()
            self._folder = folder
            if folder:
                self._recording = self._begun()

    def counts(self) -> dict[str, int]:
        """Give how many pictures of the present recording are in the file, and how many never will be; nothing where none is."""
        recording = self._recording
        return {} if recording is None else {"recorded": recording.n_written, "unrecorded": recording.n_lost}

    def news(self) -> list[str]:
        """Give in words what happened since the last time."""
        with self._lock:
            words = []
            recording = self._recording
            if recording is not None and recording.fault:
                self._finish()
            elif recording is not None and recording.n_lost > self._n_told and monotonic() >= self._tell_due_s:
                n_new, self._n_told = recording.n_lost - self._n_told, recording.n_lost
                self._tell_due_s = monotonic() + TELL_PERIOD_S
                words.append(f"{n_new} pictures of the {self._stem} camera are not recorded: disk or machine are too slow")
            words += [done.end() for done in self._finishing if done.is_done]
            self._finishing = [waiting for waiting in self._finishing if not waiting.is_done]
            return words

    def close(self) -> None:
        """Complete what is being recorded."""
        with self._lock:
            self._closed = True
            self._finish()
            for recording in self._finishing:
                recording.wait(CLOSE_S)

    def _begun(self) -> VideoRecording:
        """Begin a part."""
        self._n_told = 0
        before = self._finishing[-1] if self._finishing else None
        return VideoRecording(Path(self._folder), self._stem, self._source, self._size, before)

    def _next_part(self) -> VideoRecording | None:
        """End a part and begin the next."""
        with self._lock:
            if self._recording is not None:
                self._finish()
                self._recording = self._begun()
            return self._recording

    def _finish(self) -> None:
        """Begin to end the present recording, if there is one."""
        recording, self._recording = self._recording, None
        if recording is not None:
            recording.finish()
            self._finishing.append(recording)


def _n_bytes(frame: Frame) -> int:
    """Give what a waiting picture takes."""
    return len(frame.jpeg) if frame.jpeg is not None else frame.image.nbytes


def _compressed(frame: Frame) -> bytes:
    """Give a picture as JPEG. Raises ValueError: it cannot be."""
    ok, data = cv2.imencode(".jpg", frame.image, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
    if not ok:
        raise ValueError(f"a picture of {frame.image.shape} cannot be compressed")
    return bytes(data.tobytes())
