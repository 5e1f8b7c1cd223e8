"""The health of a camera, in pictures made for it: each trouble is told once, after a while, and taken back."""

from collections.abc import Iterator

import numpy as np
import pytest

from capture.notices import NoticeLog
from capture.packets import Blobs, Frame
from capture.sources.health import REOPEN_NS, Health, is_same_image

S = 1_000_000_000
PERIOD = S // 30
SHAPE = (48, 64, 3)


def frames(seed: int = 3) -> Iterator[Frame]:
    """Return noisy grey pictures at 30 Hz without end."""
    random, index = np.random.default_rng(seed), 0
    while True:
        image = random.integers(90, 110, SHAPE).astype(np.uint8)
        yield Frame(0, index, index * PERIOD, image)
        index += 1


def blobs(frame: Frame, n: int = 5) -> Blobs:
    """Return n blobs of a frame."""
    none = np.ones(n)
    light = float(frame.image.mean())
    return Blobs(0, frame.index, frame.t_capture_ns, np.zeros((n, 2)), none, np.zeros((n, 3)), none, light)


class Watched:
    """A camera that is watched; its troubles are put into the pictures."""

    def __init__(self, fps: float = 30.0) -> None:
        self.notices, self._frames, self.t_ns = NoticeLog(), frames(), 0
        self.health = Health("left", fps, self.notices)

    def go(self, seconds: float, image: np.ndarray | None = None, n_blobs: int = 5, step_ns: int = PERIOD) -> list[bool]:
        """Return pictures for some seconds, `image` instead of noise if there is one; gives which were new ones."""
        fresh = []
        for _ in range(round(seconds * S / step_ns)):
            frame = next(self._frames)
            self.t_ns += step_ns
            frame = Frame(0, frame.index, self.t_ns, frame.image if image is None else image.copy())
            fresh.append(self.health.check_repeat(frame))
            self.health.check_blobs(frame, blobs(frame, n_blobs))
        return fresh


def test_a_good_camera_says_nothing() -> None:
    watched = Watched()
    assert all(watched.go(20.0)) and watched.health.message == "" and watched.notices.fetch() == []
    assert not watched.health.needs_reopening(watched.t_ns)


def test_a_frozen_picture_is_noticed_at_once_and_told_after_a_while() -> None:
    watched = Watched()
    watched.go(3.0)
    still = np.full(SHAPE, 100, np.uint8)
    still[3, 5] = 130
    fresh = watched.go(0.3, still)
    assert fresh == [True] + [False] * 8 and watched.notices.fetch() == []
    watched.go(2.0, still)
    assert "frozen" in watched.health.message
    assert watched.notices.fetch() == ["left camera: the same picture again and again: it is frozen"]
    assert not watched.health.needs_reopening(watched.t_ns)
    watched.go(2.5, still)
    assert watched.t_ns > REOPEN_NS and watched.health.needs_reopening(watched.t_ns)
    assert not watched.health.needs_reopening(watched.t_ns + REOPEN_NS)  # the next time after twice as long
    watched.go(3.0)
    assert watched.health.message == "" and watched.notices.fetch() == ["left camera: its pictures move again"]


def test_a_picture_sent_twice_now_and_then_is_no_trouble() -> None:
    watched = Watched()
    for _ in range(60):
        watched.go(0.1)
        still = np.full(SHAPE, 95, np.uint8)
        still[0, 0, 0] = watched.t_ns % 251
        assert watched.go(2 * PERIOD / S, still) == [True, False]
    assert watched.notices.fetch() == []


@pytest.mark.parametrize(
    ("image", "n_blobs", "words"),
    [
        (np.zeros(SHAPE, np.uint8), 0, "black"),
        (np.full(SHAPE, 255, np.uint8), 0, "100% of the picture is white"),
    ],
)
def test_a_covered_lens_and_too_much_light_are_told_and_not_called_frozen(image: np.ndarray, n_blobs: int, words: str) -> None:
    watched = Watched()
    watched.go(3.0)
    watched.notices.fetch()
    watched.go(2.0, image, n_blobs)
    told = [text for text in watched.notices.fetch() if "the light changed" not in text]
    assert len(told) == 1 and words in told[0] and "frozen" not in watched.health.message
    watched.go(3.0)
    assert watched.health.message == ""


def test_a_dark_room_with_markers_is_not_black() -> None:
    watched = Watched()
    random = np.random.default_rng(5)
    for _ in range(120):
        watched.go(1 / 30, random.integers(0, 4, SHAPE).astype(np.uint8), n_blobs=8)
    assert watched.health.message == ""


def test_half_the_rate_is_told_with_both_rates() -> None:
    watched = Watched()
    watched.go(6.0, step_ns=2 * PERIOD)
    assert watched.notices.fetch() == [
        "left camera: 15 pictures a second come, 30 were announced: dim light, a slow cable, or a busy machine",
    ]
    watched.go(8.0)
    assert watched.health.message == "" and watched.notices.fetch() == ["left camera: its pictures come at their rate again"]


def test_uneven_pictures_are_told() -> None:
    watched = Watched()
    for _ in range(150):
        watched.go(1 / 30, step_ns=PERIOD // 8)
        watched.go(1 / 30, step_ns=PERIOD)
        watched.go(2 / 30, step_ns=2 * PERIOD)
    assert "unevenly" in watched.health.message


def test_a_lamp_is_told_at_once_and_dusk_is_not() -> None:
    watched = Watched()
    watched.go(1.0)
    for level in np.linspace(100, 30, 400):
        watched.go(
            1 / 30, np.random.default_rng(int(level * 1000)).integers(int(level) - 9, int(level) + 9, SHAPE).astype(np.uint8)
        )
    assert watched.notices.fetch() == []
    watched.go(1 / 30, np.random.default_rng(1).integers(150, 170, SHAPE).astype(np.uint8))
    (text,) = watched.notices.fetch()
    assert text.startswith("left camera: the light changed at once, from 3") and text.endswith("of 255")


def test_too_many_spots_are_told() -> None:
    watched = Watched()
    watched.go(4.0, n_blobs=112)
    assert watched.notices.fetch() == [
        "left camera: 112 spots are taken for markers: reflections, or the background must be learned anew"
    ]


def test_one_changed_pixel_makes_another_picture() -> None:
    one, other = np.zeros(SHAPE, np.uint8), np.zeros(SHAPE, np.uint8)
    assert is_same_image(Frame(0, 0, 0, one), Frame(0, 1, 5, other))
    other[7, 9, 2] = 1  # between the pixels that are looked at first
    assert not is_same_image(Frame(0, 0, 0, one), Frame(0, 1, 5, other))
    assert is_same_image(Frame(0, 0, 0, one, b"abc"), Frame(0, 1, 5, other, b"abc"))
    assert not is_same_image(Frame(0, 0, 0, one, b"abc"), Frame(0, 1, 5, one.copy(), b"abd"))


def test_a_clock_that_is_set_back_does_not_end_the_watch() -> None:
    watched = Watched()
    watched.go(5.0)
    watched.t_ns -= 3600 * S
    still = np.full(SHAPE, 77, np.uint8)
    watched.go(3.0, still)
    assert "frozen" in watched.health.message
