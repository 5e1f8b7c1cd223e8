"""From recorded messages back to a take: the same motion, other skeletons and sessions, predicted poses."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from config.errors import FileFormatError
from config.joints import JOINT_INDEX, JOINTS, N_JOINTS, PARENTS
from database.geometry.rotations import compute_geodesic_rad, matrix_from_rotvec
from reconstruct.pose import Pose, TrackingState
from stream.protocol.codec import decode_message, encode_message
from stream.protocol.compose import compose_pose_message, compose_rig_message, compose_skeleton_message
from stream.protocol.messages import PoseMessage, RigMessage, SkeletonMessage
from stream.take.from_recording import estimate_tails_m, read_longest_motion
from stream.take.take import build_take
from tests.support import fakes

SUBJECT = fakes.subject()
SKELETON = compose_skeleton_message(SUBJECT)


@dataclass
class Tape:
    """A recording in memory; what it gives went through the codec."""

    messages: list[PoseMessage]
    skeleton: SkeletonMessage = SKELETON
    rig: RigMessage | None = None
    metadata: dict[str, str] = field(default_factory=dict)
    skeletons: tuple[SkeletonMessage, ...] = ()
    file: Path = Path("walk.mcap")

    @property
    def poses(self) -> tuple[PoseMessage, ...]:
        return tuple(decode_message(encode_message(message)) for message in self.messages)

    def payloads(self) -> Iterator[tuple[int, bytes]]:
        yield from ((0, encode_message(message)) for message in (*self.skeletons, *self.messages))


def poses(n: int = 6) -> list[Pose]:
    """Return poses with large rotations, one in a state of its own, the chest marker measured but once, at uneven times."""
    rng = np.random.default_rng(4)
    result = []
    for k in range(n):
        pose = fakes.pose(k, 5_000_000_000 + round(k * 16.7e6) + 1_000_000 * (k == 3), rng.normal(0, 1, 3))
        point = np.array([[0.1 * k, 1.0, -0.2], [7.0, 7.0, 7.0]])
        pose = replace(pose, rotvec=rng.normal(0, 1.0, (N_JOINTS, 3)), point_m=point, measured=np.array([k != 2, False]))
        result.append(replace(pose, state=TrackingState.COASTING if k == 4 else TrackingState.TRACKING))
    return result


def messages(session: str = "run", skeleton: SkeletonMessage = SKELETON, n: int = 6) -> list[PoseMessage]:
    """Return them as the stream has them."""
    return [compose_pose_message(pose, skeleton, session, k, pose.t_capture_ns + 9) for k, pose in enumerate(poses(n))]


def test_a_recording_gives_the_motion_that_was_published() -> None:
    tape = Tape(
        messages(),
        rig=compose_rig_message(fakes.rig(), "run"),
        metadata={"when": "2025-05-04T10:00:00+00:00"},
    )
    take, expected = read_longest_motion(tape).take(), build_take(SUBJECT.skeleton, poses(), SUBJECT.markers.names)
    np.testing.assert_allclose(take.seconds, expected.seconds, atol=1e-12)
    assert take.states == expected.states
    # Published as float32.
    assert compute_geodesic_rad(matrix_from_rotvec(take.rotvec), matrix_from_rotvec(expected.rotvec)).max() < 1e-6
    np.testing.assert_allclose(take.positions_m(), expected.positions_m(), atol=2e-6)
    assert take.skeleton.tails_m.tolist() == SUBJECT.skeleton.tails_m.tolist()
    assert take.markers is not None and take.markers.names == ("chest", "hand")
    assert take.markers.valid.tolist() == [[k != 2, False] for k in range(6)]
    assert take.markers.point_m[3, 0].tolist() == [pytest.approx(0.3), 1.0, -0.2] and not take.markers.point_m[:, 1].any()
    assert (take.info.subject, take.info.session, take.info.recorded) == ("Ann", "run", "2025-05-04T10:00:00+00:00")


def test_the_longest_run_of_one_skeleton_is_taken_and_said() -> None:
    tall = replace(SUBJECT, skeleton=replace(SUBJECT.skeleton, offsets_m=SUBJECT.skeleton.offsets_m * 2.0))
    other = compose_skeleton_message(tall)
    tape = Tape([*messages(n=2), *messages("next", other, 6)], skeletons=(SKELETON, other))
    motion = read_longest_motion(tape)
    assert "changes its session or skeleton once;" in motion.note and "6 of 8 poses, session next" in motion.note
    assert motion.subject.skeleton.offsets_m.tolist() == tall.skeleton.offsets_m.tolist() and len(motion.take()) == 6
    assert read_longest_motion(Tape(messages())).note == ""
    with pytest.raises(FileFormatError, match=f"lacks the skeleton {other.hash}"):
        read_longest_motion(Tape(messages("next", other))).take()


def test_predicted_poses_stand_at_the_time_they_are_for_and_markers_at_theirs() -> None:
    published = [replace(message, predicted_ns=8_350_000 * (k > 0)) for k, message in enumerate(messages(n=3))]
    published += [replace(messages()[5], predicted_ns=0)]  # 33 ms later, not predicted
    take = read_longest_motion(Tape(published)).take()
    np.testing.assert_allclose(take.seconds, [0.0, 0.02505, 0.04175, 0.0835], atol=1e-9)
    assert take.markers is not None
    # Between frames 1 (x = 0.1) and 2, which has none: no value; at frame 5 its own.
    assert take.markers.valid[:, 0].tolist() == [True, False, False, True]
    whole = [replace(message, predicted_ns=8_350_000) for message in messages(n=2)]
    take = read_longest_motion(Tape([*whole, replace(messages()[5])])).take()
    assert take.markers is not None
    assert take.markers.point_m[0, 0, 0] == pytest.approx(0.05)


def test_bodies_of_other_programs() -> None:
    turned = list(range(N_JOINTS - 1, -1, -1))  # not parent first: only to see that names, not places, decide
    backwards = replace(SKELETON, names=tuple(JOINTS[j] for j in turned), offsets_m=SKELETON.offsets_m[turned], tails_m=None)
    rotated = [
        replace(message, rotations_xyzw=message.rotations_xyzw[turned], confidence=message.confidence[turned])
        for message in messages()
    ]
    tape = Tape(rotated, backwards)
    np.testing.assert_allclose(
        read_longest_motion(tape).take().positions_m(), read_longest_motion(Tape(messages())).take().positions_m(), atol=1e-9
    )
    foreign = replace(SKELETON, names=("pelvis", *JOINTS[1:]))
    with pytest.raises(FileFormatError, match="hips, pelvis"):
        read_longest_motion(Tape(messages(), foreign)).take()
    with pytest.raises(FileFormatError, match="no poses"):
        read_longest_motion(Tape([])).take()


def test_where_bones_end_if_nobody_said() -> None:
    offsets = SUBJECT.skeleton.offsets_m
    tails = estimate_tails_m(offsets)
    elbow, wrist = JOINT_INDEX["leftLowerArm"], JOINT_INDEX["leftHand"]
    assert PARENTS[wrist] == elbow and tails[elbow].tolist() == offsets[wrist].tolist()
    assert tails[wrist].tolist() == (0.5 * offsets[wrist]).tolist()
