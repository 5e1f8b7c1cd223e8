"""The landmarks of one camera's pictures: the tracked person's from frame to frame, else a search for one."""

import numpy as np

from capture.landmarks.network import Floats32, Network, sigmoid
from capture.landmarks.person import PersonFinder
from capture.landmarks.region import Region, cut_out_image, make_region
from capture.landmarks.weights import find_weights
from capture.packets import Frame, Landmarks
from config.arrays import Floats, Image
from config.landmarks import N_LANDMARKS

# Outputs of the network: places with two logits, presence, heatmaps.
PLACES, PRESENCE, HEATMAPS = OUTPUTS = (0, 1, 3)
N_FOUND = 39  # landmarks the network tells: two more than the body's tell the next region, the others are its own
HIPS, EDGE = 33, 34  # of those: the middle of the hips and the top of the circle around the body
WINDOW = 3  # cells of a heatmap around a landmark, to each side, that refine it
MIN_PEAK = 0.5  # of a heatmap that refines
MIN_PRESENCE = 0.5  # below it nobody is there


def refine_by_heatmaps(part: Floats, heatmaps: Floats) -> tuple[Floats, Floats]:
    """Return places moved to the centres of mass of their heatmaps, (L, 2), 0 to 1, and the heatmaps' peaks there, (L,).

    Args:
        part: places, (L, 2), 0 to 1.
        heatmaps: logits, (n, n, L).
    """
    n = heatmaps.shape[0]
    moved, peaks = part.copy(), np.zeros(len(part))
    for k, (x, y) in enumerate(np.floor(part * n).astype(np.int64)):
        columns, rows = (
            np.arange(max(x - WINDOW, 0), min(x + WINDOW + 1, n)),
            np.arange(max(y - WINDOW, 0), min(y + WINDOW + 1, n)),
        )
        if not len(columns) or not len(rows):
            continue
        heat = sigmoid(heatmaps[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1, k])
        peaks[k] = heat.max()
        if peaks[k] >= MIN_PEAK:
            moved[k] = np.array([heat.sum(axis=0) @ columns, heat.sum(axis=1) @ rows]) / (heat.sum() * n)
    return moved, peaks


def decode_landmarks(outputs: list[Floats32], region: Region, n: int) -> tuple[Landmarks, Region]:
    """Return the landmarks in the picture and the region of the body in the next one.

    Args:
        outputs: of the network: places and logits of N_FOUND landmarks (195,), presence (1,) and heatmaps (n', n', 39).
        region: what it looked at.
        n: pixels of a side of the image it looked at.
    """
    table = outputs[0].astype(np.float64).reshape(N_FOUND, 5)
    part, peaks = refine_by_heatmaps(table[:, :2] / n, outputs[2].astype(np.float64))
    image_px = region.to_picture(part)
    score = np.minimum(sigmoid(table[:N_LANDMARKS, 3]), peaks[:N_LANDMARKS])
    presence = float(np.clip(outputs[1].ravel()[0], 0.0, 1.0))
    found = Landmarks(np.ascontiguousarray(image_px[:N_LANDMARKS]), np.ascontiguousarray(score), presence)
    return found, make_region(image_px[HIPS], image_px[EDGE])


class LandmarkDetector:
    """Finds landmarks in the pictures of one camera, which must come in order."""

    def __init__(self, model: str) -> None:
        """Load the networks of a model: lite, full or heavy. Raises LandmarksUnavailableError."""
        weights = find_weights(model)
        self._network = Network(weights.landmarks, OUTPUTS)
        self._finder = PersonFinder(Network(weights.person, (0, 1)))
        self._region: Region | None = None

    def detect(self, image: Image, region: Region) -> tuple[Landmarks, Region | None]:
        """Return the landmarks in a region of a picture, and the body's region in the next one; None where nobody is there."""
        n = self._network.n
        found, following = decode_landmarks(self._network.run(cut_out_image(image, region, n)), region, n)
        is_there = found.presence >= MIN_PRESENCE and following.shows(image.shape[1], image.shape[0])
        return found, following if is_there else None

    def step(self, frame: Frame) -> Landmarks | None:
        """Return the landmarks of the tracked person, or of one that is found; None where there is nobody."""
        before = self._region
        if before is not None:
            found, self._region = self.detect(frame.image, before)
            if self._region is not None:
                return found
        person = self._finder.look(frame.image, before)
        # The detector's region is rough: the landmarks of a first look tell a better one.
        better = None if person is None else self.detect(frame.image, person)[1]
        if better is None:
            return None
        found, self._region = self.detect(frame.image, better)
        return None if self._region is None else found
