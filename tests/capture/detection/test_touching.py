"""Markers that touch for a while, by their tracks: found in every frame, and none invented."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from capture.detection.detector import Detector
from capture.detection.markers import DetectedMarkers
from capture.detection.touching import KNOWN_S, LOST_S, MARGIN_PX, OWN, SHARED_S, BlobExtents, TouchingMarkers, X
from config.settings import DetectorSettings
from tests.capture.scenes import frame_of, paint_disc, shot

OTHERS = np.array([[20.0, 15.0], [60.5, 18.2], [100.3, 14.6], [140.1, 16.0], [25.0, 100.0], [70.7, 105.1], [120.2, 103.0]])
FRAME_NS = 33_333_333


def picture(places: NDArray[np.float64], radii: NDArray[np.float64], random: np.random.Generator) -> NDArray[np.uint8]:
    image = np.full((180, 240, 3), 5.0)
    for place, radius in zip(np.concatenate([OTHERS, places]), np.append(np.full(len(OTHERS), 3.3), radii), strict=True):
        paint_disc(image, place, radius, (190.0,) * 3)
    return shot(image, 2.0, random)


def run(ways: list[NDArray[np.float64]], radii: NDArray[np.float64], mode: str = "dark") -> list[NDArray[np.float64]]:
    """Return what is found apart from the markers that stay, frame by frame."""
    random, detector = np.random.default_rng(8), Detector(DetectorSettings(mode=mode))
    found = []
    for k, places in enumerate(ways):
        blobs = detector.step(frame_of(picture(places, radii[: len(places)], random), k))
        away = np.linalg.norm(blobs.points_px[:, None] - OTHERS, axis=2).min(axis=1) > 2.0
        found.append(blobs.points_px[away])
    return found


def test_two_that_pass_are_found_all_the_time() -> None:
    """At 0.6 of the sum of their radii for some frames: one blob without a saddle."""
    radii = np.array([4.2, 3.3])
    ways = [np.array([[80.0 + 1.1 * (k - 20), 58.0], [80.0 - 0.9 * (k - 20), 58.0 + 0.6 * 7.5]]) for k in range(40)]
    nearest = min(np.linalg.norm(a - b) for a, b in ways)
    assert nearest == pytest.approx(4.5)
    for truth, found in zip(ways[1:], run(ways, radii)[1:], strict=True):
        assert len(found) == 2
        distance = np.linalg.norm(truth[:, None] - found, axis=2)
        assert distance[linear_sum_assignment(distance)].max() < 0.8


def test_one_that_vanishes_beside_another_is_not_invented() -> None:
    radii = np.array([4.2, 3.3])
    ways = [np.array([[80.0, 58.0], [112.0 - 2.0 * k, 58.0]]) for k in range(12)] + [np.array([[80.0, 58.0]])] * 12
    found = run(ways, radii)
    assert [len(f) for f in found] == [2] * 12 + [1] * 12


def test_three_in_a_row() -> None:
    radii = np.array([3.5, 3.0, 3.3])
    ways = [np.array([[80.0, 58.0], [80.0 - s, 58.3], [80.0 + s, 57.0]]) for s in np.r_[np.linspace(20.0, 5.2, 20), [5.2] * 6]]
    assert [len(f) for f in run(ways, radii)] == [3] * 26


def markers(points: list[list[float]]) -> tuple[DetectedMarkers, BlobExtents]:
    """Return markers of area 28 with the boxes and peaks of their blobs."""
    at = np.array(points, float).reshape(-1, 2)
    n = len(at)
    boxes = np.stack([at[:, 0] - 3, at[:, 0] + 3, at[:, 1] - 3, at[:, 1] + 3], axis=1)
    found = DetectedMarkers(at, np.full(n, 28.0), np.full((n, 3), 200.0), np.full(n, 0.1), 100.0, np.arange(n))
    return found, BlobExtents(boxes, np.full(n, 100.0))


def test_tracks_go_on_at_their_velocity_and_are_forgotten() -> None:
    black, touching = np.zeros((240, 320, 3), np.uint8), TouchingMarkers()
    for k in range(12):
        touching.step(black, *markers([[20.0 + 3.0 * k, 50.0], [90.0, 50.0]]), None, 60.0, k * FRAME_NS)
    assert touching._tracks[:, OWN] == pytest.approx([11 / 30] * 2) and touching._tracks[0, X] == 53.0
    here = np.array([[55.0, 58.0, 47.0, 53.0], [60.0, 66.0, 47.0, 53.0], [20.0, 100.0, 40.0, 60.0]])
    assert touching.single(here, 12 * FRAME_NS).tolist() == [True, False, False], "expected at 56; both in the last box"
    assert here[1, 0] - MARGIN_PX > 56.0
    assert touching.single(here, 13 * FRAME_NS).tolist() == [True, True, False], "a frame later at 59"
    lost = 12
    while len(touching._tracks) > 1:
        touching.step(black, *markers([[90.0, 50.0]]), None, 60.0, lost * FRAME_NS)
        lost += 1
    assert (lost - 12) / 30.0 == pytest.approx(LOST_S, abs=0.04)
    touching.step(black, *markers([[90.0, 50.0]]), None, 60.0, (lost + 30) * FRAME_NS)
    assert touching._tracks[0, OWN] < KNOWN_S, "after a second's gap all is forgotten"


def test_what_is_no_longer_seen_on_its_own_is_given_up() -> None:
    """Two that merge for good are one after a while, and do not come back by themselves."""
    radii = np.array([4.2, 3.3])
    apart = [np.array([[80.0, 58.0], [100.0 - k, 58.0]]) for k in range(15)]
    found = [len(f) for f in run(apart + [np.array([[80.0, 58.0], [85.0, 58.0]])] * 100, radii)]
    first = found.index(1)
    assert found[:first] == [2] * first and SHARED_S - 0.1 < (first - 13) / 30.0 < SHARED_S + 0.2
    assert set(found[first:]) == {1}
