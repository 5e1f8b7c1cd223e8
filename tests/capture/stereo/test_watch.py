"""A camera that moves, sags or is rotated during a run is reported; anything else is not."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from calibration.camera import Rig
from capture.packets import Blobs, Landmarks, Views, make_empty_blobs
from capture.stereo.pair_watch import DriftDetector, PairWatch
from capture.stereo.watch import RigWatch, find_moved_cameras
from config.landmarks import N_LANDMARKS
from tests.capture.stereo.test_check import rig
from tests.support.rigs import synthetic_rig

S = 1_000_000_000
FPS = 15


def views(
    seen_by: Rig,
    seconds: float,
    t0_s: float = 0.0,
    skew_s: float = 0.0,
    shift_px: float = 0.0,
    sag_px_min: float = 0.0,
    squat_s: float = 0.0,
) -> list[Views]:
    """Return pairs of 12 markers that sway and bob, with noise, some hidden and some false; shift_px: of the last view, down.

    sag_px_min: by which the right view goes on shifting; squat_s: instead of bobbing, 70 cm down and up again in so long.
    """
    random = np.random.default_rng(round(10 * t0_s) + 1)
    body = np.random.default_rng(9).uniform((-0.5, 0.0, -0.25), (0.5, 1.7, 0.25), (12, 3))
    pairs = []
    last = len(seen_by) - 1
    for k in range(round(seconds * FPS)):
        both = []
        for side, camera in enumerate(seen_by.cameras):
            t_s = t0_s + k / FPS + (skew_s if side else 0.0)
            turn = 0.8 * np.sin(0.7 * t_s)
            height = 0.35 * np.cos(2.0 * np.pi * t_s / squat_s) if squat_s else 0.1 * np.sin(6.0 * t_s)
            place = np.array([0.4 * np.sin(1.1 * t_s), height, 0.2 * np.cos(0.9 * t_s)])
            x, z = body[:, 0] * np.cos(turn) - body[:, 2] * np.sin(turn), body[:, 0] * np.sin(turn) + body[:, 2] * np.cos(turn)
            px = camera.project(np.column_stack([x, body[:, 1], z]) + place) + random.normal(0.0, 0.3, (12, 2))
            px = px[random.random(12) > 0.1]
            px = np.concatenate([px, random.uniform((0, 0), camera.size, (2, 2))])
            if side == last:
                px = px + (0.0, shift_px + sag_px_min * (t0_s + k / FPS) / 60.0)
            n = len(px)
            t_ns = round((t0_s + k / FPS) * S)
            both.append(Blobs(side, k, t_ns, px, np.ones(n), np.zeros((n, 3)), np.ones(n)))
        pairs.append(Views(tuple(both)))
    return pairs


@cache
def steady(seconds: float = 12.0, t0_s: float = 0.0) -> list[Views]:
    """Return pairs of a rig that fits."""
    return views(rig(), seconds, t0_s)


def told(watch: RigWatch, pairs: list[Views]) -> list[str]:
    """Return what a watch says of pairs."""
    for pair in pairs:
        watch.add(pair)
    return watch.notices()


def test_a_bumped_camera_is_told_once_with_how_far_and_taken_back() -> None:
    shift_px = -6.0
    watch = RigWatch(rig())
    assert told(watch, steady()) == []
    (text,) = told(watch, views(rig(), 12.0, 12.0, shift_px=shift_px))
    assert text.startswith("a camera seems to have moved: markers are ") and text.endswith("at the start; calibrate again")
    assert abs(float(text.split()[8]) - abs(shift_px)) < 1.2 and watch.moved
    assert abs(watch.figures["epipolar_px"] - abs(shift_px)) < 1.2
    assert told(watch, steady(12.0, 24.0)) == ["the cameras are where they were at the start again"]
    assert not watch.moved


def only_landmarks(pairs: list[Views]) -> list[Views]:
    """Return pairs of which the points are landmarks of a body, four times as far off as markers, and nothing else is seen."""
    random = np.random.default_rng(4)
    found = []
    for pair in pairs:
        blobs = []
        for each in pair.present:
            px = np.zeros((N_LANDMARKS, 2))
            px[: len(each)] = each.points_px + random.normal(0.0, 3.0, (len(each), 2))
            body = Landmarks(px, (np.arange(N_LANDMARKS) < len(each)).astype(float), 1.0)
            blobs.append(replace(make_empty_blobs(each.camera, each.index, each.t_capture_ns), landmarks=body))
        found.append(Views(tuple(blobs)))
    return found


def test_a_bumped_camera_is_told_by_landmarks_of_the_body_alone() -> None:
    watch = RigWatch(rig())
    assert told(watch, only_landmarks(steady())) == []
    (text,) = told(watch, only_landmarks(views(rig(), 12.0, 12.0, shift_px=-20.0)))
    assert text.startswith("a camera seems to have moved: landmarks of the body are ") and watch.moved
    assert abs(float(text.split()[11]) - 20.0) < 6.0


def three() -> Rig:
    """Return the rig with a third camera, at the side."""
    side = synthetic_rig((-0.25, 1.1, 4.0), (2.5, 1.4, 3.0), (0.0, 0.9, 0.0), (640, 480), 0.9).cameras[1]
    return Rig((*rig().cameras, replace(side, name="cam_2")))


def test_of_three_cameras_the_moved_one_is_named_until_it_is_back() -> None:
    watch = RigWatch(three())
    assert told(watch, views(three(), 12.0)) == []
    (text,) = told(watch, views(three(), 14.0, 12.0, shift_px=-6.0))
    assert text.startswith("the third camera seems to have moved: markers are ") and "its view is left out" in text
    assert watch.moved == (2,)
    assert told(watch, views(three(), 14.0, 26.0)) == ["the third camera is where it was at the start again"]
    assert watch.moved == ()


def test_of_three_cameras_one_that_does_not_fit_from_the_start_is_left_out_until_it_does() -> None:
    watch = RigWatch(three())
    (text,) = told(watch, views(three(), 14.0, shift_px=-14.0, squat_s=8.0))
    assert text.startswith("the third of these cameras does not fit the rig, the others do") and watch.moved == (2,)
    assert told(watch, views(three(), 24.0, 14.0, squat_s=8.0)) == ["the third camera is where it was at the start again"]
    assert watch.moved == () and told(watch, views(three(), 12.0, 38.0)) == []


def test_pairs_that_no_longer_agree_vote_for_the_moved_camera() -> None:
    assert find_moved_cameras([(0, 1), (1, 2)], [(0, 2)]) == (1,)
    assert find_moved_cameras([(0, 1)], [(1, 2)]) == (0,)  # the second still agrees with the third
    assert find_moved_cameras([(0, 1)], []) == (1,)  # of two the first stays
    assert find_moved_cameras([(0, 3), (1, 3), (2, 3), (0, 1), (1, 2)], [(0, 2)]) == (1, 3)


def test_a_time_offset_not_found_yet_is_not_taken_for_a_move() -> None:
    """Down and up in 8 s, 70 cm: up to 0.27 m/s, 40 px/s, hence 5 px one way and then the other."""
    watch = RigWatch(rig())
    assert told(watch, views(rig(), 14.0, squat_s=8.0)) == []
    assert told(watch, views(rig(), 24.0, 14.0, skew_s=-0.12, squat_s=8.0)) == [] and not watch.moved


def test_a_time_offset_from_the_start_is_not_taken_for_a_move() -> None:
    watch = RigWatch(rig())
    assert told(watch, views(rig(), 30.0, skew_s=0.12, squat_s=8.0)) == [] and not watch.moved


def test_a_bump_is_told_beside_a_time_offset() -> None:
    watch = RigWatch(rig())
    assert told(watch, views(rig(), 20.0, skew_s=0.05, squat_s=8.0)) == []
    (text,) = told(watch, views(rig(), 25.0, 20.0, skew_s=0.05, squat_s=8.0, shift_px=9.0))
    assert text.startswith("a camera seems to have moved") and watch.moved


def test_a_camera_that_sags_is_told_before_it_is_far_off() -> None:
    sag_px_min = -1.0
    watch = RigWatch(rig())
    minutes = 2.7 / abs(sag_px_min)  # hardly as far as a bump is
    text, *_ = told(watch, views(rig(), 60.0 * minutes, sag_px_min=sag_px_min))
    assert text.startswith("a camera seems to be slipping slowly: markers have drifted") and text.endswith("calibrate again")
    assert 1.3 < float(text.split("drifted ")[1].split(" px")[0]) < 2.2


def test_a_rig_that_fits_is_left_in_peace_for_minutes_and_measured_in_little_memory() -> None:
    watch = RigWatch(rig())
    assert told(watch, views(rig(), 125.0)) == [] and not watch.moved
    # Noise of 0.3 px in either view; the median of a normal distance is 0.67 of its deviation.
    assert watch.figures["epipolar_px"] < 0.7 and watch.figures["rig_share"] > 0.6
    pair = PairWatch(rig())
    for both in views(rig(), 30.0):
        pair.add(both)
    assert len(pair._segments) <= 12 and pair._segment.votes.shape == (3, 160)


def test_nobody_in_view_is_no_move() -> None:
    watch = RigWatch(rig())
    told(watch, steady())
    none = [pair.changed(lambda c, b: make_empty_blobs(c, b.index, b.t_capture_ns)) for pair in views(rig(), 20.0, 12.0)]
    assert told(watch, none) == [] and told(watch, views(rig(), 8.0, 32.0)) == [] and not watch.moved


def test_cameras_the_wrong_way_round_are_told_in_the_first_seconds() -> None:
    # Seen from unlike heights, or a swapped rig would fit nearly as well.
    swapped = Rig(rig().cameras[::-1])
    (text,) = told(RigWatch(swapped), views(rig(), 5.0))
    assert "left and right are swapped" in text and "recordings" not in text


def drift_told(offsets_px: list[float]) -> list[tuple[int, str]]:
    """Return what is told, and after how many seconds, of an offset a second."""
    drift = DriftDetector()
    return [(second, text) for second, offset in enumerate(offsets_px) for text in drift.add(second * S, offset)]


@pytest.mark.parametrize("px_min", [0.5, -2.0])
def test_a_steady_drift_is_told_once(px_min: float) -> None:
    ((second, text),) = drift_told([px_min * second / 60.0 for second in range(900)])
    # Found at the end of the second half minute whose median is 1.3 px from the first one's.
    assert abs(px_min) * second / 60.0 < 1.3 + abs(px_min) * 1.6 and "slipping slowly" in text


def test_what_comes_back_or_hardly_moves_is_not_told() -> None:
    random = np.random.default_rng(3)
    assert drift_told(list(random.normal(0.4, 0.8, 1200))) == []
    assert drift_told([2.0 if 300 <= second < 325 else 0.0 for second in range(900)]) == []
    assert drift_told([0.2 * second / 60.0 for second in range(300)]) == []
