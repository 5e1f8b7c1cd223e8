"""Looks for a board in a camera's pictures, in that camera's process: a taker with a thread of its own that sends corners.

Both cameras look at the frames next after the same moments, TICK_NS apart on the clock they share, so that what they see pairs
though each finds as fast as it can.
"""

import logging
import threading
import time
from collections.abc import Callable

import numpy as np
import zmq

from calibration.board import Board
from calibration.board_find import find_board
from calibration.board_words import why_no_board
from calibration.views import BoardView
from capture.blob_line import BlobLine
from capture.board_wire import Sight, decode_sight, encode_sight
from capture.packets import Blobs, Frame
from capture.sources import Source
from capture.wire import MAX_MESSAGE_BYTES, MalformedMessageError

log = logging.getLogger(__name__)

TICK_NS = 100_000_000
WHY_AFTER_NS, WHY_EVERY_NS = 1_500_000_000, 6_000_000_000
FORGET = 0.9  # of the usual time of a look, by each that is quicker
BUSY, MOST_TICKS = 1.1, 8
JOIN_S = 2.0
RECEIVE_BUFFER_MESSAGES = 64

Find = Callable[[Frame, Board], BoardView | None]
Why = Callable[[Frame, Board], str]


def find_quickly(frame: Frame, board: Board) -> BoardView | None:
    """Find a board in a frame, in time for the next."""
    return find_board(frame.image, board, name=f"frame {frame.index}", t_ns=frame.t_capture_ns, quick=True)


def say_why_not(frame: Frame, board: Board) -> str:
    """Say what is to be seen of a board where none was found."""
    return why_no_board([frame.image], board)


def step_ns(took_ms: float, tick_ns: int = TICK_NS) -> int:
    """Give the time between two looks where one takes so long: one tick, two, four or eight.

    Cameras that are too slow for every tick then look at the same ones, as rasters of powers of two lie in each other.
    """
    step = tick_ns
    while step < BUSY * took_ms * 1e6 and step < MOST_TICKS * tick_ns:
        step *= 2
    return step


class BoardWatch:
    """Finds a board in one camera's frames and sends what it sees to an address; see `capture.plan.Taker`.

    find, why: how, for tests.
    """

    def __init__(
        self, board: Board, address: str, tick_ns: int = TICK_NS, find: Find = find_quickly, why: Why = say_why_not
    ) -> None:
        self._board, self._address, self._tick_ns = board, address, tick_ns
        self._find, self._why = find, why
        self._due_ns, self._step_ns, self._usual_ms = 0, tick_ns, 0.0
        self._newest: Frame | None = None
        self._came, self._stop = threading.Event(), threading.Event()
        self._none_since_ns = self._why_due_ns = 0
        self._words, self._asking = "", None  # type: str, threading.Thread | None
        self._told_fault = False
        self._thread = threading.Thread(target=self._run, name="board", daemon=True)
        self._thread.start()

    def take(self, frame: Frame, blobs: Blobs, t_read_ns: int) -> None:
        """Take the frame that is next after a tick; others pass."""
        t_ns = frame.t_capture_ns
        step_ns = self._step_ns
        if 0 < self._due_ns - t_ns <= step_ns:
            return
        self._due_ns = (t_ns // step_ns + 1) * step_ns
        self._newest = frame
        self._came.set()

    def close(self) -> None:
        """End the threads; a process that ended while one of them is in the search would abort."""
        self._stop.set()
        self._came.set()
        self._thread.join(JOIN_S)
        if self._asking is not None:
            self._asking.join(JOIN_S)

    def _run(self) -> None:
        """Look at the newest frame, again and again; a fault of the search costs that frame."""
        line = BlobLine(None)
        while not self._stop.is_set():
            self._came.wait()
            self._came.clear()
            frame, self._newest = self._newest, None
            if frame is None:
                continue
            try:
                line.send(encode_sight(self._sight(frame)), self._address)
            except Exception as error:
                level = logging.DEBUG if self._told_fault else logging.WARNING
                log.log(level, "a picture could not be searched: %s: %s", type(error).__name__, error, exc_info=self._told_fault)
                self._told_fault = True
        line.close(0)

    def _sight(self, frame: Frame) -> Sight:
        """Look for the board in a frame; where it has not been found for a while, find out what is seen instead."""
        t0 = time.perf_counter()
        view = self._find(frame, self._board)
        t_ns = frame.t_capture_ns
        if view is not None:
            self._none_since_ns, self._words = 0, ""
        else:
            self._none_since_ns = self._none_since_ns or t_ns
            if t_ns - self._none_since_ns >= WHY_AFTER_NS and not 0 < self._why_due_ns - t_ns <= WHY_EVERY_NS:
                self._find_out_why(frame)
        took_ms = 1e3 * (time.perf_counter() - t0)
        self._usual_ms = max(FORGET * self._usual_ms, took_ms)
        self._step_ns = step_ns(self._usual_ms, self._tick_ns)
        size = (frame.image.shape[1], frame.image.shape[0])
        return Sight(frame.camera, frame.index, t_ns, size, view, self._words, took_ms)

    def _find_out_why(self, frame: Frame) -> None:
        """Find out what is seen instead, in a thread of its own: that takes a second or more, and sights must go on."""
        if self._asking is not None and self._asking.is_alive():
            return
        self._why_due_ns = frame.t_capture_ns + WHY_EVERY_NS

        def ask() -> None:
            since_ns = self._none_since_ns
            words = self._why(frame, self._board)
            if self._none_since_ns == since_ns:  # else the board has come meanwhile
                self._words = words

        self._asking = threading.Thread(target=ask, name="why", daemon=True)
        self._asking.start()


def open_board_watch(board: Board, address: str, tick_ns: int, source: Source) -> BoardWatch:
    """Make what looks for a board, in a camera's process."""
    return BoardWatch(board, address, tick_ns)


class NoMarkers:
    """A detector that looks for nothing; see `capture.plan.Detects`."""

    def step(self, frame: Frame) -> Blobs:
        """Give no blobs, and how light the picture is."""
        none = np.zeros(0)
        light = float(frame.image[::16, ::16].mean())
        return Blobs(frame.camera, frame.index, frame.t_capture_ns, np.zeros((0, 2)), none, np.zeros((0, 3)), none, light)


def no_detector(source: Source) -> NoMarkers:
    """Make a detector that looks for nothing."""
    return NoMarkers()


class BoardInbox:
    """Where both cameras' sights come in, on a free port of the loopback interface; used by one thread."""

    def __init__(self) -> None:
        self._socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.PULL)
        self._socket.setsockopt(zmq.RCVHWM, RECEIVE_BUFFER_MESSAGES)
        self._socket.setsockopt(zmq.MAXMSGSIZE, MAX_MESSAGE_BYTES)
        self._socket.setsockopt(zmq.LINGER, 0)
        self.address = f"tcp://127.0.0.1:{self._socket.bind_to_random_port('tcp://127.0.0.1')}"
        self.n_malformed = 0

    def drain(self) -> list[Sight]:
        """Give all that came; never waits."""
        sights: list[Sight] = []
        for _ in range(RECEIVE_BUFFER_MESSAGES):
            try:
                sights.append(decode_sight(self._socket.recv(zmq.NOBLOCK)))
            except zmq.Again:
                break
            except MalformedMessageError as error:
                self.n_malformed += 1
                log.debug("%s", error)
        return sights

    def close(self) -> None:
        """Close the socket."""
        self._socket.close(0)
