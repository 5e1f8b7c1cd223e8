"""Which colours count as marker colours."""

import numpy as np
import pytest

from capture.color_table import MEMBER, color_table
from config.errors import CalibrationError

RED, GREEN, GRAY = np.array([210.0, 40.0, 30.0]), np.array([40.0, 190.0, 60.0]), np.array([110.0, 110.0, 110.0])


def look_up(table: np.ndarray, rgb: np.ndarray) -> int:
    red, green, blue = (int(value) >> 3 for value in rgb)
    return int(table[blue, green, red])


def test_colours_are_told_apart_and_from_grey() -> None:
    table = color_table([RED, GREEN])
    kinds = [look_up(table.kinds, color) for color in (RED, GREEN, GRAY, 2.0 * GRAY, 0.05 * RED)]
    assert kinds == [2, 1, 0, 0, 0], "colours are numbered in ascending order"
    assert look_up(table.weights, RED) > 200


def test_half_the_brightness_is_the_same_colour() -> None:
    table = color_table([RED])
    assert look_up(table.kinds, 0.5 * RED) == 1
    assert look_up(table.weights, 0.5 * RED) > 200


def test_membership_falls_along_the_mixture_with_grey() -> None:
    table = color_table([RED])
    weights = [look_up(table.weights, share * RED + (1.0 - share) * GRAY) for share in (1.0, 0.75, 0.5, 0.25, 0.0)]
    assert weights == sorted(weights, reverse=True)
    assert weights[2] >= 255 * MEMBER > weights[4]


def test_equal_colours_are_one() -> None:
    assert color_table([RED, RED, RED]).kinds.max() == 1


def test_grey_markers_are_refused() -> None:
    with pytest.raises(CalibrationError, match=r"\[230, 230, 225\] is nearly grey"):
        color_table([[230, 230, 225]])
