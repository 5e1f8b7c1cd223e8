"""What is said of a body: its lengths, how well they are known and from where, its arms."""

import numpy as np
import pytest

from calibration.subject.quality import arm_slopes_deg, height_sigma_m, length_lines, lengths_of, marker_lines
from config.joints import JOINT_INDEX
from database.builtin import body
from tests.calibration.subject.subject_takes import fitted, held, hidden
from tests.support.people import person

ANN = person("all_around", 2, body(1.75))


def test_lengths_and_where_they_come_from() -> None:
    """Knees and ankles are worn, nothing on the toes: thighs and shins are measured, toes are other people's."""
    fit = fitted([held(ANN, 0)], ANN).fit
    lengths = {length.name: length for length in lengths_of(fit)}
    thigh = np.linalg.norm(fit.subject.skeleton.offsets_m[JOINT_INDEX["leftLowerLeg"]])
    assert lengths["thighs"].length_m == pytest.approx(thigh)
    assert lengths["shins"].measured and not lengths["toes"].measured
    assert fit.subject.length_sigma_m is not None
    assert lengths["thighs"].sigma_m == pytest.approx(fit.subject.length_sigma_m[0, JOINT_INDEX["leftLowerLeg"]], rel=1e-6)
    trunk = fit.subject.skeleton.rest_positions_m()
    up = trunk[JOINT_INDEX["neck"], 1] - trunk[JOINT_INDEX["spine"], 1]
    assert lengths["trunk"].length_m == pytest.approx(up, abs=0.01)
    told, guessed = length_lines(fit)
    assert told.startswith("measured: ") and "shins" in told and "toes" in guessed and "people of that size" in guessed
    assert f"shins {1e3 * lengths['shins'].length_m:.0f} mm +- {1e3 * lengths['shins'].sigma_m:.0f}" in told


def test_a_marker_less_is_a_length_known_less() -> None:
    knees = np.array([m for m, name in enumerate(ANN.markers.names) if "knee" in name or "ankle" in name])
    with_them, without_them = (
        {length.name: length for length in lengths_of(fitted([tpose], ANN).fit)}
        for tpose in (held(ANN, 1), hidden(held(ANN, 1), knees))
    )
    assert without_them["thighs"].sigma_m > 1.15 * with_them["thighs"].sigma_m
    assert without_them["shins"].sigma_m > 1.15 * with_them["shins"].sigma_m
    assert not without_them["shins"].measured


def test_a_known_skeleton_has_no_lengths_to_tell() -> None:
    fit = fitted([held(ANN, 0)], ANN, old=ANN).fit
    assert lengths_of(fit) == [] and length_lines(fit) == []


def test_every_marker_has_its_line() -> None:
    lines = marker_lines(fitted([hidden(held(ANN, 2), np.array([4]))], ANN).fit)
    assert len(lines) == len(ANN.markers)
    assert "not seen" in lines[4] and ANN.markers.names[4] in lines[4]
    assert sum("mm from nominal" in line for line in lines) == len(ANN.markers) - 1


@pytest.mark.parametrize("degrees", [-20.0, 0.0, 15.0])
def test_slope_of_the_arms(degrees: float) -> None:
    """Hands and elbows are worn: the arms' slope is seen to a few degrees."""
    fit = fitted([held(ANN, 3, arms_rad=np.radians(degrees), off_rad=0.0)], ANN).fit
    assert np.abs(arm_slopes_deg(fit) - degrees).max() < 4.0


def test_height_is_known_to_some_centimetres() -> None:
    assert 0.005 < height_sigma_m(fitted([held(ANN, 4)], ANN).fit) < 0.06
