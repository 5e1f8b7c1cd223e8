"""Chains of joints that no marker tells of: they follow the solved pose smoothly, and no faster than such motion is.

Where no marker of an arm, a leg or the head is seen, its pose is what the nearest poses have in common. These change from
frame to frame with the noise of the markers that are seen, and the chain would tremble and jump. Its coordinates x follow the
solved ones r as a critically damped spring does,

    x'' = (r - x) / tau^2 - 2 x' / tau,

solved exactly for an r that stays (x is smooth to its first derivative, and lags by 2 tau). Its end does not move faster relative
to the root than the quantile FASTEST of the nearest poses of the last second. A chain of which a marker is seen passes unchanged.
"""

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from calibration.subject.subject import Subject
from config.arrays import Floats, Ints
from config.jit import kernel
from config.joints import CHAINS, JOINT_INDEX, N_JOINTS
from config.markers import find_unmarked_chains
from database.geometry.kinematics import compute_local_markers
from reconstruct.pose import Pose, TrackingState
from reconstruct.search.examples import PosesInPlace, PoseTable, is_mirrored

TAU_S = 0.02
FASTEST = 0.999  # quantile of the speed of the chain's end in the nearest poses
MEMORY_S = 1.0  # in which the speeds of earlier nearest poses fade by e
MOST_WAITING = 200  # frames whose nearest poses have not been asked; what those before say has faded
MAX_GAP_S = 0.5  # after a longer pause a chain starts where the pose has it
SLOTS = 4096  # examples that are remembered, each in the one place that its row's last digits give it


class RememberedRows:
    """A number of each example, remembered from frame to frame: most neighbours of a frame were those of the last.

    compute: returns those of rows (K,) as (K,); that of a row must not depend on the other rows.
    """

    def __init__(self, compute: Callable[[Ints], Floats]) -> None:
        self._compute = compute
        self._rows, self._values = np.full(SLOTS, -1, np.int64), np.empty(SLOTS)

    def of(self, rows: Ints) -> Floats:
        """Return the numbers of some rows, (K,)."""
        slots = rows & (SLOTS - 1)
        found: Floats = self._values[slots]
        new = (self._rows[slots] != rows).nonzero()[0]
        if len(new):
            found[new] = computed = self._compute(rows[new])
            self._values[slots[new]], self._rows[slots[new]] = computed, rows[new]
        return found


@dataclass(slots=True)
class _Chain:
    """A chain's joints, (C,), the end last; at t_ns: coordinates and their rates, (C, 3), None before the first frame.

    Attributes:
        speeds: of its end in the poses of the database [m/s].
        fastest_m_s: limit of the speed of its end, at least, by the frames that are not left in `waiting`, of each its time and
            nearest poses.
    """

    joints: Ints
    speeds: RememberedRows
    t_ns: int = 0
    x: Floats | None = None
    v: Floats | None = None
    fastest_m_s: float = 0.0
    waiting: deque[tuple[int, Ints]] = field(default_factory=lambda: deque(maxlen=MOST_WAITING))


