"""Which contact points carry weight, frame by frame.

The parts of a foot are down where they are low and slow (`database.contacts`), and just before and after, while they are as near
to the ground as the sole gives way: a heel carries weight before it has come to rest. The ground is the plane under the parts
that are still: recordings are calibrated to some millimetres a metre only, and a foot that stands is where it stands.
"""

from dataclasses import dataclass

import numpy as np

from config.arrays import Bools, Floats
from config.errors import DuocapError
from config.words import format_count
from database.clips import find_runs
from database.contacts import (
    FLOOR_PERCENTILE,
    LOW_M,
    MIN_STILL,
    STILL_M_S,
    compute_speeds_m_s,
    estimate_floor_levels_m,
    label_contacts,
)
from database.geometry.rotations import matrix_from_quaternion, quaternion_from_matrix, rotation_between
from reconstruct.models.physics.body import ContactPoints, FootPart

NEAR_M = LOW_M / 2  # over its height when standing: a part next to a contact in time carries weight already, or still
FAST_M_S = 2.5  # but not while it swings past the ground
N_FEET, N_PARTS = 2, len(FootPart)
PART_NAMES = tuple(f"{side}{part.name.title()}" for side in ("left", "right") for part in FootPart)
MIN_FRAMES = 3
GROUND_SIGMA_M = 0.015  # how far parts that stand are off the plane, each step anew and each part always
SLOPE_SIGMA = 0.03  # of what a recording calls level
STANCE_S = 0.5  # frames of one stance are all off by the same: they count as one
ROUNDS = 10
OFF_GROUND_M = 0.03
DEEP_M = 0.06  # a point so far below the ground shows that the ground is not there, as on a ladder
STANDS_M_S = 0.2  # slower parts must not move at all


@dataclass(frozen=True, slots=True)
class ContactPlan:
    """Contacts with the ground over time.

    Attributes:
        carrying: parts of the feet that bear weight, (N, 2, 3).
        standing: those of them that must not move, (N, 2, 3).
        level_m: height of each point where it stands, and below which it must not be, (N, P) [m] world.
        borne: frames in which the feet, or flight, explain all of the motion, (N,).
    """

    carrying: Bools
    standing: Bools
    level_m: Floats
    borne: Bools

    def part_levels(self, points: ContactPoints) -> Floats:
        """Return the height at which the middle of each part stands, (N, 2, 3) [m]."""
        out = np.empty(self.standing.shape)
        for foot in range(N_FEET):
            for part in FootPart:
                out[:, foot, part] = self.level_m[:, (points.foot == foot) & (points.part == part)].mean(axis=1)
        return out

    def part(self, first: int, stop: int) -> "ContactPlan":
        """Return the plan of frames first..stop-1."""
        rows = slice(first, stop)
        return ContactPlan(self.carrying[rows], self.standing[rows], self.level_m[rows], self.borne[rows])


@dataclass(frozen=True, slots=True)
class FootGround:
    """The plane y = height_m + slope[0] x + slope[1] z under a motion; level_m: of each part when it stands, over it, (2, 3)."""

    height_m: float
    slope: Floats
    level_m: Floats

    @property
    def normal(self) -> Floats:
        """The unit normal, (3,)."""
        n = np.array([-self.slope[0], 1.0, -self.slope[1]])
        return np.asarray(n / np.linalg.norm(n))

    def height_over(self, point_m: Floats) -> Floats:
        """Return heights of points over the plane, (..., 3) -> (...) [m]."""
        return np.asarray(point_m[..., 1] - self.height_m - point_m[..., [0, 2]] @ self.slope)

    def level_configurations(self, q: Floats) -> Floats:
        """Return configurations (N, 95) as they are where this plane is level, at height 0: what tilts it is the recording."""
        R = rotation_between(self.normal, np.array([0.0, 1.0, 0.0]))
        out = q.copy()
        out[:, :3] = (q[:, :3] - (0.0, self.height_m, 0.0)) @ R.T
        out[:, 3:7] = quaternion_from_matrix(R @ matrix_from_quaternion(q[:, 3:7]))
        return out


