"""A rig of more than two cameras from views that any two share: the truth, its weakest link, cameras that share none."""

from dataclasses import replace
from functools import cache
from itertools import combinations

import numpy as np
import pytest

from calibration.board.views import BoardMoment, BoardView
from calibration.camera import Camera, Rig, compute_relative_pose
from calibration.quality.links import find_weakest_link, measure_camera_link
from calibration.quality.rig import judge_rig_solution
from calibration.quality.rig_picture import draw_rig
from calibration.solve.rig import solve_rig
from calibration.solve.single_camera import KnownLens
from calibration.solve.solution import DropReason, RigSolution
from config.errors import CalibrationError
from database.geometry.rotations import compute_geodesic_rad, matrix_from_rotvec
from tests.calibration.solve.bundle_scenes import BOARD, SIZE, moments_around, places_around, rig_around

NAMES = tuple(camera.name for camera in rig_around().cameras)


def solved(moments: list[BoardMoment], rig: Rig, known: bool = True) -> RigSolution:
    names, lenses = [camera.name for camera in rig.cameras], [KnownLens(camera) for camera in rig.cameras]
    return solve_rig(BOARD, moments, [SIZE] * len(rig), names=names, known=lenses if known else None)


@cache
def four() -> RigSolution:
    """Four cameras, and views that at most two of them share; hardly one that the first and the last do."""
    return solved(moments_around(rig_around(), 90), rig_around())


def check(solution: RigSolution, truth: Rig, limit_m: float, limit_rad: float) -> None:
    """Check distances and angles of all cameras, within four of their own standard deviations, which are small enough."""
    for a, b in combinations(range(len(truth)), 2):
        link = measure_camera_link(solution, a, b)
        length_m, angle_rad = apart(solution, truth, a, b)
        assert abs(length_m) < 4.0 * link.sigma_m < limit_m and angle_rad < 4.0 * link.sigma_rad < limit_rad, (a, b)


def apart(solution: RigSolution, truth: Rig, a: int, b: int) -> tuple[float, float]:
    """Return the errors of distance [m] and angle [rad] of two cameras."""
    poses = [compute_relative_pose(rig.cameras[a], rig.cameras[b]) for rig in (solution.rig, truth)]
    lengths = [float(np.linalg.norm(t)) for _, t in poses]
    return lengths[0] - lengths[1], float(compute_geodesic_rad(poses[0][0], poses[1][0]))


def test_four_cameras_are_found_where_they_stand() -> None:
    """Distances of 1.4 to 4.5 m to a few mm, angles to tenths of a degree."""
    solution = four()
    assert solution.sigma_px == pytest.approx(np.full(4, 0.2), rel=0.1) and solution.rms_px == pytest.approx(0.283, rel=0.05)
    check(solution, rig_around(), 0.04, np.radians(1.0))
    assert not solution.dropped and solution.pose_covariance.shape == (18, 18)


def test_the_report_covers_all_cameras_and_names_the_weakest_link() -> None:
    report = judge_rig_solution(four())
    words = "\n".join(report.lines)
    link = find_weakest_link(four())
    assert f"weakest link: {link.words(four().rig)} share {link.n_shared} views; their distance is known to" in words
    assert all(f"the {name} camera saw boards tilted" in words for name in NAMES)
    assert report.figures["link_views"] == link.n_shared and report.figures["focal_behind_px"] == pytest.approx(655.0, rel=0.01)


def test_a_link_of_few_views_is_the_weakest() -> None:
    """Of the views in which the last camera sees the board with another one, four are kept."""
    kept, few = [], 0
    for moment in moments_around(rig_around(), 90):
        linked = moment.views[3] is not None and len(moment.seen_by) > 1
        few += linked
        kept.append(BoardMoment((*moment.views[:3], None)) if linked and few > 4 else moment)
    solution = solved(kept, rig_around())
    link = find_weakest_link(solution)
    assert "behind" in link.words(solution.rig) and link.n_shared == 4
    assert link.sigma_rad > 1.5 * find_weakest_link(four()).sigma_rad
    line = next(line for line in judge_rig_solution(solution).lines if "weakest link" in line)
    assert "share 4 views" in line and line.endswith("hold the board where both see it, in more places")


