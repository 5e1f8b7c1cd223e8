"""The output filter: poses that stand still without jitter and move without lag.

Jitter of solved poses is slow (its autocorrelation is 0.7 from frame to frame). A low pass that takes it out has to be slow
too and would hold back whatever moves. The filter therefore asks, part by part of the body, whether anything moves at all.
Where it does, poses pass as they are; elsewhere they pass a first-order low pass of a fraction of a hertz:

    u = max(fast / fast_m_s, slow / slow_m_s, strayed / stray_m),  drive = u^6 / (1 + u^6)
    activity = max(drive, what is left of the last activity after RELEASE_S)
    alpha = low + (1 - low) activity,  low = 1 - exp(-2 pi still_hz dt)
    X <- X exp(alpha log(X^-1 R)),  x <- x + alpha (r - x)

fast, slow: speed of a part's joints over FAST_S and SLOW_S (velocities are averaged as vectors, so that noise cancels);
strayed: distance between filtered and solved joints; X, R: filtered and solved rotations; x, r: places of the root.
A cutoff that rises with speed is the idea of the one-euro filter (Casiez, Roussel and Vogel 2012). One proportional to the
speed of each value lags where a body moves slowly, and tears chains apart whose joints move at different speeds. Here root and
legs, trunk, and each arm have one activity each: what a leg does to make up for the root stays made up for.
"""

from dataclasses import dataclass, replace

import numpy as np

from calibration.subject import Subject
from config.jit import kernel
from config.joints import JOINTS, N_JOINTS
from config.settings import FilterSettings
from database.kinematics import forward
from database.rotations import Floats
from reconstruct.pose import Pose, State

FAST_S, SLOW_S, STRAY_S = 0.1, 0.3, 0.06  # over how long speeds and distances are averaged
RELEASE_S = 0.15  # how long a part counts as moving after it stopped
STEEPNESS = 6.0  # of the step from still to moving
LEGS, TRUNK, LEFT_ARM, RIGHT_ARM = range(4)
# A fast arm takes trunk and legs along: what turns slowly there is lag at the hand. By so much of its speed:
TAKES_ALONG = np.array([0.5, 0.7, 0.0, 0.0])
TELEPORT_M = 0.3  # joints farther than this from the filtered ones were moved, they did not move
MAX_GAP_S = 0.5  # after a longer silence nothing is known of before


def _part(joint: str) -> int:
    """Tell which part of the body a joint belongs to."""
    if any(name in joint for name in ("Shoulder", "Arm", "Hand")):
        return LEFT_ARM if joint.startswith("left") else RIGHT_ARM
    return LEGS if joint == "hips" or any(name in joint for name in ("Leg", "Foot", "Toes")) else TRUNK


PART = np.array([_part(joint) for joint in JOINTS], np.int64)


@dataclass(slots=True)
class _Memory:
    """What is known of the last frame, at t_ns.

    joint_m, filtered_m: solved and filtered joints (J, 3); quaternion: filtered rotations, xyzw (J, 4); root_m: filtered root
    (3,); fast, slow: mean velocities (J, 3) [m/s]; strayed: mean way from filtered to solved joints (J, 3) [m]; activity: of
    each part, 0 still to 1 moving, (4,).
    """

    t_ns: int
    joint_m: Floats
    filtered_m: Floats
    quaternion: Floats
    root_m: Floats
    fast: Floats
    slow: Floats
    strayed: Floats
    activity: Floats


