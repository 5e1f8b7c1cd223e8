"""Why no T-pose was found: arms that slope or hang, a world of the wrong size, nothing that is known."""

import numpy as np
import pytest

from calibration.subject.tpose import average_tpose, label_tpose, tpose_model, why_no_tpose, worn_part
from config.errors import CalibrationError
from config.markers import MarkerSet, read_marker_set
from database.builtin import body
from tests.calibration.subject.test_tpose import BODIES, DARK, frames_of, standing

AROUND = read_marker_set("all_around")


def refusal(points: np.ndarray, markers: MarkerSet = DARK) -> str:
    """Return the words with which points are refused, in one line."""
    with pytest.raises(CalibrationError) as caught:
        label_tpose(points, markers, BODIES)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_model_lifts_and_lowers_each_arm() -> None:
    level, sloped = tpose_model(AROUND, BODIES), tpose_model(AROUND, BODIES, (30.0, -50.0))
    place = {name: sloped[m] - level[m] for m, name in enumerate(AROUND.names)}
    assert place["left_hand"][1] > 0.2 and place["right_hand"][1] < -0.3
    assert place["left_hand"][0] < 0 < place["right_hand"][0]
    np.testing.assert_allclose(place["left_knee"], 0.0, atol=1e-12)


def test_arms_that_hang_are_told() -> None:
    markers, _, _ = standing(body(1.7), 3, "all_around", droop_rad=1.3)
    assert "the arms point 75 degrees below level: hold both arms level" in refusal(markers, AROUND)


@pytest.mark.parametrize("factor", [0.04, 0.45, 2.2, 1000.0])
def test_a_world_of_the_wrong_size_is_told(factor: float) -> None:
    """Such as millimetres taken for metres, or a square's side in the wrong unit."""
    markers, _, _ = standing(body(1.7), 3)
    words = refusal(markers * factor)
    assert "times the size of a person" in words and "square's side" in words
    said = float(words.split("a T-pose ")[1].split(" times")[0])
    assert said == pytest.approx(factor, rel=0.1)


def test_nothing_known_is_nothing_said() -> None:
    strangers = np.random.default_rng(0).uniform(-0.7, 0.7, (14, 3))
    assert why_no_tpose(strangers, DARK, BODIES, 0.28) == ""
    assert why_no_tpose(strangers[:5], DARK, BODIES, 0.28) == ""
    assert "choose seconds" in refusal(strangers)


@pytest.mark.parametrize("worn", ["left", "right"])
def test_one_side_of_the_limbs_is_found_out(worn: str) -> None:
    markers, _, _ = standing(body(1.68), 11)
    chosen = worn_part(DARK, worn)  # type: ignore[arg-type]
    assert len(chosen) == 10
    frames = frames_of(markers[chosen], 20, 11)[0]
    found, told = (average_tpose(frames, DARK, BODIES, worn=w) for w in (None, worn))  # type: ignore[arg-type]
    for tpose in (found, told):
        assert np.flatnonzero(tpose.valid).tolist() == chosen.tolist()
        assert np.linalg.norm(tpose.point_m - markers, axis=1)[chosen].max() < 0.004
    with pytest.raises(CalibrationError, match="no T-pose found"):
        average_tpose(frames, DARK, BODIES)


def test_all_are_worn_where_all_are_seen() -> None:
    markers, _, _ = standing(body(1.68), 12)
    assert average_tpose(frames_of(markers, 20, 12)[0], DARK, BODIES, worn=None).valid.all()
