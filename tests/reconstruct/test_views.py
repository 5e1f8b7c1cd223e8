"""The pipeline with three cameras and four: markers hidden in each view by itself, views that come and go."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from calibration.camera import Rig
from capture.packets import Views
from config.arrays import Bools
from config.settings import Settings
from reconstruct.pipeline import Pipeline
from reconstruct.pose import Pose, TrackingState
from tests.support.people import blobs_of
from tests.support.performances import Performance
from tests.support.rigs import synthetic_camera

PLACES_M = [(-0.5, 1.25, 4.5), (0.55, 1.2, 4.6), (4.2, 1.5, 0.4), (-0.6, 1.6, -4.4)]
NOISE_PX, N_TPOSE, N, TURN = 0.3, 20, 110, 30
HIDDEN = 0.35


@dataclass(frozen=True)
class Walked(Performance):
    """A performer who stands in a T-pose, then walks before four cameras: two in front, one at the side, one behind."""

    def pipeline(self, n: int) -> Pipeline:
        """Return a pipeline of the first n cameras."""
        return Pipeline(Rig(self.rig.cameras[:n], 0.0, floor_known=True), self.subject, self.table, Settings())

    def views(self, n: int, hides: bool = False) -> list[Views]:
        """Return what n cameras see; hides: a third of the markers of each by itself, others every half second."""
        rng, found = np.random.default_rng(2), list[Views]()
        for k, markers_m in enumerate(self.markers):
            if k % TURN == 0:
                shown: Bools = rng.random((len(PLACES_M), len(markers_m))) > (HIDDEN if hides and k >= TURN else 0.0)
            seen = []
            for c, camera in enumerate(self.rig.cameras):
                marker = rng.permutation(np.flatnonzero(shown[c]))
                px = camera.project(markers_m[marker]) + rng.normal(0.0, NOISE_PX, (len(marker), 2))
                seen.append(blobs_of(c, k, np.ascontiguousarray(px)))
            found.append(Views(tuple(seen[:n])))
        return found


@pytest.fixture(scope="module")
def walked() -> Walked:
    cameras = [
        synthetic_camera(f"cam_{c}", place, (0.0, 0.9, 0.0), horizontal_view_rad=np.radians(50.0))
        for c, place in enumerate(PLACES_M)
    ]
    return Walked.of_tpose_and_walk("all_around", Rig(tuple(cameras), 0.0, floor_known=True), N_TPOSE, N)


def run(walked: Walked, n: int, views: list[Views]) -> list[Pose]:
    """Return the poses of n cameras."""
    pipeline = walked.pipeline(n)
    return [pipeline.step(each) for each in views]


@pytest.mark.parametrize("n", [3, 4])
def test_a_third_camera_halves_what_hidden_markers_cost(walked: Walked, n: int) -> None:
    two, more = (walked.errors_m(run(walked, m, walked.views(m, hides=True)))[TURN:].mean() for m in (2, n))
    assert more < 0.65 * two, (two, more)


def test_views_come_and_go(walked: Walked) -> None:
    """Three cameras, two, one, and all again: one way through the code, and poses say by how many they were seen."""
    views = walked.views(3)
    for k in range(40, 90):
        absent = (2,) if k < 60 else (0, 2) if k < 75 else ()
        views[k] = views[k].without(absent)
    poses = run(walked, 3, views)
    assert [pose.state for pose in poses] == [TrackingState.TRACKING] * N
    n_seeing = [int(pose.seen.any(axis=1).sum()) for pose in poses]
    assert n_seeing[:40] == [3] * 40 and n_seeing[40:60] == [2] * 20 and n_seeing[60:75] == [1] * 15 and n_seeing[75:] == [3] * 35
    errors_m = walked.errors_m(poses).mean(axis=1)
    assert errors_m[:60].max() < 0.06 and errors_m[60:75].max() < 0.2 and errors_m[80:].max() < 0.06


def test_a_camera_that_is_knocked_costs_its_view_only(walked: Walked) -> None:
    views = walked.views(3)
    for k in range(40, N):
        views[k] = views[k].changed(lambda c, blobs: replace(blobs, points_px=blobs.points_px + [0.0, 12.0 * (c == 1)]))
    poses = run(walked, 3, views)
    assert [pose.state for pose in poses] == [TrackingState.TRACKING] * N
    assert [pose.n_views for pose in poses] == [3] * 40 + [2] * (N - 40)
    without = run(walked, 3, [each.without({1}) if k >= 40 else each for k, each in enumerate(walked.views(3))])
    assert walked.errors_m(poses)[40:].mean() < 1.05 * walked.errors_m(without)[40:].mean()
