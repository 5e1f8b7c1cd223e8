"""Landmarks: a body followed, found and found again without a marker, also where a view exchanges left and right."""

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

from calibration.camera import Rig
from capture.packets import Views
from config.landmarks import ABSENT, SOURCES, Exchange
from config.settings import LabelSettings
from reconstruct.pose import Pose, TrackingState
from reconstruct.track.landmarks import compute_change_costs, compute_sigma_px, is_turned
from tests.support.landmarks import landmark_views
from tests.support.performances import Performance
from tests.support.rigs import synthetic_camera

N_TPOSE, WALKS, N = 20, 30, 100  # frames: the T-pose, the begin of what is measured (the walk begins with a jump), all


@dataclass(frozen=True)
class Seen(Performance):
    """A performer without markers before two cameras, 40 degrees apart."""

    def run(self, views: list[Views]) -> list[Pose]:
        """Return the poses."""
        pipeline = self.pipeline()
        return [pipeline.step(each) for each in views]


@pytest.fixture(scope="module")
def seen() -> Seen:
    places = [(-1.5, 1.25, 4.0), (1.5, 1.2, 4.1)]
    cameras = [
        synthetic_camera(f"cam_{c}", at, (0.0, 0.9, 0.0), horizontal_view_rad=np.radians(60.0)) for c, at in enumerate(places)
    ]
    return Seen.of_tpose_and_walk("none", Rig(tuple(cameras), 0.0, floor_known=True), N_TPOSE, N)


@pytest.fixture(scope="module")
def plain_m(seen: Seen) -> float:
    """Return the mean error where nothing is exchanged [m]."""
    poses = seen.run(landmark_views(seen.rig, seen.subject, seen.markers))
    assert [pose.state for pose in poses[WALKS:]] == [TrackingState.TRACKING] * (N - WALKS)
    return float(seen.errors_m(poses)[WALKS:].mean())


def test_a_body_is_followed_without_a_marker(plain_m: float) -> None:
    assert plain_m < 0.03


@pytest.mark.parametrize("what", [Exchange.LEGS, Exchange.ARMS, Exchange.BODY])
def test_an_exchange_in_one_view_costs_little(seen: Seen, plain_m: float, what: Exchange) -> None:
    exchanged = {(n, 1): what for n in range(50, 75)}
    poses = seen.run(landmark_views(seen.rig, seen.subject, seen.markers, exchanged))
    assert seen.errors_m(poses)[WALKS:].mean() < 1.3 * plain_m
    right = [pose.exchanged.tolist() == ([0, what] if 50 <= n < 75 else [0, 0]) for n, pose in enumerate(poses)]
    assert np.mean(right[WALKS:]) > 0.85


def test_a_lost_body_is_found_again(seen: Seen) -> None:
    views = landmark_views(seen.rig, seen.subject, seen.markers)
    views[40:70] = [each.changed(lambda _, blobs: replace(blobs, landmarks=None)) for each in views[40:70]]
    poses = seen.run(views)
    assert poses[69].state is not TrackingState.TRACKING
    assert (poses[40].exchanged == ABSENT).all() and (poses[90].exchanged == Exchange.NOTHING).all()
    assert seen.errors_m(poses)[75:].mean() < 0.04


def test_a_landmark_of_a_lower_score_is_less_exact(seen: Seen) -> None:
    s, markers, at_m = LabelSettings(), seen.subject.markers, seen.markers[0]
    usual, lower = (
        compute_sigma_px(at_m, np.full(len(markers), score), seen.rig.cameras[0], markers, s)
        for score in (s.landmark_usual_score, s.landmark_usual_score - 0.5)
    )
    depth_m = seen.rig.cameras[0].to_camera(at_m)[:, 2]
    assert usual == pytest.approx(markers.landmark_sigma_m * seen.rig.cameras[0].focal_px / depth_m)
    assert lower == pytest.approx(usual * math.exp(0.5 * s.landmark_fade))


def test_exchanging_twice_is_none() -> None:
    for source in SOURCES:
        assert (source[source] == np.arange(33)).all()
    assert (SOURCES[Exchange.UPPER] != SOURCES[Exchange.LEGS]).sum() + 1 == 33  # the nose has no other side


def test_costs_of_exchanges_are_of_probabilities() -> None:
    s = LabelSettings(exchange_rate=0.2, exchange_lasts_s=0.5)
    cost = compute_change_costs(0.1, s)
    begins, ends = 1.0 - math.exp(-0.02), 1.0 - math.exp(-0.2)
    assert cost[Exchange.NOTHING, Exchange.LEGS] == pytest.approx(-math.log(begins * (1.0 - begins) ** 3))
    assert cost[Exchange.LIMBS, Exchange.ARMS] == pytest.approx(-math.log(ends * (1.0 - ends) * (1.0 - begins) ** 2))
    assert (cost.argmin(axis=1) == np.arange(len(cost))).all()


def test_a_body_is_turned_where_all_views_say_so() -> None:
    assert is_turned(np.array([Exchange.BODY, Exchange.UPPER])) and not is_turned(np.array([Exchange.BODY, Exchange.LEGS]))
    assert not is_turned(np.zeros(0, np.int64))
