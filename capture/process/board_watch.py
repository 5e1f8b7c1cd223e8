"""Find a calibration board in a camera's frames, in the camera's process: a sink with its own thread that sends corners.

Both cameras search the frames that follow the same ticks of the clock they share, so that their detections pair although each
searches as fast as it can.
"""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import replace

from calibration.board.diagnosis import describe_seen_instead
from calibration.board.find import find_board
from calibration.board.pattern import Board
from calibration.board.views import BoardView
from capture.packets import Blobs, Frame, make_empty_blobs
from capture.process.board_detection import BoardDetection, encode_board_detection
from capture.process.plan import FrameSink
from capture.sockets.wire import BlobSender
from capture.sources.source import Source

log = logging.getLogger(__name__)

TICK_NS = 100_000_000
WHY_AFTER_NS, WHY_EVERY_NS = 1_500_000_000, 6_000_000_000  # without a board: when to look for the reason
FORGET = 0.9  # of the usual duration of a search, by each shorter one
BUSY, MAX_TICKS = 1.1, 8
JOIN_S = 2.0

Find = Callable[[Frame, Board], BoardView | None]
Why = Callable[[Frame, Board], str]


def find_board_quickly(frame: Frame, board: Board) -> BoardView | None:
    """Return a board in a frame, in time for the next."""
    return find_board(frame.image, board, name=f"frame {frame.index}", t_ns=frame.t_capture_ns, quick=True)


def describe_failure(frame: Frame, board: Board) -> str:
    """Return in words what is seen where no board was found; empty where nothing like a board is."""
    return describe_seen_instead(frame.image, board)


def choose_search_interval_ns(took_ms: float) -> int:
    """Return the time between two searches of a given duration: one, two, four or eight ticks.

    With powers of two a slow camera searches some of the ticks of a fast one.
    """
    step = TICK_NS
    while step < BUSY * took_ms * 1e6 and step < MAX_TICKS * TICK_NS:
        step *= 2
    return step


class BoardWatch(FrameSink):
    """Finds a board in one camera's frames and sends what it sees to an address.

    find, why: search functions, replaced in tests.
    """

    def __init__(self, board: Board, address: str, find: Find = find_board_quickly, why: Why = describe_failure) -> None:
        self._board, self._address = board, address
        self._find, self._why = find, why
        self._due_ns, self._step_ns, self._usual_ms = 0, TICK_NS, 0.0
        self._newest: Frame | None = None
        self._arrived, self._stop = threading.Event(), threading.Event()
        self._missing_since_ns = self._why_due_ns = 0
        self._words, self._why_thread = "", None  # type: str, threading.Thread | None
        self._fault_logged = False
        self._thread = threading.Thread(target=self._run, name="board", daemon=True)
        self._thread.start()

    def take(self, frame: Frame, blobs: Blobs, t_read_ns: int) -> None:
        """Take the first frame after a tick; ignore others.

        Args:
            blobs: the markers detected in it.
            t_read_ns: when it was in memory.
        """
        t_ns = frame.t_capture_ns
        step_ns = self._step_ns
        if 0 < self._due_ns - t_ns <= step_ns:
            return
        self._due_ns = (t_ns // step_ns + 1) * step_ns
        self._newest = frame
        self._arrived.set()

    def close(self) -> None:
        """End the threads; a process that ended while one of them is searching would abort."""
        self._stop.set()
        self._arrived.set()
        self._thread.join(JOIN_S)
        if self._why_thread is not None:
            self._why_thread.join(JOIN_S)

    def _run(self) -> None:
        """Search the newest frame, again and again; a fault of the search costs that frame."""
        sender = BlobSender(None)
        while not self._stop.is_set():
            self._arrived.wait()
            self._arrived.clear()
            frame, self._newest = self._newest, None
            if frame is None:
                continue
            try:
                sender.send(encode_board_detection(self._search(frame)), self._address)
            except Exception as error:
                level = logging.DEBUG if self._fault_logged else logging.WARNING
                log.log(
                    level, "a picture could not be searched: %s: %s", type(error).__name__, error, exc_info=self._fault_logged
                )
                self._fault_logged = True
        sender.close(0)

    def _search(self, frame: Frame) -> BoardDetection:
        """Search a frame; where no board has been found for a while, find out why."""
        t0 = time.perf_counter()
        view = self._find(frame, self._board)
        t_ns = frame.t_capture_ns
        if view is not None:
            self._missing_since_ns, self._words = 0, ""
        else:
            self._missing_since_ns = self._missing_since_ns or t_ns
            if t_ns - self._missing_since_ns >= WHY_AFTER_NS and not 0 < self._why_due_ns - t_ns <= WHY_EVERY_NS:
                self._find_out_why(frame)
        took_ms = 1e3 * (time.perf_counter() - t0)
        self._usual_ms = max(FORGET * self._usual_ms, took_ms)
        self._step_ns = choose_search_interval_ns(self._usual_ms)
        size = (frame.image.shape[1], frame.image.shape[0])
        return BoardDetection(frame.camera, frame.index, t_ns, size, view, self._words)

    def _find_out_why(self, frame: Frame) -> None:
        """Find out what is seen instead, in a thread: it takes a second or more, and the search must go on."""
        if self._why_thread is not None and self._why_thread.is_alive():
            return
        self._why_due_ns = frame.t_capture_ns + WHY_EVERY_NS

        def run() -> None:
            since_ns = self._missing_since_ns
            words = self._why(frame, self._board)
            if self._missing_since_ns == since_ns:  # else the board has come meanwhile
                self._words = words

        self._why_thread = threading.Thread(target=run, name="why", daemon=True)
        self._why_thread.start()


def open_board_watch(board: Board, address: str, source: Source) -> BoardWatch:
    """Return a board watch in a camera's process.

    Args:
        board: to be found.
        address: to which it sends what it sees.
        source: the camera.
    """
    return BoardWatch(board, address)


class NullDetector:
    """A `capture.process.plan.FrameDetector` that finds nothing."""

    def step(self, frame: Frame) -> Blobs:
        """Return no blobs, with the brightness of the image."""
        light = float(frame.image[::16, ::16].mean())
        return replace(make_empty_blobs(frame.camera, frame.index, frame.t_capture_ns), light=light)


def open_null_detector(source: Source) -> NullDetector:
    """Return a detector that finds nothing."""
    return NullDetector()
