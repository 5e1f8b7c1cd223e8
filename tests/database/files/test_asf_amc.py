"""ASF/AMC: joints are where a slow, plain forward kinematics puts them; faults are named with file and line."""

import re
from pathlib import Path

import numpy as np
import pytest

from config.errors import FileFormatError
from config.joints import JOINT_INDEX, JOINTS
from database.clips import Clip
from database.files.asf_amc import read_amc
from database.files.read import read_clip
from database.geometry.kinematics import compute_forward_kinematics, local_from_charted
from database.geometry.rigid import fit_rigid_motion
from tests.support.files.motion import CMU_BONE, METRES, amc_text, asf_text, bone_starts_m, random_values, write_amc

Frames = list[dict[str, list[float]]]


def frames(seed: int, n_frames: int = 3) -> Frames:
    """Return random frames."""
    return random_values(np.random.default_rng(seed), n_frames)


def assert_same_positions(clip: Clip, expected: Frames, root_axis: str = "xyz") -> None:
    """Compare every joint of every frame with the oracle."""
    p = compute_forward_kinematics(clip.skeleton, clip.rotvec, clip.root_m)[1]
    assert len(p) == len(expected)
    for n, frame in enumerate(expected):
        start = bone_starts_m(frame, root_axis)
        for joint, name in enumerate(JOINTS):
            np.testing.assert_allclose(p[n, joint], start[CMU_BONE[name]], atol=1e-9, err_msg=f"{name}, frame {n}")


def test_joints_are_where_the_source_puts_them_and_the_rest_pose_is_a_t_pose(tmp_path: Path) -> None:
    clip = read_clip(write_amc(tmp_path, frames(3, 5)))
    assert (clip.name, clip.skeleton.name, clip.fps) == ("77_01", "77", 120.0)
    assert_same_positions(clip, frames(3, 5))
    offset = clip.skeleton.offsets_m
    np.testing.assert_allclose(offset[JOINT_INDEX["leftLowerLeg"]], [0, -7.5 * METRES, 0], atol=1e-6)
    np.testing.assert_allclose(offset[JOINT_INDEX["rightFoot"]], [0, -7.4 * METRES, 0], atol=1e-6)
    np.testing.assert_allclose(offset[JOINT_INDEX["rightLowerArm"]], [-5.4 * METRES, 0, 0], atol=1e-12)
    foot = offset[JOINT_INDEX["leftToes"]]
    assert abs(foot[0]) < 1e-3  # rotated with the leg: straight ahead
    np.testing.assert_allclose(foot[1:] / np.linalg.norm(foot), [-0.309, 0.951], atol=2e-3)
    # The hand reaches from the wrist to the end of `lhand`: 1.7 + 0.6, without the fingers.
    np.testing.assert_allclose(clip.skeleton.tails_m[JOINT_INDEX["leftHand"]], [2.3 * METRES, 0, 0], atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(clip.skeleton.tails_m[JOINT_INDEX["head"]]), 1.7 * METRES, atol=1e-12)


def test_no_rotation_is_the_base_pose_with_legs_apart(tmp_path: Path) -> None:
    still = [{name: [0.0] * len(values) for name, values in frames(5, 1)[0].items()}]
    local = local_from_charted(read_clip(write_amc(tmp_path, still)).rotvec[0])
    # The file's femur points to (0.342, -0.94, 0), 20 degrees out.
    np.testing.assert_allclose(local[JOINT_INDEX["leftUpperLeg"]] @ [0, -1, 0], [0.342, -0.94, 0], atol=5e-4)
    np.testing.assert_allclose(local[JOINT_INDEX["leftUpperArm"]], np.eye(3), atol=1e-12)
    np.testing.assert_allclose(local[JOINT_INDEX["leftLowerLeg"]], np.eye(3), atol=1e-12)


