"""BVH, TRC and CSV, read back by small parsers of the tests' own."""

import csv
import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.spatial.transform import Rotation

from config.errors import FileFormatError
from config.joints import JOINT_INDEX, JOINTS, N_JOINTS
from database.kinematics import forward
from database.skeleton import Skeleton
from reconstruct.pose import State
from stream.export.bvh import bvh_text, euler_order, euler_rad, write_bvh
from stream.export.even import evenly_timed
from stream.export.tables import csv_text, write_csv
from stream.export.take import Take, frame_period_s, software_version
from stream.export.trc import trc_text, write_trc
from stream.export.upright import floor_normal, upright


def person() -> Skeleton:
    """Build a skeleton in which no two bones are alike."""
    rng = np.random.default_rng(3)
    offsets = rng.uniform(-0.4, 0.4, (N_JOINTS, 3))
    offsets[0] = 0.0
    return Skeleton("uneven", offsets, rng.uniform(-0.2, 0.2, (N_JOINTS, 3)))


def take(n: int = 12, seconds: np.ndarray | None = None, seed: int = 0, states: tuple[State, ...] | None = None) -> Take:
    """Build a smooth motion with large rotations of every joint."""
    rng = np.random.default_rng(seed)
    phase = np.linspace(0.0, 1.0, n)[:, None, None]
    rotvec = rng.normal(0, 1.0, (N_JOINTS, 3)) + phase * rng.normal(0, 0.6, (N_JOINTS, 3))
    root = rng.normal(0, 1, 3) + np.linspace(0, 2, n)[:, None] * (0.3, 0.1, -0.7)
    times = np.arange(n) / 60.0 if seconds is None else seconds
    return Take(person(), times, states or (State.TRACKING,) * n, rotvec, root)


def bvh_positions_cm(text: str) -> tuple[float, dict[str, np.ndarray]]:
    """Read a BVH text: frame time and the place of every joint and end site in every frame, by plain recursion."""
    head, motion = text.split("MOTION")
    rows = motion.strip().splitlines()
    frame_time = float(rows[1].split(":")[1])
    values = np.array([[float(word) for word in row.split()] for row in rows[2:]])
    assert len(values) == int(rows[0].split(":")[1])
    words, column, found = head.split(), 0, {}

    def read(position: np.ndarray, turn: Rotation, i: int, name: str) -> int:
        """Read the block from its opening brace at word i; give the index after its closing brace."""
        nonlocal column
        assert words[i : i + 2] == ["{", "OFFSET"]
        position = position + turn.apply([float(word) for word in words[i + 2 : i + 5]])
        i += 5
        if words[i] == "CHANNELS":
            channels = words[i + 2 : i + 2 + int(words[i + 1])]
            i += 2 + len(channels)
            for channel in channels:
                axis, value = "XYZ".index(channel[0]), values[:, column]
                column += 1
                if channel.endswith("position"):
                    position = position + value[:, None] * np.eye(3)[axis]
                else:
                    turn = turn * Rotation.from_rotvec(np.radians(value)[:, None] * np.eye(3)[axis])
        found[name] = position
        while words[i] != "}":
            child = words[i + 1] if words[i] == "JOINT" else f"end of {name}"
            i = read(position, turn, i + 2, child)
        return i + 1

    start = Rotation.from_quat(np.tile([0.0, 0.0, 0.0, 1.0], (len(values), 1)))
    read(np.zeros((len(values), 3)), start, words.index("{"), words[words.index("ROOT") + 1])
    assert column == values.shape[1]
    return frame_time, found


def test_bvh_places_every_joint_and_end_as_the_take_does() -> None:
    motion = take()
    G, p = forward(motion.skeleton, motion.rotvec, motion.root_m)
    frame_time, found = bvh_positions_cm(bvh_text(motion))
    assert frame_time == pytest.approx(1 / 60, abs=1e-8)
    assert set(JOINTS) < set(found) and len(found) == N_JOINTS + 5
    for name in JOINTS:
        np.testing.assert_allclose(found[name] / 100, p[:, JOINT_INDEX[name]], atol=2e-6)
    for name in ("head", "leftHand", "rightToes"):
        j = JOINT_INDEX[name]
        np.testing.assert_allclose(found[f"end of {name}"] / 100, p[:, j] + G[:, j] @ motion.skeleton.tails_m[j], atol=2e-6)


