"""A take: the poses of a whole recording as arrays, which every export starts from."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from database.kinematics import forward
from database.rotations import Floats, matrix_from_rotvec, rotation_between, rotvec_from_matrix
from database.skeleton import REFERENCE, Skeleton
from reconstruct.pose import Pose, State


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
    """Turn a take whose floor is unknown so that `up` becomes +Y and the lowest joint of all frames stands at 0.

    up: the world's up direction, (3,). The heading and the horizontal place are left as they are.
    """
    R = rotation_between(up, (0.0, 1.0, 0.0))
    rotvec, root_m = take.rotvec.copy(), take.root_m @ R.T
    rotvec[:, 0] = rotvec_from_matrix(REFERENCE[0].T @ R @ REFERENCE[0] @ matrix_from_rotvec(take.rotvec[:, 0]))
    lowest = forward(take.skeleton, rotvec, root_m)[1][~take.lost, :, 1].min(initial=np.inf)
    if np.isfinite(lowest):
        root_m[:, 1] -= lowest
    return Take(take.skeleton, take.seconds, take.states, rotvec, np.ascontiguousarray(root_m))


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
