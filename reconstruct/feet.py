"""Keep feet that touch the ground from sliding, frame by frame and without delay.

Ankle and ball of a foot in contact are points that stand still, seen with noise: each has an anchor, the mean of where the pose
had it since it touched down, as a Kalman filter of a nearly constant point gives it. The foot is drawn to its anchors while the
contact lasts; how far fades in and out over `blend_s`, so that nothing jumps, and no farther than a limit: a marker on the foot
is believed more than an anchor. Then hip, knee and ankle are turned as little as that takes (`reconstruct.feet_leg`).
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from config.joints import JOINT_INDEX
from config.settings import FeetSettings
from database.contacts import CONTACT_INDEX
from database.kinematics import forward
from database.rotations import Floats
from database.skeleton import Skeleton
from reconstruct.contacts import N_POINTS, Bools, Track, contact_probability, over_floor_m, touching, tracked
from reconstruct.feet_leg import LEGS, leg_to

MAX_GAP_S = 0.25  # after a longer pause nothing that was held means anything
JUMP_M = 0.3  # a pose that puts a foot this far from its anchor is another pose
NOTHING_M = 1e-5  # corrections below are none
BALL_M = 0.035  # height of the ball of a standing foot, as skeletons have it
FOOT_JOINTS = np.array([[JOINT_INDEX[side + "Foot"], JOINT_INDEX[side + "Toes"]] for side in ("left", "right")], np.int64)
_PAIR = np.array([1, 0, 3, 2])  # the other point of the same foot


@dataclass(frozen=True, slots=True)
class Floor:
    """Where the ground is: unit normal up (3,), and height [m] along it of the balls of standing feet."""

    up: Floats
    height_m: float


def known_floor() -> Floor:
    """Give the floor of a rig whose floor is known: Y up, at 0."""
    return Floor(np.array([0.0, 1.0, 0.0]), BALL_M)


@dataclass(frozen=True, slots=True)
class FeetState:
    """What is remembered of ankles and balls of the feet, columns as `database.contacts.CONTACT_JOINTS`.

    track: their places and speeds; touching: (4,) bool; anchor_m: where each is held, (4, 3) world; variance_m2: of the
    anchors, (4,); hold: how far each is held, 0..1, (4,); limit_m: farthest each is held from the pose, (4,).
    """

    track: Track
    touching: Bools
    anchor_m: Floats
    variance_m2: Floats
    hold: Floats
    limit_m: Floats


@dataclass(frozen=True, slots=True)
class FeetStep:
    """One frame's result: rotvec (J, 3) [rad], touching (4,) bool and probability (4,) of contact, as `CONTACT_JOINTS`."""

    rotvec: Floats
    touching: Bools
    probability: Floats


class FeetLock:
    """The feet of one performer, frame after frame.

    floor: where it is known; without, speeds and neighbours decide.
    """

    def __init__(self, skeleton: Skeleton, settings: FeetSettings, floor: Floor | None = None) -> None:
        self.floor = floor
        self._skeleton = skeleton
        self._settings = settings
        self._state: FeetState | None = None
        self._t_ns: int | None = None

    def forget(self) -> None:
        """Start anew, as with the first frame; after a loss."""
        self._state = self._t_ns = None

    def step(self, t_ns: int, rotvec: Floats, root_m: Floats, share: Floats, measured: Bools) -> FeetStep:
        """Tell contacts and hold the feet of one pose.

        rotvec: charted, (J, 3) [rad], row 0 the root's orientation; root_m: (3,) [m]; share: of the neighbours in contact, (4,),
        NaN if unknown; measured: a marker of the left, right foot is in sight, (2,). A pose with NaN comes back as it is.
        """
        G, p = forward(self._skeleton, rotvec, root_m)
        points_m = p[CONTACT_INDEX]
        if not (np.isfinite(points_m).all() and np.isfinite(rotvec).all()):
            self.forget()
            return FeetStep(rotvec, np.zeros(N_POINTS, bool), np.zeros(N_POINTS))
        dt_s = 0.0 if self._t_ns is None else (t_ns - self._t_ns) * 1e-9
        before = self._state if 0.0 < dt_s <= MAX_GAP_S else None
        state, probability = self._contacts(before, points_m, dt_s, share)
        state = held(state, points_m, np.repeat(measured, 2), dt_s, self._settings)
        self._state, self._t_ns = state, t_ns
        if not self._settings.lock:
            return FeetStep(rotvec, state.touching, probability)
        shift = corrections_m(state, points_m)
        return FeetStep(with_feet_at(self._skeleton, rotvec, (G[0], p[0]), points_m, shift), state.touching, probability)

    def _contacts(self, before: FeetState | None, points_m: Floats, dt_s: float, share: Floats) -> tuple[FeetState, Floats]:
        """Follow the feet's places and tell contacts."""
        s = self._settings
        if before is None:
            before = fresh(points_m, s)
        track = tracked(before.track, points_m, dt_s)
        over = None
        if self.floor is not None:
            rise = -self._skeleton.offsets_m[FOOT_JOINTS[:, 1], 1]
            over = over_floor_m(points_m, self.floor.up, self.floor.height_m, rise)
        probability = contact_probability(share, track.speed_m_s, over)
        return replace(before, track=track, touching=touching(before.touching, probability, s)), probability


