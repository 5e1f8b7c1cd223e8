"""The output filter: poses that stand still do not tremble, and moving ones do not lag.

Jitter of solved poses is slow (its autocorrelation is 0.7 from frame to frame). A low pass that removes it must be slow too and
would delay all motion. The filter therefore measures, for each part of the body, whether it moves at all. Where it does, poses
pass unchanged; elsewhere they pass a first-order low pass of a fraction of a hertz:

    u = max(fast / fast_m_s, slow / slow_m_s, strayed / stray_m),  drive = u^6 / (1 + u^6)
    activity = max(drive, what is left of the last activity after RELEASE_S)
    alpha = low + (1 - low) activity,  low = 1 - exp(-2 pi still_hz dt)
    X <- X exp(alpha log(X^-1 R)),  x <- x + alpha (r - x)

fast, slow: speed of a part's joints over FAST_S and SLOW_S (velocities are averaged as vectors, so that noise cancels);
strayed: distance between filtered and solved joints; X, R: filtered and solved rotations; x, r: positions of the root.
A cutoff that rises with speed is the idea of the one-euro filter (Casiez, Roussel and Vogel 2012). One proportional to the
speed of each value lags where a body moves slowly, and separates joints of a chain that move at different speeds. Here root and
legs, trunk, and each arm have one activity each: what a leg does to compensate the root stays compensated.
"""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from calibration.subject.subject import Subject
from config.arrays import Floats, is_all_finite, make_read_only
from config.jit import inline_kernel, kernel
from config.joints import N_JOINTS
from config.settings import FilterSettings
from database.geometry.kinematics import KinematicChain, _compute_forward, _pack_chain
from reconstruct.finish.body import LEGS, MOVES_WITH, PART
from reconstruct.pose import Pose, TrackingState

FAST_S, SLOW_S, STRAY_S = 0.1, 0.3, 0.06  # time constants of speeds and distances
RELEASE_S = 0.15  # how long a part counts as moving after it stopped
STEEPNESS = 6.0  # of the step from still to moving
TELEPORT_M = 0.3  # joints farther than this from the filtered ones were displaced, they did not move
MAX_GAP_S = 0.5  # after a longer pause the filter starts again
WARM_FRAME_NS = 16_666_667


class ActivityLimits(NamedTuple):
    """Limits of what counts as motion: `FilterSettings`."""

    fast_m_s: float
    slow_m_s: float
    stray_m: float


class FilterMemory(NamedTuple):
    """State after the last frame, updated in place.

    Attributes:
        joint_m, filtered_m: solved and filtered joints (J, 3).
        quaternion: filtered rotations, xyzw (J, 4).
        root_m: filtered root (3,).
        fast, slow: mean velocities (J, 3) [m/s].
        strayed: mean vector from filtered to solved joints (J, 3) [m].
        activity: activity of each part, from 0 (still) to 1 (moving), (4,).
    """

    joint_m: Floats
    filtered_m: Floats
    quaternion: Floats
    root_m: Floats
    fast: Floats
    slow: Floats
    strayed: Floats
    activity: Floats


def _build_empty_memory() -> FilterMemory:
    """Return the arrays of a memory."""
    joint_m, filtered_m, fast, slow, strayed = np.zeros((5, N_JOINTS, 3))
    return FilterMemory(joint_m, filtered_m, np.zeros((N_JOINTS, 4)), np.zeros(3), fast, slow, strayed, np.zeros(4))


