"""The foreground test on 8-bit bounds against the paper's test in floating point; runs against a scan of the mask."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from capture.background.statistics import Background, BackgroundBounds, compute_background_bounds
from capture.detection.foreground import ForegroundRuns
from config.errors import CalibrationError


def runs_by_scanning(mask: NDArray[np.bool_], gap: int) -> list[tuple[int, int, int]]:
    """Return runs of a mask the slow way: fill short gaps, then cut into pieces."""
    runs = []
    for y, row in enumerate(mask):
        columns = np.nonzero(row)[0]
        if len(columns):
            pieces = np.split(columns, np.nonzero(np.diff(columns) > 1 + gap)[0] + 1)
            runs += [(y, int(piece[0]), int(piece[-1])) for piece in pieces]
    return runs


def random_background(random: np.random.Generator, width: int, height: int) -> Background:
    mean = random.uniform(0, 255, (height, width, 3)).astype(np.float32)
    return Background(mean, random.uniform(0.5, 8.0, mean.shape).astype(np.float32))


@pytest.mark.parametrize("width", [8, 13, 31])
@pytest.mark.parametrize("k_sigma", [0.3, 3.0, 40.0])
def test_against_the_papers_test(width: int, k_sigma: float) -> None:
    random = np.random.default_rng(width)
    background = random_background(random, width, 9)
    near = background.mean + random.normal(0.0, 12.0, background.mean.shape)
    image = np.clip(np.round(near), 0, 255).astype(np.uint8)
    image[0, 0], image[8, width - 1] = 0, 255
    reach = np.maximum(k_sigma * background.std, 4.0)
    mask = (np.abs(image - background.mean) > reach).any(axis=2)
    bounds = compute_background_bounds(background, k_sigma, 4.0)
    for gap in (0, 1, 2):
        runs = ForegroundRuns((width, 9)).outside(image, bounds, gap)
        assert [tuple(run) for run in runs.tolist()] == runs_by_scanning(mask, gap)


def test_bounds_do_not_wrap_around() -> None:
    """A background no grey level lies within, and k sigma below 1, must not turn into everything or nothing."""
    background = Background(np.full((1, 1, 3), 100.5, np.float32), np.full((1, 1, 3), 0.5, np.float32))
    bounds = compute_background_bounds(background, 0.2, 0.0)
    assert (bounds.hi - bounds.lo).max() <= 1
    finder = ForegroundRuns((1, 1))
    assert len(finder.outside(np.full((1, 1, 3), 90, np.uint8), bounds)) == 1
    assert len(finder.outside(np.full((1, 1, 3), 110, np.uint8), bounds)) == 1


sizes = st.tuples(st.one_of(st.integers(1, 40), st.sampled_from([63, 64, 65, 128, 131])), st.integers(1, 6))


@given(sizes, st.integers(0, 2), st.floats(0.0, 1.0), st.integers(0, 2**32 - 1))
def test_runs_of_any_mask(size: tuple[int, int], gap: int, share: float, seed: int) -> None:
    """All three ways to the foreground, on images of any size, from empty to full."""
    random = np.random.default_rng(seed)
    width, height = size
    image = ((random.random((height, width, 3)) < share) * random.integers(0, 256, (height, width, 3))).astype(np.uint8)
    two = np.sort(random.integers(0, 256, (2, height, width, 3)), axis=0).astype(np.uint8)
    bounds = BackgroundBounds(*np.ascontiguousarray(two.reshape(2, height, -1)))
    finder, level = ForegroundRuns(size), int(random.integers(0, 256))
    masks = (
        ((image < two[0]) | (image > two[1]), finder.outside(image, bounds, gap).tolist()),
        (image > level, finder.brighter(image, level, gap_px=gap).tolist()),
        (image > np.maximum(two[1], level), finder.brighter(image, level, bounds, gap).tolist()),
    )
    for mask, found in masks:
        assert [tuple(run) for run in found] == runs_by_scanning(mask.any(axis=2), gap)


def test_flooded_image_gives_no_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("capture.detection.foreground.MAX_RUNS", 3)
    image = np.zeros((2, 9, 3), np.uint8)
    image[:, ::4] = 9
    finder, bounds = ForegroundRuns((9, 2)), BackgroundBounds(np.zeros((2, 27), np.uint8), np.zeros((2, 27), np.uint8))
    assert len(finder.outside(image, bounds, 0)) == 0 and finder.flooded
    assert len(finder.brighter(image, 8, None, 0)) == 0 and finder.flooded
    assert len(finder.brighter(image, 8, bounds, 0)) == 0 and finder.flooded
    assert len(finder.brighter(image, 300)) == 0 and not finder.flooded  # above white
    image[1] = 0
    assert len(finder.outside(image, bounds, 0)) == 3 and not finder.flooded


def test_other_size() -> None:
    with pytest.raises(CalibrationError, match="an image of 4x4 where 8x4 was expected"):
        ForegroundRuns((8, 4)).brighter(np.zeros((4, 4, 3), np.uint8), 9)
