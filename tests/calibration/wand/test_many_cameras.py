"""A wand before four cameras around a room, hardly two of which see the same: the truth, clocks apart, no link between them."""

from itertools import combinations

import numpy as np
import pytest

from calibration.camera import Rig, compute_relative_pose
from calibration.quality.report import Grade
from calibration.wand.picture import draw_wand
from calibration.wand.quality import judge_wand
from calibration.wand.solve import solve_wand
from calibration.wand.tracks import Sightings, WandSolution, WandTrack, find_wand_tracks
from config.errors import CalibrationError
from database.geometry.rotations import compute_geodesic_rad
from tests.calibration.solve.bundle_scenes import rig_around
from tests.calibration.wand.scenes import Wave, sightings

LATE_S = (0.0, 0.011, -0.017, 0.024)
FPS = 30.0


def seen_by(rig: Rig, path: Wave, seconds: float, parts: dict[int, tuple[float, float]] | None = None) -> tuple[Sightings, ...]:
    """Return the spots of all cameras; parts: seconds in which a camera sees the wand, where these are not all."""
    found = []
    for c, camera in enumerate(rig.cameras):
        start, end = (parts or {}).get(c, (0.0, seconds))
        t_s = np.arange(round(start * FPS), round(end * FPS)) / FPS
        found.append(sightings(camera, path, t_s - LATE_S[c], late_s=LATE_S[c], seed=c))
    return tuple(found)


def tracks_of(rig: Rig, path: Wave, *how: object) -> tuple[WandTrack, ...]:
    names = [camera.name for camera in rig.cameras]
    return find_wand_tracks(seen_by(rig, path, 30.0, *how), path.n_markers, names)  # type: ignore[arg-type]


def check(solution: WandSolution, truth: Rig, limit_m: float, limit_rad: float) -> None:
    for a, b in combinations(range(len(truth)), 2):
        (R, t), (true_R, true_t) = (compute_relative_pose(rig.cameras[a], rig.cameras[b]) for rig in (solution.rig, truth))
        assert np.linalg.norm(t - true_t) < limit_m and compute_geodesic_rad(R, true_R) < limit_rad, (a, b)
    np.testing.assert_allclose(solution.offset_s, LATE_S[: len(truth)], atol=1e-3)


@pytest.mark.slow
def test_four_cameras_are_found_by_a_wand_of_two(tmp_path: object) -> None:
    """To 8 mm in 1.4 to 4.5 m; the last camera sees the wand only when the first no longer does."""
    rig = rig_around()
    tracks = tracks_of(rig, Wave(seed=3), {0: (0.0, 16.0), 3: (17.0, 30.0)})
    solution = solve_wand(tracks, rig.cameras, length_m=0.5)
    check(solution, rig, 0.008, 0.003)
    assert solution.pose_covariance.shape == (18, 18) and (solution.seen.sum(axis=0) >= 2).all()
    assert not (solution.seen[0] & solution.seen[3]).any()
    report = judge_wand(solution)
    words = "\n".join(report.lines)
    assert report.grade is not Grade.FAIL and "weakest link: " in words and "the behind camera's stamps are 2" in words
    assert draw_wand(solution, report, f"{tmp_path}/wand.png").stat().st_size > 50_000


@pytest.mark.slow
def test_three_cameras_are_found_by_a_single_marker() -> None:
    """The third camera's distance follows from places that the first two saw at the same moments."""
    rig = rig_around(3)
    solution = solve_wand(
        tracks_of(rig, Wave(n_markers=1, seed=4)),
        rig.cameras,
        distance_m=float(np.linalg.norm(compute_relative_pose(*rig.cameras[:2])[1])),
    )
    check(solution, rig, 0.01, 0.004)


def test_cameras_that_never_see_the_wand_together_are_named() -> None:
    rig = rig_around()
    tracks = tracks_of(rig, Wave(seed=3), {0: (0.0, 14.0), 1: (0.0, 14.0), 2: (16.0, 30.0), 3: (16.0, 30.0)})
    with pytest.raises(
        CalibrationError, match="no camera of front_left, front_right sees the wand together with one of side, behind"
    ):
        solve_wand(tracks, rig.cameras, length_m=0.5, synchronised=True)
