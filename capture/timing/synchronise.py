"""Group the blobs of free-running cameras and bring each moment to one time.

The timestamps of every camera but the first are corrected by its estimated offset. The views of a moment (`grouping`) are moved
back along their tracks to the time of the earliest, between their own last frames, so that nothing waits for a frame to come.
Everything follows from the blobs and labels in the order they came, so that a recording replays the same.
"""

from collections import deque
from dataclasses import replace

import numpy as np

from calibration.camera import Rig
from capture.clock import OffsetMethod
from capture.packets import Blobs, MarkerFrame, Views
from capture.timing.grouping import FASTER, MAX_WAITING, Grouping, GroupingCounts
from capture.timing.offset import OffsetEstimate, TimeOffsetEstimator
from capture.timing.search import TimeSearch, describe_offset_search
from capture.timing.tracks import BlobHistory, BlobTracker, LandmarkHistory, LandmarkTracker, extrapolate_blobs
from config.arrays import Floats
from config.settings import CAMERA_NAMES, TimeSettings

SIMULTANEOUS_NS = 300_000  # views this near in time need not be moved: a fist moves by 3 mm at most
CLOCK_JUMP_NS = 1_000_000_000  # a timestamp this much older than the last is of another clock
AWAY_NS = 2_000_000_000  # a camera silent for so long was perhaps opened again
SETTLE_NS = 250_000_000  # until a new offset is in use: longer than views ever wait, so that their order does not matter


class _Clock:
    """What is known of one camera's timestamps, beside those of the first camera.

    newest_ns: newest, uncorrected; setting_ms: by how much they are late, as set; in_use_s: beyond that, by the estimate;
    pending: the next such offset, and from when on.
    """

    def __init__(self, camera: int, setting_ms: float) -> None:
        self.newest_ns: int | None = None
        self.setting_ms = setting_ms
        self.offset = TimeOffsetEstimator(camera)
        self.in_use_s = 0.0
        self.pending: tuple[int, float] | None = None
        self.forget()

    def forget(self) -> None:
        """Restart without tracks."""
        self.tracks, self.landmarks = BlobTracker(), LandmarkTracker()
        self.histories: deque[BlobHistory] = deque(maxlen=MAX_WAITING + 1)
        self.landmark_histories: deque[LandmarkHistory] = deque(maxlen=MAX_WAITING + 1)

    @property
    def estimate(self) -> OffsetEstimate:
        """How late the timestamps are, by setting and estimate together."""
        found = self.offset.estimate
        return replace(found, offset_ms=self.setting_ms + 1e3 * self.in_use_s, estimate_ms=self.setting_ms + found.estimate_ms)

    def correct(self, offset_ms: float, sigma_ms: float) -> None:
        """Use an offset of a camera's timestamps that was found by other means, from now on.

        Args:
            offset_ms: by which they are late.
            sigma_ms: its standard deviation.
        """
        self.offset.set(1e-3 * (offset_ms - self.setting_ms), 1e-3 * sigma_ms)
        self.in_use_s, self.pending = self.offset.applied_s, None

    def learn(self, frame: MarkerFrame, rig: Rig, used_s: tuple[float, ...]) -> None:
        """Estimate the offset from labelled markers.

        Args:
            frame: the labelled markers.
            used_s: the offsets in use for them, by camera.
        """
        self.offset.add(frame, rig, used_s)
        wanted = self.offset.applied_s
        if wanted != (self.in_use_s if self.pending is None else self.pending[1]):
            self.pending = (frame.t_capture_ns + SETTLE_NS, wanted)

    def corrected(self, blobs: Blobs) -> Blobs:
        """Return a frame with its timestamp on the first camera's clock."""
        if blobs.camera == 0:
            return blobs
        if self.pending is not None and blobs.t_capture_ns >= self.pending[0]:
            self.in_use_s, self.pending = self.pending[1], None
        late_ns = round(1e6 * self.setting_ms + 1e9 * self.in_use_s)
        return blobs if late_ns == 0 else replace(blobs, t_capture_ns=blobs.t_capture_ns - late_ns)


