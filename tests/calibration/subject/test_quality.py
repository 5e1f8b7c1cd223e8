"""The verdict on a subject: what is good passes, each thing that may be wrong is found and said; what is said of a body."""

from dataclasses import replace

import numpy as np
import pytest

from calibration.quality.report import Grade, QualityReport
from calibration.subject.fit import TakesFit, TPose
from calibration.subject.quality import (
    TposeContext,
    collect_lengths,
    describe_lengths,
    describe_markers,
    judge_subject,
    measure_arm_slopes_deg,
)
from config.joints import JOINT_INDEX
from database.builtin import build_person_skeleton
from tests.calibration.subject.takes import fitted, held, hidden, scaled
from tests.support.people import person

ANN = person("all_around", 2, build_person_skeleton(1.75))
AHEAD = TposeContext(np.array([0.0, 1.2, 4.0]), True)


def judged(tposes: list[TPose], setting: TposeContext = AHEAD, **known: object) -> QualityReport:
    """Fit and judge."""
    found: TakesFit = fitted(tposes, ANN, **known)
    return judge_subject(found, tposes, [f"take {k + 1}" for k in range(len(tposes))], setting)


def line_of(report: QualityReport, words: str, grade: Grade) -> str:
    """Return the finding that says something; it has the grade."""
    [finding] = [finding for finding in report.findings if words in finding.text]
    assert finding.grade is grade, report.lines
    assert finding.fix or grade is Grade.PASS
    return finding.line


def test_a_good_t_pose_passes() -> None:
    report = judged([held(ANN, 0)])
    assert report.grade is Grade.PASS, report.lines
    assert report.figures["markers_seen"] == 14 and report.figures["frames"] == 60
    assert abs(report.figures["height_m"] - 1.75) < 0.08
    assert 0.0 < report.figures["thighs_sigma_mm"] < 30.0


@pytest.mark.parametrize("seed", range(6))
def test_good_t_poses_of_others_pass_too(seed: int) -> None:
    """Sizes the space knows of, placed within 6 mm, arms up to 8 degrees off."""
    rng = np.random.default_rng(seed)
    other = person("all_around", seed, build_person_skeleton(rng.uniform(1.55, 1.85)))
    tpose = held(other, seed, arms_rad=rng.uniform(-0.14, 0.14))
    report = judge_subject(fitted([tpose], other), [tpose], ["it"], AHEAD)
    assert report.grade is Grade.PASS, report.lines


def test_markers_that_were_not_seen_are_named() -> None:
    report = judged([hidden(held(ANN, 0), np.array([6, 10]))])
    assert f"2 of 14 markers not seen: {ANN.markers.names[6]}, {ANN.markers.names[10]}" in line_of(report, "not seen", Grade.POOR)


def test_arms_that_slope() -> None:
    assert "below level: hold both arms level" in line_of(judged([held(ANN, 0, arms_rad=-0.5)]), "degrees below", Grade.POOR)
    assert line_of(judged([held(ANN, 0, arms_rad=-0.9)]), "degrees below", Grade.FAIL)


def test_somebody_who_moves() -> None:
    tpose = held(ANN, 0)
    restless = tpose.scatter_m.copy()
    restless[8] = 0.015
    name = ANN.markers.names[8]
    assert f"{name} to 15.0 mm" in line_of(judged([replace(tpose, scatter_m=restless)]), "held still", Grade.POOR)
    noisy = replace(tpose, scatter_m=np.full(14, 0.02), covariance_m2=np.tile(0.015**2 * np.eye(3), (14, 1, 1)))
    line_of(judged([noisy]), "held still", Grade.PASS)  # that is what such cameras see of somebody who stands still


def test_cameras_that_know_little_of_depth() -> None:
    deep = replace(held(ANN, 0), covariance_m2=np.tile(np.diag([1e-6, 1e-6, 0.03**2]), (14, 1, 1)))
    line = line_of(judged([deep]), "line of sight", Grade.POOR)
    assert "to 30 mm" in line and "put them farther apart" in line


def test_one_marker_of_little_depth_is_named_and_the_cameras_are_not_blamed() -> None:
    """Covariances of 5 mm, of marker 12 of 160 mm."""
    covariance = np.tile(0.005**2 * np.eye(3), (14, 1, 1))
    covariance[12, 2, 2] = 0.16**2
    line = line_of(judged([replace(held(ANN, 0), covariance_m2=covariance)]), "line of sight", Grade.POOR)
    assert f"{ANN.markers.names[12]}'s place is known to 160 mm" in line and "the others' to 5" in line
    assert "farther apart" not in line


def test_a_marker_far_from_its_place_is_named() -> None:
    tpose = held(ANN, 0)
    point = tpose.point_m.copy()
    knee = ANN.markers.names.index("left_knee")
    point[knee] += [0.0, -0.13, 0.0]
    assert "left_knee sits" in line_of(judged([replace(tpose, point_m=point)]), "from where the marker set", Grade.POOR)


@pytest.mark.parametrize(("factor", "grade"), [(0.72, Grade.FAIL), (0.8, Grade.POOR), (25 / 21, Grade.POOR), (1.25, Grade.FAIL)])
def test_a_world_of_the_wrong_scale(factor: float, grade: Grade) -> None:
    """These bodies are from 1.55 to 1.85 m tall: 2.08 m is odd, 2.2 m cannot be; of 1.40 m somebody may be."""
    report = judged([scaled(held(ANN, 0), factor)], TposeContext())
    assert report.grade is grade, report.lines
    assert "check the square's side" in line_of(report, "people of the database", grade)
    told = judged([scaled(held(ANN, 0), factor)], TposeContext(None, False, (1.75 * factor, 0.03), 1.75 * factor))
    assert line_of(told, "people of the database", Grade.POOR)  # as tall as was told: no fault of the cameras