class OutputFilter:
    """Filters the poses of one subject; the result depends on the poses and their times alone."""

    def __init__(self, settings: FilterSettings, subject: Subject) -> None:
        self._settings, self._chain = settings, _pack_chain(subject.skeleton)
        self._limits = ActivityLimits(settings.fast_m_s, settings.slow_m_s, settings.stray_m)
        self._memory = _build_empty_memory()
        self._last_ns: int | None = None

    def forget(self) -> None:
        """Start again with the next pose."""
        self._last_ns = None

    def warm(self, pose: Pose) -> None:
        """Compile all kernels on a pose, and forget it."""
        for late_ns in (0, WARM_FRAME_NS):
            self.step(replace(pose, t_capture_ns=pose.t_capture_ns + late_ns, state=TrackingState.TRACKING))
        self.forget()

    def step(self, pose: Pose) -> Pose:
        """Return the pose to publish: the same object where the filter is off, has just started or the performer is lost.

        Joints and root are filtered; the markers stay those of the solver.
        """
        if not self._settings.output:
            return pose
        if pose.state is TrackingState.LOST or not (is_all_finite(pose.rotvec) and is_all_finite(pose.root_m)):
            self.forget()
            return pose
        dt_s = 0.0 if self._last_ns is None else (pose.t_capture_ns - self._last_ns) * 1e-9
        self._last_ns = pose.t_capture_ns
        low = 1.0 - math.exp(-2.0 * math.pi * self._settings.still_hz * dt_s) if 0.0 < dt_s <= MAX_GAP_S else 1.0
        rotvec, root_m = np.empty((N_JOINTS, 3)), np.empty(3)
        elapsed = ElapsedTime(dt_s, low)
        solved = make_read_only(pose.rotvec), make_read_only(pose.root_m)
        if _filter_pose(solved[0], solved[1], self._chain, elapsed, self._limits, self._memory, rotvec, root_m):
            return replace(pose, rotvec=rotvec, root_m=root_m)
        return pose


class ElapsedTime(NamedTuple):
    """Time since the last frame, 0 for none [s], and the least share of the way to the new pose."""

    dt_s: float
    least_share: float


@kernel
def _filter_pose(
    rotvec: Floats,
    root_m: Floats,
    chain: KinematicChain,
    elapsed: ElapsedTime,
    limits: ActivityLimits,
    memory: FilterMemory,
    out: Floats,
    out_root_m: Floats,
) -> bool:
    """Write the filtered pose, (J, 3) and (3,), and return True; start again and return False where it does not follow the last.

    It does soon after that and where a body can have moved to.
    """
    dt_s, low = elapsed.dt_s, elapsed.least_share
    n = rotvec.shape[0]
    G, joint_m, squared = np.empty((n, 3, 3)), np.empty((n, 3)), 0.0
    _compute_forward(rotvec, root_m, chain, G, joint_m)
    for j in range(n):
        for i in range(3):
            squared += (joint_m[j, i] - memory.joint_m[j, i]) ** 2
    follows = 0.0 < dt_s <= MAX_GAP_S and squared < n * TELEPORT_M**2
    alpha = np.ones(n)
    if follows:
        _update_activity(joint_m, dt_s, limits, memory)
        for j in range(n):
            alpha[j] = low + (1.0 - low) * memory.activity[PART[j]]
    else:
        memory.quaternion[:], memory.quaternion[:, 3] = 0.0, 1.0
        memory.root_m[:] = root_m
        memory.fast[:], memory.slow[:], memory.strayed[:], memory.activity[:] = 0.0, 0.0, 0.0, 0.0
    rotate_towards(memory.quaternion, rotvec, alpha, out)
    by_legs = low + (1.0 - low) * memory.activity[LEGS]
    for i in range(3):
        memory.root_m[i] += by_legs * (root_m[i] - memory.root_m[i])
    memory.joint_m[:], memory.filtered_m[:] = joint_m, joint_m
    if follows:
        out_root_m[:] = memory.root_m
        _compute_forward(out, memory.root_m, chain, G, memory.filtered_m)
    return follows