class Synchroniser:
    """Groups the blobs of the cameras of a rig and brings each moment to one time.

    n_cameras: of the rig; budget_ns: largest time between a view and the reference's, about half the frame time of the slowest
    camera.
    """

    def __init__(self, n_cameras: int, budget_ns: int, settings: TimeSettings) -> None:
        self.grouping, self._settings = Grouping(n_cameras, budget_ns), settings
        self._clocks = tuple(_Clock(camera, settings.offset_of(camera)) for camera in range(n_cameras))
        self._rows_s = tuple(1e-6 * settings.row_time_of(camera) for camera in range(n_cameras))
        self._search, self._notices = TimeSearch(n_cameras), list[str]()
        self._made: deque[tuple[int, tuple[float, ...]]] = deque(maxlen=MAX_WAITING)  # times of moments, offsets in use for them

    def set_budget(self, budget_ns: int) -> None:
        """Set the largest time between a view and the reference's."""
        self.grouping.budget_ns = budget_ns

    @property
    def counts(self) -> GroupingCounts:
        """Counts since the start."""
        return self.grouping.counts

    def offset(self, camera: int = 1) -> OffsetEstimate:
        """Return how late a camera's timestamps are, by setting and estimate together."""
        return self._clocks[camera].estimate

    def correct(self, offset_ms: float, sigma_ms: float = 0.5, camera: int = 1) -> None:
        """Use an offset of a camera's timestamps that was found by other means, from now on.

        Args:
            offset_ms: by which they are late.
            sigma_ms: its standard deviation.
        """
        if 0 < camera < len(self._clocks):
            self._clocks[camera].correct(offset_ms, sigma_ms)

    def push(self, blobs: Blobs) -> Views | None:
        """Take one camera's blobs; return the moment that is complete with them, if any, brought to one time."""
        clock, before = self._clocks[blobs.camera], self.grouping.reference
        last_ns, clock.newest_ns = clock.newest_ns, blobs.t_capture_ns
        if last_ns is not None:
            self._watch_clock(blobs.camera, blobs.t_capture_ns - last_ns)
        corrected = clock.corrected(blobs)
        if last_ns is None or blobs.t_capture_ns > last_ns:
            self._follow(blobs, corrected.t_capture_ns)
        views = self.grouping.push(corrected)
        if before is not None and before != self.grouping.reference:
            self._tell_reference(before)
        if views is None:
            return None
        views = self._at_one_time(views)
        self._made.append((views.t_capture_ns, tuple(clock.in_use_s for clock in self._clocks)))
        return views

    def learn(self, frame: MarkerFrame | None, rig: Rig) -> None:
        """Estimate the offset from labelled markers.

        Args:
            frame: the labelled markers.
        """
        if frame is None or not self._settings.estimate:
            return
        used_s = next((used_s for t_ns, used_s in self._made if t_ns == frame.t_capture_ns), None)
        if used_s is not None:
            for clock in self._clocks[1:]:
                clock.learn(frame, rig, used_s)

    def start_search(self, method: OffsetMethod) -> None:
        """Look for a flash or a jump that tells the offsets; `notices` says what came of it."""
        newest_ns = max((clock.newest_ns for clock in self._clocks if clock.newest_ns is not None), default=None)
        if newest_ns is not None:
            self._search.start(method, newest_ns)

    def notices(self) -> list[str]:
        """Return the notices since the last call."""
        notices, self._notices = self._notices, []
        return notices

    @property
    def calibration(self) -> dict[str, float]:
        """Figures for the status: of each camera but the first the offset in use, the sigma of the estimate, and its drift.

        Those of the second are named `time_offset_ms` and so on, those of the others `third_time_offset_ms`.
        """
        figures = {}
        for camera, clock in enumerate(self._clocks[1:], 1):
            prefix, offset = "" if camera == 1 else f"{CAMERA_NAMES[camera]}_", clock.estimate
            figures[f"{prefix}time_offset_ms"] = offset.offset_ms
            figures[f"{prefix}time_offset_sigma_ms"] = offset.sigma_ms
            figures[f"{prefix}time_drift_ppm"] = offset.drift_ppm
        return figures

    def _tell_reference(self, before: int) -> None:
        """Notify the user that a faster camera is the reference now; if only for want of the other, that one's silence is told
        instead.
        """
        camera = self.grouping.reference or 0
        if not 0.0 < self.grouping.rate_hz(before) < FASTER * self.grouping.rate_hz(camera):
            return
        rate = f"{self.grouping.rate_hz(camera):.0f} frames a second"
        self._notices.append(f"the {CAMERA_NAMES[camera]} camera, with {rate}, is the clock of the others now")

    def _follow(self, blobs: Blobs, corrected_ns: int) -> None:
        """Update the tracks, and the search for offsets."""
        history, clock = None, self._clocks[blobs.camera]
        if self._settings.interpolate:
            # Tracks use uncorrected timestamps: a change of the correction is no motion.
            history = clock.tracks.step(blobs)
            clock.histories.append(history._replace(t_ns=corrected_ns))
            if (landmarks := clock.landmarks.step(blobs)) is not None:
                clock.landmark_histories.append(replace(landmarks, t_ns=corrected_ns))
        self._search.note(blobs, history)
        if (ended := self._search.step(blobs.t_capture_ns)) is not None:
            for camera, found in ended.found:
                if found is not None:
                    self.correct(1e3 * found.offset_s, 1e3 * found.sigma_s, camera)
                self._notices.append(describe_offset_search(ended.method, camera, found))

    def _watch_clock(self, camera: int, elapsed_ns: int) -> None:
        """Restart where a camera's timestamps go back, or it was silent for long."""
        if -CLOCK_JUMP_NS <= elapsed_ns <= AWAY_NS:
            return
        clock = self._clocks[camera]
        clock.forget()
        for each in self._clocks if camera == 0 else (clock,):
            each.offset.interrupt()
        self.grouping.restart(camera)

    def _at_one_time(self, views: Views) -> Views:
        """Move every blob to the earliest time at which any was seen, row times included."""
        rows = any(self._rows_s)
        if not self._settings.interpolate or (abs(views.skew_ns) < SIMULTANEOUS_NS and not rows):
            return views
        first_ns = min(view.t_capture_ns for view in views.present)
        if not rows and all(map(len, views.present)):
            at_once = views.changed(lambda _, view: self._moved(view, (first_ns - view.t_capture_ns) * 1e-9, first_ns))
            return replace(at_once, measured_skew_ns=views.skew_ns)
        later_s = {
            view.camera: (view.t_capture_ns - first_ns) * 1e-9 + self._rows_s[view.camera] * view.points_px[:, 1]
            for view in views.present
        }
        earliest_s = min(float(late[np.isfinite(late)].min(initial=np.inf)) for late in later_s.values())
        earliest_s = earliest_s if np.isfinite(earliest_s) else 0.0
        t_ns = first_ns + round(1e9 * earliest_s)
        one = views.changed(lambda camera, view: self._moved(view, earliest_s - later_s[camera], t_ns))
        return replace(one, measured_skew_ns=views.skew_ns)

    def _moved(self, view: Blobs, ahead_s: Floats | float, t_ns: int) -> Blobs:
        """Return the blobs of a view moved along their tracks to a time, and its landmarks with them."""
        view = self._with_moved_landmarks(view, t_ns)
        history = next((h for h in reversed(self._clocks[view.camera].histories) if h.t_ns == view.t_capture_ns), None)
        if history is None or not (ahead_s if isinstance(ahead_s, float) else ahead_s.any()):
            return view if view.t_capture_ns == t_ns else replace(view, t_capture_ns=t_ns)
        return extrapolate_blobs(view, history, ahead_s, t_ns)

    def _with_moved_landmarks(self, view: Blobs, t_ns: int) -> Blobs:
        """Return a view with its landmarks moved to a time, row times included."""
        if view.landmarks is None:
            return view
        histories = self._clocks[view.camera].landmark_histories
        history = next((h for h in reversed(histories) if h.t_ns == view.t_capture_ns), None)
        if history is None:
            return view
        late_s = self._rows_s[view.camera] * view.landmarks.image_px[:, 1]
        return replace(view, landmarks=history.extrapolate((t_ns - view.t_capture_ns) * 1e-9 - late_s))


def warm_synchroniser(settings: TimeSettings) -> None:
    """Compile every kernel: pair a few synthetic frames with a skew of 4 ms."""
    synchroniser = Synchroniser(2, 10_000_000, settings)
    for k in range(4):
        for camera in (0, 1):
            points_px = 50.0 * np.arange(8.0).reshape(4, 2) + k
            t_ns = 16_000_000 * k + 4_000_000 * camera
            synchroniser.push(Blobs(camera, k, t_ns, points_px, np.full(4, 20.0), np.full((4, 3), 200.0), np.full(4, 0.2)))
