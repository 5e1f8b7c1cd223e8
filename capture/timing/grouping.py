"""Group the frames of free-running cameras: those taken nearest to one frame of the reference are views of one moment.

The reference is the fastest camera that is live. A moment leaves when every camera that can still give a view of it has given
one. A view counts as absent when its camera is silent, when its own next frame belongs to a later moment, or when the reference
has gone on for longer than the camera usually comes behind it. One view alone leaves only where views have not come together for
some time. Silence, rates and lags are counted in the stamps of frames in their order, never in the time of a clock.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isfinite
from statistics import median

from capture.packets import Blobs, Views

# Half a second at 60 Hz: when a packet of a camera on another machine is lost, its frames come that late, all at once.
MAX_WAITING = 32
SILENT_NS = 100_000_000  # six frames at 60 Hz
SILENT_BUDGETS = 4.0  # and at least this many times the largest skew, which is 0.6 frames
START_NS = 2_000_000_000  # cameras do not start at the same time
COUNTED_BUDGETS = 3.0  # most that one frame counts of another camera's silence: a pause of all is no silence of one
REACH = 0.6  # of the reference's frame time: half of it, and a tenth for jitter
OVERDUE = 3  # frames of another camera since the reference's last, at which another one is the reference
FASTER = 0.75  # of its frame time, below which another camera is the reference in its place
N_STEPS, MIN_STEPS = 30, 10  # from frame to frame, that tell a camera's frame time
MAX_LAG_NS = 100_000_000  # a camera that usually comes later is not waited for, where there are two views without it
LAG_KEPT = 0.97  # of the usual lag from frame to frame


@dataclass(frozen=True, slots=True)
class GroupingCounts:
    """Counts of frames by camera, and of moments: received = in moments + late + unpaired + still waiting."""

    moments: int
    late: tuple[int, ...]
    unpaired: tuple[int, ...]


@dataclass(slots=True)
class _CameraFrames:
    """One camera's frames.

    silent_ns: what each camera has gone on since this one's last frame, (V,); n_passed: the frames that each has given since,
    (V,); waiting: frames of no moment yet; newest_ns: timestamp; steps_ns: times from frame to frame; unshared_ns: what this one
    has gone on since the last moment of several views; lag_ns: by how much it usually comes after the reference.
    """

    silent_ns: list[int]
    n_passed: list[int]
    waiting: deque[Blobs] = field(default_factory=deque)
    newest_ns: int | None = None
    steps_ns: deque[int] = field(default_factory=lambda: deque(maxlen=N_STEPS))
    unshared_ns: int = 0
    lag_ns: float = 0.0
    n_late: int = 0
    n_unpaired: int = 0

    @property
    def period_ns(self) -> float | None:
        """Time from frame to frame, None where unknown; rather too long than too short where frames come in bursts."""
        n = len(self.steps_ns)
        return max(sum(self.steps_ns) / n, median(self.steps_ns)) if n >= MIN_STEPS else None

    def drop_until(self, t_ns: int, used: Blobs | None) -> None:
        """Drop the waiting frames up to a time, all but the one that is used as unpaired."""
        while self.waiting and self.waiting[0].t_capture_ns <= t_ns:
            self.n_unpaired += self.waiting.popleft() is not used


class Grouping:
    """Groups the blobs of cameras by nearest timestamp, each frame once, never going back.

    n_cameras: of the rig; budget_ns: largest time between a view and the reference's, about half the frame time of the slowest
    camera. Two cameras of equal rates make a pair as soon as its second half arrives: no later frame can be nearer.
    """

    def __init__(self, n_cameras: int, budget_ns: int) -> None:
        self.budget_ns = budget_ns
        self.reference: int | None = None
        self._cameras = tuple(_CameraFrames([0] * n_cameras, [0] * n_cameras) for _ in range(n_cameras))
        self._last_ns: int | None = None  # of the reference in the last moment
        self._n_moments = 0
        self._shared = False  # whether several views have ever come together

    @property
    def counts(self) -> GroupingCounts:
        """Counts since the start."""
        late, unpaired = zip(*((camera.n_late, camera.n_unpaired) for camera in self._cameras), strict=True)
        return GroupingCounts(self._n_moments, late, unpaired)

    @property
    def silent_ns(self) -> int:
        """Time after which a camera without a frame is silent."""
        return max(SILENT_NS, round(SILENT_BUDGETS * self.budget_ns))

    def is_live(self, camera: int) -> bool:
        """Return whether a camera sends, as told by the frames of the others."""
        return self._cameras[camera].newest_ns is not None and max(self._cameras[camera].silent_ns) < self.silent_ns

    def rate_hz(self, camera: int) -> float:
        """Return a camera's frames a second, 0 where unknown."""
        period_ns = self._cameras[camera].period_ns
        return 1e9 / period_ns if period_ns else 0.0

    def push(self, blobs: Blobs) -> Views | None:
        """Take one camera's blobs; return a moment that is complete now, if any: the oldest of several views, else the newest.

        A frame not newer than the newest of its camera is dropped as late. A frame older than one of a moment, or too long
        without one, is dropped as unpaired.
        """
        camera = self._cameras[blobs.camera]
        if camera.newest_ns is not None and blobs.t_capture_ns <= camera.newest_ns:
            camera.n_late += 1
            return None
        self._count_time(blobs)
        self._choose_reference(blobs.camera)
        if len(camera.waiting) == MAX_WAITING:
            camera.drop_until(camera.waiting[0].t_capture_ns, None)
        camera.waiting.append(blobs)
        group = self._find_complete()
        return None if group is None else self._leave(group)

    def restart(self, camera: int) -> None:
        """Accept a camera's next frame whatever its timestamp: its clock has gone back, or it was away."""
        restarted = self._cameras[camera]
        restarted.drop_until(restarted.newest_ns or 0, None)
        restarted.newest_ns = None
        self._last_ns = None

    def _count_time(self, blobs: Blobs) -> None:
        """Count by how much a camera goes on, for the silence of the others, and how far it is behind the reference."""
        index, camera = blobs.camera, self._cameras[blobs.camera]
        gone_ns = 0
        if camera.newest_ns is not None:
            gone_ns = min(blobs.t_capture_ns - camera.newest_ns, round(COUNTED_BUDGETS * self.budget_ns))
            camera.steps_ns.append(gone_ns)
        for other in self._cameras:
            other.silent_ns[index] += gone_ns
            other.n_passed[index] += 1
        camera.silent_ns[:] = camera.n_passed[:] = [0] * len(self._cameras)
        camera.unshared_ns += gone_ns
        camera.newest_ns = blobs.t_capture_ns
        ahead_ns = None if self.reference in (None, index) else self._cameras[self.reference].newest_ns
        if ahead_ns is not None:
            camera.lag_ns = max(ahead_ns - blobs.t_capture_ns, LAG_KEPT * camera.lag_ns)

    def _choose_reference(self, newest: int) -> None:
        """Choose the fastest live camera; the present one stays while it sends and no other is clearly faster."""
        present = newest if self.reference is None else self.reference
        every = range(len(self._cameras))
        live = [camera for camera in every if self.is_live(camera) and max(self._cameras[camera].n_passed) < OVERDUE]
        periods_ns = {camera: self._cameras[camera].period_ns or float("inf") for camera in live}
        fastest = min(live, key=lambda camera: (periods_ns[camera], camera))
        slower = present in live and isfinite(periods_ns[present]) and periods_ns[fastest] < FASTER * periods_ns[present]
        self.reference = fastest if slower or present not in live else present

    def _reach_ns(self) -> float:
        """Return the largest time between a view and the reference's; of two cameras all of the budget, as nothing else waits."""
        paired = self.reference is None or len(self._cameras) == 2
        period_ns = None if paired else self._cameras[self.reference or 0].period_ns
        return self.budget_ns if period_ns is None else min(self.budget_ns, REACH * period_ns)

    def _groups(self, reach_ns: float) -> list[list[Blobs | None]]:
        """Return what waits, by moment: the reference's frames in their order, each with the nearest of each other camera."""
        assert self.reference is not None
        frames = [blobs for blobs in self._cameras[self.reference].waiting if blobs.t_capture_ns > (self._last_ns or -1)]
        groups: list[list[Blobs | None]] = [[None] * len(self._cameras) for _ in frames]
        for group, blobs in zip(groups, frames, strict=True):
            group[self.reference] = blobs
        if not groups:
            return groups
        for index, camera in enumerate(self._cameras):
            if index != self.reference:
                _join_frames(camera.waiting, index, frames, groups, reach_ns)
        return groups

    def _find_complete(self) -> list[Blobs | None] | None:
        """Return what is to leave; a moment that still waits for a view keeps those after it back."""
        reach_ns, lone = self._reach_ns(), None
        for group in self._groups(reach_ns):
            n_views = sum(blobs is not None for blobs in group)
            if n_views < self._n_enough:
                continue
            if any(blobs is None and self._may_come(camera, group, reach_ns) for camera, blobs in enumerate(group)):
                break
            if n_views > 1:
                return group
            lone = group
        return lone

    @property
    def _n_enough(self) -> int:
        """Views that a moment needs: two, but one where views have not come together for some time."""
        return 1 if len(self._cameras) == 1 or self.is_apart else 2

    @property
    def is_apart(self) -> bool:
        """Whether views have not come together for some time, as one camera alone is live, or their stamps are too far apart."""
        patience_ns = self.silent_ns if self._shared else START_NS
        return self.reference is not None and self._cameras[self.reference].unshared_ns >= patience_ns

    def _may_come(self, index: int, group: Sequence[Blobs | None], reach_ns: float) -> bool:
        """Return whether a camera may yet give its view of a moment in time."""
        assert self.reference is not None
        camera, reference, own = self._cameras[index], self._cameras[self.reference], group[self.reference]
        assert own is not None and reference.newest_ns is not None
        t_ns, newest_ns = own.t_capture_ns, camera.newest_ns
        if newest_ns is None or newest_ns > t_ns or not self.is_live(index):
            return False
        if camera.period_ns and reference.period_ns and newest_ns + camera.period_ns > t_ns + 0.5 * reference.period_ns:
            return False
        alone = sum(blobs is not None for blobs in group) == 1
        lag_ns = camera.lag_ns if alone or camera.lag_ns <= MAX_LAG_NS else 0.0
        return reference.newest_ns <= t_ns + reach_ns + lag_ns

    def _leave(self, group: list[Blobs | None]) -> Views:
        """Return a moment's views; drop what is older."""
        assert self.reference is not None
        own = group[self.reference]
        assert own is not None
        for camera, blobs in zip(self._cameras, group, strict=True):
            camera.drop_until(own.t_capture_ns if blobs is None else blobs.t_capture_ns, blobs)
        if sum(blobs is not None for blobs in group) > 1:
            self._shared = True
            for camera in self._cameras:
                camera.unshared_ns = 0
        self._n_moments += 1
        self._last_ns = own.t_capture_ns
        return Views(tuple(group))


def _join_frames(
    waiting: deque[Blobs], index: int, frames: Sequence[Blobs], groups: Sequence[list[Blobs | None]], reach_ns: float
) -> None:
    """Give each of the reference's frames the nearest of those frames of a camera that are nearest to it, the earlier of two.

    waiting: the camera's frames; index: of the camera; frames: the reference's, (G,); groups: of each, changed; reach_ns: largest
    time between the two.
    """
    for blobs in waiting:
        t_ns = blobs.t_capture_ns
        k = min(range(len(frames)), key=lambda g: abs(frames[g].t_capture_ns - t_ns))
        apart_ns, rival = abs(frames[k].t_capture_ns - t_ns), groups[k][index]
        if apart_ns <= reach_ns and (rival is None or apart_ns < abs(frames[k].t_capture_ns - rival.t_capture_ns)):
            groups[k][index] = blobs
