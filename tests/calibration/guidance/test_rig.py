"""Guidance with a board: how it lies in a picture, which views are kept, what is said, and when it is enough."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.board.views import BoardView
from calibration.guidance.advice import Advice
from calibration.guidance.board import COLUMNS, ROWS, Stillness, measure_view_shape
from calibration.guidance.rig import BLURRED, BOTH, CELL_CORNERS, ENOUGH, ENOUGH_VIEWS, HOLD, MAX_VIEWS, NOTHING, RigGuide
from tests.calibration.guidance.views import BOARD, SIZE, board_view


def shape_of(view: BoardView):  # type: ignore[no-untyped-def]
    shape = measure_view_shape(view, BOARD, SIZE)
    assert shape is not None
    return shape


def test_a_board_front_on_in_the_middle() -> None:
    shape = shape_of(board_view(distance_m=0.576))
    # 0.12 x 0.09 m at 0.576 m with a focal length of 576 px: 120 x 90 px in 640 x 480
    assert shape.middle == pytest.approx([0.5, 0.5])
    assert shape.size == pytest.approx(np.sqrt(120 * 90 / (640 * 480)))
    assert shape.lean == pytest.approx([0.0, 0.0], abs=1e-9)
    assert shape.turn_rad == pytest.approx(0.0, abs=1e-9)


def test_the_nearer_edge_is_the_longer_one() -> None:
    """What the words rest on: the top edge towards the camera looks longer, whatever this module makes of it."""
    corners = board_view(pitch_deg=25).corners_px.reshape(BOARD.rows, BOARD.columns, 2)
    top, bottom = (np.linalg.norm(row[-1] - row[0]) for row in (corners[0], corners[-1]))
    assert top > 1.02 * bottom
    assert shape_of(board_view(pitch_deg=25)).lean[1] < -0.2


@settings(max_examples=40, deadline=None)
@given(st.floats(-35, 35), st.floats(-35, 35), st.floats(0.3, 0.7), st.floats(0.3, 0.7), st.floats(0.4, 1.5))
def test_tilt_comes_back_wherever_the_board_is(pitch: float, yaw: float, x: float, y: float, distance_m: float) -> None:
    a, b = np.radians(pitch), np.radians(yaw)
    normal = np.array([np.sin(b) * np.cos(a), -np.sin(a), np.cos(b) * np.cos(a)])
    shape = shape_of(board_view(x, y, distance_m, pitch, yaw))
    assert shape.lean == pytest.approx(normal[:2] / normal[2], abs=1e-5)


def test_too_few_corners_or_a_line_of_them_tell_nothing() -> None:
    view = board_view()
    few, line = np.zeros(len(BOARD), bool), np.zeros(len(BOARD), bool)
    few[:5] = True
    line[:5] = line[0] = True
    assert measure_view_shape(BoardView(view.corners_px.copy(), few), BOARD, SIZE) is None
    wide = board_view(board=type(BOARD)("chessboard", 8, 4, 0.03))
    row = np.zeros(32, bool)
    row[:8] = True
    assert measure_view_shape(BoardView(wide.corners_px.copy(), row), type(BOARD)("chessboard", 8, 4, 0.03), SIZE) is None


def test_distance_is_small_for_the_same_and_large_for_another_view() -> None:
    first = shape_of(board_view())
    assert first.distance(shape_of(board_view(shift_px=3.0))) < 0.2
    for other in (board_view(x=0.6), board_view(pitch_deg=12), board_view(distance_m=0.75)):
        assert first.distance(shape_of(other)) > 1.0
        assert shape_of(other).distance(first) == pytest.approx(first.distance(shape_of(other)))


TICK_MS = 100.0


def held(guide: RigGuide, t_ms: float, ticks: int = 8, right: bool = True, left: bool = True, **where: float) -> Advice:
    """Hold the board still somewhere for some ticks; gives the last advice that took a view, else the last."""
    advice = Advice("")
    for n in range(ticks):
        view = board_view(t_ms=t_ms + n * TICK_MS, **where)
        step = guide.add((view if left else None, view if right else None))
        advice = step if step.taken or not advice.taken else advice
    return advice


def test_a_still_board_is_taken_once_after_a_moment() -> None:
    guide = RigGuide(BOARD, [SIZE, SIZE])
    taken = []
    for n in range(20):
        view = board_view(t_ms=n * TICK_MS)
        advice = guide.add((view, view))
        taken.append(advice.taken)
        if n == 0:
            assert advice.words == HOLD
    assert sum(taken) == 1
    assert taken.index(True) == 2  # the first moment at which 0.15 s of stillness are known
    assert guide.n_shared == 1
    assert guide.moments[0].views[0] is not None
    assert guide.moments[0].views[0].moved_px == pytest.approx(0.0)


def test_a_moving_board_is_never_taken() -> None:
    guide = RigGuide(BOARD, [SIZE, SIZE])
    for n in range(20):
        view = board_view(t_ms=n * TICK_MS, shift_px=3.0 * n)  # 30 px a second
        advice = guide.add((view, view))
        assert advice.words == HOLD
        assert not advice.good
    assert not guide.kept


def test_one_camera_that_moves_is_enough_to_wait() -> None:
    guide = RigGuide(BOARD, [SIZE, SIZE])
    for n in range(10):
        still, moving = board_view(t_ms=n * TICK_MS), board_view(t_ms=n * TICK_MS, shift_px=3.0 * n)
        assert guide.add((still, moving)).words == HOLD


def test_speed_and_the_way_since_the_last_view() -> None:
    still = Stillness()
    assert np.isnan(still.step(board_view())).all()
    speed, moved = still.step(board_view(t_ms=100, shift_px=2.0))
    assert np.isnan(speed)  # over 0.1 s noise would be taken for motion
    assert moved == pytest.approx(2.0)
    speed, moved = still.step(board_view(t_ms=200, shift_px=4.0))
    assert speed == pytest.approx(20.0)
    still.step(None)
    assert np.isnan(still.step(board_view(t_ms=300))[1])
    assert np.isnan(still.step(board_view(t_ms=2000))[1])  # too long ago to be compared
    assert still.step(board_view(t_ms=2800, shift_px=4.0)) == pytest.approx((5.0, 4.0))  # a machine that looks seldom
    assert still.step(board_view(t_ms=3600, shift_px=4.0)) == pytest.approx((0.0, 0.0))


def test_blur_and_absence_are_said() -> None:
    guide = RigGuide(BOARD, [SIZE, SIZE])
    assert guide.add((None, None)).words == NOTHING
    assert held(guide, 0.0, blur_px=3.0).words == BLURRED
    assert not guide.kept


def test_both_cameras_must_see_it_but_new_places_are_kept_from_one() -> None:
    guide = RigGuide(BOARD, [SIZE, SIZE])
    lone = held(guide, 0.0, right=False, x=0.3, y=0.3)
    assert lone.taken  # the left lens is learned from it
    assert guide.n_shared == 0
    assert held(guide, 2000.0, right=False, x=0.3, y=0.3).words == BOTH
    held(guide, 4000.0)
    assert guide.n_shared == 1
    assert "the right one does not" in held(guide, 6000.0, right=False, x=0.3, y=0.3).words
    assert "the left one does not" in held(guide, 8000.0, left=False, x=0.5, y=0.5).words


def test_cover_counts_the_cells_of_kept_corners() -> None:
    guide = RigGuide(BOARD, [SIZE, SIZE])
    assert not any(cover.any() for cover in guide.cover)
    held(guide, 0.0, x=0.2, y=0.25)
    view = board_view(x=0.2, y=0.25)
    cells = np.zeros((ROWS, COLUMNS))
    for x, y in view.corners_px:
        cells[int(y / 80), int(x / 80)] += 1
    assert guide.cover[0] == pytest.approx(np.minimum(cells / CELL_CORNERS, 1.0))
    assert guide.cover[0][3:].sum() == 0.0


def test_what_is_missing_is_named() -> None:
    """Front-on views at one distance: tilt to some side and another distance are asked for, and no tilt that was shown."""
    guide = RigGuide(BOARD, [SIZE, SIZE])
    said = set()
    for k, (x, y) in enumerate(product((0.12, 0.37, 0.63, 0.88), (0.15, 0.5, 0.85))):
        said.add(held(guide, 2000.0 * k, x=x, y=y).words)
    needs = {need.name: need for need in guide.needs()}
    assert needs["left picture"].have >= 1.0
    assert needs["near and far"].have == pytest.approx(0.0, abs=1e-6)
    assert needs["tilt"].have == pytest.approx(0.0, abs=1e-6)
    assert any("come nearer" in words for words in said)
    for k in range(3):
        held(guide, 1e5 + 2000.0 * k, pitch_deg=35, x=0.3 + 0.2 * k)
    tilt = next(need for need in guide.needs() if need.name == "tilt")
    assert "top edge" not in tilt.words
    assert "lean the" in tilt.words
    assert guide.leans()[0] >= 2.0  # to the top edge
    assert guide.leans()[1:] == pytest.approx([0.0, 0.0, 0.0], abs=1e-6)


def test_the_emptiest_part_of_the_right_picture_is_named() -> None:
    guide = RigGuide(BOARD, [SIZE, SIZE], stills=True)
    for x, y in product((0.15, 0.4, 0.65, 0.9), (0.15, 0.45, 0.7)):
        lower_left_missing = board_view(x, y, 0.5) if (x, y) not in {(0.15, 0.7), (0.4, 0.7)} else board_view(0.9, 0.1, 0.5)
        guide.add((board_view(x, y, 0.5), lower_left_missing))
    guide.add(2 * [board_view(0.6, 0.85, 0.5)])
    right = next(need for need in guide.needs() if need.name == "right picture")
    assert right.words == "show it in the lower left of the right picture"


def test_depth_asks_to_come_nearer_or_to_go_away() -> None:
    for distance_m, words in ((1.2, "come nearer"), (0.25, "go farther away")):
        guide = RigGuide(BOARD, [SIZE], stills=True)
        guide.add([board_view(distance_m=distance_m)])
        assert next(need for need in guide.needs() if need.name == "near and far").words.startswith(words)


def everything() -> list[BoardView]:
    """Views that are enough: all over, near and far, leaning to all sides."""
    places = list(product((0.13, 0.38, 0.62, 0.87), (0.15, 0.38, 0.62, 0.85)))
    tilts = [(25, 0), (-25, 0), (0, 25), (0, -25)]
    views = [board_view(x, y, 0.5, *tilts[k % 4]) for k, (x, y) in enumerate(places)]
    return [*views, board_view(0.5, 0.5, 0.25), board_view(0.5, 0.5, 0.9)]


def test_enough_is_enough_and_progress_never_falls() -> None:
    guide = RigGuide(BOARD, [SIZE, SIZE], stills=True)
    progress = [0.0]
    for view in everything():
        advice = guide.add((view, view))
        assert advice.progress >= progress[-1]
        progress.append(advice.progress)
        assert advice.done == (advice.progress == 1.0)
    assert guide.done
    assert guide.n_shared >= ENOUGH_VIEWS
    assert guide.add((None, None)).words == ENOUGH
    assert advice.missing == []


def test_of_three_cameras_the_pairs_that_lack_shared_views_are_named() -> None:
    """The first and the second see the board together, then the second and the third: these two pairs hold the rig together."""
    guide = RigGuide(BOARD, [SIZE] * 3, stills=True)
    for view in everything():
        advice = guide.add((view, view, None))
    needs = {need.name: need for need in advice.needs}
    assert needs["left and right"].have >= 1.0
    assert (needs["left and third"].have, needs["left and third"].figure) == (0.0, f"0 of {ENOUGH_VIEWS}")
    assert needs["left and third"].words == "hold it where the left and the third camera see it together"
    assert "third picture" in needs and not advice.done
    assert guide.add((None, None, board_view(0.5, 0.5, 0.4))).taken, "its lens is learned from it alone"
    for view in everything():
        advice = guide.add((None, view, view))
    assert {need.name for need in advice.needs if " and " in need.name} == {"left and right", "right and third", "near and far"}
    assert advice.done
    assert [link.n_views for link in guide.links()] == [len(everything())] * 2
    assert f"{len(everything())} views by left and right" in advice.counts


def test_one_camera_alone() -> None:
    guide = RigGuide(BOARD, [SIZE], stills=True)
    for view in everything():
        advice = guide.add([view])
    assert advice.done
    assert [need.name for need in advice.needs][1] == "picture"
    assert all(len(moment.views) == 1 for moment in guide.moments)
    assert "both" not in advice.counts


def test_the_same_view_is_not_taken_twice_and_there_is_an_end() -> None:
    guide = RigGuide(BOARD, [SIZE], stills=True)
    assert guide.add([board_view()]).taken
    assert not guide.add([board_view(shift_px=2.0)]).taken
    rng = np.random.default_rng(3)
    for _ in range(400):
        x, y, d = rng.uniform([0.1, 0.1, 0.3], [0.9, 0.9, 1.2])
        guide.add([board_view(x, y, d, rng.uniform(-40, 40), rng.uniform(-40, 40))])
    assert len(guide.kept) == MAX_VIEWS


def test_different_pictures_of_another_size_are_judged_by_their_own() -> None:
    """A picture twice as wide: the same board moves twice as many pixels a second and is as still."""
    guide = RigGuide(BOARD, [(1280, 960)])
    for n in range(8):
        small = board_view(t_ms=n * TICK_MS, shift_px=0.9 * n)  # 9 px/s, in the larger picture 18
        view = BoardView(2.0 * small.corners_px, small.seen.copy(), small.t_ns, blur_px=3.0)
        advice = guide.add([view])
        if advice.taken:
            break
    assert advice.taken
