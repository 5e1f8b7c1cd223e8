"""A rig told by a body, from a recording: moments, the floor by the soles, the scale, what is refused."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from calibration.body.solve import BodyScale
from capture.packets import Landmarks, Views, make_empty_blobs
from capture.recording.recording import RecordingSpec
from config.errors import CalibrationError
from config.landmarks import N_LANDMARKS
from config.settings import Settings
from tests.calibration.body.test_solve import RIG, see_walker, solve
from tools.calibrate.body import BodyTask, choose_scale, collect_body_views, level_by_soles

TASK = BodyTask(RecordingSpec(("left.avi", "right.avi")), ("left", "right"), Path("rig.toml"))


def see(k: int, seconds: float, shown: bool = True, late_s: float = 0.0) -> Views:
    """Return what two cameras see of a body at a time, the second one a little late."""
    blobs = []
    for camera in range(2):
        body = Landmarks(np.full((N_LANDMARKS, 2), 100.0 + k), np.full(N_LANDMARKS, 0.9), 1.0) if shown else None
        blobs.append(replace(make_empty_blobs(camera, k, round(1e9 * (seconds + camera * late_s))), landmarks=body))
    return Views(tuple(blobs))


def test_moments_lie_some_time_apart_and_are_of_one_time() -> None:
    moments = [see(k, k / 30.0) for k in range(30)] + [see(40, 2.0, late_s=0.03), see(41, 3.0)]
    views = collect_body_views(moments, 2, Settings())
    assert np.diff(views.t_s).min() > 0.099
    assert 2.0 not in np.round(views.t_s, 1)
    assert views.seen.all()
    assert views.points_px.shape == (2, len(views), N_LANDMARKS, 2)


def test_nobody_in_the_pictures_is_told() -> None:
    with pytest.raises(CalibrationError, match="nobody is seen by two cameras at one time"):
        collect_body_views([see(k, k / 30.0, shown=False) for k in range(30)], 2, Settings())


def test_the_floor_is_where_the_soles_stood() -> None:
    rig, sigma_rad = level_by_soles(solve(see_walker(), RIG))
    heights = [camera.center_m[1] for camera in rig.cameras]
    assert heights == pytest.approx([camera.center_m[1] for camera in RIG.cameras], abs=0.12)
    assert 0.0 < np.degrees(sigma_rad) < 12.0
    assert rig.floor_known == (np.degrees(sigma_rad) <= 1.5)


def test_something_must_tell_the_scale() -> None:
    with pytest.raises(CalibrationError, match="nothing tells the scale"):
        choose_scale(TASK, None)
    assert choose_scale(TASK, RIG) == BodyScale(None, RIG.baseline_m)
