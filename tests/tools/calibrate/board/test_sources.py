"""Pictures that belong together, and films: the stillest moments, paired by time, with the corners' motion."""

from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from calibration.board.pattern import Board
from calibration.board.views import BoardView
from capture.packets import Frame
from capture.sources.source import Facts, Stamp
from config.arrays import Image
from config.errors import SourceError
from tools.calibrate.board.films import collect_rows, format_film_lengths, measure_corner_motion, select_still_moments
from tools.calibrate.board.found import N_MISSES, BoardlessPictures
from tools.calibrate.board.sources import estimate_offset_between, measure_picture_changes
from tools.calibrate.board.stills import PictureSets, list_stills, search_stills

BOARD = Board("chessboard", 9, 6, 0.025)
MS = 1_000_000


def touched(folder: Path, *names: str) -> Path:
    """Make empty files."""
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).touch()
    return folder


def names(stills: PictureSets) -> list[tuple[str, ...]]:
    return [tuple(file.name if file else "" for file in files) for files in stills.moments]


def test_same_numbers_belong_together(tmp_path: Path) -> None:
    left = touched(tmp_path / "l", "cam1_2.png", "cam1_10.png", "cam1_7.JPG", ".hidden_3.png", "notes.txt")
    right = touched(tmp_path / "r", "cam2_10.png", "cam2_7.png", "cam2_8.png")
    stills = list_stills([left, right])
    assert names(stills) == [("cam1_2.png", ""), ("cam1_7.JPG", "cam2_7.png"), ("", "cam2_8.png"), ("cam1_10.png", "cam2_10.png")]
    assert stills.words == ("3 pictures of the left camera, 3 of the right one: 2 have no partner of the same number",)


def test_pictures_of_three_cameras_belong_together_by_number(tmp_path: Path) -> None:
    """The second camera shares pictures with both others, which share none with each other."""
    folders = [
        touched(tmp_path / "a", "1.png", "2.png"),
        touched(tmp_path / "b", "1.png", "2.png", "7.png", "8.png"),
        touched(tmp_path / "c", "7.png", "8.png", "9.png"),
    ]
    found = names(list_stills(folders))
    assert found[0] == ("1.png", "1.png", "") and found[2:4] == [("", "7.png", "7.png"), ("", "8.png", "8.png")]
    assert list_stills(folders).words == ("9 pictures of 3 cameras: 1 has no partner of the same number",)


def test_order_decides_where_numbers_mean_nothing(tmp_path: Path) -> None:
    left = touched(tmp_path / "l", "a.png", "b.png")
    right = touched(tmp_path / "r", "IMG_4711.png", "IMG_900.png")
    assert names(list_stills([left, right])) == [("a.png", "IMG_900.png"), ("b.png", "IMG_4711.png")]
    touched(left, "c.png")
    with pytest.raises(SourceError, match=r"has 3 pictures and .* 2, and their names share no numbers"):
        list_stills([left, right])


def test_one_folder_for_both_cameras(tmp_path: Path) -> None:
    mixed = touched(
        tmp_path / "mixed", "left01.jpg", "Left02.jpg", "right02.jpg", "right01.jpg", "left.jpg", "leftovers.png", "x1.png"
    )
    assert names(list_stills([mixed])) == [("left01.jpg", "right01.jpg"), ("Left02.jpg", "right02.jpg")]
    parent = tmp_path / "parent"
    parent.mkdir()
    touched(parent / "left", "1.png")
    touched(parent / "right", "1.png")
    assert names(list_stills([parent])) == [("1.png", "1.png")]
    lone = list_stills([parent / "left"])
    assert names(lone) == [("1.png",)]


def test_pictures_that_cannot_be_read(tmp_path: Path) -> None:
    folder = touched(tmp_path / "f", "1.png", "2.png")
    with pytest.raises(SourceError, match="cannot be decoded as images"):
        search_stills(list_stills([folder]), BOARD)
    cv2.imwrite(str(folder / "2.png"), np.zeros((60, 80, 3), np.uint8))
    search = search_stills(list_stills([folder]), BOARD)
    assert search.searched == (1,) and search.found == (0,) and search.words == ("left out, cannot be decoded as images: 1.png",)
    assert search.sizes == ((80, 60),) and len(search.misses[0].images) == 1


