"""Blobs that fall apart at a higher threshold, by hand."""

import numpy as np
from numpy.typing import NDArray

from capture.blobs import AREA, N_SUMS, X0, X1, Y0, Y1, RawBlobs
from capture.part_blobs import MOST, taken_apart


def boxes(*given: tuple[int, int, int, int, int]) -> RawBlobs:
    """Give blobs of boxes (first and last column, first and last row) and an area."""
    sums: NDArray[np.float64] = np.zeros((len(given), N_SUMS))
    sums[:, [X0, X1, Y0, Y1, AREA]] = np.array(given).reshape(-1, 5)
    return RawBlobs(sums)


WHOLE = boxes((0, 9, 0, 9, 80), (20, 39, 0, 9, 150))
PARTS = boxes((21, 27, 1, 8, 40), (30, 38, 2, 9, 50), (1, 4, 1, 4, 12), (6, 9, 6, 8, 12), (5, 12, 0, 3, 20))


def test_several_large_parts_take_the_place_of_the_whole() -> None:
    assert taken_apart(WHOLE, PARTS, 1.0, 3.0).sums[:, AREA].tolist() == [40, 50, 12, 12]
    assert taken_apart(WHOLE, PARTS, 1.4, 3.0).sums[:, AREA].tolist() == [80, 40, 50], "only what is elongated"
    alone = np.array([True, False])
    assert taken_apart(WHOLE, PARTS, 1.0, 3.0, alone).sums[:, AREA].tolist() == [80, 40, 50], "known to be one marker"
    assert taken_apart(WHOLE, PARTS, 1.0, 13.0).sums[:, AREA].tolist() == [80, 40, 50], "small parts are no markers"


def test_one_part_changes_nothing() -> None:
    assert taken_apart(WHOLE, boxes((21, 27, 1, 8, 40)), 1.0, 3.0) is WHOLE
    assert taken_apart(WHOLE, boxes(), 1.0, 3.0) is WHOLE
    assert taken_apart(boxes(), PARTS, 1.0, 3.0).sums.shape == (0, N_SUMS)
    assert taken_apart(WHOLE, boxes((21, 27, 1, 8, 40), (30, 38, 2, 9, 22)), 1.0, 3.0) is WHOLE, "22 is less than 15 % of 150"


def test_a_flood_of_parts_is_left_alone() -> None:
    many = boxes(*[(21, 27, 1, 8, 40)] * MOST)
    assert taken_apart(WHOLE, many, 1.0, 3.0) is WHOLE
