"""Which views of a board are chosen: sharp, still, no two alike, and those that determine the cameras best."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from calibration.board import Board
from calibration.selection import selected
from calibration.selection_worth import N_LENS, N_RIG, nominal_cameras, pair_information
from calibration.solve_rig import solve_rig
from calibration.views import BoardView, ViewPair
from tests.board_scenes import scene_pairs, scene_views, usual_rig

BOARD = Board("chessboard", 9, 6, 0.025)
SIZES = ((640, 480), (640, 480))


@pytest.fixture(scope="module")
def pairs() -> list[ViewPair]:
    rig = usual_rig()
    return scene_pairs(BOARD, rig, scene_views(BOARD, rig, 60, seed=3), 0.1, seed=4)


def changed(pair: ViewPair, **what: Any) -> ViewPair:
    """Give a pair with something else about its left view."""
    assert pair.left is not None
    return replace(pair, left=replace(pair.left, **what))


def test_all_are_taken_where_there_are_few(pairs: list[ViewPair]) -> None:
    chosen = selected(pairs[:12], SIZES, BOARD, 40)
    assert chosen.pairs == tuple(pairs[:12]) and chosen.words == ()


def test_blurred_and_moving_views_are_left_out_by_name(pairs: list[ViewPair]) -> None:
    spoiled = [changed(pairs[0], blur_px=3.1), changed(pairs[1], moved_px=9.0), *pairs[2:20]]
    chosen = selected(spoiled, SIZES, BOARD, 40)
    assert chosen.pairs[0].left is None and chosen.pairs[0].right is pairs[0].right  # the right view of it is good
    assert chosen.pairs[1].left is None
    assert chosen.words == (
        "1 views left out that are blurred by more than 2.0 px (left00)",
        "1 views left out that moved by more than 6 px while taken (left01)",
    )


def test_moving_views_stay_where_hardly_any_is_still_or_motion_is_wanted(pairs: list[ViewPair]) -> None:
    moving = [changed(pair, moved_px=9.0) for pair in pairs[:10]]
    assert all(pair.left is not None for pair in selected(moving, SIZES, BOARD, 30).pairs)
    some = [*moving, *pairs[10:60]]
    assert all(pair.left is not None for pair in selected(some, SIZES, BOARD, 60, still_only=False).pairs)
    assert sum(pair.left is None for pair in selected(some, SIZES, BOARD, 60).pairs) == 10


def test_of_nearly_the_same_views_the_sharpest_is_kept(pairs: list[ViewPair]) -> None:
    soft = changed(pairs[0], blur_px=1.5)
    moved = changed(replace(pairs[0], left=shifted(pairs[0].left, 2.0)), blur_px=0.9)
    far = replace(pairs[0], left=shifted(pairs[0].left, 12.0))
    chosen = selected([soft, moved, pairs[0], far, pairs[5]], SIZES, BOARD, 40)
    assert len(chosen.pairs) == 3
    assert chosen.pairs[0] is pairs[0] and chosen.pairs[1] is far and chosen.pairs[2] is pairs[5]
    assert chosen.words == ("2 views left out that are nearly the same as others",)


def shifted(view: BoardView | None, by_px: float) -> BoardView:
    assert view is not None
    return replace(view, corners_px=view.corners_px + np.array([by_px, 0.0]))


def test_few_corners_are_no_view(pairs: list[ViewPair]) -> None:
    seen = np.arange(len(BOARD)) < 7
    assert pairs[0].left is not None
    chosen = selected([ViewPair(replace(pairs[0].left, seen=seen), None), *pairs[1:9]], SIZES, BOARD)
    assert chosen.pairs == tuple(pairs[1:9]) and "fewer than 8 corners" in chosen.words[0]


def test_information_is_that_of_the_numbers_it_comes_from(pairs: list[ViewPair]) -> None:
    """The rig's part of a lone view is nothing, of a shared one something; all of it symmetric and without negative worth."""
    cameras = nominal_cameras(pairs, SIZES, BOARD)
    both = pair_information(pairs[0], cameras, BOARD)
    alone = pair_information(ViewPair(pairs[0].left, None), cameras, BOARD)
    np.testing.assert_allclose(both, both.T)
    assert np.linalg.eigvalsh(both).min() > -1e-6 * np.abs(both).max()
    assert np.all(alone[N_LENS:, :] == 0.0) and np.linalg.matrix_rank(both[2 * N_LENS :, 2 * N_LENS :]) == N_RIG - 2 * N_LENS


def test_views_that_face_the_camera_alike_are_mixed_with_tilted_ones(pairs: list[ViewPair]) -> None:
    """Flat ones say nothing of the focal length, tilted ones less of the lens; the choice beats either kind alone."""
    rig = usual_rig()
    flat = scene_pairs(BOARD, rig, scene_views(BOARD, rig, 30, seed=7, tilt_rad=0.02), 0.1, seed=8)
    lone = [ViewPair(pair.left, None) for pair in (*flat, *pairs[:10])]
    chosen = selected(lone, SIZES, BOARD, 10).pairs
    cameras = nominal_cameras(lone, SIZES, BOARD)

    def sigma(some: Sequence[ViewPair]) -> tuple[float, float]:
        total = sum(pair_information(pair, cameras, BOARD)[:N_LENS, :N_LENS] for pair in some)
        return float(np.sqrt(np.linalg.inv(total)[0, 0])), float(np.linalg.slogdet(total)[1])

    focal, determinant = sigma(chosen)
    assert determinant > max(sigma(lone[30:])[1], sigma(lone[:10])[1]) + 1.0
    assert focal < 2.5 < 30.0 < sigma(lone[:10])[0]


@pytest.mark.slow
def test_chosen_views_know_the_cameras_better_than_random_ones(pairs: list[ViewPair]) -> None:
    """By the solver's own covariance: sigma of the focal length and of the baseline."""
    rng = np.random.default_rng(5)

    def sigma(some: tuple[ViewPair, ...]) -> tuple[float, float]:
        solution = solve_rig(BOARD, some, SIZES)
        return float(solution.intrinsic_sigma[0, 0]), float(np.sqrt(solution.relative_covariance[3, 3]))

    ours = sigma(selected(pairs, SIZES, BOARD, 12).pairs)
    others = np.array([sigma(tuple(pairs[i] for i in rng.permutation(60)[:12])) for _ in range(4)])
    assert ours[0] < 0.8 * others[:, 0].mean() and ours[1] < 0.9 * others[:, 1].mean()
