"""How high markers of standing feet are: of sets, of subjects, as told."""

import numpy as np
import pytest

from calibration.floor.feet import compute_nominal_heights, measure_subject_heights, shift_to_lowest_height
from calibration.subject.subject import Subject
from calibration.world import BALL_M
from config.errors import CalibrationError
from config.markers import marker_set_from_tables, read_marker_set
from database.builtin import build_person_skeleton

TORSO = {name: {"joint": "hips", "torso": True, "offset_m": [x, 0.0, 0.1]} for name, x in (("a", 0.1), ("b", 0.0), ("c", -0.1))}


def test_a_marker_on_the_ball_is_as_high_as_it_and_its_offset() -> None:
    worn = marker_set_from_tables("set", TORSO | {"toe": {"joint": "leftToes", "offset_m": [0.0, 0.02, 0.0]}})
    found = compute_nominal_heights(worn, build_person_skeleton(1.75))
    np.testing.assert_allclose(found.heights_m, [BALL_M + 0.02], atol=1e-12)
    assert found.names == ("toe",) and not found.measured and "nominal" in found.description and "55 mm" in found.description


def test_sets_that_come_with_duocap() -> None:
    """Toes lower than ankles, left as high as right."""
    found = compute_nominal_heights(read_marker_set("dark_room"), build_person_skeleton(1.75))
    assert found.names == ("left_toe/right_toe", "left_ankle/right_ankle")
    assert 0.03 < found.heights_m[0] < found.heights_m[1] - 0.015 < 0.12
    for name in ("locomotion", "kendo", "boxing", "all_around"):
        (height,) = compute_nominal_heights(read_marker_set(name), build_person_skeleton(1.75)).heights_m
        assert 0.05 < height < 0.13


def test_a_subject_is_known_by_its_own_offsets() -> None:
    worn = read_marker_set("dark_room")
    offset = worn.offset_m.copy()
    offset[worn.names.index("left_toe"), 1] += 0.05
    offset[worn.names.index("right_toe"), 1] += 0.05
    skeleton = build_person_skeleton(1.75)
    subject = Subject("Ann", skeleton, worn, offset, np.zeros(len(worn)))
    nominal, own = compute_nominal_heights(worn, skeleton), measure_subject_heights(subject)
    np.testing.assert_allclose(sorted(own.heights_m), sorted(nominal.heights_m + [0.05, 0.0]), atol=1e-12)
    assert own.measured and own.sigma_m < nominal.sigma_m


def test_told_heights_shift_the_others_along() -> None:
    known = compute_nominal_heights(read_marker_set("dark_room"), build_person_skeleton(1.75))
    told = shift_to_lowest_height(0.048, known)
    assert abs(told.heights_m[0] - 0.048) < 1e-12 and told.sigma_m < 0.01 and "as told" in told.description
    np.testing.assert_allclose(np.diff(told.heights_m), np.diff(known.heights_m))


def test_a_set_without_feet_is_refused() -> None:
    with pytest.raises(CalibrationError, match="no marker of this set is on a foot"):
        compute_nominal_heights(marker_set_from_tables("set", TORSO), build_person_skeleton(1.75))
