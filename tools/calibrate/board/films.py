"""Look for a board in videos: in every quarter of a second at the stillest moment, with how the corners moved around it."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import cv2
import numpy as np

from calibration.board.find import find_board
from calibration.board.pattern import Board
from calibration.board.views import BoardMoment, BoardView
from capture.packets import Frame
from capture.recording.recording import PAIR_SHARE
from capture.sources.source import Source
from config.arrays import Floats, Image
from config.units import NS_PER_S
from tools.calibrate.board.found import BoardlessPictures, BoardSearch, shrink_to_grey
from tools.progress import Progress, ignore_progress

MOMENT_S = 0.25
N_MOMENTS = 480  # of a long film
N_THOROUGH = 60  # looked at thoroughly where a quick look finds next to nothing
FEW = 8
MORE_FRAMES = 2  # of one film than of the other, that mean nothing
FLOW_WINDOW = (21, 21)
MAX_FLOW_ERROR_PX = 0.5


@dataclass(frozen=True, slots=True)
class PictureRow:
    """The pictures of one moment, by camera (None where a camera has none), small grey copies of them, and the moment."""

    frames: tuple[Frame | None, ...]
    small: tuple[Image | None, ...]
    t_ns: int


@dataclass(frozen=True, slots=True)
class FilmedRow:
    """A picture with the ones before and after it; motion: the largest mean change of grey levels around it."""

    before: PictureRow | None
    now: PictureRow
    after: PictureRow | None
    motion: float


def collect_rows(films: Sequence[Source], late_s: Sequence[float] = ()) -> Iterator[PictureRow]:
    """Bring the pictures of sources together by time: each of the first with the nearest of every other one.

    Of more than two cameras the longest takes the place of the first. late_s: delay of each camera's timestamps [s], empty if
    all are right.
    """
    base = 0 if len(films) < 3 else max(range(len(films)), key=lambda c: (films[c].n_frames or 0) / films[c].fps)
    late_ns = [round(late * NS_PER_S) for late in late_s] or [0] * len(films)
    others = {c: _Follower(film, late_ns[c] - late_ns[base], films[base].fps) for c, film in enumerate(films) if c != base}
    while (frame := films[base].read()) is not None:
        t_ns = frame.t_capture_ns
        frames = tuple(frame if c == base else others[c].nearest(t_ns) for c in range(len(films)))
        yield PictureRow(frames, tuple(None if each is None else shrink_to_grey(each.image) for each in frames), t_ns)


class _Follower:
    """A film that is read along with another one."""

    def __init__(self, film: Source, late_ns: int, fps: float) -> None:
        self._film, self._late_ns = film, late_ns
        self._reach_ns = PAIR_SHARE * NS_PER_S / min(film.fps, fps)
        self._earlier = self._later = self._read()

    def _read(self) -> Frame | None:
        """Return the next frame in the other film's time."""
        frame = self._film.read()
        return None if frame is None else replace(frame, t_capture_ns=frame.t_capture_ns - self._late_ns)

    def nearest(self, t_ns: int) -> Frame | None:
        """Return the frame that is nearest to a time, which never goes back; None where none is near."""
        while self._later is not None and self._later.t_capture_ns < t_ns:
            self._earlier, self._later = self._later, self._read()
        both = [each for each in (self._earlier, self._later) if each is not None]
        near = [each for each in both if abs(each.t_capture_ns - t_ns) <= self._reach_ns]
        return min(near, key=lambda each: abs(each.t_capture_ns - t_ns), default=None)


def select_still_moments(rows: Iterator[PictureRow], moment_s: float, moving: bool = False) -> Iterator[tuple[FilmedRow, int]]:
    """Return the stillest moment of every `moment_s`, and how many rows were read until then.

    Args:
        rows: pictures by moment.
        moment_s: length of time of which one row is chosen [s].
        moving: every other time take the one that moves most, from which the time offset is estimated.
    """
    best: FilmedRow | None = None
    sign = 1.0
    before: PictureRow | None = None
    now = next(rows, None)
    count, ends_ns = 0, 0
    while now is not None:
        after = next(rows, None)
        count += 1
        t_ns = now.t_ns
        if best is not None and t_ns >= ends_ns:
            yield best, count
            best = None
            sign = -sign if moving else sign
        if best is None:
            ends_ns = t_ns + round(moment_s * NS_PER_S)
        motion = max(_measure_change(before, now), _measure_change(now, after))
        if best is None or sign * motion < sign * best.motion:
            best = FilmedRow(before, now, after, motion)
        before, now = now, after
    if best is not None:
        yield best, count


def _measure_change(one: PictureRow | None, other: PictureRow | None) -> float:
    """Return the largest of the cameras' mean changes of grey levels between two rows; 0 at the ends of a film."""
    if one is None or other is None:
        return 0.0
    pairs = [(a, b) for a, b in zip(one.small, other.small, strict=True) if a is not None and b is not None]
    return max((float(cv2.absdiff(a, b).mean()) for a, b in pairs), default=0.0)


