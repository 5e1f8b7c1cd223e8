"""The cameras' colours: eight that are told apart, also by colour-blind eyes, on dark and on light ground."""

from itertools import combinations

import numpy as np

from config.settings import CAMERA_NAMES
from stream.viewer.scene.colors import BODIES, CAMERA_COLORS, DARK, GREY, LIGHT, ORANGE, Color

# What protanopes, deuteranopes and tritanopes see of linear red, green and blue: Machado, Oliveira and Fernandes, 2009, table 1.
EYES = {
    "all": np.eye(3),
    "no red": np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]),
    "no green": np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]),
    "no blue": np.array([[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]),
}
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])  # of sRGB, D65
CLEARLY = 15.0  # of CIELAB; 2.3 is a just noticeable difference


def seen(color: Color, eyes: np.ndarray) -> np.ndarray:
    """Return a colour in CIELAB, as some eyes see it."""
    share = np.array(color) / 255.0
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    ratio = XYZ @ np.clip(eyes @ linear, 0.0, 1.0) / XYZ.sum(axis=1)
    f = np.where(ratio > 0.008856, np.cbrt(ratio), 7.787 * ratio + 16.0 / 116.0)
    return np.array([116.0 * f[1] - 16.0, 500.0 * (f[0] - f[1]), 200.0 * (f[1] - f[2])])


def test_eight_cameras_are_told_apart_by_all_eyes_on_any_ground() -> None:
    assert len(CAMERA_COLORS) == len(CAMERA_NAMES)
    for eyes in EYES.values():
        for one, other in combinations((*CAMERA_COLORS, DARK.plane), 2):
            assert np.linalg.norm(seen(one, eyes) - seen(other, eyes)) > CLEARLY
        for color in CAMERA_COLORS:
            assert np.linalg.norm(seen(color, eyes) - seen(LIGHT.plane, eyes)) > CLEARLY


def test_two_bodies_are_told_apart_from_each_other_and_from_one_that_coasts_or_is_lost() -> None:
    for eyes in EYES.values():
        for one, other in combinations((*BODIES, ORANGE, GREY), 2):
            assert np.linalg.norm(seen(one, eyes) - seen(other, eyes)) > CLEARLY
