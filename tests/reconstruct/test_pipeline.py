"""The step end to end, on blobs projected from a built-in walk: tracked, near the truth, through occlusion and loss."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from capture.packets import MarkerFrame, Views
from config.joints import JOINT_INDEX
from config.settings import FillSettings, Settings
from database.builtin import build_person_skeleton
from database.clips import slice_clip
from reconstruct.body_state import BodyState
from reconstruct.models.sparse.learn import DictionaryOptions, SparseError
from reconstruct.models.sparse.model import write_dictionary
from reconstruct.models.sparse.train import TrainOptions, train_pose_dictionary
from reconstruct.models.style.features import build_training_poses
from reconstruct.models.style.learn.train import LearnOptions, fit_style
from reconstruct.pose import MEASURED_ERROR_M, JointSource, Pose, TrackingState, find_measured_joints
from reconstruct.track.estimator import Estimate
from reconstruct.warm import warm_estimator
from tests.support.people import (
    person,
    seen_pair,
    walk,
)
from tests.support.performances import Performance

N = 130
NOISE_PX = 0.3


@dataclass(frozen=True)
class Session(Performance):
    """A walk that the database lacks."""

    def pairs(self, hidden: dict[range, list[int]] | None = None, seed: int = 0) -> list[Views]:
        """Return what the cameras see; `hidden` are unseen by both in these frames."""
        rng = np.random.default_rng(seed)
        result = []
        for k, markers in enumerate(self.markers):
            gone = [m for frames, which in (hidden or {}).items() if k in frames for m in which]
            result.append(seen_pair(self.rig, k, markers, NOISE_PX, rng, (gone, gone)))
        return result


@pytest.fixture(scope="module")
def session() -> Session:
    return Session.of_walk(N)


@pytest.fixture(scope="module")
def tracked(session: Session) -> list[Pose]:
    pipeline = session.pipeline()
    return [pipeline.step(pair) for pair in session.pairs()]


def test_every_frame_is_tracked_near_the_truth(session: Session, tracked: list[Pose]) -> None:
    """Measured: mean joint error 12 mm, worst 101 mm (depth noise is 9 mm here; arms beyond elbows are guessed)."""
    assert [pose.state for pose in tracked] == [TrackingState.TRACKING] * len(session.markers)
    errors = session.errors_m(tracked)
    assert errors.mean() < 0.03, errors.mean()
    assert errors[:, JOINT_INDEX["leftFoot"]].mean() < 0.03
    assert errors.max() < 0.25


def test_pose_says_what_was_measured(session: Session, tracked: list[Pose]) -> None:
    """Residuals are hardly more than points are off: along the line of sight noise of a third of a pixel is 30 mm here."""
    for k, pose in list(enumerate(tracked))[::20]:
        off_m = np.linalg.norm(pose.point_m - session.markers[k], axis=1)[pose.measured]
        assert pose.measured.sum() >= 12 and np.median(pose.residual_m[pose.measured]) < np.median(off_m) + 0.005
        assert np.median(pose.residual_px[pose.seen]) < 3.0
        assert pose.joint_source[JOINT_INDEX["leftLowerArm"]] == JointSource.MEASURED
        assert pose.joint_source[JOINT_INDEX["leftHand"]] == JointSource.INFERRED
        assert set(pose.latency_ns) == {"match", "label", "solve", "finish"}
    assert [pose.index for pose in tracked] == list(range(len(tracked)))


def test_labels_are_the_true_ones(session: Session) -> None:
    pipeline = session.pipeline()
    wrong = 0
    for k, pair in enumerate(session.pairs(seed=5)):
        pipeline.step(pair)
        frame = pipeline.markers
        assert frame is not None
        for c, camera in enumerate(session.rig.cameras):
            error = np.linalg.norm(frame.image_px[c] - camera.project(session.markers[k]), axis=1)
            wrong += int((error[frame.seen[c]] > 6 * NOISE_PX).sum())
    assert wrong == 0


def test_same_input_same_poses(session: Session, tracked: list[Pose]) -> None:
    """A second pipeline, warmed before and used again after forgetting, gives the same numbers to the last bit."""
    pipeline = session.pipeline()
    pipeline.warm()
    for _ in range(2):
        for expected, pair in zip(tracked[:40], session.pairs(), strict=False):
            pose = pipeline.step(pair)
            assert np.array_equal(pose.rotvec, expected.rotvec) and np.array_equal(pose.root_m, expected.root_m)
        pipeline.forget()


def test_an_occluded_marker_is_carried_by_the_model(session: Session) -> None:
    """The left ankle for half a second, mid-step."""
    ankle = session.subject.markers.names.index("left_ankle")
    pipeline = session.pipeline()
    pairs = session.pairs({range(50, 80): [ankle]})
    poses = [pipeline.step(pair) for pair in pairs]
    assert all(pose.state is TrackingState.TRACKING for pose in poses)
    assert not any(pose.measured[ankle] for pose in poses[50:80]) and all(pose.measured[ankle] for pose in poses[84:])
    predicted = np.array([np.linalg.norm(poses[k].marker_m[ankle] - session.markers[k, ankle]) for k in range(50, 80)])
    assert np.median(predicted) < 0.06, np.median(predicted)


def test_expected_errors_hold_what_they_say(session: Session, tracked: list[Pose]) -> None:
    """Of the joints of a walk about two thirds are nearer than one error and nearly all than three; unseen or held, they grow."""
    share = session.errors_m(tracked)[10:] / np.stack([pose.error_m for pose in tracked[10:]])
    assert 0.5 < (share < 1.0).mean() < 0.95 and (share < 3.0).mean() > 0.95
    every = list(range(len(session.subject.markers)))
    hidden = {range(30, 50): [session.subject.markers.names.index("left_ankle")], range(50, 60): every}
    pipeline = session.pipeline()
    poses = [pipeline.step(pair) for pair in session.pairs(hidden)[:60]]
    foot = JOINT_INDEX["leftFoot"]
    assert poses[45].error_m[foot] > 1.2 * tracked[45].error_m[foot]
    grown_m = [pose.error_m[foot] for pose in poses[50:]]
    assert (np.diff(grown_m) > 0.0).all() and grown_m[-1] > 2.0 * grown_m[0]


def assert_honest(session: Session, poses: list[Pose], part: slice, least: int = 0) -> None:
    """No pose of a part that is far off is called tracking, at least so many are; expected errors of all hold what they say."""
    off_m = session.errors_m(poses)
    tracking = np.array([pose.state is TrackingState.TRACKING for pose in poses[part]])
    assert tracking.sum() >= least and off_m[part][tracking].mean(axis=1).max(initial=0.0) < 0.1
    assert (off_m < 2.0 * np.stack([pose.error_m for pose in poses])).mean() > 0.8


def test_the_torso_may_be_out_of_sight_for_a_moment(session: Session) -> None:
    """The other markers tell where the body is, and how surely."""
    torso = np.flatnonzero(session.subject.markers.torso).tolist()
    pipeline = session.pipeline()
    poses = [pipeline.step(pair) for pair in session.pairs({range(40, 110): torso})]
    assert_honest(session, poses, slice(40), 40)
    assert_honest(session, poses, slice(40, 110), 30)
    assert_honest(session, poses, slice(112, N), N - 112)
    assert session.errors_m(poses)[40:].mean(axis=1).max() < 0.1


@pytest.mark.parametrize(("n_seen", "limit_m"), [(3, 0.06), (1, 0.1)])
def test_a_pose_goes_on_by_the_few_markers_that_are_seen(session: Session, n_seen: int, limit_m: float) -> None:
    """Which ones changes; the pose is the best there is and says how far it may be off, and enough that are back end that."""
    n_markers = len(session.subject.markers)
    pipeline = session.pipeline()
    gone = {range(k, k + 15): [(k // 15 + m) % n_markers for m in range(n_markers - n_seen)] for k in range(40, 100, 15)}
    poses = [pipeline.step(pair) for pair in session.pairs(gone)]
    assert_honest(session, poses, slice(40, 100))
    errors_m = session.errors_m(poses)
    assert errors_m[40:100].mean() < limit_m
    assert TrackingState.LOST not in {pose.state for pose in poses[40:]}
    assert all(pose.state is TrackingState.TRACKING for pose in poses[102:]) and errors_m[102:].mean() < 0.04


def test_a_hidden_marker_is_not_used(session: Session) -> None:
    """It is labelled, to score its prediction, but moving it changes no pose."""
    knee = session.subject.markers.names.index("right_knee")
    pipeline = session.pipeline(hidden=("right_knee",))
    poses, seen = [], 0
    for pair in session.pairs():
        poses.append(pipeline.step(pair))
        assert pipeline.markers is not None
        seen += bool(pipeline.markers.valid[knee])
    assert seen > 0.9 * N and not any(pose.measured[knee] or pose.seen[:, knee].any() for pose in poses)
    assert all(pose.state is TrackingState.TRACKING for pose in poses)
    predicted = np.array([np.linalg.norm(pose.marker_m[knee] - session.markers[k, knee]) for k, pose in enumerate(poses)])
    assert 0.001 < np.median(predicted) < 0.06
    other = session.pipeline(hidden=("right_knee",))
    unseen = [other.step(pair) for pair in session.pairs({range(N): [knee]})]
    assert np.isfinite(unseen[-1].rotvec).all() and unseen[-1].state is TrackingState.TRACKING


@pytest.mark.parametrize(("coasting_m", "called"), [(0.25, TrackingState.COASTING), (1e-6, TrackingState.LOST)])
def test_a_pose_is_called_by_how_far_it_may_be_off(session: Session, coasting_m: float, called: TrackingState) -> None:
    """Nobody is as sure as a micrometre."""
    strict = replace(Settings(), label=replace(Settings().label, tracking_m=1e-6, coasting_m=coasting_m))
    pipeline = session.pipeline(strict)
    assert {pipeline.step(pair).state for pair in session.pairs()[:10]} == {called}


def test_measured_joints_are_those_with_a_marker_and_their_parents() -> None:
    subject = person("dark_room")
    seen = np.zeros(14, bool)
    seen[subject.markers.names.index("left_ankle")] = True
    joints = find_measured_joints(seen, subject)
    assert np.flatnonzero(joints).tolist() == sorted([JOINT_INDEX["leftLowerLeg"], JOINT_INDEX["leftFoot"]])


def test_a_joint_that_may_be_far_off_is_not_said_to_be_measured(session: Session) -> None:
    """Expected errors decide, among the joints that carry markers."""
    pipeline = session.pipeline()
    pose = next(pose for k, pose in enumerate(map(pipeline.step, session.pairs({}))) if k == 20)
    carries = find_measured_joints(np.asarray(pose.seen.any(axis=0)), session.subject)
    sure = pose.error_m <= MEASURED_ERROR_M
    assert pose.state is TrackingState.TRACKING and (carries & sure).any()
    assert np.array_equal(pose.joint_source == JointSource.MEASURED, carries & sure)


def test_warming_solves_from_both_views_and_from_one(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is left to be compiled at the first frame: search, rays, a pose model."""
    pipeline = session.pipeline()
    estimator = pipeline._estimator
    frames: list[MarkerFrame] = []
    estimate = estimator.estimate

    def noted(frame: MarkerFrame, *rest: BodyState | None) -> Estimate | None:
        frames.append(frame)
        found = estimate(frame, *rest)
        assert found is not None
        return found

    monkeypatch.setattr(estimator, "estimate", noted)
    warm_estimator(estimator, pipeline.rig, True)
    filling = [True, False, False]
    assert [frame.valid.all() for frame in frames] == [True, True, True, False, *filling] and not frames[3].valid.any()
    assert estimator.last is None


