"""A recording: a source for each camera and their timestamps, read as views of blobs through the detectors of live capture."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from capture.background.live import LiveBackground
from capture.background.statistics import Background, estimate_background, learn_background, read_images_between, sample_images
from capture.detection.detector import Detector, SoughtOnBody
from capture.detection.mode import MIN_MARKERS
from capture.landmarks.pacing import OFF, open_landmarks
from capture.packets import Blobs, Frame, Views
from capture.recording.polled_cameras import estimate_polled_times
from capture.recording.session import is_session, merge_in_time_order, open_session_videos
from capture.sources.health import is_same_image
from capture.sources.recorded_times import MAX_MORE_FRAMES, read_timestamps
from capture.sources.source import Source, Stamp, open_source
from capture.timing.synchronise import Synchroniser
from config.arrays import Floats
from config.errors import SourceError
from config.markers import MarkerSet
from config.settings import DetectorSettings, TimeSettings
from config.words import format_count

N_BACKGROUND = 60
SAME_RATE = 0.01  # part by which rates may differ for frames to be counted side by side
PAIR_SHARE = 0.6  # of the frame time of the slowest: half of it, and a tenth for jitter
AS_STAMPED = TimeSettings(interpolate=False, estimate=False)
Frames = tuple[Frame | None, ...]


@dataclass(frozen=True, slots=True)
class RecordingSpec:
    """What a recording is made of.

    files: a video or a folder of images of each camera, (V,); or the folder of a session alone; timestamps: CSV, or None to count
    frames; fps: overrides the videos' own; background_s: seconds without the performer, or None to estimate the background from
    the recording itself; cameras: which of a rig's cameras these are, whose columns the timestamps have; empty: all, in order;
    frame_times: in place of timestamps, those of each camera's own frames, (N,) each [s].
    """

    files: tuple[str, ...]
    timestamps: Path | None = None
    fps: float | None = None
    background_s: tuple[float, float] | None = None
    cameras: tuple[int, ...] = ()
    frame_times: tuple[Floats, ...] | None = field(default=None, compare=False)

    @property
    def name(self) -> str:
        """What the recording is called in messages: its first file."""
        return self.files[0]


class CaptureRecording:
    """The cameras of a recording, opened and checked, with a background learned for each.

    sizes: width and height of the images of each [px]; fps: frames a second of the fastest; n_frames: of it, None where unknown;
    n_repeated: how many pictures of each were the one before once more, when its views were last read; polled: the cameras were
    read in turn, and the times of their pictures come from that; notes: what is assumed of it, for the user.
    """

    def __init__(
        self,
        spec: RecordingSpec,
        settings: DetectorSettings,
        markers: MarkerSet,
        min_markers: int = MIN_MARKERS,
        landmarks: str = OFF,
    ) -> None:
        """Open and check.

        min_markers: number of markers that a detector must see to find its threshold; landmarks: the model that finds the body's.
        Raises SourceError: a source is missing or unreadable, or they do not fit their timestamps.
        """
        self._landmarks, self._has_markers = landmarks, bool(markers.worn.any())
        self.spec = spec
        self._settings, self._min_markers = settings, min_markers
        self._colors = markers.color_rgb[markers.has_color]
        self._session = Path(spec.name) if len(spec.files) == 1 and is_session(Path(spec.name)) else None
        self._stamps = None if spec.timestamps is None else _split_columns(spec, read_timestamps(spec.timestamps))
        first = self._open()
        for source in first:
            source.close()
        if self._session is None and spec.frame_times is None and self._stamps is not None:
            _check_count(max(first, key=lambda source: source.n_frames or 0), len(self._stamps))
        for source, times in zip(first, spec.frame_times or (), strict=False):
            _check_count(source, len(times))
        timed = spec.frame_times is not None or any(source.stamp is Stamp.CONTAINER for source in first)
        self._own_times = timed or (self._stamps is None and not _have_one_rate(first))
        self.polled = self._take_polled_times(first)
        self.sizes = tuple(source.size for source in first)
        fastest = max(first, key=lambda source: source.fps)
        self.fps, self._slowest_fps = fastest.fps, min(source.fps for source in first)
        self.n_frames = fastest.n_frames if self._stamps is None else len(self._stamps)
        is_counted = self._session is None and self._stamps is None and not timed
        self.notes = list(_describe_assumptions(first)) if is_counted else []
        self.backgrounds: tuple[Background, ...] | None = None
        self.n_repeated = [0] * len(first)

    def _take_polled_times(self, sources: tuple[Source, ...]) -> bool:
        """Replace stamps that all cameras share by times of their own, where the videos say that they were polled."""
        n, stamps = sources[0].n_frames, self._stamps
        if (
            self._session is not None
            or self._own_times
            or len(sources) == 1
            or n is None
            or (stamps is not None and stamps.ndim == 2)
        ):
            return False
        shared = np.arange(n) / sources[0].fps if stamps is None else stamps
        times = estimate_polled_times(shared, [Path(file) for file in self.spec.files])
        self._stamps = stamps if times is None else times
        return times is not None

    def _open(self) -> tuple[Source, ...]:
        """Open the sources at their first frame."""
        if self._session is not None:
            return open_session_videos(self._session)
        spec, stamps = self.spec, self._stamps
        columns = spec.frame_times or [
            stamps if stamps is None or stamps.ndim == 1 else stamps[:, c] for c in range(len(spec.files))
        ]
        return tuple(open_source(file, c, spec.fps, columns[c]) for c, file in enumerate(spec.files))

    def learn_background(self) -> None:
        """Learn the backgrounds: from the seconds named, or robustly from frames spread over the recording."""
        found = []
        for source in self._open():
            if self.spec.background_s is not None:
                start_s, end_s = self.spec.background_s
                found.append(learn_background(read_images_between(source, start_s, end_s)))
            else:
                found.append(estimate_background(sample_images(source, N_BACKGROUND)))
            source.close()
        self.backgrounds = tuple(found)

    def frames(self) -> Iterator[Frames]:
        """Read the sources side by side to the end of the longest one, or one by one where each has times of its own.

        Raises SourceError: a video breaks off before its end.
        """
        if self._session is not None:
            yield from merge_in_time_order(open_session_videos(self._session))
            return
        sources = self._open()
        try:
            if self._own_times:  # side by side they would drift apart
                yield from merge_in_time_order(sources)
            else:
                yield from iter(lambda: tuple(source.read() for source in sources), (None,) * len(sources))
            _check_whole(sources)
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
            return [Detector(self._settings, None, self._colors, each, self._min_markers, self._sought()) for each in live]
        if self.backgrounds is None:
            self.learn_background()
        assert self.backgrounds is not None
        return [
            Detector(self._settings, background, self._colors, min_markers=self._min_markers, sought=self._sought())
            for background in self.backgrounds
        ]

    def _sought(self) -> SoughtOnBody:
        """Return what is sought in one camera's pictures; landmarks in all of them, however long that takes."""
        return SoughtOnBody(self._has_markers, open_landmarks(self._landmarks, max_every=1))

    def synchroniser(self, settings: TimeSettings) -> Synchroniser:
        """Return a synchroniser with the time budget of this recording."""
        return Synchroniser(len(self.sizes), round(PAIR_SHARE * 1e9 / self._slowest_fps), settings)

    def pairs(
        self,
        clock: Callable[[], int] = lambda: 0,
        watch: Callable[[Frame, Blobs], None] = lambda frame, blobs: None,
        synchroniser: Synchroniser | None = None,
    ) -> Iterator[tuple[Views, int, int]]:
        """Detect markers and bring the cameras' views together; return those of each time, and how long decoding and detecting
        took [ns].

        Args:
            clock: tells the time [ns].
            watch: receives each frame with its blobs.
            synchroniser: of this recording, to follow the cameras' time offsets; None: views by the timestamps as they are.
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
            # Frames with times of their own come one by one.
            blobs = [detector.step(frame) for detector, frame in zip(detectors, frames, strict=True) if frame is not None]
            t2 = clock()
            for camera, frame in enumerate(frames):
                if frame is not None:
                    last = before[camera]
                    repeated[camera] = last is not None and is_same_image(frame, last)
                    self.n_repeated[camera] += repeated[camera]
                    before[camera] = frame
            for frame, seen in zip([frame for frame in frames if frame is not None], blobs, strict=True):
                watch(frame, seen)
            if not all(repeated):  # where no picture changes, nothing moves
                blobs = [one for one in blobs if not repeated[one.camera]]
            for views in _group_blobs(blobs, synchroniser, own_times):
                yield views, t1 - t0, t2 - t1
            t0 = clock()


def _group_blobs(blobs: list[Blobs], synchroniser: Synchroniser, own_times: bool) -> Iterator[Views]:
    """Bring blobs together by their own timestamps, or those of one row where there are no other."""
    if not own_times:
        blobs = [replace(one, t_capture_ns=blobs[0].t_capture_ns) for one in blobs]
    for one in sorted(blobs, key=lambda b: b.t_capture_ns):
        views = synchroniser.push(one)
        if views is not None:
            yield views


def _split_columns(spec: RecordingSpec, stamps: Floats) -> Floats:
    """Return the timestamps of a recording's cameras, (N,) or (N, V). Raises SourceError: not a column for each."""
    if stamps.ndim == 1 or stamps.shape[1] == len(spec.files):
        return stamps
    if spec.cameras and max(spec.cameras) < stamps.shape[1]:
        return np.ascontiguousarray(stamps[:, list(spec.cameras)])
    raise SourceError(
        f"{spec.timestamps}: {stamps.shape[1]} columns of times for {len(spec.files)} cameras; expected one for each, "
        "or frame,seconds for all"
    )


