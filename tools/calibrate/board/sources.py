"""Where a board is to be looked for: folders of pictures, videos, or a recorded session, of one camera or more.

By how much one camera's stamps are late, from when things move in the pictures of both.

A board that is moved and rests changes both cameras' pictures at the same times: the two courses of change are laid over
each other (cross-correlation). Good to a part of a frame, which is near enough to solve for the rest from the corners' motion.
"""

from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from calibration.board.pattern import Board
from capture.recording.session import is_session, open_session_videos
from capture.sources.recorded_times import read_timestamps
from capture.sources.source import Source, open_source
from config.arrays import Floats
from config.errors import SourceError
from config.units import NS_PER_S
from tools.calibrate.board.films import FEW, search_film
from tools.calibrate.board.found import BoardSearch, shrink_to_grey
from tools.calibrate.board.stills import list_images, list_stills, search_stills
from tools.progress import Progress, ignore_progress

RATE_HZ = 200.0
MAX_OFFSET_S = 2.0
MIN_LENGTH_S = 3.0
MIN_CORRELATION = 0.5
CEILING = 95.0  # percentile at which change is cut off: a lamp that is switched must not decide alone


def measure_picture_changes(film: Source) -> tuple[Floats, Floats]:
    """Return times between neighbouring pictures [s] and how much changed from one to the next [grey levels]."""
    times, changes = [], []
    before, t_before_ns = None, 0
    while (frame := film.read()) is not None:
        now = shrink_to_grey(frame.image).astype(np.float32)
        if before is not None:
            times.append(0.5 * (frame.t_capture_ns + t_before_ns) / NS_PER_S)
            changes.append(float(np.abs(now - before).mean()))
        before, t_before_ns = now, frame.t_capture_ns
    return np.array(times), np.array(changes)


def estimate_offset_between(left: tuple[Floats, Floats], right: tuple[Floats, Floats]) -> float | None:
    """Return by how much the right times are late [s] from both courses of change, None where they are not alike.

    left, right: times, increasing [s], and changes, (N,) each.
    """
    if min(len(left[0]), len(right[0])) < 2:
        return None
    start, end = max(left[0][0], right[0][0]), min(left[0][-1], right[0][-1])
    if end - start < MIN_LENGTH_S:
        return None
    reach = round(min(MAX_OFFSET_S, 0.3 * (end - start)) * RATE_HZ)
    grid = np.arange(start, end, 1.0 / RATE_HZ)
    one, other = (_smooth_course(np.interp(grid, times, np.minimum(c, np.percentile(c, CEILING)))) for times, c in (left, right))
    scores = np.array([_compute_correlation(one, other, shift) for shift in range(-reach, reach + 1)])
    best = int(np.argmax(scores))
    if scores[best] < MIN_CORRELATION or best in (0, len(scores) - 1):
        return None
    before, peak, after = scores[best - 1 : best + 2]
    bend = before - 2.0 * peak + after
    return float((best - reach + (0.5 * (before - after) / bend if bend < 0.0 else 0.0)) / RATE_HZ)


def _smooth_course(course: Floats) -> Floats:
    """Even a course of change over a frame's time, so that where frames fall matters less."""
    width = round(0.05 * RATE_HZ)
    return np.convolve(course, np.ones(width) / width, mode="same")


def _compute_correlation(one: Floats, other: Floats, shift: int) -> float:
    """Return how well `other`, taken `shift` samples later, fits on `one`."""
    n = len(one) - abs(shift)
    a, b = (one[:n], other[shift : shift + n]) if shift >= 0 else (one[-shift:], other[:n])
    a, b = a - a.mean(), b - b.mean()
    return float(a @ b / max(np.linalg.norm(a) * np.linalg.norm(b), 1e-12))


N_STILLS = 200  # more pictures in a folder than that are the frames of a film


