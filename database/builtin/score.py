"""A score: what a performer is to do, as smooth tracks of the body's angles, footsteps and leaps.

Motions append to one score, one after the other, so a performance has no seams that would need blending. Angles are in
radians; those of a limb are told as for the left side and mirrored for the right.
"""

from dataclasses import dataclass, field, fields
from typing import Final

import numpy as np
from numpy.typing import NDArray

from config.errors import DuocapError
from config.joints import JOINT_INDEX
from database.builtin.tracks import Track
from database.rotations import Floats
from database.skeleton import Skeleton

SIDES: Final = ("left", "right")
GRAVITY: Final = 9.81  # [m/s^2]
# flex: upper arm forward; abduct: to the side (pi/2 is the T-pose); twist: outward about itself; protract: shoulder
# forward; pronate: palm turned inward; reach: 1 where the hand goes to (x, y, z), metres of a 1.75 m body, chest frame.
ARM: Final = ("flex", "abduct", "twist", "elbow", "protract", "pronate", "wrist", "reach", "x", "y", "z")
# drop: pelvis lowered; ahead, aside: pelvis shifted, both in leg lengths; gait: how much arms and trunk follow the feet.
TRUNK: Final = (
    *("drop", "ahead", "aside", "pelvis_yaw", "pelvis_pitch", "pelvis_roll"),
    *("spine_yaw", "spine_pitch", "spine_roll", "head_yaw", "head_pitch", "head_roll", "gait", "elbow_swing"),
)
CHANNELS: Final = (*TRUNK, *(f"{side}.{channel}" for side in SIDES for channel in ARM))

HANGING: Final = {
    "flex": 0.0,
    "abduct": 0.12,
    "twist": 0.0,
    "elbow": 0.22,
    "protract": 0.0,
    "pronate": 0.2,
    "wrist": 0.0,
    "reach": 0.0,
}
LEVEL: Final = {
    "flex": 0.0,
    "abduct": np.pi / 2,
    "twist": 0.0,
    "elbow": 0.0,
    "protract": 0.0,
    "pronate": 0.0,
    "wrist": 0.0,
    "reach": 0.0,
}
UPRIGHT: Final = dict.fromkeys(TRUNK, 0.0)


@dataclass(frozen=True, slots=True)
class Style:
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


def style_from(parameters: dict[str, float]) -> Style:
    """Make a style; raises DuocapError: an unknown parameter or a value nobody moves with."""
    known = [field.name for field in fields(Style)]
    for key, value in parameters.items():
        if key not in known:
            raise DuocapError(f"a motion has no parameter {key!r}; known: {', '.join(known)}")
        low, high = STYLE_RANGES[key]
        if not low <= value <= high:
            raise DuocapError(f"{key} = {value:g} is out of range; give {low:g} to {high:g}")
    return Style(**parameters)


@dataclass(slots=True)
class Foot:
    """Where a foot goes: the ground point below its ankle (x, z) [m], yaw and pitch [rad] (heel up > 0), lift [m].

    swings: (take-off, landing) times; between them the foot stands still. flights: splines added to the lift, as `Score.hops`.
    """

    x: Track
    z: Track
    yaw: Track
    pitch: Track = field(default_factory=Track)
    lift: Track = field(default_factory=Track)
    swings: list[tuple[float, float]] = field(default_factory=list)
    flights: list[list[tuple[float, float, float, float]]] = field(default_factory=list)
    place: Floats = field(default_factory=lambda: np.zeros(3))  # x, z, yaw where it stands after the last step