@pytest.mark.parametrize(
    ("order", "columns", "axis"),
    [
        ("RX RY RZ TX TY TZ", (3, 4, 5, 0, 1, 2), "XYZ"),
        ("TX TY TZ RZ RX RY", (0, 1, 2, 5, 3, 4), "ZXY"),
        ("TX TY TZ RX RY RZ", (0, 1, 2, 3, 4, 5), "ZXY"),
    ],
)
def test_root_orders(tmp_path: Path, order: str, columns: tuple[int, ...], axis: str) -> None:
    (tmp_path / "skeleton.asf").write_text(asf_text(order, axis), encoding="utf-8")
    path = tmp_path / "walk.amc"
    path.write_text(amc_text(frames(6), root_order=columns), encoding="utf-8")
    assert_same_positions(read_clip(path), frames(6), axis.lower())


def test_line_ends_comments_and_other_orders_of_bones_do_not_matter(tmp_path: Path) -> None:
    plain = read_clip(write_amc(tmp_path / "a", frames(7, 4)))
    text = amc_text([frames(7, 4)[0], *({k: f[k] for k in reversed(f)} for f in frames(7, 4)[1:])])
    text = text.replace("\n3\n", "\n# a comment between frames\n3\n\n").replace("lradius", "lradius ", 1).replace("\n", "\r\n")
    path = write_amc(tmp_path / "b", frames(7, 4))
    path.write_bytes(text.encode())
    (tmp_path / "b" / "77.asf").write_bytes(asf_text().replace("\n", "\r\n").encode())
    np.testing.assert_array_equal(read_clip(path).rotvec, plain.rotvec)


def test_radians_in_the_motion_and_in_the_skeleton(tmp_path: Path) -> None:
    radians = [{k: [*v[:3], *np.radians(v[3:])] if k == "root" else list(np.radians(v)) for k, v in f.items()} for f in frames(8)]
    path = write_amc(tmp_path, frames(8))
    (tmp_path / "77.asf").write_text(asf_text(angle="rad"), encoding="utf-8")
    path.write_text(amc_text(radians, ":RADIANS"), encoding="utf-8")
    assert_same_positions(read_clip(path), frames(8))


def test_bones_without_values_stand_still(tmp_path: Path) -> None:
    fewer = [{name: values for name, values in f.items() if name not in ("ltoes", "lfingers", "rhand")} for f in frames(9)]
    assert_same_positions(read_clip(write_amc(tmp_path, fewer)), fewer)


def test_a_last_frame_cut_short_is_left_out_and_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write_amc(tmp_path, frames(10, 4))
    text = path.read_text(encoding="utf-8")
    path.write_text(text[: text.rindex("upperneck") + 14], encoding="utf-8")
    assert_same_positions(read_clip(path), frames(10, 4)[:3])
    assert "3 frames remain" in caplog.text


@pytest.mark.parametrize(
    ("pattern", "spoilt", "words"),
    [
        (r"\n3\n", "\n3\nlfemur nan 0 0\n", "NaN"),
        (r"\nrtibia \S+", "\nrtibia inf", "NaN or infinity"),
        (r"\nrtibia \S+", "\nrtibia 1 2", "takes 1 value in"),
        (r"\nrtibia \S+", "\nrtibia x7", "expected numbers"),
        (r"\nrtibia ", "\ntail ", "not in the skeleton"),
    ],
)
def test_faults_are_named_with_file_and_line(tmp_path: Path, pattern: str, spoilt: str, words: str) -> None:
    path = write_amc(tmp_path, frames(11))
    text = re.sub(f"(?s)(.*){pattern}", lambda hit: hit[1] + spoilt, path.read_text(encoding="utf-8"), count=1)
    path.write_text(text, encoding="utf-8")
    line = text[: text.rindex(spoilt.strip().splitlines()[-1])].count("\n") + 1
    with pytest.raises(FileFormatError, match=re.escape(f"{path}, line {line}: ") + ".*" + words):
        read_amc(path)


@pytest.mark.parametrize("content", ["", "hello\nworld\n", "#!OML\n:DEGREES\n", "7\n7\n7\n", None])
def test_what_is_no_motion_is_refused(tmp_path: Path, content: str | None) -> None:
    lacking = frames(12)
    del lacking[1]["lradius"]  # a bone that is missing from one frame
    path = write_amc(tmp_path, lacking)
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(FileFormatError, match="line"):
        read_amc(path)


