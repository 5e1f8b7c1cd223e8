"""A flash or a jump sought live: found in what both cameras saw, corrected, told in words."""

import numpy as np
import pytest

from capture.clock import OffsetMethod
from capture.packets import Blobs
from capture.timing.search import TimeSearch
from capture.timing.synchronise import Synchroniser
from config.settings import TimeSettings

LATE_S = 0.045
BODY = np.random.default_rng(4).uniform([100, 80], [400, 400], (9, 2))


def height_px(t_s: float) -> float:
    """How far down the body is: it jumps at 6 s, crouching before it."""
    u = t_s - 6.0
    return float(
        18 * np.exp(-(((u + 0.3) / 0.12) ** 2)) - 60 * np.exp(-((u / 0.15) ** 2)) + 10 * np.exp(-(((u - 0.35) / 0.1) ** 2))
    )


def frame(camera: int, k: int, flashes: tuple[float, ...] = (), moves: bool = True) -> Blobs:
    """Frame k at 30 Hz; the right camera looks 7 ms later and its stamps are LATE_S late."""
    true_s = k / 30 + 0.007 * camera
    rng = np.random.default_rng((camera, k))
    points = BODY + [20.0 * camera, height_px(true_s) if moves else 0.0] + rng.normal(0, 0.2, BODY.shape)
    lit = any(t < true_s < t + 0.4 for t in flashes)
    n = len(points)
    stamp = round(1e9 * (100.0 + true_s + LATE_S * camera))
    return Blobs(camera, k, stamp, points, np.full(n, 30.0), np.full((n, 3), 240.0), np.full(n, 0.1), 90.0 if lit else 20.0)


def told(method: OffsetMethod | None, seconds: float, **what: object) -> tuple[Synchroniser, list[str]]:
    """Run so long, having asked at 2 s."""
    synchroniser, news = Synchroniser(2, 20_000_000, TimeSettings(estimate=False)), []
    for k in range(round(30 * seconds)):
        if k == 60 and method is not None:
            synchroniser.start_search(method)
        for camera in (0, 1):
            synchroniser.push(frame(camera, k, **what))
            news += synchroniser.notices()
    return synchroniser, news


def test_a_jump_corrects_the_stamps_and_says_so() -> None:
    synchroniser, (news,) = told(OffsetMethod.JUMP, 10.0)
    assert synchroniser.offset().offset_ms == pytest.approx(1e3 * LATE_S, abs=4.0)
    assert news.startswith("the right camera's stamps are 4") and news.endswith("by a jump; now corrected")


def test_flashes_correct_the_stamps_to_half_a_frame() -> None:
    synchroniser, (news,) = told(OffsetMethod.FLASH, 12.0, flashes=(3.01, 4.13, 5.22, 6.37, 7.48), moves=False)
    assert synchroniser.offset().offset_ms == pytest.approx(1e3 * LATE_S, abs=17.0)
    assert "by a flash; now corrected" in news


def test_in_vain_is_told_too_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("capture.timing.search.SEARCH_S", 4.0)
    synchroniser, (news,) = told(OffsetMethod.JUMP, 2.0 + 4.0 + 1.0, moves=False)
    assert synchroniser.offset().offset_ms == 0.0
    assert news.startswith("no jump was seen by the left and the right camera") and "jump once" in news


def test_nothing_is_looked_for_unless_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    search = TimeSearch()
    assert search.step(10**9) is None
    monkeypatch.setattr("capture.timing.search.measure_speeds", lambda *_: pytest.fail("speeds cost time in every frame"))
    synchroniser, news = told(None, 3.0)
    assert not news and synchroniser.offset().offset_ms == 0.0
