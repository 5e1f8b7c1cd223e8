"""Pictures of a board in folders: which there are, and which of several cameras show one moment.

They belong together by the number in their names where the cameras count alike (left01.jpg and right01.jpg), else by their order.

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
from calibration.board.views import BoardMoment, BoardView
from capture.sources.source import IMAGE_SUFFIXES, make_natural_key
from config.arrays import Image
from config.errors import SourceError
from config.settings import CAMERA_NAMES
from config.units import NS_PER_S
from config.words import format_count
from tools.calibrate.board.found import BoardlessPictures, BoardSearch, Size, find_image_size
from tools.progress import Progress, ignore_progress

MIN_SHARED = 0.5  # of the shorter folder: so many numbers must be found in both, or else numbers mean nothing
NUMBER = re.compile(r"\d+")
EXPECTED = ", ".join(sorted(IMAGE_SUFFIXES))


@dataclass(frozen=True, slots=True)
class PictureSets:
    """Pictures of cameras: of each moment a file by camera, None where there is none; words: notes for the user."""

    moments: tuple[tuple[Path | None, ...], ...]
    words: tuple[str, ...] = ()


def list_images(folder: Path, stem: str = "") -> list[Path]:
    """Return the pictures of a folder in natural order; stem: beginning of their names, before a number."""
    wanted = re.compile(rf"(?i){re.escape(stem)}\D*\d+\D*\.\w+") if stem else re.compile(r".*")
    files = (file for file in folder.iterdir() if file.suffix.lower() in IMAGE_SUFFIXES and not file.name.startswith("."))
    return sorted((file for file in files if wanted.fullmatch(file.name)), key=lambda file: make_natural_key(file.name))


def list_stills(folders: Sequence[Path]) -> PictureSets:
    """List the pictures of a folder a camera; one alone may hold both cameras' pictures.

    That is a folder with folders `left` and `right`, or with left01.jpg, right01.jpg and so on. Raises SourceError: no pictures,
    or no telling which belong together.
    """
    if len(folders) > 1:
        return _group_pictures([_require_images(folder) for folder in folders], [str(folder) for folder in folders])
    sides = [folders[0] / side for side in CAMERA_NAMES[:2]]
    if all(side.is_dir() for side in sides):
        return list_stills(sides)
    files = [list_images(folders[0], side) for side in CAMERA_NAMES[:2]]
    if all(files):
        return _group_pictures(files, [f"{folders[0]}/{side}*" for side in CAMERA_NAMES[:2]])
    return PictureSets(tuple((file,) for file in _require_images(folders[0])))


def _require_images(folder: Path) -> list[Path]:
    """Return the pictures of a folder. Raises SourceError: none."""
    files = list_images(folder)
    if not files:
        raise SourceError(f"{folder}: no images in this folder; expected files such as 0001.png ({EXPECTED})")
    return files


def _group_pictures(files: Sequence[Sequence[Path]], names: Sequence[str]) -> PictureSets:
    """Group the pictures of several cameras by number, or else by order."""
    numbered = [_number_files(each) for each in files]
    by_number = [each for each in numbered if each]
    if len(by_number) == len(files) and all(_has_common_numbers(c, by_number) for c in range(len(files))):
        numbers = sorted(set[int]().union(*by_number))
        moments = tuple(tuple(each.get(number) for each in by_number) for number in numbers)
        alone = sum(sum(file is not None for file in moment) == 1 for moment in moments)
        sides = zip(("the left camera", "the right one"), files, strict=False)
        counts = ", ".join(
            f"{format_count(len(each), 'picture')} of {side}" if k == 0 else f"{len(each)} of {side}"
            for k, (side, each) in enumerate(sides)
        )
        counts = counts if len(files) == 2 else f"{format_count(sum(map(len, files)), 'picture')} of {len(files)} cameras"
        return PictureSets(
            moments, (f"{counts}: {format_count(alone, 'has', 'have')} no partner of the same number",) if alone else ()
        )
    for name, each in zip(names, files, strict=True):
        if len(each) != len(files[0]):
            raise SourceError(
                f"{names[0]} has {format_count(len(files[0]), 'picture')} and {name} {len(each)}, and their names share no "
                "numbers; give all "
                "pictures of one moment the same number, such as left01.png and right01.png, or remove those without a partner"
            )
    return PictureSets(tuple(zip(*files, strict=True)))


def _has_common_numbers(camera: int, by_number: Sequence[dict[int, Path]]) -> bool:
    """Return whether a camera's pictures have numbers that those of the others have, too."""
    others = set[int]().union(*(each for c, each in enumerate(by_number) if c != camera))
    mine = by_number[camera].keys()
    return len(mine & others) >= MIN_SHARED * min(len(mine), len(others))


