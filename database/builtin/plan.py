"""A motion plan: smooth tracks of the body's angles, footsteps and leaps, to which motions append one after the other.

So a performance has no seams that would need blending. Angles are in radians; those of a limb are given for the left side and
mirrored for the right. A place on the ground is a pose2d: x, z [m] and the heading or yaw [rad].
"""

import zlib
from dataclasses import dataclass, field, fields
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from config.arrays import Floats
from config.errors import DuocapError
from config.joints import JOINT_INDEX
from database.geometry.skeleton import Skeleton


def compute_minimum_jerk(phase: ArrayLike) -> Floats:
    """Return 10 s^3 - 15 s^4 + 6 s^5, from 0 to 1 with no velocity or acceleration at the ends (Flash & Hogan 1985, eq. 5)."""
    s = np.clip(np.asarray(phase, float), 0.0, 1.0)
    return np.asarray(s**3 * (10.0 + s * (6.0 * s - 15.0)))


def compute_bump(phase: ArrayLike) -> Floats:
    """Return 64 s^3 (1 - s)^3: 0 at both ends, 1 in the middle, no velocity or acceleration at the ends."""
    s = np.clip(np.asarray(phase, float), 0.0, 1.0)
    return np.asarray(64.0 * (s * (1.0 - s)) ** 3)


@dataclass(slots=True)
class KeyedValue:
    """One value over time: it starts at `start`; each move (t0, t1, target) leads from the value so far to its target.

    Moves may overlap and the value is still smooth: v <- v + s(t) (target - v). Bumps (t0, t1, height) are added.
    """

    start: float = 0.0
    moves: list[tuple[float, float, float]] = field(default_factory=list)
    bumps: list[tuple[float, float, float]] = field(default_factory=list)

    def sample(self, t: Floats) -> Floats:
        """Return the value at the ascending times `t`, (N,) [s] -> (N,)."""
        value = np.full(len(t), self.start)
        for t0, t1, target in self.moves:
            k = int(np.searchsorted(t, t0))
            value[k:] += compute_minimum_jerk((t[k:] - t0) / (t1 - t0)) * (target - value[k:])
        for t0, t1, height in self.bumps:
            i, k = np.searchsorted(t, (t0, t1))
            value[i:k] += height * compute_bump((t[i:k] - t0) / (t1 - t0))
        return value


def interpolate_hermite(keys: list[tuple[float, float, float, float]], t: Floats) -> Floats:
    """Return the quintic spline through keys (time, value, velocity, acceleration); 0 outside of them. (N,) -> (N,)."""
    from scipy.interpolate import BPoly  # takes half a second to import

    times = [key[0] for key in keys]
    inside = (t >= times[0]) & (t <= times[-1])
    value = np.zeros(len(t))
    value[inside] = BPoly.from_derivatives(times, [list(key[1:]) for key in keys])(t[inside])
    return value


def make_slow_noise(name: str, seed: int, t: Floats) -> Floats:
    """Return a smooth random value of unit deviation, (N,): six sines of 0.1 to 0.9 Hz.

    Args:
        name: of the value; another name gives another one.
        seed: of what is random.
        t: times, (N,) [s].
    """
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    hertz, phase = rng.uniform(0.1, 0.9, 6), rng.uniform(0.0, 2.0 * np.pi, 6)
    return np.asarray(np.sin(2.0 * np.pi * hertz * t[:, None] + phase).sum(axis=1) / np.sqrt(3.0))


SIDES: Final = ("left", "right")
GRAVITY: Final = 9.81  # [m/s^2]
# flex: upper arm forward; abduct: to the side (pi/2 is the T-pose); twist: outward about itself; protract: shoulder
# forward; pronate: palm turned inward; reach: 1 where the hand goes to (x, y, z), metres of a 1.75 m body, chest frame.
ARM: Final = ("flex", "abduct", "twist", "elbow", "protract", "pronate", "wrist", "reach", "x", "y", "z")
# drop: pelvis lowered; ahead, aside: pelvis shifted, in leg lengths; gait: how much arms and trunk follow the feet.
TRUNK: Final = (
    *("drop", "ahead", "aside", "pelvis_yaw", "pelvis_pitch", "pelvis_roll"),
    *("spine_yaw", "spine_pitch", "spine_roll", "head_yaw", "head_pitch", "head_roll", "gait", "elbow_swing"),
)
CHANNELS: Final = (*TRUNK, *(f"{side}.{channel}" for side in SIDES for channel in ARM))

STRAIGHT: Final = dict.fromkeys(ARM[:8], 0.0)
HANGING: Final = {**STRAIGHT, "abduct": 0.12, "elbow": 0.22, "pronate": 0.2}
LEVEL: Final = {**STRAIGHT, "abduct": np.pi / 2}
UPRIGHT: Final = dict.fromkeys(TRUNK, 0.0)


