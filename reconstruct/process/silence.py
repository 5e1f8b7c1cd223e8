"""Silent cameras: which ones, and which camera poses continue from when pairs stop coming; time is passed in."""

from collections import deque

from config.settings import CAMERAS

SILENT_NS = 100_000_000  # six frames at 60 Hz without a pair
SILENT_BUDGETS = 4.0  # and at least this many times the largest skew of a pair, which is 0.6 frames
START_NS = 2_000_000_000  # cameras do not start at the same time
SECOND_NS = 1_000_000_000


class FrameCount:
    """Number of frames, and their rate over the last second."""

    def __init__(self) -> None:
        self.n = self.t_last_ns = 0
        self._recent: deque[int] = deque(maxlen=1024)

    def add(self, t_ns: int) -> None:
        """Count one frame."""
        self.n += 1
        self.t_last_ns = t_ns
        self._recent.append(t_ns)

    def rate_hz(self, t_ns: int) -> float:
        """Return the number of frames within the last second."""
        return float(sum(1 for t in self._recent if t_ns - t < SECOND_NS))


class SilenceDetector:
    """Detects silent cameras. alone: the camera that poses continue from alone, None while pairs come or neither sends."""

    def __init__(self, seen: tuple[FrameCount, FrameCount], budget_ns: int) -> None:
        self._seen, self.budget_ns = seen, budget_ns
        self._t_pair_ns = self._t_first_ns = 0
        self.alone: int | None = None

    @property
    def silent_ns(self) -> int:
        """Time after its last frame when a camera is silent."""
        return max(SILENT_NS, round(SILENT_BUDGETS * self.budget_ns))

    def add_pair(self, t_ns: int) -> None:
        """Note that a pair came."""
        self._t_pair_ns, self.alone = t_ns, None

    def is_silent(self, camera: int, t_ns: int) -> bool:
        """Return whether a camera is silent."""
        return t_ns - self._seen[camera].t_last_ns >= self.silent_ns

    def step(self, t_ns: int) -> int | None:
        """Return the camera that poses continue from alone at t_ns; where both send but make no pairs, the same as before."""
        if not self._t_first_ns and any(count.n for count in self._seen):
            self._t_first_ns = t_ns
        since_ns, patience_ns = (self._t_pair_ns, self.silent_ns) if self._t_pair_ns else (self._t_first_ns, START_NS)
        if not since_ns or t_ns - since_ns < patience_ns:
            return None
        sending = [camera for camera in (0, 1) if self._seen[camera].n and not self.is_silent(camera, t_ns)]
        if not sending:
            self.alone = None
        elif self.alone not in sending:
            self.alone = sending[0]
        return self.alone

    def message(self, t_ns: int) -> str:
        """Return what is wrong with the cameras, for the user."""
        silent = [name for camera, name in enumerate(CAMERAS) if self.is_silent(camera, t_ns)]
        text = " and ".join(f"the {name} camera is silent" for name in silent) or "the cameras' stamps are too far apart"
        return text if self.alone is None else f"{text}; poses go on from the {CAMERAS[self.alone]} camera alone"
