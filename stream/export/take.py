"""A take: the poses of a whole recording as arrays, which every export starts from."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from config.joints import JOINT_INDEX
from database.kinematics import forward
from database.rotations import Floats, matrix_from_rotvec, rotation_between, rotvec_from_matrix
from database.skeleton import REFERENCE, Skeleton
from reconstruct.pose import Pose, State

STANDING_M_S = 0.25
PATCH_M = 0.1
FLOOR_SIGMA_M = 0.03
TILT_SIGMA_RAD = 0.08  # how far a T-pose's up direction may be off


@dataclass(frozen=True, slots=True)
class Take:
    """The motion of one performer.

    seconds: time from the first frame, rising, (N,) [s]; states: (N,) `State`; rotvec: charted as in
    `database.skeleton`, (N, J, 3) [rad], row 0 of a frame the root's orientation in the world; root_m: (N, 3) [m].
    """

    skeleton: Skeleton
    seconds: Floats
    states: tuple[State, ...]
    rotvec: Floats
    root_m: Floats

    def __post_init__(self) -> None:
        n = len(self.seconds)
        assert len(self.states) == n and len(self.rotvec) == n and self.root_m.shape == (n, 3)
        assert np.all(np.diff(self.seconds) > 0)
        for array in (self.seconds, self.rotvec, self.root_m):
            array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.seconds)

    @property
    def lost(self) -> NDArray[np.bool_]:
        """Mark the frames whose pose means nothing, (N,)."""
        return np.array([state == State.LOST for state in self.states], bool)

    def positions_m(self) -> Floats:
        """Give all joint positions, (N, J, 3) [m] world."""
        return forward(self.skeleton, self.rotvec, self.root_m)[1]

    def local_rotations(self) -> Floats:
        """Give each joint's rotation relative to its parent, L_j = reference_j exp([r_j]x), (N, J, 3, 3)."""
        return np.asarray(REFERENCE @ matrix_from_rotvec(self.rotvec))


def take_from_poses(skeleton: Skeleton, poses: Sequence[Pose]) -> Take:
    """Collect poses into a take; one that repeats the time stamp before it is left out."""
    stamps = np.array([pose.t_capture_ns for pose in poses], np.int64)
    latest = np.maximum.accumulate(stamps) if len(stamps) else stamps
    kept = [i for i in range(len(poses)) if i == 0 or stamps[i] > latest[i - 1]]
    return Take(
        skeleton=skeleton,
        seconds=(stamps[kept] - stamps[:1]) / 1e9,
        states=tuple(poses[i].state for i in kept),
        rotvec=np.array([poses[i].rotvec for i in kept], float).reshape(len(kept), -1, 3),
        root_m=np.array([poses[i].root_m for i in kept], float).reshape(-1, 3),
    )


def frame_period_s(seconds: Floats) -> float:
    """Give the time between frames: the mean of the gaps, without those where frames are missing (> 1.5 medians)."""
    gaps = np.diff(seconds)
    if not len(gaps):
        return 1.0 / 30.0
    return float(gaps[gaps <= 1.5 * np.median(gaps)].mean())


def upright(take: Take, up: ArrayLike) -> Take:
    """Turn a take whose floor is unknown so that it is level, with the lowest joint of all frames at 0.

    up: the world's up direction as the T-pose has it, (3,). A T-pose tells it to some degrees only; where the feet stand
    during the take tells it better. The heading and the horizontal place are left as they are.
    """
    turned = _turned(take, rotation_between(up, (0.0, 1.0, 0.0)))
    turned = _turned(turned, rotation_between(floor_normal(standing_points_m(turned)), (0.0, 1.0, 0.0)))
    lowest = turned.positions_m()[~turned.lost, :, 1].min(initial=np.inf)
    if not np.isfinite(lowest):
        return turned
    return replace(turned, root_m=np.ascontiguousarray(turned.root_m - [0.0, lowest, 0.0]))


