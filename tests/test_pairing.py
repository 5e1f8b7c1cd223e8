"""Pairs are nearest in time, within the budget, in order, each frame once; every frame is accounted for."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from capture.packets import Blobs
from capture.pairing import MAX_WAITING, Pairing

MS = 1_000_000


def frame(camera: int, t_ns: int, index: int = 0) -> Blobs:
    return Blobs(camera, index, t_ns, np.zeros((0, 2)), np.zeros(0), np.zeros((0, 3)), np.zeros(0))


def test_pair_leaves_with_its_second_half() -> None:
    pairing = Pairing(8 * MS)
    assert pairing.push(frame(1, 105 * MS)) is None
    pair = pairing.push(frame(0, 100 * MS))
    assert pair is not None and (pair.left.camera, pair.right.camera) == (0, 1)
    assert pair.skew_ns == 5 * MS and pair.t_capture_ns == 102_500_000


def test_nearest_of_several_is_taken_and_the_older_are_dropped() -> None:
    pairing = Pairing(12 * MS)
    for t in (80, 90, 100, 110):
        assert pairing.push(frame(0, t * MS)) is None
    pair = pairing.push(frame(1, 99 * MS))
    assert pair is not None and pair.left.t_capture_ns == 100 * MS
    assert pairing.counts.unpaired == (2, 0) and pairing.n_waiting == (1, 0)
    later = pairing.push(frame(1, 120 * MS))
    assert later is not None and later.left.t_capture_ns == 110 * MS


def test_budget_is_inclusive_and_no_more() -> None:
    assert Pairing(8 * MS).push(frame(0, 0)) is None
    for skew, paired in ((8 * MS, True), (8 * MS + 1, False)):
        pairing = Pairing(8 * MS)
        pairing.push(frame(0, 0))
        assert (pairing.push(frame(1, skew)) is not None) == paired


def test_late_frames_are_counted_and_dropped() -> None:
    pairing = Pairing(8 * MS)
    pairing.push(frame(0, 100 * MS))
    assert pairing.push(frame(0, 99 * MS)) is None and pairing.push(frame(0, 100 * MS)) is None
    assert pairing.counts.late == (2, 0)
    assert pairing.push(frame(1, 100 * MS)) is not None


def test_one_camera_alone_gives_nothing_and_holds_little() -> None:
    pairing = Pairing(8 * MS)
    assert all(pairing.push(frame(1, i * 16 * MS)) is None for i in range(100))
    assert pairing.n_waiting == (0, MAX_WAITING) and pairing.counts.unpaired == (0, 100 - MAX_WAITING)
    pair = pairing.push(frame(0, 99 * 16 * MS + MS))
    assert pair is not None and pair.right.t_capture_ns == 99 * 16 * MS


@given(st.integers(-8, 8), st.lists(st.integers(0, 1), min_size=60, max_size=60))
def test_equal_rates_lose_no_frame_whatever_the_order_of_arrival(skew_ms: int, order: list[int]) -> None:
    times = [[(100 + 17 * i) * MS for i in range(30)], [(100 + 17 * i + skew_ms) * MS for i in range(30)]]
    pairing, skews = Pairing(8 * MS), []
    for camera in [*order, *[0, 1] * 30]:
        # A camera runs at most a few frames ahead of the other, or its frames rightly fall out of the line.
        if len(times[camera]) < len(times[1 - camera]) - 5:
            camera = 1 - camera
        if times[camera]:
            pair = pairing.push(frame(camera, times[camera].pop(0)))
            skews += [pair.skew_ns] if pair is not None else []
    assert skews == [skew_ms * MS] * 30


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 400)), max_size=80), st.integers(0, 40))
def test_any_stream(arrivals: list[tuple[int, int]], budget: int) -> None:
    pairing, pairs = Pairing(budget), []
    for index, (camera, t) in enumerate(arrivals):
        pair = pairing.push(frame(camera, t, index))
        if pair is not None:
            pairs.append(pair)
    for pair in pairs:
        assert abs(pair.skew_ns) <= budget
    for before, after in itertools.pairwise(pairs):
        assert before.left.t_capture_ns < after.left.t_capture_ns and before.right.t_capture_ns < after.right.t_capture_ns
    counts = pairing.counts
    assert counts.pairs == len(pairs)
    for camera in (0, 1):
        received = sum(1 for c, _ in arrivals if c == camera)
        assert received == len(pairs) + counts.late[camera] + counts.unpaired[camera] + pairing.n_waiting[camera]