def _have_one_rate(sources: Sequence[Source]) -> bool:
    """Return whether all sources have the same rate, so that their frames can be counted side by side."""
    rates = [source.fps for source in sources]
    return max(rates) - min(rates) <= SAME_RATE * min(rates)


def _describe_assumptions(sources: Sequence[Source]) -> Iterator[str]:
    """Yield in words what is assumed of videos whose frames have no times of their own."""
    begun = "are taken to begin at one time: give --timestamps with a column for each camera if they do not"
    if not _have_one_rate(sources):
        rates = ", ".join(f"{source.name} {source.fps:g}" for source in sources)
        yield f"frames a second differ ({rates}); the fastest is the clock, and the videos {begun}"
        return
    counts = [(source.name, source.n_frames) for source in sources if source.n_frames is not None]
    n_frames = [n for _, n in counts]
    if counts and max(n_frames) - min(n_frames) > MAX_MORE_FRAMES:
        told = ", ".join(f"{name} {n}" for name, n in counts)
        yield f"the videos differ in length ({told} frames); they {begun}; the last part is seen by those that go on"


def _check_count(source: Source, n_times: int) -> None:
    """Raise SourceError unless a source has as many frames as there are timestamps for it."""
    if source.n_frames is not None and abs(n_times - source.n_frames) > MAX_MORE_FRAMES:
        raise SourceError(
            f"{format_count(n_times, 'time stamp')} for {format_count(source.n_frames, 'frame')} of {source.name}; "
            "they must be as many: do the stamps belong to this video?"
        )


def _check_whole(sources: tuple[Source, ...]) -> None:
    """Raise SourceError if a source has not as many frames as it announced."""
    for source in sources:
        if source.truncated:
            raise SourceError(
                f"{source.name}: breaks off early: {source.n_frames} frames are announced; copy the file again or cut it there"
            )
