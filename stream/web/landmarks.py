"""The landmarks of a body drawn over a picture: those that the pose goes by, those that are not believed, and exchanged limbs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import cv2
import numpy as np

from capture.packets import Landmarks
from config.arrays import Bools, Image, make_read_only
from config.landmarks import LANDMARK_BONES, LANDMARK_INDEX, LANDMARKS, N_LANDMARKS, SOURCES, Exchange
from stream.protocol.landmarks import PREFIX
from stream.protocol.messages import PoseMessage
from stream.web.picture import is_drawable, round_to_pixel

DIM = 0.45  # of a colour over the picture where a landmark is not believed
DOT_PX, RING_PX, FONT = 3, 6, 0.5
MARGIN_PX = 8


class LandmarkColors(NamedTuple):
    """Colours of the sides of the body and of what is exchanged, in the order of the picture's channels."""

    left: Sequence[int]
    right: Sequence[int]
    middle: Sequence[int]
    exchanged: Sequence[int]


@dataclass(frozen=True, slots=True)
class BelievedLandmarks:
    """What is believed of the landmarks of one picture.

    Attributes:
        sought: those that the body is followed by, (33,).
        used: those that the pose goes by, (33,).
        exchange: what the picture has left and right exchanged; None: nobody knows, as the body is not followed.
    """

    sought: Bools
    used: Bools
    exchange: Exchange | None


def believe_landmarks(names: Sequence[str], used: Iterable[bool], exchange: Exchange | None) -> BelievedLandmarks:
    """Return what is believed of a picture's landmarks.

    Args:
        names: of the markers, those of landmarks beginning with `landmark_`.
        used: whether the pose goes by each one in this picture.
        exchange: what the picture has exchanged.
    """
    source = SOURCES[exchange or Exchange.NOTHING]
    both = np.zeros((2, N_LANDMARKS), bool)
    for name, is_used in zip(names, used, strict=True):
        index = LANDMARK_INDEX.get(name.removeprefix(PREFIX)) if name.startswith(PREFIX) else None
        if index is not None:
            both[:, source[index]] = True, is_used
    return BelievedLandmarks(make_read_only(both[0]), make_read_only(both[1]), exchange)


def believe_pose_landmarks(pose: PoseMessage, camera: int) -> BelievedLandmarks:
    """Return what a pose believes of the landmarks in a camera's picture."""
    told = pose.landmarks[camera] if camera < len(pose.landmarks) else None
    exchange = Exchange.__members__.get((told or "").upper())
    return believe_landmarks([m.name for m in pose.markers], [camera in m.cameras for m in pose.markers], exchange)


def draw_landmarks(
    canvas: Image, found: Landmarks, believed: BelievedLandmarks, colors: LandmarkColors, scale: float = 1.0
) -> None:
    """Draw the landmarks of a picture over it, by the sides that they are believed to be of.

    Those that are not believed are dim, and an exchanged limb is in a colour of its own, with rings; what is exchanged, and how
    many are believed, is written above.

    Args:
        canvas: the picture, changed.
        found: landmarks in the camera's full picture.
        believed: which of them the pose goes by.
        colors: of the canvas.
        scale: of the canvas to the full picture.
    """
    source = SOURCES[believed.exchange or Exchange.NOTHING]
    exchanged = source != np.arange(N_LANDMARKS)
    points = found.image_px * scale
    shown = believed.sought & np.array([is_drawable(point) for point in points])
    under = canvas.copy()  # what is dim is drawn there, and shows through the picture
    for is_used in (False, True):
        target = canvas if is_used else under
        for first, second in LANDMARK_BONES:
            if shown[first] and shown[second] and is_used == bool(believed.used[first] and believed.used[second]):
                color, width = _choose_color(second, source, colors), 3 if exchanged[[first, second]].any() else 2
                cv2.line(target, round_to_pixel(points[first]), round_to_pixel(points[second]), color, width, cv2.LINE_AA)
        for k in np.flatnonzero(shown & (believed.used == is_used)).tolist():
            cv2.circle(target, round_to_pixel(points[k]), DOT_PX, _choose_color(k, source, colors), -1, cv2.LINE_AA)
            if exchanged[k]:
                cv2.circle(target, round_to_pixel(points[k]), RING_PX, colors.exchanged, 1, cv2.LINE_AA)
        if not is_used:
            cv2.addWeighted(under, DIM, canvas, 1.0 - DIM, 0.0, dst=canvas)
    _write_caption(canvas, describe_landmarks(believed), colors.exchanged if exchanged.any() else (255, 255, 255))


def describe_landmarks(believed: BelievedLandmarks) -> str:
    """Return in words how far a picture's landmarks are believed."""
    words = f"{np.count_nonzero(believed.used)} of {np.count_nonzero(believed.sought)} landmarks believed"
    if believed.exchange in (None, Exchange.NOTHING):
        return words
    what = {Exchange.LIMBS: "arms and legs", Exchange.UPPER: "the upper body"}
    return f"{words}, left and right exchanged: {what.get(believed.exchange, believed.exchange.name.lower())}"


def _choose_color(k: int, source: Sequence[int], colors: LandmarkColors) -> Sequence[int]:
    """Return the colour of a landmark of the picture."""
    if source[k] != k:
        return colors.exchanged
    name = LANDMARKS[k]
    return colors.left if name.startswith("left") else colors.right if name.startswith("right") else colors.middle


def _write_caption(canvas: Image, text: str, color: Sequence[int]) -> None:
    """Write a line at the lower edge of a picture, on black."""
    x, y = MARGIN_PX, canvas.shape[0] - MARGIN_PX
    (width, height), below = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, FONT, 1)
    cv2.rectangle(canvas, (x - 2, y - height - 2), (x + width + 2, y + below), (0, 0, 0), -1)
    cv2.putText(canvas, text, (x, y), cv2.FONT_HERSHEY_SIMPLEX, FONT, color, 1, cv2.LINE_AA)
