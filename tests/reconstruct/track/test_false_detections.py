"""Reflections go, markers stay: standing ones, ones that pass a reflection, ones whose label a reflection would take."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capture.packets import MarkerFrame, Views
from config.arrays import Floats
from reconstruct.pipeline import Pipeline
from reconstruct.pose import Pose, TrackingState
from reconstruct.track.false_detections import (
    LEARN_S,
    MAX_SPOTS,
    STAY_PX,
    FalseDetections,
    clear_near_expected,
    find_standing_points,
    update_spots,
)
from tests.support.people import PERIOD_NS, blobs_of, front_rig, t_pose, worn_markers
from tests.support.performances import Performance

NOISE_PX = 0.2
LAMPS = (np.array([[71.0, 53.0], [590.0, 402.0], [333.0, 31.0]]), np.array([[44.0, 440.0], [602.0, 88.0]]))
TO_LEARN = round(LEARN_S * 1e9 / PERIOD_NS) + 2  # frames


@dataclass(frozen=True)
class Room(Performance):
    """A walk about the origin among reflections."""

    def pair(self, k: int, markers_m: Floats, lamps: tuple[Floats, Floats], seed: int = 0, step: int = 1) -> Views:
        """Return what the cameras see: the markers first, then the lamps."""
        rng = np.random.default_rng((seed, k))
        views = []
        for c, camera in enumerate(self.rig.cameras):
            px = np.concatenate([camera.project(markers_m), lamps[c]])
            views.append(blobs_of(c, k * step, px + rng.normal(0.0, NOISE_PX, px.shape)))
        return Views((views[0], views[1]))


@pytest.fixture(scope="module")
def room() -> Room:
    return Room.of_walk(160, n_walks=2, over_origin=80)


def reach_matching(pipeline: Pipeline, pair: Views) -> tuple[int, int]:
    """Return how many blobs of each view are not left out of the next step."""
    expected = pipeline._tracker.expect(pair.t_capture_ns)
    kept = pipeline._false_detections.without(pair, pipeline.rig, expected[0] if expected else None)
    return len(kept[0]), len(kept[1])


def walked(room: Room, pipeline: Pipeline, lamps: tuple[Floats, Floats], n: int = 100) -> list[Pose]:
    """Walk for so many frames."""
    return [pipeline.step(room.pair(k, room.markers[k], lamps)) for k in range(n)]


@pytest.mark.slow
def test_reflections_are_out_within_a_second_and_so_is_one_that_flickers(room: Room) -> None:
    pipeline, n, rng = room.pipeline(), len(room.subject.markers), np.random.default_rng(5)
    for k in range(110):
        if k == 60:
            assert reach_matching(pipeline, room.pair(k, room.markers[k], (LAMPS[0][1:], LAMPS[1][1:]))) == (n, n)
        lit = rng.random() < 0.6
        lamps = LAMPS if lit else (LAMPS[0][1:], LAMPS[1][1:])
        pipeline.step(room.pair(k, room.markers[k], lamps))
    assert reach_matching(pipeline, room.pair(110, room.markers[110], LAMPS)) == (n, n)


@pytest.mark.slow
def test_a_performer_who_stands_in_the_t_pose_for_long(room: Room) -> None:
    """Far longer than reflections are learned in, at 10 pairs a second; no marker is ever left out."""
    markers = worn_markers(room.subject, t_pose()[None], np.array([[0.0, 0.95, 0.0]]))[0][0]
    pipeline, n, none = room.pipeline(), len(room.subject.markers), (np.zeros((0, 2)), np.zeros((0, 2)))
    for k in range(150):
        pair = room.pair(k, markers, none, step=6)
        assert reach_matching(pipeline, pair) == (n, n)
        pose = pipeline.step(pair)
        assert pose.state is TrackingState.TRACKING and pipeline.markers is not None and pipeline.markers.seen.all()


@pytest.mark.slow
def test_a_marker_that_passes_a_reflection_keeps_its_label(room: Room) -> None:
    """The reflection is where the left elbow will be in frame 80; there both are one blob."""
    elbow, at = room.subject.markers.names.index("left_elbow"), 80
    lamp = room.rig.cameras[0].project(room.markers[at, elbow])[None]
    pipeline, passed = room.pipeline(), 0
    for k in range(100):
        apart = float(np.linalg.norm(room.rig.cameras[0].project(room.markers[k, elbow]) - lamp))
        met = apart < 3.0
        passed += met
        pair = room.pair(k, room.markers[k], (lamp[:0] if met else lamp, LAMPS[1]))
        pose = pipeline.step(pair)
        assert pose.state is TrackingState.TRACKING and pipeline.markers is not None
        if k == at - 20:
            assert reach_matching(pipeline, pair)[0] == len(pair[0]) - 1
        if k > 5:
            assert pipeline.markers.valid[elbow], (k, apart)
            assert np.linalg.norm(pipeline.markers.point_m[elbow] - room.markers[k, elbow]) < 0.03
    assert passed >= 1


@pytest.mark.slow
def test_a_marker_comes_to_stand_on_a_reflection_and_stays(room: Room) -> None:
    """The walk ends with the right toe on the left camera's reflection, for three seconds."""
    toe = room.subject.markers.names.index("right_toe")
    lamp = room.rig.cameras[0].project(room.markers[80, toe])[None]
    pipeline = room.pipeline()
    for k in range(260):
        now = min(k, 80)
        away = np.linalg.norm(room.rig.cameras[0].project(room.markers[now, toe]) - lamp) > 3.0
        pipeline.step(room.pair(k, room.markers[now], (lamp if away else lamp[:0], LAMPS[1])))
        assert pipeline.markers is not None
        if k > 5:
            assert pipeline.markers.valid[toe], k


