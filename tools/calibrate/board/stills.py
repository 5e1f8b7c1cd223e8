"""Pictures of a board in folders: which there are, and which of the left and right camera show one moment.

Pictures are paired by the number in their names where both cameras count alike (left01.jpg and right01.jpg), else by their order.

Look for a board in pictures that were taken one by one, several at a time.
"""

import os
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import cv2
import numpy as np

from calibration.board.find import find_board
from calibration.board.pattern import Board
from calibration.board.views import BoardView, ViewPair
from capture.sources.source import IMAGE_SUFFIXES, natural_key
from config.arrays import Image
from config.errors import SourceError
from config.settings import CAMERAS
from tools.calibrate.board.found import BoardlessPictures, BoardSearch, Progress, Size, size_of

MIN_SHARED = 0.5  # of the shorter folder: so many numbers must be found in both, or else numbers mean nothing
NUMBER = re.compile(r"\d+")
EXPECTED = ", ".join(sorted(IMAGE_SUFFIXES))


@dataclass(frozen=True, slots=True)
class PicturePairs:
    """Pictures of both cameras or of one: pairs of files, None where a camera has none; words: what a user should know."""

    pairs: tuple[tuple[Path | None, Path | None], ...]
    words: tuple[str, ...]

    @property
    def is_monocular(self) -> bool:
        """Return whether there is one camera only."""
        return all(right is None for _, right in self.pairs)


def images_in(folder: Path, stem: str = "") -> list[Path]:
    """Return the pictures of a folder in natural order; stem: with which their names begin, before a number."""
    wanted = re.compile(rf"(?i){re.escape(stem)}\D*\d+\D*\.\w+") if stem else re.compile(r".*")
    files = (file for file in folder.iterdir() if file.suffix.lower() in IMAGE_SUFFIXES and not file.name.startswith("."))
    return sorted((file for file in files if wanted.fullmatch(file.name)), key=lambda file: natural_key(file.name))


def stills_of(left: Path, right: Path | None) -> PicturePairs:
    """List the pictures of two folders, or of one camera's; LEFT alone may hold both cameras' pictures.

    That is a folder with folders `left` and `right`, or with left01.jpg, right01.jpg and so on. Raises SourceError: no pictures,
    or no telling which belong together.
    """
    if right is not None:
        return _paired(_some(left), _some(right), (str(left), str(right)))
    folders = [left / side for side in CAMERAS]
    if all(folder.is_dir() for folder in folders):
        return stills_of(folders[0], folders[1])
    sides = [images_in(left, side) for side in CAMERAS]
    if all(sides):
        return _paired(sides[0], sides[1], tuple(f"{left}/{side}*" for side in CAMERAS))
    return PicturePairs(tuple((file, None) for file in _some(left)), ())


def _some(folder: Path) -> list[Path]:
    """Return the pictures of a folder. Raises SourceError: none."""
    files = images_in(folder)
    if not files:
        raise SourceError(f"{folder}: no images in this folder; expected files such as 0001.png ({EXPECTED})")
    return files


def _paired(left: Sequence[Path], right: Sequence[Path], names: tuple[str, ...]) -> PicturePairs:
    """Pair pictures by number, or else by order."""
    numbers = _numbers(left), _numbers(right)
    if all(numbers):
        one, other = (dict(zip(side or (), files, strict=True)) for side, files in zip(numbers, (left, right), strict=True))
        shared = one.keys() & other.keys()
        if len(shared) >= MIN_SHARED * min(len(one), len(other)):
            pairs = tuple((one.get(number), other.get(number)) for number in sorted(one.keys() | other.keys()))
            alone = len(pairs) - len(shared)
            counts = f"{len(left)} pictures of the left camera, {len(right)} of the right one"
            return PicturePairs(pairs, (f"{counts}: {alone} have no partner of the same number",) if alone else ())
    if len(left) != len(right):
        raise SourceError(
            f"{names[0]} has {len(left)} pictures and {names[1]} {len(right)}, and their names share no numbers; give both "
            "pictures of one moment the same number, such as left01.png and right01.png, or remove those without a partner"
        )
    return PicturePairs(tuple(zip(left, right, strict=True)), ())


def _numbers(files: Sequence[Path]) -> list[int] | None:
    """Return the number of each file, its name's last one; None where some have none or one occurs twice."""
    found = [NUMBER.findall(file.stem) for file in files]
    if not all(found):
        return None
    numbers = [int(digits[-1]) for digits in found]
    return numbers if len(set(numbers)) == len(numbers) else None


