"""Calibration of a subject from pairs of views, without any video."""

from pathlib import Path

import numpy as np
import pytest

from calibration.placement import make_facing_rig
from config.errors import CalibrationError
from config.settings import Settings
from database.builtin import build_person_skeleton
from database.store import PoseDatabase, open_database, write_database
from tests.support.people import person, seen_pair, t_pose, walk, worn_markers
from tools.calibrate.session import fit_subject_to_pairs, format_subject


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> PoseDatabase:
    path = tmp_path_factory.mktemp("db") / "a.db"
    write_database(path, [walk(build_person_skeleton(height), 1) for height in (1.6, 1.7, 1.82)])
    return open_database(path)


@pytest.mark.parametrize("baseline_m", [0.4, 1.0])
def test_t_pose_becomes_a_subject(baseline_m: float, database: PoseDatabase, tmp_path: Path) -> None:
    """A body of a size the database does not hold, 0.2 px noise, narrow and wide base line."""
    worn = person("dark_room", 2, build_person_skeleton(1.75))
    markers, _ = worn_markers(worn, t_pose()[None], np.array([[0.1, 0.95, -0.1]]))
    rig = make_facing_rig((640, 480), 60.0, 3.5, baseline_m, 1.2)
    rng = np.random.default_rng(3)
    pairs = [seen_pair(rig, k, markers[0], 0.2, rng) for k in range(20)]
    result = fit_subject_to_pairs("Ann", pairs, rig, worn.markers, database, Settings())
    [tpose] = result.asked.tposes
    assert tpose.valid.all() and np.linalg.norm(tpose.point_m - markers[0], axis=1).max() < 0.03
    assert abs(result.subject.skeleton.height_m - 1.75) < 0.08
    lines = format_subject(result)
    assert "14 of 14 markers, 20 frames" in lines[0] and "left_shoulder" in lines[1]
    assert len([line for line in lines if "mm from its place in the set" in line]) == 14
    assert any("thighs" in line and "+-" in line for line in lines)


def test_a_cloud_of_points_is_no_t_pose(database: PoseDatabase) -> None:
    worn = person("dark_room", 2, build_person_skeleton(1.75))
    rig = make_facing_rig((640, 480), 60.0, 3.5, 1.0, 1.2)
    rng = np.random.default_rng(3)
    strangers = rng.uniform(-0.6, 0.6, (14, 3)) + [0.0, 1.0, 0.0]
    pairs = [seen_pair(rig, k, strangers, 0.2, rng) for k in range(8)]
    with pytest.raises(CalibrationError, match="no T-pose found"):
        fit_subject_to_pairs("Ann", pairs, rig, worn.markers, database, Settings())
