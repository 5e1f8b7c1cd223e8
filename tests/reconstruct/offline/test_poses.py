"""A take solved with past and future: gaps closed from both sides, labels corrected backwards, windows that join."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest

from benchmarks.reconstruct.swaps import exchange_markers
from capture.packets import MarkerFrame, Views
from config.arrays import Bools, Floats
from config.joints import JOINT_INDEX, N_JOINTS
from config.settings import Settings
from reconstruct.offline import take
from reconstruct.offline.poses import MAX_GAP_S, LiveTake, OfflineOptions, solve_take
from reconstruct.pose import JointSource, TrackingState
from reconstruct.solve.certainty import CALIBRATION_M
from tests.support.people import front_rig, person, seen_pair, walk, worn_markers
from tests.support.performances import Performance, build_walks

N, GAP = 150, range(45, 105)
FEET = ("left_foot", "right_foot")


@dataclass(frozen=True)
class Walk(Performance):
    """A walk that the database lacks, with an arm that swings to the side meanwhile."""

    @property
    def options(self) -> OfflineOptions:
        return OfflineOptions(self.rig, self.subject, self.table, Settings(), np.ones(len(self.subject.markers), bool))

    def numbers(self, names: Sequence[str]) -> list[int]:
        return [self.subject.markers.names.index(name) for name in names]

    def live(self, gone: Sequence[str], frames: range) -> LiveTake:
        """Return what live reconstruction makes of it, where both cameras miss some markers in some frames."""
        pipeline, rng = self.pipeline(), np.random.default_rng(0)
        poses, markers, views = [], list[MarkerFrame](), list[Views]()
        for k, marker_m in enumerate(self.markers):
            hidden = self.numbers(gone) if k in frames else []
            poses.append(pipeline.step(seen_pair(self.rig, k, marker_m, 0.3, rng, (hidden, hidden))))
            assert pipeline.markers is not None and pipeline.views is not None
            markers.append(pipeline.markers)
            views.append(pipeline.views)
        return LiveTake(poses, markers, views)

    def wrong(self, markers: Sequence[MarkerFrame]) -> Bools:
        """Return which labels are another's, (N, M)."""
        image = np.array([self.rig.cameras[0].project(marker_m) for marker_m in self.markers])
        off_px = np.linalg.norm(np.array([frame.image_px[0] for frame in markers]) - image, axis=2)
        return np.asarray(np.array([frame.seen[0] for frame in markers]) & (off_px > 3.0))

    def off_m(self, solved: LiveTake, names: Sequence[str]) -> Floats:
        """Return how far markers are from the truth, (N, K) [m]."""
        which = self.numbers(names)
        found = np.stack([pose.marker_m for pose in solved.poses])
        return np.asarray(np.linalg.norm(found[:, which] - self.markers[:, which], axis=2))


@pytest.fixture(scope="module")
def scene() -> Walk:
    subject = person("boxing", 1)
    clip = walk(subject.skeleton, 3, speed=0.8)
    rotvec = clip.rotvec[:N].copy()
    rotvec[:, JOINT_INDEX["leftUpperArm"], 2] += 0.5 * np.sin(2.0 * np.pi * 0.25 * np.arange(N) / 60.0)
    markers, joints = worn_markers(subject, rotvec, clip.root_m[:N])
    return Walk(subject, build_walks(), front_rig(), markers, joints)


@pytest.fixture(scope="module")
def live(scene: Walk) -> LiveTake:
    """A hand and a foot are missing for a second."""
    return scene.live(("left_hand", "right_foot"), GAP)


@pytest.fixture(scope="module")
def solved(scene: Walk, live: LiveTake) -> LiveTake:
    return solve_take(live, scene.options)


def test_a_gap_of_a_second_is_closed_from_both_sides(scene: Walk, live: LiveTake, solved: LiveTake) -> None:
    gone = ("left_hand", "right_foot")
    before, after = (scene.off_m(found, gone)[GAP].mean() for found in (live, solved))

    assert after < 0.8 * before
    joints = [scene.errors_m(list(found.poses)).mean() for found in (live, solved)]
    assert joints[1] < joints[0]
    assert all(pose.state is TrackingState.TRACKING for pose in solved.poses)


def test_expected_errors_are_those_of_past_and_future(live: LiveTake, solved: LiveTake) -> None:
    hand = JOINT_INDEX["leftHand"]
    before, after = (np.stack([pose.error_m for pose in found.poses])[:, hand] for found in (live, solved))
    half = GAP.start + len(GAP) // 2
    middle = after[half]
    assert middle > 2.0 * after[GAP.start] and middle > 2.0 * after[GAP.stop - 1] and middle > 2.0 * np.median(after)
    assert (after[half : GAP.stop] < before[half : GAP.stop]).all()