def _turned(take: Take, R: Floats) -> Take:
    """Turn a take about the origin."""
    rotvec = take.rotvec.copy()
    rotvec[:, 0] = rotvec_from_matrix(REFERENCE[0].T @ R @ REFERENCE[0] @ matrix_from_rotvec(take.rotvec[:, 0]))
    return replace(take, rotvec=rotvec, root_m=np.ascontiguousarray(take.root_m @ R.T))


def standing_points_m(take: Take) -> Floats:
    """Give where feet stand still: the balls of both feet in frames in which they hardly move, (S, 3) [m]."""
    if len(take) < 3:
        return np.zeros((0, 3))
    feet = take.positions_m()[:, [JOINT_INDEX["leftToes"], JOINT_INDEX["rightToes"]]]
    speed = np.linalg.norm(feet[2:] - feet[:-2], axis=2) / (take.seconds[2:] - take.seconds[:-2])[:, None]
    still = (speed < STANDING_M_S) & ~take.lost[1:-1, None]
    return np.asarray(feet[1:-1][still])


def floor_normal(points_m: Floats) -> Floats:
    """Fit a nearly level plane y = c + a x + b z to standing feet and give its normal, (3,).

    The slopes are a priori normal with TILT_SIGMA_RAD, so that feet in one place leave the floor level; each patch of 10 cm
    counts once, however long somebody stood on it; feet in the air pull little (Cauchy weights).
    """
    if not len(points_m):
        return np.array([0.0, 1.0, 0.0])
    _, patch = np.unique(np.round(points_m[:, [0, 2]] / PATCH_M).astype(np.int64), axis=0, return_inverse=True)
    patch = patch.ravel()
    n = np.bincount(patch)
    mean = np.stack([np.bincount(patch, points_m[:, i]) / n for i in range(3)], axis=1)
    A = np.column_stack([mean[:, 0] - mean[:, 0].mean(), mean[:, 2] - mean[:, 2].mean(), np.ones(len(mean))])
    prior = np.diag([TILT_SIGMA_RAD**-2.0, TILT_SIGMA_RAD**-2.0, 0.0])
    weight = np.ones(len(mean))
    for _ in range(10):
        W = weight / FLOOR_SIGMA_M**2
        plane = np.linalg.solve(A.T @ (W[:, None] * A) + prior, A.T @ (W * mean[:, 1]))
        weight = 1.0 / (1.0 + ((A @ plane - mean[:, 1]) / FLOOR_SIGMA_M) ** 2)
    normal = np.array([-plane[0], 1.0, -plane[1]])
    return np.asarray(normal / np.linalg.norm(normal))


def evenly_timed(take: Take) -> Take:
    """Resample to equal steps of `frame_period_s`: rotations along the shortest arc, positions linearly.

    Formats with one fixed frame time (BVH) would otherwise run fast over every gap. A frame takes the state of its
    nearest neighbour in time. Evenly timed takes come back as they are, up to rounding.
    """
    if len(take) < 2:
        return take
    period = frame_period_s(take.seconds)
    seconds = np.arange(round(float(take.seconds[-1] - take.seconds[0]) / period) + 1) * period + take.seconds[0]
    after = np.clip(np.searchsorted(take.seconds, seconds), 1, len(take) - 1)
    gap = take.seconds[after] - take.seconds[after - 1]
    share = np.clip((seconds - take.seconds[after - 1]) / gap, 0.0, 1.0)
    R = matrix_from_rotvec(take.rotvec)
    step = rotvec_from_matrix(np.swapaxes(R[after - 1], -1, -2) @ R[after])
    return Take(
        skeleton=take.skeleton,
        seconds=seconds,
        states=tuple(take.states[i - 1] if s < 0.5 else take.states[i] for i, s in zip(after, share, strict=True)),
        rotvec=rotvec_from_matrix(R[after - 1] @ matrix_from_rotvec(share[:, None, None] * step)),
        root_m=np.ascontiguousarray(take.root_m[after - 1] * (1.0 - share[:, None]) + take.root_m[after] * share[:, None]),
    )
