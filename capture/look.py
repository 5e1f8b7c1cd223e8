"""What a detector sees in a picture, for the eyes of the user: foreground in its colours, all else dimmed.

Computed where previews are encoded, never in the camera's thread, which only hands over what it goes by at the moment.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]
DIM = 0.5  # of the brightness of what is background
TINT_BGR = (0, 150, 255)  # of what is foreground, laid over it
TINT_SHARE = 0.6
DARK_MEAN, DARK_GAMMA = 30.0, 0.5  # a dark room is lifted, or nothing of it would be seen
FLOODED_SHARE = 0.2  # of the picture: so much foreground is no performer


@dataclass(frozen=True, slots=True)
class Look:
    """What the detector saw of one picture.

    mode: dark, bright or color, empty before the first frame; level: brightness that markers exceed, None where colours tell or
    none was found yet; runs: foreground as (row, first column, last), (R, 3); flooded: so much was foreground that nothing was
    looked for.
    """

    mode: str = ""
    level: int | None = None
    runs: NDArray[np.int32] = field(default_factory=lambda: np.zeros((0, 3), np.int32))
    flooded: bool = False

    def foreground(self, size: tuple[int, int]) -> NDArray[np.bool_]:
        """Mark the foreground in a picture of a size: width, height; (H, W)."""
        width, height = size
        if self.flooded:
            return np.ones((height, width), np.bool_)
        runs = self.runs[(self.runs[:, 0] < height) & (self.runs[:, 2] < width)]
        steps = np.zeros(height * (width + 1) + 1, np.int32)
        np.add.at(steps, runs[:, 0] * (width + 1) + runs[:, 1], 1)
        np.add.at(steps, runs[:, 0] * (width + 1) + runs[:, 2] + 1, -1)
        return np.asarray(np.cumsum(steps[:-1]).reshape(height, width + 1)[:, :width] > 0)


Looks = Callable[[], Look]


def looks_of(detector: Any) -> Looks | None:
    """Give how a detector tells what it saw of its last frame, None for one that does not.

    The answer is the asker's own: the detector's next frame does not change it.
    """
    view = getattr(detector, "view", None)
    if not callable(view):
        return None

    def look() -> Look:
        seen = view()
        level = None if seen.threshold is None else min(max(round(seen.threshold), 0), 255)
        return Look(str(seen.mode or ""), level, seen.runs.copy(), seen.flooded)

    return look


def with_foreground(image: Image, mask: NDArray[np.bool_]) -> Image:
    """Give a picture in which foreground stands out: tinted, the rest grey and dim. A flood of it is left untinted."""
    gray = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
    gamma = DARK_GAMMA if float(gray[::8, ::8].mean()) < DARK_MEAN else 1.0
    curve = (255.0 * DIM * (np.arange(256) / 255.0) ** gamma).astype(np.uint8)
    shown = cv2.cvtColor(cv2.LUT(gray, curve), cv2.COLOR_GRAY2BGR)
    kept = image
    if mask.mean() < FLOODED_SHARE:
        kept = cv2.addWeighted(image, 1.0 - TINT_SHARE, np.full_like(image, TINT_BGR), TINT_SHARE, 0.0)
    cv2.copyTo(kept, mask.view(np.uint8), shown)
    return np.asarray(shown, np.uint8)
