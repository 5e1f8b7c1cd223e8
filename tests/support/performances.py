"""A performance for tests of the pipeline: who moves, before which cameras, in view of which database, and the truth."""

from dataclasses import dataclass

import numpy as np

from calibration.camera import Rig
from calibration.subject.subject import Subject
from config.arrays import Floats
from reconstruct.pose import Pose
from tests.support.people import Table
from tools.evaluate.states import compute_pose_joints


@dataclass(frozen=True)
class Performance:
    """A performer, a database without that motion, cameras, and the truth: markers (N, M, 3) and joints (N, J, 3) [m]."""

    subject: Subject
    table: Table
    rig: Rig
    markers: Floats
    joints: Floats

    def errors_m(self, poses: list[Pose]) -> Floats:
        """Return the distance of every joint of the first poses from the truth, (N, J)."""
        return np.asarray(np.linalg.norm(compute_pose_joints(self.subject.skeleton, poses) - self.joints[: len(poses)], axis=2))
