"""Keep feet that touch the ground from sliding, frame by frame and without delay.

Ankle and ball of a foot in contact are points at rest, seen with noise: each has an anchor, the mean of where the pose had it
since it touched down, as a Kalman filter of a nearly constant point gives it. The foot is drawn to its anchors during the
contact. The strength rises and falls over `blend_s`, so that nothing jumps, and the distance is limited: a marker on the foot
counts more than an anchor. Then hip, knee and ankle are rotated as little as that takes (`reconstruct.finish.leg`).
"""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from config.arrays import Bools, Floats, is_all_finite, make_read_only
from config.jit import kernel
from config.joints import JOINT_INDEX
from config.settings import FeetSettings
from database.contacts import CONTACT_INDEX
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.skeleton import Skeleton
from reconstruct.finish.contacts import (
    N_POINTS,
    FootMotion,
    compute_contact_probability,
    compute_floor_heights_m,
    follow_points,
    update_contacts,
)
from reconstruct.finish.leg import LEGS, solve_leg

MAX_GAP_S = 0.25  # after a longer pause the anchors mean nothing
JUMP_M = 0.3  # a pose that puts a foot this far from its anchor is another pose
MIN_SHIFT_M = 1e-5
FOOT_JOINTS = np.array([[JOINT_INDEX[side + "Foot"], JOINT_INDEX[side + "Toes"]] for side in ("left", "right")], np.int64)


@dataclass(frozen=True, slots=True)
class FeetState:
    """State of the ankles and balls of the feet, rows as `database.contacts.CONTACT_JOINTS`.

    Attributes:
        motion: positions and speeds of ankles and balls.
        contact: whether each point is in contact, (4,).
        anchor_m: places that the points are held at, (4, 3) [m] world.
        variance_m2: variances of the anchors, (4,) [m^2].
        strength: strength of each anchor, from 0 to 1, (4,).
        limit_m: greatest distance of each point from its place in the pose, (4,) [m].
    """

    motion: FootMotion
    contact: Bools
    anchor_m: Floats
    variance_m2: Floats
    strength: Floats
    limit_m: Floats


@dataclass(frozen=True, slots=True)
class FeetStep:
    """Result of one frame: rotvec (J, 3) [rad], contact (4,) bool and its probability (4,), as `CONTACT_JOINTS`."""

    rotvec: Floats
    contact: Bools
    probability: Floats


class FeetLock:
    """The feet of one performer, frame after frame.

    ball_m: height of the ball of a standing foot [m]; None: speeds and neighbours alone decide.
    """

    def __init__(self, skeleton: Skeleton, settings: FeetSettings, ball_m: float | None = None) -> None:
        self._ball_m = ball_m
        self._skeleton = skeleton
        self._settings = settings
        self._state: FeetState | None = None
        self._t_ns: int | None = None

    def forget(self) -> None:
        """Start again, as with the first frame; after a loss."""
        self._state = self._t_ns = None

    def step(self, t_ns: int, rotvec: Floats, root_m: Floats, share: Floats, measured: Bools) -> FeetStep:
        """Find the contacts of one pose and hold its feet.

        A pose with NaN is returned as it is.

        Args:
            t_ns: time of the frame [ns].
            rotvec: charted, (J, 3) [rad], row 0 the root's orientation.
            root_m: (3,) [m].
            share: share of the neighbours in contact, (4,), NaN if unknown.
            measured: whether a marker of the left, right foot is seen, (2,).
        """
        G, p = compute_forward_kinematics(self._skeleton, rotvec, root_m)
        points_m = p[CONTACT_INDEX]
        if not (is_all_finite(points_m) and is_all_finite(rotvec)):
            self.forget()
            return FeetStep(rotvec, np.zeros(N_POINTS, bool), np.zeros(N_POINTS))
        dt_s = 0.0 if self._t_ns is None else (t_ns - self._t_ns) * 1e-9
        before = self._state if 0.0 < dt_s <= MAX_GAP_S else None
        state, probability = self._contacts(before, points_m, dt_s, share)
        state = update_anchors(state, points_m, np.repeat(measured, 2), dt_s, self._settings)
        self._state, self._t_ns = state, t_ns
        if not self._settings.lock:
            return FeetStep(rotvec, state.contact, probability)
        shift_m = compute_corrections_m(state, points_m)
        return FeetStep(_move_feet(self._skeleton, rotvec, G[0], p[0], points_m, shift_m), state.contact, probability)

    def _contacts(self, before: FeetState | None, points_m: Floats, dt_s: float, share: Floats) -> tuple[FeetState, Floats]:
        """Return the state with the new contacts, and their probability."""
        s = self._settings
        if before is None:
            before = build_initial_state(points_m, s)
        motion = follow_points(before.motion, points_m, dt_s)
        height_m = None
        if self._ball_m is not None:
            ball_to_ankle_m = -self._skeleton.offsets_m[FOOT_JOINTS[:, 1], 1]
            height_m = compute_floor_heights_m(points_m, self._ball_m, ball_to_ankle_m)
        probability = compute_contact_probability(share, motion.speed_m_s, height_m)
        contact = update_contacts(before.contact, probability, s)
        return replace(before, motion=motion, contact=contact), probability


def build_initial_state(points_m: Floats, settings: FeetSettings) -> FeetState:
    """Return the state before the first frame: no contact, no anchor."""
    variance = np.full(N_POINTS, settings.sigma_m**2)
    motion = FootMotion(points_m.copy(), np.zeros((N_POINTS, 3)))
    limit = np.full(N_POINTS, settings.limit_m)
    return FeetState(motion, np.zeros(N_POINTS, bool), points_m.copy(), variance, np.zeros(N_POINTS), limit)


