"""From the blobs of two free-running cameras to pairs of one moment: right stamps, pairing, markers moved along tracks.

The right camera's stamps are corrected by what is known of their offset. Frames are paired by nearest stamp, and the later view
of a pair is moved back to the moment of the earlier one, between its own last frames, so that nothing waits for a frame to come.
Everything follows from the blobs and labels in the order they came, so that what is recorded replays the same.
"""

from collections import deque
from dataclasses import replace

import numpy as np

from calibration.camera import Rig
from capture.packets import Blobs, Floats, MarkerFrame, PairedBlobs, lone_pair
from capture.pairing import MAX_WAITING, Pairing, PairingCounts
from capture.time_offset import OffsetEstimate, TimeOffset
from capture.time_search import TimeSearch, words
from capture.tracks import History, Tracks, moved
from config.settings import TimeSettings

AS_ONE_NS = 300_000  # views this near in time are of one moment: a fist moves by 3 mm at most
CLOCK_JUMP_NS = 1_000_000_000  # a stamp this much older than the last is of another clock
AWAY_NS = 2_000_000_000  # a camera silent for so long was perhaps opened anew
SETTLE_NS = 250_000_000  # until a new offset is in use: longer than pairs ever wait, so that their order does not matter


class Synchroniser:
    """Pair the blobs of two cameras and bring each pair to one moment; time comes only from the stamps.

    budget_ns: largest skew within a pair, about half the frame time of the slower camera.
    """

    def __init__(self, budget_ns: int, settings: TimeSettings) -> None:
        self._pairing, self._settings = Pairing(budget_ns), settings
        self._tracks = (Tracks(), Tracks())
        self._histories: tuple[deque[History], deque[History]] = (deque(maxlen=MAX_WAITING + 1), deque(maxlen=MAX_WAITING + 1))
        self._stamp_ns: list[int | None] = [None, None]  # newest of each camera, as it came
        self._given_ms = settings.offset_ms
        self._found = TimeOffset()
        self._in_use_s = 0.0  # of what was found
        self._waiting: tuple[int, float] | None = None  # from when on which offset will be
        self._search, self._news = TimeSearch(), list[str]()
        self._made: deque[tuple[int, float]] = deque(maxlen=MAX_WAITING)  # pairs and what they were made with

    def pair_within(self, budget_ns: int) -> None:
        """Set the largest skew of a pair."""
        self._pairing.budget_ns = budget_ns

    @property
    def counts(self) -> PairingCounts:
        """Counts since the start."""
        return self._pairing.counts

    @property
    def offset(self) -> OffsetEstimate:
        """How late the right camera's stamps are: given and found together."""
        found = self._found.estimate
        return replace(found, offset_ms=self._given_ms + 1e3 * self._in_use_s, estimate_ms=self._given_ms + found.estimate_ms)

    def correct(self, offset_ms: float, sigma_ms: float = 0.5) -> None:
        """Take an offset of the right camera's stamps found by other means, such as a flash, from now on."""
        self._found.set(1e-3 * (offset_ms - self._given_ms), 1e-3 * sigma_ms)
        self._in_use_s, self._waiting = self._found.applied_s, None

    def push(self, blobs: Blobs) -> PairedBlobs | None:
        """Take one camera's blobs and give the pair they complete, if any, brought to one moment."""
        last_ns = self._stamp_ns[blobs.camera]
        self._stamp_ns[blobs.camera] = blobs.t_capture_ns
        if last_ns is not None:
            self._watch_clock(blobs.camera, blobs.t_capture_ns - last_ns)
        corrected = self._corrected(blobs)
        if last_ns is None or blobs.t_capture_ns > last_ns:
            self._follow(blobs, corrected.t_capture_ns)
        pair = self._pairing.push(corrected)
        if pair is None:
            return None
        pair = self._at_one_moment(pair)
        self._made.append((pair.t_capture_ns, self._in_use_s))
        return pair

    def alone(self, blobs: Blobs) -> PairedBlobs:
        """Give a frame of one camera, pushed before, as a pair without the other view: that camera is silent."""
        return lone_pair(self._corrected(blobs))

    def learn(self, frame: MarkerFrame | None, rig: Rig) -> None:
        """Take the labels of a pair: moving markers tell how far off the stamps are."""
        if frame is None or not self._settings.estimate or rig.is_lone:
            return
        made_with = next((offset_s for t_ns, offset_s in self._made if t_ns == frame.t_capture_ns), None)
        if made_with is None:
            return
        self._found.add(frame, rig, made_with)
        wanted = self._found.applied_s
        if wanted != (self._in_use_s if self._waiting is None else self._waiting[1]):
            self._waiting = (frame.t_capture_ns + SETTLE_NS, wanted)

    def seek(self, way: str) -> None:
        """Begin to look for a flash or a jump that tells the offset; what comes of it is told by `news`."""
        newest_ns = max((t_ns for t_ns in self._stamp_ns if t_ns is not None), default=None)
        if way in ("flash", "jump") and newest_ns is not None:
            self._search.seek("flash" if way == "flash" else "jump", newest_ns)

    def news(self) -> list[str]:
        """Give what there is to tell in words, once."""
        told, self._news = self._news, []
        return told

    @property
    def calibration(self) -> dict[str, float]:
        """What a run's status tells: the offset in use, how sure the estimate is, and its drift."""
        offset = self.offset
        return {
            "time_offset_ms": offset.offset_ms,
            "time_offset_sigma_ms": offset.sigma_ms,
            "time_drift_ppm": offset.drift_ppm,
        }

    def _follow(self, blobs: Blobs, corrected_ns: int) -> None:
        """Let the tracks go on, and look for what was asked for."""
        history = None
        if self._settings.interpolate:
            # Tracks go by the stamps as they came: a correction that changes is no motion.
            history = self._tracks[blobs.camera].step(blobs)
            self._histories[blobs.camera].append(replace(history, t_ns=corrected_ns))
        self._search.note(blobs, history)
        if (ended := self._search.step(blobs.t_capture_ns)) is not None:
            way, found = ended
            if found is not None:
                self.correct(1e3 * found.offset_s, 1e3 * found.sigma_s)
            self._news.append(words(way, found, 0.0 if found is None else 1e3 * found.offset_s))

    def _watch_clock(self, camera: int, gone_ns: int) -> None:
        """Start anew where a camera's stamps go back for good, or it was away for long."""
        if gone_ns < -CLOCK_JUMP_NS or gone_ns > AWAY_NS:
            self._tracks[camera].forget()
            self._histories[camera].clear()
            self._found.interrupt()
        if gone_ns < -CLOCK_JUMP_NS:
            self._pairing.restart(camera)

    def _corrected(self, blobs: Blobs) -> Blobs:
        """Give a frame with its stamp on the left camera's clock."""
        if blobs.camera == 0:
            return blobs
        if self._waiting is not None and blobs.t_capture_ns >= self._waiting[0]:
            self._in_use_s, self._waiting = self._waiting[1], None
        late_ns = round(1e6 * self._given_ms + 1e9 * self._in_use_s)
        return blobs if late_ns == 0 else replace(blobs, t_capture_ns=blobs.t_capture_ns - late_ns)

    def _at_one_moment(self, pair: PairedBlobs) -> PairedBlobs:
        """Move every blob to the earliest moment at which any was seen; a pair of one moment is left alone."""
        s = self._settings
        rows_s = (1e-6 * s.row_time_left_us, 1e-6 * s.row_time_right_us)
        if not s.interpolate or (abs(pair.skew_ns) < AS_ONE_NS and not any(rows_s)):
            return pair
        views = (pair.left, pair.right)
        first_ns = min(view.t_capture_ns for view in views)
        later_s = [
            (view.t_capture_ns - first_ns) * 1e-9 + row_s * view.points_px[:, 1]
            for view, row_s in zip(views, rows_s, strict=True)
        ]
        earliest_s = min((float(late[np.isfinite(late)].min(initial=np.inf)) for late in later_s), default=np.inf)
        earliest_s = earliest_s if np.isfinite(earliest_s) else 0.0
        moment_ns = first_ns + round(1e9 * earliest_s)
        left, right = (
            replace(self._moved(view, earliest_s - late), t_capture_ns=moment_ns)
            for view, late in zip(views, later_s, strict=True)
        )
        return PairedBlobs(left, right, pair.skew_ns)

    def _moved(self, view: Blobs, ahead_s: Floats) -> Blobs:
        """Move the blobs of a view along their tracks."""
        history = next((h for h in reversed(self._histories[view.camera]) if h.t_ns == view.t_capture_ns), None)
        if history is None or not np.any(ahead_s):
            return view
        return moved(view, history, ahead_s)


def warm_synchroniser(settings: TimeSettings) -> None:
    """Compile every kernel: pair a few made-up frames of cameras that look 4 ms apart."""
    synchroniser = Synchroniser(10_000_000, settings)
    for k in range(4):
        for camera in (0, 1):
            points_px = 50.0 * np.arange(8.0).reshape(4, 2) + k
            t_ns = 16_000_000 * k + 4_000_000 * camera
            synchroniser.push(Blobs(camera, k, t_ns, points_px, np.full(4, 20.0), np.full((4, 3), 200.0), np.full(4, 0.2)))
