"""What is seen of a floor: a board that lies on it, markers that lie on it, or the markers of somebody who walks."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from calibration.board.pattern import Board
from calibration.board.views import BoardMoment
from calibration.camera import Camera, Rig
from calibration.floor.dwell import PointFrame
from capture.background.statistics import Background
from capture.detection.detector import Detector
from capture.packets import Blobs, Frame, Views
from capture.recording.recording import CaptureRecording, Frames, RecordingSpec
from capture.recording.session import is_session, read_session_camera_names
from capture.sources.source import IMAGE_SUFFIXES
from capture.stereo.check import check_rig_fits
from capture.stereo.matching import add_rig_error, match
from config.arrays import Floats
from config.errors import CalibrationError, DuocapError, SourceError
from config.markers import MarkerSet
from config.settings import Settings
from config.units import NS_PER_S
from config.words import format_count
from tools.calibrate.board.found import BoardSearch, Size, find_image_size
from tools.calibrate.board.sources import BoardSpec, search_board
from tools.calibrate.board.stills import PictureSets, decode_image, search_stills
from tools.progress import Progress

SAME_PX = 2.5  # a marker that lies still stays within this
PRESENT = 0.5  # of all pictures, in which it must be seen
LEAST_MARKERS = 3
FLOOR_EXTENT_M = 3.0  # markers on a floor lie at many depths
N_CHECKED = 30


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """The seconds of a recording that are looked at; None: from its beginning, to its end."""

    start_s: float | None = None
    end_s: float | None = None

    def holds(self, t_ns: int) -> bool:
        """Return whether a moment is among them."""
        seconds = t_ns / NS_PER_S
        return (self.start_s is None or seconds >= self.start_s) and (self.end_s is None or seconds <= self.end_s)

    def is_over(self, t_ns: int) -> bool:
        """Return whether a moment comes after them."""
        return self.end_s is not None and t_ns / NS_PER_S > self.end_s


def search_board_moments(
    spec: BoardSpec, board: Board, rig: Rig, window: TimeWindow, progress: Progress
) -> tuple[tuple[BoardMoment, ...], BoardSearch]:
    """Search the board in films, folders or single pictures.

    Args:
        spec: films or pictures of each camera.
        board: the pattern.
        rig: the cameras.
        window: times to look at.
        progress: called with the amount done and the whole amount.
    Raises: SourceError, CalibrationError: nothing to read, another size than the rig's, no board in it.
    """
    if all(is_picture(file) for file in spec.sources):
        search = search_stills(PictureSets((spec.sources,)), board, progress)
    else:
        search = search_board(spec, board, progress)
    for camera, size in zip(rig.cameras, search.sizes, strict=False):
        check_picture_size(camera, size)
    unseen = (None,) * (len(rig) - search.n_cameras)  # of a rig of two the left camera's pictures alone will do
    moments = tuple(
        BoardMoment(moment.views + unseen)
        for moment in search.moments
        if any(view is not None and window.holds(view.t_ns) for view in moment.views)
    )
    if search.moments and not moments:
        raise CalibrationError("the board is seen, but not between --from and --to; give seconds in which it lies on the floor")
    return moments, search


def check_picture_size(camera: Camera, size: Size) -> None:
    """Raise CalibrationError unless pictures have the size their camera was calibrated at."""
    if tuple(size) != camera.size:
        raise CalibrationError(
            f"the pictures of {camera.title} are {size[0]}x{size[1]}, but the rig was calibrated at "
            f"{camera.size[0]}x{camera.size[1]}; take them at that size, or calibrate at this one"
        )


@dataclass(frozen=True, slots=True)
class MarkerSource:
    """Pictures of markers.

    Attributes:
        frames: moment by moment.
        backgrounds: pictures without the markers; None if there are none.
        colors_rgb: colours of the markers, (C, 3), empty if they are bright.
    """

    frames: Iterable[Frames]
    backgrounds: tuple[Background, ...] | None
    colors_rgb: Floats


def find_still_markers(source: MarkerSource, rig: Rig, settings: Settings, window: TimeWindow) -> tuple[Floats, Floats]:
    """Return the markers that lie still, (N, 3) [m], with covariances (N, 3, 3).

    Args:
        source: recordings or pictures, opened.
        rig: the cameras.
        settings: settings of the run.
        window: times to look at.
    Raises: CalibrationError: another size than the rig's, no pictures in the window.
    """
    views = Views(tuple(select_still_blobs(blobs) for blobs in _detect_blobs(source, rig, settings, window)), 0)
    points = match(add_rig_error(views, settings.match.rig_sigma_px), rig, replace(settings.match, depth_extent_m=FLOOR_EXTENT_M))
    return points.point_m, points.covariance_m2


def open_marker_source(spec: RecordingSpec, settings: Settings, markers: MarkerSet) -> MarkerSource:
    """Open recordings, or single pictures.

    What lies still through a whole recording would be part of any background learned from it: there is none, unless seconds
    without the markers are named.

    Args:
        spec: recordings or pictures to open.
        settings: settings of the run.
        markers: markers whose colours are detected.
    Raises: SourceError: nothing that can be read.
    """
    colors = markers.color_rgb[markers.has_color]
    files = [Path(name) for name in spec.files]
    if all(is_picture(file) for file in files):
        return MarkerSource([tuple(_read_frame(file, camera) for camera, file in enumerate(files))], None, colors)
    recording = CaptureRecording(spec, settings.detector, markers)
    if spec.background_s is not None:
        recording.learn_background()
    return MarkerSource(recording.frames(), recording.backgrounds, colors)


def is_picture(file: Path) -> bool:
    """Return whether a path is one single picture."""
    return file.suffix.lower() in IMAGE_SUFFIXES and file.is_file()


def _read_frame(file: Path, camera: int) -> Frame:
    """Read one picture. Raises SourceError: it is none."""
    image = decode_image(file)
    if image is None:
        raise SourceError(f"{file}: cannot be decoded as an image; expected PNG or JPEG: copy it again")
    return Frame(camera, 0, 0, image)


def _detect_blobs(source: MarkerSource, rig: Rig, settings: Settings, window: TimeWindow) -> list[list[Blobs]]:
    """Detect in all pictures of the window, by camera."""
    backgrounds = source.backgrounds or (None,) * len(rig)
    detectors = [
        Detector(settings.detector, background, source.colors_rgb, min_markers=LEAST_MARKERS) for background in backgrounds
    ]
    found: list[list[Blobs]] = [[] for _ in rig.cameras]
    for frames in source.frames:
        for camera, frame in enumerate(frames):
            if frame is not None and window.holds(frame.t_capture_ns):
                check_picture_size(rig.cameras[camera], find_image_size(frame.image))
                found[camera].append(detectors[camera].step(frame))
        if all(frame is None or window.is_over(frame.t_capture_ns) for frame in frames):
            break
    if not all(found):
        raise CalibrationError("no pictures between --from and --to; give seconds within the recording")
    return found


def select_still_blobs(frames: Sequence[Blobs]) -> Blobs:
    """Return the blobs that stay where they are through most frames, each at its mean place."""
    spots: list[list[tuple[Blobs, int]]] = []
    for blobs in frames:
        for k, here in enumerate(blobs.points_px):
            near = next((spot for spot in spots if np.linalg.norm(spot[0][0].points_px[spot[0][1]] - here) < SAME_PX), None)
            if near is None:
                spots.append([(blobs, k)])
            else:
                near.append((blobs, k))
    kept = [spot for spot in spots if len(spot) >= PRESENT * len(frames)]

    def mean(what: str, *shape: int) -> Floats:
        means = [np.mean([getattr(blobs, what)[k] for blobs, k in spot], axis=0) for spot in kept]
        return np.asarray(means, np.float64).reshape(len(kept), *shape)

    first = frames[0]
    return Blobs(
        camera=first.camera,
        index=first.index,
        t_capture_ns=first.t_capture_ns,
        points_px=mean("points_px", 2),
        area_px=mean("area_px"),
        color_rgb=mean("color_rgb", 3),
        sigma_px=mean("sigma_px"),
        light=first.light,
    )


def triangulate_walk(
    recording: CaptureRecording, rig: Rig, settings: Settings, window: TimeWindow, progress: Progress
) -> list[PointFrame]:
    """Triangulate the points that at least two cameras see, moment by moment.

    Args:
        recording: recording of somebody who walks.
        rig: the cameras.
        settings: settings of the run.
        window: times to look at.
        progress: called with the amount done and the whole amount.
    Raises: CalibrationError: the rig does not fit the recording, or nothing lies in the window.
    """
    pairs = list(_pair_views(recording, settings, window, progress))
    if not pairs:
        raise CalibrationError("no pictures between --from and --to; give seconds within the recording")
    check_rig_fits(rig, recording.sizes, pairs[:: max(1, len(pairs) // N_CHECKED)])
    moments = []
    for pair in pairs:
        points = match(add_rig_error(pair, settings.match.rig_sigma_px), rig, settings.match)
        moments.append(PointFrame(pair.t_capture_ns / NS_PER_S, points.point_m, points.covariance_m2))
    return moments


def _pair_views(recording: CaptureRecording, settings: Settings, window: TimeWindow, progress: Progress) -> Iterator[Views]:
    """Return the pairs of the window."""
    for n, (pair, _, _) in enumerate(recording.pairs(synchroniser=recording.synchroniser(settings.time))):
        progress(n + 1, recording.n_frames)
        if window.is_over(pair.t_capture_ns):
            return
        if window.holds(pair.t_capture_ns):
            yield pair


def check_floor_cameras(rig: Rig, sources: Sequence[str], by: str) -> None:
    """Raise DuocapError if the given sources, of one camera or more, do not fit the rig or the way.

    Args:
        rig: the cameras.
        sources: sources of the cameras as the user named them.
        by: board, markers or walk.
    """
    n = len(read_session_camera_names(Path(sources[0]))) if is_session(Path(sources[0])) else len(sources)
    if n > 1 and rig.is_monocular:
        raise DuocapError(
            f"pictures of {'two' if n == 2 else n} cameras, but the rig has one, {rig.cameras[0].name}; give its pictures alone"
        )
    if by != "board" and (rig.is_monocular or n < 2):
        raise DuocapError(f"one camera measures no depth, which --by {by} takes; give both cameras, or use --by board")
    if n != len(rig) and (n > 1 or by != "board"):
        names = ", ".join(camera.name for camera in rig.cameras)
        raise DuocapError(
            f"{format_count(n, 'camera is', 'cameras are')} given, the rig has {len(rig)}: {names}; give those, in this order"
        )
