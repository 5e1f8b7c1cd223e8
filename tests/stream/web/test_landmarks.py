"""Landmarks over a picture: in the colours of the sides that they are believed to be of, dim where they are not believed."""

import numpy as np

from capture.packets import Landmarks
from config.landmarks import LANDMARK_INDEX, LANDMARKS, Exchange
from stream.web.landmarks import LandmarkColors, believe_landmarks, describe_landmarks, draw_landmarks

COLORS = LandmarkColors((0, 0, 255), (255, 160, 0), (200, 0, 200), (255, 0, 0))
NAMES = ("waist", *(f"landmark_{name}" for name in LANDMARKS))


def found() -> Landmarks:
    angle = 2.0 * np.pi / 33.0 * (10 * np.arange(33) % 33)  # on a circle, so that no line passes through another's end
    image_px = np.round(np.column_stack([160.0 + 100.0 * np.cos(angle), 110.0 + 100.0 * np.sin(angle)]))
    return Landmarks(image_px, np.ones(33), 1.0)


def draw(exchange: Exchange | None, refused: str = "") -> np.ndarray:
    canvas = np.zeros((240, 320, 3), np.uint8)
    believed = believe_landmarks(NAMES, [name != refused for name in NAMES], exchange)
    draw_landmarks(canvas, found(), believed, COLORS)
    return canvas


def color_of(canvas: np.ndarray, name: str) -> tuple[int, ...]:
    x, y = found().image_px[LANDMARK_INDEX[name]].astype(int)
    return tuple(canvas[y, x].tolist())


def test_sides_have_their_colours_and_an_exchanged_limb_one_of_its_own() -> None:
    plain, legs = draw(Exchange.NOTHING), draw(Exchange.LEGS)
    assert color_of(plain, "left_knee") == COLORS.left and color_of(plain, "right_wrist") == COLORS.right
    assert color_of(legs, "left_knee") == color_of(legs, "right_heel") == COLORS.exchanged
    assert color_of(legs, "right_wrist") == COLORS.right


def test_what_is_refused_is_dim_also_where_its_limb_is_exchanged() -> None:
    assert 0 < sum(color_of(draw(None, "landmark_left_wrist"), "left_wrist")) < 0.6 * sum(COLORS.left)
    # The body's left knee is where the picture says right.
    legs = draw(Exchange.LEGS, "landmark_left_knee")
    assert color_of(legs, "left_knee") == COLORS.exchanged and sum(color_of(legs, "right_knee")) < 0.6 * 255


def test_what_is_believed_is_said() -> None:
    used = [name != "landmark_nose" for name in NAMES]
    assert describe_landmarks(believe_landmarks(NAMES, used, None)) == "32 of 33 landmarks believed"
    words = describe_landmarks(believe_landmarks(NAMES, used, Exchange.LIMBS))
    assert words == "32 of 33 landmarks believed, left and right exchanged: arms and legs"
