"""The choice of views: one that is wrong is outvoted; of the others what each tells, by what it shows and from where."""

from dataclasses import replace

import numpy as np
import pytest

from capture.packets import Views
from capture.stereo.choice import choose_views, drop_outvoted_views
from tests.capture.stereo.test_clusters import rig_of, seen_from
from tests.capture.stereo.test_matching import BODY

RIG = rig_of(4)  # two in front, 2.4 m apart, one at the side, one behind
N = len(BODY)


def kept(shown: np.ndarray, n: int) -> list[int]:
    """Return the cameras that are kept of those that show some markers each; shown: (V, M)."""
    views, _ = seen_from(RIG, shown, 3)
    return [blobs.camera for blobs in choose_views(views, RIG, BODY, n).present]


def test_the_lines_of_sight_of_what_is_kept_cross() -> None:
    """The one behind looks along those of the two in front; of these the one that is farther from the side's."""
    assert kept(np.ones((4, N), bool), 2) in ([0, 2], [1, 2])
    assert 2 in kept(np.ones((4, N), bool), 3)


def test_a_view_of_few_markers_is_left_out_first() -> None:
    shown = np.ones((4, N), bool)
    shown[2, 3:] = False
    assert 2 not in kept(shown, 3)
    shown[2] = False
    assert 2 not in kept(shown, 3)


def test_a_view_that_shows_what_others_do_not_is_kept() -> None:
    """Half of the markers are seen by one of the others only."""
    shown = np.ones((4, N), bool)
    shown[:3, : N // 2] = False
    shown[0, : N // 2] = True
    assert {0, 3} <= set(kept(shown, 3)) and kept(shown, 2) == [0, 3]


def test_absent_views_stay_absent_and_none_is_taken_where_there_are_few() -> None:
    views, _ = seen_from(RIG, np.ones((4, N), bool), 3)
    few = views.without({1})
    assert choose_views(few, RIG, BODY, 3) is few
    chosen = choose_views(few, RIG, BODY, 2)
    assert chosen.blobs[1] is None and len(chosen.present) == 2 and chosen.blobs[2] is few.blobs[2]


def test_where_nothing_is_near_the_markers_the_first_views_are_kept() -> None:
    """As when the last pose is old, or some of them are behind a camera."""
    views, _ = seen_from(RIG, np.ones((4, N), bool), 3)
    chosen = choose_views(views, RIG, BODY + np.array([0.0, 50.0, 6.0]), 2)
    assert [blobs.camera for blobs in chosen.present] == [0, 1]


def moved(views: Views, camera: int, by_px: float) -> Views:
    """Return the views with those of one camera moved up or down."""
    return views.changed(lambda c, blobs: replace(blobs, points_px=blobs.points_px + [0.0, by_px]) if c == camera else blobs)


@pytest.mark.parametrize("n", [3, 4])
@pytest.mark.parametrize("camera", [0, 2])
def test_a_view_that_shows_all_elsewhere_is_left_out(n: int, camera: int) -> None:
    """A third of the markers hidden in each view, false blobs in each."""
    rig = rig_of(n)
    for seed in range(10):
        shown = np.random.default_rng(seed).random((n, N)) > 0.35
        views, _ = seen_from(rig, shown, seed, n_false=2)
        assert drop_outvoted_views(views, rig, BODY) is views
        assert drop_outvoted_views(moved(views, camera, 15.0), rig, BODY).blobs == views.without({camera}).blobs


def test_of_two_views_none_is_outvoted_and_where_the_prediction_is_wrong_all_stay() -> None:
    views, _ = seen_from(RIG, np.ones((4, N), bool), 3)
    pair = moved(views, 0, 15.0).without({2, 3})
    assert drop_outvoted_views(pair, RIG, BODY) is pair
    assert drop_outvoted_views(views, RIG, BODY + 0.2) is views
    assert drop_outvoted_views(views, RIG, BODY + np.array([0.0, 50.0, 6.0])) is views  # some of it behind the cameras
