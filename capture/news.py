"""News in words that nobody is flooded with: the same news a few times a minute at most."""

from collections import deque

PERIOD_NS = 60_000_000_000
BURST = 3  # times a minute: a cable that is put back and pulled again is worth telling, one that wobbles for an hour is not
MAX_WAITING = 32


class News:
    """Collects news of one place until somebody fetches them; time is passed in.

    What is said by one thread may be fetched by another.
    """

    def __init__(self, burst: int = BURST) -> None:
        self._burst = burst
        self._told: dict[str, deque[int]] = {}
        self._held: dict[str, int] = {}
        self._waiting: deque[str] = deque(maxlen=MAX_WAITING)

    def say(self, key: str, text: str, t_ns: int) -> bool:
        """Tell something of the kind `key`, unless that kind was told too often lately; tells whether it was.

        What was kept back is counted, and the count comes with the next of its kind.
        """
        told = self._told.setdefault(key, deque(maxlen=self._burst))
        if len(told) == self._burst and t_ns - told[0] < PERIOD_NS:
            self._held[key] = self._held.get(key, 0) + 1
            return False
        told.append(t_ns)
        held = self._held.pop(key, 0)
        self._waiting.append(f"{text} (and {held} times more in between)" if held else text)
        return True

    def fetch(self) -> list[str]:
        """Give what was told since the last time."""
        texts = []
        while self._waiting:
            texts.append(self._waiting.popleft())
        return texts
