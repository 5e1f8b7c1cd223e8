"""The tuned picture: marks where the markers are, also in a zoom; epipolar lines as the lens bends them; nothing breaks it."""

import cv2
import numpy as np
import pytest

from calibration.camera import Camera
from capture.process.preview_image import Preview
from stream.viewer.tuning.picture import (
    CANVAS_PX,
    FAIR_COLOR,
    FAR_M,
    GOOD_COLOR,
    N_POINTS,
    NEAR_M,
    POOR_COLOR,
    PictureMarks,
    choose_line_color,
    compute_epipolar_lines,
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


MATRIX = np.array([[520.0, 0.0, 310.0], [0.0, 515.0, 250.0], [0.0, 0.0, 1.0]])
LENS = np.array([-0.21, 0.05, 0.002, -0.003])


def camera(name: str, place_m: tuple[float, float, float], turned_rad: float) -> Camera:
    rotation, _ = cv2.Rodrigues(np.array([0.03, turned_rad, -0.05]))
    return Camera(name, (640, 480), MATRIX, LENS, rotation, -rotation @ np.array(place_m))


LEFT, RIGHT = camera("cam_0", (-0.9, 0.1, 0.0), -0.22), camera("cam_1", (1.1, -0.2, 0.15), 0.31)
PLACES_M = np.array([[0.0, 0.3, 3.0], [-0.4, -0.5, 3.4], [0.1, 0.1, 2.7], [0.2, 0.7, 6.0]])


def distance_px(point: np.ndarray, line: np.ndarray) -> float:
    """The distance of a point from a polyline."""
    line = line[np.isfinite(line).all(axis=1)]
    begin, along = line[:-1], np.diff(line, axis=0)
    share = np.clip(((point - begin) * along).sum(axis=1) / (along**2).sum(axis=1), 0.0, 1.0)
    return float(np.linalg.norm(begin + share[:, None] * along - point, axis=1).min())


@pytest.mark.parametrize(("one", "other"), [(LEFT, RIGHT), (RIGHT, LEFT)])
def test_a_line_passes_through_what_the_other_camera_sees(one: Camera, other: Camera) -> None:
    lines = compute_epipolar_lines(one, one.project(PLACES_M), other)
    assert lines.shape == (len(PLACES_M), N_POINTS, 2)
    for point, line in zip(other.project(PLACES_M), lines, strict=True):
        assert (point > 0.0).all() and (point < other.size).all()
        assert distance_px(point, line) < 1.0  # chords of a line the lens bends
    crossed = [distance_px(point, lines[0]) for point in other.project(PLACES_M[1:])]
    assert min(crossed) > 5.0  # and not through everything


def test_the_ends_are_the_nearest_and_farthest_a_marker_can_be() -> None:
    pixel = np.array([[333.0, 222.0]])
    line = compute_epipolar_lines(LEFT, pixel, LEFT)[0]
    np.testing.assert_allclose(line, np.tile(pixel, (N_POINTS, 1)), atol=1e-6)  # its own epipolar line is a point
    ideal = LEFT.undistort(pixel)[0]
    for n, depth_m in ((0, NEAR_M), (-1, FAR_M)):
        place = LEFT.center_m + depth_m * LEFT.rotation.T @ np.array([*ideal, 1.0])
        expected, shown = RIGHT.project(place), compute_epipolar_lines(LEFT, pixel, RIGHT)[0, n]
        assert np.isnan(shown).all() or np.allclose(shown, expected, atol=1e-6)


def test_what_is_behind_or_far_outside_is_not_drawn() -> None:
    behind = camera("cam_1", (0.0, 0.0, 40.0), 0.0)
    assert np.isnan(compute_epipolar_lines(LEFT, np.array([[320.0, 240.0]]), behind)).all()
    aside = camera("cam_1", (0.0, 0.0, 1.0), 2.2)
    assert np.isnan(compute_epipolar_lines(LEFT, np.array([[320.0, 240.0]]), aside)).any()
    assert compute_epipolar_lines(LEFT, np.zeros((0, 2)), RIGHT).shape == (0, N_POINTS, 2)