def test_a_style_changes_nothing_but_frames_that_lack_markers(session: Session, tracked: list[Pose]) -> None:
    """The style is another's walk. Without its markers the left leg stays inferred, believed no more than before."""
    clip = walk(build_person_skeleton(1.8), 11, speed=0.7)
    style = fit_style(build_training_poses([slice_clip(clip, 0, 90)]), clip.skeleton, "walk", LearnOptions(active=20, steps=10))
    names = session.subject.markers.names
    gone = [names.index(name) for name in ("left_knee", "left_ankle", "left_toe")]
    pipeline = session.pipeline()
    pipeline.take_style(style)
    for record in pipeline._estimator.filler.records.values() if pipeline._estimator.filler else ():
        record.loss_m2[:, 0] = record.gain_m2[-1] = record.gain2_m4[-1] = record.n_checks = 100.0  # as if all checks favoured it
        record.loss_m2[:, -1] = 0.0
    poses = [pipeline.step(pair) for pair in session.pairs({range(20, 40): gone})[:40]]
    for pose, without in zip(poses[:20], tracked[:20], strict=True):
        assert np.array_equal(pose.rotvec, without.rotvec)
    ankle, lower = JOINT_INDEX["leftFoot"], poses[30]
    assert all(np.isfinite(pose.rotvec).all() and pose.state is TrackingState.TRACKING for pose in poses)
    assert lower.joint_source[ankle] == JointSource.INFERRED and 0.0 < lower.confidence[ankle] < tracked[30].confidence[ankle]
    other = session.pipeline()
    others = [other.step(pair) for pair in session.pairs({range(20, 40): gone})[:24]]
    assert not np.array_equal(poses[23].rotvec, others[23].rotvec)
    pipeline.take_style(None)
    assert pipeline._estimator.filler is None


