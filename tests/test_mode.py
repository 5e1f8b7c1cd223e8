"""What light there is, and when the room is another."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capture.background import DARK_LEVEL
from capture.mode import CERTAIN_FRAMES, STEP_PX, RoomWatch, light_of


@given(st.integers(1, 70), st.integers(1, 70), st.integers(0, 2**32 - 1))
def test_light_against_numpy(width: int, height: int, seed: int) -> None:
    image = np.random.default_rng(seed).integers(0, 90, (height, width, 3)).astype(np.uint8)
    some = image[::STEP_PX, ::STEP_PX]
    assert light_of(image) == pytest.approx((some.mean(), (some.max(axis=2) < DARK_LEVEL).mean()))


def test_the_room_changes_after_some_frames_in_a_row() -> None:
    watch = RoomWatch(dark=True)
    assert not any(watch.changed(share) for share in [0.3] * (CERTAIN_FRAMES - 1) + [0.99] + [0.3] * (CERTAIN_FRAMES - 1))
    assert watch.changed(0.3) and not watch.dark
    assert not any(watch.changed(0.9) for _ in range(50)), "not dark enough to be dark"
    assert [watch.changed(0.96) for _ in range(CERTAIN_FRAMES)] == [False] * (CERTAIN_FRAMES - 1) + [True]
