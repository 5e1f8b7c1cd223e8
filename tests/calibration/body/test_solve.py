"""A rig from a body: the true one back from landmarks with noise, exchanges undone, a camera that was moved, nobody there."""

from dataclasses import replace

import numpy as np
import pytest

from calibration.body.quality import compare_rigs, judge_body, measure_pose_sigmas
from calibration.body.solve import BodyInput, BodyScale, BodySolution, solve_body
from calibration.body.views import BodyViews
from calibration.camera import Rig
from calibration.quality.report import Grade
from config.arrays import Floats
from config.errors import CalibrationError
from config.landmarks import LANDMARK_INDEX, MIRRORED, N_LANDMARKS
from database.builtin import build_person_skeleton
from database.geometry.rotations import matrix_from_rotvec
from tests.support.people import person, walk, worn_markers
from tests.support.rigs import synthetic_rig

STATURE_M = 1.75
NOISE_PX = 2.0
SOURCES = np.array([np.arange(N_LANDMARKS), MIRRORED])
WALKER = person("none", 1, build_person_skeleton(STATURE_M))
RIG = synthetic_rig((-1.6, 1.3, 3.6), (1.4, 1.1, 3.4), (0.0, 0.9, 0.0), (640, 480), np.radians(60.0))


def see_walker(rig: Rig = RIG, n: int = 30) -> BodyViews:
    """Return what a rig sees of a walk."""
    clip = walk(WALKER.skeleton, 3)
    at = np.linspace(0, clip.n_frames - 1, n).astype(int)
    point_m = worn_markers(WALKER, clip.rotvec[at], clip.root_m[at])[0]
    rng, landmark = np.random.default_rng(1), WALKER.markers.landmark
    px, seen = np.zeros((len(rig), n, N_LANDMARKS, 2)), np.zeros((len(rig), n, N_LANDMARKS), bool)
    seen[:, :, landmark] = True
    for c, camera in enumerate(rig.cameras):
        px[c][:, landmark] = camera.project(point_m.reshape(-1, 3)).reshape(n, -1, 2)
    return BodyViews(at / clip.fps, px + rng.normal(0.0, NOISE_PX, px.shape), seen)


def solve(views: BodyViews, before: Rig | None = None, scale: BodyScale = BodyScale(STATURE_M)) -> BodySolution:  # noqa: B008
    """Solve."""
    return solve_body(BodyInput(views, RIG.cameras, SOURCES, 0.03), scale, before)


def choose_exchanged(views: BodyViews) -> list[int]:
    """Return four moments at which the second view shows the shoulders widest: seen from the side, both are in one place."""
    left, right = (LANDMARK_INDEX[f"{side}_shoulder"] for side in ("left", "right"))
    wide = np.abs(views.points_px[1, :, left, 0] - views.points_px[1, :, right, 0])
    return sorted(np.argsort(-wide)[:4].tolist())


@pytest.fixture(scope="module")
def solution() -> BodySolution:
    """A walk of which the second view has the sides exchanged now and then."""
    views, which = see_walker(), np.zeros((2, 30), np.int64)
    which[1, choose_exchanged(views)] = 1
    return solve(views.take_landmarks(SOURCES[which]))


def measure_errors(found: BodySolution) -> tuple[float, float]:
    """Return the turn of the second camera beside the first [deg], and the baseline's error, relative."""
    return float(compare_rigs(RIG, found.rig)[0][0]), found.rig.baseline_m / RIG.baseline_m - 1.0


def test_a_walk_tells_where_the_cameras_stand(solution: BodySolution) -> None:
    turn_deg, off = measure_errors(solution)
    assert turn_deg < 1.0
    assert abs(off) < 0.04  # the scale hangs on the proportions of the body
    sigma_deg, sigma_m = measure_pose_sigmas(solution)
    assert 0.1 < sigma_deg[0] < 3.0
    assert 0.01 < sigma_m[0] < 0.4


def test_what_a_view_has_exchanged_is_found(solution: BodySolution) -> None:
    found = np.flatnonzero(solution.exchanged[0] != solution.exchanged[1])
    assert set(choose_exchanged(see_walker())) <= set(found.tolist())
    assert len(found) <= 6  # where the body is seen from the side, nothing tells


def test_a_tape_tells_the_scale() -> None:
    found = solve(see_walker(), RIG, BodyScale(None, RIG.baseline_m))
    assert found.rig.baseline_m == pytest.approx(RIG.baseline_m, rel=1e-6)


def test_a_camera_that_was_turned_is_told() -> None:
    turned = replace(RIG.cameras[1], rotation=matrix_from_rotvec(np.array([[0.0, 0.12, 0.0]]))[0] @ RIG.cameras[1].rotation)
    before = replace(RIG, cameras=(RIG.cameras[0], turned))
    found = solve(see_walker(), before)
    report = judge_body(found, 0.01, before)
    assert any("was moved" in finding.text for finding in report.findings)
    assert compare_rigs(before, found.rig)[0][0] == pytest.approx(np.degrees(0.12), abs=1.5)


def test_the_report_says_what_is_too_little(solution: BodySolution) -> None:
    report = judge_body(solution, 0.05)
    assert report.grade is Grade.POOR
    assert any("the floor is known to" in finding.text for finding in report.findings)
    assert set(report.figures) >= {"turn_sigma_deg", "shift_sigma_mm", "tilt_sigma_deg"}


def test_nobody_in_a_view_is_refused() -> None:
    views = see_walker(n=20)
    seen: Floats = views.seen.copy()
    seen[1] = False
    with pytest.raises(CalibrationError, match="sees nobody"):
        solve(replace(views, seen=seen))
