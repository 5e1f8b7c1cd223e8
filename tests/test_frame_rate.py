"""The rate by the times of some pictures."""

import numpy as np
import pytest

from capture.frame_rate import frame_rate


def times(gaps_ms: list[float]) -> list[int]:
    return [round(1e6 * t) for t in np.cumsum([1000.0, *gaps_ms])]


@pytest.mark.parametrize(
    ("gaps_ms", "fps"),
    [
        ([33.3] * 15, 30.0),
        ([16.0, 17.5, 16.6, 16.2, 17.0, 16.7], 60.0),
        ([40.0, 40.0, 80.0, 40.0, 40.0], 25.0),  # one was lost
        ([1.0, 65.0, 1.0, 65.0, 1.0, 65.0, 1.0, 65.0, 1.0, 65.0], 30.0),  # in pairs
        ([28.0] * 10, 1000.0 / 28.0),  # no common rate: as it is
        ([2000.0] * 5, 1.0),
        ([33.0], 30.0),
        ([], 30.0),
        ([0.0, 0.0, 0.0], 30.0),
    ],
)
def test_rates_by_hand(gaps_ms: list[float], fps: float) -> None:
    assert frame_rate(times(gaps_ms)) == pytest.approx(fps, rel=0.011)
