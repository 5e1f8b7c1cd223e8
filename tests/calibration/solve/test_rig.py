"""A rig from views of a board: the truth within its bound, wrong views left out, and bad input told in one line."""

from dataclasses import replace

import numpy as np
import pytest

from calibration.board.pattern import Board
from calibration.board.views import BoardMoment, BoardView
from calibration.quality.rig import judge_rig_solution
from calibration.solve.board_pose import find_pose_candidates, mirror_board_pose
from calibration.solve.equations import select_state_views, state_from_rig
from calibration.solve.rig import solve_camera, solve_rig
from calibration.solve.single_camera import KnownLens, pack_observations, unmirror_poses
from calibration.solve.solution import DropReason, LensModel, describe_dropped
from config.errors import CalibrationError
from database.geometry.rotations import compute_geodesic_rad, matrix_from_rotvec, rotvec_from_matrix
from tests.calibration.solve.bundle_scenes import BOARD, SIZE, cramer_rao, pairs_of, true_places, true_rig
from tests.zoo.calibrations import BOARD as FISHEYE_BOARD
from tests.zoo.calibrations import board_poses, seen_pairs
from tests.zoo.lenses import fisheyes

SIZES = (SIZE, SIZE)
TRUE_LENS = LensModel(("k1", "k2"))


def right_view(view: BoardView | None) -> BoardView:
    assert view is not None
    return view


def test_the_truth_is_found_within_its_bound() -> None:
    """Errors within four sigmas of the Cramer-Rao bound, and the sigmas stated are those of the bound."""
    rig, places = true_rig(), true_places(14)
    bound = cramer_rao(rig, BOARD, places, 0.2, [TRUE_LENS, TRUE_LENS])
    solution = solve_rig(BOARD, pairs_of(rig, places, 0.2), SIZES)
    for c in range(2):
        ours, true = solution.rig.cameras[c].matrix, rig.cameras[c].matrix
        assert abs(ours[0, 0] - true[0, 0]) < 4.0 * bound.intrinsic_sigma[c, 0]
        assert abs(ours[1, 2] - true[1, 2]) < 4.0 * bound.intrinsic_sigma[c, 3]
        assert solution.intrinsic_sigma[c, 0] == pytest.approx(bound.intrinsic_sigma[c, 0], rel=0.5)
    rotvec, true_rotvec = (rotvec_from_matrix(r.cameras[1].rotation) for r in (solution.rig, rig))
    off = np.concatenate([rotvec - true_rotvec, solution.rig.cameras[1].translation - rig.cameras[1].translation])
    sigma = np.sqrt(np.diag(bound.pose_covariance))
    assert (np.abs(off) < 4.0 * sigma).all()
    assert np.sqrt(np.diag(solution.pose_covariance)) == pytest.approx(sigma, rel=0.5)
    assert solution.sigma_px == pytest.approx([0.2, 0.2], rel=0.1)
    assert solution.rms_px == pytest.approx(0.2 * np.sqrt(2.0), rel=0.1) and solution.rig.error_px == solution.rms_px
    assert all("k1" in lens and "k3" not in lens for lens in solution.lenses)
    assert not solution.dropped and solution.used.all()
    np.testing.assert_array_equal(solution.rig.cameras[0].rotation, np.eye(3))


def test_without_noise_it_is_exact() -> None:
    rig = true_rig()
    solution = solve_rig(BOARD, pairs_of(rig, true_places(6), 0.0), SIZES)
    assert solution.rig.baseline_m == pytest.approx(rig.baseline_m, rel=1e-4)
    assert solution.rms_px < 0.01


def test_one_camera_alone() -> None:
    rig, places = true_rig(), true_places(9)
    views = [right_view(pair.views[0]) for pair in pairs_of(rig, places, 0.2)]
    solution = solve_camera(BOARD, views, SIZE, name="webcam")
    sigma = cramer_rao(replace(rig, cameras=rig.cameras[:1]), BOARD, places, 0.2, [TRUE_LENS]).intrinsic_sigma[0, 0]
    assert solution.rig.is_monocular and solution.rig.cameras[0].name == "webcam"
    assert abs(solution.rig.cameras[0].matrix[0, 0] - 610.0) < 4.0 * sigma
    assert solution.used.all() and len(solution.used) == 1