class UnseenChains:
    """The chains of one subject's poses in their order; table: the database, whose poses tell speeds."""

    def __init__(self, subject: Subject, table: PoseTable) -> None:
        self._subject, self._fps = subject, table.fps
        self._poses, self._starts = PosesInPlace(table.rotvec, is_mirrored(table)), np.asarray(table.clip_start)
        self._chains = {first: self._chain(np.array([JOINT_INDEX[name] for name in joints])) for first, joints in CHAINS.items()}

    def _chain(self, joints: Ints) -> _Chain:
        """Return a chain before its first frame."""
        return _Chain(joints, RememberedRows(partial(self._speeds, joints[-1:])))

    @staticmethod
    def warm() -> None:
        """Compile the kernel of the spring."""
        wanted, x, v = np.zeros((3, 1, 3))
        _follow_spring(wanted, 0.0, x, v)

    def forget(self) -> None:
        """Start again with the next pose."""
        for chain in self._chains.values():
            chain.x = chain.v = None

    def step(self, pose: Pose, rows: Ints | None) -> Pose:
        """Return the pose in which chains without a visible marker follow the rest of the body.

        rows: nearest poses, (K,).

        The markers stay those of the solver.
        """
        if pose.state is TrackingState.LOST:
            self.forget()
            return pose
        rotvec = pose.rotvec
        unmarked = find_unmarked_chains(self._subject.joint[pose.seen.any(axis=0)])
        for first, chain in self._chains.items():
            if first in unmarked:
                rotvec = self._followed(chain, pose.t_capture_ns, rotvec, rows)
            else:
                chain.x = None
        return pose if rotvec is pose.rotvec else replace(pose, rotvec=rotvec)

    def _followed(self, chain: _Chain, t_ns: int, rotvec: Floats, rows: Ints | None) -> Floats:
        """Return rotation vectors, (J, 3), with those of one chain following."""
        wanted = rotvec[chain.joints]
        seconds = (t_ns - chain.t_ns) * 1e-9
        if chain.x is None or chain.v is None or not 0.0 < seconds < MAX_GAP_S:
            chain.x, chain.v, chain.t_ns, chain.fastest_m_s = wanted.copy(), np.zeros_like(wanted), t_ns, 0.0
            chain.waiting.clear()
            return rotvec
        x, v = chain.x.copy(), chain.v.copy()
        _follow_spring(wanted, seconds, x, v)
        if rows is not None:
            chain.waiting.append((t_ns, rows))
            share = self._allowed(chain, rotvec, x, seconds)
            x, v = chain.x + share * (x - chain.x), share * v
        chain.x, chain.v, chain.t_ns = x, v, t_ns
        result = rotvec.copy()
        result[chain.joints] = x
        return result

    def _allowed(self, chain: _Chain, rotvec: Floats, x: Floats, seconds: float) -> float:
        """Return the share of a step, 0 to 1, that keeps the chain's end as slow as such motion is.

        The nearest poses are only asked how fast they are where the step is faster than what is known of the frames before.
        """
        assert chain.x is not None
        chain.fastest_m_s *= math.exp(-seconds / MEMORY_S)
        poses = np.empty((2, N_JOINTS, 3))
        poses[:] = rotvec
        poses[0, chain.joints], poses[1, chain.joints] = chain.x, x
        ends = self._ends(chain.joints[-1:], poses)
        moved_m = math.dist(*ends.tolist())
        while chain.waiting and moved_m > chain.fastest_m_s * seconds:
            t_ns, rows = chain.waiting.pop()
            faded = math.exp((t_ns - chain.t_ns) * 1e-9 / MEMORY_S - seconds / MEMORY_S)
            chain.fastest_m_s = max(chain.fastest_m_s, faded * _compute_fast_quantile(chain.speeds.of(rows)))
        return min(1.0, chain.fastest_m_s * seconds / max(moved_m, 1e-9))

    def _speeds(self, end: Ints, rows: Ints) -> Floats:
        """Return how fast the end of a chain, joint (1,), moves to some poses of the database from those before, (K,) [m/s]."""
        stored = rows % len(self._poses.rows)  # the others are mirror images
        first = self._starts[np.searchsorted(self._starts, stored, side="right") - 1]
        near = np.zeros((2 * len(rows), N_JOINTS, 3))
        near[:, 1:] = self._poses[np.concatenate([rows, rows - (stored > first)])].reshape(len(near), -1, 3)
        steps = np.diff(self._ends(end, near).reshape(2, -1, 3), axis=0)[0]
        return np.asarray(np.linalg.norm(steps, axis=1) * self._fps)

    def _ends(self, end: Ints, rotvec: Floats) -> Floats:
        """Return where the end of a chain, joint (1,), is relative to the root, (N, 3) [m]."""
        return np.asarray(compute_local_markers(self._subject.skeleton, rotvec, end, np.zeros((1, 3)))[:, 0])


@kernel
def _follow_spring(wanted: Floats, seconds: float, x: Floats, v: Floats) -> None:
    """Move coordinates and their rates, (C, 3), by the spring towards others for some time; x from whichever turn is nearer."""
    left = math.exp(-seconds / TAU_S)
    for c in range(x.shape[0]):
        angle = math.sqrt(x[c, 0] ** 2 + x[c, 1] ** 2 + x[c, 2] ** 2)
        shorter = 1.0 - 2.0 * math.pi / angle if angle >= 1e-9 else 1.0
        near = far = 0.0
        for i in range(3):
            near += (x[c, i] - wanted[c, i]) ** 2
            far += (shorter * x[c, i] - wanted[c, i]) ** 2
        turned = shorter if far < near else 1.0
        for i in range(3):
            away = turned * x[c, i] - wanted[c, i]
            pull = (v[c, i] + away / TAU_S) * seconds
            x[c, i], v[c, i] = wanted[c, i] + (away + pull) * left, (v[c, i] - pull / TAU_S) * left


def _compute_fast_quantile(speeds: Floats) -> float:
    """Return the quantile FASTEST of some speeds, (K,)."""
    ranked = np.sort(speeds)
    rank, share = divmod(FASTEST * (len(ranked) - 1), 1.0)
    below, above = ranked[int(rank)], ranked[min(int(rank) + 1, len(ranked) - 1)]
    return float(below + share * (above - below))
