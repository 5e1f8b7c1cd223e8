"""Time pairing of two free-running cameras: nearest stamp within a budget, each frame once, never going back.

With equal frame rates and a budget of half a frame time no later frame can be nearer than the one that waits, so a
pair leaves as soon as its second half arrives and pairing adds no latency.
"""

from collections import deque
from dataclasses import dataclass

from capture.packets import Blobs, PairedBlobs

# Half a second at 60 Hz: when a packet of a camera on another machine is lost, its frames come that late, all at once.
MAX_WAITING = 32


@dataclass(frozen=True, slots=True)
class PairingCounts:
    """What became of the frames of (left, right): received = 2 * pairs in all + late + unpaired + still waiting."""

    pairs: int
    late: tuple[int, int]
    unpaired: tuple[int, int]


class Pairing:
    """Pair the blobs of two cameras by their stamps; time comes only from the stamps.

    budget_ns: largest skew within a pair, about half the frame time of the slower camera.
    """

    def __init__(self, budget_ns: int) -> None:
        self.budget_ns = budget_ns
        self._waiting: tuple[deque[Blobs], deque[Blobs]] = (deque(), deque())
        self._newest_ns = [-1, -1]
        self._pairs = 0
        self._late = [0, 0]
        self._unpaired = [0, 0]

    @property
    def counts(self) -> PairingCounts:
        """Counts since the start."""
        return PairingCounts(self._pairs, (self._late[0], self._late[1]), (self._unpaired[0], self._unpaired[1]))

    @property
    def n_waiting(self) -> tuple[int, int]:
        """How many frames of each camera wait for a partner."""
        return len(self._waiting[0]), len(self._waiting[1])

    def push(self, blobs: Blobs) -> PairedBlobs | None:
        """Take one camera's blobs and give the pair they complete, if any.

        A frame not newer than the newest of its camera is late: dropped and counted. A frame older than a paired one, or too
        long without a partner, is dropped as unpaired.
        """
        camera = blobs.camera
        if blobs.t_capture_ns <= self._newest_ns[camera]:
            self._late[camera] += 1
            return None
        self._newest_ns[camera] = blobs.t_capture_ns
        partner = self._nearest(self._waiting[1 - camera], blobs.t_capture_ns)
        if partner is None:
            self._wait(blobs)
            return None
        self._pairs += 1
        self._forget(camera, len(self._waiting[camera]))
        self._forget_older(1 - camera, partner)
        return PairedBlobs(blobs, partner) if camera == 0 else PairedBlobs(partner, blobs)

    def restart(self, camera: int) -> None:
        """Take a camera's frames from the next one on, whatever its stamp: its clock has gone back."""
        self._forget(camera, len(self._waiting[camera]))
        self._newest_ns[camera] = -1

    def _nearest(self, waiting: deque[Blobs], t_ns: int) -> Blobs | None:
        """Give the waiting frame nearest in time within the budget; the earlier one of two equally near."""
        best = min(waiting, key=lambda other: abs(other.t_capture_ns - t_ns), default=None)
        return best if best is not None and abs(best.t_capture_ns - t_ns) <= self.budget_ns else None

    def _wait(self, blobs: Blobs) -> None:
        """Let a frame wait for its partner, pushing out the oldest when the line is full."""
        waiting = self._waiting[blobs.camera]
        if len(waiting) == MAX_WAITING:
            self._forget(blobs.camera, 1)
        waiting.append(blobs)

    def _forget(self, camera: int, n: int) -> None:
        """Drop the n oldest waiting frames of a camera as unpaired."""
        for _ in range(n):
            self._waiting[camera].popleft()
        self._unpaired[camera] += n

    def _forget_older(self, camera: int, partner: Blobs) -> None:
        """Drop what waited before `partner` as unpaired, and `partner` itself as used."""
        waiting = self._waiting[camera]
        while waiting[0] is not partner:
            self._forget(camera, 1)
        waiting.popleft()