def test_a_stretched_and_bent_board_is_told_and_allowed_for() -> None:
    """Squares 0.6 % wider than high, and a bow of about 2 mm; flat, the corners cannot be explained."""
    rig, places = true_rig(), true_places(12)
    x, y = (BOARD.points_m - BOARD.points_m.mean(axis=0))[:, :2].T
    points = BOARD.points_m + np.column_stack([0.003 * x, -0.003 * y, 0.5 * 0.25 * x * x])
    pairs = []
    rng = np.random.default_rng(8)
    for pair, place in zip(pairs_of(rig, places, 0.0), places, strict=True):
        world = points @ matrix_from_rotvec(place[:3]).T + place[3:]
        px = [camera.project(world) + rng.normal(0.0, 0.1, (54, 2)) for camera in rig.cameras]
        views = [replace(right_view(view), corners_px=p) for view, p in zip(pair.views, px, strict=True)]
        pairs.append(BoardMoment((views[0], views[1])))
    solution = solve_rig(BOARD, pairs, SIZES)
    assert solution.form is not None and solution.form.stretch == pytest.approx(0.006, abs=6e-4) and solution.form.bend_m > 8e-4
    told = [finding.text for finding in judge_rig_solution(solution).findings]
    assert any("wider than high" in text for text in told) and any("board is bent" in text for text in told)
    assert solution.board_form[0] == pytest.approx(0.003, abs=3e-4) and solution.sigma_px.max() < 0.13
    assert solution.rig.baseline_m == pytest.approx(rig.baseline_m, rel=2e-3)


@pytest.mark.parametrize("known", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["known lenses", "unknown lenses"])
def test_wrong_corners_and_wrong_pairs_are_left_out(known: bool) -> None:
    """Of 14 views: two pairs of different moments, a view of one camera smeared by 5 px, and single corners off."""
    rig, places = true_rig(), true_places(14)
    pairs, rng = pairs_of(rig, places, 0.2), np.random.default_rng(4)
    pairs[3], pairs[11] = (
        BoardMoment((pairs[3].views[0], pairs[11].views[1])),
        BoardMoment((pairs[11].views[0], pairs[3].views[1])),
    )
    smeared = right_view(pairs[6].views[1])
    pairs[6] = BoardMoment((None, replace(smeared, corners_px=smeared.corners_px + rng.normal(0.0, 5.0, (54, 2)))))
    off = right_view(pairs[8].views[0]).corners_px.copy()
    off[[7, 30]] += [[6.0, -3.0], [-4.0, 8.0]]
    pairs[8] = BoardMoment((replace(right_view(pairs[8].views[0]), corners_px=off), pairs[8].views[1]))
    solution = solve_rig(BOARD, pairs, SIZES, known=(KnownLens(rig.cameras[0]), KnownLens(rig.cameras[1])) if known else None)
    reasons = {right_view(dropped.moment.views[1]).name: dropped.reason for dropped in solution.dropped}
    apart = DropReason.INCONSISTENT
    assert reasons == {"right11": apart, "right03": apart, "right06": DropReason.OUTLIER}
    lines = [describe_dropped(dropped) for dropped in solution.dropped]
    assert "left03 and right11: the two pictures do not show the board in one place" in lines
    assert any(line.startswith("right06: corners are ") and line.endswith("px") for line in lines)
    assert len(solution.moments) == 11 == len(solution.board_to_world)
    view = [right_view(pair.views[0]).name for pair in solution.moments].index("left08")
    assert not solution.used[0, view, [7, 30]].any() and solution.used[0, view].sum() == 52
    sigma_m = np.sqrt(np.diag(cramer_rao(rig, BOARD, places, 0.2, [TRUE_LENS, TRUE_LENS]).pose_covariance)[3:].sum())
    assert abs(solution.rig.baseline_m - rig.baseline_m) < 5.0 * sigma_m


