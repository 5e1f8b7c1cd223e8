"""The pair of cameras that measures best in a volume."""

import numpy as np
import pytest

from calibration.camera import Camera
from calibration.pairs import find_capture_volume, rank_pairs
from calibration.placement import intrinsics_from_fov, make_camera_looking_at
from calibration.triangulate import triangulate

SIZE = (640, 480)
K = intrinsics_from_fov(SIZE, 60.0)


def camera(name: str, degrees: float, distance_m: float = 4.0, at_m: tuple[float, float, float] = (0.5, 1.0, -0.3)) -> Camera:
    """Return a camera on a circle around a place, looking at it."""
    a = np.radians(degrees)
    return make_camera_looking_at(name, SIZE, K, np.array(at_m) + [distance_m * np.sin(a), 0.3, distance_m * np.cos(a)], at_m)


CIRCLE = [camera("a", 0.0), camera("b", 8.0), camera("c", 85.0), camera("d", 178.0)]


def test_two_cameras_at_right_angles_measure_best_and_left_is_left() -> None:
    volume = find_capture_volume(CIRCLE, floor_known=False)
    np.testing.assert_allclose(volume.center_m, [0.5, 1.0, -0.3], atol=1e-6)
    ranked = rank_pairs(CIRCLE, volume)
    best = ranked[0]
    assert {best.rig.cameras[0].name, best.rig.cameras[1].name} in ({"a", "c"}, {"b", "c"}, {"c", "d"})
    assert best.angle_deg == pytest.approx(85.0, abs=10.0) and best.share > 0.9
    to_right = best.rig.cameras[1].center_m - best.rig.cameras[0].center_m
    assert best.rig.cameras[0].rotation[0] @ to_right > 0.0
    assert ranked[-1].angle_deg in (pytest.approx(8.0, abs=3.0), pytest.approx(178.0, abs=10.0))


def test_the_error_that_is_told_is_that_of_noisy_points() -> None:
    pair = rank_pairs(CIRCLE[:2], find_capture_volume(CIRCLE[:2], floor_known=False))[0]
    points = find_capture_volume(CIRCLE[:2], floor_known=False).points_m
    rng, off = np.random.default_rng(0), []
    for _ in range(40):
        px = [one.project(points) + rng.normal(0.0, 0.2, (len(points), 2)) for one in pair.rig.cameras]
        off.append(triangulate(pair.rig, px[0], px[1])[0] - points)
    worst = np.linalg.eigvalsh(np.cov(np.concatenate(off).T))[-1]
    assert pair.error_m == pytest.approx(np.sqrt(worst), rel=0.1)


def test_a_larger_volume_wants_other_cameras() -> None:
    """Near cameras measure better what they see; of a large volume they see too little."""
    near, far = [camera("n1", -40.0, 1.9), camera("n2", 40.0, 1.9)], [camera("f1", -35.0, 6.0), camera("f2", 35.0, 6.0)]
    cameras = [*near, *far]
    small, large = (
        rank_pairs(cameras, find_capture_volume(cameras, True, sides))[0] for sides in ((0.8, 1.4, 0.8), (4.0, 2.2, 4.0))
    )
    assert {small.rig.cameras[0].name, small.rig.cameras[1].name} == {"n1", "n2"}
    assert {large.rig.cameras[0].name, large.rig.cameras[1].name} == {"f1", "f2"}


def test_parallel_cameras_look_at_a_performer_before_them() -> None:
    left, right = (
        make_camera_looking_at(n, SIZE, K, np.array([x, 1.0, 3.0]), np.array([x, 1.0, 0.0])) for n, x in (("l", -0.3), ("r", 0.3))
    )
    center = find_capture_volume([left, right], floor_known=False).center_m
    assert abs(center[0]) < 0.2 and center[2] < 2.0
    assert rank_pairs([left, right], find_capture_volume([left, right], floor_known=False))[0].rig.cameras[0].name == "l"


def test_cameras_that_see_nothing_together_are_no_pair() -> None:
    away = make_camera_looking_at("x", SIZE, K, np.array([0.0, 1.0, 4.0]), np.array([0.0, 1.0, 9.0]))
    assert rank_pairs([CIRCLE[0], away], find_capture_volume(CIRCLE, floor_known=False)) == []
