"""Does a camera slip or sag? The distances of markers from their epipolar lines, compared between half minutes of a run."""

import numpy as np

BLOCK_NS = 30_000_000_000
DRIFT_PX = 1.3  # between the first half minute and two later ones in a row


class Drift:
    """Compares the medians of half minutes; pure, time is passed in. Tells once that they drift away."""

    def __init__(self) -> None:
        self._held: list[float] = []
        self._begun_ns = 0
        self._first_px: float | None = None
        self._last_px: float | None = None
        self._told = False

    def add(self, t_ns: int, offset_px: float) -> list[str]:
        """Take an offset, and give what is to be told."""
        if not self._held:
            self._begun_ns = t_ns
        self._held.append(offset_px)
        if t_ns - self._begun_ns < BLOCK_NS:
            return []
        block_px, self._held = float(np.median(self._held)), []
        if self._first_px is None:
            self._first_px = block_px
            return []
        last_px, self._last_px = self._last_px, block_px
        gone = [block_px - self._first_px, (last_px if last_px is not None else self._first_px) - self._first_px]
        if self._told or not (min(gone) > DRIFT_PX or max(gone) < -DRIFT_PX):
            return []
        self._told = True
        return [
            f"a camera seems to be slipping slowly: markers have drifted {abs(gone[0]):.1f} px from their epipolar lines "
            "since the start; fasten it, and calibrate again"
        ]