def find_contact_parts(points: ContactPoints, point_m: Floats, fps: float) -> Bools:
    """Return which parts of the feet carry weight, (N, 2, 3), left and right by heel, ball and tip.

    The ground is where the parts are when they hardly move.

    Args:
        points: contact points of the feet in all frames.
        point_m: the contact points in the world, (N, P, 3) [m], Y up.
        fps: frames a second.
    """
    middle = compute_part_positions(points, point_m)
    down = np.zeros(middle.shape[:3], bool)
    if len(middle) < MIN_FRAMES:
        return down
    ground = fit_ground(middle, fps)
    over = middle.copy()
    over[..., 1] = ground.height_over(middle)
    for first, second in ((0, 1), (1, 2)):
        found = label_contacts(_select_two_parts(over, first, second), fps).reshape(-1, N_FEET, 2).astype(bool)
        down[:, :, [first, second]] |= found
    speed = compute_speeds_m_s(middle.reshape(len(middle), -1, 3), fps).reshape(down.shape)
    for foot in range(N_FEET):
        for part in FootPart:
            height = over[:, foot, part, 1]
            _extend_contacts(down[:, foot, part], height, speed[:, foot, part])
    return down


def build_contact_plan(points: ContactPoints, point_m: Floats, fps: float, carrying: Bools) -> ContactPlan:
    """Return the plan of contacts that are known, (N, 2, 3), `borne` throughout.

    A part stands while it carries and is slow. It stands on the ground's plane; one that is off it by more than feet are in a
    recording stands on something else, where it is.

    Args:
        points: contact points of the feet.
        point_m: positions of these points, (N, P, 3) [m].
        fps: frames a second.
        carrying: parts of the feet that carry weight, (N, 2, 3).
    """
    middle = compute_part_positions(points, point_m)
    ground = fit_ground(middle, fps)
    speed = compute_speeds_m_s(middle.reshape(len(middle), -1, 3), fps).reshape(carrying.shape)
    standing = carrying & (speed < STANDS_M_S)
    over = ground.height_over(middle)
    usual = compute_usual_levels_m(over, standing, ground.level_m)
    level = middle[..., 1] - over + usual
    for foot in range(N_FEET):
        for part in FootPart:
            for first, stop in find_runs(standing[:, foot, part]):
                off = float(np.median(over[first:stop, foot, part])) - usual[foot, part]
                if abs(off) > OFF_GROUND_M:
                    level[first:stop, foot, part] += off
    levels = _compute_point_levels(points, point_m, standing, level)
    levels = np.where(point_m[..., 1] < levels - DEEP_M, point_m[..., 1], levels)
    return ContactPlan(carrying, standing, levels, np.ones(len(carrying), bool))


def compute_usual_levels_m(over_m: Floats, down: Bools, otherwise_m: Floats) -> Floats:
    """Return the median height of each part while it is down, (2, 3) [m].

    Args:
        over_m: heights over the ground, (N, 2, 3) [m].
        down: whether it is down, (N, 2, 3).
        otherwise_m: heights of parts that never are, (2, 3) [m].
    """
    out = otherwise_m.copy()
    for part in np.ndindex(out.shape):
        heights = over_m[down[:, *part], *part]
        if len(heights):
            out[part] = np.median(heights)
    return out


def _compute_point_levels(points: ContactPoints, point_m: Floats, standing: Bools, level_m: Floats) -> Floats:
    """Return the level of each point, (N, P) [m], from those of parts, (N, 2, 3): soles need not be level where feet stand."""
    out = np.empty(point_m.shape[:2])
    for foot in range(N_FEET):
        for part in FootPart:
            rows = np.flatnonzero((points.foot == foot) & (points.part == part))
            stands = standing[:, foot, part]
            height = point_m[:, rows, 1]
            tilt = np.median((height - height.mean(axis=1, keepdims=True))[stands], axis=0) if stands.any() else 0.0
            out[:, rows] = level_m[:, foot, part, None] + tilt - np.mean(tilt)
    return out


