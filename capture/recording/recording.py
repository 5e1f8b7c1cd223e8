"""A recording: one source or two and their timestamps, read as pairs of blobs through the detectors of live capture."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from capture.background.live import LiveBackground
from capture.background.statistics import Background, images_between, learn_background, robust_background, sample_images
from capture.detection.detector import Detector
from capture.detection.mode import MIN_MARKERS
from capture.packets import Blobs, Frame, Views, lone_views
from capture.recording.polled import polled_times
from capture.recording.session import in_order, is_session, session_videos
from capture.sources.health import same_image
from capture.sources.source import Source, Stamp, open_source
from capture.sources.timestamps import read_timestamps
from capture.timing.synchronise import Synchroniser
from config.arrays import Floats
from config.errors import SourceError
from config.markers import MarkerSet
from config.settings import DetectorSettings, TimeSettings

N_BACKGROUND = 60
PAIR_SHARE = 0.6  # of the frame time: half of it, and a tenth for jitter
AS_STAMPED = TimeSettings(interpolate=False, estimate=False)
Frames = tuple[Frame | None, ...]


@dataclass(frozen=True, slots=True)
class RecordingSpec:
    """What a recording is made of.

    left, right: video files or folders of images, right None for one camera; or left the folder of a session, right None;
    timestamps: CSV, or None to count frames; fps: overrides the videos' own; background_s: seconds without the performer, or None
    to estimate the background from the recording itself; column: of the timestamps, for one camera of two; frame_times: in place
    of timestamps, those of either camera's own frames, (N,) each [s].
    """

    left: str
    right: str | None
    timestamps: Path | None = None
    fps: float | None = None
    background_s: tuple[float, float] | None = None
    column: int = 0
    frame_times: tuple[Floats, Floats] | None = field(default=None, compare=False)


class CaptureRecording:
    """The cameras of a recording, opened and checked, with a background learned for each.

    sizes: width and height of the images of each [px]; fps: frames a second; n_frames: None where unknown; n_repeated: how many
    pictures of each were the one before once more, when its pairs were last read; polled: the cameras were read in turn, and the
    times of their pictures come from that.
    """

    def __init__(
        self, spec: RecordingSpec, settings: DetectorSettings, markers: MarkerSet, min_markers: int = MIN_MARKERS
    ) -> None:
        """Open and check.

        min_markers: number of markers that a detector must see to find its threshold. Raises SourceError: a source is missing or
        unreadable, or the two do not fit each other or their timestamps.
        """
        self.spec = spec
        self._settings, self._min_markers = settings, min_markers
        self._colors = markers.color_rgb[markers.has_color]
        self._session = Path(spec.left) if spec.right is None and is_session(Path(spec.left)) else None
        self._stamps = None if spec.timestamps is None else read_timestamps(spec.timestamps)
        first = self._open()
        for source in first:
            source.close()
        if self._session is None and spec.frame_times is None:
            _check_alike(first, self._stamps)
        for source, times in zip(first, spec.frame_times or (), strict=False):
            _check_times(source, times)
        self._own_times = spec.frame_times is not None or any(source.stamp is Stamp.CONTAINER for source in first)
        self.polled = self._take_polled_times(first)
        self.sizes = tuple(source.size for source in first)
        self.fps = first[0].fps
        self.n_frames = first[0].n_frames if self._stamps is None else len(self._stamps)
        self.backgrounds: tuple[Background, ...] | None = None
        self.n_repeated = [0] * len(first)

    def _take_polled_times(self, sources: tuple[Source, ...]) -> bool:
        """Replace stamps that both cameras share by times of their own, where the videos say that they were polled."""
        n, stamps, right = sources[0].n_frames, self._stamps, self.spec.right
        if (
            self._session is not None
            or self._own_times
            or right is None
            or n is None
            or (stamps is not None and stamps.ndim == 2)
        ):
            return False
        shared = np.arange(n) / sources[0].fps if stamps is None else stamps
        times = polled_times(shared, (Path(self.spec.left), Path(right)))
        self._stamps = stamps if times is None else times
        return times is not None

    def _open(self) -> tuple[Source, ...]:
        """Open the sources at their first frame."""
        if self._session is not None:
            return session_videos(self._session)
        names = [name for name in (self.spec.left, self.spec.right) if name is not None]
        stamps = self._stamps
        columns = self.spec.frame_times or [stamps if stamps is None or stamps.ndim == 1 else stamps[:, c] for c in range(2)]
        first = self.spec.column if len(names) == 1 else 0
        return tuple(open_source(name, c, self.spec.fps, columns[first + c]) for c, name in enumerate(names))

    def learn_background(self) -> None:
        """Learn the backgrounds: from the seconds named, or robustly from frames spread over the recording."""
        found = []
        for source in self._open():
            if self.spec.background_s is not None:
                found.append(learn_background(images_between(source, *self.spec.background_s)))
            else:
                found.append(robust_background(sample_images(source, N_BACKGROUND)))
            source.close()
        self.backgrounds = tuple(found)

    def frames(self) -> Iterator[Frames]:
        """Read the sources side by side to the end of the longer one.

        Raises SourceError: a video breaks off before its end, or one is longer than the other.
        """
        if self._session is not None:
            yield from in_order(session_videos(self._session))
            return
        sources = self._open()
        try:
            if self._own_times and len(sources) == 2:  # side by side they would drift apart
                yield from in_order(sources)
                _check_whole(sources)
                return
            while True:
                frames = tuple(source.read() for source in sources)
                if all(frame is None for frame in frames):
                    break
                yield frames
                if any(frame is None for frame in frames):
                    break
            _check_ended(sources, frames, self._stamps)
        finally:
            for source in sources:
                source.close()

    def _detectors(self) -> list[Detector]:
        """Return a detector for each camera.

        A session is detected as it was live: somebody who stands in a T-pose through most of a short recording would be part of
        a background learned from all of it.
        """
        if self._session is not None and self.spec.background_s is None:
            live = [LiveBackground(self._settings.k_sigma, self._settings.min_difference) for _ in self.sizes]
            return [Detector(self._settings, None, self._colors, each, self._min_markers) for each in live]
        if self.backgrounds is None:
            self.learn_background()
        assert self.backgrounds is not None
        return [
            Detector(self._settings, background, self._colors, min_markers=self._min_markers) for background in self.backgrounds
        ]

    def synchroniser(self, settings: TimeSettings) -> Synchroniser:
        """Return a synchroniser with the time budget of this recording."""
        return Synchroniser(len(self.sizes), round(PAIR_SHARE * 1e9 / self.fps), settings)

    def pairs(
        self,
        clock: Callable[[], int] = lambda: 0,
        watch: Callable[[Frame, Blobs], None] = lambda frame, blobs: None,
        synchroniser: Synchroniser | None = None,
    ) -> Iterator[tuple[Views, int, int]]:
        """Detect markers and pair them in time; return pairs with the durations of decoding and detecting [ns].

        With one camera the right view of every pair is empty. watch: receives each frame with its blobs; synchroniser: of this
        recording, to follow the cameras' time offset; None: pairs by the timestamps as they are.
        """
        detectors = self._detectors()
        synchroniser = synchroniser or self.synchroniser(AS_STAMPED)
        own_times = self._session is not None or self._own_times or (self._stamps is not None and self._stamps.ndim == 2)
        before: list[Frame | None] = [None] * len(detectors)
        repeated = [False] * len(detectors)
        self.n_repeated = [0] * len(detectors)
        t0 = clock()
        for frames in self.frames():
            t1 = clock()
            # A session's frames come one by one, as they were taken.
            blobs = [detector.step(frame) for detector, frame in zip(detectors, frames, strict=True) if frame is not None]
            t2 = clock()
            for camera, frame in enumerate(frames):
                if frame is not None:
                    last = before[camera]
                    repeated[camera] = last is not None and same_image(frame, last)
                    self.n_repeated[camera] += repeated[camera]
                    before[camera] = frame
            for frame, seen in zip([frame for frame in frames if frame is not None], blobs, strict=True):
                watch(frame, seen)
            if not all(repeated):  # where no picture changes, nothing moves
                blobs = [one for one in blobs if not repeated[one.camera]]
            pairs = [lone_views(one, 1) for one in blobs] if len(detectors) == 1 else _paired(blobs, synchroniser, own_times)
            for pair in pairs:
                yield pair, t1 - t0, t2 - t1
            t0 = clock()


def _paired(blobs: list[Blobs], synchroniser: Synchroniser, own_times: bool) -> Iterator[Views]:
    """Pair blobs by their own timestamps, or those of one row where there are no other."""
    if not own_times:
        blobs = [replace(one, t_capture_ns=blobs[0].t_capture_ns) for one in blobs] if len(blobs) == 2 else []
    for one in sorted(blobs, key=lambda b: b.t_capture_ns):
        pair = synchroniser.push(one)
        if pair is not None:
            yield pair


def _check_alike(sources: tuple[Source, ...], stamps: Floats | None) -> None:
    """Raise SourceError unless the recordings can be of one session."""
    left, right = sources[0], sources[-1]
    timed = Stamp.CONTAINER in (left.stamp, right.stamp)
    if abs(left.fps - right.fps) > 0.01 * left.fps and stamps is None and not timed:
        raise SourceError(
            f"{left.name} has {left.fps:g} and {right.name} {right.fps:g} frames a second; "
            "give --timestamps with the time of each frame, or --fps"
        )
    counts = (left.n_frames, right.n_frames)
    if counts[0] is not None and counts[1] is not None and abs(counts[0] - counts[1]) > 2 and not timed:
        raise SourceError(
            f"{left.name} has {counts[0]} and {right.name} {counts[1]} frames; "
            "the two must be of one length: cut the longer one to match"
        )
    if stamps is not None and counts[0] is not None and abs(len(stamps) - counts[0]) > 2:
        raise SourceError(
            f"{len(stamps)} time stamps for {counts[0]} frames of {left.name}; "
            "they must be as many: do the stamps belong to these videos?"
        )


def _check_times(source: Source, times: Floats) -> None:
    """Raise SourceError unless a source has as many frames as times."""
    if source.n_frames is not None and abs(source.n_frames - len(times)) > 2:
        raise SourceError(
            f"{source.name}: {source.n_frames} frames, and {len(times)} times of them; do the times belong to this video?"
        )


def _check_whole(sources: tuple[Source, ...]) -> None:
    """Raise SourceError if a source has not as many frames as it announced."""
    for source in sources:
        if source.truncated:
            raise SourceError(
                f"{source.name}: breaks off early: {source.n_frames} frames are announced; copy the file again or cut it there"
            )


def _check_ended(sources: tuple[Source, ...], last: Frames, stamps: Floats | None) -> None:
    """Raise SourceError if a source broke off early."""
    _check_whole(sources)
    left_over = next((s.name for s, frame in zip(sources, last, strict=True) if frame is not None), None)
    if left_over is not None and stamps is None and not np.allclose(sources[0].n_frames or 0, sources[-1].n_frames or 0, atol=2):
        raise SourceError(
            f"{left_over} has more frames than the other video; the two must be of one length: cut the longer one to match"
        )