@dataclass(frozen=True, slots=True)
class MovementStyle:
    """How a performer moves; 1 is usual.

    speed: rate of every motion, amplitude: size of gestures and strides, bounce: knees and pelvis, arm_swing: in gait;
    width: of the stance; lean_rad: of the trunk forward; noise: sway and irregularity; turn_rad: added per step of gait.
    """

    speed: float = 1.0
    amplitude: float = 1.0
    bounce: float = 1.0
    arm_swing: float = 1.0
    width: float = 1.0
    lean_rad: float = 0.0
    noise: float = 1.0
    turn_rad: float = 0.0


STYLE_RANGES: Final = {
    **{"speed": (0.4, 2.0), "amplitude": (0.3, 1.6), "bounce": (0.0, 2.0), "arm_swing": (0.0, 2.5), "width": (0.5, 2.0)},
    **{"lean_rad": (-0.2, 0.4), "noise": (0.0, 3.0), "turn_rad": (-0.9, 0.9)},
}


def style_from_parameters(parameters: dict[str, float]) -> MovementStyle:
    """Return a style. Raises DuocapError: an unknown parameter or a value out of range."""
    known = [field.name for field in fields(MovementStyle)]
    for key, value in parameters.items():
        if key not in known:
            raise DuocapError(f"a motion has no parameter {key!r}; known: {', '.join(known)}")
        low, high = STYLE_RANGES[key]
        if not low <= value <= high:
            raise DuocapError(f"{key} = {value:g} is out of range; give {low:g} to {high:g}")
    return MovementStyle(**parameters)


@dataclass(slots=True)
class Foot:
    """Motion of a foot: the ground point below its ankle (x, z) [m], yaw and pitch [rad] (heel up > 0), lift [m].

    swings: (take-off, landing) times; between them the foot stands. flights: splines added to the lift, as `MotionPlan.hops`;
    pose2d: where it stands after the last step.
    """

    x: KeyedValue
    z: KeyedValue
    yaw: KeyedValue
    pitch: KeyedValue = field(default_factory=KeyedValue)
    lift: KeyedValue = field(default_factory=KeyedValue)
    swings: list[tuple[float, float]] = field(default_factory=list)
    flights: list[list[tuple[float, float, float, float]]] = field(default_factory=list)
    pose2d: Floats = field(default_factory=lambda: np.zeros(3))


