"""Whether frames come faster than they can be solved, told by the moments that had to be skipped; pure, times are passed in."""

from collections import deque

WINDOW_NS = 1_000_000_000
SHARE = 0.05  # of the moments of a window that are skipped: more, and optional work rests
MIN_SKIPPED = 3  # in a window; one hiccup of the machine is not a load
REST_NS = 5_000_000_000  # how long optional work rests at least after that


class LoadWatch:
    """Counts moments and skipped moments over the last second; `late` says whether optional work is to rest."""

    def __init__(self) -> None:
        self._turns: deque[tuple[int, int, int]] = deque()  # time, moments, skipped
        self._moments = self._skipped = 0
        self._rest_until_ns = 0
        self.late = False

    def turn(self, n_moments: int, n_skipped: int, t_ns: int) -> bool:
        """Note the moments of a turn and those of them that were skipped; return whether `late` has changed."""
        if n_moments:
            self._turns.append((t_ns, n_moments, n_skipped))
            self._moments, self._skipped = self._moments + n_moments, self._skipped + n_skipped
        while self._turns and t_ns - self._turns[0][0] > WINDOW_NS:
            _, moments, skipped = self._turns.popleft()
            self._moments, self._skipped = self._moments - moments, self._skipped - skipped
        if self._skipped >= MIN_SKIPPED and self._skipped > SHARE * self._moments:
            self._rest_until_ns = t_ns + REST_NS
        before, self.late = self.late, t_ns < self._rest_until_ns
        return self.late is not before

    def words(self) -> str:
        """Return what has changed, for the user."""
        if not self.late:
            return "frames are solved as fast as they come again; learning and watching go on"
        return (
            f"frames come faster than they can be solved: {self._skipped} of {self._moments} moments of the last second were "
            "skipped for newer ones; learning styles and watching the rig and the clocks rest meanwhile, and viewers show less"
        )
