"""The cells of a live background by hand: bounds, what is the body, what has stayed, how the light is."""

import numpy as np
import pytest

from capture.background.cells import PROVEN_S, WaitTimes, compare_light, count_foreground, decide_row, find_body, recall_row
from capture.background.kernels import (
    CELL_PX,
    HELD,
    KEPT,
    KEPT_FROM,
    KEPT_TO,
    KNOWN,
    MOVED,
    N_STATES,
    NEVER,
    OCCUPIED,
    STILL,
    VISITED,
    update_statistics,
)

pytestmark = pytest.mark.kernels
ROWS, COLUMNS, T = 6, 9, 100.0


def cells(known: float = 1.0) -> np.ndarray:
    """Cells in which nothing ever happened."""
    state = np.zeros((N_STATES, ROWS, COLUMNS))
    state[[OCCUPIED, MOVED, VISITED, KEPT]] = NEVER
    state[KNOWN] = known
    return state


def test_mean_and_sigma_move_towards_the_pixels() -> None:
    """sigma towards |difference| sqrt(pi / 2), the standard deviation that a mean absolute difference stands for."""
    mean, sigma = np.array([90.0, 30.0], np.float32), np.array([2.0, 4.0], np.float32)
    update_statistics(np.array([100, 20], np.uint8), mean, sigma, np.array([[0.5, 0.25], [0.1, 0.2]], np.float32))
    np.testing.assert_allclose(mean, [95.0, 27.5])
    np.testing.assert_allclose(sigma, [1.8 + 0.1 * 10.0 * np.sqrt(np.pi / 2), 3.2 + 0.2 * 10.0 * np.sqrt(np.pi / 2)], rtol=2e-3)


def body_of(state: np.ndarray) -> tuple[np.ndarray, int, list[float]]:
    body, stack, moving = np.ones((ROWS, COLUMNS), np.uint8), np.zeros(ROWS * COLUMNS, np.int32), np.zeros(2)
    n = find_body(state, T, body, stack, moving)
    return body, n, moving.tolist()


def test_the_body_is_what_moves_its_neighbours_and_foreground_that_hangs_together_with_it() -> None:
    state = cells()
    state[MOVED, 2, 3] = T - 1.0
    state[MOVED, 0, 8] = T - 2.0  # moved a while ago: not the body's any more, but it counts for where something moved
    state[OCCUPIED, 2, 5] = T  # beside the neighbours of what moves
    state[OCCUPIED, 2, 7] = T  # foreground as well, apart from them
    body, n, moving = body_of(state)
    expected = np.zeros((ROWS, COLUMNS), np.uint8)
    expected[1:4, 2:5] = 1
    expected[2, 5] = 1
    assert n == 1 and moving == [3.0, 8.0] and np.array_equal(body, expected)


def test_foreground_far_from_all_movement_is_not_the_body() -> None:
    state = cells()
    state[MOVED, 2, 1], state[OCCUPIED, 2, :] = T, T
    body, _, _ = body_of(state)
    # As far as a third of the rows, two, from the movement in column 1.
    assert body[2].tolist() == [1, 1, 1, 1, 0, 0, 0, 0, 0]


def test_where_nothing_is_known_the_surroundings_of_movement_are_the_body() -> None:
    state = cells(known=0.0)
    state[MOVED, 3, 4] = T
    body, _, _ = body_of(state)
    assert body.sum() == 25 and body[1:6, 2:7].all()
    assert body_of(cells())[1:] == (0, [float(COLUMNS), -1.0])


def test_foreground_is_counted_by_cell_across_their_borders() -> None:
    runs = np.array([[0, 3, 20], [17, 30, 33], [40, 0, 5], [64, 0, 9]], np.int32)  # the last is in the fifth row of cells
    counts = np.full((ROWS, COLUMNS), 7, np.int32)
    count_foreground(runs, 1, cells(), False, counts)
    assert counts[0].tolist() == [13, 5, 0, 0, 0, 0, 0, 0, 0]
    assert counts[1].tolist() == [0, 2, 2, 0, 0, 0, 0, 0, 0]
    assert counts[2].tolist() == [6, 0, 0, 0, 0, 0, 0, 0, 0]
    assert (counts[3:] == 7).all()
    count_foreground(runs, 1, cells(known=0.0), False, counts)
    assert not counts[:3].any()