def test_the_models_of_the_settings_fill_in(session: Session, tmp_path: Path) -> None:
    """A dictionary from the start, a style beside it once learned; each alone, or neither, where the settings say so."""
    clip = walk(build_person_skeleton(1.8), 11, speed=0.7)
    options = TrainOptions(1, DictionaryOptions(n_atoms=40, n_nonzero=6, iterations=2))
    file = tmp_path / "walk.sparse"
    poses = clip.rotvec[:90].astype(np.float32)
    write_dictionary(file, train_pose_dictionary(lambda: [poses], clip.skeleton, "walk", tmp_path / "part", options))
    style = fit_style(build_training_poses([slice_clip(clip, 0, 90)]), clip.skeleton, "walk", LearnOptions(active=20, steps=10))
    settings = replace(Settings(), fill=FillSettings(dictionary=str(file)))
    for model, names in {"sparse": {"sparse"}, "style": {"style"}, "local": set(), "auto": {"sparse", "style"}}.items():
        asked = replace(settings, fill=replace(settings.fill, model=model))
        pipeline = session.pipeline(asked)
        at_first = pipeline._estimator.filler
        assert (at_first is not None) == ("sparse" in names)
        pipeline.take_style(style)
        filler = pipeline._estimator.filler
        assert (set() if filler is None else set(filler.models)) == names
    found = [pipeline.step(pair) for pair in session.pairs({})[:45]]
    assert filler is not None and all(record.n_checks > 1.0 for record in filler.records.values())
    assert all(pose.state is TrackingState.TRACKING for pose in found)
    gone = replace(settings, fill=FillSettings(dictionary=str(tmp_path / "gone.sparse")))
    with pytest.raises(SparseError, match="cannot be opened"):
        session.pipeline(gone)