@pytest.mark.slow
def test_a_reflection_does_not_hold_the_label_of_a_hidden_elbow(room: Room) -> None:
    """The left camera loses the elbow just where a known reflection is; the right one loses it too."""
    elbow, at = room.subject.markers.names.index("left_elbow"), 60
    lamp = room.rig.cameras[0].project(room.markers[at, elbow])[None]
    pipeline, held = room.pipeline(), []
    for k in range(100):
        shown = room.markers[k] if k < at else np.delete(room.markers[k], elbow, axis=0)
        pipeline.step(room.pair(k, shown, (lamp, LAMPS[1])))
        assert pipeline.markers is not None
        held.append(bool(pipeline.markers.seen[0, elbow]))
    assert all(held[6 : at - 2]) and not any(held[at:])


@pytest.mark.slow
def test_reflections_change_nothing_that_is_measured(room: Room) -> None:
    bare, lit = room.pipeline(), room.pipeline()
    clean = room.errors_m(walked(room, bare, (LAMPS[0][:0], LAMPS[1][:0])))[TO_LEARN:]
    among = room.errors_m(walked(room, lit, LAMPS))[TO_LEARN:]
    assert among.mean() < 1.05 * clean.mean()


def nothing_labelled(k: int, n_markers: int = 10, n_seen: int = 10) -> MarkerFrame:
    """Return labels at places where no blob is."""
    seen = np.zeros((2, n_markers), bool)
    seen[:, :n_seen] = True
    image = np.full((2, n_markers, 2), 1000.0)
    zeros = np.zeros(n_markers)
    places = (np.zeros((n_markers, 3)), np.zeros((n_markers, 3, 3)))
    return MarkerFrame(k, k * PERIOD_NS, 0, seen[0], *places, seen, image, np.ones((2, n_markers)), zeros, np.zeros((0, 3)))


def test_without_a_pose_or_with_few_labels_nothing_is_learned_and_what_was_can_be_forgotten() -> None:
    """The blobs may be the body, its labels lost: 10 markers, of which 6 have a label."""
    for tracked, n_seen, found in ((False, 10, 0), (True, 6, 0), (True, 7, 3)):
        reflections = FalseDetections(2)
        for k in range(2 * TO_LEARN):
            pair = Views((blobs_of(0, k, LAMPS[0]), blobs_of(1, k, LAMPS[1])))
            reflections.learn(pair, nothing_labelled(k, n_seen=n_seen), tracked)
        assert len(pair[0]) - len(reflections.without(pair, front_rig(), None)[0]) == found
        reflections.forget()
        assert len(reflections.without(pair, front_rig(), None)[0]) == len(pair[0])


