"""Rival labels: feet that come back exchanged are found out by what follows; nothing is followed where nothing is in doubt."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from capture.packets import MarkerFrame, Points, Views
from capture.stereo.labels import ExpectedMarkers
from config.settings import Settings
from database.builtin import body
from reconstruct.doubt import Doubt
from reconstruct.estimator import Estimate
from reconstruct.history import BodyState
from reconstruct.labelling.alternatives import Solved
from reconstruct.labelling.proposals import exchange_labels
from reconstruct.labelling.rivals import Labelled
from reconstruct.pipeline import Pipeline
from reconstruct.pose import TrackingState
from tests.support.people import front_rig, person, seen_pair, t_pose_clip, table_of, walk, worn_markers
from tests.support.performances import Performance

N, GONE, BACK, WRONG = 100, 40, 70, 6


@dataclass(frozen=True)
class Steps(Performance):
    """A walk whose feet are hidden from GONE to BACK."""

    @property
    def feet(self) -> list[int]:
        return [self.subject.markers.names.index(f"{side}_foot") for side in ("left", "right")]

    def pairs(self, hidden: bool = True) -> Iterator[Views]:
        rng = np.random.default_rng(0)
        for k, markers in enumerate(self.markers):
            gone = self.feet if hidden and GONE <= k < BACK else []
            yield seen_pair(self.rig, k, markers, 0.3, rng, (gone, gone))

    def pipeline(self) -> Pipeline:
        return Pipeline(self.rig, self.subject, self.table, Settings())


@pytest.fixture(scope="module")
def steps() -> Steps:
    subject = person("boxing", 1)
    clip = walk(subject.skeleton, 3, speed=0.8)
    markers, joints = worn_markers(subject, clip.rotvec[:N], clip.root_m[:N])
    other = body(1.8)
    clips = [walk(other, seed, speed=speed) for seed, speed in ((11, 0.7), (12, 1.0), (13, 0.9))] + [t_pose_clip(other)]
    return Steps(subject, table_of(clips), front_rig(), markers, joints)


def frames_exchanged(steps: Steps, rivals: bool, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the frames in which a foot has a wrong label, where the feet come back with exchanged labels."""
    pipeline, at = steps.pipeline(), {"k": 0, "told": 0}
    labelled = pipeline._labelled

    def exchanged(pair: Views, points: Points, expected: ExpectedMarkers | None) -> tuple[MarkerFrame, BodyState | None]:
        frame, start = labelled(pair, points, expected)
        wrong = BACK <= at["k"] < BACK + WRONG and not pipeline._rivals.switches
        return (exchange_labels(frame, *steps.feet) if wrong else frame), start

    def as_they_are(frame: MarkerFrame, estimate: Estimate) -> tuple[MarkerFrame, Estimate, Solved | None]:
        return frame, estimate, None

    monkeypatch.setattr(pipeline, "_labelled", exchanged)
    monkeypatch.setattr(pipeline._alternatives, "best", as_they_are)
    if not rivals:
        monkeypatch.setattr(pipeline._rivals, "best", lambda pair, points, leading, proposed: leading)
    found = []
    for k, pair in enumerate(steps.pairs()):
        at["k"] = k
        told = Doubt.EXCHANGED in pipeline.step(pair).doubts
        assert rivals or not told
        at["told"] += told
        frame = pipeline.markers
        assert frame is not None
        off_px = np.linalg.norm(frame.image_px[0] - steps.rig.cameras[0].project(steps.markers[k]), axis=1)
        if (frame.seen[0] & (off_px > 3.0)).any():
            found.append(k)
    assert at["told"] == pipeline._rivals.switches and (not rivals or at["told"])
    return found


def test_feet_that_came_back_exchanged_are_put_right(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    """By rivals at once; without them the exchange is shown for as long as labels come back exchanged."""
    without = frames_exchanged(steps, False, monkeypatch)
    found = frames_exchanged(steps, True, monkeypatch)
    assert len(without) >= WRONG // 2, without
    assert found == []


def test_nothing_is_solved_twice_where_all_markers_are_seen(steps: Steps) -> None:
    pipeline = steps.pipeline()
    for pair in steps.pairs(hidden=False):
        assert not pipeline.step(pair).doubts
    assert pipeline._rivals.switches == 0 and pipeline._rivals.solved < 0.2 * N


def test_a_pose_of_open_labels_goes_on_moving_but_is_not_called_tracked(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = steps.pipeline()
    best = pipeline._rivals.best

    def left_open(pair: Views, points: Points, leading: Labelled, proposed: Solved | None) -> Labelled:
        found = best(pair, points, leading, proposed)
        pipeline._rivals.unsettled = pair[0].index >= GONE
        return found

    monkeypatch.setattr(pipeline._rivals, "best", left_open)
    poses = [pipeline.step(pair) for pair in steps.pairs(hidden=False)]
    states = [pose.state for pose in poses[GONE - 10 :]]
    assert states == 10 * [TrackingState.TRACKING] + (N - GONE) * [TrackingState.COASTING]
    off_mm = 1e3 * np.linalg.norm([pose.marker_m - steps.markers[k] for k, pose in enumerate(poses)], axis=2)
    assert off_mm[GONE:].mean() < 1.5 * off_mm[10:GONE].mean()
