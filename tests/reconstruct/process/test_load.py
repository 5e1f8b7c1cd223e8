"""When frames come faster than they can be solved: views, then moments are left out; told once, over when it has been calm."""

import pytest

from reconstruct.process.load import REST_NS, WINDOW_NS, LoadWatch

TURN_NS = 25_000_000


def test_optional_work_rests_while_moments_are_skipped_and_goes_on_some_seconds_after() -> None:
    load, t_ns, changes, late = LoadWatch(2), 0, [], False
    for k in range(600):
        t_ns += TURN_NS
        load.take_turn(2 if 100 <= k < 200 else 1, t_ns)
        if load.late is not late:
            late = load.late
            changes.append((k, late, load.words()))
    (begun, late, words), (ended, later, calm) = changes
    assert late and 100 <= begun < 110 and "moments of the last second were skipped" in words and "fewer" not in words
    assert not later and ended - 200 > REST_NS // TURN_NS and "again" in calm


@pytest.mark.parametrize("n_cameras", [1, 2, 4])
def test_one_hiccup_is_no_load(n_cameras: int) -> None:
    load = LoadWatch(n_cameras)
    assert all(load.take_turn(1, k * TURN_NS) == 1 for k in range(40))
    assert load.take_turn(4, 41 * TURN_NS) == 2 and load.take_turn(1, 42 * TURN_NS) == 1
    assert not load.late and load.n_views == n_cameras


def test_views_are_left_out_before_moments_down_to_two_and_read_again_one_a_second() -> None:
    load = LoadWatch(4)
    assert [(load.take_turn(2, k * TURN_NS), load.n_views) for k in range(5)] == [(2, 4), (2, 3), (2, 2), (1, 2), (1, 2)]
    assert load.late and "5 were" not in load.words()
    assert "2 of 10 moments of the last second were skipped for newer ones, 6 were read from fewer cameras" in load.words()
    read = []
    for k in range(5, 5 + 4 * WINDOW_NS // TURN_NS):
        load.take_turn(1, k * TURN_NS)
        read.append(load.n_views)
    changes = [k for k in range(1, len(read)) if read[k] != read[k - 1]]
    assert read[0] == 2 and read[-1] == 4 and changes == [WINDOW_NS // TURN_NS - 1, 2 * WINDOW_NS // TURN_NS - 1]


@pytest.mark.parametrize("n_cameras", [1, 2])
def test_of_one_or_two_cameras_no_view_is_left_out(n_cameras: int) -> None:
    load = LoadWatch(n_cameras)
    assert [load.take_turn(3, k * TURN_NS) for k in range(6)] == [2, 1, 1, 1, 1, 1]
    assert load.n_views == n_cameras