def _number_files(files: Sequence[Path]) -> dict[int, Path] | None:
    """Return files by the last number of their names; None where some have none or one occurs twice."""
    found = [NUMBER.findall(file.stem) for file in files]
    if not all(found):
        return None
    numbered = {int(digits[-1]): file for digits, file in zip(found, files, strict=True)}
    return numbered if len(numbered) == len(files) else None


N_THREADS = max(1, min(4, os.cpu_count() or 1))  # OpenCV works outside Python's lock


@dataclass(frozen=True, slots=True)
class PictureResult:
    """One picture: its size, the board if it is there, the picture itself if not; all None where it cannot be decoded."""

    file: Path
    size: Size | None = None
    view: BoardView | None = None
    image: Image | None = None


def decode_image(file: Path) -> Image | None:
    """Decode a picture, turned as its EXIF says, as videos are; through memory: OpenCV cannot open every path on Windows."""
    try:
        image = cv2.imdecode(np.frombuffer(file.read_bytes(), np.uint8), cv2.IMREAD_COLOR)
    except (OSError, cv2.error):
        return None
    return None if image is None else np.ascontiguousarray(image, np.uint8)


def _search_picture(file: Path, board: Board, number: int) -> PictureResult:
    """Search the board in a picture.

    Args:
        file: the picture.
        board: the pattern.
        number: counts for its time.
    """
    image = decode_image(file)
    if image is None:
        return PictureResult(file)
    view = find_board(image, board, name=file.name, t_ns=number * NS_PER_S)
    return PictureResult(file, find_image_size(image), view, None if view is not None else image)


def search_stills(stills: PictureSets, board: Board, progress: Progress = ignore_progress) -> BoardSearch:
    """Search the board in every picture.

    Args:
        stills: pictures by moment.
        board: the pattern.
        progress: called with the number of pictures done and of all pictures.
    Raises: SourceError: pictures of one camera differ in size, or none can be read.
    """
    n = len(stills.moments[0])
    jobs = [(m, c, file) for m, files in enumerate(stills.moments) for c, file in enumerate(files) if file is not None]
    views: list[list[BoardView | None]] = [[None] * n for _ in stills.moments]
    misses, searched = tuple(BoardlessPictures() for _ in range(n)), [0] * n
    sizes: list[dict[Size, list[str]]] = [{} for _ in range(n)]
    unreadable: list[str] = []
    for done, ((moment, camera, _), seen) in enumerate(zip(jobs, _search_pictures(jobs, board), strict=True)):
        progress(done + 1, len(jobs))
        if seen.size is None:
            unreadable.append(seen.file.name)
            continue
        searched[camera] += 1
        sizes[camera].setdefault(seen.size, []).append(seen.file.name)
        views[moment][camera] = seen.view
        if seen.image is not None:
            misses[camera].add(seen.image)
    for camera, files in enumerate(zip(*stills.moments, strict=True)):
        _check_readable([file for file in files if file is not None], searched[camera])
        _check_equal_sizes(str(next(file.parent for file in files if file is not None)), sizes[camera])
    words = stills.words + ((f"left out, cannot be decoded as images: {', '.join(unreadable)}",) if unreadable else ())
    moments = tuple(BoardMoment(tuple(row)) for row in views if any(view is not None for view in row))
    return BoardSearch(moments, tuple(next(iter(found)) for found in sizes), tuple(searched), misses, words)


def _search_pictures(jobs: list[tuple[int, int, Path]], board: Board) -> Iterator[PictureResult]:
    """Look at pictures in order, several at a time, no more of them in memory than that takes."""
    with ThreadPoolExecutor(N_THREADS) as pool:
        waiting = iter(jobs)
        running = [pool.submit(_search_picture, file, board, pair) for pair, _, file in islice(waiting, 2 * N_THREADS)]
        while running:
            seen = running.pop(0).result()
            running += [pool.submit(_search_picture, file, board, pair) for pair, _, file in islice(waiting, 1)]
            yield seen


def _check_readable(files: Sequence[Path], searched: int) -> None:
    """Raise SourceError where none of a camera's pictures can be read."""
    if not searched:
        raise SourceError(
            f"{files[0]} and all others of its folder cannot be decoded as images; expected PNG or JPEG: copy them again"
        )


def _check_equal_sizes(folder: str, sizes: dict[Size, list[str]]) -> None:
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
