"""Regions of a picture: where they are, and what is cut out of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capture.landmarks.region import Region, cut_out_image, make_region


def paint_spot(width: int, height: int, at: np.ndarray, radius: float) -> np.ndarray:
    """Return a dark picture with a soft white spot, (height, width, 3)."""
    y, x = np.mgrid[:height, :width] + 0.5
    spot = np.exp(-((x - at[0]) ** 2 + (y - at[1]) ** 2) / (2.0 * radius**2))
    return np.asarray(np.repeat(np.rint(255.0 * spot)[..., None], 3, axis=2), np.uint8)


def find_middle(image: np.ndarray) -> np.ndarray:
    """Return the centre of brightness, (2,), 0 to 1."""
    weight = image[..., 0].astype(float)
    y, x = np.mgrid[: image.shape[0], : image.shape[1]] + 0.5
    return np.asarray(np.array([(weight * x).sum(), (weight * y).sum()]) / weight.sum() / image.shape[0])


@pytest.mark.parametrize(("scale", "turn_rad"), [(0.6, 0.4), (1.0, -2.0), (3.7, 0.9), (9.0, 3.0)])
def test_a_spot_is_cut_out_where_the_region_has_it(scale: float, turn_rad: float) -> None:
    region = Region(np.array([330.0, 260.0]), 64.0 * scale, turn_rad)
    part = np.array([[0.62, 0.41]])
    image = paint_spot(700, 520, region.to_picture(part)[0], 3.0 * scale)
    found = find_middle(cut_out_image(image, region, 64))
    assert found == pytest.approx(part[0], abs=0.25 / 64)


@given(st.floats(-3.1, 3.1), st.floats(20.0, 300.0))
def test_the_edge_point_is_straight_above_the_hips_in_the_region(direction: float, length: float) -> None:
    hips = np.array([200.0, 150.0])
    edge = hips + length * np.array([np.sin(direction), -np.cos(direction)])
    region = make_region(hips, edge)
    assert region.to_picture(np.array([[0.5, 0.5]]))[0] == pytest.approx(hips)
    assert region.to_picture(np.array([[0.5, 0.5 - 0.5 / 1.25]]))[0] == pytest.approx(edge, abs=1e-6)


def test_a_region_off_the_picture_shows_nobody() -> None:
    assert Region(np.array([0.0, 100.0]), 200.0).shows(640, 480)
    assert not Region(np.array([-400.0, 100.0]), 200.0).shows(640, 480)
    assert not Region(np.array([300.0, 100.0]), 2.0).shows(640, 480)
    assert not Region(np.array([300.0, 100.0]), 9000.0).shows(640, 480)
