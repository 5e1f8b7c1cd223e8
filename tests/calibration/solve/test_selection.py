"""Which views of a board are chosen: sharp, still, no two alike, and those that determine the cameras best."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from calibration.board.views import BoardMoment, BoardView
from calibration.solve.rig import solve_rig
from calibration.solve.selection import (
    LENS,
    RejectReason,
    compute_moment_information,
    describe_selection,
    estimate_nominal_cameras,
    select_views,
)
from tests.calibration.solve.bundle_scenes import BOARD, SIZE, pairs_of, true_places, true_rig

SIZES = (SIZE, SIZE)


def sharp_pairs(n: int, seed: int, tilt_rad: float = 0.75, far: tuple[float, float] = (0.8, 1.5)) -> list[BoardMoment]:
    """Return views of a board with edges that are blurred by 0.7 px."""
    pairs = pairs_of(true_rig(), true_places(n, seed, tilt_rad, far), 0.1, seed)
    return [BoardMoment(tuple(replace(view, blur_px=0.7) for view in pair.views if view is not None)) for pair in pairs]


@pytest.fixture(scope="module")
def pairs() -> list[BoardMoment]:
    return sharp_pairs(60, 3)


def changed(pair: BoardMoment, **what: Any) -> BoardMoment:
    """Return a pair with something else about its left view."""
    assert pair.views[0] is not None
    return BoardMoment((replace(pair.views[0], **what), *pair.views[1:]))


def test_all_are_taken_where_there_are_few(pairs: list[BoardMoment]) -> None:
    chosen = select_views(pairs[:12], SIZES, BOARD, 40)
    assert chosen.moments == tuple(pairs[:12]) and chosen.rejected == () and describe_selection(chosen) == []


def test_blurred_and_moving_views_are_left_out_by_name(pairs: list[BoardMoment]) -> None:
    spoiled = [changed(pairs[0], blur_px=3.1), changed(pairs[1], moved_px=9.0), *pairs[2:20]]
    chosen = select_views(spoiled, SIZES, BOARD, 40)
    assert chosen.moments[0].views[0] is None and chosen.moments[0].views[1] is pairs[0].views[1]  # the right view of it is good
    assert chosen.moments[1].views[0] is None
    assert describe_selection(chosen) == [
        "1 view left out, blurred by more than 2.0 px (left00)",
        "1 view left out, moved by more than 6 px while taken (left01)",
    ]


def test_moving_views_stay_where_hardly_any_is_still_or_motion_is_wanted(pairs: list[BoardMoment]) -> None:
    moving = [changed(pair, moved_px=9.0) for pair in pairs[:10]]
    assert all(pair.views[0] is not None for pair in select_views(moving, SIZES, BOARD, 30).moments)
    some = [*moving, *pairs[10:60]]
    assert all(pair.views[0] is not None for pair in select_views(some, SIZES, BOARD, 60, still_only=False).moments)
    assert sum(pair.views[0] is None for pair in select_views(some, SIZES, BOARD, 60).moments) == 10


def test_of_nearly_the_same_views_the_sharpest_is_kept(pairs: list[BoardMoment]) -> None:
    soft = changed(pairs[0], blur_px=1.5)
    apply_step = changed(BoardMoment((shifted(pairs[0].views[0], 2.0), pairs[0].views[1])), blur_px=0.9)
    far = BoardMoment((shifted(pairs[0].views[0], 12.0), pairs[0].views[1]))
    chosen = select_views([soft, apply_step, pairs[0], far, pairs[5]], SIZES, BOARD, 40)
    assert len(chosen.moments) == 3
    assert chosen.moments[0] is pairs[0] and chosen.moments[1] is far and chosen.moments[2] is pairs[5]
    assert describe_selection(chosen) == ["2 views left out, nearly the same as others"]


def shifted(view: BoardView | None, by_px: float) -> BoardView:
    assert view is not None
    return replace(view, corners_px=view.corners_px + np.array([by_px, 0.0]))


def test_few_corners_are_no_view(pairs: list[BoardMoment]) -> None:
    seen = np.arange(len(BOARD)) < 7
    assert pairs[0].views[0] is not None
    chosen = select_views([BoardMoment((replace(pairs[0].views[0], seen=seen), None)), *pairs[1:9]], SIZES, BOARD)
    assert chosen.moments == tuple(pairs[1:9]) and chosen.rejected[0].reason is RejectReason.FEW_CORNERS
    assert describe_selection(chosen) == ["1 view left out, with fewer than 8 corners (left00)"]


def test_views_that_face_the_camera_alike_are_mixed_with_tilted_ones(pairs: list[BoardMoment]) -> None:
    """Flat ones say nothing of the focal length, tilted ones less of the lens; the choice beats either kind alone."""
    flat = sharp_pairs(30, 7, 0.02)
    lone = [BoardMoment((pair.views[0], None)) for pair in (*flat, *pairs[:10])]
    chosen = select_views(lone, SIZES, BOARD, 10).moments
    cameras = estimate_nominal_cameras(lone, SIZES, BOARD)

    def sigma(some: Sequence[BoardMoment]) -> tuple[float, float]:
        total = sum(compute_moment_information(pair, cameras, BOARD)[: LENS.n_free, : LENS.n_free] for pair in some)
        return float(np.sqrt(np.linalg.inv(total)[0, 0])), float(np.linalg.slogdet(total)[1])

    assert describe_selection(select_views(lone, SIZES, BOARD, 10))[-1].startswith("10 of 40 distinct views are used")
    focal, determinant = sigma(chosen)
    assert determinant > max(sigma(lone[30:])[1], sigma(lone[:10])[1]) + 1.0
    assert focal < 0.1 * sigma(lone[:10])[0]


@pytest.mark.slow
def test_chosen_views_know_the_cameras_better_than_random_ones() -> None:
    """By the solver's own covariance: sigma of the focal length and of the baseline; most boards face the cameras from afar."""
    pairs = sharp_pairs(20, 3) + sharp_pairs(40, 4, 0.3, (1.3, 1.6))
    rng = np.random.default_rng(5)

    def sigma(some: Sequence[BoardMoment]) -> tuple[float, float]:
        solution = solve_rig(BOARD, tuple(some), SIZES)
        return float(solution.intrinsic_sigma[0, 0]), float(np.sqrt(solution.pose_covariance[3, 3]))

    ours = sigma(select_views(pairs, SIZES, BOARD, 12).moments)
    others = np.array([sigma([pairs[i] for i in rng.permutation(60)[:12]]) for _ in range(2)])
    assert ours[0] < 0.8 * others[:, 0].mean() and ours[1] < 0.9 * others[:, 1].mean(), (ours, others)
