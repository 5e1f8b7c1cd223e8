"""Pair the blobs of two free-running cameras and bring each pair to one time.

The right camera's timestamps are corrected by the estimated offset. Frames are paired by nearest timestamp, and the later view of
a pair is moved back along its tracks to the time of the earlier one, between its own last frames, so that nothing waits for a
frame to come. Everything follows from the blobs and labels in the order they came, so that a recording replays the same.
"""

from collections import deque
from dataclasses import dataclass, replace

import numpy as np

from calibration.camera import Rig
from capture.clock import OffsetMethod
from capture.packets import Blobs, MarkerFrame, Views, lone_views
from capture.timing.offset import OffsetEstimate, TimeOffset
from capture.timing.search import TimeSearch, describe_result
from capture.timing.tracks import BlobHistory, Tracks, moved
from config.arrays import Floats
from config.settings import TimeSettings

# Half a second at 60 Hz: when a packet of a camera on another machine is lost, its frames come that late, all at once.
MAX_WAITING = 32


@dataclass(frozen=True, slots=True)
class PairingCounts:
    """Counts of frames of (left, right): received = 2 * pairs in all + late + unpaired + still waiting."""

    pairs: int
    late: tuple[int, int]
    unpaired: tuple[int, int]


class Pairing:
    """Pair the blobs of two cameras by nearest timestamp, each frame once, never going back.

    budget_ns: largest skew within a pair, about half the frame time of the slower camera. With equal frame rates no later frame
    can then be nearer than the one that waits: a pair leaves as soon as its second half arrives.
    """

    def __init__(self, budget_ns: int) -> None:
        self.budget_ns = budget_ns
        self._waiting: tuple[deque[Blobs], deque[Blobs]] = (deque(), deque())
        self._newest_ns = [-1, -1]
        self._pairs = 0
        self._late = [0, 0]
        self._unpaired = [0, 0]

    @property
    def counts(self) -> PairingCounts:
        """Counts since the start."""
        return PairingCounts(self._pairs, (self._late[0], self._late[1]), (self._unpaired[0], self._unpaired[1]))

    def push(self, blobs: Blobs) -> Views | None:
        """Take one camera's blobs; return the pair they complete, if any.

        A frame not newer than the newest of its camera is dropped as late. A frame older than a paired one, or too long without
        a partner, is dropped as unpaired.
        """
        camera = blobs.camera
        if blobs.t_capture_ns <= self._newest_ns[camera]:
            self._late[camera] += 1
            return None
        self._newest_ns[camera] = blobs.t_capture_ns
        partner = self._nearest(self._waiting[1 - camera], blobs.t_capture_ns)
        if partner is None:
            self._wait(blobs)
            return None
        self._pairs += 1
        self._forget(camera, len(self._waiting[camera]))
        self._forget_older(1 - camera, partner)
        return Views((blobs, partner)) if camera == 0 else Views((partner, blobs))

    def restart(self, camera: int) -> None:
        """Accept a camera's next frame whatever its timestamp: its clock has gone back."""
        self._forget(camera, len(self._waiting[camera]))
        self._newest_ns[camera] = -1

    def _nearest(self, waiting: deque[Blobs], t_ns: int) -> Blobs | None:
        """Return the waiting frame nearest in time within the budget, the earlier of two."""
        best = min(waiting, key=lambda other: abs(other.t_capture_ns - t_ns), default=None)
        return best if best is not None and abs(best.t_capture_ns - t_ns) <= self.budget_ns else None

    def _wait(self, blobs: Blobs) -> None:
        """Let a frame wait for its partner; drop the oldest where too many wait."""
        waiting = self._waiting[blobs.camera]
        if len(waiting) == MAX_WAITING:
            self._forget(blobs.camera, 1)
        waiting.append(blobs)

    def _forget(self, camera: int, n: int) -> None:
        """Drop the n oldest waiting frames of a camera as unpaired."""
        for _ in range(n):
            self._waiting[camera].popleft()
        self._unpaired[camera] += n

    def _forget_older(self, camera: int, partner: Blobs) -> None:
        """Drop what waited before `partner` as unpaired, and `partner` itself as used."""
        waiting = self._waiting[camera]
        while waiting[0] is not partner:
            self._forget(camera, 1)
        waiting.popleft()


