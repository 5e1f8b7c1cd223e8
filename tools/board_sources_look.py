"""Look for a board in pictures that were taken one by one, several at a time."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import cv2
import numpy as np

from calibration.board import Board
from calibration.board_find import find_board
from calibration.views import BoardView, ViewPair
from config.errors import SourceError
from tools.board_sources_found import Image, Misses, Progress, Search, Size, size_of
from tools.board_sources_stills import Stills

N_THREADS = max(1, min(4, os.cpu_count() or 1))  # OpenCV works outside Python's lock
NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Looked:
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


def look(file: Path, board: Board, number: int) -> Looked:
    """Look for the board in a picture; number: counts for its time."""
    image = decoded(file)
    if image is None:
        return Looked(file)
    view = find_board(image, board, name=file.name, t_ns=number * NS)
    return Looked(file, size_of(image), view, None if view is not None else image)


def search_stills(stills: Stills, board: Board, progress: Progress = lambda done, total: None) -> Search:
    """Look for the board in every picture. Raises SourceError: pictures of one camera differ in size, or none can be read."""
    jobs = [
        (pair, camera, file) for pair, files in enumerate(stills.pairs) for camera, file in enumerate(files) if file is not None
    ]
    views: list[list[BoardView | None]] = [[None, None] for _ in stills.pairs]
    misses, searched = (Misses(), Misses()), [0, 0]
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
    return Search(pairs, (left, left if stills.is_lone else right), (searched[0], searched[1]), misses, words)


def _looked(jobs: list[tuple[int, int, Path]], board: Board) -> Iterator[Looked]:
    """Look at pictures in order, several at a time, no more of them in memory than that takes."""
    with ThreadPoolExecutor(N_THREADS) as pool:
        waiting = iter(jobs)
        running = [pool.submit(look, file, board, pair) for pair, _, file in islice(waiting, 2 * N_THREADS)]
        while running:
            seen = running.pop(0).result()
            running += [pool.submit(look, file, board, pair) for pair, _, file in islice(waiting, 1)]
            yield seen


def _check_readable(stills: Stills, searched: list[int], unreadable: list[str]) -> None:
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