class OutputFilter:
    """Filters the poses of one subject as they come; what it gives depends on the poses and their times alone."""

    def __init__(self, settings: FilterSettings, subject: Subject) -> None:
        self._settings, self._subject = settings, subject
        self._limits = (settings.fast_m_s, settings.slow_m_s, settings.stray_m)
        self._memory: _Memory | None = None

    @property
    def activity(self) -> Floats:
        """How much legs, trunk, left and right arm move, (4,), 0 still to 1 moving; of the last frame."""
        return np.ones(4) if self._memory is None else self._memory.activity.copy()

    def forget(self) -> None:
        """Start anew with the next pose."""
        self._memory = None

    def warm(self, pose: Pose) -> None:
        """Run every kernel once on a pose and its like a frame later, and forget them again."""
        for late_ns in (0, 16_666_667):
            self.step(replace(pose, t_capture_ns=pose.t_capture_ns + late_ns, state=State.TRACKING))
        self.forget()

    def step(self, pose: Pose) -> Pose:
        """Give the pose to publish; the very pose where the filter is off, has nothing to go by or the performer is lost.

        Joints, root and the markers' places are filtered; residuals stay what the solver left.
        """
        if not self._settings.output:
            return pose
        if pose.state is State.LOST or not (np.isfinite(pose.rotvec).all() and np.isfinite(pose.root_m).all()):
            self._memory = None
            return pose
        _, joint_m = forward(self._subject.skeleton, pose.rotvec, pose.root_m)
        memory = self._memory
        if memory is None or not self._continues(memory, pose, joint_m):
            self._memory = _begun(pose, joint_m)
            return pose
        return self._filtered(memory, pose, joint_m)

    def _continues(self, memory: _Memory, pose: Pose, joint_m: Floats) -> bool:
        """Tell whether a pose follows the last one: in time, and where a body can have got to."""
        if not 0 < pose.t_capture_ns - memory.t_ns <= MAX_GAP_S * 1e9:
            return False
        return bool(np.sqrt(((joint_m - memory.joint_m) ** 2).sum(axis=1).mean()) < TELEPORT_M)

    def _filtered(self, memory: _Memory, pose: Pose, joint_m: Floats) -> Pose:
        """Move the filtered pose towards the solved one."""
        dt_s = (pose.t_capture_ns - memory.t_ns) * 1e-9
        numbers = np.array([dt_s, *self._limits])
        means = (memory.fast, memory.slow, memory.strayed, memory.activity)
        _update_activity(joint_m, memory.joint_m, memory.filtered_m, numbers, *means)
        low = 1.0 - np.exp(-2.0 * np.pi * self._settings.still_hz * dt_s)
        alpha = low + (1.0 - low) * memory.activity
        rotvec = np.empty((N_JOINTS, 3))
        _turn(memory.quaternion, np.ascontiguousarray(pose.rotvec, np.float64), alpha[PART], rotvec)
        memory.root_m = memory.root_m + alpha[LEGS] * (pose.root_m - memory.root_m)
        G, memory.filtered_m = forward(self._subject.skeleton, rotvec, memory.root_m)
        memory.t_ns, memory.joint_m = pose.t_capture_ns, joint_m
        joint, offset_m = self._subject.joint, self._subject.offset_m
        marker_m = memory.filtered_m[joint] + (G[joint] @ offset_m[:, :, None])[:, :, 0]
        return replace(pose, rotvec=rotvec, root_m=memory.root_m, marker_m=marker_m)


def _begun(pose: Pose, joint_m: Floats) -> _Memory:
    """Remember a first pose."""
    quaternion, zero = np.zeros((N_JOINTS, 4)), np.zeros((N_JOINTS, 3))
    quaternion[:, 3] = 1.0
    _turn(quaternion, np.ascontiguousarray(pose.rotvec, np.float64), np.ones(N_JOINTS), np.empty((N_JOINTS, 3)))
    root_m = np.array(pose.root_m, float)
    return _Memory(pose.t_capture_ns, joint_m, joint_m, quaternion, root_m, zero, zero.copy(), zero.copy(), np.zeros(4))


@kernel
def _update_activity(
    joint_m: Floats,
    last_m: Floats,
    filtered_m: Floats,
    numbers: Floats,
    fast: Floats,
    slow: Floats,
    strayed: Floats,
    activity: Floats,
) -> None:
    """Bring mean velocities, the way strayed (J, 3) and the activities (4,) up to date, in place.

    joint_m, last_m: solved joints now and in the last frame, filtered_m: filtered ones in the last frame, (J, 3);
    numbers: time since then [s], then the limits of fast [m/s], slow [m/s] and strayed [m].
    """
    dt_s = numbers[0]
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
        u = max(np.sqrt(squares[0, part] / count[part]), TAKES_ALONG[part] * fastest) / numbers[1]
        u = max(u, np.sqrt(squares[1, part] / count[part]) / numbers[2])
        u = max(u, np.sqrt(squares[2, part] / count[part]) / numbers[3])
        drive = 1.0 - 1.0 / (1.0 + min(u, 1e3) ** STEEPNESS)
        activity[part] = max(drive, activity[part] + share[3] * (drive - activity[part]))


@kernel
def _turn(quaternion: Floats, rotvec: Floats, alpha: Floats, out: Floats) -> None:
    """Turn filtered rotations (J, 4) xyzw by the share alpha (J,) of the way to those of `rotvec` (J, 3), in place.

    Along the shortest arc (Shoemake 1985). out: the same as rotation vectors, (J, 3): of r and its twin, one full turn
    shorter, the nearer to `rotvec`.
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
        # All signs as the solved rotation has them, so that the rotation vector comes out beside the solved one.
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
            twin = (2.0 * half - 2.0 * np.pi) / sine
            near = (scale * x - rotvec[j, 0]) ** 2 + (scale * y - rotvec[j, 1]) ** 2 + (scale * z - rotvec[j, 2]) ** 2
            far = (twin * x - rotvec[j, 0]) ** 2 + (twin * y - rotvec[j, 1]) ** 2 + (twin * z - rotvec[j, 2]) ** 2
            if far < near:
                out[j, 0], out[j, 1], out[j, 2] = twin * x, twin * y, twin * z
