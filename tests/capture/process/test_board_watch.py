"""The board's finder in a camera's process: ticks, a thread of its own, what it sends, and what it says where it finds none."""

import time
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

from calibration.board.pattern import Board, board_from_text
from calibration.board.views import BoardView
from capture.packets import Blobs, Frame
from capture.process.board_detection import BoardDetection, BoardInbox
from capture.process.board_watch import (
    TICK_NS,
    WHY_AFTER_NS,
    WHY_EVERY_NS,
    BoardWatch,
    NullDetector,
    choose_search_interval_ns,
    open_null_detector,
)
from tests.support.board_scenes import render_board, true_corners
from tests.support.rigs import synthetic_camera

BOARD = board_from_text("9x6:25")
MS = 1_000_000


def frame(index: int, t_ms: float, image: np.ndarray | None = None) -> Frame:
    return Frame(1, index, round(t_ms * MS), np.zeros((48, 64, 3), np.uint8) if image is None else image)


def nothing(frame: Frame) -> Blobs:
    return NullDetector().step(frame)


class Bench:
    """A watch whose sights come in here. looked: indices of the frames that were searched."""

    def __init__(self, find: Callable[[Frame, Board], BoardView | None] | None = None) -> None:
        self.inbox, self.looked, self.asked = BoardInbox(), list[int](), list[int]()
        self._inner = find
        self.watch = BoardWatch(BOARD, self.inbox.address, self._find, self._why)

    def _find(self, frame: Frame, board: Board) -> BoardView | None:
        self.looked.append(frame.index)
        return None if self._inner is None else self._inner(frame, board)

    def _why(self, frame: Frame, board: Board) -> str:
        self.asked.append(frame.index)
        return "half a board"

    def take(self, given: Frame, wait: bool = True) -> list[BoardDetection]:
        """Hand over a frame; gives what was sent, if anything is to come."""
        n = len(self.looked)
        self.watch.take(given, nothing(given), 0)
        deadline = time.monotonic() + (20.0 if wait else 0.1)
        sights: list[BoardDetection] = []
        while not sights and time.monotonic() < deadline and (wait or len(self.looked) > n):
            sights = self.inbox.drain()
            time.sleep(0.002)
        return sights

    def close(self) -> None:
        self.watch.close()
        self.inbox.close()


def test_frames_next_after_ticks_are_searched_and_told_of() -> None:
    bench = Bench()
    try:
        sent = bench.take(frame(0, 1005.0))
        assert [(sight.camera, sight.index, sight.t_capture_ns, sight.size) for sight in sent] == [(1, 0, 1005 * MS, (64, 48))]
        for index, t_ms in ((1, 1038.0), (2, 1071.0)):
            bench.watch.take(frame(index, t_ms), nothing(frame(index, t_ms)), 0)
        assert bench.take(frame(3, 1104.0))[0].index == 3
        assert bench.looked == [0, 3]
        assert bench.take(frame(4, 40.0))[0].index == 4  # the clock was set back
    finally:
        bench.close()


def test_a_slow_machine_looks_at_every_second_fourth_or_eighth_tick() -> None:
    ticks = {took_ms: choose_search_interval_ns(took_ms) // TICK_NS for took_ms in (0.0, 30.0, 90.0, 120.0, 250.0, 500.0, 5000.0)}
    assert ticks == {0.0: 1, 30.0: 1, 90.0: 1, 120.0: 2, 250.0: 4, 500.0: 8, 5000.0: 8}


def test_where_nothing_is_found_for_a_while_it_says_what_is_seen_now_and_then() -> None:
    bench = Bench()
    first, every = WHY_AFTER_NS // TICK_NS, WHY_EVERY_NS // TICK_NS
    try:
        told = [bench.take(frame(k, 1000.0 + 100.0 * k))[0].words for k in range(first + every)]
        assert set(told[:first]) == {""}
        deadline = time.monotonic() + 20.0
        k = first + every
        while told[-1] != "half a board" and time.monotonic() < deadline:  # it is found out in a thread of its own
            told.append(bench.take(frame(k, 1000.0 + 100.0 * k))[0].words)
            k += 1
        assert told[-1] == "half a board"
        assert bench.asked[0] == first
        assert all(later - earlier >= every for earlier, later in pairwise(bench.asked))
    finally:
        bench.close()


def test_a_fault_of_the_search_costs_the_frame_only() -> None:
    def faulty(given: Frame, board: Board) -> BoardView | None:
        if given.index == 0:
            raise ZeroDivisionError
        return BoardView(np.ones((len(board), 2)), np.ones(len(board), bool), given.t_capture_ns)

    bench = Bench(faulty)
    try:
        bench.watch.take(frame(0, 100.0), nothing(frame(0, 100.0)), 0)
        deadline = time.monotonic() + 20.0
        while not bench.looked and time.monotonic() < deadline:
            time.sleep(0.002)
        sent = bench.take(frame(1, 200.0))
        assert sent[-1].view is not None
        assert sent[-1].view.n_seen == len(BOARD)
    finally:
        bench.close()


def test_a_rendered_board_is_found_where_it_is() -> None:
    camera = synthetic_camera("left", (0.0, 0.0, 0.7), (0.0, 0.0, 0.0))
    rotvec, place = np.array([np.pi, 0.0, 0.1]), np.array([-0.1, 0.06, 0.0])
    grey = render_board(BOARD, camera, rotvec, place)
    inbox = BoardInbox()
    watch = BoardWatch(BOARD, inbox.address)
    try:
        given = frame(0, 100.0, np.repeat(grey[:, :, None], 3, axis=2))
        watch.take(given, nothing(given), 0)
        deadline, sights = time.monotonic() + 30.0, list[BoardDetection]()
        while not sights and time.monotonic() < deadline:
            sights = inbox.drain()
            time.sleep(0.01)
        assert sights and sights[0].view is not None
        view = sights[0].view
        truth = true_corners(BOARD, camera, np.concatenate([rotvec, place]))
        assert np.abs(view.corners_px - truth)[view.seen].max() < 0.2
        assert view.n_seen > 50
    finally:
        watch.close()
        inbox.close()


def test_no_markers_are_looked_for() -> None:
    grey = frame(3, 5.0, np.full((48, 64, 3), 90, np.uint8))
    blobs = open_null_detector(None).step(grey)  # type: ignore[arg-type]
    assert (len(blobs), blobs.camera, blobs.index, blobs.t_capture_ns) == (0, 1, 3, 5 * MS)
    assert blobs.light == pytest.approx(90.0)