class Score:
    """The growing plan of one performance; `time` is where the next motion begins."""

    __slots__ = ("feet", "hops", "leg_m", "next_side", "place", "rng", "seed", "size", "skeleton", "style", "time", "tracks")

    def __init__(self, skeleton: Skeleton, style: Style, seed: int) -> None:
        """Stand `skeleton` at the origin, facing +Z, arms hanging."""
        self.skeleton, self.style, self.seed = skeleton, style, seed
        self.rng = np.random.default_rng(seed)
        offsets = skeleton.offsets_m
        self.leg_m = sum(float(np.linalg.norm(offsets[JOINT_INDEX[joint]])) for joint in ("leftLowerLeg", "leftFoot"))
        self.size = self.leg_m / 0.86  # of the legs, relative to an adult of 1.75 m
        self.time = 0.0
        self.tracks = {channel: Track() for channel in CHANNELS}
        for side in SIDES:
            for channel, value in HANGING.items():
                self.tracks[f"{side}.{channel}"].start = value
        self.hops: list[list[tuple[float, float, float, float]]] = []
        self.place: NDArray[np.float64] = np.zeros(3)  # x, z, heading of the body
        self.next_side = "left" if self.rng.random() < 0.5 else "right"
        self.feet: dict[str, Foot] = {}
        for side in SIDES:
            x, z, yaw = self.footprint(side, self.place)
            self.feet[side] = Foot(Track(x), Track(z), Track(yaw), place=np.array((x, z, yaw)))

    def footprint(self, side: str, place: Floats, width: float = 1.0, ahead_m: float = 0.0) -> Floats:
        """Give a foot's standing place (x, z, yaw) for a body at `place` (x, z, heading); `width` 1 is below the hip."""
        sign = 1.0 if side == "left" else -1.0
        hip = abs(float(self.skeleton.offsets_m[JOINT_INDEX["leftUpperLeg"], 0]))
        return self.beside(place, sign * hip * width * self.style.width, ahead_m, sign * 0.09)

    @staticmethod
    def beside(place: Floats, left_m: float, ahead_m: float, yaw: float = 0.0) -> Floats:
        """Give the place `left_m` to the left and `ahead_m` ahead of a place (x, z, heading), turned by `yaw`."""
        sine, cosine = np.sin(place[2]), np.cos(place[2])
        return np.array(
            (place[0] + left_m * cosine + ahead_m * sine, place[1] - left_m * sine + ahead_m * cosine, place[2] + yaw)
        )

    def seconds(self, seconds: float) -> float:
        """Give a duration in the performer's own tempo, with some irregularity."""
        return seconds / self.style.speed * float(np.exp(0.06 * self.style.noise * self.rng.standard_normal()))

    def vary(self, value: float, share: float = 0.07) -> float:
        """Give a gesture's size in the performer's own style, with some irregularity."""
        return value * self.style.amplitude * (1.0 + share * self.style.noise * float(self.rng.standard_normal()))

    def move(self, seconds: float, delay: float = 0.0, **targets: float) -> None:
        """Draw channels of the trunk to targets over the next `seconds`; the cursor stays."""
        self._move("", seconds, delay, targets)

    def arm(self, side: str, seconds: float, delay: float = 0.0, **targets: float) -> None:
        """Draw channels of an arm ("left", "right" or "both") to targets over the next `seconds`; the cursor stays."""
        for name in SIDES if side == "both" else (side,):
            self._move(f"{name}.", seconds, delay, targets)

    def _move(self, prefix: str, seconds: float, delay: float, targets: dict[str, float]) -> None:
        """Append the moves of some channels."""
        start = self.time + delay
        for channel, target in targets.items():
            self.tracks[prefix + channel].moves.append((start, start + seconds, float(target)))

    def nod(self, channel: str, seconds: float, height: float, delay: float = 0.0) -> None:
        """Add a bump to a channel: there and back within `seconds`."""
        start = self.time + delay
        self.tracks[channel].bumps.append((start, start + seconds, height))

    def wait(self, seconds: float) -> None:
        """Go on to a later time."""
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
        """Swing a foot to `target` (x, z, yaw) from time `start` on.

        push_rad: pitch when the toes leave the ground; strike_rad: toes up when the heel lands.
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
        foot.place = np.array(target, float)

    def hold(
        self,
        side: str,
        start: float,
        seconds: float,
        place: Floats | None = None,
        lift_m: float | None = None,
        pitch_rad: float | None = None,
    ) -> None:
        """Draw a foot in the air to a place, a height, a pitch; the caller tells its swing to `airborne`."""
        foot = self.feet[side]
        wishes = [(foot.lift, lift_m), (foot.pitch, pitch_rad)]
        if place is not None:
            wishes += list(zip((foot.x, foot.z, foot.yaw), (float(value) for value in place), strict=True))
            foot.place = np.array(place, float)
        for track, value in wishes:
            if value is not None:
                track.moves.append((start, start + seconds, value))

    def fly(self, side: str, start: float, seconds: float) -> None:
        """Carry a foot up and down with a body in free flight."""
        speed = GRAVITY * seconds / 2.0
        self.feet[side].flights.append([(start, 0.0, speed, -GRAVITY), (start + seconds, 0.0, -speed, -GRAVITY)])

    def airborne(self, side: str, start: float, end: float) -> None:
        """Note that a foot held up was off the ground between two times."""
        self.feet[side].swings.append((start, end))