def test_faults_of_the_skeleton_and_other_files(tmp_path: Path) -> None:
    path = write_amc(tmp_path, frames(14, 1))
    asf = tmp_path / "77.asf"
    good = asf.read_text(encoding="utf-8")
    line = good[: good.index("length 7.3")].count("\n") + 1
    asf.write_text(good.replace("length 7.3", "length long"), encoding="utf-8")
    with pytest.raises(FileFormatError, match=rf"77\.asf, line {line}: "):
        read_amc(path)
    asf.write_text(good.replace("    ltibia lfoot\n", ""), encoding="utf-8")
    with pytest.raises(FileFormatError, match=r"lfoot.*hierarchy"):
        read_amc(path)
    asf.unlink()
    with pytest.raises(FileFormatError, match=r"skeleton was not found.*\.asf"):
        read_amc(path)
    with pytest.raises(FileFormatError, match="no such file"):
        read_clip(tmp_path / "none.amc")
    (tmp_path / "a.fbx").write_text("x", encoding="utf-8")
    with pytest.raises(FileFormatError, match=r"found \.fbx"):
        read_clip(tmp_path / "a.fbx")


def test_real_clips_of_each_collection(motion_dir: Path) -> None:
    """The independent path here is the file's own tree walked with its own axes."""
    for name, low_m, high_m in (
        ("cmu/subjects/07/07_01.amc", 1.4, 1.9),
        ("hdm05/subjects/bk/HDM_bk_squat1Reps_015_120.amc", 1.6, 2.0),
    ):
        motion, clip = read_amc(motion_dir / name), read_clip(motion_dir / name)
        assert low_m < clip.skeleton.height_m < high_m
        p = compute_forward_kinematics(clip.skeleton, clip.rotvec, clip.root_m)[1]
        position, orientation = {-1: motion.root}, {-1: np.eye(3)}
        for k, (parent, rotation) in enumerate(zip(motion.parents, motion.rotations, strict=True)):
            position[k] = position[parent] + orientation[parent] @ motion.offsets[k]
            orientation[k] = orientation[parent] if rotation is None else orientation[parent] @ rotation
        for joint, bone in enumerate(CMU_BONE.values()):
            np.testing.assert_allclose(p[:, joint], position[motion.names.index(bone)] * METRES, atol=1e-9)


@pytest.mark.slow
def test_real_markers_stay_on_their_bones(shared_data: Path, motion_dir: Path) -> None:
    """The Vicon markers of the take 02_05 in its joints' frames: units, axes and rates are right if they hardly move there."""
    ezc3d = pytest.importorskip("ezc3d", reason="ezc3d is not installed")
    file = ezc3d.c3d(str(shared_data / "markers" / "cmu_02_05.c3d"))
    labels = [label.split(":")[-1] for label in file["parameters"]["POINT"]["LABELS"]["value"]]
    marker_m = file["data"]["points"][:3].transpose(2, 1, 0) / 1000.0
    clip = read_clip(motion_dir / "cmu" / "subjects" / "02" / "02_05.amc")
    G, p = compute_forward_kinematics(clip.skeleton, clip.rotvec, clip.root_m)
    n = min(len(p), len(marker_m))
    near = {"LKNE": "leftLowerLeg", "RKNE": "rightLowerLeg", "LANK": "leftFoot", "RELB": "rightLowerArm", "LSHO": "leftUpperArm"}
    a = np.concatenate([marker_m[:n, labels.index(label)] for label in near])
    b = np.concatenate([p[:n, JOINT_INDEX[joint]] for joint in near.values()])
    seen = np.isfinite(a).all(axis=1)
    R, t = fit_rigid_motion(a[seen], b[seen])
    # Skin moves by a centimetre or two over the knee; the waist and the toes are firmer.
    cases = (("LKNE", "leftLowerLeg", 0.04, 0.02), ("LTOE", "leftFoot", -0.05, 0.012), ("LFWT", "hips", 0.1, 0.015))
    for label, joint, left_m, spread_m in cases:
        j = JOINT_INDEX[joint]
        local = np.einsum("nji,nj->ni", G[:n, j], marker_m[:n, labels.index(label)] @ R.T + t - p[:n, j])
        assert np.nanstd(local, axis=0).max() < spread_m, label
        assert np.nanmean(local, axis=0)[0] > left_m, label  # not mirrored
