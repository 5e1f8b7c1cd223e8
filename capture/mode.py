"""What markers are told by: bright spots in the dark or in the light, or colours; chosen by setting or by the images."""

from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from capture.background import DARK_LEVEL, DARK_SHARE, Image, is_dark
from config.errors import SettingsError
from config.jit import kernel

STEP_PX = 16  # the light of an image is that of every so many-th pixel
LIT_SHARE = 0.6  # with a smaller share near black the room is lit; between this and DARK_SHARE it stays what it was
CERTAIN_FRAMES = 10  # in a row, before another mode is believed


class Mode(StrEnum):
    """What the markers are told by."""

    DARK = "dark"  # bright spots in a dark room
    BRIGHT = "bright"  # bright spots on the performer, in the light
    COLOR = "color"  # marker colours on the performer, in the light


def choose_mode(setting: str, image: Image, has_colors: bool) -> Mode:
    """Give the mode a setting asks for, by the image where it is `auto`.

    Raises SettingsError: not auto, dark or background.
    """
    if setting not in ("auto", "dark", "background"):
        raise SettingsError(f"detector.mode is {setting!r}; expected auto, dark or background")
    if setting == "dark" or (setting == "auto" and is_dark(image)):
        return Mode.DARK
    return Mode.COLOR if has_colors else Mode.BRIGHT


def light_of(image: Image) -> tuple[float, float]:
    """Give the mean brightness of an image, 0-255, and the share of its pixels that are near black."""
    mean, dark = _light(image, STEP_PX, DARK_LEVEL)
    return float(mean), float(dark)


class RoomWatch:
    """Tells when a room that was dark is lit for good, or the other way round."""

    def __init__(self, dark: bool) -> None:
        self.dark = dark
        self._otherwise = 0

    def changed(self, dark_share: float) -> bool:
        """Take the share of pixels near black in the next frame, and tell whether the room is another since."""
        otherwise = dark_share < LIT_SHARE if self.dark else dark_share >= DARK_SHARE
        self._otherwise = self._otherwise + 1 if otherwise else 0
        if self._otherwise < CERTAIN_FRAMES:
            return False
        self.dark, self._otherwise = not self.dark, 0
        return True


@kernel
def _light(image: NDArray[np.uint8], step: int, near_black: int) -> tuple[float, float]:
    """Give the mean of every step-th pixel's channels and the share of those pixels whose channels are all below near_black."""
    total, dark, count = 0, 0, 0
    for y in range(0, image.shape[0], step):
        for x in range(0, image.shape[1], step):
            b, g, r = np.int64(image[y, x, 0]), np.int64(image[y, x, 1]), np.int64(image[y, x, 2])
            total += int(b + g + r)
            dark += int(max(b, g, r) < near_black)
            count += 1
    return total / (3.0 * count), dark / count
