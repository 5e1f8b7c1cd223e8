"""What slips slowly is told once; what wavers is not."""

import numpy as np
import pytest

from capture.rig_drift import Drift

S = 1_000_000_000


def told(offsets_px: list[float]) -> list[tuple[int, str]]:
    """Give what is told, and after how many seconds, of an offset a second."""
    drift = Drift()
    return [(second, text) for second, offset in enumerate(offsets_px) for text in drift.add(second * S, offset)]


@pytest.mark.parametrize("px_min", [0.5, -2.0])
def test_a_steady_drift_is_told_once(px_min: float) -> None:
    ((second, text),) = told([px_min * second / 60.0 for second in range(900)])
    # Found at the end of the second half minute whose median is 1.3 px from the first one's.
    assert abs(px_min) * second / 60.0 < 1.3 + abs(px_min) * 1.6 and "slipping slowly" in text


def test_what_comes_back_or_hardly_moves_is_not_told() -> None:
    random = np.random.default_rng(3)
    assert told(list(random.normal(0.4, 0.8, 1200))) == []
    assert told([2.0 if 300 <= second < 325 else 0.0 for second in range(900)]) == []
    assert told([0.2 * second / 60.0 for second in range(300)]) == []
