"""Where a board is to be looked for: folders of pictures, videos, or a recorded session, of two cameras or one."""

from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from calibration.board import Board
from capture.session_files import is_session
from capture.session_video import session_videos
from capture.sources import Source, open_source
from capture.timestamps import read_timestamps
from config.errors import SourceError
from tools.board_sources_films import FEW, search_film
from tools.board_sources_found import Progress, Search
from tools.board_sources_look import search_stills
from tools.board_sources_offset import change_of, offset_between
from tools.board_sources_stills import images_in, stills_of

N_STILLS = 200  # more pictures in a folder than that are the frames of a film


@dataclass(frozen=True, slots=True)
class BoardSpec:
    """Where to look.

    left, right: as the user wrote them; timestamps, fps: of videos; offset_s: by which the right camera's stamps are late [s];
    moving: look at moments in motion too, which tell the cameras' time offset.
    """

    left: Path
    right: Path | None = None
    timestamps: Path | None = None
    fps: float | None = None
    offset_s: float = 0.0
    moving: bool = False

    @property
    def is_stills(self) -> bool:
        """Tell whether these are pictures that were taken one by one."""
        if not self.left.is_dir() or is_session(self.left):
            return False
        return self.timestamps is None and self.fps is None and len(images_in(self.left)) <= N_STILLS


def search_board(spec: BoardSpec, board: Board, progress: Progress = lambda done, total: None) -> Search:
    """Look for the board; a film in which next to nothing is found at a glance is looked at again with care.

    Raises SourceError: nothing there that can be read, or the two do not fit each other.
    """
    if spec.is_stills:
        _check_both(spec, folders=True)
        return search_stills(stills_of(spec.left, spec.right), board, progress)
    found = _searched(spec, board, progress, thorough=False)
    few = min(found.found) if not found.is_lone else found.found[0]
    return _searched(spec, board, progress, thorough=True) if few < FEW else found


def _searched(spec: BoardSpec, board: Board, progress: Progress, thorough: bool) -> Search:
    """Look through films once."""
    with ExitStack() as stack:
        left, right = (source and stack.enter_context(closing(source)) for source in _opened(spec))
        assert left is not None
        return search_film(left, right, board, progress, offset_s=spec.offset_s, thorough=thorough, moving=spec.moving)


def with_offset(spec: BoardSpec) -> BoardSpec:
    """Find by how much the right camera's stamps are late, roughly, and look there for moments in motion.

    Raises SourceError: pictures taken one by one, which know no time, or no telling from these films.
    """
    if spec.is_stills or (spec.right is None and not is_session(spec.left)):
        raise SourceError(f"{spec.left}: the time between two cameras can be found in two videos only, with a board that moves")
    with ExitStack() as stack:
        left, right = (source and stack.enter_context(closing(source)) for source in _opened(spec))
        assert left is not None and right is not None
        offset_s = offset_between(change_of(left), change_of(right))
    if offset_s is None:
        raise SourceError(
            f"{spec.left}: nothing moves alike in both videos, so the time between them cannot be told; move the board and hold "
            "it still by turns for ten seconds in view of both, or give --offset S"
        )
    return replace(spec, offset_s=offset_s, moving=True)


def _opened(spec: BoardSpec) -> tuple[Source, Source | None]:
    """Open the films at their first frame. Raises SourceError."""
    if is_session(spec.left):
        if spec.right is not None:
            raise SourceError(
                f"{spec.left} is the folder of a session, which holds both cameras; give it alone, without {spec.right}"
            )
        return session_videos(spec.left)
    _check_both(spec, folders=spec.left.is_dir())
    stamps = None if spec.timestamps is None else read_timestamps(spec.timestamps)
    columns = [stamps if stamps is None or stamps.ndim == 1 else np.ascontiguousarray(stamps[:, c]) for c in range(2)]
    left = open_source(spec.left, 0, spec.fps, columns[0])
    return left, None if spec.right is None else open_source(spec.right, 1, spec.fps, columns[1])


def _check_both(spec: BoardSpec, folders: bool) -> None:
    """Raise SourceError where one camera gives pictures and the other a video."""
    if spec.right is not None and (is_session(spec.right) or spec.right.is_dir() is not folders):
        kinds = ("a folder of pictures", "a video") if folders else ("a video", "a folder")
        raise SourceError(f"{spec.left} is {kinds[0]}, {spec.right} {kinds[1]}; both cameras must be given in one way")