def test_sizes_that_differ_are_named(tmp_path: Path) -> None:
    folder = touched(tmp_path / "f")
    for number in range(1, 6):
        cv2.imwrite(str(folder / f"{number:02d}.png"), np.zeros((60, 80 if number != 4 else 64, 3), np.uint8))
    with pytest.raises(SourceError, match=r"04\.png is 64x60.*01\.png and 3 others 80x60"):
        search_stills(list_stills([folder]), BOARD)


def test_misses_are_spread_over_all() -> None:
    misses = BoardlessPictures()
    for number in range(200):
        misses.add(np.full((2, 2), number, np.uint8))
    kept = [int(image[0, 0]) for image in misses.images]
    assert 6 <= len(kept) <= N_MISSES and kept[0] == 0 and kept[-1] > 150
    assert len(set(np.diff(kept))) == 1


class Film:
    """Pictures with their stamps [ms] as a source."""

    def __init__(self, camera: int, stamps_ms: list[float], images: list[Image] | None = None, fps: float = 30.0) -> None:
        self.name, self.fps, self.truncated = "film", fps, False
        self.n_frames: int | None = len(stamps_ms)
        self.stamp, self.facts = Stamp.FILE, Facts()
        images = images or [np.full((24, 32, 3), 9, np.uint8)] * len(stamps_ms)
        self.size = (images[0].shape[1], images[0].shape[0])
        self._frames = [
            Frame(camera, k, round(t * MS), image) for k, (t, image) in enumerate(zip(stamps_ms, images, strict=True))
        ]

    def read(self) -> Frame | None:
        return self._frames.pop(0) if self._frames else None

    def close(self) -> None:
        self._frames = []


def indices(left: Film, right: Film | None, offset_s: float = 0.0) -> list[tuple[int, int | None]]:
    return [
        (row.frames[0].index if row.frames[0] else -1, row.frames[1].index if row.frames[1:] and row.frames[1] else None)
        for row in collect_rows([left] if right is None else [left, right], (0.0, offset_s) if offset_s else ())
    ]


def test_pictures_are_paired_by_time() -> None:
    """At 30 a second, 33.3 ms apart; a right picture more than 20 ms off is of another moment."""
    left, right = [0.0, 33.0, 67.0, 100.0, 133.0], [5.0, 38.0, 105.0, 138.0]
    assert indices(Film(0, left), Film(1, right)) == [(0, 0), (1, 1), (2, None), (3, 2), (4, 3)]
    assert indices(Film(0, left), None) == [(k, None) for k in range(5)]
    late = [stamp + 200.0 for stamp in left]
    assert indices(Film(0, left), Film(1, late), 0.2) == [(k, k) for k in range(5)]
    fast = [k * 1000.0 / 60.0 for k in range(12)]
    assert indices(Film(0, left), Film(1, fast, fps=60.0)) == [(0, 0), (1, 2), (2, 4), (3, 6), (4, 8)]


def test_of_three_films_the_longest_sets_the_pace() -> None:
    """The first breaks off after three frames; the other two are brought together until their end."""
    films = [Film(0, [0.0, 33.0, 67.0]), Film(1, [33.0 * k for k in range(9)]), Film(2, [10.0 + 33.0 * k for k in range(8)])]
    rows = list(collect_rows(films))
    assert [row.frames[1].index if row.frames[1] else None for row in rows] == list(range(9))
    assert [row.frames[0].index if row.frames[0] else None for row in rows] == [0, 1, 2] + [None] * 6
    assert [row.frames[2].index if row.frames[2] else None for row in rows] == [*range(8), None]


def test_films_of_unequal_length_are_told() -> None:
    one, other = Film(0, [0.0, 33.0, 67.0]), Film(1, [33.0 * k for k in range(9)])
    assert format_film_lengths([one]) == () and format_film_lengths([one, Film(1, [0.0])]) == ()
    assert format_film_lengths([one, other]) == ("the videos have 3 and 9 frames; they are paired by time from their beginnings",)
    assert format_film_lengths([one, other, one]) == (
        "the videos have 3, 9 and 3 frames; they are paired by time from their beginnings",
    )
    one.truncated = True
    assert "film: breaks off early, 3 frames are announced" in format_film_lengths([one])[0]


def test_the_stillest_moment_of_each_stretch_is_taken() -> None:
    """Brightness jumps everywhere but around pictures 5 and 11."""
    levels = [10, 40, 70, 30, 99, 100, 101, 20, 60, 10, 54, 55, 55, 90, 20, 70]
    images = [np.full((24, 32, 3), level, np.uint8) for level in levels]
    stamps = [k * 33.0 for k in range(len(levels))]
    found = [
        (moment.now.frames[0].index, moment.motion)
        for moment, _ in select_still_moments(collect_rows([Film(0, stamps, images)]), 0.25)
        if moment.now.frames[0]
    ]
    assert found == [(5, 1.0), (11, 1.0)]