def test_markers_that_sit_elsewhere_lead_a_calibrated_body_less_astray(scene: Walk) -> None:
    rng, subject = np.random.default_rng(5), scene.subject
    misplaced_m = subject.offset_m + 0.02 * rng.normal(size=subject.offset_m.shape)
    calibrated = replace(subject, offset_m=misplaced_m, length_sigma_m=np.full((2, N_JOINTS), 0.01))
    given = replace(scene, subject=calibrated).live((), range(0))
    begun = [pose.state for pose in given.poses].index(TrackingState.TRACKING)  # what comes before stays as it was
    off_m, px = [], []
    for body_of in (calibrated, replace(calibrated, length_sigma_m=None)):
        mistaken = replace(scene, subject=body_of)
        solved = solve_take(given, mistaken.options)
        off_m.append(mistaken.errors_m(list(solved.poses))[begun:].mean())
        px.append(np.median([pose.residual_px for pose in solved.poses]))
        assert all((pose.error_m >= CALIBRATION_M).all() for pose in solved.poses[begun:]) == (body_of is calibrated)

    assert off_m[0] < 0.9 * off_m[1] and px[0] < px[1]


def test_labels_are_corrected_backwards(scene: Walk) -> None:
    """Feet that came back exchanged and were set right a third of a second later, and a hand that got its label late."""
    live = scene.live((*FEET, "left_hand"), GAP)
    hand, feet = scene.numbers(("left_hand",))[0], scene.numbers(FEET)
    given = list(live.markers)
    for k in range(GAP.stop, GAP.stop + 20):
        given[k] = exchange_markers(given[k], feet[0], feet[1])
    for k in range(GAP.stop, GAP.stop + 10):
        shown = np.arange(len(given[k].valid)) != hand
        given[k] = replace(given[k], valid=given[k].valid & shown, seen=given[k].seen & shown)
    solved = solve_take(replace(live, markers=given), scene.options)
    assert scene.wrong(given).sum() == 40 and not scene.wrong(solved.markers).any()
    assert all(frame.valid[hand] for frame in solved.markers[GAP.stop :])


def test_tracks_exchanged_together_after_a_gap_are_set_right_together(scene: Walk) -> None:
    """Both hands and both feet come back as each other and stay so: no single exchange makes them right."""
    names = ("left_hand", "left_foot", "right_hand", "right_foot")
    live = scene.live(names, GAP)
    given = list(live.markers)
    hand, foot, other_hand, other_foot = scene.numbers(names)
    for k in range(GAP.stop, N):
        for a, b in ((hand, foot), (foot, other_hand), (other_hand, other_foot)):
            given[k] = exchange_markers(given[k], a, b)
    solved = solve_take(replace(live, markers=given), scene.options)
    assert scene.wrong(given).sum() == 4 * (N - GAP.stop)
    assert not scene.wrong(solved.markers).any()
    assert all(frame.valid.all() for frame in solved.markers[GAP.stop :])


def test_windows_join_without_a_jump(scene: Walk, live: LiveTake, solved: LiveTake, monkeypatch: pytest.MonkeyPatch) -> None:
    """A take in four windows is the take in one, to less than noise."""
    monkeypatch.setattr(take, "WINDOW", 40)
    monkeypatch.setattr(take, "AHEAD", 70)
    parts = solve_take(live, scene.options)
    one, four = (np.stack([pose.marker_m for pose in result.poses]) for result in (solved, parts))
    off_m = np.linalg.norm(one - four, axis=2)
    assert off_m.mean() < 0.003
    jump = np.linalg.norm(np.diff(four - one, axis=0), axis=2)
    assert jump.max() < 0.01
    one, four = (np.stack([pose.error_m for pose in result.poses]) for result in (solved, parts))
    assert np.abs(np.log(four / one)).max() < 0.4


def test_a_time_without_tracking_is_closed_and_said(scene: Walk, live: LiveTake) -> None:
    poses = [replace(pose, state=TrackingState.LOST) if k in range(20, 30) else pose for k, pose in enumerate(live.poses)]
    closed = solve_take(replace(live, poses=poses, views=()), scene.options).poses
    assert all(closed[k].state is TrackingState.COASTING for k in range(20, 30))
    assert (closed[25].joint_source == JointSource.INFERRED).all()
    assert np.linalg.norm(closed[25].marker_m - scene.markers[25], axis=1).mean() < 0.06


def test_a_take_goes_on_while_a_few_markers_hold_the_pose(scene: Walk) -> None:
    """Over longer than gaps are closed: labels stay, poses are better than live, and are called by their expected errors."""
    few = range(15, 140)
    live = scene.live([name for name in scene.subject.markers.names if name not in (*FEET, "waist_left")], few)
    assert len(few) / 60.0 > MAX_GAP_S and all(live.markers[k].valid.sum() == 3 for k in few)
    solved = solve_take(live, scene.options)
    for found in solved.poses:
        assert (found.state is TrackingState.TRACKING) == (found.error_m.mean() < scene.options.settings.label.tracking_m)
    assert all(solved.markers[k].valid.sum() == 3 for k in few) and not scene.wrong(solved.markers).any()
    before, after = (scene.errors_m(list(found.poses))[few].mean() for found in (live, solved))
    assert after < 0.8 * before


@pytest.mark.parametrize("n", [0, 1, 5])
def test_what_is_too_short_stays_as_it_was(scene: Walk, live: LiveTake, n: int) -> None:
    short = solve_take(live.part(range(n)), scene.options)
    assert len(short.poses) == n
    for before, after in zip(live.poses, short.poses, strict=False):
        assert np.array_equal(before.rotvec, after.rotvec) and before.state is after.state
