"""What a pixel is in depth, against the formula for parallel cameras, and where a performer stands."""

import numpy as np
import pytest

from calibration.camera import Rig
from calibration.depth import choose_performer_distance_m, compute_central_point_m, compute_depth_sigma_m, compute_volume_points_m
from config.errors import CalibrationError
from tests.support.rigs import synthetic_rig


def parallel(baseline_m: float) -> Rig:
    """Return cameras of f = 554 px that look straight ahead, so far away that they are parallel."""
    return synthetic_rig((-0.5 * baseline_m, 1.0, 1e6), (0.5 * baseline_m, 1.0, 1e6), (0.0, 1.0, 0.0))


@pytest.mark.parametrize(("baseline_m", "distance_m", "sigma_px"), [(0.366, 4.0, 0.2), (0.1, 2.0, 0.5), (0.8, 6.0, 0.1)])
def test_parallel_cameras_follow_the_formula(baseline_m: float, distance_m: float, sigma_px: float) -> None:
    rig = parallel(baseline_m)
    expected = distance_m**2 * sigma_px * np.sqrt(2.0) / (rig.cameras[0].focal_px * baseline_m)
    assert compute_depth_sigma_m(rig, distance_m, sigma_px) == pytest.approx(expected, rel=0.02)


def test_cameras_wide_apart_measure_depth_as_well_as_anything() -> None:
    rig = synthetic_rig((-3.0, 1.0, 3.0), (3.0, 1.0, 3.0), (0.0, 1.0, 0.0))  # at right angles
    # Each camera alone gives sigma z / f across its own axis, z = 3 sqrt(2) m.
    assert compute_depth_sigma_m(rig, 3.0, 0.2) == pytest.approx(0.2 * 3.0 * np.sqrt(2.0) / rig.cameras[0].focal_px, rel=0.05)


def test_one_camera_measures_none() -> None:
    left = parallel(0.3).cameras[0]
    with pytest.raises(CalibrationError, match="one camera alone measures no depth"):
        compute_depth_sigma_m(Rig((left,)), 3.0, 0.2)


def test_the_performer_stands_where_a_body_fits_into_the_pictures() -> None:
    rig = synthetic_rig((-0.4, 1.0, 4.0), (0.4, 1.0, 4.0), (0.0, 1.0, 0.0))
    distance_m = choose_performer_distance_m(rig)
    assert distance_m == pytest.approx(2.2 * 554.26 / 480, rel=1e-3)
    assert np.allclose(compute_central_point_m(rig, 4.0), (0.0, 1.0, 0.0), atol=0.11)
    points = compute_volume_points_m(rig, distance_m)
    assert len(points) > 30 and np.ptp(points, axis=0).min() > 1.0
    for camera in rig.cameras:
        px = camera.project(points)
        assert ((px >= 0) & (px < camera.size)).all()


def test_cameras_that_look_past_each_other_share_no_room() -> None:
    from dataclasses import replace

    rig = parallel(0.3)
    back = np.diag([-1.0, 1.0, -1.0]) @ rig.cameras[1].rotation
    away = Rig((rig.cameras[0], replace(rig.cameras[1], rotation=back, translation=-back @ rig.cameras[1].center_m)))
    assert len(compute_volume_points_m(away, 3.0)) == 0
