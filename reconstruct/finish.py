"""The finish of what is published: bodies that stand still do not tremble, feet on the ground do not slide.

The estimator goes on from its own poses; only what leaves the pipeline is finished.
"""

import numpy as np
from numpy.typing import NDArray

from calibration.subject import Subject
from config.settings import Settings
from database.rotations import Floats
from reconstruct.examples import PoseTable
from reconstruct.feet_poses import pose_feet
from reconstruct.output_filter import OutputFilter
from reconstruct.pose import Pose, State


class Finish:
    """Filters the poses of one subject as they come, then holds their feet; switched by the settings `filter` and `feet`."""

    def __init__(self, subject: Subject, table: PoseTable, settings: Settings, floor_known: bool) -> None:
        self._filter = OutputFilter(settings.filter, subject)
        self._feet = pose_feet(subject, table, settings.feet, floor_known)

    def forget(self) -> None:
        """Start anew with the next pose."""
        self._filter.forget()
        self._feet.forget()

    def warm(self, pose: Pose) -> None:
        """Compile what a pose passes through; what it leaves behind is to be forgotten."""
        self._filter.warm(pose)
        self.step(pose, None, None)
        self._feet.warm(pose)

    def step(self, pose: Pose, rows: NDArray[np.int64] | None, weights: Floats | None) -> Pose:
        """Finish one pose; rows and weights: its nearest poses in the database, (K,), None where it was not solved."""
        pose = self._filter.step(pose)
        return self._feet.step(pose, rows, weights) if pose.state is State.TRACKING else self._feet.step(pose)
