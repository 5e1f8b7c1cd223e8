"""Composing an image: the body laid over the room, and the sensor's noise, against slow oracles and hand-worked values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.ndimage import map_coordinates

from calibration.placement import make_facing_rig
from capture.sources.simulated.image import CameraView, Renderer, Sensor, add_image_noise, compose_layer
from config.arrays import Floats


def laid_over_oracle(image: Floats, layer: Floats) -> Floats:
    """Lay a half-resolution layer over an image; a sample (row, column) of it sits at pixel (2 row + 1/2, 2 column + 1/2)."""
    y, x = np.mgrid[0 : image.shape[0], 0 : image.shape[1]]
    place = np.array([(y - 0.5) / 2, (x - 0.5) / 2])
    value = np.stack([map_coordinates(layer[..., k], place, order=1) for k in range(4)], axis=-1)
    return np.asarray(np.minimum(image * (1.0 - value[..., 3:]) + value[..., :3], 255.0))


@given(st.integers(0, 2**32 - 1))
def test_a_layer_is_laid_over_by_bilinear_interpolation(seed: int) -> None:
    rng = np.random.default_rng(seed)
    image = rng.integers(0, 256, (16, 22, 3)).astype(np.uint8)
    layer = np.zeros((8, 11, 4), np.float32)
    rows, columns = slice(2, 6), slice(3, 9)  # away from the rim, whose outermost pixels have no four samples about them
    cover = rng.uniform(0.0, 1.0, (4, 6))
    layer[rows, columns, 3] = cover
    layer[rows, columns, :3] = rng.uniform(0.0, 255.0, (4, 6, 3)) * cover[..., None]
    expected = laid_over_oracle(image.astype(float), layer.astype(float))
    compose_layer(image, layer, np.array([3, 9, 2, 6]))
    assert np.abs(image - expected).max() <= 0.5 + 1e-3


@pytest.mark.parametrize(
    ("value", "normal", "expected"),
    [
        (100, 1.0, 105),  # sigma = sqrt(3^2 + 0.16 * 100) = 5
        (100, -2.0, 90),
        (100, 0.5, 103),  # 102.5, rounded up
        (0, -1.0, 0),  # never below black
        (0, 2.0, 6),  # in black only the noise of the electronics
        (254, 4.0, 255),  # never beyond white
    ],
)
def test_noise_grows_with_the_light(value: int, normal: float, expected: int) -> None:
    image = np.array([value], np.uint8)
    add_image_noise(image, np.array([round(256 * normal)], np.int16), 3.0, 0.16)
    assert image[0] == expected


def test_an_empty_room_without_noise_is_the_background() -> None:
    scene = make_facing_rig((48, 32), 60.0, 4.0, 1.0, 1.2)
    left = scene.cameras[0]
    nobody = (np.zeros((0, 3)), np.zeros((0, 3)))
    for dark, brightness in ((True, (0.0, 20.0)), (False, (40.0, 220.0))):
        renderer = Renderer(left, left, Sensor(noise=0.0, shot=0.0, dark=dark), nobody, (1, 2))
        view = CameraView(np.zeros((3, 0, 3)), np.zeros(0), np.zeros((0, 3)), np.zeros((0, 2)), None)
        image = renderer.image(view, 0.01, 0)
        assert np.array_equal(image, renderer.background)
        assert brightness[0] <= image.mean() <= brightness[1]