def update_anchors(state: FeetState, points_m: Floats, measured: Bools, dt_s: float, settings: FeetSettings) -> FeetState:
    """Update anchors and their strengths by one frame.

    An anchor x with variance P of a point seen at z with variance R: x += P / (P + R) (z - x), P -> P R / (P + R) + Q dt.

    Args:
        state: anchors of the frame before.
        points_m: points of the pose, (4, 3) [m].
        measured: whether a marker of the point's foot is seen, (4,).
        dt_s: time since the frame before [s].
        settings: thresholds of contacts.
    """
    s = settings
    fade = min(dt_s / s.blend_s, 1.0) if s.blend_s > 0.0 else 1.0
    sigma_m = np.where(measured, s.measured_sigma_m, s.sigma_m)
    # A limit that changed at once when a marker is first seen would make the foot jump.
    limit_m = state.limit_m + fade * (np.where(measured, s.measured_limit_m, s.limit_m) - state.limit_m)
    anchors = Anchors(state.anchor_m.copy(), state.variance_m2.copy(), state.strength.copy(), limit_m)
    before_m = make_read_only(state.motion.position_m)
    _follow_anchors(make_read_only(points_m), before_m, sigma_m, state.contact, anchors, fade, s.slip_m**2 * dt_s)
    return FeetState(state.motion, state.contact, anchors.anchor_m, anchors.variance_m2, anchors.strength, anchors.limit_m)


class Anchors(NamedTuple):
    """Anchors as the kernel updates them, in place: fields as in `FeetState`."""

    anchor_m: Floats
    variance_m2: Floats
    strength: Floats
    limit_m: Floats


@kernel
def _follow_anchors(
    points_m: Floats, smooth_m: Floats, sigma_m: Floats, contact: Bools, anchors: Anchors, fade: float, slip_m2: float
) -> None:
    """Update anchors by points of the pose, (4, 3), with standard deviations (4,); smooth_m: where they are by their motion."""
    for n in range(points_m.shape[0]):
        anchor, R, strength = anchors.anchor_m[n], sigma_m[n] * sigma_m[n], anchors.strength[n]
        gain = 1.0
        if strength > 0.0:
            gain = anchors.variance_m2[n] / (anchors.variance_m2[n] + R)
            anchors.variance_m2[n] = (1.0 - gain) * anchors.variance_m2[n] + slip_m2
        else:
            anchors.variance_m2[n] = R
        drifted = gone = 0.0
        for i in range(3):
            anchor[i] += gain * (points_m[n, i] - anchor[i])
            drifted += (smooth_m[n, i] - anchor[i]) ** 2
        allowed = (1.0 if contact[n] else strength) * anchors.limit_m[n]
        back = max(1.0 - allowed / max(math.sqrt(drifted), 1e-12), 0.0)
        for i in range(3):
            anchor[i] += back * (smooth_m[n, i] - anchor[i])
            gone += (points_m[n, i] - anchor[i]) ** 2
        anchors.strength[n] = min(max(strength + (fade if contact[n] else -fade), 0.0), 1.0)
        if math.sqrt(gone) > JUMP_M:
            anchors.strength[n] = 0.0
            for i in range(3):
                anchor[i] = points_m[n, i]


def compute_corrections_m(state: FeetState, points_m: Floats) -> Floats:
    """Return how far each point is moved, (4, 3) [m]: by its own anchor and, as far as it is free, with the other of its foot.

    Ankle and ball keep their distance: with a shorter foot as its target, the leg would tip it up.
    """
    shift_m = np.empty((N_POINTS, 3))
    _write_corrections(make_read_only(points_m), state.anchor_m, state.strength, shift_m)
    return shift_m


@kernel
def _write_corrections(points_m: Floats, anchor_m: Floats, strength: Floats, shift_m: Floats) -> None:
    """Write `compute_corrections_m`, (4, 3)."""
    for first in range(0, points_m.shape[0], 2):
        length = true_length = 0.0
        for i in range(3):
            for n in range(first, first + 2):
                share = strength[n] ** 2 * (3.0 - 2.0 * strength[n])  # smooth at both ends
                other = 2 * first + 1 - n
                others = strength[other] ** 2 * (3.0 - 2.0 * strength[other])
                shift_m[n, i] = share * (anchor_m[n, i] - points_m[n, i])
                shift_m[n, i] += (1.0 - share) * others * (anchor_m[other, i] - points_m[other, i])
            apart = points_m[first + 1, i] - points_m[first, i]
            true_length += apart**2
            length += (apart + shift_m[first + 1, i] - shift_m[first, i]) ** 2
        stretch = 0.5 * (math.sqrt(true_length) / max(math.sqrt(length), 1e-9) - 1.0)
        for i in range(3):
            foot = points_m[first + 1, i] + shift_m[first + 1, i] - points_m[first, i] - shift_m[first, i]
            shift_m[first, i] -= stretch * foot
            shift_m[first + 1, i] += stretch * foot


def _move_feet(
    skeleton: Skeleton, rotvec: Floats, rotation: Floats, position_m: Floats, points_m: Floats, shift_m: Floats
) -> Floats:
    """Return a pose, (J, 3) [rad], whose ankles and balls of the feet are moved by shift_m, (4, 3) [m], as far as legs reach."""
    result = rotvec
    for side, leg in enumerate(LEGS):
        part = slice(2 * side, 2 * side + 2)
        if np.abs(shift_m[part]).max() < MIN_SHIFT_M:
            continue
        if result is rotvec:
            result = rotvec.copy()
        result[leg[:3]] = solve_leg(skeleton, rotvec, rotation, position_m, side, points_m[part] + shift_m[part])
    return result
