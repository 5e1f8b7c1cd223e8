"""From the blobs of two free-running cameras to pairs of one moment: right stamps, pairing, and markers moved along their tracks.

Everything follows from the blobs in the order they came, so that what is recorded replays the same.
"""

from capture.packets import Blobs, PairedBlobs
from capture.pairing import Pairing, PairingCounts
from config.settings import TimeSettings


class Synchroniser:
    """Pair the blobs of two cameras and bring each pair to one moment; time comes only from the stamps.

    budget_ns: largest skew within a pair, about half the frame time of the slower camera.
    """

    def __init__(self, budget_ns: int, settings: TimeSettings) -> None:
        self._pairing, self._settings = Pairing(budget_ns), settings

    def pair_within(self, budget_ns: int) -> None:
        """Set the largest skew of a pair."""
        self._pairing.budget_ns = budget_ns

    @property
    def counts(self) -> PairingCounts:
        """Counts since the start."""
        return self._pairing.counts

    def push(self, blobs: Blobs) -> PairedBlobs | None:
        """Take one camera's blobs and give the pair they complete, if any."""
        return self._pairing.push(blobs)
