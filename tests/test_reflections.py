"""Spots that stay while the body goes, and feet that stay while it does not."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from capture.reflections import StandingSpots

# A body 60 px wide and 170 px high; the last two are the feet.
BODY = np.array([[30, 0], [10, 40], [50, 38], [0, 70], [60, 75], [20, 120], [42, 122], [18, 168], [44, 170]], float)
LAMP = np.array([[300.0, 30.0]])
FRAME_NS = 33_333_333


def walk(
    spots: StandingSpots, x: NDArray[np.float64], lamp: NDArray[np.float64] = LAMP, noise: float = 0.1
) -> list[NDArray[np.bool_]]:
    """Show a body that walks along x, with a lamp behind it; gives what is taken for markers, the lamp last."""
    random = np.random.default_rng(1)
    told = []
    for k, at in enumerate(x):
        points = np.concatenate([BODY + [at, 100.0], lamp])
        told.append(spots.markers(points + random.normal(0.0, noise, points.shape), k * FRAME_NS))
    return told


def test_a_lamp_is_left_out_once_the_body_has_walked_past_it() -> None:
    told = walk(StandingSpots(), np.linspace(0.0, 400.0, 300))
    assert all(mask[:-1].all() for mask in told), "never a marker"
    assert told[30][-1] and not told[-1][-1]
    first = next(k for k, mask in enumerate(told) if not mask[-1])
    # The middle seven tenths of the body span some 130 px; nine tenths of that, at 400 px in 300 frames, are 88 frames.
    assert 75 < first < 110


def test_a_flickering_lamp_too() -> None:
    spots, random = StandingSpots(), np.random.default_rng(2)
    for k, at in enumerate(np.linspace(0.0, 300.0, 300)):
        on = random.random() < 0.6
        points = np.concatenate([BODY + [at, 100.0], LAMP if on else LAMP[:0]])
        last = spots.markers(points, k * FRAME_NS)
        assert last[: len(BODY)].all()
    assert len(spots.places_px) == 1 and np.linalg.norm(spots.places_px - LAMP) < 0.5


def test_boxing_on_planted_feet_for_two_minutes() -> None:
    """The upper body sways by a third of its height; the feet do not move at all."""
    spots = StandingSpots()
    for k in range(3600):
        points = BODY + [200.0, 100.0]
        points[:-2, 0] += 0.33 * 170.0 * np.sin(k / 9.0) * (170.0 - BODY[:-2, 1]) / 170.0
        points[:2, 1] += 20.0 * np.sin(k / 7.0)
        assert spots.markers(points, k * FRAME_NS).all()


def test_coming_nearer_tells_as_well() -> None:
    spots = StandingSpots()
    for k in range(300):
        scale = 1.0 + k / 300.0
        points = np.concatenate([(BODY - [30.0, 85.0]) * scale + [150.0, 200.0], LAMP])
        last = spots.markers(points, k * FRAME_NS)
    assert last[:-1].all() and not last[-1]


def test_never_fewer_than_are_worn() -> None:
    """Nine are worn: with eight of them in view the lamp might be the ninth."""
    spots = StandingSpots(9)
    walk(spots, np.linspace(0.0, 400.0, 300))
    t_ns = 300 * FRAME_NS
    assert not spots.markers(np.concatenate([BODY + [400.0, 100.0], LAMP]), t_ns)[-1]
    assert spots.markers(np.concatenate([BODY[:-1] + [400.0, 100.0], LAMP]), t_ns + 1)[-1]


def test_a_spot_that_moves_again_is_a_marker() -> None:
    spots = StandingSpots()
    walk(spots, np.linspace(0.0, 400.0, 300))
    moved = np.concatenate([BODY + [400.0, 100.0], LAMP + 4.0])
    assert spots.markers(moved, 300 * FRAME_NS).all()


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**31), st.integers(0, 3))
def test_without_standing_spots_nothing_is_left_out(seed: int, few: int) -> None:
    """Whatever moves is never taken for a reflection."""
    random, spots = np.random.default_rng(seed), StandingSpots()
    at, speed = (
        random.uniform(100, 300, (few + 4, 2)),
        random.choice([-1.0, 1.0], (few + 4, 2)) * random.uniform(2, 6, (few + 4, 2)),
    )
    for k in range(60):
        assert spots.markers(at + k * speed, k * FRAME_NS).all()


def test_markers_that_come_by_the_same_place_are_not_one_spot() -> None:
    """Somebody walks to and fro; all markers pass the places of others again and again."""
    spots = StandingSpots()
    row = np.stack([np.arange(10.0) * 20.0, np.full(10, 50.0)], axis=1)
    for k in range(1500):
        assert spots.markers(row + [153.0 * np.sin(k / 25.0), 0.0], k * FRAME_NS).all()


def test_nothing_in_view() -> None:
    assert StandingSpots().markers(np.zeros((0, 2)), 0).shape == (0,)
