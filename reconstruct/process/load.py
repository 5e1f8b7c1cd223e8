"""Whether frames come faster than they can be solved, and what is left out then: views first, then whole moments.

Told by the moments that come together in one turn; pure, times are passed in.
"""

from collections import deque
from typing import NamedTuple

BACKLOG = 2  # the scheduler sometimes delivers two moments at once, and both are soon solved; more would be a queue
FEWEST_VIEWS = 2  # one view alone tells no depth: rather every other moment from two
WINDOW_NS = 1_000_000_000
SHARE = 0.05  # of the moments of a window that are skipped or read from fewer views: more, and optional work rests
MIN_SHORT = 3  # of them; one hiccup of the machine is not a load
REST_NS = 5_000_000_000  # how long optional work rests at least after that


class _Turn(NamedTuple):
    """One turn in which moments came: how many, how many of them were skipped, and how many read from fewer views."""

    t_ns: int
    n_moments: int
    n_skipped: int
    n_fewer: int


class LoadWatch:
    """Decides for each turn which moments are solved, and from how many views.

    Where several moments come in two turns in a row, a view less is read from then on, down to two; where that is not enough, the
    newest moment alone is solved. After a second without, a view more is tried again.

    Args:
        n_cameras: number of cameras of the rig.
    Attributes:
        n_views: number of views of a moment to read.
        late: whether optional work is to rest.
    """

    def __init__(self, n_cameras: int) -> None:
        self.n_views = self._n_cameras = n_cameras
        self._turns: deque[_Turn] = deque()
        self._crowded = False  # whether several moments came in the last turn
        self._calm_ns = self._rest_until_ns = 0
        self.late = False

    def take_turn(self, n_moments: int, t_ns: int) -> int:
        """Note how many moments came in a turn; return how many, the newest, are to be solved."""
        n_kept = n_moments
        if n_moments:
            again, self._crowded = self._crowded, n_moments > 1
            tight = self.n_views <= FEWEST_VIEWS and (again or self.late)
            n_kept = min(n_moments, 1 if tight else BACKLOG)
            self._choose_n_views(again and self._crowded, n_kept < n_moments, t_ns)
            n_fewer = n_kept if self.n_views < self._n_cameras else 0
            self._turns.append(_Turn(t_ns, n_moments, n_moments - n_kept, n_fewer))
        while self._turns and t_ns - self._turns[0].t_ns > WINDOW_NS:
            self._turns.popleft()
        moments, short = self._total("n_moments"), self._total("n_skipped") + self._total("n_fewer")
        if short >= MIN_SHORT and short > SHARE * moments:
            self._rest_until_ns = t_ns + REST_NS
        self.late = t_ns < self._rest_until_ns
        return n_kept

    def _choose_n_views(self, behind: bool, skips: bool, t_ns: int) -> None:
        """Read a view less while moments come faster than they are solved; a view more when they have not for a while."""
        if behind or skips:
            self._calm_ns = t_ns + WINDOW_NS
        if behind:
            self.n_views = max(self.n_views - 1, min(FEWEST_VIEWS, self._n_cameras))
        elif t_ns >= self._calm_ns and self.n_views < self._n_cameras:
            self.n_views, self._calm_ns = self.n_views + 1, t_ns + WINDOW_NS

    def _total(self, what: str) -> int:
        """Return a sum over the turns of the last second."""
        return sum(getattr(turn, what) for turn in self._turns)

    def words(self) -> str:
        """Return the changes, for the user."""
        if not self.late:
            return "frames are solved as fast as they come again; learning and watching go on"
        skipped = (
            f"{self._total('n_skipped')} of {self._total('n_moments')} moments of the last second were skipped for newer ones"
        )
        fewer = f", {n_fewer} were read from fewer cameras" if (n_fewer := self._total("n_fewer")) else ""
        return (
            f"frames come faster than they can be solved: {skipped}{fewer}; learning styles and watching the rig and the clocks "
            "rest meanwhile, and viewers show less"
        )