def test_nothing_is_left_out_long_after_the_last_pose() -> None:
    """For two seconds it is: whoever was lost comes back among the same reflections."""
    reflections, rig = FalseDetections(2), front_rig()
    for k in range(2 * TO_LEARN):
        reflections.learn(Views((blobs_of(0, k, LAMPS[0]), blobs_of(1, k, LAMPS[1]))), nothing_labelled(k), True)
    last = 2 * TO_LEARN - 1
    for later, left in ((100, 0), (119, 0), (122, 3)):
        pair = Views((blobs_of(0, last + later, LAMPS[0]), blobs_of(1, last + later, LAMPS[1])))
        assert len(reflections.without(pair, rig, None)[0]) == left
        reflections.learn(pair, nothing_labelled(last + later), False)


def test_a_place_is_forgotten_when_nothing_is_there_any_more() -> None:
    spots, nothing = np.zeros((MAX_SPOTS, 4)), np.zeros((0, 2))
    n = 0
    for k in range(12):
        n = update_spots(LAMPS[0][:1], nothing, spots, n, 0.1 * k, 0.1)
    n = update_spots(LAMPS[0][1:2], nothing, spots, n, 1.2, 0.1)
    assert n == 2
    assert update_spots(nothing, nothing, spots, n, 2.5, 0.1) == 1  # seen once, 1.3 s ago
    assert update_spots(nothing, nothing, spots, 1, 11.0, 0.1) == 1  # known, not seen for 9.9 s
    assert update_spots(nothing, nothing, spots, 1, 11.2, 0.1) == 0


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**31), st.floats(1.0, 8.0))
def test_what_moves_is_never_left_out(seed: int, speed: float) -> None:
    """Spots without a label that move by more than STAY_PX in LEARN_S all the time, far from each other."""
    rng, spots, n = np.random.default_rng(seed), np.zeros((MAX_SPOTS, 4)), 0
    start = np.stack([np.arange(4.0) * 300.0, rng.uniform(0, 100, 4)], axis=1)
    angle = rng.uniform(0, 2 * np.pi, 4)
    step = (speed * STAY_PX / LEARN_S / 60.0) * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    for k in range(60):
        points = start + k * step
        assert speed < 2.0 or not find_standing_points(points, spots, n).any()
        n = update_spots(points, points[:0], spots, n, k / 60.0, 1.0 / 60.0)
        assert n <= MAX_SPOTS


def test_a_full_table_takes_no_more() -> None:
    spots, points = np.zeros((5, 4)), np.arange(16.0).reshape(8, 2) * 10.0
    assert update_spots(points, points[:0], spots, 0, 0.0, 0.1) == 5


def test_a_label_starts_the_count_anew_until_a_place_is_known() -> None:
    spots, at, nothing = np.zeros((4, 4)), np.array([[10.0, 20.0]]), np.zeros((0, 2))
    n = update_spots(at, nothing, spots, 0, 0.0, 0.1)
    for k in range(1, 5):
        n = update_spots(at, nothing, spots, n, 0.1 * k, 0.1)
    n = update_spots(at, at, spots, n, 0.5, 0.1)
    for k in range(6, 10):
        n = update_spots(at, nothing, spots, n, 0.1 * k, 0.1)
    assert not find_standing_points(at, spots, n)[0]
    for k in range(10, 13):
        n = update_spots(at, nothing, spots, n, 0.1 * k, 0.1)
    n = update_spots(at, at, spots, n, 1.3, 0.1)
    assert (
        find_standing_points(at, spots, n)[0]
        and find_standing_points(at + 1.0, spots, n)[0]
        and not find_standing_points(at + 1.1, spots, n)[0]
    )


def test_near_an_expected_marker() -> None:
    """3 px at least, or a sigma; behind the camera is nowhere."""
    points = np.array([[0.0, 0.0], [50.0, 0.0], [100.0, 0.0], [150.0, 0.0], [200.0, 0.0]])
    expected = np.array([[2.9, 0.0], [53.1, 0.0], [100.0, 9.0], [np.nan, np.nan], [0.0, 0.0]])
    out = np.array([True, True, True, True, False])
    clear_near_expected(out, points, expected, np.array([1.0, 1.0, 9.5, 1e9, 1.0]))
    assert out.tolist() == [False, True, False, True, False]
