"""The selection of markers among blobs against plain numpy; centres and sigmas by hand; blobs that split."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from capture.detection.blobs import AREA, N_SUMS, X0, X1, Y0, Y1, RawBlobs
from capture.detection.markers import (
    CUT_SHARE,
    MAX_AREA_SHARE,
    MAX_BLOBS,
    MAX_ELONGATION,
    MIN_FILL,
    SUSPECT_ELONGATION,
    choose_markers,
    find_compact_blobs,
    split_blobs,
)

SIZE = (200, 100)


def blob(
    width: int, height: int, area: int, weight: float = 50.0, peak: float = 90.0, at: tuple[int, int] = (40, 30)
) -> NDArray[np.float64]:
    """Return the sums of a blob whose box begins at `at`, every pixel of one weight, its centre in the middle of the box."""
    w = weight * area
    x, y = at[0] + (width - 1) / 2, at[1] + (height - 1) / 2
    box = [at[0], at[0] + width - 1, at[1], at[1] + height - 1]
    return np.array([w, w * x, w * y, 10.0 * w, 20.0 * w, 30.0 * w, area, peak, *box, 0.0])


def compact_plainly(sums: NDArray[np.float64], min_area_px: float) -> NDArray[np.bool_]:
    extent = sums[:, [9, 11]] - sums[:, [8, 10]] + 1.0
    area = sums[:, 6]
    shape = (area / extent.prod(axis=1) >= MIN_FILL) & (extent.max(axis=1) / extent.min(axis=1) <= MAX_ELONGATION)
    return np.asarray((sums[:, 0] > 0) & (area >= min_area_px) & (area <= MAX_AREA_SHARE * SIZE[0] * SIZE[1]) & shape)


blobs = st.builds(
    blob,
    st.integers(1, 12),
    st.integers(1, 12),
    st.integers(1, 90),
    st.one_of(st.just(0.0), st.floats(0.01, 90)),
    st.floats(1, 200),
)


@given(st.lists(blobs, max_size=12), st.floats(0, 9), st.floats(0, 120), st.floats(0.0, 0.9))
def test_against_numpy(found: list[NDArray[np.float64]], min_area_px: float, min_peak: float, specks: float) -> None:
    sums = np.array(found).reshape(-1, N_SUMS)
    keep = compact_plainly(sums, min_area_px)
    assert find_compact_blobs(RawBlobs(sums), SIZE, min_area_px).tolist() == keep.tolist()
    index = np.nonzero(keep & (sums[:, 7] >= min_peak))[0]
    if len(index):
        index = index[sums[index, 6] >= specks * np.median(sums[index, 6])]
    markers = choose_markers(RawBlobs(sums), SIZE, min_area_px, min_peak, specks)
    assert markers.chosen.tolist() == index.tolist() and len(markers) == len(index)
    s = sums[index]
    np.testing.assert_allclose(markers.points_px, s[:, 1:3] / s[:, :1], rtol=1e-12)
    np.testing.assert_allclose(markers.color_rgb, s[:, [5, 4, 3]] / s[:, :1], rtol=1e-12)
    assert markers.area_px.tolist() == s[:, 6].tolist()
    assert markers.peak == (np.median(s[:, 7]) if len(s) else 0.0)
    assert (markers.sigma_px > 0).all()


@pytest.mark.parametrize(("width", "at"), [(7, (0, 30)), (7, (193, 30)), (7, (40, 0)), (7, (40, 93)), (14, (40, 30))])
def test_cut_or_merged_markers_are_trusted_less(width: int, at: tuple[int, int]) -> None:
    """Cut by any of the four edges, or as long as two."""
    both = np.array([blob(7, 7, 40), blob(width, 7, 40 * width // 7, at=at)])
    whole, other = choose_markers(RawBlobs(both), SIZE, 3.0, 0.0).sigma_px
    radius = np.sqrt(both[1, 6] / np.pi)
    least = CUT_SHARE * radius if width == 7 else (2.0 - SUSPECT_ELONGATION) * radius
    assert whole < 0.3 < least <= other < 1.1 * least


def test_dimmer_markers_are_known_less_well() -> None:
    found = np.array([blob(7, 7, 40, weight) for weight in (2.0, 8.0, 150.0)])
    sigma = choose_markers(RawBlobs(found), SIZE, 3.0, 0.0).sigma_px
    assert sigma[0] > 1.5 * sigma[1] > 1.5 * sigma[2]


def boxes(*given: tuple[int, int, int, int, int]) -> RawBlobs:
    """Return blobs of boxes (first and last column, first and last row) and an area."""
    sums: NDArray[np.float64] = np.zeros((len(given), N_SUMS))
    sums[:, [X0, X1, Y0, Y1, AREA]] = np.array(given).reshape(-1, 5)
    return RawBlobs(sums)


WHOLE = boxes((0, 9, 0, 9, 80), (20, 39, 0, 9, 150))
PARTS = boxes((21, 27, 1, 8, 40), (30, 38, 2, 9, 50), (1, 4, 1, 4, 12), (6, 9, 6, 8, 12), (5, 12, 0, 3, 20))


def test_several_large_parts_take_the_place_of_the_whole() -> None:
    assert split_blobs(WHOLE, PARTS, 1.0, 3.0).sums[:, AREA].tolist() == [40, 50, 12, 12]
    assert split_blobs(WHOLE, PARTS, 1.4, 3.0).sums[:, AREA].tolist() == [80, 40, 50], "only what is elongated"
    alone = np.array([True, False])
    assert split_blobs(WHOLE, PARTS, 1.0, 3.0, alone).sums[:, AREA].tolist() == [80, 40, 50], "known to be one marker"
    assert split_blobs(WHOLE, PARTS, 1.0, 13.0).sums[:, AREA].tolist() == [80, 40, 50], "small parts are no markers"


def test_one_part_changes_nothing() -> None:
    assert split_blobs(WHOLE, boxes((21, 27, 1, 8, 40)), 1.0, 3.0) is WHOLE
    assert split_blobs(WHOLE, boxes(), 1.0, 3.0) is WHOLE
    assert split_blobs(boxes(), PARTS, 1.0, 3.0).sums.shape == (0, N_SUMS)
    assert split_blobs(WHOLE, boxes((21, 27, 1, 8, 40), (30, 38, 2, 9, 22)), 1.0, 3.0) is WHOLE, "22 is less than 15 % of 150"


def test_a_flood_of_parts_is_left_alone() -> None:
    many = boxes(*[(21, 27, 1, 8, 40)] * MAX_BLOBS)
    assert split_blobs(WHOLE, many, 1.0, 3.0) is WHOLE
