"""Record one camera's images while told to: a video and its timestamps in a session folder.

The reading thread only queues an image. A thread of the recording compresses what did not come as JPEG, writes a few times a
second, and syncs the disk every few seconds. What does not fit into the queue is dropped, counted and reported. A disk that is
full or lost ends the recording, never the camera.
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
from capture.process.plan import FrameSink
from capture.recording.session import name_part_file
from capture.recording.video import VideoWriter
from capture.sources.recorded_times import StampWriter
from capture.sources.source import Source
from config.errors import describe_reason
from config.words import format_count

log = logging.getLogger(__name__)

FLUSH_S = 0.2
SYNC_S = 5.0
MAX_QUEUED = 240
MAX_QUEUED_BYTES = 96 << 20  # 100 pictures of 640x480 that did not come as JPEG
JPEG_QUALITY = 95
CLOSE_S = 3.0
MAX_PARTS = 1000
NOTICE_PERIOD_S = 1.0
NO_IMAGE = np.zeros((0, 0, 3), np.uint8)


def find_free_part(folder: Path, stem: str) -> int:
    """Return the number of the first part of a camera that does not exist yet. Raises OSError."""
    taken = {file.name for file in folder.iterdir()}
    names = ({name_part_file(folder, stem, part, end).name for end in (".mkv", ".csv")} for part in range(1, MAX_PARTS))
    return next((part for part, both in enumerate(names, 1) if not both & taken), MAX_PARTS)


class VideoRecording:
    """One part of a recording: queue, thread and files; images of one size [px].

    n_written: images in the file; n_lost: dropped; fault: what ended it early; previous: the part before, named first.
    """

    def __init__(
        self, folder: Path, stem: str, source: Source, size: tuple[int, int], previous: "VideoRecording | None" = None
    ) -> None:
        self._folder, self._stem, self.size = folder, stem, size
        self._fps, self._stamp = source.fps, str(source.stamp)
        self.file, self.fault = folder / f"{stem}.mkv", ""
        self.n_written = self.n_lost = 0
        self._queue: deque[tuple[Frame, int]] = deque()
        self._n_queued_bytes = self._n_being_written = 0
        self._closing = False
        self._changed = threading.Condition()
        self._previous, self._named = previous, threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"record-{stem}", daemon=True)
        self._thread.start()

    def put(self, frame: Frame, t_read_ns: int) -> None:
        """Queue an image; never waits."""
        if frame.jpeg is not None:
            frame = replace(frame, image=NO_IMAGE)  # or the queue would hold both
        n_bytes = _count_bytes(frame)
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
        """Accept no more images; the files are complete as soon as `is_closed`."""
        with self._changed:
            self._closing = True
            self._changed.notify()

    @property
    def is_closed(self) -> bool:
        """Whether the files are closed."""
        return not self._thread.is_alive()

    def wait(self, timeout_s: float) -> None:
        """Wait until the files are closed, at most timeout_s."""
        self._thread.join(timeout_s)

    def describe_end(self) -> str:
        """Return how it ended, for the user."""
        lost = f", {self.n_lost} are not in it" if self.n_lost else ""
        return f"{self.fault}{lost}" if self.fault else f"recorded {self.file}: {format_count(self.n_written, 'picture')}{lost}"

    def _run(self) -> None:
        """Write until told to finish."""
        video: VideoWriter | None = None
        stamps: StampWriter | None = None
        try:
            if self._previous is not None:  # or the parts might be numbered in the wrong order
                self._previous._named.wait(CLOSE_S)
                self._previous = None
            part = find_free_part(self._folder, self._stem)
            self.file = name_part_file(self._folder, self._stem, part, ".mkv")
            video = VideoWriter(self.file, self.size, self._fps)
            stamps = StampWriter(self.file.with_suffix(".csv"))
            self._named.set()
            self._write_until_closed(video, stamps)
            video.close()
            stamps.close()
        except Exception as error:  # most likely the disk; the camera goes on, and the user is notified
            log.debug("recording failed", exc_info=True)
            self._fail(error)
            if video is not None:
                video.abandon()
            if stamps is not None:
                stamps.abandon()
        finally:
            self._named.set()

    def _write_until_closed(self, video: VideoWriter, stamps: StampWriter) -> None:
        """Write the queue, a few times a second. Raises OSError."""
        synced_s, closing = monotonic(), False
        while not closing:
            with self._changed:
                closing = self._changed.wait_for(lambda: self._closing, FLUSH_S)
            self._write_queued(video, stamps)
            if monotonic() - synced_s > SYNC_S:
                video.sync()
                synced_s = monotonic()

    def _write_queued(self, video: VideoWriter, stamps: StampWriter) -> None:
        """Write the queue. Raises OSError."""
        with self._changed:
            waiting, self._queue = self._queue, deque()
            self._n_being_written = len(waiting)
        for frame, t_read_ns in waiting:
            video.write(frame.jpeg or _compress_image(frame), frame.t_capture_ns)
            stamps.write(frame.index, frame.t_capture_ns, t_read_ns, self._stamp)
            with self._changed:  # one by one: what waits for the compressor counts as queued
                self._n_queued_bytes -= _count_bytes(frame)
        video.flush()
        stamps.flush()
        self.n_written, self._n_being_written = self.n_written + self._n_being_written, 0

    def _fail(self, error: Exception) -> None:
        """End early; count what is not in the file."""
        with self._changed:
            what = describe_reason(error) if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
            self.fault = f"{self.file}: recording stopped ({what}); what was recorded before is intact"
            self.n_lost += len(self._queue) + self._n_being_written
            self._queue.clear()


class VideoSink(FrameSink):
    """Takes every image of a camera and records while told to. stem: of the files, such as `left`.

    A camera that was opened again, whose images count from 0 again or have another size, continues in a new part.
    """

    def __init__(self, stem: str, source: Source) -> None:
        self._stem, self._source = stem, source
        self._size, self._last_index = source.size, -1
        self._lock = threading.Lock()
        self._recording: VideoRecording | None = None
        self._finishing: list[VideoRecording] = []
        self._folder = ""
        self._closed = False
        self._n_reported, self._notice_due_s = 0, 0.0

    def take(self, frame: Frame, blobs: Blobs, t_read_ns: int) -> None:
        """Take an image; never waits.

        Args:
            blobs: the markers detected in it.
            t_read_ns: when it was in memory.
        """
        recording = self._recording
        size = (frame.image.shape[1], frame.image.shape[0])
        restarted = size != self._size or frame.index <= self._last_index
        self._size, self._last_index = size, frame.index
        if recording is not None and restarted:
            recording = self._next_part()
        if recording is not None:
            recording.put(frame, t_read_ns)

    def record(self, folder: str) -> None:
        """Record to a new part in a folder from now on; stop where it is empty. The same folder again changes nothing."""
        with self._lock:
            if folder == self._folder or self._closed:
                return
            self._finish()
            self._folder = folder
            if folder:
                self._recording = self._begin_part()

    def counts(self) -> dict[str, int]:
        """Return the numbers of images in the file and of images lost, nothing while not recording."""
        recording = self._recording
        return {} if recording is None else {"recorded": recording.n_written, "unrecorded": recording.n_lost}

    def notices(self) -> list[str]:
        """Return the notices since the last call."""
        with self._lock:
            notices = []
            recording = self._recording
            if recording is not None and recording.fault:
                self._finish()
            elif recording is not None and recording.n_lost > self._n_reported and monotonic() >= self._notice_due_s:
                n_new, self._n_reported = recording.n_lost - self._n_reported, recording.n_lost
                self._notice_due_s = monotonic() + NOTICE_PERIOD_S
                notices.append(
                    f"{format_count(n_new, 'picture')} of the {self._stem} camera not recorded: disk or machine are too slow"
                )
            notices += [done.describe_end() for done in self._finishing if done.is_closed]
            self._finishing = [waiting for waiting in self._finishing if not waiting.is_closed]
            return notices

    def close(self) -> None:
        """Complete the recording."""
        with self._lock:
            self._closed = True
            self._finish()
            for recording in self._finishing:
                recording.wait(CLOSE_S)

    def _begin_part(self) -> VideoRecording:
        """Begin a part."""
        self._n_reported = 0
        previous = self._finishing[-1] if self._finishing else None
        return VideoRecording(Path(self._folder), self._stem, self._source, self._size, previous)

    def _next_part(self) -> VideoRecording | None:
        """End a part and begin the next."""
        with self._lock:
            if self._recording is not None:
                self._finish()
                self._recording = self._begin_part()
            return self._recording

    def _finish(self) -> None:
        """Begin to end the present recording, if any."""
        recording, self._recording = self._recording, None
        if recording is not None:
            recording.finish()
            self._finishing.append(recording)


def _count_bytes(frame: Frame) -> int:
    """Return the memory of a queued image."""
    return len(frame.jpeg) if frame.jpeg is not None else frame.image.nbytes


def _compress_image(frame: Frame) -> bytes:
    """Return an image as JPEG. Raises ValueError: it cannot be compressed."""
    ok, data = cv2.imencode(".jpg", frame.image, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
    if not ok:
        raise ValueError(f"a picture of {frame.image.shape} cannot be compressed")
    return bytes(data.tobytes())