def test_views_of_one_camera_alone_take_part() -> None:
    rig, places = true_rig(), true_places(8)
    pairs = pairs_of(rig, places, 0.2)
    pairs[2], pairs[6] = BoardMoment((pairs[2].views[0], None)), BoardMoment((None, pairs[6].views[1]))
    solution = solve_rig(BOARD, pairs, SIZES, known=(KnownLens(rig.cameras[0]), KnownLens(rig.cameras[1])))
    assert len(solution.moments) == 8
    assert solution.used[0, 2].all() and not solution.used[1, 2].any()
    assert solution.used[1, 6].all() and not solution.used[0, 6].any()
    np.testing.assert_allclose(solution.board_to_world[:, 3:], places[:, 3:], atol=0.01)


def test_the_mirrored_place_is_seen_through() -> None:
    """Far away, in noise, one camera alone takes mirrored places for true ones; both together do not."""
    rig = true_rig(1.2, 0.28)
    places = true_places(16, seed=5, tilt_rad=0.45, far=(4.0, 5.0), rig=rig)
    pairs = pairs_of(rig, places, 0.3, seed=6)
    seen = pack_observations(BOARD, pairs, False)
    fooled = np.zeros(16, bool)
    for c, camera in enumerate(rig.cameras):
        mine = seen.of_camera(c)
        k = state_from_rig(rig, places).intrinsics[c]
        state = find_pose_candidates(k, mine).state
        true = camera.rotation @ matrix_from_rotvec(places[:, :3])
        fooled |= np.asarray(compute_geodesic_rad(state.board_rotation[:16], true)) > np.radians(20.0)
    assert fooled.sum() >= 2, "the scene must fool a camera alone, else it tests nothing"
    cameras = tuple(rig.cameras)
    solution = solve_rig(BOARD, pairs, SIZES, known=(KnownLens(cameras[0]), KnownLens(cameras[1])))
    turned = compute_geodesic_rad(matrix_from_rotvec(solution.board_to_world[:, :3]), matrix_from_rotvec(places[:, :3]))
    assert len(solution.moments) == 16 and np.degrees(turned).max() < 12.0
    assert solution.rig.baseline_m == pytest.approx(rig.baseline_m, rel=0.03)


def test_an_adjustment_that_began_mirrored_gets_out() -> None:
    """All cameras right, two places of twelve mirrored: the adjustment alone stays in that valley, the check leaves it."""
    rig, places = true_rig(), true_places(12)
    seen = pack_observations(BOARD, pairs_of(rig, places, 0.2), False)
    true = state_from_rig(rig, places)
    R, t = mirror_board_pose(true.board_rotation, true.board_translation, BOARD.points_m.mean(axis=0))
    wrong = np.zeros(12, bool)
    wrong[[2, 7]] = True
    start = replace(
        true,
        board_rotation=np.where(wrong[:, None, None], R, true.board_rotation),
        board_translation=np.where(wrong[:, None], t, true.board_translation),
    )
    state, n_changed = unmirror_poses(start, seen)
    assert n_changed >= 2
    assert np.degrees(compute_geodesic_rad(state.board_rotation, true.board_rotation)).max() < 2.0
    assert unmirror_poses(select_state_views(true, np.arange(12)), seen)[1] == 0


def test_intrinsics_held_and_as_a_first_guess() -> None:
    rig, places = true_rig(), true_places(8)
    pairs, known = pairs_of(rig, places, 0.2), (rig.cameras[0], rig.cameras[1])
    held = solve_rig(BOARD, pairs[:3], SIZES, known=[KnownLens(camera) for camera in known])
    assert held.fixed_intrinsics and not held.intrinsic_sigma.any()
    np.testing.assert_array_equal(held.rig.cameras[1].matrix, rig.cameras[1].matrix)
    off = tuple(
        replace(c, matrix=c.matrix + np.diag([9.0, 9.0, 0.0]), rotation=c.rotation, translation=c.translation) for c in known
    )
    sigma = np.array([12.0, 12.0, 3.0, 3.0, 0, 0, 0, 0, 0])
    guess = solve_rig(BOARD, pairs, SIZES, known=[KnownLens(camera, sigma) for camera in off])
    assert abs(guess.rig.cameras[0].matrix[0, 0] - 610.0) < 4.0 and (guess.intrinsic_sigma[:, 0] < 12.0).all()
    np.testing.assert_array_equal(guess.rig.cameras[0].distortions, rig.cameras[0].distortions)