def test_the_corners_motion_is_followed() -> None:
    """A pattern that goes 3 px right and 1 px up from picture to picture: 90 and -30 px/s at 30 a second."""
    rng = np.random.default_rng(3)
    ground = cv2.GaussianBlur(rng.uniform(0, 255, (200, 260)), (0, 0), 2.0)
    ground = np.clip((ground - 127.0) * 8.0 + 127.0, 0, 255)

    def shot(k: int) -> Frame:
        shift = np.array([[1.0, 0.0, 3.0 * k - 20.0], [0.0, 1.0, -1.0 * k - 20.0]])
        grey = cv2.warpAffine(ground, shift, (200, 150), flags=cv2.INTER_LINEAR).astype(np.uint8)
        return Frame(0, k, round(k * 1e9 / 30.0), np.repeat(grey[:, :, None], 3, axis=2))

    x, y = np.meshgrid(np.linspace(60, 140, 9), np.linspace(50, 100, 6))
    seen = np.arange(54) != 7
    view = BoardView(np.column_stack([x.ravel(), y.ravel()]), seen)
    moved = measure_corner_motion(view, shot(1), shot(0), shot(2))
    assert moved.moved_px == pytest.approx(np.hypot(3.0, 1.0), abs=0.05)
    assert moved.velocity_px_s is not None
    np.testing.assert_allclose(moved.velocity_px_s[seen], np.tile([90.0, -30.0], (53, 1)), atol=2.5)
    one_sided = measure_corner_motion(view, shot(1), None, shot(2))
    assert one_sided.velocity_px_s is not None
    np.testing.assert_allclose(one_sided.velocity_px_s[seen].mean(axis=0), [90.0, -30.0], atol=2.0)
    unknown = measure_corner_motion(view, shot(1), None, None)
    assert np.isnan(unknown.moved_px) and unknown.velocity_px_s is None


def course(times_s: NDArray[np.float64], late_s: float, seed: int = 1) -> NDArray[np.float64]:
    """Return how much changes at the times a camera notes: the board is moved in bursts that begin at random."""
    rng = np.random.default_rng(seed)
    begins, lengths = np.sort(rng.uniform(0.0, 20.0, 14)), rng.uniform(0.2, 0.8, 14)
    phase = (times_s[:, None] - late_s - begins) / lengths
    return np.asarray(1.0 + (8.0 * np.sin(np.pi * np.clip(phase, 0.0, 1.0))).sum(axis=1))


@pytest.mark.parametrize("late_s", [-0.73, 0.0, 0.05, 1.21])
def test_the_time_between_two_films_is_found_to_a_part_of_a_frame(late_s: float) -> None:
    """30 and 25 pictures a second, noise, and another length; 8 ms is a quarter of a frame."""
    rng = np.random.default_rng(9)
    left, right = np.arange(0.0, 20.0, 1 / 30.0), np.arange(0.4, 22.0, 1 / 25.0)
    first = course(left, 0.0) + rng.normal(0.0, 0.3, len(left))
    second = 1.7 * course(right, late_s) + rng.normal(0.0, 0.3, len(right))
    assert estimate_offset_between((left, first), (right, second)) == pytest.approx(late_s, abs=0.008)


def test_films_that_have_nothing_in_common_tell_no_offset() -> None:
    times = np.arange(0.0, 20.0, 1 / 30.0)
    assert estimate_offset_between((times, course(times, 0.0, 1)), (times, course(times, 0.0, 2))) is None
    assert estimate_offset_between((times[:60], course(times[:60], 0.0)), (times[:60], course(times[:60], 0.0))) is None
    assert estimate_offset_between((times[:1], times[:1]), (times, times)) is None


def test_change_is_counted_between_pictures() -> None:
    images = [np.full((24, 32, 3), level, np.uint8) for level in (10, 10, 25, 20)]
    times, changes = measure_picture_changes(Film(0, [0.0, 40.0, 80.0, 120.0], images))
    np.testing.assert_allclose(times, [0.02, 0.06, 0.1])
    np.testing.assert_allclose(changes, [0.0, 15.0, 5.0])
