"""Discs fitted to pixels: against true positions, and where they must be refused."""

import numpy as np
import pytest
from numpy.typing import NDArray

from capture.detection.blobs import BlobMaker
from capture.detection.discs import (
    fit_discs,
    write_disc_equations,
)
from capture.detection.foreground import ForegroundRuns
from tests.capture.scenes import paint_disc, shot

RADII = np.array([4.2, 3.1])
LEVEL = 70


def touching(
    places: NDArray[np.float64], radii: NDArray[np.float64] = RADII, noise: float = 2.0, color: float = 190.0
) -> tuple[NDArray[np.uint8], NDArray[np.float64], float]:
    """Draw discs and give the image with box and area of their one blob."""
    image = np.full((40, 50, 3), 6.0)
    for place, radius in zip(places, radii, strict=False):
        paint_disc(image, place, radius, (color,) * 3)
    picture = shot(image, noise, np.random.default_rng(3))
    raw = BlobMaker().bright_blobs(picture, ForegroundRuns((50, 40)).brighter(picture, LEVEL), LEVEL)
    assert len(raw) == 1
    return picture, raw.boxes(np.array([0]))[0], float(raw.sums[0, 6])


@pytest.mark.parametrize("apart", [0.5, 0.7, 0.9, 1.05])
def test_two_discs_where_they_are(apart: float) -> None:
    """Half overlapping to just touching, expected a pixel or two off."""
    truth = np.array([[20.3, 18.6], [20.3, 18.6] + apart * RADII.sum() * np.array([0.8, 0.6])])
    image, box, area = touching(truth)
    off = np.array([[1.2, -0.8], [-0.5, 1.5]])
    fit = fit_discs(image, box, area, truth + off, np.pi * RADII**2, np.full(2, 120.0), None, LEVEL)
    assert fit is not None
    np.testing.assert_allclose(fit[0], truth, atol=0.3)
    assert (fit[1] >= 0.1).all() and (fit[1] < 0.5).all()


def test_three_discs() -> None:
    radii = np.array([3.0, 3.5, 2.8])
    truth = np.array([[18.0, 20.0], [24.2, 19.1], [29.6, 22.3]])
    image, box, area = touching(truth, radii)
    fit = fit_discs(image, box, area, truth + (0.9, -1.1), np.pi * radii**2, np.full(3, 120.0), None, LEVEL)
    assert fit is not None
    np.testing.assert_allclose(fit[0], truth, atol=0.3)


def test_one_disc_is_not_two() -> None:
    """The other marker is hidden: the blob is as round as one."""
    truth = np.array([[20.3, 18.6]])
    image, box, area = touching(truth)
    expected = np.concatenate([truth, truth + (3.5, 1.0)])
    assert fit_discs(image, box, area, expected, np.pi * RADII**2, np.full(2, 120.0), None, LEVEL) is None
    small = np.array([np.pi * 3.0**2, 12.0])
    assert fit_discs(image, box, area, truth + [[0.0, -1.0], [0.0, 2.0]], small, np.full(2, 120.0), None, LEVEL) is None


def test_a_blob_far_too_large_for_a_marker() -> None:
    image = np.full((300, 300, 3), 200, np.uint8)
    box = np.array([10.0, 250.0, 10.0, 20.0])
    assert fit_discs(image, box, 900.0, np.ones((2, 2)), np.ones(2), np.ones(2), None, LEVEL) is None


def test_by_colour_at_the_corner_of_the_image() -> None:
    """The table gives each pixel's weight; a blob at the edge must not be read beyond it."""
    table = np.zeros((32, 32, 32), np.uint8)
    table[0, :, 0] = np.minimum(8 * np.arange(32) + 7, 255)
    image = np.zeros((20, 24, 3))
    truth = np.array([[2.0, 1.5], [8.1, 2.4]])
    for place in truth:
        paint_disc(image, place, 3.2, (0.0, 255.0, 0.0))
    picture = image.astype(np.uint8)
    fit = fit_discs(picture, np.array([0.0, 11.0, 0.0, 5.0]), 55.0, truth + 0.5, np.full(2, 30.0), np.full(2, 150.0), table, 76.5)
    assert fit is not None
    np.testing.assert_allclose(fit[0][:, 0], truth[:, 0], atol=0.5)


def test_gradient_against_differences() -> None:
    """J'(patch - model) is minus half the slope of the sum of squares."""
    random = np.random.default_rng(5)
    patch, radius = random.uniform(0.0, 150.0, (14, 17)), np.array([3.1, 2.2, 4.0])
    centers = np.array([[5.2, 6.1], [9.7, 7.4], [12.1, 4.0]])
    H, g, work = np.empty((6, 6)), np.empty(6), np.empty((2, 3))

    def squares(at: NDArray[np.float64]) -> float:
        return float(write_disc_equations(patch, 140.0, radius, at, np.empty((6, 6)), np.empty(6), work))

    write_disc_equations(patch, 140.0, radius, centers, H, g, work)
    for a in range(6):
        step = np.zeros(6)
        step[a] = 1e-5
        slope = (squares(centers + step.reshape(3, 2)) - squares(centers - step.reshape(3, 2))) / 2e-5
        assert -0.5 * slope == pytest.approx(g[a], rel=1e-4, abs=1e-2)
    assert np.linalg.eigvalsh(H).min() > 0.0  # of its lower triangle
