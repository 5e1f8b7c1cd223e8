"""Which sights of both cameras are of one moment; a camera that sees nothing is part of a moment, too."""

from collections import deque
from dataclasses import dataclass

from capture.board_wire import Sight

MAX_WAITING = 16


@dataclass(frozen=True, slots=True)
class Moment:
    """What both cameras saw at one moment; right is None for a rig of one camera."""

    left: Sight
    right: Sight | None = None

    @property
    def sights(self) -> tuple[Sight, ...]:
        """Those there are, left first."""
        return (self.left,) if self.right is None else (self.left, self.right)

    @property
    def t_ns(self) -> int:
        """The later of the two stamps."""
        return max(sight.t_capture_ns for sight in self.sights)


class SightPairing:
    """Pair the sights of one camera or two by their stamps; time comes only from the stamps.

    budget_ns: how far apart two sights of one moment may be; looked at again where a camera tells another rate.
    """

    def __init__(self, n_cameras: int, budget_ns: int) -> None:
        self.budget_ns, self._n_cameras = budget_ns, n_cameras
        self._waiting: tuple[deque[Sight], deque[Sight]] = (deque(maxlen=MAX_WAITING), deque(maxlen=MAX_WAITING))

    def push(self, sight: Sight) -> Moment | None:
        """Take a sight, and give the moment it completes, if it does."""
        if self._n_cameras == 1:
            return Moment(sight)
        own, others = self._waiting[sight.camera], self._waiting[1 - sight.camera]
        while others and sight.t_capture_ns - others[0].t_capture_ns > self.budget_ns:
            others.popleft()  # older than anything this camera will ever send
        partner = min(others, key=lambda other: abs(other.t_capture_ns - sight.t_capture_ns), default=None)
        if partner is None or abs(partner.t_capture_ns - sight.t_capture_ns) > self.budget_ns:
            own.append(sight)
            return None
        while others.popleft() is not partner:
            pass
        own.clear()  # what waited before is older than this pair
        return Moment(sight, partner) if sight.camera == 0 else Moment(partner, sight)
