"""Where the board was in a picture, in describe_missing."""

import numpy as np
import pytest

from calibration.board.views import measure_coverage, measure_outside_share

SIZE = (640, 480)


def test_what_is_missing_is_named() -> None:
    x, y = np.meshgrid(np.linspace(0, 639, 33), np.linspace(0, 479, 25))
    corners = np.column_stack([x.ravel(), y.ravel()])
    assert measure_coverage(corners, SIZE).missing == () and measure_coverage(corners, SIZE).share == 1.0
    assert measure_coverage(corners, SIZE).describe_missing("the left picture") == ""
    rest = corners[~((corners[:, 0] < 213) & (corners[:, 1] > 320))]
    coverage = measure_coverage(rest, SIZE)
    assert coverage.missing == ("lower left",)
    assert coverage.describe_missing("the right picture") == "nothing in the lower left of the right picture"
    right = measure_coverage(corners[corners[:, 0] < 420], SIZE)
    assert right.describe_missing("the left picture") == "nothing in the upper right, right and lower right of the left picture"
    assert right.share == pytest.approx(6 / 8)


def test_a_picture_hardly_used_is_told_by_number() -> None:
    coverage = measure_coverage(np.array([[320.0, 240.0], [330.0, 250.0]]), SIZE)
    assert coverage.describe_missing("the picture") == "nothing in 8 of 9 parts of the picture" and coverage.cells.sum() == 2


def test_corners_on_the_edge_count() -> None:
    assert measure_coverage(np.array([[-0.4, -0.4], [639.4, 479.4]]), SIZE).cells[[0, -1], [0, -1]].tolist() == [1, 1]


def test_what_lies_outside_of_the_corners() -> None:
    corners = np.array([[100.0, 100.0], [300.0, 100.0], [300.0, 300.0], [100.0, 300.0]])
    points = np.array([[200.0, 200.0], [310.0, 200.0], [400.0, 200.0], [200.0, 20.0]])
    assert measure_outside_share(corners, SIZE, points) == 0.5  # one lies within the margin of 26 px
    assert measure_outside_share(corners[:2], SIZE, points) == 1.0
