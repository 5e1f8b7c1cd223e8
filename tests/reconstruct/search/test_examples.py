"""The database as the query sees it."""

import numpy as np
import pytest

from config.errors import DatabaseError
from database.builtin import build_person_skeleton
from database.geometry.kinematics import compute_forward_kinematics
from reconstruct.search import examples as module
from reconstruct.search.examples import compute_examples
from tests.support.people import Table, person, t_pose_clip, table_of, walk


def test_features_are_the_markers_with_the_root_at_the_origin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK", 50)  # so that several blocks are needed
    subject = person()
    table = table_of([walk(build_person_skeleton(1.9)), t_pose_clip(build_person_skeleton(1.9), 7)])
    examples = compute_examples(subject, table)
    assert len(examples) == len(table.rotvec) > 120 and examples.fps == 60.0
    assert examples.clip[0] == 0 and examples.clip[-7:].tolist() == [1] * 7 and examples.clip[-8] == 0
    for n in (0, 49, 50, len(examples) - 1):
        rotvec = table.rotvec[n].astype(float)
        rotvec[0] = 0.0
        G, p = compute_forward_kinematics(subject.skeleton, rotvec, np.zeros(3))
        expected = p[subject.joint] + np.einsum("mij,mj->mi", G[subject.joint], subject.offset_m)
        np.testing.assert_allclose(examples.marker_m[n].reshape(-1, 3), expected, atol=1e-6)
        assert np.array_equal(examples.pose[n], table.rotvec[n, 1:].ravel())
    assert not examples.pose.flags.writeable and not examples.marker_m.flags.writeable


def test_no_poses_is_an_error() -> None:
    with pytest.raises(DatabaseError, match="no poses"):
        compute_examples(
            person(), Table(np.zeros((0, 23, 3), np.float32), 60.0, np.zeros(1, np.int64), np.zeros((0, 3), np.float32))
        )
