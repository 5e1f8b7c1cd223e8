"""The detector's one step on rendered scenes, dark and light, and on the real recording."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scenes import frame_of, paint_disc, shot
from scipy.optimize import linear_sum_assignment

from capture.background import Background, learn_background, robust_background, sample_images
from capture.detector import Detector
from capture.mode import Mode, choose_mode
from capture.packets import Blobs
from capture.sources import open_source
from config.errors import CalibrationError, SettingsError
from config.settings import DetectorSettings

WIDTH, HEIGHT = 160, 120
PLACES = np.array([[30.3, 20.6], [60.1, 25.2], [90.7, 22.4], [45.2, 60.9], [80.5, 64.1], [50.0, 100.3], [76.8, 99.5]])


def matched(blobs: Blobs, places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give the distance of each place to the blob that stands for it; there must be as many blobs as places."""
    assert len(blobs) == len(places)
    distance = np.linalg.norm(places[:, None] - blobs.points_px[None], axis=2)
    return np.asarray(distance[linear_sum_assignment(distance)])


def dark_scene(brightness: float, places: NDArray[np.float64] = PLACES, radius: float = 3.0) -> NDArray[np.float64]:
    """Markers of one brightness, a dim panel, and a lamp that is always there."""
    image = np.full((HEIGHT, WIDTH, 3), 3.0)
    image[70:110, 120:150] = 22.0
    for place in places:
        paint_disc(image, place, radius, (brightness,) * 3)
    return image


@pytest.mark.parametrize("brightness", [75.0, 190.0, 250.0])
def test_dark_room_finds_its_threshold(brightness: float) -> None:
    random = np.random.default_rng(1)
    detector = Detector(DetectorSettings())
    errors = []
    for index in range(6):
        places = PLACES + 0.37 * index
        blobs = detector.step(frame_of(shot(dark_scene(brightness, places), 2.0, random), index, camera=1))
        assert (blobs.camera, blobs.index, blobs.t_capture_ns) == (1, index, index * 33_333_333)
        errors.append(matched(blobs, places))
        np.testing.assert_allclose(blobs.color_rgb, brightness, rtol=0.12)
        # The threshold cuts the rim of the disc a little.
        np.testing.assert_allclose(blobs.area_px, np.pi * 3.0**2, rtol=0.35)
    assert detector.mode is Mode.DARK
    rms = float(np.sqrt(np.mean(np.square(errors))))
    assert rms < 0.12
    # It also allows for compression and uneven light, which these discs do not have.
    assert rms / np.sqrt(2.0) < np.median(blobs.sigma_px) < 0.2


def test_markers_that_come_into_view_later() -> None:
    random = np.random.default_rng(2)
    detector = Detector(DetectorSettings())
    for index in range(20):
        assert len(detector.step(frame_of(shot(dark_scene(0.0, PLACES[:0]), 2.0, random), index))) == 0
    found = [len(detector.step(frame_of(shot(dark_scene(170.0), 2.0, random), index))) for index in range(20, 60)]
    assert found[-20:] == [7] * 20


def test_background_hides_reflections() -> None:
    random = np.random.default_rng(3)
    lamp = [np.array([[140.0, 20.0]])]

    def scene(places: NDArray[np.float64]) -> NDArray[np.uint8]:
        return shot(dark_scene(120.0, np.concatenate([places, *lamp])), 2.0, random)

    background = robust_background([scene(PLACES + 3.0 * index) for index in range(-8, 8)])
    detector = Detector(DetectorSettings(), background)
    assert matched(detector.step(frame_of(scene(PLACES + 1.5))), PLACES + 1.5).max() < 0.5
    assert len(Detector(DetectorSettings()).step(frame_of(scene(PLACES)))) == 8, "without a background the lamp is a marker"


def test_touching_markers_are_taken_apart() -> None:
    random = np.random.default_rng(4)
    places = np.concatenate([PLACES, PLACES[-1:] + [6.6, 2.0]])
    detector = Detector(DetectorSettings())
    assert matched(detector.step(frame_of(shot(dark_scene(190.0, places), 2.0, random))), places).max() < 0.4


def test_two_markers_in_one_are_trusted_less() -> None:
    random = np.random.default_rng(10)
    places = np.concatenate([PLACES, PLACES[-1:] + [4.5, 0.3]])
    blobs = Detector(DetectorSettings()).step(frame_of(shot(dark_scene(190.0, places), 2.0, random)))
    assert len(blobs) == 7, "so close together they cannot be told apart"
    merged = int(np.argmax(blobs.area_px))
    assert blobs.sigma_px[merged] > 5.0 * np.median(blobs.sigma_px)


