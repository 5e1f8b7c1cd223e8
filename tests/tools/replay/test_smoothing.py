"""What `duocap replay --smooth` does to settings and poses."""

import numpy as np
import pytest

from config.errors import DuocapError
from config.settings import Settings
from tests.reconstruct.finish.test_output_filter import SUBJECT, trembling
from tests.support.people import front_rig
from tools.replay.replay import ReplayResult, disable_live_filter, smooth_result


def test_without_it_nothing_changes() -> None:
    settings, result = Settings(), ReplayResult(front_rig(), poses=trembling(5))
    assert disable_live_filter(settings, 0.0) is settings
    assert smooth_result(result, SUBJECT, 0.0) is result


def test_the_live_filter_is_left_out_and_the_take_smoothed() -> None:
    assert not disable_live_filter(Settings(), 0.2).filter.output
    result = ReplayResult(front_rig(), poses=trembling(60), swaps_suspected=3)
    given = smooth_result(result, SUBJECT, 0.2)
    assert given.swaps_suspected == 3 and len(given.poses) == 60
    before, after = (np.diff(r.take(SUBJECT).root_m, axis=0).std() for r in (result, given))
    assert after < 0.5 * before


@pytest.mark.parametrize("window_s", [-0.1, 3.0, float("nan")])
def test_a_window_out_of_range_is_said(window_s: float) -> None:
    with pytest.raises(DuocapError, match="window must be from 0 to 2 seconds"):
        disable_live_filter(Settings(), window_s)