def test_the_time_offset_is_solved_for() -> None:
    """The right camera's stamps are 12 ms late and the board moves through the picture at 100 px/s and more."""
    rig, places, rng = true_rig(), true_places(10), np.random.default_rng(7)
    pairs = []
    for i, place in enumerate(places):
        turn, speed = rng.normal(0.0, 0.3, 3), rng.normal(0.0, 0.25, 3)
        lag_s = rng.uniform(-0.015, 0.015)

        def seen(camera_index: int, at_s: float) -> np.ndarray:
            R = matrix_from_rotvec(at_s * turn) @ matrix_from_rotvec(place[:3])  # noqa: B023
            return np.asarray(rig.cameras[camera_index].project(BOARD.points_m @ R.T + place[3:] + at_s * speed))  # noqa: B023

        everything = np.ones(54, bool)
        left = BoardView(seen(0, 0.0) + rng.normal(0.0, 0.2, (54, 2)), everything, t_ns=10**9 * i)
        velocity = (seen(1, 0.01) - seen(1, -0.01)) / 0.02
        stamp_ns = 10**9 * i + round(1e9 * (lag_s + 0.012))
        right = BoardView(seen(1, lag_s) + rng.normal(0.0, 0.2, (54, 2)), everything, stamp_ns, velocity_px_s=velocity)
        pairs.append(BoardMoment((left, right)))
    solution = solve_rig(BOARD, pairs, SIZES, known=(KnownLens(rig.cameras[0]), KnownLens(rig.cameras[1])), solve_offset=True)
    assert solution.offset_s[0] == 0.0 and 0.0 < solution.offset_sigma_s[1] < 5e-4
    assert abs(solution.offset_s[1] - 0.012) < 4.0 * solution.offset_sigma_s[1] + 1e-4
    assert solution.rig.baseline_m == pytest.approx(rig.baseline_m, rel=0.01)


def bad(pairs: list[BoardMoment], **options: object) -> str:
    with pytest.raises(CalibrationError) as caught:
        solve_rig(BOARD, pairs, SIZES, **options)  # type: ignore[arg-type]
    text = str(caught.value)
    assert "\n" not in text and len(text) < 330
    return text


def test_too_few_or_all_the_same() -> None:
    rig, places = true_rig(), true_places(8)
    pairs = pairs_of(rig, places, 0.1)
    assert "3 views of the board; at least 4" in bad(pairs[:3])
    assert "in one place; move it" in bad([pairs[0]] * 8)
    lonely = [BoardMoment((p.views[0], None)) if i % 2 else BoardMoment((None, p.views[1])) for i, p in enumerate(pairs)]
    assert "together 0 times" in bad([*lonely])


def test_views_that_are_all_parallel_do_not_tell_the_focal_length() -> None:
    rig = true_rig()
    places = true_places(6)
    places[:, :3] = [0.02, -0.01, 0.1]
    places[:, 3:] *= [0.5, 0.5, 1.0]
    assert "tilt the board" in bad(pairs_of(rig, places, 0.2))


def test_left_and_right_swapped() -> None:
    rig = true_rig()
    swapped = [BoardMoment((pair.views[1], pair.views[0])) for pair in pairs_of(rig, true_places(4), 0.1)]
    assert "left and right are swapped" in bad(swapped, known=(KnownLens(rig.cameras[1]), KnownLens(rig.cameras[0])))