def decided(state: np.ndarray, body: np.ndarray, counts: np.ndarray, dark: bool) -> list[int]:
    absorb = np.zeros(COLUMNS, np.uint8)
    n = decide_row(2, T, state, body, counts, WaitTimes(2.0, 5.0, 1.0, 1.0), dark, absorb)
    assert n == absorb.sum()
    return absorb.tolist()


def test_what_has_stayed_for_its_wait_is_taken_over() -> None:
    state, body, counts = cells(), np.zeros((ROWS, COLUMNS), np.uint8), np.zeros((ROWS, COLUMNS), np.int32)
    state[VISITED], state[OCCUPIED], state[HELD] = T - 0.5, T, 1.0
    state[STILL, 2] = 4.6  # and half a second since: 5.1 s of the 5 s that a known cell waits
    state[STILL, 2, 1] = 4.4
    body[2, 2] = 1
    state[MOVED, 2, 3] = T
    state[OCCUPIED, 2, 4] = T - 2.0  # free
    state[KNOWN, 2, 5], state[STILL, 2, 5] = 0.0, 1.6  # 2.1 s of 2 s
    state[HELD, 2, 6], state[STILL, 2, 6] = 0.0, 0.6  # was free when the light changed: 1.1 s of 1 s
    counts[2, 7] = 50  # a bright spot
    assert decided(state.copy(), body, counts, False) == [1, 0, 0, 0, 0, 1, 1, 1, 1]
    assert decided(state, body, counts, True) == [1, 0, 0, 0, 0, 1, 1, 0, 1]


def test_a_picture_that_was_the_same_while_the_body_was_elsewhere_is_no_body() -> None:
    rng = np.random.default_rng(4)
    image = rng.integers(0, 256, (ROWS * CELL_PX, 3 * COLUMNS * CELL_PX), np.uint8)
    kept, state, body = image.copy(), cells(), np.zeros((ROWS, COLUMNS), np.uint8)
    kept[:, 3 * 5 * CELL_PX : 3 * 6 * CELL_PX] ^= 128  # column 5 looked otherwise
    state[OCCUPIED] = T
    state[KEPT, 2], state[KEPT_FROM, 2], state[KEPT_TO, 2] = T - 8.0, 0.0, 2.0  # then something moved in columns 0 to 2
    recall_row(image, 2, T, kept, state, body, np.array([6.0, 8.0]), 3.0)  # now in columns 6 to 8
    assert state[STILL, 2].tolist() == [PROVEN_S] * 5 + [0.0] + [PROVEN_S] * 3
    state[STILL], state[KEPT_FROM, 2], state[KEPT_TO, 2] = 0.0, 0.0, 8.0
    recall_row(image, 2, T, kept, state, body, np.array([2.0, 8.0]), 3.0)  # the same place moved both times: it proves nothing
    assert not state[STILL].any()
    recall_row(image, 2, T, kept, state, body, np.array([float(COLUMNS), -1.0]), 3.0)  # nothing moves
    assert not state[STILL].any()


def test_light_is_sampled_where_nobody_stands() -> None:
    shape = (ROWS * CELL_PX, 3 * COLUMNS * CELL_PX)
    image, mean = np.full(shape, 60, np.uint8), np.full(shape, 40.0, np.float32)
    bounds = np.stack([np.full(shape, 30, np.uint8), np.full(shape, 50, np.uint8)])
    state, sums = cells(), np.ones((2, 4))
    state[OCCUPIED, :, 0], state[KNOWN, 0, 8] = T, 0.0
    image[:, 3 * 4 * CELL_PX :] = 45  # within the bounds from column 4 on
    compare_light(image, T, mean, bounds, state, sums)
    # Columns 0 to 4 are the left half (2 c < 9): four free ones, three of them out of bounds; of the right one cell is unknown.
    assert sums[0].tolist() == [24.0, 18.0, 3 * (18 * 60.0 + 6 * 45.0), 3 * 24 * 40.0]
    assert sums[1].tolist() == [23.0, 0.0, 3 * 23 * 45.0, 3 * 23 * 40.0]