SIMULTANEOUS_NS = 300_000  # views this near in time need not be moved: a fist moves by 3 mm at most
CLOCK_JUMP_NS = 1_000_000_000  # a timestamp this much older than the last is of another clock
AWAY_NS = 2_000_000_000  # a camera silent for so long was perhaps opened again
SETTLE_NS = 250_000_000  # until a new offset is in use: longer than pairs ever wait, so that their order does not matter


class Synchroniser:
    """Pairs the blobs of two cameras and brings each pair to one time.

    budget_ns: largest skew within a pair, about half the frame time of the slower camera.
    """

    def __init__(self, budget_ns: int, settings: TimeSettings) -> None:
        self._pairing, self._settings = Pairing(budget_ns), settings
        self._tracks = (Tracks(), Tracks())
        self._histories: tuple[deque[BlobHistory], deque[BlobHistory]] = (
            deque(maxlen=MAX_WAITING + 1),
            deque(maxlen=MAX_WAITING + 1),
        )
        self._newest_ns: list[int | None] = [None, None]  # newest timestamp of each camera, uncorrected
        self._setting_ms = settings.offset_ms
        self._offset = TimeOffset()
        self._in_use_s = 0.0  # of the estimated offset
        self._pending: tuple[int, float] | None = None  # the next offset to use, and from when on
        self._search, self._notices = TimeSearch(), list[str]()
        self._made: deque[tuple[int, float]] = deque(maxlen=MAX_WAITING)  # times of pairs, and the offsets in use for them

    def set_budget(self, budget_ns: int) -> None:
        """Set the largest skew of a pair."""
        self._pairing.budget_ns = budget_ns

    @property
    def counts(self) -> PairingCounts:
        """Counts since the start."""
        return self._pairing.counts

    @property
    def offset(self) -> OffsetEstimate:
        """How late the right camera's timestamps are, by setting and estimate together."""
        found = self._offset.estimate
        return replace(found, offset_ms=self._setting_ms + 1e3 * self._in_use_s, estimate_ms=self._setting_ms + found.estimate_ms)

    def correct(self, offset_ms: float, sigma_ms: float = 0.5) -> None:
        """Use an offset of the right camera's timestamps that was found by other means, from now on."""
        self._offset.set(1e-3 * (offset_ms - self._setting_ms), 1e-3 * sigma_ms)
        self._in_use_s, self._pending = self._offset.applied_s, None

    def push(self, blobs: Blobs) -> Views | None:
        """Take one camera's blobs; return the pair they complete, if any, brought to one time."""
        last_ns = self._newest_ns[blobs.camera]
        self._newest_ns[blobs.camera] = blobs.t_capture_ns
        if last_ns is not None:
            self._watch_clock(blobs.camera, blobs.t_capture_ns - last_ns)
        corrected = self._corrected(blobs)
        if last_ns is None or blobs.t_capture_ns > last_ns:
            self._follow(blobs, corrected.t_capture_ns)
        pair = self._pairing.push(corrected)
        if pair is None:
            return None
        pair = self._at_one_time(pair)
        self._made.append((pair.t_capture_ns, self._in_use_s))
        return pair

    def monocular(self, blobs: Blobs) -> Views:
        """Return a frame that was pushed before as a pair without the other view, whose camera is silent."""
        return lone_views(self._corrected(blobs), 2)

    def learn(self, frame: MarkerFrame | None, rig: Rig) -> None:
        """Estimate the offset from the labelled markers of a pair."""
        if frame is None or not self._settings.estimate or rig.is_monocular:
            return
        used_s = next((offset_s for t_ns, offset_s in self._made if t_ns == frame.t_capture_ns), None)
        if used_s is None:
            return
        self._offset.add(frame, rig, used_s)
        wanted = self._offset.applied_s
        if wanted != (self._in_use_s if self._pending is None else self._pending[1]):
            self._pending = (frame.t_capture_ns + SETTLE_NS, wanted)

    def start_search(self, method: OffsetMethod) -> None:
        """Look for a flash or a jump that tells the offset; `notices` says what came of it."""
        newest_ns = max((t_ns for t_ns in self._newest_ns if t_ns is not None), default=None)
        if newest_ns is not None:
            self._search.start(method, newest_ns)

    def notices(self) -> list[str]:
        """Return the notices since the last call."""
        notices, self._notices = self._notices, []
        return notices

    @property
    def calibration(self) -> dict[str, float]:
        """Figures for the status: the offset in use, the sigma of the estimate, and its drift."""
        offset = self.offset
        return {
            "time_offset_ms": offset.offset_ms,
            "time_offset_sigma_ms": offset.sigma_ms,
            "time_drift_ppm": offset.drift_ppm,
        }

    def _follow(self, blobs: Blobs, corrected_ns: int) -> None:
        """Update the tracks, and the search for an offset."""
        history = None
        if self._settings.interpolate:
            # Tracks use uncorrected timestamps: a change of the correction is no motion.
            history = self._tracks[blobs.camera].step(blobs)
            self._histories[blobs.camera].append(history._replace(t_ns=corrected_ns))
        self._search.note(blobs, history)
        if (ended := self._search.step(blobs.t_capture_ns)) is not None:
            method, found = ended
            if found is not None:
                self.correct(1e3 * found.offset_s, 1e3 * found.sigma_s)
            self._notices.append(describe_result(method, found, 0.0 if found is None else 1e3 * found.offset_s))

    def _watch_clock(self, camera: int, elapsed_ns: int) -> None:
        """Restart where a camera's timestamps go back, or it was silent for long."""
        if elapsed_ns < -CLOCK_JUMP_NS or elapsed_ns > AWAY_NS:
            self._tracks[camera].forget()
            self._histories[camera].clear()
            self._offset.interrupt()
        if elapsed_ns < -CLOCK_JUMP_NS:
            self._pairing.restart(camera)

    def _corrected(self, blobs: Blobs) -> Blobs:
        """Return a frame with its timestamp on the left camera's clock."""
        if blobs.camera == 0:
            return blobs
        if self._pending is not None and blobs.t_capture_ns >= self._pending[0]:
            self._in_use_s, self._pending = self._pending[1], None
        late_ns = round(1e6 * self._setting_ms + 1e9 * self._in_use_s)
        return blobs if late_ns == 0 else replace(blobs, t_capture_ns=blobs.t_capture_ns - late_ns)

    def _at_one_time(self, pair: Views) -> Views:
        """Move every blob to the earliest time at which any was seen, row times included."""
        s = self._settings
        rows_s = (1e-6 * s.row_time_left_us, 1e-6 * s.row_time_right_us)
        if not s.interpolate or (abs(pair.skew_ns) < SIMULTANEOUS_NS and not any(rows_s)):
            return pair
        views = (pair.left, pair.right)
        first_ns = min(pair.left.t_capture_ns, pair.right.t_capture_ns)
        if not any(rows_s) and len(pair.left) and len(pair.right):
            left, right = (self._moved(view, (first_ns - view.t_capture_ns) * 1e-9, first_ns) for view in views)
            return Views((left, right), pair.skew_ns)
        later_s = [
            (view.t_capture_ns - first_ns) * 1e-9 + row_s * view.points_px[:, 1]
            for view, row_s in zip(views, rows_s, strict=True)
        ]
        earliest_s = min((float(late[np.isfinite(late)].min(initial=np.inf)) for late in later_s), default=np.inf)
        earliest_s = earliest_s if np.isfinite(earliest_s) else 0.0
        t_ns = first_ns + round(1e9 * earliest_s)
        left, right = (self._moved(view, earliest_s - late, t_ns) for view, late in zip(views, later_s, strict=True))
        return Views((left, right), pair.skew_ns)

    def _moved(self, view: Blobs, ahead_s: Floats | float, t_ns: int) -> Blobs:
        """Return the blobs of a view moved along their tracks to a time."""
        history = next((h for h in reversed(self._histories[view.camera]) if h.t_ns == view.t_capture_ns), None)
        if history is None or not (ahead_s if isinstance(ahead_s, float) else ahead_s.any()):
            return view if view.t_capture_ns == t_ns else replace(view, t_capture_ns=t_ns)
        return moved(view, history, ahead_s, t_ns)


def warm_synchroniser(settings: TimeSettings) -> None:
    """Compile every kernel: pair a few synthetic frames with a skew of 4 ms."""
    synchroniser = Synchroniser(10_000_000, settings)
    for k in range(4):
        for camera in (0, 1):
            points_px = 50.0 * np.arange(8.0).reshape(4, 2) + k
            t_ns = 16_000_000 * k + 4_000_000 * camera
            synchroniser.push(Blobs(camera, k, t_ns, points_px, np.full(4, 20.0), np.full((4, 3), 200.0), np.full(4, 0.2)))
