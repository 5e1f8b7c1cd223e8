"""Square regions of a picture, turned so that the body stands upright in them, and the images cut out of them."""

import math
from dataclasses import dataclass

import cv2
import numpy as np

from config.arrays import Floats, Image

ENLARGE = 1.25  # of the circle around the body, as the networks were trained
OFF_PICTURE = 1.5  # a region whose middle is more than this many half sizes beside the picture shows nobody


@dataclass(frozen=True, slots=True)
class Region:
    """A square of a picture: its middle, (2,) [px], the length of a side [px], and how far it is turned clockwise [rad]."""

    center_px: Floats
    size_px: float
    turn_rad: float = 0.0

    @property
    def axes(self) -> Floats:
        """Directions of the region's columns and rows in the picture, as columns, (2, 2)."""
        c, s = math.cos(self.turn_rad), math.sin(self.turn_rad)
        return np.array([[c, -s], [s, c]])

    def to_picture(self, part: Floats) -> Floats:
        """Return places in the picture, (N, 2) [px], of places in the region, (N, 2), 0 to 1 from its upper left corner."""
        return np.asarray(self.center_px + self.size_px * (part - 0.5) @ self.axes.T)

    def shows(self, width: int, height: int) -> bool:
        """Return whether the region lies at least partly in a picture of this size, and is neither tiny nor boundless."""
        reach = 0.5 * OFF_PICTURE * self.size_px
        x, y = self.center_px
        inside = -reach < x < width + reach and -reach < y < height + reach
        return bool(inside and 8.0 < self.size_px < 4.0 * max(width, height))


def make_region(center_px: Floats, edge_px: Floats) -> Region:
    """Return the region of a body by the middle of its hips and a point of the circle around it that is above its head.

    center_px, edge_px: (2,) each. The region is turned so that the second is straight above the first.
    """
    x, y = edge_px - center_px
    return Region(center_px, 2.0 * ENLARGE * math.hypot(x, y), math.atan2(x, -y))


def cut_out_image(image: Image, region: Region, n: int, border: int = cv2.BORDER_REPLICATE) -> Image:
    """Return a region of a picture as an image of n x n pixels, (n, n, 3).

    What is far finer than those pixels is averaged first: a warp alone would pick single pixels of a 4K picture.

    Args:
        image: the picture, (H, W, 3).
        region: what to cut out.
        n: pixels of a side.
        border: what is beyond the picture, as OpenCV names it.
    """
    corner = region.to_picture(np.array([[0.5, 0.5]]) / n)[0]  # centre of the upper left pixel, whole numbers being centres below
    to_picture = np.column_stack([region.axes * (region.size_px / n), corner - 0.5])
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    coarser = int(region.size_px / n)
    if coarser > 1:
        height, width = image.shape[:2]
        image = cv2.resize(image, (max(width // coarser, 1), max(height // coarser, 1)), interpolation=cv2.INTER_AREA)
        scale = np.array([image.shape[1] / width, image.shape[0] / height])
        to_picture[:, :2] *= scale[:, None]
        to_picture[:, 2] = (to_picture[:, 2] + 0.5) * scale - 0.5
    return np.asarray(cv2.warpAffine(image, to_picture, (n, n), flags=flags, borderMode=border), np.uint8)