def test_cameras_that_share_no_views_are_told_by_groups() -> None:
    moments = [
        BoardMoment(tuple(view if (c < 2) == (k % 2 == 0) else None for c, view in enumerate(moment.views)))
        for k, moment in enumerate(moments_around(rig_around(), 120))
    ]
    with pytest.raises(
        CalibrationError, match="fall into 2 groups: front_left, front_right; side, behind; hold it where"
    ) as caught:
        solved([moment for moment in moments if moment.seen_by], rig_around())
    assert "\n" not in str(caught.value)


def test_a_picture_of_another_moment_is_left_out() -> None:
    """The side camera's view of one moment is exchanged for that of another."""
    moments = moments_around(rig_around(), 90, part=4)
    a, b = [k for k, moment in enumerate(moments) if moment.views[2] is not None and len(moment.seen_by) > 1][3:5]
    views = [list(moments[k].views) for k in (a, b)]
    views[0][2], views[1][2] = views[1][2], views[0][2]
    moments[a], moments[b] = (BoardMoment(tuple(each)) for each in views)
    solution = solved(moments, rig_around())
    assert {dropped.reason for dropped in solution.dropped} == {DropReason.INCONSISTENT} and len(solution.dropped) == 2
    assert abs(apart(solution, rig_around(), 0, 2)[0]) < 0.02


def test_clocks_that_are_apart_are_found_by_a_board_that_moves() -> None:
    """Stamps 12 ms late and 8 ms early; a moment that the first camera does not see tells of the other two."""
    rig, late_s, rng = rig_around(3), (0.0, 0.012, -0.008), np.random.default_rng(5)
    moments = []
    for moment, place in zip(*places_around(rig, 60), strict=True):
        turn, speed = rng.normal(0.0, 0.3, 3), rng.normal(0.0, 0.25, 3)
        views: list[BoardView | None] = []
        for camera, view, late in zip(rig.cameras, moment.views, late_s, strict=True):
            lag_s = rng.uniform(-0.012, 0.012)

            def seen(at_s: float, camera: Camera = camera) -> np.ndarray:
                R = matrix_from_rotvec(at_s * turn) @ matrix_from_rotvec(place[:3])  # noqa: B023
                return np.asarray(camera.project(BOARD.points_m @ R.T + place[3:] + at_s * speed))  # noqa: B023

            stamp_ns = moment.t_ns + round(1e9 * (lag_s + late))
            px = seen(lag_s) + rng.normal(0.0, 0.2, (54, 2))
            velocity = (seen(lag_s + 0.01) - seen(lag_s - 0.01)) / 0.02
            views.append(view and BoardView(px, np.ones(54, bool), stamp_ns, velocity_px_s=velocity))
        moments.append(BoardMoment(tuple(views)))
    lenses = [KnownLens(camera) for camera in rig.cameras]
    solution = solve_rig(BOARD, moments, [SIZE] * 3, names=NAMES[:3], known=lenses, solve_offset=True)
    assert any(moment.views[0] is None and len(moment.seen_by) == 2 for moment in moments)
    assert np.all(solution.offset_sigma_s < 5e-4) and solution.offset_s[0] == 0.0
    assert np.all(np.abs(solution.offset_s - late_s) < 4.0 * solution.offset_sigma_s + 1e-4)


@pytest.mark.parametrize("moved", [0, 2])
def test_the_camera_that_was_moved_is_named(moved: int) -> None:
    """By 4 mm, before the second half of the views; also the first, whose frame is the world."""
    rig = rig_around()
    camera = rig.cameras[moved]
    later = replace(camera, translation=camera.translation + [0.004, 0.001, -0.002])
    after = Rig((*rig.cameras[:moved], later, *rig.cameras[moved + 1 :]))
    first, second = moments_around(rig, 45), moments_around(after, 45, seed=2)
    moments = [*first, *(BoardMoment(tuple(view and replace(view, t_ns=view.t_ns + 10**11) for view in m.views)) for m in second)]
    lines = [line for line in judge_rig_solution(solved(moments, rig)).lines if "was moved during the calibration" in line]
    assert len(lines) == 1 and f"the {camera.name} camera was moved" in lines[0]


def test_four_cameras_are_drawn(tmp_path: object) -> None:
    path = draw_rig(four(), judge_rig_solution(four()), f"{tmp_path}/rig.png")
    assert path.stat().st_size > 50_000