def test_marker_cut_by_the_edge_is_trusted_less() -> None:
    random = np.random.default_rng(5)
    places = np.concatenate([PLACES, [[0.5, 50.0]]])
    blobs = Detector(DetectorSettings()).step(frame_of(shot(dark_scene(190.0, places), 2.0, random)))
    assert len(blobs) == 8
    cut = int(np.argmin(blobs.points_px[:, 0]))
    assert blobs.sigma_px[cut] > 5.0 * np.median(blobs.sigma_px)


def lit_scene(colors: NDArray[np.float64] | None, shift: float = 0.0) -> NDArray[np.float64]:
    """A lit room with a poster; colours, where given, are (7, 3) BGR of markers on a grey performer."""
    x = np.linspace(0.0, 1.0, WIDTH)[None, :, None]
    image = np.broadcast_to(120.0 + 60.0 * x, (HEIGHT, WIDTH, 3)).copy()
    image[10:30, 5:15] = (30.0, 30.0, 210.0)  # a red poster, static
    image[:, 130:140] = (200.0, 190.0, 190.0)
    if colors is not None:
        image[10:115, 22 + int(shift) : 100 + int(shift)] = (75.0, 80.0, 85.0)
        for place, color in zip(PLACES + [shift, 0.0], colors, strict=True):
            paint_disc(image, place, 3.2, color)
    return image


def lit_background(random: np.random.Generator) -> Background:
    return learn_background([shot(lit_scene(None), 2.0, random) for _ in range(30)])


def test_lit_room_with_coloured_markers() -> None:
    random = np.random.default_rng(6)
    palette = np.array([[30.0, 40.0, 210.0], [50.0, 190.0, 40.0]])
    colors = palette[[0, 1, 0, 1, 0, 1, 0]]
    detector = Detector(DetectorSettings(), lit_background(random), palette[:, ::-1])
    for index in range(3):
        blobs = detector.step(frame_of(shot(lit_scene(colors, 3.0 * index), 2.0, random), index))
        errors = matched(blobs, PLACES + [3.0 * index, 0.0])
        assert np.sqrt(np.mean(np.square(errors))) < 0.25
    assert detector.mode is Mode.COLOR
    nearest = np.argmin(np.linalg.norm(PLACES + [6.0, 0.0] - blobs.points_px[:, None], axis=2), axis=1)
    assert [bool(color[0] > color[1]) for color in blobs.color_rgb] == [bool(colors[n][2] > colors[n][1]) for n in nearest]


def test_lit_room_with_bright_markers() -> None:
    random = np.random.default_rng(7)
    white = np.full((7, 3), 245.0)
    detector = Detector(DetectorSettings(), lit_background(random))
    for index in range(3):
        blobs = detector.step(frame_of(shot(lit_scene(white, 3.0 * index), 2.0, random), index))
        assert matched(blobs, PLACES + [3.0 * index, 0.0]).max() < 0.6
    assert detector.mode is Mode.BRIGHT


def test_colours_alone_without_a_background() -> None:
    random = np.random.default_rng(8)
    colors = np.tile([40.0, 190.0, 40.0], (7, 1))
    blobs = Detector(DetectorSettings(), None, [[40, 190, 40]]).step(frame_of(shot(lit_scene(colors), 2.0, random)))
    assert matched(blobs, PLACES).max() < 0.6


def test_mode_as_asked() -> None:
    dark, light = np.full((40, 40, 3), 5, np.uint8), np.full((40, 40, 3), 120, np.uint8)
    modes = [choose_mode(*case) for case in itertools.product(("auto", "dark", "background"), (dark, light), (False, True))]
    D, B, C = Mode.DARK, Mode.BRIGHT, Mode.COLOR
    assert modes == [D, D, B, C, D, D, D, D, B, C, B, C]
    with pytest.raises(SettingsError, match=r"detector\.mode is 'night'; expected auto, dark or background"):
        choose_mode("night", dark, False)


def test_image_of_another_size_than_the_background() -> None:
    detector = Detector(DetectorSettings(), lit_background(np.random.default_rng(9)))
    with pytest.raises(CalibrationError, match="64x48, but the background 160x120"):
        detector.step(frame_of(np.zeros((48, 64, 3), np.uint8)))


def test_no_threshold_without_markers() -> None:
    black = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    detector = Detector(DetectorSettings())
    assert len(detector.step(frame_of(black))) == 0
    assert detector.threshold is None


@pytest.mark.slow
def test_real_recording(shared_data: Path) -> None:
    """Fourteen markers in almost every frame of both cameras, one of them far dimmer."""
    for camera, (name, wanted) in enumerate((("left", 0.96), ("right", 0.96))):
        path = shared_data / "two_webcams" / f"{name}.avi"
        detector = Detector(DetectorSettings(), robust_background(sample_images(open_source(path, camera))))
        source = open_source(path, camera)
        counts = []
        while (frame := source.read()) is not None:
            counts.append(len(detector.step(frame)))
        assert len(counts) == 853
        assert np.mean(np.array(counts) == 14) >= wanted
        assert set(counts) <= {13, 14, 15}
