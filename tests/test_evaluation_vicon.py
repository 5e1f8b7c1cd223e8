"""Real markers against a known motion: offsets, which of them stand for a marker set, what is predicted."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from config.errors import DatabaseError, FileFormatError
from config.joints import JOINT_INDEX
from config.markers import read_marker_set
from database.builtin.repertoire import database_clips
from database.c3d import C3dPoints
from database.clips import Clip, clip_slice
from database.kinematics import forward
from database.store import open_database, write_database
from tools.evaluation.protocol import MAIN, OTHERS, askable, holds, protocol_clip
from tools.evaluation.vicon import found_c3d, joint_of, nearest_markers, offsets_from, vicon_query


@pytest.fixture(scope="module")
def clip() -> Clip:
    return clip_slice(next(clip for clip in database_clips(60.0) if clip.name.startswith("walk")), 0, 30)


def test_joints_by_name() -> None:
    assert joint_of("LFWT") == joint_of("RBWT") == JOINT_INDEX["hips"]
    assert joint_of("RTOE") == JOINT_INDEX["rightFoot"] and joint_of("LELB") == JOINT_INDEX["leftLowerArm"]
    assert joint_of("C7") == JOINT_INDEX["upperChest"] and joint_of("RFHD") == JOINT_INDEX["head"]
    assert joint_of("*12") == -1 and joint_of("XTOE") == -1


def test_offsets_are_read_off_what_was_seen(clip: Clip) -> None:
    joint, offset = np.array([3, 22]), np.array([[0.01, -0.02, 0.1], [-0.1, 0.03, 0.02]])
    G, p = forward(clip.skeleton, clip.rotvec, clip.root_m)
    point = p[:, joint] + np.einsum("nmij,mj->nmi", G[:, joint], offset)
    valid = np.ones((30, 2), bool)
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
    assert found_c3d(motion) is None
    (tmp_path / "data" / "markers").mkdir()
    file = tmp_path / "data" / "markers" / "cmu_02_05.c3d"
    file.write_bytes(b"")
    assert found_c3d(motion) == file


def test_what_the_database_holds_is_not_asked(tmp_path: Path, clip: Clip, caplog: pytest.LogCaptureFixture) -> None:
    walk, box = (clip_slice(clip, 0, 20, name) for name in ("07_08", "14_02"))
    write_database(tmp_path / "a.db", [replace(walk), replace(box), clip_slice(clip, 0, 9, "07_01")])
    database = open_database(tmp_path / "a.db")
    assert holds(database, protocol_clip("07_08")) and not holds(database, protocol_clip("16_15"))
    assert not holds(database, protocol_clip("14_02"))  # what comes before the query may stay in
    asked = askable(database, (), (*MAIN, *OTHERS))
    assert "07_08" not in {which.stem for which in asked} and len(asked) == len(MAIN) + len(OTHERS) - 1
    assert "07_08" in caplog.text
    with pytest.raises(DatabaseError, match="holds 07_08"):
        askable(database, ("07_08",), ())
    assert [which.stem for which in askable(database, ("38_02",), ())] == ["38_02"]


def test_a_piece_that_begins_late_is_a_query_too(tmp_path: Path, clip: Clip) -> None:
    late = clip_slice(clip, 0, 20, "14_02+2990")
    write_database(tmp_path / "a.db", [late])
    assert holds(open_database(tmp_path / "a.db"), protocol_clip("14_02"))
