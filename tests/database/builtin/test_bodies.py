"""Bodies have the proportions of the tables and refuse what no person has."""

import numpy as np
import pytest

from config.errors import DuocapError
from config.joints import JOINT_INDEX, mirror_joint_name
from database.builtin.bodies import build_person_skeleton


def test_an_average_adult_has_the_tabulated_segments() -> None:
    skeleton = build_person_skeleton(2.0)
    rest = skeleton.rest_positions_m()
    sole = (rest + skeleton.tails_m)[:, 1].min()
    assert skeleton.height_m == pytest.approx(2.0)
    assert rest[JOINT_INDEX["leftUpperLeg"], 1] - sole == pytest.approx(2 * 0.530)
    assert rest[JOINT_INDEX["leftLowerLeg"], 1] - sole == pytest.approx(2 * 0.285)
    assert rest[JOINT_INDEX["leftFoot"], 1] - sole == pytest.approx(2 * 0.039)
    assert skeleton.offsets_m[JOINT_INDEX["leftLowerArm"], 0] == pytest.approx(2 * 0.186)
    assert skeleton.offsets_m[JOINT_INDEX["rightHand"], 0] == pytest.approx(-2 * 0.146)
    assert rest[JOINT_INDEX["leftUpperArm"], 1] - sole == pytest.approx(2 * 0.818, abs=0.02)


def test_ratios_change_what_they_name_and_nothing_of_the_stature() -> None:
    plain, legs, arms = (
        build_person_skeleton(1.6),
        build_person_skeleton(1.6, leg_ratio=1.05),
        build_person_skeleton(1.6, arm_ratio=0.9),
    )
    for other in (legs, arms):
        assert other.height_m == pytest.approx(1.6)
    assert legs.offsets_m[JOINT_INDEX["leftLowerLeg"], 1] < plain.offsets_m[JOINT_INDEX["leftLowerLeg"], 1]
    assert np.array_equal(arms.offsets_m[JOINT_INDEX["leftLowerLeg"]], plain.offsets_m[JOINT_INDEX["leftLowerLeg"]])
    elbow = JOINT_INDEX["leftLowerArm"]
    assert arms.offsets_m[elbow, 0] == pytest.approx(0.9 * plain.offsets_m[elbow, 0])
    assert build_person_skeleton(1.6, shoulder_ratio=1.2).rest_positions_m()[elbow, 0] > plain.rest_positions_m()[elbow, 0]
    assert build_person_skeleton(1.6, hip_ratio=1.2).offsets_m[JOINT_INDEX["leftUpperLeg"], 0] == pytest.approx(1.6 * 0.052 * 1.2)


def test_left_and_right_are_mirror_images() -> None:
    skeleton = build_person_skeleton(1.7, 1.02, 0.97, 1.1, 0.95)
    for name, joint in JOINT_INDEX.items():
        twin = JOINT_INDEX[mirror_joint_name(name)]
        assert skeleton.offsets_m[joint] == pytest.approx(skeleton.offsets_m[twin] * (-1, 1, 1))
        assert skeleton.tails_m[joint] == pytest.approx(skeleton.tails_m[twin] * (-1, 1, 1))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [({"height_m": 175.0}, "in metres"), ({"leg_ratio": 3.0}, "leg_ratio"), ({"arm_ratio": 0.1}, "arm_ratio")],
)
def test_a_body_nobody_has_is_refused(arguments: dict[str, float], words: str) -> None:
    with pytest.raises(DuocapError, match=words):
        build_person_skeleton(**arguments)  # type: ignore[arg-type]
