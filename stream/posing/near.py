"""The known poses nearest to what is held, or to the pose: placed where they meet it best, and no two of them alike."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from config.arrays import Floats, Ints
from config.joints import JOINT_INDEX, PARENTS
from database.clips import Clip
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.rotations import rotvec_from_matrix
from database.geometry.skeleton import REFERENCE, Skeleton
from database.store import PoseDatabase
from reconstruct.constraints import Constraints, build_joint_constraints, build_point_handles
from reconstruct.posing.placement import SIGMA_M, place_poses
from stream.posing.document import Document, StoredPose, compute_joint_positions_m
from stream.posing.targets import POINT_SIGMA_M, build_pose_constraints

MAX_POSES = 3_000  # more are thinned evenly
MIN_HELD = 3  # joints, below which the whole pose is compared
ALIKE_M = 0.06  # mean distance of joints
HEAD = JOINT_INDEX["head"]
LIMBS = ("LowerArm", "Hand", "LowerLeg", "Foot")
COMPARED = np.array([JOINT_INDEX[name] for name in ("hips", "head", *(s + limb for s in ("left", "right") for limb in LIMBS))])
LOWEST_M = 0.05  # of a foot's joints above the floor
FIGURE_M = 2.0  # side of a drawn figure


@dataclass(frozen=True, slots=True)
class KnownPoses:
    """Poses of a database.

    Attributes:
        rotvec: (N, J, 3) [rad].
        clip: index into names, (N,).
        time_s: time of each pose in its clip, (N,) [s].
    """

    rotvec: Floats
    clip: Ints
    time_s: Floats
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NearPose:
    """One of them, placed. distance_m: RMS distance of the compared joints [m]."""

    pose: StoredPose
    name: str
    time_s: float
    distance_m: float


def collect_known_poses(clips: Sequence[Clip]) -> KnownPoses:
    """Return the poses of clips, thinned evenly where they are many."""
    total = sum(clip.n_frames for clip in clips)
    step = max(-(-total // MAX_POSES), 1)
    parts = [np.arange(0, clip.n_frames, step) for clip in clips]
    rotvec = np.concatenate([clip.rotvec[rows] for clip, rows in zip(clips, parts, strict=True)]).astype(np.float64)
    index = np.repeat(np.arange(len(clips)), [len(rows) for rows in parts])
    time_s = np.concatenate([rows / clip.fps for clip, rows in zip(clips, parts, strict=True)])
    return KnownPoses(rotvec, index, time_s, tuple(clip.name for clip in clips))


def compute_standing_joints_m(known: KnownPoses, skeleton: Skeleton, count: int) -> Floats:
    """Return the joints of at most so many known poses, evenly, whose lowest joint is just above a floor at 0, (N, J, 3) [m].

    Args:
        known: poses of a database.
        skeleton: skeleton of the body that takes them.
        count: greatest number of poses.
    """
    rows = np.unique(np.linspace(0, len(known.rotvec) - 1, count).round().astype(np.int64))
    joint_m = np.asarray(compute_forward_kinematics(skeleton, known.rotvec[rows], np.zeros(3))[1])
    joint_m[..., 1] -= joint_m[..., 1].min(axis=1, keepdims=True) - LOWEST_M
    return joint_m


def find_near_poses(known: KnownPoses, skeleton: Skeleton, document: Document, count: int) -> list[NearPose]:
    """Return the known poses nearest to a document's held joints, or if these are too few to its pose, nearest first.

    Args:
        known: poses of a database.
        skeleton: skeleton of the body.
        document: document with the held joints and the pose.
        count: greatest number of poses.
    """
    if len(document.pins) + len(document.image_points) >= MIN_HELD:
        constraints = build_pose_constraints(document)
    else:
        joint_m = compute_joint_positions_m(skeleton, document.pose)[COMPARED]
        constraints = build_point_handles(COMPARED, np.zeros((len(COMPARED), 3)), joint_m, POINT_SIGMA_M)
    return _find_distinct_poses(known, skeleton, constraints, count)


def find_nearest_poses(database: PoseDatabase, points: Mapping[str, ArrayLike], count: int = 10) -> list[NearPose]:
    """Return the poses of a database whose joints come nearest to given places, on its first clip's skeleton, nearest first.

    Args:
        database: the known poses; many are thinned evenly.
        points: target of each joint by name, (3,) [m] world.
        count: greatest number of poses.
    Raises DuocapError: an unknown joint, or no place.
    """
    known = collect_known_poses([database.clip(n) for n in range(database.n_clips)])
    return _find_distinct_poses(known, database.clip(0).skeleton, build_joint_constraints(points, POINT_SIGMA_M), count)


def _find_distinct_poses(known: KnownPoses, skeleton: Skeleton, constraints: Constraints, count: int) -> list[NearPose]:
    """Return the known poses that meet constraints best, placed, no two of them alike, nearest first."""
    found = place_poses(skeleton, known.rotvec, constraints)
    chosen: list[NearPose] = []
    seen_m: list[Floats] = []
    for n, row in enumerate(found.row):
        rotvec = known.rotvec[row].copy()
        rotvec[0] = rotvec_from_matrix(REFERENCE[0].T @ found.rotation[n])
        pose = StoredPose(rotvec, found.root_m[n].copy())
        joint_m = compute_joint_positions_m(skeleton, pose)
        if all(np.linalg.norm(joint_m - other, axis=1).mean() > ALIKE_M for other in seen_m):
            distance_m = SIGMA_M * float(np.sqrt(found.error2[n] / len(constraints.handles.joint)))
            chosen.append(NearPose(pose, known.names[known.clip[row]], float(known.time_s[row]), distance_m))
            seen_m.append(joint_m)
        if len(chosen) == count:
            break
    return chosen


def draw_figure_svg(joint_m: ArrayLike, color: str) -> str:
    """Return a stick figure of joints, (J, 3) [m], seen along -z, as SVG."""
    p = np.asarray(joint_m, np.float64)
    middle = 0.5 * (p.min(axis=0) + p.max(axis=0))
    x, y = 100.0 * (0.5 + (p[:, 0] - middle[0]) / FIGURE_M), 100.0 * (0.5 - (p[:, 1] - middle[1]) / FIGURE_M)
    bones = "".join(f"M{x[a]:.0f} {y[a]:.0f}L{x[n]:.0f} {y[n]:.0f}" for n, a in enumerate(PARENTS) if a >= 0)
    head = f'<circle cx="{x[HEAD]:.0f}" cy="{y[HEAD] - 4:.0f}" r="5" fill="{color}"/>'
    return (
        f'<svg viewBox="0 0 100 100" style="width:100%;display:block"><path d="{bones}" stroke="{color}" stroke-width="4" '
        f'stroke-linecap="round" fill="none"/>{head}</svg>'
    )
