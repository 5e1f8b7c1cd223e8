"""Find a person in a picture: the detector network of BlazePose, looked at the whole picture and at parts of it in turn."""

import cv2
import numpy as np

from capture.landmarks.network import Floats32, Network, sigmoid
from capture.landmarks.region import Region, cut_out_image, make_region
from config.arrays import Floats, Image

STRIDES = (8, 16, 32, 32, 32)  # of the layers whose cells have two anchors each
SCORES, BOXES = 1, 0  # outputs
HIPS, EDGE = 0, 1  # keypoints: the middle of the hips, and the top of the circle around the body
N_BOX = 4  # values of a box, before those of its keypoints
MIN_SCORE = 0.5
PART = 2.0 / 3.0  # of the picture's shorter side: the parts looked at, in which a person of a quarter of its height is found
AROUND = 1.5  # of the last region: what is looked at around it


def compute_anchors(n: int) -> Floats:
    """Return the centres of the anchors of an image of n x n pixels, (A, 2), 0 to 1, layer by layer and row by row."""
    layers = []
    for stride in STRIDES:
        cells = -(-n // stride)
        x, y = np.meshgrid((np.arange(cells) + 0.5) / cells, (np.arange(cells) + 0.5) / cells)
        layers.append((cells, np.repeat(np.stack([x, y], axis=-1).reshape(-1, 2), 2, axis=0)))
    # Layers of equal size share their cells: all anchors of a cell stand together.
    found: list[Floats] = []
    for size in dict.fromkeys(cells for cells, _ in layers):
        same = [each.reshape(-1, 2, 2) for cells, each in layers if cells == size]
        found.append(np.concatenate(same, axis=1).reshape(-1, 2))
    return np.concatenate(found)


def decode_person(outputs: list[Floats32], anchors: Floats, n: int) -> tuple[float, Floats]:
    """Return the score of the likeliest person, 0 to 1, and the keypoints, (2, 2), 0 to 1 in the image looked at.

    Args:
        outputs: of the network: boxes (A, 12) relative to the anchors [px], and scores (A, 1), logits.
        anchors: centres, (A, 2).
        n: pixels of a side of the image.
    """
    logits = outputs[SCORES][:, 0]
    best = int(np.argmax(logits))
    score = float(sigmoid(float(logits[best])))
    points = outputs[BOXES][best, N_BOX : N_BOX + 4].astype(np.float64).reshape(2, 2) / n + anchors[best]
    return score, points


def list_search_regions(width: int, height: int) -> list[Region]:
    """Return what to look at in turn to find a person in a picture of this size [px].

    The whole picture, then squares of two thirds of its height that overlap by half, the whole again after every three of them.
    """
    whole = Region(np.array([0.5 * width, 0.5 * height]), float(max(width, height)))
    size = PART * min(width, height)
    x, y = (np.linspace(0.5 * size, side - 0.5 * size, -(-side // round(0.5 * size)) - 1) for side in (width, height))
    parts = [Region(np.array([across, down]), size) for down in y for across in x]
    return [each for k in range(0, len(parts), 3) for each in (whole, *parts[k : k + 3])]


class PersonFinder:
    """Looks for a person, at one part of the picture a call."""

    def __init__(self, network: Network) -> None:
        self._network, self._anchors = network, compute_anchors(network.n)
        self._turn = 0

    def look(self, image: Image, near: Region | None = None) -> Region | None:
        """Look at the next part of a picture; return the region of the likeliest person in it, None where there is none.

        near: where the person was before, to look around there.
        """
        height, width = image.shape[:2]
        if near is None:
            regions = list_search_regions(width, height)
            region = regions[self._turn % len(regions)]
            self._turn += 1
        else:
            region = Region(near.center_px, AROUND * near.size_px)
        cut = cut_out_image(image, region, self._network.n, cv2.BORDER_CONSTANT)
        score, points = decode_person(self._network.run(cut, low=-1.0), self._anchors, self._network.n)
        hips_px, edge_px = region.to_picture(points)
        found = make_region(hips_px, edge_px)
        return found if score >= MIN_SCORE and found.shows(width, height) else None
