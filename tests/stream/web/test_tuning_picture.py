"""The tuned picture: marks where the markers are, also in a zoom; nothing breaks it."""

import numpy as np
import pytest

from capture.process.preview_image import Preview
from stream.web.picture import (
    CANVAS_PX,
    FAIR_COLOR,
    GOOD_COLOR,
    POOR_COLOR,
    PictureMarks,
    choose_line_color,
    draw_tuning_picture,
    measure_sharpness,
)

Region = tuple[int, int, int, int]


def preview(points: list[list[float]], sigma: float = 0.1, region: Region = (0, 0, 320, 240), area: float = 50.0) -> Preview:
    n = len(points)
    return Preview(
        0, 1, 2, (320, 240), np.array(points).reshape(-1, 2), b"", np.full(n, area), np.full(n, sigma), "foreground", region
    )


def colored(picture: np.ndarray, color: tuple[int, int, int]) -> np.ndarray:
    """Where the picture is about so, (N, 2) as x, y."""
    return np.argwhere(np.abs(picture.astype(int) - color).max(axis=2) < 40)[:, ::-1]


@pytest.mark.parametrize(("sigma", "color"), [(0.1, GOOD_COLOR), (0.4, FAIR_COLOR), (2.0, POOR_COLOR)])
def test_a_circle_is_around_the_marker_in_the_color_of_its_certainty(sigma: float, color: tuple[int, int, int]) -> None:
    picture = draw_tuning_picture(np.zeros((240, 320, 3), np.uint8), preview([[100.0, 50.0]], sigma), PictureMarks(numbers=False))
    assert picture.shape == (CANVAS_PX * 240 // 320, CANVAS_PX, 3)
    where = colored(picture, color)
    scale = CANVAS_PX / 320
    np.testing.assert_allclose(where.mean(axis=0), np.array([100.5, 50.5]) * scale, atol=1.0)
    radii = np.linalg.norm(where - np.array([100.5, 50.5]) * scale, axis=1)
    assert radii.min() > np.sqrt(50.0 / np.pi) * scale  # the marker itself is not painted over


def test_a_zoom_moves_the_marks_along() -> None:
    shown = preview([[100.0, 50.0], [5.0, 5.0]], region=(80, 40, 40, 30))
    picture = draw_tuning_picture(np.zeros((30, 40, 3), np.uint8), shown, PictureMarks(numbers=False))
    scale = CANVAS_PX / 40
    np.testing.assert_allclose(colored(picture, GOOD_COLOR).mean(axis=0), np.array([20.5, 10.5]) * scale, atol=1.5)


def test_numbers_are_beside_and_can_be_left_out() -> None:
    image, shown = np.zeros((240, 320, 3), np.uint8), preview([[100.0, 50.0]])
    with_numbers, without = (
        len(colored(draw_tuning_picture(image, shown, PictureMarks(on)), GOOD_COLOR)) for on in (True, False)
    )
    assert with_numbers > without + 10
    doubtful = preview([[100.0, 50.0]], 0.4)
    longer = len(colored(draw_tuning_picture(image, doubtful, PictureMarks(True)), FAIR_COLOR))
    assert longer > with_numbers + 10  # a poor marker's uncertainty is written out


def test_epipolar_lines_are_drawn_where_they_are_finite() -> None:
    line = np.array([[[10.0, 20.0], [60.0, 20.0], [np.nan, np.nan], [1e300, 5.0], [90.0, 100.0], [200.0, 100.0]]])
    picture = draw_tuning_picture(np.zeros((240, 320, 3), np.uint8), preview([]), PictureMarks(False, line, (3,)))
    where = colored(picture, choose_line_color(3)) / (CANVAS_PX / 320)
    assert where[:, 1].min() > 14.0 and where[:, 1].max() < 105.0
    between = where[(where[:, 1] > 25.0) & (where[:, 1] < 90.0)]
    assert len(between) == 0
    assert choose_line_color(3) != choose_line_color(4)


@pytest.mark.parametrize("point", [[1e300, 0.0], [np.nan, 1.0], [-1e9, 5.0], [319.9, 239.9]])
def test_marks_from_anywhere_break_nothing(point: list[float]) -> None:
    for area in (0.0, 1e30, -5.0):
        picture = draw_tuning_picture(np.zeros((240, 320, 3), np.uint8), preview([point], 1e30, area=area), PictureMarks())
        assert picture.shape[1] == CANVAS_PX


def test_a_sharp_picture_has_more_sharpness() -> None:
    rng = np.random.default_rng(3)
    sharp = rng.integers(0, 255, (40, 40, 3)).astype(np.uint8)
    blurred = (sharp.astype(int) + np.roll(sharp, 1, 0) + np.roll(sharp, 1, 1) + np.roll(sharp, (1, 1), (0, 1))) // 4
    assert measure_sharpness(sharp) > 1.5 * measure_sharpness(blurred.astype(np.uint8))