def search_film(
    films: Sequence[Source],
    board: Board,
    progress: Progress = ignore_progress,
    *,
    late_s: Sequence[float] = (),
    thorough: bool = False,
    moving: bool = False,
    timed: bool = False,
) -> BoardSearch:
    """Look for the board at the stillest moments of videos.

    Args:
        films: one a camera.
        board: board to find.
        progress: called with the number of frames done and of all frames.
        late_s: delay of each camera's timestamps [s], empty if all are right.
        thorough: fewer moments, a careful look at each.
        moving: also moments in motion.
        timed: the time of each frame is known.
    """
    n, total_s = len(films), (films[0].n_frames or 0) / films[0].fps
    moment_s = max(MOMENT_S, total_s / (N_THOROUGH if thorough else N_MOMENTS))
    moments, misses, searched = [], tuple(BoardlessPictures() for _ in films), [0] * n
    with ThreadPoolExecutor(max(2, min(n, 4))) as pool:
        for moment, done in select_still_moments(collect_rows(films, late_s), moment_s, moving):
            progress(done, films[0].n_frames)
            views = tuple(pool.map(lambda camera, m=moment: _detect_board_at(m, camera, board, thorough), range(n)))
            for camera, (view, frame) in enumerate(zip(views, moment.now.frames, strict=True)):
                searched[camera] += frame is not None
                if view is None and frame is not None:
                    misses[camera].add(frame.image)
            if any(view is not None for view in views):
                moments.append(BoardMoment(views))
    sizes = tuple(film.size for film in films)
    return BoardSearch(tuple(moments), sizes, tuple(searched), misses, format_film_lengths(films, timed), is_film=True)


def format_film_lengths(films: Sequence[Source], timed: bool = False) -> tuple[str, ...]:
    """Return words on films that broke off early or have different lengths; timed: each frame's time is known, so lengths may."""
    words = [
        f"{film.name}: breaks off early, {film.n_frames} frames are announced; what could be read is used"
        for film in films
        if film.truncated
    ]
    counts = [film.n_frames for film in films if film.n_frames is not None]
    if len(counts) > 1 and not timed and max(counts) - min(counts) > MORE_FRAMES:
        *first, last = map(str, counts)
        listed = f"{', '.join(first)} and {last}"
        words.append(f"the videos have {listed} frames; they are paired by time from their beginnings")
    return tuple(words)


def _detect_board_at(moment: FilmedRow, camera: int, board: Board, thorough: bool) -> BoardView | None:
    """Look for the board in one camera's picture of a moment, quickly first; with its corners' motion.

    Args:
        moment: pictures of all cameras.
        camera: number of the camera.
        board: the pattern.
        thorough: search with care where a quick look finds nothing.
    """
    frame = moment.now.frames[camera]
    if frame is None:
        return None
    name = f"frame {frame.index}"
    if not thorough and find_board(frame.image, board, name=name, quick=True) is None:
        return None
    view = find_board(frame.image, board, name=name, t_ns=frame.t_capture_ns)
    if view is None:
        return None
    before, after = (None if row is None else row.frames[camera] for row in (moment.before, moment.after))
    return measure_corner_motion(view, frame, before, after)


def measure_corner_motion(view: BoardView, frame: Frame, before: Frame | None, after: Frame | None) -> BoardView:
    """Follow the corners to the neighbouring pictures: how far they moved, and how fast.

    Args:
        view: corners that were found.
        frame: the picture they were found in.
        before: the picture before; None: none.
        after: the picture after; None: none.
    """
    flows = [(_track_corners(frame, other, view), other.t_capture_ns) for other in (before, after) if other is not None]
    known = [(places, t_ns) for places, t_ns in flows if places is not None and t_ns != frame.t_capture_ns]
    if not known:
        return view
    steps = [float(np.median(np.linalg.norm(places - view.corners_px, axis=1)[view.seen])) for places, _ in known]
    ends = [(view.corners_px, frame.t_capture_ns), *known]
    (first, t0_ns), (last, t1_ns) = min(ends, key=lambda end: end[1]), max(ends, key=lambda end: end[1])
    velocity = np.ascontiguousarray((last - first) * (NS_PER_S / (t1_ns - t0_ns)))
    return replace(view, moved_px=max(steps), velocity_px_s=velocity)


def _track_corners(frame: Frame, other: Frame, view: BoardView) -> Floats | None:
    """Return where the corners are in another picture, (N, 2) [px]; None where they cannot be followed there and back."""
    grey = [cv2.cvtColor(each.image, cv2.COLOR_BGR2GRAY) for each in (frame, other)]
    corners = np.where(view.seen[:, None], view.corners_px, 0.0).astype(np.float32)[:, None]
    there, ok, _ = cv2.calcOpticalFlowPyrLK(grey[0], grey[1], corners, None, winSize=FLOW_WINDOW)
    back, ok_back, _ = cv2.calcOpticalFlowPyrLK(grey[1], grey[0], there, None, winSize=FLOW_WINDOW)
    lost = np.linalg.norm((back - corners)[:, 0], axis=1) > MAX_FLOW_ERROR_PX
    good = (ok[:, 0] == 1) & (ok_back[:, 0] == 1) & ~lost
    if np.mean(good[view.seen]) < 0.8:
        return None
    flow = (there - corners)[:, 0].astype(float)
    flow[~good] = np.median(flow[good & view.seen], axis=0)
    return np.asarray(view.corners_px + flow)