def test_numbers_that_are_none_and_pictures_of_another_size() -> None:
    pairs = pairs_of(true_rig(), true_places(8), 0.1)
    nan = right_view(pairs[2].views[1]).corners_px.copy()
    nan[4, 1] = np.nan
    broken = [*pairs[:2], BoardMoment((pairs[2].views[0], replace(right_view(pairs[2].views[1]), corners_px=nan))), *pairs[3:]]
    assert "not a finite number" in bad(broken) and "right02" in bad(broken)
    with pytest.raises(CalibrationError, match="outside pictures of 320x240"):
        solve_rig(BOARD, pairs, ((320, 240), SIZE))
    small = replace(true_rig().cameras[0], size=(320, 240), rotation=np.eye(3), translation=np.zeros(3))
    assert "320x240" in bad(pairs, known=(KnownLens(small), KnownLens(true_rig().cameras[1])))


def test_the_wrong_board() -> None:
    pairs = pairs_of(true_rig(), true_places(8), 0.1)
    with pytest.raises(CalibrationError, match="54 corners; the board chessboard:8x6:30 has 48"):
        solve_rig(Board("chessboard", 8, 6, 0.03), pairs, SIZES)
    with pytest.raises(CalibrationError, match="off any place of the board chessboard:6x9:30"):
        solve_rig(Board("chessboard", 6, 9, 0.03), pairs, SIZES)


def test_pictures_that_do_not_belong_together() -> None:
    rig = true_rig()
    pairs = pairs_of(rig, true_places(8), 0.1)
    mixed = [BoardMoment((pairs[i].views[0], pairs[(5 * i + 3) % 8].views[1])) for i in range(8)]
    assert "pictures belong together" in bad(mixed, known=(KnownLens(rig.cameras[0]), KnownLens(rig.cameras[1])))


def test_corners_in_one_line_are_no_view() -> None:
    """One row of corners does not determine the board's tilt: such views neither count nor harm."""
    rig, places = true_rig(), true_places(8)
    pairs = pairs_of(rig, places, 0.1)
    row = np.arange(54) < 9
    lines = [
        BoardMoment((replace(right_view(p.views[0]), seen=row.copy()), replace(right_view(p.views[1]), seen=row.copy())))
        for p in pairs
    ]
    solution = solve_rig(BOARD, [*lines[:3], *pairs[3:]], SIZES, known=(KnownLens(rig.cameras[0]), KnownLens(rig.cameras[1])))
    assert len(solution.moments) == 5 and solution.rig.baseline_m == pytest.approx(rig.baseline_m, rel=5e-3)
    assert "0 views of the board" in bad(lines)


@pytest.mark.slow
def test_fisheyes_are_known_by_the_views_left_out() -> None:
    """Chosen by itself for two cameras and for one, and kept where it is known: four views then tell where the cameras stand."""
    rig = fisheyes()
    pairs, sizes = seen_pairs(rig, board_poses(rig, 12, 1)), (rig.cameras[0].size, rig.cameras[1].size)
    chosen = solve_rig(FISHEYE_BOARD, pairs, sizes)
    alone = solve_camera(FISHEYE_BOARD, [pair.views[0] for pair in pairs if pair.views[0] is not None], sizes[0])
    held = solve_rig(FISHEYE_BOARD, pairs[:4], sizes, known=[KnownLens(camera) for camera in rig.cameras])
    for solution in (chosen, alone, held):
        assert solution.rig.cameras[0].fisheye
        assert solution.rig.cameras[0].focal_px == pytest.approx(rig.cameras[0].focal_px, rel=0.002)
        assert solution.rms_px == pytest.approx(0.14, abs=0.02)  # the noise of both coordinates
    for solution in (chosen, held):
        assert solution.rig.baseline_m == pytest.approx(rig.baseline_m, rel=0.01)
    pinhole, fisheye = (
        [error for name, error in chosen.held_out_px.items() if name.startswith("fisheye") == wide] for wide in (False, True)
    )
    assert min(fisheye) < 0.95 * min(pinhole)
    assert not solve_rig(FISHEYE_BOARD, pairs, sizes, lens="pinhole").rig.cameras[0].fisheye
