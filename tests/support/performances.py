"""A performance for tests of the pipeline: who moves, before which cameras, in view of which database, and the truth."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from calibration.camera import Rig
from calibration.subject.subject import Subject
from config.arrays import Floats
from config.settings import Settings
from database.builtin import build_person_skeleton
from database.clips import Clip
from reconstruct.pipeline import Pipeline
from reconstruct.pose import Pose
from tests.support.people import Table, front_rig, person, t_pose_clip, table_of, walk, worn_markers
from tools.evaluate.states import compute_pose_joints


def build_walks(n_walks: int = 3, poses: Sequence[Clip] | None = None) -> Table:
    """Return a database of another's walks at other speeds and of some poses, where none are given the T-pose."""
    other = build_person_skeleton(1.8)
    walks = [walk(other, seed, speed=speed) for seed, speed in ((11, 0.7), (12, 1.0), (13, 0.9))[:n_walks]]
    return table_of([*walks, *([t_pose_clip(other)] if poses is None else poses)])


@dataclass(frozen=True)
class Performance:
    """A performer, a database without that motion, cameras, and the truth: markers (N, M, 3) and joints (N, J, 3) [m]."""

    subject: Subject
    table: Table
    rig: Rig
    markers: Floats
    joints: Floats

    @classmethod
    def of_walk(cls, n_frames: int, n_walks: int = 3, over_origin: int | None = None) -> Self:
        """Return a walk at four fifths of the usual speed, which the database lacks.

        Args:
            n_frames: so long it is.
            n_walks: so many walks the database has.
            over_origin: in this frame the performer is over the origin.
        """
        subject = person("dark_room", 1)
        clip = walk(subject.skeleton, 3, speed=0.8)
        moved_m = 0.0 if over_origin is None else clip.root_m[over_origin] * [1.0, 0.0, 1.0]
        markers, joints = worn_markers(subject, clip.rotvec[:n_frames], clip.root_m[:n_frames] - moved_m)
        return cls(subject, build_walks(n_walks), front_rig(), markers, joints)

    @classmethod
    def of_tpose_and_walk(cls, markers: str, rig: Rig, n_tpose: int, n_frames: int) -> Self:
        """Return a T-pose and a walk that the database lacks, which begins with a jump.

        Args:
            markers: the marker set.
            rig: the cameras.
            n_tpose: frames of the T-pose.
            n_frames: of both.
        """
        subject = person(markers, 1)
        clip, tpose = walk(subject.skeleton, 3, speed=0.8), t_pose_clip(subject.skeleton, n_tpose)
        rotvec = np.concatenate([tpose.rotvec, clip.rotvec[: n_frames - n_tpose]])
        root_m = np.concatenate([tpose.root_m + clip.root_m[0], clip.root_m[: n_frames - n_tpose]])
        other = build_person_skeleton(1.8)
        table = table_of([*(walk(other, seed, speed=0.7 + 0.1 * seed) for seed in range(3)), t_pose_clip(other)])
        return cls(subject, table, rig, *worn_markers(subject, rotvec, root_m))

    def pipeline(self, settings: Settings | None = None, hidden: tuple[str, ...] = ()) -> Pipeline:
        """Return a pipeline; markers that are `hidden` are labelled and not used."""
        return Pipeline(self.rig, self.subject, self.table, settings or Settings(), hidden)

    def errors_m(self, poses: list[Pose]) -> Floats:
        """Return the distance of every joint of the first poses from the truth, (N, J)."""
        return np.asarray(np.linalg.norm(compute_pose_joints(self.subject.skeleton, poses) - self.joints[: len(poses)], axis=2))
