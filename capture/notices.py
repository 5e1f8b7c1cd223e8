"""Notices for the user, each kind a few times a minute at most."""

from collections import deque

from config.words import format_count

PERIOD_NS = 60_000_000_000
BURST = 3  # times a minute: a cable pulled twice is worth two notices, one that wobbles for an hour is not worth a thousand
MAX_WAITING = 32


class NoticeLog:
    """Collects notices until they are fetched, from any thread; time is passed in."""

    def __init__(self) -> None:
        self._times_ns: dict[str, deque[int]] = {}
        self._n_suppressed: dict[str, int] = {}
        self._waiting: deque[str] = deque(maxlen=MAX_WAITING)

    def add(self, key: str, text: str, t_ns: int) -> bool:
        """Add a notice, unless there were too many of its kind lately; return whether it was added.

        The number of suppressed notices comes with the next of their kind.

        Args:
            key: kind of the notice.
            text: for the user.
        """
        times_ns = self._times_ns.setdefault(key, deque(maxlen=BURST))
        if len(times_ns) == BURST and t_ns - times_ns[0] < PERIOD_NS:
            self._n_suppressed[key] = self._n_suppressed.get(key, 0) + 1
            return False
        times_ns.append(t_ns)
        n_suppressed = self._n_suppressed.pop(key, 0)
        self._waiting.append(f"{text} (and {format_count(n_suppressed, 'time')} more in between)" if n_suppressed else text)
        return True

    def fetch(self) -> list[str]:
        """Return the notices since the last call."""
        texts = []
        while self._waiting:
            texts.append(self._waiting.popleft())
        return texts