@dataclass(frozen=True, slots=True)
class BoardSpec:
    """Where to look.

    Attributes:
        sources: one a camera, as the user wrote them.
        timestamps, fps: timestamps or frame rate of videos.
        late_s: delay of each camera's timestamps [s], empty if all are right.
        moving: look at moments in motion too, which tell the cameras' time offset.
        frame_times: times of each camera's own frames, (N,) each [s], in place of timestamps.
    """

    sources: tuple[Path, ...]
    timestamps: Path | None = None
    fps: float | None = None
    late_s: tuple[float, ...] = ()
    moving: bool = False
    frame_times: tuple[Floats, ...] | None = field(default=None, compare=False)

    @property
    def first(self) -> Path:
        """The first camera's source."""
        return self.sources[0]

    @property
    def is_stills(self) -> bool:
        """Return whether these are pictures that were taken one by one."""
        if not self.first.is_dir() or is_session(self.first):
            return False
        return self.timestamps is None and self.fps is None and len(list_images(self.first)) <= N_STILLS


def search_board(spec: BoardSpec, board: Board, progress: Progress = ignore_progress) -> BoardSearch:
    """Search the board; a film in which a quick look finds next to nothing is searched again with care.

    Args:
        spec: films or pictures of each camera.
        board: the pattern.
        progress: called with the amount done and the whole amount.
    Raises: SourceError: nothing there that can be read, or the two do not fit each other.
    """
    if spec.is_stills:
        _check_source_kinds(spec, folders=True)
        return search_stills(list_stills(spec.sources), board, progress)
    found = _search_films(spec, board, progress, thorough=False)
    return _search_films(spec, board, progress, thorough=True) if min(found.found) < FEW else found


def _search_films(spec: BoardSpec, board: Board, progress: Progress, thorough: bool) -> BoardSearch:
    """Look through films once."""
    with ExitStack() as stack:
        films = [stack.enter_context(closing(source)) for source in _open_films(spec)]
        timed = spec.frame_times is not None
        return search_film(films, board, progress, late_s=spec.late_s, thorough=thorough, moving=spec.moving, timed=timed)


def estimate_camera_offsets(spec: BoardSpec) -> BoardSpec:
    """Estimate by how much the cameras' stamps are later than the first one's, roughly, and look there for moments in motion.

    Raises SourceError: pictures taken one by one, which know no time, or no telling from these films.
    """
    if spec.is_stills or (len(spec.sources) == 1 and not is_session(spec.first)):
        raise SourceError(f"{spec.first}: the time between two cameras can be found in two videos only, with a board that moves")
    with ExitStack() as stack:
        first, *others = [measure_picture_changes(stack.enter_context(closing(source))) for source in _open_films(spec)]
    late_s = [0.0]
    for course in others:
        offset_s = estimate_offset_between(first, course)
        if offset_s is None:
            raise SourceError(
                f"{spec.first}: nothing moves alike in all videos, so the time between them cannot be told; move the board and "
                "hold it still by turns for ten seconds in view of all, or give --offset S"
            )
        late_s.append(offset_s)
    return replace(spec, late_s=tuple(late_s), moving=True)


def _open_films(spec: BoardSpec) -> list[Source]:
    """Open the films at their first frame. Raises SourceError."""
    if is_session(spec.first):
        if len(spec.sources) > 1:
            raise SourceError(
                f"{spec.first} is the folder of a session, which holds all cameras; give it alone, without {spec.sources[1]}"
            )
        return [source for source in open_session_videos(spec.first) if source is not None]
    _check_source_kinds(spec, folders=spec.first.is_dir())
    stamps = None if spec.timestamps is None else read_timestamps(spec.timestamps)
    columns = spec.frame_times or [
        stamps if stamps is None or stamps.ndim == 1 else np.ascontiguousarray(stamps[:, c]) for c in range(len(spec.sources))
    ]
    opened = zip(spec.sources, columns, strict=True)
    return [open_source(source, camera, spec.fps, times) for camera, (source, times) in enumerate(opened)]


def _check_source_kinds(spec: BoardSpec, folders: bool) -> None:
    """Raise SourceError where one camera gives pictures and another a video."""
    for other in spec.sources[1:]:
        if is_session(other) or other.is_dir() is not folders:
            kinds = ("a folder of pictures", "a video") if folders else ("a video", "a folder")
            raise SourceError(f"{spec.first} is {kinds[0]}, {other} {kinds[1]}; all cameras must be given in one way")
