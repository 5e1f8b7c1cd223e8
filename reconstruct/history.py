"""The last synthesized poses and what they predict for the next moment."""

from dataclasses import dataclass

import numpy as np

from database.rotations import Floats, matrix_from_rotvec, rotvec_from_matrix

MAX_RATIO = 3.0  # a gap in the frames must not be extrapolated further than this many steps


@dataclass(frozen=True, slots=True)
class Moment:
    """One synthesized pose: joints (J, 3) [rad] with row 0 unset; root rotation (3, 3), place (3,) [m]."""

    t_ns: int
    joints: Floats
    rotation: Floats
    position_m: Floats


@dataclass(frozen=True, slots=True)
class History:
    """The last two poses, newest first; either may be missing."""

    last: Moment | None = None
    before: Moment | None = None

    def then(self, moment: Moment) -> "History":
        """Give the history with one more pose."""
        return History(moment, self.last)

    def predict(self, t_ns: int, gain: float) -> Moment | None:
        """Continue at constant velocity: q = q_{t-1} + gain (q_{t-1} - q_{t-2}) (Chai & Hodgins 2005, eq. 2, gain 1).

        gain: share of the velocity kept; with uneven stamps the step is scaled by the ratio of the intervals.
        """
        if self.last is None:
            return None
        if self.before is None or self.last.t_ns <= self.before.t_ns:
            return Moment(t_ns, self.last.joints, self.last.rotation, self.last.position_m)
        ratio = (t_ns - self.last.t_ns) / (self.last.t_ns - self.before.t_ns)
        step = gain * float(np.clip(ratio, 0.0, MAX_RATIO))
        turn = rotvec_from_matrix(self.last.rotation @ self.before.rotation.T)
        return Moment(
            t_ns,
            self.last.joints + step * (self.last.joints - self.before.joints),
            matrix_from_rotvec(step * turn) @ self.last.rotation,
            self.last.position_m + step * (self.last.position_m - self.before.position_m),
        )
