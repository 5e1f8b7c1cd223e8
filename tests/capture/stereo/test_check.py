"""Recordings that do not belong to the rig are found out; those that do are not accused."""

import dataclasses
from dataclasses import replace

import numpy as np
import pytest

from calibration.camera import Rig
from calibration.placement import make_facing_rig
from capture.packets import Blobs, Views
from capture.stereo.check import SwappedCamerasError, check_rig_fits
from config.errors import CalibrationError
from database.geometry.rotations import matrix_from_rotvec
from tests.support.people import person, seen_pair, t_pose, worn_markers
from tests.support.rigs import synthetic_rig

SIZES = ((640, 480), (640, 480))


def rig() -> Rig:
    return synthetic_rig((-0.25, 1.1, 4.0), (0.25, 1.2, 4.1), (0.0, 0.9, 0.0), SIZES[0], 0.9)


def sample(rig: Rig, n_pairs: int = 8, n_markers: int = 12, noise_px: float = 0.3) -> list[Views]:
    """Return pairs of views of scattered markers."""
    random = np.random.default_rng(4)
    pairs = []
    for index in range(n_pairs):
        points = random.uniform((-0.5, 0.0, -0.25), (0.5, 1.7, 0.25), (n_markers, 3))
        views = []
        for side, camera in enumerate(rig.cameras):
            px = camera.project(points) + random.normal(0.0, noise_px, (n_markers, 2))
            views.append(
                Blobs(side, index, 0, px, np.full(n_markers, 30.0), np.full((n_markers, 3), 200.0), np.full(n_markers, 0.2))
            )
        pairs.append(Views(tuple(views)))
    return pairs


def swapped(pairs: list[Views]) -> list[Views]:
    return [Views((pair[1], pair[0])) for pair in pairs]


def turned(rig: Rig, rotvec_rad: tuple[float, float, float]) -> Rig:
    """Return the rig after someone bumped into its right camera."""
    R = matrix_from_rotvec(rotvec_rad)
    right = dataclasses.replace(rig.cameras[1], rotation=R @ rig.cameras[1].rotation, translation=R @ rig.cameras[1].translation)
    return Rig((rig.cameras[0], right))


def test_a_rig_that_fits() -> None:
    fit = check_rig_fits(rig(), SIZES, sample(rig()))
    assert fit.n_pairs == 8
    assert fit.quality > 0.85
    assert fit.matched > 0.95
    # Two points with 0.3 px noise each: the mean of both distances has a sigma of about 0.3 * sqrt(2).
    assert fit.epipolar_px == pytest.approx(0.6745 * 0.3 * np.sqrt(2.0), rel=0.3)


def test_a_marginal_rig_is_let_through() -> None:
    assert check_rig_fits(turned(rig(), (0.0015, 0.0, 0.0)), SIZES, sample(rig())).quality < 0.8


def test_left_and_right_swapped() -> None:
    with pytest.raises(CalibrationError, match=r"left and right are swapped.*other order") as caught:
        check_rig_fits(rig(), SIZES, swapped(sample(rig())))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("rotvec", [(0.02, 0.0, 0.0), (-0.1, 0.3, 0.0), (0.0, 0.0, 0.1)])
def test_a_camera_that_moved(rotvec: tuple[float, float, float]) -> None:
    with pytest.raises(CalibrationError, match=r"the rig does not fit these recordings.*calibrate again"):
        check_rig_fits(turned(rig(), rotvec), SIZES, sample(rig()))


def four() -> Rig:
    """Return four cameras, the third at the side, the fourth behind."""
    side = synthetic_rig((2.5, 1.4, 3.0), (0.3, 1.6, -4.0), (0.0, 0.9, 0.0), SIZES[0], 0.9)
    return Rig((*rig().cameras, *side.cameras))


def test_of_four_videos_the_strange_exchanged_or_mirrored_one_is_named() -> None:
    sizes, views = SIZES * 2, sample(four(), n_pairs=6)
    assert check_rig_fits(four(), sizes, views).quality > 0.8
    exchanged = [Views(tuple(moment.blobs[c] for c in (0, 3, 2, 1))) for moment in views]
    with pytest.raises(SwappedCamerasError, match="right and fourth are swapped"):
        check_rig_fits(four(), sizes, exchanged)
    mirrored = [moment.changed(lambda c, b: replace(b, points_px=flipped(b)) if c == 2 else b) for moment in views]
    with pytest.raises(CalibrationError, match="the images of the third camera are mirrored"):
        check_rig_fits(four(), sizes, mirrored)
    other = sample(turned(rig(), (0.03, 0.1, 0.0)), n_pairs=6)
    strange = [Views((*moment.blobs[:2], other[k].blobs[1], moment.blobs[3])) for k, moment in enumerate(views)]
    with pytest.raises(CalibrationError, match="the third of these recordings does not fit the rig, the others do"):
        check_rig_fits(four(), sizes, strange)


def flipped(blobs: Blobs) -> np.ndarray:
    return np.column_stack([639.0 - blobs.points_px[:, 0], blobs.points_px[:, 1]])


def test_sizes() -> None:
    with pytest.raises(CalibrationError, match="the right images are 1280x720, but the rig was calibrated at 640x480"):
        check_rig_fits(rig(), ((640, 480), (1280, 720)), [])


def test_no_verdict_from_too_little() -> None:
    assert check_rig_fits(rig(), SIZES, []).n_pairs == 0
    assert check_rig_fits(rig(), SIZES, swapped(sample(rig(), n_pairs=2))).n_pairs == 2
    assert check_rig_fits(rig(), SIZES, swapped(sample(rig(), n_markers=3))).n_pairs == 0


@pytest.mark.parametrize("swapped", [False, True])
def test_cameras_turned_in_alike_at_a_t_pose(swapped: bool) -> None:
    """Mirror images of each other, such cameras fit epipolar lines swapped nearly as well: 0.69 to 0.94 in quality."""
    worn = person("dark_room", 2)
    markers, _ = worn_markers(worn, t_pose()[None], np.array([[0.1, 0.95, -0.1]]))
    rig = make_facing_rig((640, 480), 60.0, 3.5, 1.0, 1.2)
    rng = np.random.default_rng(3)
    pairs = [seen_pair(rig, k, markers[0], 0.3, rng) for k in range(20)]
    if not swapped:
        assert check_rig_fits(rig, [(640, 480)] * 2, pairs).quality > 0.85
        return
    with pytest.raises(CalibrationError, match="left and right are swapped"):
        check_rig_fits(rig, [(640, 480)] * 2, [Views((pair[1], pair[0])) for pair in pairs])