def test_bvh_rests_in_the_t_pose_with_the_root_at_zero() -> None:
    text = bvh_text(take())
    head = "HIERARCHY\nROOT hips\n{\n\tOFFSET 0.000000 0.000000 0.000000\n\tCHANNELS 6 Xposition Yposition Zposition"
    assert text.startswith(head)
    rest = Take(person(), np.zeros(1), (State.TRACKING,), np.zeros((1, N_JOINTS, 3)), np.zeros((1, 3)))
    _, found = bvh_positions_cm(bvh_text(rest))
    # All channels zero is the T-pose by definition, whereas rotvec zero holds the arms at their reference.
    zeroed = bvh_text(rest).rpartition("\n")[0].rpartition("\n")[0] + "\n" + " ".join(["0"] * (3 * N_JOINTS + 3)) + "\n"
    _, t_pose = bvh_positions_cm(zeroed)
    for name in JOINTS:
        np.testing.assert_allclose(t_pose[name][0] / 100, person().rest_positions_m()[JOINT_INDEX[name]], atol=1e-7)
    assert np.abs(found["leftHand"] - t_pose["leftHand"]).max() > 1


@pytest.mark.parametrize("joint", ["hips", "leftUpperArm"])
@given(rotvec=hnp.arrays(float, (4, 3), elements=st.floats(-3, 3)))
def test_euler_angles_give_the_rotation_back(joint: str, rotvec: np.ndarray) -> None:
    order = euler_order(JOINT_INDEX[joint])
    R = Rotation.from_rotvec(rotvec).as_matrix()
    angles = euler_rad(R, order)
    name = "".join("XYZ"[axis] for axis in order)
    np.testing.assert_allclose(Rotation.from_euler(name, angles).as_matrix(), R, atol=1e-9)


@pytest.mark.parametrize("sign", [1, -1])
def test_euler_angles_hold_at_the_singularity(sign: int) -> None:
    angles = np.radians([[20, sign * 80, 30], [20, sign * 90, 30], [20, sign * 90, 30]])
    R = Rotation.from_euler("YZX", angles).as_matrix()
    np.testing.assert_allclose(euler_rad(R, (1, 2, 0)), angles, atol=1e-7)


def test_euler_angles_stay_continuous_through_whole_turns_and_past_ninety() -> None:
    angles = np.radians([[0, 70, 10], [60, 85, 20], [120, 95, 30], [180, 110, 40], [240, 100, 50], [300, 80, 60], [370, 60, 70]])
    R = Rotation.from_euler("ZXY", angles).as_matrix()
    np.testing.assert_allclose(euler_rad(R, (2, 0, 1)), angles, atol=1e-9)


def test_trc_holds_joint_positions_in_millimetres() -> None:
    states = (State.TRACKING, State.LOST, *[State.TRACKING] * 8)
    motion = take(10, seconds=np.arange(10) * 0.04, states=states)
    lines = trc_text(motion, "walk.trc").splitlines()
    assert lines[0].split("\t") == ["PathFileType", "4", "(X/Y/Z)", "walk.trc", f"duocap={software_version()}"]
    header = dict(zip(lines[1].split("\t"), lines[2].split("\t"), strict=True))
    assert header == {
        "DataRate": "25", "CameraRate": "25", "NumFrames": "10", "NumMarkers": "23", "Units": "mm",
        "OrigDataRate": "25", "OrigDataStartFrame": "1", "OrigNumFrames": "10",
    }  # fmt: skip
    assert lines[3].split("\t")[:2] == ["Frame#", "Time"]
    assert lines[3].split("\t")[2::3] == list(JOINTS)
    assert lines[4].split("\t")[2:5] == ["X1", "Y1", "Z1"] and lines[4].endswith("Z23") and lines[5] == ""
    rows = [line.split("\t") for line in lines[6:]]
    assert [row[0] for row in rows] == [str(i) for i in range(1, 11)]
    assert [float(row[1]) for row in rows] == pytest.approx(np.arange(10) * 0.04)
    assert rows[1][2:] == ["nan"] * 69
    got = np.array([[float(cell) for cell in row[2:]] for i, row in enumerate(rows) if i != 1]).reshape(9, 23, 3)
    np.testing.assert_allclose(got / 1000, np.delete(motion.positions_m(), 1, axis=0), atol=1e-7)