N_THREADS = max(1, min(4, os.cpu_count() or 1))  # OpenCV works outside Python's lock
NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class PictureResult:
    """One picture: its size, the board if it is there, the picture itself if not; all None where it cannot be decoded."""

    file: Path
    size: Size | None = None
    view: BoardView | None = None
    image: Image | None = None


def decoded(file: Path) -> Image | None:
    """Decode a picture, turned as its EXIF says, as videos are; through memory: OpenCV cannot open every path on Windows."""
    try:
        image = cv2.imdecode(np.frombuffer(file.read_bytes(), np.uint8), cv2.IMREAD_COLOR)
    except (OSError, cv2.error):
        return None
    return None if image is None else np.ascontiguousarray(image, np.uint8)


def look(file: Path, board: Board, number: int) -> PictureResult:
    """Look for the board in a picture; number: counts for its time."""
    image = decoded(file)
    if image is None:
        return PictureResult(file)
    view = find_board(image, board, name=file.name, t_ns=number * NS)
    return PictureResult(file, size_of(image), view, None if view is not None else image)


def search_stills(stills: PicturePairs, board: Board, progress: Progress = lambda done, total: None) -> BoardSearch:
    """Look for the board in every picture. Raises SourceError: pictures of one camera differ in size, or none can be read."""
    jobs = [
        (pair, camera, file) for pair, files in enumerate(stills.pairs) for camera, file in enumerate(files) if file is not None
    ]
    views: list[list[BoardView | None]] = [[None, None] for _ in stills.pairs]
    misses, searched = (BoardlessPictures(), BoardlessPictures()), [0, 0]
    sizes: tuple[dict[Size, list[str]], dict[Size, list[str]]] = ({}, {})
    unreadable: list[str] = []
    for done, ((pair, camera, _), seen) in enumerate(zip(jobs, _looked(jobs, board), strict=True)):
        progress(done + 1, len(jobs))
        if seen.size is None:
            unreadable.append(seen.file.name)
            continue
        searched[camera] += 1
        sizes[camera].setdefault(seen.size, []).append(seen.file.name)
        views[pair][camera] = seen.view
        if seen.image is not None:
            misses[camera].add(seen.image)
    _check_readable(stills, searched, unreadable)
    for camera in range(2):
        _check_sizes(str(jobs[0][2].parent if camera == 0 else jobs[-1][2].parent), sizes[camera])
    left, right = (next(iter(found), (0, 0)) for found in sizes)
    words = stills.words + ((f"left out, cannot be decoded as images: {', '.join(unreadable)}",) if unreadable else ())
    pairs = tuple(ViewPair(*both) for both in views if any(view is not None for view in both))
    return BoardSearch(pairs, (left, left if stills.is_monocular else right), (searched[0], searched[1]), misses, words)


def _looked(jobs: list[tuple[int, int, Path]], board: Board) -> Iterator[PictureResult]:
    """Look at pictures in order, several at a time, no more of them in memory than that takes."""
    with ThreadPoolExecutor(N_THREADS) as pool:
        waiting = iter(jobs)
        running = [pool.submit(look, file, board, pair) for pair, _, file in islice(waiting, 2 * N_THREADS)]
        while running:
            seen = running.pop(0).result()
            running += [pool.submit(look, file, board, pair) for pair, _, file in islice(waiting, 1)]
            yield seen


def _check_readable(stills: PicturePairs, searched: list[int], unreadable: list[str]) -> None:
    """Raise SourceError where a camera has no picture that can be read."""
    for camera, count in enumerate(searched):
        files = [pair[camera] for pair in stills.pairs if pair[camera] is not None]
        if files and not count:
            raise SourceError(
                f"{files[0]} and all others of its folder cannot be decoded as images; expected PNG or JPEG: copy them again"
            )


def _check_sizes(folder: str, sizes: dict[Size, list[str]]) -> None:
    """Raise SourceError where pictures of one camera have different sizes: one camera gives one size."""
    if len(sizes) < 2:
        return
    (usual, many), *others = sorted(sizes.items(), key=lambda item: -len(item[1]))
    odd, names = others[0]
    listed = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
    raise SourceError(
        f"{folder}: {listed} {'is' if len(names) == 1 else 'are'} {odd[0]}x{odd[1]}, but {many[0]} and {len(many) - 1} others "
        f"{usual[0]}x{usual[1]}; one camera gives one size: remove what is of another one, or was cropped or turned"
    )