def fit_ground(middle: Floats, fps: float) -> FootGround:
    """Return the plane under parts of feet, (N, 2, 3, 3) [m], by those that hardly move, the lowest of each frame.

    Where the feet stand always beside each other, as on a straight walk, heights of left and right say nothing of the slope from
    one to the other: a part's own height when it stands is unknown, too.
    """
    speed = compute_speeds_m_s(middle.reshape(len(middle), -1, 3), fps).reshape(middle.shape[:3])
    lowest = middle[..., 1] < middle[..., 1].min(axis=(1, 2), keepdims=True) + LOW_M
    still = (speed < STILL_M_S) & lowest
    chosen = middle[still]
    slope, height = np.zeros(2), float(np.percentile(middle[..., 1], FLOOR_PERCENTILE))
    if len(chosen) >= MIN_STILL:
        center = np.median(chosen, axis=0)
        parts = np.ravel_multi_index(np.nonzero(still)[1:], (N_FEET, N_PARTS))
        rows = np.column_stack([chosen[:, [0, 2]] - center[[0, 2]], np.ones(len(chosen)), np.eye(N_FEET * N_PARTS)[parts]])
        prior = STANCE_S * fps * np.diag([(GROUND_SIGMA_M / SLOPE_SIGMA) ** 2] * 2 + [0.0] + [1.0] * N_FEET * N_PARTS)
        found = np.zeros(rows.shape[1])
        found[2] = center[1]
        for _ in range(ROUNDS):
            e = chosen[:, 1] - rows @ found
            weight = 1.0 / (1.0 + (e / GROUND_SIGMA_M) ** 2)
            found = np.linalg.solve(rows.T @ (weight[:, None] * rows) + prior, rows.T @ (weight * chosen[:, 1]))
        slope = found[:2]
        height = float(found[2] - slope @ center[[0, 2]])
    flat = FootGround(height, slope, np.zeros((N_FEET, len(FootPart))))
    over = middle.copy()
    over[..., 1] = flat.height_over(middle)
    return FootGround(height, slope, compute_part_levels_m(over, fps))


def _extend_contacts(down: Bools, height_m: Floats, speed_m_s: Floats) -> None:
    """Extend contacts of one part, in place, to where it is as near the ground as the sole gives way. All (N,)."""
    for first, stop in find_runs(down):
        top = float(np.median(height_m[first:stop])) + NEAR_M
        near = (height_m < top) & (speed_m_s < FAST_M_S)
        n = first - 1
        while n >= 0 and near[n] and not down[n]:
            down[n] = True
            n -= 1
        n = stop
        while n < len(down) and near[n] and not down[n]:
            down[n] = True
            n += 1


def compute_part_positions(points: ContactPoints, point_m: Floats) -> Floats:
    """Return the middle of each part of each foot: (N, P, 3) -> (N, 2, 3, 3) [m]."""
    out = np.empty((len(point_m), N_FEET, N_PARTS, 3))
    for foot in range(N_FEET):
        for part in FootPart:
            out[:, foot, part] = point_m[:, (points.foot == foot) & (points.part == part)].mean(axis=1)
    return out


def compute_part_levels_m(middle: Floats, fps: float) -> Floats:
    """Return the height of each part when it stands, (2, 3) [m]: (N, 2, 3, 3) [m] world -> lowest still heights."""
    level = np.empty((N_FEET, N_PARTS))
    for first, second in ((1, 2), (0, 1)):
        four = _select_two_parts(middle, first, second)
        found = estimate_floor_levels_m(np.ascontiguousarray(four[..., 1]), compute_speeds_m_s(four, fps))
        level[:, [first, second]] = found.reshape(N_FEET, 2)
    return level


def spread_part_contacts(points: ContactPoints, parts: Bools) -> Bools:
    """Return the contacts of points from those of the parts they belong to: (N, 2, 3) -> (N, P)."""
    return np.asarray(parts[:, points.foot, points.part])


def check_parts(parts: Bools, n_frames: int) -> Bools:
    """Return given contacts, (N, 2, 3). Raises DuocapError: they are of another number of frames."""
    if parts.shape != (n_frames, N_FEET, N_PARTS):
        raise DuocapError(
            f"contacts of {format_count(len(parts), 'frame')} for a motion of {n_frames}; give one row for every frame"
        )
    return parts


def _select_two_parts(middle: Floats, first: int, second: int) -> Floats:
    """Return two parts of both feet as `database.contacts` takes them, (N, 4, 3)."""
    return np.ascontiguousarray(middle[:, :, [first, second]].reshape(len(middle), 2 * N_FEET, 3))
