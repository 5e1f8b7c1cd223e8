"""Background statistics, learned and estimated."""

import numpy as np
import pytest

from capture.background.statistics import (
    MIN_SIGMA,
    estimate_background,
    is_dark,
    learn_background,
    read_images_between,
    sample_images,
    write_quantiles,
)
from config.errors import SourceError
from tests.capture.scenes import paint_disc, shot
from tests.support.fakes import CountingSource


def test_mean_and_deviation_by_hand() -> None:
    images = [np.full((2, 3, 3), 10, np.uint8), np.full((2, 3, 3), 20, np.uint8), np.full((2, 3, 3), 60, np.uint8)]
    images[1][1, 2, 0] = 10
    images[2][1, 2, 0] = 10
    background = learn_background(images)
    assert background.size == (3, 2)
    assert background.mean[0, 0, 0] == 30.0
    assert background.std[0, 0, 0] == pytest.approx(np.sqrt((400 + 100 + 900) / 2))
    assert (background.mean[1, 2, 0], background.std[1, 2, 0]) == (10.0, MIN_SIGMA)


def test_too_few_images() -> None:
    with pytest.raises(SourceError, match="1 frame without the performer"):
        learn_background([np.zeros((2, 2, 3), np.uint8)])
    with pytest.raises(SourceError, match="4 frames are too few"):
        estimate_background([np.zeros((2, 2, 3), np.uint8)] * 4)


def test_quantiles_against_sorting() -> None:
    samples = np.random.default_rng(1).integers(0, 256, (11, 30)).astype(np.uint8)
    samples[:, 3] = 200
    ranks, out = np.array([1, 5, 9]), np.empty((3, 30), np.float32)
    write_quantiles(samples, ranks, out)
    np.testing.assert_array_equal(out, np.sort(samples, axis=0)[ranks])


def test_performer_in_the_light_leaves_no_trace() -> None:
    random = np.random.default_rng(2)
    scene = np.full((24, 32, 3), (90.0, 120.0, 140.0))
    images = []
    for i in range(40):
        image = scene.copy()
        image[4:20, (i % 4) * 8 : (i % 4) * 8 + 8] = 30.0  # a dark performer, a quarter of the time at each place
        images.append(shot(image, 2.0, random))
    background = estimate_background(images)
    np.testing.assert_allclose(background.mean, scene, atol=2.5)
    assert 1.0 < np.median(background.std) < 3.0
    assert not is_dark(images[0])


def test_in_the_dark_a_foot_that_stands_still_stays_in_view_and_a_lamp_does_not() -> None:
    random = np.random.default_rng(3)
    images = []
    for i in range(50):
        image = np.full((40, 60, 3), 4.0)
        paint_disc(image, (45.0, 10.0), 4.0, (180.0, 180.0, 180.0))
        paint_disc(image, (12.0, 30.0) if i >= 17 else (12.0, 10.0), 4.0, (180.0, 180.0, 180.0))
        images.append(shot(image, 1.5, random))
    assert is_dark(images[0])
    background = estimate_background(images)
    assert background.mean[10, 45].min() > 170.0
    assert (background.mean + 6.0 * background.std)[30, 12].max() < 40.0, "there two thirds of the time"


def test_samples_spread_over_the_recording() -> None:
    assert [int(image[0, 0, 0]) for image in sample_images(CountingSource(0, 30.0, 7), 10)] == [0, 1, 2, 3, 4, 5, 6]
    values = [int(image[0, 0, 0]) for image in sample_images(CountingSource(0, 30.0, 250), 10)]
    assert 10 <= len(values) < 20
    assert values == list(range(0, 250, values[1]))


def test_images_between_two_times() -> None:
    images = read_images_between(CountingSource(0, 30.0, 90), 1.0, 1.1)
    assert [int(image[0, 0, 0]) for image in images] == [30, 31, 32]  # not the one of the end
    with pytest.raises(SourceError, match="0 frames from 5 to 6 s"):
        read_images_between(CountingSource(0, 30.0, 90), 5.0, 6.0)