def test_csv_names_state_and_metres() -> None:
    motion = take(3, states=(State.TRACKING, State.COASTING, State.LOST))
    rows = list(csv.DictReader(io.StringIO(csv_text(motion))))
    assert list(rows[0])[:6] == ["frame", "seconds", "state", "hips.x", "hips.y", "hips.z"]
    assert [(row["frame"], row["state"]) for row in rows] == [("0", "tracking"), ("1", "coasting"), ("2", "lost")]
    assert float(rows[1]["seconds"]) == pytest.approx(1 / 60, abs=1e-6)
    knee = [float(rows[1][f"leftLowerLeg.{axis}"]) for axis in "xyz"]
    np.testing.assert_allclose(knee, motion.positions_m()[1, JOINT_INDEX["leftLowerLeg"]], atol=1e-6)
    assert rows[2]["rightHand.z"] == ""


def test_frame_period_counts_missing_frames_and_leaves_out_silences() -> None:
    assert frame_period_s(np.array([0.0, 0.033, 0.067, 0.1, 0.2, 0.233])) == pytest.approx(0.233 / 7)
    assert frame_period_s(np.array([0.0, 0.02, 0.041, 0.06, 1.071, 1.09])) == pytest.approx((0.06 + 0.019) / 4)
    assert frame_period_s(np.zeros(1)) == pytest.approx(1 / 30)


def test_gaps_are_filled_at_the_right_time() -> None:
    whole = take(13)
    kept = [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12]  # frame 5 was dropped
    holed = Take(whole.skeleton, whole.seconds[kept], (State.TRACKING,) * 12, whole.rotvec[kept], whole.root_m[kept])
    even = evenly_timed(holed)
    assert len(even) == 13
    np.testing.assert_allclose(even.seconds, whole.seconds, atol=1e-12)
    np.testing.assert_allclose(even.positions_m()[kept], whole.positions_m()[kept], atol=1e-9)
    np.testing.assert_allclose(even.root_m[5], whole.root_m[5], atol=1e-9)
    # Between its neighbours: half of the shortest arc from frame 4 to frame 6.
    R4, R5, R6 = (even.local_rotations()[i, 7] for i in (4, 5, 6))
    np.testing.assert_allclose(R4.T @ R5, R5.T @ R6, atol=1e-9)


def test_upright_turns_the_world_and_stands_on_the_floor() -> None:
    motion = take(5, states=(State.LOST, *[State.TRACKING] * 4))
    down_camera = np.array([0.1, -0.97, 0.2])
    up = down_camera / np.linalg.norm(down_camera)
    result = upright(motion, up)
    before, after = motion.positions_m(), result.positions_m()
    # Heights along `up` become y, up to one constant; distances stay.
    lift = after[..., 1] - before @ up
    np.testing.assert_allclose(lift, lift[0, 0], atol=1e-9)
    assert after[1:, :, 1].min() == pytest.approx(0.0, abs=1e-9)
    np.testing.assert_allclose(
        np.linalg.norm(after[:, 3] - after[:, 20], axis=-1), np.linalg.norm(before[:, 3] - before[:, 20], axis=-1), atol=1e-9
    )


def test_writers_leave_nothing_half_written(tmp_path: Path) -> None:
    for write in (write_bvh, write_trc, write_csv):
        write(tmp_path / "motion.out", take(2))
        with pytest.raises(FileFormatError, match="existing folder"):
            write(tmp_path / "absent" / "motion.out", take(2))
    assert [file.name for file in tmp_path.iterdir()] == ["motion.out"]


def test_floor_from_standing_feet() -> None:
    """Footprints over 3 m of a floor that slopes by 0.05 along x and -0.03 along z, a fifth of them steps in the air."""
    rng = np.random.default_rng(5)
    feet = np.column_stack([rng.uniform(-1.5, 1.5, 200), np.zeros(200), rng.uniform(1.0, 4.0, 200)])
    feet[:, 1] = 0.4 + 0.05 * feet[:, 0] - 0.03 * feet[:, 2] + rng.normal(0.0, 0.005, 200)
    feet[:40, 1] += rng.uniform(0.1, 0.4, 40)
    expected = np.array([-0.05, 1.0, 0.03])
    found = floor_normal(feet)
    assert np.degrees(np.arccos(found @ expected / np.linalg.norm(expected))) < 0.5


def test_feet_in_one_place_leave_the_floor_as_it_is() -> None:
    """Both feet 20 cm apart, one 2 cm higher: a slope of 0.1 that the T-pose's up direction makes unlikely."""
    feet = np.repeat([[-0.1, 0.0, 3.0], [0.1, 0.02, 3.0]], 100, axis=0)
    assert np.degrees(np.arccos(floor_normal(feet)[1])) < 1.0
    assert floor_normal(np.zeros((0, 3))).tolist() == [0.0, 1.0, 0.0]