def test_a_height_that_the_markers_contradict() -> None:
    """25 mm squares taken for 21 mm ones: a world 16% too small, in which somebody says how tall they are."""
    small = scaled(held(ANN, 0), 21.0 / 25.0)
    setting = TposeContext(None, False, (1.47, 0.03), 1.75)
    assert "told were 1.75 m" in line_of(judged([small], setting, height_m=1.75), "markers alone say", Grade.FAIL)
    fine = TposeContext(None, False, (1.73, 0.03), 1.75)
    line_of(judged([held(ANN, 0)], fine, height_m=1.75), "markers alone say", Grade.PASS)


def test_somebody_who_stands_the_other_way_round() -> None:
    assert "face the cameras" in line_of(judged([held(ANN, 0, turn_rad=np.pi)]), "back to the cameras", Grade.POOR)
    assert not [f for f in judged([held(ANN, 0, turn_rad=0.6)]).findings if "back to" in f.text]


def test_a_world_that_is_tilted() -> None:
    tpose = held(ANN, 0)
    tilt = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
    report = judged([replace(tpose, point_m=tpose.point_m @ tilt.T)])
    assert "from upright" in line_of(report, "leans", Grade.FAIL)


def test_takes_that_do_not_agree_are_said() -> None:
    slipped = held(ANN, 1)
    point = slipped.point_m.copy()
    point[ANN.markers.names.index("left_knee")] += [0.0, -0.06, 0.0]
    slipped = replace(slipped, point_m=point)
    three = judged([held(ANN, 0), slipped, held(ANN, 2)])
    assert "take 2 disagrees" in line_of(three, "left out", Grade.POOR)
    assert "take 1 and take 2 disagree" in line_of(judged([held(ANN, 0), slipped]), "which is wrong", Grade.POOR)
    line_of(judged([held(ANN, 0), held(ANN, 2)]), "2 takes agree", Grade.PASS)


def test_only_markers() -> None:
    report = judged([held(ANN, 3)], old=ANN)
    line_of(report, "skeleton kept", Grade.PASS)
    assert "thighs_sigma_mm" not in report.figures


def test_arms_that_slope_in_a_later_take() -> None:
    line_of(judged([held(ANN, 0), held(ANN, 1, arms_rad=-0.5)]), "degrees below", Grade.POOR)


def test_lengths_and_where_they_come_from() -> None:
    """Knees and ankles are worn, nothing on the toes: thighs and shins are measured, toes are other people's."""
    fit = fitted([held(ANN, 0)], ANN).fit
    lengths = {length.name: length for length in collect_lengths(fit)}
    thigh = np.linalg.norm(fit.subject.skeleton.offsets_m[JOINT_INDEX["leftLowerLeg"]])
    assert lengths["thighs"].length_m == pytest.approx(thigh)
    assert lengths["shins"].measured and not lengths["toes"].measured
    assert fit.subject.length_sigma_m is not None
    assert lengths["thighs"].sigma_m == pytest.approx(fit.subject.length_sigma_m[0, JOINT_INDEX["leftLowerLeg"]], rel=1e-6)
    trunk = fit.subject.skeleton.rest_positions_m()
    up = trunk[JOINT_INDEX["neck"], 1] - trunk[JOINT_INDEX["spine"], 1]
    assert lengths["trunk"].length_m == pytest.approx(up, abs=0.01)
    told, guessed = describe_lengths(fit)
    assert told.startswith("bones measured ") and "shins" in told and "toes" in guessed and "people of that size" in guessed
    assert f"shins {1e3 * lengths['shins'].length_m:.0f} mm +- {1e3 * lengths['shins'].sigma_m:.0f}" in told


def test_a_marker_less_is_a_length_known_less() -> None:
    knees = np.array([m for m, name in enumerate(ANN.markers.names) if "knee" in name or "ankle" in name])
    with_them, without_them = (
        {length.name: length for length in collect_lengths(fitted([tpose], ANN).fit)}
        for tpose in (held(ANN, 1), hidden(held(ANN, 1), knees))
    )
    assert without_them["thighs"].sigma_m > 1.15 * with_them["thighs"].sigma_m
    assert without_them["shins"].sigma_m > 1.15 * with_them["shins"].sigma_m
    assert not without_them["shins"].measured


def test_a_known_skeleton_has_no_lengths_to_tell() -> None:
    fit = fitted([held(ANN, 0)], ANN, old=ANN).fit
    assert collect_lengths(fit) == [] and describe_lengths(fit) == []


def test_every_marker_has_its_line() -> None:
    lines = describe_markers(fitted([hidden(held(ANN, 2), np.array([4]))], ANN).fit)
    assert len(lines) == len(ANN.markers)
    assert "not seen" in lines[4] and ANN.markers.names[4] in lines[4]
    assert sum("mm from its place in the set" in line for line in lines) == len(ANN.markers) - 1


@pytest.mark.parametrize("degrees", [-20.0, 0.0, 15.0])
def test_slope_of_the_arms(degrees: float) -> None:
    """Hands and elbows are worn: the arms' slope is seen to a few degrees."""
    fit = fitted([held(ANN, 3, arms_rad=np.radians(degrees), off_rad=0.0)], ANN).fit
    assert np.abs(measure_arm_slopes_deg(fit) - degrees).max() < 4.0
