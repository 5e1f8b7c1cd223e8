"""Floors under boards: two cameras, one, mirror images, several places, boards of another size."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from calibration.board.pattern import board_from_text
from calibration.board.views import BoardMoment, BoardView
from calibration.camera import Rig
from calibration.floor.frame import place_on_floor
from calibration.floor.from_board import find_board_pose, fit_floor_to_board, group_board_positions
from calibration.quality.report import Grade
from config.errors import CalibrationError
from database.geometry.rotations import matrix_from_rotvec
from tests.calibration.floor.scenes import errors, in_left_frame, on_floor, pair_of, view_of, world_rig
from tests.support.rigs import synthetic_rig

BOARD = board_from_text("9x6:40")
AT = np.array([0.05, 0.0, 0.3])


def test_both_cameras_find_it() -> None:
    world = world_rig()
    rig = in_left_frame(world)
    floor = fit_floor_to_board(rig, BOARD, [pair_of(BOARD, world, on_floor(), 0.1, seed) for seed in range(5)])
    tilt, height = errors(world, rig, floor, AT)
    assert tilt < 3.0 * np.degrees(floor.tilt_sigma_rad) < 0.3
    assert abs(height) < 3.0 * floor.height_sigma_m + 1e-4 < 1e-3
    assert abs(floor.size_ratio - 1.0) < 4.0 * floor.size_sigma < 0.01
    assert (
        not floor.one_camera
        and all(finding.grade is Grade.PASS for finding in floor.findings)
        and floor.figures["reprojection_px"] < 0.15
    )


def test_three_cameras_find_it() -> None:
    """The third stands at the side; the first does not see the board."""
    two = world_rig()
    side = synthetic_rig((2.4, 1.4, 0.6), (2.9, 1.4, 0.6), (0.0, 0.2, 0.2)).cameras[0]
    world = Rig((*two.cameras, replace(side, name="side")))
    rig = in_left_frame(world)
    moments = [
        BoardMoment(
            (None, *(view_of(BOARD, camera, on_floor(), 0.1, np.random.default_rng(seed)) for camera in world.cameras[1:]))
        )
        for seed in range(5)
    ]
    floor = fit_floor_to_board(rig, BOARD, moments)
    tilt, height = errors(world, rig, floor, AT)
    assert tilt < 0.3 and abs(height) < 2e-3 and not floor.one_camera and abs(floor.size_ratio - 1.0) < 0.01


def test_origin_is_its_middle_and_z_along_the_edge_that_points_to_the_cameras() -> None:
    world = world_rig()
    floor = fit_floor_to_board(in_left_frame(world), BOARD, [pair_of(BOARD, world, on_floor(0.25), 0.01)])
    got = place_on_floor(in_left_frame(world), floor)
    turn = np.array([[np.cos(0.25), 0.0, np.sin(0.25)], [0.0, 1.0, 0.0], [-np.sin(0.25), 0.0, np.cos(0.25)]])
    middle = AT + turn @ [0.16, 0.0, 0.1]  # of 9x6 inner corners 40 mm apart; its y runs towards +Z
    for camera, true in zip(got.cameras, world.cameras, strict=True):
        np.testing.assert_allclose(camera.center_m, turn.T @ (true.center_m - middle), atol=2e-3)
        assert camera.center_m[2] > 1.5


@pytest.mark.parametrize("sees", [(True, False), (False, True)])
def test_one_camera_finds_it_too(sees: tuple[bool, bool]) -> None:
    world = world_rig()
    rig = in_left_frame(world)
    floor = fit_floor_to_board(rig, BOARD, [pair_of(BOARD, world, on_floor(), 0.1, seed, sees) for seed in range(5)])
    tilt, height = errors(world, rig, floor, AT)
    assert tilt < 0.5 and abs(height) < 0.006 and floor.one_camera and np.isnan(floor.size_ratio)


def test_a_lone_camera() -> None:
    world = world_rig()
    lone = Rig((world.cameras[0],))
    pair = pair_of(BOARD, world, on_floor(), 0.1)
    floor = fit_floor_to_board(lone, BOARD, [BoardMoment((pair.views[0], None))])
    assert np.degrees(np.arccos(floor.up[1])) < 0.5 and floor.one_camera


def far_board() -> tuple[Rig, np.ndarray]:
    """A small board far off: its mirror image fits one camera next to as well."""
    world = synthetic_rig((-0.5, 3.0, 4.0), (0.5, 3.0, 4.0), (0.0, 0.2, 0.0))
    return world, on_floor(0.1, (-0.1, 0.0, 0.0))


def fooling_seeds(seeds: Sequence[int]) -> list[int]:
    """Return the noises with which the pose of least error of one camera is the mirror image."""
    world, pose = far_board()
    small = board_from_text("9x6:25")
    fooled = []
    for seed in seeds:
        found = find_board_pose(
            world, small, group_board_positions(small, [pair_of(small, world, pose, 0.4, seed, (True, False))])[0]
        )
        assert np.sqrt(2.0 * found.cost / (found.n_numbers / 2)) < 0.7, "an error of the corners like any other"
        if found.up[1] < 0.8:
            assert not found.is_sure
            fooled.append(seed)
    return fooled


def test_the_mirror_image_fools_one_camera_but_not_the_floor() -> None:
    """A hundred degrees off at a small error; two cameras rule it out, for one what is up in the picture does."""
    world, pose = far_board()
    small, fooled = board_from_text("9x6:25"), fooling_seeds(range(8, 20))
    assert fooled
    for seed in (*fooled, 3):
        for sees in ((True, True), (True, False)):
            floor = fit_floor_to_board(world, small, [pair_of(small, world, pose, 0.4, seed, sees)])
            assert np.degrees(np.arccos(np.clip(floor.up[1], -1.0, 1.0))) < (3.0 if all(sees) else 4.0)
            assert abs(floor.origin_m[1]) < 0.1


def test_several_places_make_one_plane() -> None:
    """Three places half a metre apart tell the tilt far better than one."""
    world = world_rig((0.0, 0.3, 0.3))
    rig = in_left_frame(world)
    poses = [on_floor(0.2, (0.0, 0.0, 0.4)), on_floor(-0.4, (-0.6, 0.0, 0.2)), on_floor(1.0, (0.5, 0.0, -0.4))]
    pairs = [pair_of(BOARD, world, pose, 0.2, seed) for seed, pose in enumerate(poses)]
    one, all_three = (fit_floor_to_board(rig, BOARD, some) for some in (pairs[:1], pairs))
    assert all_three.figures["places"] == 3.0
    assert all_three.tilt_sigma_rad < 0.6 * one.tilt_sigma_rad
    assert errors(world, rig, all_three, AT)[0] < 0.1


def test_a_board_in_a_hand_is_left_out() -> None:
    world = world_rig()
    rig = in_left_frame(world)
    held = np.concatenate([[0.3, 0.2, 0.1], [0.0, 0.7, 0.4]])
    pairs = [pair_of(BOARD, world, held, 0.1), *(pair_of(BOARD, world, on_floor(), 0.1, seed) for seed in (1, 2, 3))]
    floor = fit_floor_to_board(rig, BOARD, pairs)
    assert errors(world, rig, floor, AT)[0] < 0.2
    assert any("not in the plane" in finding.text for finding in floor.findings)


def test_a_board_of_another_size_is_told_and_the_rig_believed() -> None:
    """Squares of 41 mm said to be 40: 2.5% too large in the rig, and the floor where it is."""
    world = world_rig()
    rig = in_left_frame(world)
    larger = board_from_text("9x6:41")
    pairs = [pair_of(larger, world, on_floor(), 0.1, seed) for seed in range(5)]
    floor = fit_floor_to_board(rig, BOARD, pairs)
    assert abs(floor.size_ratio - 1.025) < 0.002
    tilt, height = errors(world, rig, floor, AT)
    assert tilt < 0.2 and abs(height) < 0.002
    scaled = place_on_floor(rig, replace(floor, scale=1.0 / floor.size_ratio))
    assert abs(scaled.baseline_m - rig.baseline_m / 1.025) < 0.003


def test_thickness_lowers_the_floor() -> None:
    world = world_rig()
    rig = in_left_frame(world)
    pair = pair_of(BOARD, world, on_floor(0.25, (0.05, 0.018, 0.3)), 0.02)
    assert abs(errors(world, rig, fit_floor_to_board(rig, BOARD, [pair], 0.018), AT)[1]) < 1e-3
    assert abs(errors(world, rig, fit_floor_to_board(rig, BOARD, [pair]), AT)[1] + 0.018) < 1e-3


def test_too_few_corners() -> None:
    world = world_rig()
    pair = pair_of(BOARD, world, on_floor())
    assert pair.views[0] is not None
    few = np.zeros(len(BOARD), bool)
    few[:5] = True
    with pytest.raises(CalibrationError, match="nowhere seen with 6 corners"):
        fit_floor_to_board(world, BOARD, [BoardMoment((replace(pair.views[0], seen=few), None))])


def test_left_and_right_swapped() -> None:
    world = world_rig()
    pair = pair_of(BOARD, world, on_floor())
    with pytest.raises(CalibrationError, match="left and right are swapped"):
        fit_floor_to_board(in_left_frame(world), BOARD, [BoardMoment((pair.views[1], pair.views[0]))])


def test_a_camera_that_was_moved() -> None:
    """By 5 degrees since the rig was calibrated."""
    world = world_rig()
    pair = pair_of(BOARD, world, on_floor())
    rig = in_left_frame(world)
    turned = matrix_from_rotvec(np.array([0.09, 0.0, 0.0])) @ rig.cameras[1].rotation
    moved = replace(rig, cameras=(rig.cameras[0], replace(rig.cameras[1], rotation=np.ascontiguousarray(turned))))
    with pytest.raises(CalibrationError, match="a camera was moved since"):
        fit_floor_to_board(moved, BOARD, [pair])


# Positions of a board: what stays is averaged, what moves is left out.

SMALL = board_from_text("4x3:30")


def view(shift_px: float, moved_px: float = float("nan"), seen: int = 12, name: str = "one") -> BoardView:
    corners = SMALL.points_m[:, :2] * 1e3 + [100.0 + shift_px, 200.0]
    return BoardView(corners, np.arange(12) < seen, 0, name, moved_px=moved_px)


def test_views_of_one_place_are_averaged_without_the_odd_one() -> None:
    """Of 0, 0.4, and 1.5 px the median is 0.4."""
    pairs = [BoardMoment((view(shift), view(2.0 * shift))) for shift in (0.0, 0.4, 0.9)]
    (place,) = group_board_positions(SMALL, pairs)
    np.testing.assert_allclose(place.px[0], view(0.4).corners_px)
    np.testing.assert_allclose(place.px[1], view(0.8).corners_px)
    assert place.n_pictures == 3 and place.n_cameras == 2 and place.title == "the board in one and 2 more pictures"


def test_places_are_told_apart_and_ordered_by_pictures() -> None:
    pairs = [BoardMoment((view(0.0), None)), BoardMoment((view(80.0, name="two"), None)), BoardMoment((view(80.3), None))]
    first, second = group_board_positions(SMALL, pairs)
    assert (first.name, first.n_pictures, second.n_pictures) == ("two", 2, 1)


def test_a_place_is_one_only_if_both_cameras_agree() -> None:
    pairs = [BoardMoment((view(0.0), view(0.0))), BoardMoment((view(0.0), view(30.0)))]
    assert len(group_board_positions(SMALL, pairs)) == 2


def test_what_moves_is_left_out_where_anything_is_still() -> None:
    still, moving = BoardMoment((view(0.0, 0.1), None)), BoardMoment((view(50.0, 6.0), None))
    assert [place.n_pictures for place in group_board_positions(SMALL, [moving, still])] == [1]
    assert len(group_board_positions(SMALL, [moving])) == 1


def test_corners_hidden_in_one_view_come_from_another() -> None:
    part = view(0.0, seen=8)
    whole = view(0.2)
    (place,) = group_board_positions(SMALL, [BoardMoment((part, None)), BoardMoment((whole, None))])
    assert place.seen[0].all() and not place.seen[1].any()
    np.testing.assert_allclose(place.px[0][11], whole.corners_px[11])


def test_too_little_is_nothing() -> None:
    assert group_board_positions(SMALL, [BoardMoment((view(0.0, seen=5), None))]) == []
    assert group_board_positions(SMALL, []) == []
    assert len(group_board_positions(SMALL, [BoardMoment((replace(view(0.0), name=""), None))])) == 1
