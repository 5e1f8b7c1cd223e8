"""Real markers against a known motion: offsets, which of them stand for a marker set, what is predicted."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from config.errors import FileFormatError
from config.joints import JOINT_INDEX
from config.markers import read_marker_set
from database.clips import Clip
from database.geometry.kinematics import compute_forward_kinematics
from database.marker_files.c3d import C3dPoints
from tools.evaluate.synthesis.vicon import find_c3d, joint_of, nearest_markers, offsets_from, vicon_query


def test_joints_by_name() -> None:
    assert joint_of("LFWT") == joint_of("RBWT") == JOINT_INDEX["hips"]
    assert joint_of("RTOE") == JOINT_INDEX["rightFoot"] and joint_of("LELB") == JOINT_INDEX["leftLowerArm"]
    assert joint_of("C7") == JOINT_INDEX["upperChest"] and joint_of("RFHD") == JOINT_INDEX["head"]
    assert joint_of("*12") == -1 and joint_of("XTOE") == -1


def test_offsets_are_read_off_what_was_seen(clip: Clip) -> None:
    joint, offset = np.array([3, 22]), np.array([[0.01, -0.02, 0.1], [-0.1, 0.03, 0.02]])
    G, p = compute_forward_kinematics(clip.skeleton, clip.rotvec, clip.root_m)
    point = p[:, joint] + np.einsum("nmij,mj->nmi", G[:, joint], offset)
    valid = np.ones((len(clip.root_m), 2), bool)
    valid[4, 1], point[4, 1] = False, 0.0
    point[20:] += 5.0  # after the calibration
    assert_allclose(offsets_from(C3dPoints(("a", "b"), 60.0, point, valid, "+Z"), clip, joint, 20), offset, atol=1e-9)


def test_each_marker_of_a_set_takes_its_own_nearest(clip: Clip) -> None:
    worn = read_marker_set("boxing")
    rng = np.random.default_rng(2)
    shuffled = rng.permutation(len(worn))
    joint = np.concatenate([worn.joint[shuffled], [JOINT_INDEX["leftLowerLeg"]]])
    offset = np.concatenate([worn.offset_m[shuffled] + rng.normal(0.0, 0.01, (len(worn), 3)), [[0.0, 0.0, 0.06]]])
    found = nearest_markers(Path("a.c3d"), worn, joint, offset, clip)
    assert shuffled[found].tolist() == list(range(len(worn)))
    far = offset.copy()
    far[np.argmax(shuffled == 2)] += 1.0
    with pytest.raises(FileFormatError, match=r"no marker within 0\.25 m"):
        nearest_markers(Path("a.c3d"), worn, joint[:-1], far[:-1], clip)


def test_the_real_markers_lie_on_the_real_motion(shared_data: Path, motion_dir: Path) -> None:
    file = shared_data / "markers" / "cmu_02_05.c3d"
    if not file.is_file() or not (motion_dir / "cmu").is_dir():
        pytest.skip("no markers of clip 02_05")
    asked = vicon_query(file, motion_dir, "boxing", 4.0)
    assert len(asked.query) == 240 and len(asked.used) == 9 and asked.others.point_m.shape == (240, 32, 3)
    assert {"LFIN", "RFIN", "LSHO", "RSHO", "LFWT", "RFWT"} <= set(asked.used)
    # Skin and the fit of the motion file's own skeleton: some 20 mm.
    assert 5.0 < asked.others.errors_mm(asked.query.rotvec, asked.query.root_m).mean() < 30.0
    moved = asked.others.errors_mm(asked.query.rotvec, asked.query.root_m + [0.0, 1.0, 0.0])
    assert 950.0 < moved.mean() < 1050.0
    with pytest.raises(FileFormatError, match="no markers of clip 02_05"):
        vicon_query(shared_data / "markers" / "nick_freeform_001.c3d", motion_dir, "boxing", 4.0)


def test_the_markers_are_found_beside_the_motions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DUOCAP_SHARED_DATA", raising=False)
    motion = tmp_path / "data" / "motion"
    motion.mkdir(parents=True)
    assert find_c3d(motion) is None
    (tmp_path / "data" / "markers").mkdir()
    file = tmp_path / "data" / "markers" / "cmu_02_05.c3d"
    file.write_bytes(b"")
    assert find_c3d(motion) == file
