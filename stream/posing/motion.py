"""Motion between keys (Grochow et al. 2004, section 7.2): handles follow curves from key to key, and the model moves the body.

A style finds the likeliest motion as a whole (`follow`); other models pose one frame after the other. At the keys it is then
brought to their very poses, and held joints to their ways.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from config.arrays import Floats
from config.joints import JOINT_INDEX, JOINTS
from database.geometry.rotations import matrix_from_rotvec, rotvec_from_matrix
from database.geometry.skeleton import Skeleton
from reconstruct.constraints import Constraints, Handles
from reconstruct.models.style.features import RATE_HZ
from reconstruct.models.style.synthesis.curves import KeyedCurve, resample_motion
from reconstruct.models.style.synthesis.trajectory import follow_constraints
from reconstruct.observations import Observations
from reconstruct.pose import TrackingState
from reconstruct.posing.protocol import FoundPose, Poser
from reconstruct.posing.style import StylePoser
from stream.posing.document import Document, Keyframe, Point, PosingError, StoredPose, check_point, compute_joint_positions_m
from stream.posing.targets import bring_to_constraints
from stream.take.take import Take, TakeInfo, measure_hips_height_m

SHOWN_HZ = 60.0
MAX_SECONDS = 60.0
KEY_STEP_S = 0.25  # of a take that becomes keys: a step of a walk has two
HELD_SIGMA_M, FREE_SIGMA_M = 0.005, 0.03  # of joints from their ways between keys
MotionProgress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Motion:
    """A motion from the first key on.

    Attributes:
        take: motion at SHOWN_HZ.
        begin_s: time of its first frame.
        held: joints that some key holds.
    """

    take: Take
    begin_s: float
    held: tuple[str, ...]

    @property
    def end_s(self) -> float:
        """Time of the last frame [s]."""
        return self.begin_s + float(self.take.seconds[-1])

    def find_frame(self, time_s: float) -> int:
        """Return the number of the frame nearest to a time [s]."""
        return int(np.clip(round((time_s - self.begin_s) * SHOWN_HZ), 0, len(self.take) - 1))

    def pose_at(self, time_s: float) -> StoredPose:
        """Return the pose at the nearest frame to a time [s]."""
        n = self.find_frame(time_s)
        return StoredPose(self.take.rotvec[n].copy(), self.take.root_m[n].copy())

    def pins_at(self, pose: StoredPose) -> dict[str, Point]:
        """Return the joints that the keys hold, where a pose of the motion has them."""
        joint_m = compute_joint_positions_m(self.take.skeleton, pose)
        return {name: check_point(joint_m[JOINT_INDEX[name]]) for name in self.held}


def solve_keyframe_motion(document: Document, poser: Poser, progress: MotionProgress | None = None) -> Motion:
    """Return the motion through the keys.

    Args:
        document: document with the keys.
        poser: finds poses.
        progress: called with the number of frames done and of all frames.
    Raises: PosingError: fewer than two, or too long.
    """
    keys = document.keys
    if len(keys) < 2:
        raise PosingError(f"a motion needs two keys or more, and there {'is one' if keys else 'are none'}; set keys first")
    length_s = keys[-1].time_s - keys[0].time_s
    if length_s > MAX_SECONDS:
        raise PosingError(f"{length_s:.0f} s from the first key to the last; at most {MAX_SECONDS:.0f} s make a motion")
    count = max(round(length_s * RATE_HZ), 1) + 1
    seconds = keys[0].time_s + np.arange(count) / RATE_HZ
    held = tuple(name for name in JOINTS if any(name in key.pins for key in keys))
    constraints = _build_constraints(_compute_ways_m(keys, poser.skeleton, seconds), held)
    found = _solve_frames(poser, constraints, progress)
    rotvec, root_m = np.array([pose.rotvec for pose in found]), np.array([pose.root_m for pose in found])
    rotvec, root_m = resample_motion(rotvec, root_m, SHOWN_HZ)
    rotvec, root_m = _pass_through_keys(keys, rotvec, root_m)
    take = _take_from_arrays(poser.skeleton, rotvec, root_m, SHOWN_HZ)
    ways_m = _compute_ways_m(keys, poser.skeleton, keys[0].time_s + take.seconds)
    return Motion(_hold_joints(take, ways_m, held), keys[0].time_s, held)


def _pass_through_keys(keys: Sequence[Keyframe], rotvec: Floats, root_m: Floats) -> tuple[Floats, Floats]:
    """Return a motion that has the keys' poses at their frames: what is left at each key goes away smoothly to both sides.

    Args:
        keys: keys by time.
        rotvec: charted, (F, J, 3) [rad], at SHOWN_HZ from the first key on.
        root_m: (F, 3) [m].
    """
    rows = [min(round((key.time_s - keys[0].time_s) * SHOWN_HZ), len(rotvec) - 1) for key in keys]
    R, at = matrix_from_rotvec(rotvec), np.asarray(root_m)
    wanted = matrix_from_rotvec(np.array([key.pose.rotvec for key in keys]))
    turns = rotvec_from_matrix(np.swapaxes(R[rows], -1, -2) @ wanted)
    moves = np.array([key.pose.root_m for key in keys]) - at[rows]
    frames = np.arange(len(rotvec))
    after = np.clip(np.searchsorted(rows, frames, side="right"), 1, len(rows) - 1)
    first, second = np.array(rows)[after - 1], np.array(rows)[after]
    share = np.clip((frames - first) / np.maximum(second - first, 1), 0.0, 1.0)[:, None]
    share = share * share * (3.0 - 2.0 * share)
    turn = (1.0 - share[..., None]) * turns[after - 1] + share[..., None] * turns[after]
    moved = at + (1.0 - share) * moves[after - 1] + share * moves[after]
    return np.ascontiguousarray(rotvec_from_matrix(R @ matrix_from_rotvec(turn))), np.ascontiguousarray(moved)


def take_from_pose(document: Document, skeleton: Skeleton) -> Take:
    """Return the pose alone as a take of one frame."""
    return _take_from_arrays(skeleton, document.pose.rotvec[None].copy(), document.pose.root_m[None].copy(), SHOWN_HZ)


def document_from_take(take: Take, skeleton: Skeleton) -> Document:
    """Return a document with keys of a take, one every KEY_STEP_S, on another body; its height scales the path of the hips.

    Args:
        take: the motion.
        skeleton: body that is posed.
    Raises: PosingError: nobody is tracked in it.
    """
    tracked = np.flatnonzero(~take.lost & np.isfinite(take.rotvec).all(axis=(1, 2)))
    if not len(tracked):
        raise PosingError("nobody is tracked in the take; give another one to pose after")
    ratio = measure_hips_height_m(skeleton) / measure_hips_height_m(take.skeleton)
    seconds = take.seconds[tracked] - take.seconds[tracked[0]]
    wanted = np.arange(0.0, min(float(seconds[-1]), MAX_SECONDS) + 1e-6, KEY_STEP_S)
    rows = tracked[np.unique(np.minimum(np.searchsorted(seconds, wanted - 1e-6), len(seconds) - 1))]
    poses = [StoredPose(take.rotvec[row].copy(), ratio * take.root_m[row]) for row in rows]
    times = [float(take.seconds[row] - take.seconds[tracked[0]]) for row in rows]
    keys = tuple(Keyframe(time_s, pose) for time_s, pose in zip(times, poses, strict=True))
    return Document(poses[0], keys=keys)


def _compute_ways_m(keys: Sequence[Keyframe], skeleton: Skeleton, seconds: Floats) -> Floats:
    """Return where all joints go smoothly from key to key, (F, J, 3) [m], at times, (F,) [s]."""
    times_s = np.array([key.time_s for key in keys])
    at_keys_m = np.array([compute_joint_positions_m(skeleton, key.pose) for key in keys])
    inside_s = np.clip(seconds, times_s[0], times_s[-1])
    return np.stack([KeyedCurve(times_s, at_keys_m[:, row]).at(inside_s) for row in range(len(JOINTS))], axis=1)


def _build_constraints(place_m: Floats, held: tuple[str, ...]) -> list[Constraints]:
    """Return the constraints of each frame for places of all joints, (F, J, 3) [m]; held ones are to be there, others near."""
    n = len(JOINTS)
    info = np.eye(3) / np.where(np.isin(JOINTS, held), HELD_SIGMA_M, FREE_SIGMA_M)[:, None, None]
    views = (np.zeros((2, n, 2)), np.zeros((2, n)), np.tile(np.eye(3), (2, 1, 1)), np.zeros((2, 3)), np.ones(2))
    handles = Handles(np.arange(n), np.zeros((n, 3)))
    return [Constraints(handles, Observations(np.ascontiguousarray(each_m), info, *views)) for each_m in place_m]


def _hold_joints(take: Take, ways_m: Floats, held: tuple[str, ...]) -> Take:
    """Return a motion whose held joints go their ways, (F, J, 3) [m], by the smallest changes."""
    place_m, rows = take.positions_m().copy(), [JOINT_INDEX[name] for name in held]
    place_m[:, rows] = ways_m[:, rows]
    poses = map(StoredPose, take.rotvec, take.root_m)
    found = [
        bring_to_constraints(take.skeleton, pose, each)
        for pose, each in zip(poses, _build_constraints(place_m, held), strict=True)
    ]
    return replace(take, rotvec=np.array([each.rotvec for each in found]), root_m=np.array([each.root_m for each in found]))


def _solve_frames(poser: Poser, constraints: Sequence[Constraints], progress: MotionProgress | None) -> Sequence[FoundPose]:
    """Return the poses of all frames."""
    if isinstance(poser, StylePoser):
        return follow_constraints(poser.synthesizer, constraints, None, progress)
    found: list[FoundPose] = []
    for each in constraints:
        found.append(poser.pose(each, found[-1] if found else None))
        if progress is not None:
            progress(len(found), len(constraints))
    return found


def _take_from_arrays(skeleton: Skeleton, rotvec: Floats, root_m: Floats, fps: float) -> Take:
    """Return poses as a take of even frames."""
    states = (TrackingState.TRACKING,) * len(rotvec)
    info = TakeInfo(subject=skeleton.name, source="posed")
    return Take(skeleton, np.arange(len(rotvec)) / fps, states, rotvec, root_m, info=info)
