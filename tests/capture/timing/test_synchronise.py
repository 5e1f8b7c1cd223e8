"""Pairing by timestamps, and pairs brought to one time."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capture.packets import Blobs, Landmarks, Views, make_empty_blobs
from capture.timing.grouping import MAX_WAITING, Grouping
from capture.timing.synchronise import Synchroniser
from config.settings import TimeSettings

MS = 1_000_000
FRAME = 33_333_333
BUDGET = 20 * MS
T0 = 50_000_000_000


def path(camera: int, t_ns: float) -> np.ndarray:
    """Where three blobs are at a time, (3, 2): they rise, fall and stand, other in either view."""
    t = (t_ns - T0) * 1e-9
    shift = 40.0 * camera
    return np.array([[100.0 + 200 * t + shift, 300.0 - 150 * t], [300.0 - 90 * t, 120.0 + 240 * t + 200 * t * t], [210.0, 410.0]])


def seen(camera: int, index: int, t_ns: int, stamp_ns: int | None = None, row_us: float = 0.0) -> Blobs:
    """What a camera shows whose first row is read at t; a row further down is read later."""
    points = path(camera, t_ns)
    for _ in range(20):
        points = np.stack([path(camera, t_ns + 1e3 * row_us * y)[k] for k, y in enumerate(points[:, 1])])
    stamp = t_ns if stamp_ns is None else stamp_ns
    return Blobs(camera, index, stamp, points, np.full(3, 30.0), np.full((3, 3), 240.0), np.full(3, 0.1))


def pairs(synchroniser: Synchroniser, skew_ns: int, n: int = 8, late_ns: int = 0, **more: float) -> list[Views]:
    """Push n frames of each camera, the right one looking skew_ns later and its stamps late_ns late."""
    frames = []
    for k in range(n):
        left, right = T0 + FRAME * k, T0 + FRAME * k + skew_ns
        frames.append((left, seen(0, k, left, **more)))
        frames.append((right, seen(1, k, right, right + late_ns, **more)))
    made = [synchroniser.push(blobs) for _, blobs in sorted(frames, key=lambda f: f[0])]
    return [pair for pair in made if pair is not None]


@pytest.mark.parametrize("skew_ms", [-15, -6, 1, 12])
def test_both_views_are_of_the_earlier_ones_moment(skew_ms: int) -> None:
    made = pairs(Synchroniser(2, BUDGET, TimeSettings()), skew_ms * MS)
    assert len(made) == 8
    for pair in made[2:]:
        moment = min(T0 + FRAME * pair[0].index, T0 + FRAME * pair[1].index + skew_ms * MS)
        assert pair[0].t_capture_ns == pair[1].t_capture_ns == pair.t_capture_ns == moment
        assert pair.residual_skew_ns == 0 and pair.skew_ns == skew_ms * MS
        for blobs in (pair[0], pair[1]):
            assert blobs.points_px == pytest.approx(path(blobs.camera, moment), abs=1e-3)


@pytest.mark.parametrize("n_blobs", [0, 3])
def test_landmarks_move_with_the_blobs_by_name(n_blobs: int) -> None:
    """Each landmark has its speed; the right camera looks 9 ms later."""
    start, speed = np.arange(66.0).reshape(33, 2), np.linspace(-300.0, 300.0, 66).reshape(33, 2)
    synchroniser, made = Synchroniser(2, BUDGET, TimeSettings()), []
    for k in range(6):
        for camera in (0, 1):
            t_ns = T0 + FRAME * k + 9 * MS * camera
            landmarks = Landmarks(start + speed * (t_ns - T0) * 1e-9, np.full(33, 0.5), 1.0)
            view = seen(camera, k, t_ns) if n_blobs else make_empty_blobs(camera, k, t_ns)
            made.append(synchroniser.push(replace(view, landmarks=landmarks)))
    for views in [each for each in made if each is not None][1:]:
        for view in views.present:
            assert view.landmarks is not None and views.residual_skew_ns == 0
            expected = start + speed * (views.t_capture_ns - T0) * 1e-9
            assert view.landmarks.image_px == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("skew_ns", [0, 250_000, -250_000])
def test_synchronised_cameras_are_left_alone(skew_ns: int) -> None:
    for pair in pairs(Synchroniser(2, BUDGET, TimeSettings()), skew_ns):
        for blobs in (pair[0], pair[1]):
            raw = seen(blobs.camera, blobs.index, T0 + FRAME * blobs.index + skew_ns * blobs.camera)
            assert np.array_equal(blobs.points_px, raw.points_px) and blobs.t_capture_ns == raw.t_capture_ns
            assert np.array_equal(blobs.sigma_px, raw.sigma_px)
        assert pair.measured_skew_ns is None


def test_without_interpolation_pairs_are_as_they_came() -> None:
    for pair in pairs(Synchroniser(2, BUDGET, TimeSettings(interpolate=False)), 9 * MS):
        assert pair.residual_skew_ns == pair.skew_ns == 9 * MS and pair.measured_skew_ns is None


def test_a_given_offset_corrects_the_right_stamps() -> None:
    """The right camera looks 5 ms later, its stamps say 12 ms: 7 ms late."""
    made = pairs(Synchroniser(2, BUDGET, TimeSettings(offset_ms=7.0)), 5 * MS, late_ns=7 * MS)
    for pair in made[2:]:
        assert pair.skew_ns == 5 * MS
        assert pair[1].points_px == pytest.approx(path(1, pair.t_capture_ns), abs=1e-3)


def test_an_offset_found_live_counts_from_then_on() -> None:
    synchroniser = Synchroniser(2, BUDGET, TimeSettings())
    synchroniser.correct(7.0, 0.4)
    assert synchroniser.calibration["time_offset_ms"] == pytest.approx(7.0)
    assert synchroniser.calibration["time_offset_sigma_ms"] == pytest.approx(0.4)
    assert {pair.skew_ns for pair in pairs(synchroniser, 5 * MS, late_ns=7 * MS)} == {5 * MS}


def test_rows_of_a_rolling_shutter_are_seen_one_after_the_other() -> None:
    shutter = TimeSettings(row_time_left_us=30.0, row_time_right_us=30.0)
    made = pairs(Synchroniser(2, BUDGET, shutter), 4 * MS, row_us=30.0)
    for pair in made[2:]:
        moment = pair.t_capture_ns
        # The topmost blob of the left view is the first that any camera saw: the second at first, at about row 130.
        first = seen(0, pair[0].index, T0 + FRAME * pair[0].index, row_us=30.0).points_px[:, 1].min()
        assert moment == pytest.approx(T0 + FRAME * pair[0].index + 30e3 * first, abs=2e3)
        for blobs in (pair[0], pair[1]):
            assert blobs.points_px == pytest.approx(path(blobs.camera, moment), abs=0.05)
    without = pairs(Synchroniser(2, BUDGET, TimeSettings()), 4 * MS, row_us=30.0)[4]
    assert np.abs(without[0].points_px - path(0, without.t_capture_ns)).max() > 0.5


def test_frames_without_a_partner_still_feed_the_tracks() -> None:
    synchroniser = Synchroniser(2, BUDGET, TimeSettings())
    for k in range(3):
        assert synchroniser.push(seen(1, k, T0 + FRAME * k)) is None
    moment = T0 + 2 * FRAME + 22 * MS
    synchroniser.push(seen(0, 0, moment))
    pair = synchroniser.push(seen(1, 3, T0 + 3 * FRAME))
    assert pair is not None and pair.t_capture_ns == moment
    assert pair[1].points_px == pytest.approx(path(1, moment), abs=1e-3)


def test_unequal_rates_make_a_pair_of_every_frame_of_the_slower() -> None:
    synchroniser = Synchroniser(2, 24 * MS, TimeSettings())
    frames = [seen(0, k, T0 + FRAME * k) for k in range(60)] + [seen(1, k, T0 + 3 * MS + 40 * MS * k) for k in range(50)]
    made = [synchroniser.push(blobs) for blobs in sorted(frames, key=lambda b: b.t_capture_ns)]
    found = [pair for pair in made if pair is not None]
    assert len(found) >= 48
    moments = [pair.t_capture_ns for pair in found]
    assert moments == sorted(set(moments))
    for pair in found[3:]:
        for blobs in (pair[0], pair[1]):
            assert blobs.points_px == pytest.approx(path(blobs.camera, pair.t_capture_ns), abs=0.02)


def test_a_clock_that_goes_back_is_taken_up_again() -> None:
    """The right camera was opened anew and counts from another moment: no frame of it may be late for ever."""
    synchroniser = Synchroniser(2, BUDGET, TimeSettings())
    assert len(pairs(synchroniser, 5 * MS)) == 8
    later = [
        synchroniser.push(replace(seen(c, k, T0 + FRAME * k + 5 * MS * c), t_capture_ns=1_000 * MS + FRAME * k))
        for k in range(4)
        for c in (0, 1)
    ]
    assert sum(pair is not None for pair in later) == 4


def test_late_and_repeated_frames_are_dropped_and_counted() -> None:
    synchroniser = Synchroniser(2, BUDGET, TimeSettings())
    pairs(synchroniser, 5 * MS)
    old = seen(0, 3, T0 + 3 * FRAME)
    assert synchroniser.push(old) is None and synchroniser.push(seen(1, 7, T0 + 7 * FRAME + 5 * MS)) is None
    assert synchroniser.counts.late[0] == 1
    again = pairs_from(synchroniser, 8, 12)
    assert [pair[0].points_px == pytest.approx(path(0, pair.t_capture_ns), abs=1e-3) for pair in again] == [True] * 4


def pairs_from(synchroniser: Synchroniser, first: int, last: int) -> list[Views]:
    """Push further frames of both cameras."""
    made = []
    for k in range(first, last):
        for camera in (0, 1):
            made.append(synchroniser.push(seen(camera, k, T0 + FRAME * k + 5 * MS * camera)))
    return [pair for pair in made if pair is not None]


def test_views_without_blobs_pair_as_well() -> None:
    synchroniser = Synchroniser(2, BUDGET, TimeSettings(row_time_left_us=20.0))
    for k in range(3):
        synchroniser.push(make_empty_blobs(0, k, T0 + FRAME * k))
        pair = synchroniser.push(make_empty_blobs(1, k, T0 + FRAME * k + 6 * MS))
        assert pair is not None and len(pair[0]) == len(pair[1]) == 0 and pair.t_capture_ns == T0 + FRAME * k


def frame(camera: int, t_ns: int, index: int = 0) -> Blobs:
    return make_empty_blobs(camera, index, t_ns)


def test_pair_leaves_with_its_second_half() -> None:
    pairing = Grouping(2, 8 * MS)
    assert pairing.push(frame(1, 105 * MS)) is None
    pair = pairing.push(frame(0, 100 * MS))
    assert pair is not None and (pair[0].camera, pair[1].camera) == (0, 1)
    assert pair.skew_ns == 5 * MS and pair.t_capture_ns == 102_500_000


def test_nearest_of_several_is_taken_and_the_older_are_dropped() -> None:
    pairing = Grouping(2, 12 * MS)
    for t in (80, 90, 100, 110):
        assert pairing.push(frame(0, t * MS)) is None
    pair = pairing.push(frame(1, 99 * MS))
    assert pair is not None and pair[0].t_capture_ns == 100 * MS
    assert pairing.counts.unpaired == (2, 0)
    later = pairing.push(frame(1, 120 * MS))
    assert later is not None and later[0].t_capture_ns == 110 * MS


def test_budget_is_inclusive_and_no_more() -> None:
    assert Grouping(2, 8 * MS).push(frame(0, 0)) is None
    for skew, paired in ((8 * MS, True), (8 * MS + 1, False)):
        pairing = Grouping(2, 8 * MS)
        pairing.push(frame(0, 0))
        assert (pairing.push(frame(1, skew)) is not None) == paired


def test_one_camera_alone_gives_nothing_and_holds_little() -> None:
    pairing = Grouping(2, 8 * MS)
    assert all(pairing.push(frame(1, i * 16 * MS)) is None for i in range(100))
    assert pairing.counts.unpaired == (0, 100 - MAX_WAITING)
    pair = pairing.push(frame(0, 99 * 16 * MS + MS))
    assert pair is not None and pair[1].t_capture_ns == 99 * 16 * MS


@settings(max_examples=15)
@given(st.integers(-8, 8), st.lists(st.integers(0, 1), min_size=60, max_size=60))
def test_equal_rates_lose_no_frame_whatever_the_order_of_arrival(skew_ms: int, order: list[int]) -> None:
    times = [[(100 + 17 * i) * MS for i in range(30)], [(100 + 17 * i + skew_ms) * MS for i in range(30)]]
    pairing, skews = Grouping(2, 8 * MS), []
    for camera in [*order, *[0, 1] * 30]:
        # A camera runs at most a few frames ahead of the other, or its frames rightly fall out of the line.
        if len(times[camera]) < len(times[1 - camera]) - 5:
            camera = 1 - camera
        if times[camera]:
            pair = pairing.push(frame(camera, times[camera].pop(0)))
            skews += [pair.skew_ns] if pair is not None else []
    assert skews == [skew_ms * MS] * 30
