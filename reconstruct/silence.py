"""Who is silent? Which camera poses go on from when pairs stop coming; time is passed in."""

from collections import deque

from config.cameras import CAMERAS

SILENT_NS = 100_000_000  # six frames at 60 Hz without a pair: the cameras are not late, they are gone
SILENT_BUDGETS = 4.0  # and no less than this times the largest skew of a pair, which is half a frame's time and a tenth
START_NS = 2_000_000_000  # cameras do not start at quite the same time
SECOND_NS = 1_000_000_000


class CameraCount:
    """How many came, and how fast over the last second."""

    def __init__(self) -> None:
        self.n = self.t_last_ns = 0
        self._recent: deque[int] = deque(maxlen=1024)

    def add(self, t_ns: int) -> None:
        """Count one."""
        self.n += 1
        self.t_last_ns = t_ns
        self._recent.append(t_ns)

    def rate_hz(self, t_ns: int) -> float:
        """Give how many came within the last second."""
        return float(sum(1 for t in self._recent if t_ns - t < SECOND_NS))


class Silence:
    """Tells by what came from the cameras which of them is silent, and which one poses are to go on from alone.

    alone: that camera, None while pairs come or neither sends.
    """

    def __init__(self, seen: tuple[CameraCount, CameraCount], budget_ns: int) -> None:
        self._seen, self.budget_ns = seen, budget_ns
        self._t_pair_ns = self._t_first_ns = 0
        self.alone: int | None = None

    @property
    def silent_ns(self) -> int:
        """After how long without a word a camera is silent."""
        return max(SILENT_NS, round(SILENT_BUDGETS * self.budget_ns))

    def pair(self, t_ns: int) -> None:
        """Note that a pair came."""
        self._t_pair_ns, self.alone = t_ns, None

    def is_silent(self, camera: int, t_ns: int) -> bool:
        """Tell whether a camera is silent."""
        return t_ns - self._seen[camera].t_last_ns >= self.silent_ns

    def step(self, t_ns: int) -> int | None:
        """Give the camera that poses go on from alone at t_ns; where both send but make no pairs, that which already did."""
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

    def words(self, t_ns: int) -> str:
        """Say what is wrong with the cameras."""
        silent = [name for camera, name in enumerate(CAMERAS) if self.is_silent(camera, t_ns)]
        said = " and ".join(f"the {name} camera is silent" for name in silent) or "the cameras' stamps are too far apart"
        return said if self.alone is None else f"{said}; poses go on from the {CAMERAS[self.alone]} camera alone"