class MotionPlan:
    """The plan of one performance.

    time: where the next motion begins [s]; tracks: by channel; feet: by side; hops: splines (time, value, velocity, acceleration)
    added to the height of the pelvis; pose2d: of the body; next_side: of the next step.
    """

    __slots__ = ("feet", "hops", "leg_m", "next_side", "pose2d", "rng", "seed", "size", "skeleton", "style", "time", "tracks")

    def __init__(self, skeleton: Skeleton, style: MovementStyle, seed: int) -> None:
        """Begin with `skeleton` standing at the origin, facing +Z, arms hanging."""
        self.skeleton, self.style, self.seed = skeleton, style, seed
        self.rng = np.random.default_rng(seed)
        offsets = skeleton.offsets_m
        self.leg_m = sum(float(np.linalg.norm(offsets[JOINT_INDEX[joint]])) for joint in ("leftLowerLeg", "leftFoot"))
        self.size = self.leg_m / 0.86  # of the legs, relative to an adult of 1.75 m
        self.time = 0.0
        self.tracks = {channel: KeyedValue() for channel in CHANNELS}
        for side in SIDES:
            for channel, value in HANGING.items():
                self.tracks[f"{side}.{channel}"].start = value
        self.hops: list[list[tuple[float, float, float, float]]] = []
        self.pose2d: NDArray[np.float64] = np.zeros(3)
        self.next_side = "left" if self.rng.random() < 0.5 else "right"
        self.feet: dict[str, Foot] = {}
        for side in SIDES:
            x, z, yaw = self.footprint(side, self.pose2d)
            self.feet[side] = Foot(KeyedValue(x), KeyedValue(z), KeyedValue(yaw), pose2d=np.array((x, z, yaw)))

    def footprint(self, side: str, pose2d: Floats, width: float = 1.0, ahead_m: float = 0.0) -> Floats:
        """Return where a foot stands, (3,).

        Args:
            side: `left` or `right`.
            pose2d: of the body, (3,).
            width: of the stance; 1 is below the hip.
            ahead_m: of the body.
        """
        sign = 1.0 if side == "left" else -1.0
        hip = abs(float(self.skeleton.offsets_m[JOINT_INDEX["leftUpperLeg"], 0]))
        return self.offset_pose(pose2d, sign * hip * width * self.style.width, ahead_m, sign * 0.09)

    @staticmethod
    def offset_pose(pose2d: Floats, left_m: float, ahead_m: float, yaw: float = 0.0) -> Floats:
        """Return a pose2d beside another, (3,).

        Args:
            pose2d: the other, (3,).
            left_m: to its left.
            ahead_m: ahead of it.
            yaw: rotation relative to it [rad].
        """
        sine, cosine = np.sin(pose2d[2]), np.cos(pose2d[2])
        return np.array(
            (pose2d[0] + left_m * cosine + ahead_m * sine, pose2d[1] - left_m * sine + ahead_m * cosine, pose2d[2] + yaw)
        )

    def seconds(self, seconds: float) -> float:
        """Return a duration at the performer's own speed, with random variation."""
        return seconds / self.style.speed * float(np.exp(0.06 * self.style.noise * self.rng.standard_normal()))

    def vary(self, value: float, share: float = 0.07) -> float:
        """Return a size in the performer's own amplitude, with random variation."""
        return value * self.style.amplitude * (1.0 + share * self.style.noise * float(self.rng.standard_normal()))

    def move(self, seconds: float, delay: float = 0.0, **targets: float) -> None:
        """Move channels of the trunk to targets over the next `seconds`; `time` stays."""
        self._move("", seconds, delay, targets)

    def arm(self, side: str, seconds: float, delay: float = 0.0, **targets: float) -> None:
        """Move channels of an arm to targets; `time` stays.

        Args:
            side: `left`, `right` or `both`.
            seconds: duration.
            delay: by which it begins later [s].
        """
        for name in SIDES if side == "both" else (side,):
            self._move(f"{name}.", seconds, delay, targets)

    def _move(self, prefix: str, seconds: float, delay: float, targets: dict[str, float]) -> None:
        """Append moves of some channels."""
        start = self.time + delay
        for channel, target in targets.items():
            self.tracks[prefix + channel].moves.append((start, start + seconds, float(target)))

    def add_bump(self, channel: str, seconds: float, height: float) -> None:
        """Add a bump to a channel: there and back.

        Args:
            channel: its name.
            seconds: duration.
            height: of the bump.
        """
        self.tracks[channel].bumps.append((self.time, self.time + seconds, height))

    def wait(self, seconds: float) -> None:
        """Advance `time`."""
        self.time += seconds

    def step(
        self,
        side: str,
        target: Floats,
        start: float,
        seconds: float,
        lift_m: float,
        push_rad: float = 0.25,
        strike_rad: float = 0.0,
    ) -> None:
        """Swing a foot to a new place.

        Args:
            side: `left` or `right`.
            target: where it lands, pose2d (3,).
            start: when it takes off [s].
            seconds: duration.
            lift_m: height of the foot.
            push_rad: pitch when the toes leave the ground.
            strike_rad: toes up when the heel lands.
        """
        foot = self.feet[side]
        end, rise = start + seconds, min(0.3, 0.55 * seconds)
        for track, value in zip((foot.x, foot.z, foot.yaw), target, strict=True):
            track.moves.append((start, end, float(value)))
        foot.lift.bumps.append((start, end, lift_m))
        foot.pitch.moves.append((start - rise, start + 0.15 * seconds, push_rad))
        foot.pitch.moves.append((start + 0.15 * seconds, end, -strike_rad))
        foot.pitch.moves.append((end, end + 0.12, 0.0))
        foot.swings.append((start, end))
        foot.pose2d = np.array(target, float)

    def move_foot(
        self,
        side: str,
        start: float,
        seconds: float,
        pose2d: Floats | None = None,
        lift_m: float | None = None,
        pitch_rad: float | None = None,
    ) -> None:
        """Move a foot in the air; the caller adds its swing.

        Args:
            side: `left` or `right`.
            start: when it begins [s].
            seconds: duration.
            pose2d: where to, (3,); None: it stays.
            lift_m: height; None: it stays.
            pitch_rad: pitch; None: it stays.
        """
        foot = self.feet[side]
        targets = [(foot.lift, lift_m), (foot.pitch, pitch_rad)]
        if pose2d is not None:
            targets += list(zip((foot.x, foot.z, foot.yaw), (float(value) for value in pose2d), strict=True))
            foot.pose2d = np.array(pose2d, float)
        for track, value in targets:
            if value is not None:
                track.moves.append((start, start + seconds, value))

    def fly(self, side: str, start: float, seconds: float) -> None:
        """Move a foot up and down with a body in free flight.

        Args:
            side: `left` or `right`.
            start: when it begins [s].
            seconds: duration.
        """
        speed = GRAVITY * seconds / 2.0
        self.feet[side].flights.append([(start, 0.0, speed, -GRAVITY), (start + seconds, 0.0, -speed, -GRAVITY)])
