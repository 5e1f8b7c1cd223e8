"""The camera of a picture from clicked joints: found where it was, refused where the clicks tell none; one of a rig, scaled."""

import numpy as np
import pytest

from calibration.camera import Camera
from calibration.placement import DISTORTIONS, intrinsics_from_fov, make_camera_looking_at
from config.joints import JOINT_INDEX
from database.builtin.catalog import make_builtin_clip
from stream.posing.camera import compute_fov_deg, scale_camera_to_picture, solve_picture_camera
from stream.posing.document import ImagePoint, PictureView, PosingError, StoredPose, compute_joint_positions_m
from stream.posing.page.picture import IN_TURN
from stream.posing.picture import remove_lens_distortion, undistort_picture

SIZE = (1200, 900)
Clicks = dict[str, ImagePoint]


@pytest.fixture(scope="module")
def joint_m() -> np.ndarray:
    clip = make_builtin_clip("reach", fps=10.0)
    return compute_joint_positions_m(clip.skeleton, StoredPose(clip.rotvec[12].astype(float), clip.root_m[12].astype(float)))


def camera_at(azimuth_rad: float, distance_m: float, fov: float = 60.0, lens: np.ndarray | None = None) -> Camera:
    eye_m = (distance_m * np.sin(azimuth_rad), 1.7, distance_m * np.cos(azimuth_rad))
    return make_camera_looking_at("true", SIZE, intrinsics_from_fov(SIZE, fov), eye_m, (0.1, 0.9, 0.05), lens)


def clicks_of(camera: Camera, joint_m: np.ndarray, names: tuple[str, ...] = IN_TURN, sigma_px: float = 0.0) -> Clicks:
    px = camera.project(joint_m) + np.random.default_rng(5).normal(0.0, sigma_px, (len(joint_m), 2))
    return {name: (float(px[JOINT_INDEX[name], 0]), float(px[JOINT_INDEX[name], 1])) for name in names}


@pytest.mark.parametrize("azimuth_rad", [0.0, 0.9, 2.6, 4.4])
def test_the_camera_is_where_it_was(joint_m: np.ndarray, azimuth_rad: float) -> None:
    true = camera_at(azimuth_rad, 2.8)
    picture = PictureView(SIZE, fov_deg=60.0)
    found = solve_picture_camera(picture, clicks_of(true, joint_m), joint_m, known_lens=True)
    assert np.linalg.norm(found.camera.center_m - true.center_m) < 0.03 * 2.8 and found.error_px < 1.0
    rough = solve_picture_camera(picture, clicks_of(true, joint_m, sigma_px=4.0), joint_m, known_lens=True)
    assert np.linalg.norm(rough.camera.center_m - true.center_m) < 0.12 * 2.8 and rough.error_px < 7.0
    free = solve_picture_camera(PictureView(SIZE, fov_deg=100.0), clicks_of(true, joint_m, sigma_px=1.0), joint_m)
    seen_px = free.camera.project(joint_m) - true.project(joint_m)
    assert np.abs(seen_px).max() < 12.0 and abs(np.log(free.camera.focal_px / true.focal_px)) < 3.0 * free.focal_sigma


def test_four_joints_are_enough_for_a_known_lens_with_distortion(joint_m: np.ndarray) -> None:
    true = camera_at(0.7, 3.0, lens=DISTORTIONS[0])
    guess = Camera("rig", SIZE, true.matrix, true.distortions, np.eye(3), np.array([0.0, 0.0, 4.0]))
    four = clicks_of(true, joint_m, ("leftHand", "rightFoot", "head", "rightHand"))
    found = solve_picture_camera(PictureView(SIZE, camera=guess), four, joint_m, known_lens=True)
    assert found.error_px < 3.0 and compute_fov_deg(found.camera) == pytest.approx(60.0)


def test_clicks_that_tell_no_camera_are_refused(joint_m: np.ndarray) -> None:
    true, picture = camera_at(0.3, 3.0), PictureView(SIZE, 60.0)
    clicks = clicks_of(true, joint_m)
    spine = ("hips", "spine", "chest", "upperChest", "neck", "head")
    swapped = dict(zip(clicks, list(clicks.values())[::-1], strict=True))
    cases: dict[str, Clicks] = {
        "0 joints are clicked": {},
        "5 joints are clicked in the picture; a camera needs 6 or more": dict(list(clicks.items())[:5]),
        "all at one place": dict.fromkeys(clicks, (600.0, 400.0)),
        "on one line": {name: (600.0, 100.0 + 60.0 * n) for n, name in enumerate(clicks)},
        "on one line,": clicks_of(true, joint_m, spine, sigma_px=40.0),
        "no camera sees this pose": swapped,
    }
    for words, points in cases.items():
        with pytest.raises(PosingError, match=words) as error:
            solve_picture_camera(picture, points, joint_m)
        assert "\n" not in str(error.value)


def test_a_camera_of_a_rig_is_scaled_to_the_picture(joint_m: np.ndarray) -> None:
    true, half = camera_at(0.5, 3.0, lens=DISTORTIONS[0]), PictureView((SIZE[0] // 2, SIZE[1] // 2))
    scaled = scale_camera_to_picture(half, true, floor_known=True)
    np.testing.assert_allclose(scaled.project(joint_m) + 0.5, 0.5 * (true.project(joint_m) + 0.5), atol=1e-6)
    lens_only = scale_camera_to_picture(half, true, floor_known=False)
    np.testing.assert_allclose(lens_only.matrix, scaled.matrix)
    assert lens_only.center_m[2] == pytest.approx(4.0)
    with pytest.raises(PosingError, match="1200x900 px, this one has 640x640"):
        scale_camera_to_picture(PictureView((640, 640)), true, floor_known=True)


def test_a_picture_is_drawn_without_its_lens(joint_m: np.ndarray) -> None:
    true = camera_at(0.5, 3.0, lens=DISTORTIONS[0])
    at = np.round(true.project(joint_m)).astype(int)[JOINT_INDEX["leftHand"]]
    image = np.zeros((SIZE[1], SIZE[0], 3), np.uint8)
    image[at[1] - 3 : at[1] + 4, at[0] - 3 : at[0] + 4] = 255
    y, x = np.nonzero(undistort_picture(image, true)[..., 0] > 128)
    expected = remove_lens_distortion(true).project(joint_m)[JOINT_INDEX["leftHand"]]
    np.testing.assert_allclose((x.mean(), y.mean()), expected, atol=1.0)