@inline_kernel
def _update_activity(joint_m: Floats, dt_s: float, limits: ActivityLimits, memory: FilterMemory) -> None:
    """Update mean velocities, strayed vectors and activities by one frame.

    joint_m: solved joints, (J, 3); dt_s: time since the last frame, whose joints the memory has.
    """
    fast, slow, strayed, activity = memory.fast, memory.slow, memory.strayed, memory.activity
    last_m, filtered_m = memory.joint_m, memory.filtered_m
    share = 1.0 - np.exp(-dt_s / np.array([FAST_S, SLOW_S, STRAY_S, RELEASE_S]))
    squares, count = np.zeros((3, 4)), np.zeros(4)
    for j in range(joint_m.shape[0]):
        count[PART[j]] += 1.0
        for i in range(3):
            velocity = (joint_m[j, i] - last_m[j, i]) / dt_s
            fast[j, i] += share[0] * (velocity - fast[j, i])
            slow[j, i] += share[1] * (velocity - slow[j, i])
            strayed[j, i] += share[2] * (joint_m[j, i] - filtered_m[j, i] - strayed[j, i])
            squares[0, PART[j]] += fast[j, i] ** 2
            squares[1, PART[j]] += slow[j, i] ** 2
            squares[2, PART[j]] += strayed[j, i] ** 2
    fastest = np.sqrt((squares[0] / count).max())
    for part in range(4):
        u = max(np.sqrt(squares[0, part] / count[part]), MOVES_WITH[part] * fastest) / limits.fast_m_s
        u = max(u, np.sqrt(squares[1, part] / count[part]) / limits.slow_m_s)
        u = max(u, np.sqrt(squares[2, part] / count[part]) / limits.stray_m)
        drive = 1.0 - 1.0 / (1.0 + min(u, 1e3) ** STEEPNESS)
        activity[part] = max(drive, activity[part] + share[3] * (drive - activity[part]))


@inline_kernel
def rotate_towards(quaternion: Floats, rotvec: Floats, alpha: Floats, out: Floats) -> None:
    """Rotate filtered rotations by a share of the shortest arc towards others (Shoemake 1985).

    Args:
        quaternion: filtered rotations, (J, 4) xyzw; changed in place.
        rotvec: towards which they turn, (J, 3) [rad].
        alpha: share of the shortest arc, (J,).
        out: rotation vectors of the result, (J, 3) [rad]; of r and the vector a full turn shorter, the one nearer to `rotvec`.
    """
    for j in range(rotvec.shape[0]):
        angle = np.sqrt(rotvec[j, 0] ** 2 + rotvec[j, 1] ** 2 + rotvec[j, 2] ** 2)
        s = 0.5 if angle < 1e-9 else np.sin(0.5 * angle) / angle
        t0, t1, t2, t3 = s * rotvec[j, 0], s * rotvec[j, 1], s * rotvec[j, 2], np.cos(0.5 * angle)
        dot = quaternion[j, 0] * t0 + quaternion[j, 1] * t1 + quaternion[j, 2] * t2 + quaternion[j, 3] * t3
        sign = 1.0
        if dot < 0.0:
            sign, dot = -1.0, -dot
        arc = np.arccos(min(dot, 1.0))
        if arc < 1e-6:
            a, b = 1.0 - alpha[j], alpha[j]
        else:
            a, b = np.sin((1.0 - alpha[j]) * arc) / np.sin(arc), np.sin(alpha[j] * arc) / np.sin(arc)
        b = sign * b
        # All signs as the solved rotation has them, so that the rotation vector is near the solved one.
        x, y, z, w = a * quaternion[j, 0], a * quaternion[j, 1], a * quaternion[j, 2], a * quaternion[j, 3]
        x, y, z, w = sign * x + sign * b * t0, sign * y + sign * b * t1, sign * z + sign * b * t2, sign * w + sign * b * t3
        norm = np.sqrt(x * x + y * y + z * z + w * w)
        x, y, z, w = x / norm, y / norm, z / norm, w / norm
        quaternion[j, 0], quaternion[j, 1], quaternion[j, 2], quaternion[j, 3] = x, y, z, w
        sine = np.sqrt(x * x + y * y + z * z)
        half = np.arctan2(sine, w)
        scale = 2.0 if sine < 1e-9 else 2.0 * half / sine
        out[j, 0], out[j, 1], out[j, 2] = scale * x, scale * y, scale * z
        if sine > 1e-9:
            other = (2.0 * half - 2.0 * np.pi) / sine
            near = (scale * x - rotvec[j, 0]) ** 2 + (scale * y - rotvec[j, 1]) ** 2 + (scale * z - rotvec[j, 2]) ** 2
            far = (other * x - rotvec[j, 0]) ** 2 + (other * y - rotvec[j, 1]) ** 2 + (other * z - rotvec[j, 2]) ** 2
            if far < near:
                out[j, 0], out[j, 1], out[j, 2] = other * x, other * y, other * z
