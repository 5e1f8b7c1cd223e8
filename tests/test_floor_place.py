"""Where a board lay: what stays is averaged, what moves is left out."""

from dataclasses import replace

import numpy as np

from calibration.board import board_from_text
from calibration.floor_place import places_of
from calibration.views import BoardView, ViewPair

BOARD = board_from_text("4x3:30")


def view(shift_px: float, moved_px: float = float("nan"), seen: int = 12, name: str = "one") -> BoardView:
    corners = BOARD.points_m[:, :2] * 1e3 + [100.0 + shift_px, 200.0]
    return BoardView(corners, np.arange(12) < seen, 0, name, moved_px=moved_px)


def test_views_of_one_place_are_averaged_without_the_odd_one() -> None:
    """Of 0, 0.4, and 1.5 px the median is 0.4."""
    pairs = [ViewPair(view(shift), view(2.0 * shift)) for shift in (0.0, 0.4, 0.9)]
    (place,) = places_of(BOARD, pairs)
    np.testing.assert_allclose(place.px[0], view(0.4).corners_px)
    np.testing.assert_allclose(place.px[1], view(0.8).corners_px)
    assert place.n_pictures == 3 and place.n_cameras == 2 and place.words == "the board in one and 2 more pictures"


def test_places_are_told_apart_and_ordered_by_pictures() -> None:
    pairs = [ViewPair(view(0.0), None), ViewPair(view(80.0, name="two"), None), ViewPair(view(80.3), None)]
    first, second = places_of(BOARD, pairs)
    assert (first.name, first.n_pictures, second.n_pictures) == ("two", 2, 1)


def test_a_place_is_one_only_if_both_cameras_agree() -> None:
    pairs = [ViewPair(view(0.0), view(0.0)), ViewPair(view(0.0), view(30.0))]
    assert len(places_of(BOARD, pairs)) == 2


def test_what_moves_is_left_out_where_anything_is_still() -> None:
    still, moving = ViewPair(view(0.0, 0.1), None), ViewPair(view(50.0, 6.0), None)
    assert [place.n_pictures for place in places_of(BOARD, [moving, still])] == [1]
    assert len(places_of(BOARD, [moving])) == 1


def test_corners_hidden_in_one_view_come_from_another() -> None:
    part = view(0.0, seen=8)
    whole = view(0.2)
    (place,) = places_of(BOARD, [ViewPair(part, None), ViewPair(whole, None)])
    assert place.seen[0].all() and not place.seen[1].any()
    np.testing.assert_allclose(place.px[0][11], whole.corners_px[11])


def test_too_little_is_nothing() -> None:
    assert places_of(BOARD, [ViewPair(view(0.0, seen=5), None)]) == []
    assert places_of(BOARD, []) == []
    assert len(places_of(BOARD, [ViewPair(replace(view(0.0), name=""), None)])) == 1
