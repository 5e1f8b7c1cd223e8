"""What a detector sees in a picture, for the eyes of the user: foreground in its colours, all else dimmed.

Computed where previews are encoded, never in the camera's thread, which only hands over what it goes by at the moment.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from capture.control import TUNING, Details
from capture.foreground import Bounds

Image = NDArray[np.uint8]
DIM = 0.5  # of the brightness of what is background
TINT_BGR = (0, 150, 255)  # of what is foreground, laid over it
TINT_SHARE = 0.6
DARK_MEAN, DARK_GAMMA = 30.0, 0.5  # a dark room is lifted, or nothing of it would be seen
FLOODED_SHARE = 0.2  # of the picture: so much foreground is no performer


@dataclass(frozen=True, slots=True)
class Look:
    """What the detector goes by at the moment.

    mode: dark, bright or color, empty before the first frame; level: brightness markers exceed, None where colours tell or none
    was found yet; bounds: of the background, None where none is known; they may change while they are looked at, which costs a
    wrong pixel at worst.
    """

    mode: str = ""
    level: int | None = None
    bounds: Bounds | None = None

    def foreground(self, image: Image) -> NDArray[np.bool_]:
        """Mark the pixels that can be of a marker, (H, W); all of them where nothing tells."""
        height, width = image.shape[:2]
        rows = image.reshape(height, 3 * width)
        bounds = self.bounds if self.bounds is not None and self.bounds.hi.shape == rows.shape else None
        if self.level is None and bounds is None:
            return np.ones((height, width), np.bool_)
        if self.level is None:
            assert bounds is not None
            marks = cv2.compare(rows, bounds.hi, cv2.CMP_GT) | cv2.compare(rows, bounds.lo, cv2.CMP_LT)
        else:
            marks = np.asarray(cv2.compare(rows, float(self.level), cv2.CMP_GT))
            if bounds is not None:
                marks &= cv2.compare(rows, bounds.hi, cv2.CMP_GT)
        by_channel = np.asarray(marks).reshape(height, width, 3)
        return np.asarray((by_channel[..., 0] | by_channel[..., 1] | by_channel[..., 2]) != 0)


Looks = Callable[[], Look]


def looks_of(detector: Any) -> Looks | None:
    """Give how a detector tells what it goes by, None for one that does not."""
    look = getattr(detector, "look", None)
    return look if callable(look) else None


def tuning_details(detector: Any) -> Details:
    """Give a detector's settings in force, for reports; nothing for one that does not tell them."""
    settings = getattr(detector, "settings", None)
    names = getattr(settings, "__dataclass_fields__", {})
    return {f"{TUNING}.detector.{name}": getattr(settings, name) for name in names}


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
