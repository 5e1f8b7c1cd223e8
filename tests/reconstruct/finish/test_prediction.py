"""Poses ahead of their capture: constant motion is met exactly, what is not known is not guessed."""

from dataclasses import replace

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.joints import N_JOINTS
from database.geometry.rotations import compute_geodesic_rad, matrix_from_rotvec, rotvec_from_matrix
from reconstruct.finish.prediction import MAX_AHEAD_S, Predictor, predict
from reconstruct.pose import Pose, TrackingState
from stream.protocol.codec import decode_message, encode_message
from stream.protocol.compose import compose_pose_message, compose_skeleton_message
from stream.protocol.messages import PoseMessage
from tests.reconstruct.finish.test_output_filter import FRAME_S, SUBJECT, pose_at
from tests.support.people import bent_pose, worn_markers

TURN = np.array([0.4, -1.5, 0.9])


def turning(n: int, frame_s: float = FRAME_S, uneven: bool = False) -> list[Pose]:
    """Return a body that moves at (1, 0.1, -2) m/s while its left knee (joint 2) turns at TURN about its own axes."""
    rng, poses = np.random.default_rng(3), list[Pose]()
    for k in range(n):
        seconds = (k + (rng.uniform(-0.3, 0.3) if uneven else 0.0)) * frame_s
        poses.append(moment(seconds))
    return poses


def moment(seconds: float) -> Pose:
    rotvec = bent_pose(2)
    rotvec[2] = rotvec_from_matrix(matrix_from_rotvec(rotvec[2]) @ matrix_from_rotvec(seconds * TURN))
    return pose_at(seconds, rotvec, np.array([1.0, 0.1, -2.0]) * seconds)


@pytest.mark.parametrize("uneven", [False, True])
def test_constant_motion_is_met_exactly(uneven: bool) -> None:
    poses = turning(5, uneven=uneven)
    truth = moment(poses[-1].t_capture_ns * 1e-9 + 0.03)
    given = predict(poses, 0.03, SUBJECT)
    np.testing.assert_allclose(given.root_m, truth.root_m, atol=1e-9)
    assert compute_geodesic_rad(matrix_from_rotvec(given.rotvec), matrix_from_rotvec(truth.rotvec)).max() < 1e-7
    np.testing.assert_allclose(given.marker_m, worn_markers(SUBJECT, given.rotvec[None], given.root_m[None])[0][0], atol=1e-9)
    assert given.t_capture_ns == poses[-1].t_capture_ns


def test_the_newest_motion_counts_most() -> None:
    """Frames at 0, 0, 1, 3 cm: the last difference says 2 cm a frame, the line through the last pose somewhat less."""
    x = [0.0, 0.0, 0.01, 0.03]
    poses = [pose_at(k * FRAME_S, bent_pose(2), np.array([x[k], 0.9, 0.0])) for k in range(4)]
    ahead = predict(poses, FRAME_S, SUBJECT).root_m[0] - 0.03
    # Weights 1, exp(-5/6), exp(-10/6) at ages 1, 2, 3 frames; differences 2, 3, 3 cm: slope sum w t d / sum w t^2.
    w = np.exp(-np.arange(3) * FRAME_S / 0.02)
    assert ahead == pytest.approx((w @ [2.0, 6.0, 9.0]) / (w @ [1.0, 4.0, 9.0]) * 0.01)
    assert 0.013 < ahead < 0.02


def test_off_is_the_very_pose() -> None:
    predictor = Predictor(0.0, SUBJECT)
    assert all(predictor.step(pose) == (pose, 0) for pose in turning(4))


def test_the_first_pose_and_what_is_not_tracked_stay() -> None:
    predictor, poses = Predictor(0.016, SUBJECT), turning(8)
    assert predictor.step(poses[0]) == (poses[0], 0)
    assert predictor.step(poses[1])[1] == 16_000_000
    for state in (TrackingState.COASTING, TrackingState.LOST):
        held = replace(poses[2], state=state)
        assert predictor.step(held) == (held, 0)
        assert predictor.step(poses[3]) == (poses[3], 0)
        assert predictor.step(poses[4])[1] == 16_000_000


def test_a_jump_a_turn_and_a_silence_are_no_motion() -> None:
    poses = turning(4)
    t_s = 4 * FRAME_S
    turned = poses[-1].rotvec.copy()
    turned[7] += [0.0, 1.5, 0.0]
    jump = pose_at(t_s, poses[-1].rotvec, poses[-1].root_m + [0.5, 0.0, 0.0])
    for news in (jump, pose_at(t_s, turned, poses[-1].root_m), moment(t_s + 0.2), poses[-1]):
        predictor = Predictor(0.016, SUBJECT)
        assert [predictor.step(pose)[1] for pose in poses] == [0, *[16_000_000] * 3]
        assert predictor.step(news) == (news, 0)


def test_no_farther_than_is_sensible() -> None:
    assert Predictor(5.0, SUBJECT).ahead_s == MAX_AHEAD_S
    assert predict(turning(3), 5.0, SUBJECT).root_m[2] == pytest.approx(-2.0 * (2 * FRAME_S + MAX_AHEAD_S))


def test_twins_of_a_rotation_make_no_difference() -> None:
    """The root turns past half a turn and its rotation vector jumps to the twin."""
    poses = []
    for k in range(5):
        angle = np.pi - 0.05 + 0.02 * k
        rotvec = bent_pose(2)
        rotvec[0] = [0.0, angle if angle <= np.pi else angle - 2.0 * np.pi, 0.0]
        poses.append(pose_at(k * FRAME_S, rotvec, np.zeros(3)))
    given = predict(poses, FRAME_S, SUBJECT)
    np.testing.assert_allclose(given.rotvec[0], [0.0, -np.pi + 0.05, 0.0], atol=1e-9)


@given(
    st.lists(
        st.tuples(st.sampled_from(list(TrackingState)), st.floats(-7.0, 7.0), st.floats(-3.0, 3.0), st.integers(-5, 90)),
        max_size=10,
    )
)
def test_whatever_comes_no_nan_leaves(frames: list[tuple[TrackingState, float, float, int]]) -> None:
    predictor, seconds = Predictor(0.033, SUBJECT), 0.0
    for state, angle, x, ms in frames:
        seconds += ms * 1e-3
        pose, _ = predictor.step(replace(pose_at(seconds, np.full((N_JOINTS, 3), angle), np.array([x, 0.0, -x])), state=state))
        assert np.isfinite(pose.rotvec).all() and np.isfinite(pose.root_m).all() and np.isfinite(pose.marker_m).all()


def test_the_message_says_so() -> None:
    """And a message without the key, as older publishers send it, is of a pose as it was seen."""
    message = compose_pose_message(turning(1)[0], compose_skeleton_message(SUBJECT), "s", 1, 5, 16_000_000)
    decoded = decode_message(encode_message(message))
    assert isinstance(decoded, PoseMessage) and decoded.predicted_ns == 16_000_000
    topic, _, body = encode_message(message).partition(b" ")
    content = msgpack.unpackb(body)
    del content["predicted_ns"]
    older = decode_message(topic + b" " + msgpack.packb(content))
    assert isinstance(older, PoseMessage) and older.predicted_ns == 0
