"""The step with one camera: from the T-pose on, through loss and return, and with one of two cameras gone for a while."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from calibration.camera import Rig
from capture.packets import Views, find_lone_view
from config.joints import JOINT_INDEX
from database.builtin import build_person_skeleton
from database.tpose import make_tpose_clips
from reconstruct.pipeline import Pipeline
from reconstruct.pose import MEASURED_ERROR_M, JointSource, Pose, TrackingState
from tests.support.people import (
    blobs_of,
    front_rig,
    lone_views,
    person,
    seen_pair,
    t_pose,
    walk,
    worn_markers,
)
from tests.support.performances import Performance, build_walks

N_TPOSE, N = 20, 120
NOISE_PX = 0.3


@dataclass(frozen=True)
class Session(Performance):
    """A performer who holds the T-pose, lowers the arms and walks."""

    @property
    def one(self) -> Rig:
        """The left camera alone."""
        return replace(self.rig, cameras=self.rig.cameras[:1])

    def pairs(self, seed: int = 0) -> list[Views]:
        rng = np.random.default_rng(seed)
        return [seen_pair(self.rig, k, markers, NOISE_PX, rng) for k, markers in enumerate(self.markers)]


@pytest.fixture(scope="module")
def session() -> Session:
    subject = person("all_around", 1)
    clip = walk(subject.skeleton, 3, speed=0.8)
    lowering = np.linspace(0.0, 1.0, 31)[1:, None, None] * (clip.rotvec[0] - t_pose()) + t_pose()
    rotvec = np.concatenate([np.tile(t_pose(), (N_TPOSE, 1, 1)), lowering, clip.rotvec[: N - N_TPOSE - 30]])
    root = np.concatenate([np.tile(clip.root_m[0], (N_TPOSE + 30, 1)), clip.root_m[: N - N_TPOSE - 30]])
    markers, joints = worn_markers(subject, rotvec, root)
    table = build_walks(poses=make_tpose_clips(build_person_skeleton(1.8), 60.0))
    return Session(subject, table, front_rig(), markers, joints)


def one_camera(session: Session) -> Pipeline:
    return replace(session, rig=session.one).pipeline()


@pytest.fixture(scope="module")
def tracked(session: Session) -> list[Pose]:
    pipeline = one_camera(session)
    return [pipeline.step(lone_views(pair[0], 1)) for pair in session.pairs()]


def test_every_frame_is_tracked_near_the_truth(session: Session, tracked: list[Pose]) -> None:
    assert [pose.state for pose in tracked] == [TrackingState.TRACKING] * N
    errors = session.errors_m(tracked)
    # Measured: 23 mm in the mean, at most 140 mm.
    assert errors.mean() < 0.06, errors.mean()
    assert np.median(np.abs(np.stack([pose.root_m for pose in tracked])[:, 0] - session.joints[:, 0, 0])) < 0.02
    assert errors.max() < 0.35


def test_one_camera_says_what_it_saw(session: Session, tracked: list[Pose]) -> None:
    for pose in tracked[::20]:
        assert not pose.measured.any() and not pose.residual_m.any()
        assert pose.seen.shape == (1, pose.seen.shape[1]) and pose.seen.sum() >= 12
        assert np.median(pose.residual_px[0][pose.seen[0]]) < 2.0
        hand = JOINT_INDEX["leftHand"]
        near = pose.error_m[hand] <= MEASURED_ERROR_M  # rays leave the depth to the body
        assert (pose.joint_source[hand] == JointSource.MEASURED) == near


def test_labels_are_the_true_ones(session: Session) -> None:
    pipeline = one_camera(session)
    wrong = 0
    for k, pair in enumerate(session.pairs(seed=5)):
        pipeline.step(lone_views(pair[0], 1))
        frame = pipeline.markers
        assert frame is not None
        error = np.linalg.norm(frame.image_px[0] - session.rig.cameras[0].project(session.markers[k]), axis=1)
        wrong += int((error[frame.seen[0]] > 6 * NOISE_PX).sum())
    assert wrong == 0


def test_same_input_same_poses(session: Session, tracked: list[Pose]) -> None:
    """Warmed before, and used again after forgetting."""
    pipeline = one_camera(session)
    pipeline.warm()
    for _ in range(2):
        for expected, pair in zip(tracked[:30], session.pairs(), strict=False):
            pose = pipeline.step(lone_views(pair[0], 1))
            assert np.array_equal(pose.rotvec, expected.rotvec) and np.array_equal(pose.root_m, expected.root_m)
        pipeline.forget()


def test_all_gone_for_a_second(session: Session) -> None:
    """Not tracking, with errors that grow, and tracking again soon after the return, with the last pose to go by."""
    pipeline = one_camera(session)
    poses = []
    for k, pair in enumerate(session.pairs()):
        gone = blobs_of(0, k, np.zeros((0, 2)))
        poses.append(pipeline.step(lone_views(gone if 20 <= k < 80 else pair[0], 1)))
    states = [pose.state for pose in poses]
    assert states[:20] == [TrackingState.TRACKING] * 20 and TrackingState.TRACKING not in states[20:80]
    grown_m = np.array([pose.error_m.mean() for pose in poses[20:80]])
    assert (grown_m[10:] > grown_m[:-10]).all() and states[22] is TrackingState.COASTING
    assert states[100:] == [TrackingState.TRACKING] * 20
    assert session.errors_m(poses)[105:].mean() < 0.10


@pytest.mark.parametrize("side", [0, 1])
def test_two_cameras_outlive_the_loss_of_one(session: Session, side: int) -> None:
    """One camera shows nothing for more than half a second, mid-walk: poses go on, seen by the other alone."""
    pipeline = session.pipeline()
    poses = []
    for k, pair in enumerate(session.pairs()):
        if 60 <= k < 100:
            views = [pair[0], pair[1]]
            views[side] = blobs_of(side, k, np.zeros((0, 2)))
            pair = Views(tuple(views))
        poses.append(pipeline.step(pair))
    assert [pose.state for pose in poses] == [TrackingState.TRACKING] * N
    for pose in poses[60:100]:
        assert not pose.measured.any() and not pose.seen[side].any() and pose.seen[1 - side].sum() >= 10
    assert all(pose.measured.sum() >= 12 for pose in poses[105:])
    assert all(poses[80].confidence.mean() < poses[k].confidence.mean() for k in (50, 110)), "rays leave the depth to the body"
    errors = session.errors_m(poses).mean(axis=1)
    # Measured: 72 mm (left gone) and 23 mm (right gone) meanwhile, up to seven metres from the camera; 9 mm after.
    assert errors[60:100].mean() < 0.12 and errors[60:100].max() < 0.25
    assert errors[104:].mean() < 0.03


def test_which_camera_is_alone() -> None:
    few, many = np.zeros((3, 2)), np.arange(20.0).reshape(10, 2)
    assert find_lone_view(Views((blobs_of(0, 0, many), blobs_of(1, 0, few))), 4) == 0
    assert find_lone_view(Views((blobs_of(0, 0, few), blobs_of(1, 0, many))), 4) == 1
    assert find_lone_view(Views((blobs_of(0, 0, many), blobs_of(1, 0, many))), 4) is None
    assert find_lone_view(Views((blobs_of(0, 0, few), blobs_of(1, 0, few))), 4) is None
