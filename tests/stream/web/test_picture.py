"""The guidance page's pictures: their layout, covered cells, corners, frames."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibration.board.views import BoardView
from stream.web.picture import (
    AMBER,
    BACKGROUND,
    FRAME,
    GREEN,
    CameraPicture,
    brighten_picture,
    draw_camera,
    draw_canvas,
    lay_out_pictures,
)

GREY = np.full((48, 64, 3), 120, np.uint8)


@given(st.integers(200, 2000), st.integers(200, 2000), st.integers(1, 2))
def test_pictures_lie_on_the_canvas_apart_in_their_own_shape(width: int, height: int, n: int) -> None:
    found = lay_out_pictures([CameraPicture("left"), CameraPicture("right")][:n], (width, height), 40)
    for x, y, w, h in found:
        assert x >= 0 and y >= 40 and x + w <= width and y + h <= height
        assert w / h == pytest.approx(640 / 480, rel=0.06)
    if n == 2:
        (x0, y0, w0, h0), (x1, y1, _, _) = found
        assert x1 >= x0 + w0 or y1 >= y0 + h0


def test_wide_canvases_have_them_side_by_side_and_tall_ones_stacked() -> None:
    cameras = [CameraPicture("left"), CameraPicture("right")]
    (_, left, *_), (_, right, *_) = lay_out_pictures(cameras, (1600, 600), 0)
    assert left == right
    (above, _, *_), (below, _, *_) = lay_out_pictures(cameras, (600, 1200), 0)
    assert above == below


def test_covered_cells_are_green_and_others_are_not() -> None:
    cover = np.zeros((6, 8))
    cover[4, 1] = 1.0
    picture = draw_camera(CameraPicture("", GREY, cover=cover), (640, 480))
    covered, bare = picture[4 * 80 + 40, 1 * 80 + 40].astype(int), picture[4 * 80 + 40, 5 * 80 + 40].astype(int)
    assert covered[1] > covered[0] + 10 and covered[1] > covered[2] + 5
    assert bare[0] == bare[1] == bare[2] < 120


def test_corners_are_drawn_where_they_are_in_a_picture_of_another_scale() -> None:
    seen = np.array([True, True, True, False])
    view = BoardView(np.array([[100.0, 100.0], [300.0, 120.0], [200.0, 400.0], [600.0, 50.0]]), seen)
    picture = draw_camera(CameraPicture("", GREY, (1280, 960), view), (640, 480))
    assert picture[60, 150].tolist() != [120, 120, 120]  # the second, at half the scale
    assert picture[25, 300].tolist() == [120, 120, 120]  # the fourth is not seen
    assert np.abs(picture[50, 50 - 6].astype(int) - AMBER).max() < 90  # the ring around the first
    spots = draw_camera(CameraPicture("", GREY, points_px=np.array([[320.0, 240.0], [np.nan, 1.0]])), (640, 480))
    assert np.abs(spots[240, 320 + 8].astype(int) - GREEN).max() < 90


def test_no_picture_yet_frames_and_paper() -> None:
    canvas = draw_canvas([CameraPicture("left", color=GREEN), CameraPicture("right")], (900, 400), 30)
    assert canvas.shape == (400, 900, 3)
    assert canvas[2, 2].tolist() == list(BACKGROUND)
    (x, y, _, h), (x1, *_) = lay_out_pictures([CameraPicture("left"), CameraPicture("right")], (900, 400), 30)
    assert canvas[y + h // 2, x - 2].tolist() == list(GREEN)
    assert canvas[y + h // 2, x1 - 2].tolist() == list(FRAME)


def test_dark_pictures_are_brightened_and_bright_ones_left_alone() -> None:
    dark, bright = np.full((50, 60, 3), 20, np.uint8), np.full((50, 60, 3), 210, np.uint8)
    assert brighten_picture(dark).max() == 160 and brighten_picture(bright) is bright
    spot = dark.copy()
    spot[10:20, 10:20] = 250
    assert brighten_picture(spot).max() == 250
