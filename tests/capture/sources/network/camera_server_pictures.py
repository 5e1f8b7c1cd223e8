"""Pictures for the camera servers: of the real recording, and numbered ones a test can read back."""

from functools import cache

import numpy as np

from tests.support.cameras.mjpeg import encoded

BITS, CELL_PX = 12, 16


def numbered_image(number: int, size: tuple[int, int] = (256, 64)) -> np.ndarray:
    """Draw a number in binary, in cells that survive any compression, on grey: BGR (height, width, 3)."""
    image = np.full((size[1], size[0], 3), 60, np.uint8)
    for bit in range(BITS):
        image[:CELL_PX, bit * CELL_PX : (bit + 1) * CELL_PX] = 255 if number >> bit & 1 else 0
    return image


def number_of(image: np.ndarray) -> int:
    """Read the number that `numbered_image` drew."""
    cells = [image[4 : CELL_PX - 4, bit * CELL_PX + 4 : (bit + 1) * CELL_PX - 4].mean() for bit in range(BITS)]
    return sum(1 << bit for bit, light in enumerate(cells) if light > 128)


@cache
def numbered_jpegs(count: int, size: tuple[int, int] = (256, 64)) -> tuple[bytes, ...]:
    """Return the numbers 0 to count - 1 as JPEGs."""
    return tuple(encoded(numbered_image(number, size)) for number in range(count))