def fresh(points_m: Floats, settings: FeetSettings) -> FeetState:
    """Give the state before the first frame: nothing touches, nothing is held."""
    variance = np.full(N_POINTS, settings.sigma_m**2)
    track = Track(points_m.copy(), np.zeros((N_POINTS, 3)))
    limit = np.full(N_POINTS, settings.limit_m)
    return FeetState(track, np.zeros(N_POINTS, bool), points_m.copy(), variance, np.zeros(N_POINTS), limit)


def held(state: FeetState, points_m: Floats, measured: Bools, dt_s: float, settings: FeetSettings) -> FeetState:
    """Move anchors and fade holds by one frame: points_m (4, 3) [m] as the pose has them, measured (4,).

    An anchor x with variance P of a point seen at z with variance R: x += P / (P + R) (z - x), P -> P R / (P + R) + Q dt.
    """
    s = settings
    fade = min(dt_s / s.blend_s, 1.0) if s.blend_s > 0.0 else 1.0
    R = np.where(measured, s.measured_sigma_m, s.sigma_m) ** 2
    free = state.hold <= 0.0
    gain = np.where(free, 1.0, state.variance_m2 / (state.variance_m2 + R))
    anchor = state.anchor_m + gain[:, None] * (points_m - state.anchor_m)
    variance = np.where(free, R, (1.0 - gain) * state.variance_m2 + s.slip_m**2 * dt_s)
    # A limit that sprang back with the first sight of a marker would make the foot jump.
    aim = np.where(measured, s.measured_limit_m, s.limit_m)
    limit = state.limit_m + fade * (aim - state.limit_m)
    drift = state.track.place_m - anchor
    distance = np.sqrt((drift**2).sum(axis=1))
    leash = np.where(state.touching, 1.0, state.hold) * limit
    anchor = anchor + (np.maximum(1.0 - leash / np.maximum(distance, 1e-12), 0.0))[:, None] * drift
    lost = np.sqrt(((points_m - anchor) ** 2).sum(axis=1)) > JUMP_M
    anchor = np.where(lost[:, None], points_m, anchor)
    hold = np.clip(state.hold + np.where(state.touching, fade, -fade), 0.0, 1.0)
    hold = np.where(lost, 0.0, hold)
    return replace(state, anchor_m=anchor, variance_m2=variance, hold=hold, limit_m=limit)


def corrections_m(state: FeetState, points_m: Floats) -> Floats:
    """Give how far each point is moved, (4, 3) [m]: by its own anchor, and as much as it is free, with the other of its foot.

    Ankle and ball keep their distance: asked for a shorter foot, the leg would tip it up.
    """
    hold = (state.hold**2 * (3.0 - 2.0 * state.hold))[:, None]  # smooth at both ends
    own = hold * (state.anchor_m - points_m)
    target = (points_m + own + (1.0 - hold) * own[_PAIR]).reshape(2, 2, 3)
    foot, was = target[:, 1] - target[:, 0], points_m[1::2] - points_m[::2]
    length, true_length = (np.sqrt((way**2).sum(axis=1)) for way in (foot, was))
    stretch = 0.5 * (true_length / np.maximum(length, 1e-9) - 1.0)[:, None] * foot
    return np.asarray(np.stack([target[:, 0] - stretch, target[:, 1] + stretch], axis=1).reshape(4, 3) - points_m)


def with_feet_at(
    skeleton: Skeleton, rotvec: Floats, hips: tuple[Floats, Floats], points_m: Floats, shift_m: Floats
) -> NDArray[np.float64]:
    """Give a pose whose ankles and balls of the feet are moved by shift_m, (4, 3) [m], as far as the legs go; (J, 3) [rad]."""
    result = rotvec
    for side, leg in enumerate(LEGS):
        part = slice(2 * side, 2 * side + 2)
        if np.abs(shift_m[part]).max() < NOTHING_M:
            continue
        if result is rotvec:
            result = rotvec.copy()
        result[leg[:3]] = leg_to(skeleton, rotvec, hips, side, points_m[part] + shift_m[part])
    return result
