"""Constant velocity: what the last two poses say of the next, for the methods that others are compared with."""

from dataclasses import dataclass

from config.arrays import Floats
from database.geometry.rotations import matrix_from_rotvec, rotvec_between
from reconstruct.body_state import BodyState
from reconstruct.finish.prediction import MAX_AHEAD_S

VELOCITY_SHARE, VELOCITY_GAIN = 0.5, 0.9  # of the newest difference in the velocity, and of that in the prediction


@dataclass(frozen=True, slots=True)
class BodyVelocity:
    """Change a second: joints (J, 3) [rad/s], turn about the world's axes (3,) [rad/s], place (3,) [m/s]."""

    joints: Floats
    turn: Floats
    position: Floats

    def towards(self, other: "BodyVelocity", share: float) -> "BodyVelocity":
        """Go a part of the way to another velocity."""
        return BodyVelocity(
            self.joints + share * (other.joints - self.joints),
            self.turn + share * (other.turn - self.turn),
            self.position + share * (other.position - self.position),
        )


def velocity_between(before: BodyState, last: BodyState) -> BodyVelocity:
    """Return the mean velocity from one pose to a later one."""
    seconds = (last.t_ns - before.t_ns) * 1e-9
    turn = rotvec_between(before.rotation, last.rotation)
    return BodyVelocity((last.joints - before.joints) / seconds, turn / seconds, (last.position_m - before.position_m) / seconds)


@dataclass(frozen=True, slots=True)
class MotionHistory:
    """The last pose and the velocity it was reached with; either may be missing."""

    last: BodyState | None = None
    velocity: BodyVelocity | None = None

    def then(self, moment: BodyState, share: float = 1.0) -> "MotionHistory":
        """Return the history with one more pose.

        share: weight of the newest difference in the velocity; 1 is the paper's q_{t-1} - q_{t-2}, less smooths noise.
        """
        if self.last is None or moment.t_ns <= self.last.t_ns:
            return MotionHistory(moment, self.velocity)
        newest = velocity_between(self.last, moment)
        return MotionHistory(moment, newest if self.velocity is None else self.velocity.towards(newest, share))

    def predict(self, t_ns: int, gain: float = 1.0) -> BodyState | None:
        """Continue at constant velocity: q = q_{t-1} + gain (q_{t-1} - q_{t-2}) (Chai & Hodgins 2005, eq. 2, gain 1)."""
        if self.last is None:
            return None
        if self.velocity is None:
            return BodyState(t_ns, self.last.joints, self.last.rotation, self.last.position_m)
        seconds = gain * min(max((t_ns - self.last.t_ns) * 1e-9, 0.0), MAX_AHEAD_S)
        return BodyState(
            t_ns,
            self.last.joints + seconds * self.velocity.joints,
            matrix_from_rotvec(seconds * self.velocity.turn) @ self.last.rotation,
            self.last.position_m + seconds * self.velocity.position,
        )
