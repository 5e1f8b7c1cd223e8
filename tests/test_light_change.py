"""Gains of a room's light, with the performer in the way."""

import numpy as np

from capture.light_change import gain_field, scaled


def test_gain_falls_off_across_the_room_and_the_performer_takes_the_neighbours() -> None:
    random = np.random.default_rng(1)
    mean = random.uniform(60.0, 150.0, (160, 240, 3))
    true = np.exp(-np.linspace(0.0, 0.5, 240))[None, :, None] * np.array([0.9, 1.0, 1.3])
    now = mean * true
    now[40:120, 80:128] = 200.0  # the performer
    free = np.ones((10, 15), bool)
    free[2:8, 4:9] = False
    field = gain_field(np.round(now).astype(np.uint8).reshape(160, -1), mean.astype(np.float32).reshape(160, -1), free)
    assert field is not None
    centers = np.exp(-np.linspace(0.0, 0.5, 240))[8::16][None, :, None] * np.array([0.9, 1.0, 1.3])
    assert np.abs(np.log(field / centers)).max() < 0.12
    planes = np.stack([mean, mean]).astype(np.float32).reshape(2, 160, -1)
    scaled(planes, field, (240, 160))
    inside = (planes[0].reshape(160, 240, 3) / (mean * true))[60:100, 90:120]
    assert np.abs(inside - 1.0).max() < 0.1


def test_too_dark_to_tell() -> None:
    dark = np.full((64, 192), 3, np.uint8)
    assert gain_field(dark, dark.astype(np.float32), np.ones((4, 4), bool)) is None
