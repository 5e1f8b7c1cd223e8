"""Lighting, its changes, and which colours are marker colours."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capture.background.statistics import DARK_LEVEL
from capture.detection.mode import CERTAIN_FRAMES, MEMBER, STEP_PX, LightingDetector, build_color_table, measure_light
from config.errors import CalibrationError


@given(st.integers(1, 70), st.integers(1, 70), st.integers(0, 2**32 - 1))
def test_light_against_numpy(width: int, height: int, seed: int) -> None:
    image = np.random.default_rng(seed).integers(0, 90, (height, width, 3)).astype(np.uint8)
    some = image[::STEP_PX, ::STEP_PX]
    assert measure_light(image) == pytest.approx((some.mean(), (some.max(axis=2) < DARK_LEVEL).mean()))


def test_the_room_changes_after_some_frames_in_a_row() -> None:
    watch = LightingDetector(dark=True)
    assert not any(watch.changed(share) for share in [0.3] * (CERTAIN_FRAMES - 1) + [0.99] + [0.3] * (CERTAIN_FRAMES - 1))
    assert watch.changed(0.3) and not watch.dark
    assert not any(watch.changed(0.9) for _ in range(50)), "not dark enough to be dark"
    assert [watch.changed(0.96) for _ in range(CERTAIN_FRAMES)] == [False] * (CERTAIN_FRAMES - 1) + [True]


RED, GREEN, GRAY = np.array([210.0, 40.0, 30.0]), np.array([40.0, 190.0, 60.0]), np.array([110.0, 110.0, 110.0])


def look_up(table: np.ndarray, rgb: np.ndarray) -> int:
    red, green, blue = (int(value) >> 3 for value in rgb)
    return int(table[blue, green, red])


def test_colours_are_told_apart_and_from_grey() -> None:
    """Colours are numbered in ascending order, equal ones once; half the brightness is the same colour."""
    table = build_color_table([RED, GREEN, RED])
    kinds = [look_up(table.kinds, color) for color in (RED, 0.5 * RED, GREEN, GRAY, 2.0 * GRAY, 0.05 * RED)]
    assert kinds == [2, 2, 1, 0, 0, 0]
    assert look_up(table.weights, RED) > 200 and look_up(table.weights, 0.5 * RED) > 200


def test_membership_falls_along_the_mixture_with_grey() -> None:
    table = build_color_table([RED])
    weights = [look_up(table.weights, share * RED + (1.0 - share) * GRAY) for share in (1.0, 0.75, 0.5, 0.25, 0.0)]
    assert weights == sorted(weights, reverse=True)
    assert weights[2] >= 255 * MEMBER > weights[4]


def test_grey_markers_are_refused() -> None:
    with pytest.raises(CalibrationError, match=r"\[230, 230, 225\] is nearly grey"):
        build_color_table([[230, 230, 225]])
