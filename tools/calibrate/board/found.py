"""What is found of a board in pictures: views, how many pictures were looked at, and some that show none."""

from dataclasses import dataclass, field

import cv2
import numpy as np

from calibration.board.views import BoardMoment
from config.arrays import Image

Size = tuple[int, int]
N_MISSES = 12  # pictures without a board that are kept, to say what they show instead
SMALL_WIDTH = 160


@dataclass(slots=True)
class BoardlessPictures:
    """Some pictures that show no board, spread over all that were looked at."""

    images: list[Image] = field(default_factory=list)
    step: int = 1
    count: int = 0

    def add(self, image: Image) -> None:
        """Keep every `step`-th; when there are too many, every other of them."""
        if self.count % self.step == 0:
            self.images.append(image)
            if len(self.images) > N_MISSES:
                self.images, self.step = self.images[::2], 2 * self.step
        self.count += 1


@dataclass(frozen=True, slots=True)
class BoardSearch:
    """Result of a search for the board.

    Attributes:
        moments: moments in which a camera sees the board.
        sizes: sizes of the cameras' images [px].
        searched: number of pictures searched of each camera.
        misses: some without a board, by camera.
        words: notes for the user.
        is_film: neighbouring pictures are a moment apart, and motion is known.
    """

    moments: tuple[BoardMoment, ...]
    sizes: tuple[Size, ...]
    searched: tuple[int, ...]
    misses: tuple[BoardlessPictures, ...]
    words: tuple[str, ...] = ()
    is_film: bool = False

    @property
    def n_cameras(self) -> int:
        """Number of cameras."""
        return len(self.sizes)

    @property
    def found(self) -> tuple[int, ...]:
        """Count the pictures that show the board, by camera."""
        return tuple(sum(moment.views[c] is not None for moment in self.moments) for c in range(self.n_cameras))

    @property
    def n_shared(self) -> int:
        """Count the moments in which two cameras or more see the board."""
        return sum(len(moment.seen_by) > 1 for moment in self.moments)


def find_image_size(image: Image) -> Size:
    """Return width and height [px]."""
    return image.shape[1], image.shape[0]


def shrink_to_grey(image: Image) -> Image:
    """Return a small grey picture, to detect motion."""
    height = max(image.shape[0] * SMALL_WIDTH // image.shape[1], 1)
    reduced = cv2.resize(image, (SMALL_WIDTH, height), interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.cvtColor(reduced, cv2.COLOR_BGR2GRAY), np.uint8)
