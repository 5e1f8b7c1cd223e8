"""Silent cameras: which ones, and what poses go on from meanwhile, in words; time is passed in."""

from collections import deque
from collections.abc import Sequence

from capture.timing.grouping import START_NS
from config.settings import CAMERA_NAMES
from config.units import NS_PER_S


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
        return float(sum(1 for t in self._recent if t_ns - t < NS_PER_S))


class SilenceWatch:
    """Tells which cameras fall silent and which send again, by when their frames came."""

    def __init__(self, seen: Sequence[FrameCount]) -> None:
        self._seen = seen
        self._told = ""
        self._silent: frozenset[int] = frozenset()
        self._t_first_ns = 0

    def step(self, t_ns: int, silent_ns: int, alone: int | None) -> list[tuple[str, str]]:
        """Return the changes, each as a kind of notice and its text.

        Args:
            t_ns: time of the frame [ns].
            silent_ns: time without a frame after which a camera is silent.
            alone: the camera that poses go on from although others send, as their stamps are too far apart.
        """
        if not self._t_first_ns and any(count.n for count in self._seen):
            self._t_first_ns = t_ns
        if not self._t_first_ns:
            return []
        before, self._silent = self._silent, frozenset(self._find_silent(t_ns, silent_ns))
        text = self._describe(alone)
        if text == self._told:
            return []
        self._told = text
        if not text:
            return [("again", "both cameras send again" if len(self._seen) == 2 else "all cameras send again")]
        back = before - self._silent
        return [(f"silent {sorted(self._silent)}" if not back else "again", text)]

    def _find_silent(self, t_ns: int, silent_ns: int) -> list[int]:
        """Return the silent cameras; one that has sent nothing yet is given more time."""
        since = ((n, count.t_last_ns if count.n else self._t_first_ns, count.n) for n, count in enumerate(self._seen))
        return [camera for camera, t_last_ns, n in since if t_ns - t_last_ns >= (silent_ns if n else START_NS)]

    def _describe(self, alone: int | None) -> str:
        """Return what is wrong with the cameras, empty for nothing."""
        sending = [camera for camera in range(len(self._seen)) if camera not in self._silent]
        if not sending:
            return f"no views any more: {_format_silent_cameras(sorted(self._silent))}"
        if self._silent:
            return f"{_format_silent_cameras(sorted(self._silent))}; poses go on from {_format_cameras(sending)}"
        return "" if alone is None else f"the cameras' stamps are too far apart; poses go on from {_format_cameras([alone])}"


def _format_silent_cameras(cameras: Sequence[int]) -> str:
    """Return which cameras are silent."""
    return " and ".join(f"the {CAMERA_NAMES[camera]} camera is silent" for camera in cameras)


def _format_cameras(cameras: Sequence[int]) -> str:
    """Return some cameras by name."""
    names = [CAMERA_NAMES[camera] for camera in cameras]
    if len(names) == 1:
        return f"the {names[0]} camera alone"
    return f"the {', '.join(names[:-1])} and {names[-1]} cameras"
