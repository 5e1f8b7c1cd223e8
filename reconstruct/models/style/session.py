"""Learning a style during a session: from which poses, and when (Grochow et al. 2004, section 7.3).

A style is learned from the beginning of a session, and again after enough poses unlike all it was learned from. All depends on
the poses and their times only. The learning itself is done elsewhere: a task is handed out, and its result comes back later or
never.
"""

import zlib

import numpy as np

from config.arrays import Floats
from database.geometry.skeleton import Skeleton
from reconstruct.models.style.collect import DistinctPoses, FeatureSample, RecentPoses, compute_distances, compute_keys
from reconstruct.models.style.features import N_STATIC, STEP_S
from reconstruct.models.style.learn.train import LearnOptions
from reconstruct.models.style.model import Style
from reconstruct.models.style.task import LearnedStyle, LearnTask, style_from_result
from reconstruct.pose import Pose

MAX_POSES = 500
FIRST_S = 8.0  # of well-seen poses
FIRST_MOVING, FIRST_DISTINCT = 150, 30  # poses at 30 Hz; a steady walk repeats some 35 poses
MOVING_RAD = 0.1  # in a step, all joints together; a slow walk moves 0.2
NOVEL_RAD = 1.2  # from all known poses: another person's walk is as far, boxing twice as far, the same walk again half
NOVEL_POSES = 45
PAUSE_NS = 10_000_000_000  # between tasks
ABANDONED_NS = 60_000_000_000  # a task that has not come back is given up
MAX_ABANDONED = 3  # in a row: there is no learner


class SessionStyle:
    """The poses of a session, and the style learned from them.

    Args:
        skeleton: skeleton of the performer.
        start: a style used from the start, whose poses are kept with the new ones.
        options: options of learning.
    """

    def __init__(self, skeleton: Skeleton, start: Style | None = None, options: LearnOptions | None = None) -> None:
        self.style = start
        self._skeleton, self._options = skeleton, options or LearnOptions()
        self._recent, self._store = RecentPoses(), DistinctPoses(MAX_POSES)
        self._known: Floats | None = None
        if start is not None:
            self._known = compute_keys(start.features)
            for n, (features, rotvec) in enumerate(zip(start.features, start.rotvec, strict=True)):
                self._store.add(FeatureSample(features, rotvec, -1 - n, 0.0))
        self._n_seen = self._n_moving = self._n_novel = self._n_abandoned = self._number = 0
        self._pending: LearnTask | None = None
        self._waiting, self._owed = False, False
        self._t_task_ns = self._t_last_ns = 0

    def add(self, pose: Pose) -> None:
        """Add a pose as it leaves the pipeline."""
        sample = self._recent.add(pose)
        if sample is None:
            return
        self._n_seen += 1
        self._n_moving += bool(np.linalg.norm(sample.features[N_STATIC : 2 * N_STATIC]) > MOVING_RAD)
        if self._store.add(sample) and self._known is not None:
            self._n_novel += bool(compute_distances(compute_keys(sample.features), self._known).min() > NOVEL_RAD)
        self._t_last_ns = pose.t_capture_ns
        if self._pending is not None and abs(self._t_last_ns - self._t_task_ns) > ABANDONED_NS:
            self._pending, self._waiting, self._owed = None, False, True
            self._n_abandoned += 1
        if self._pending is None and self._n_abandoned < MAX_ABANDONED and self._due():
            self._begin(self._t_last_ns)

    def task(self) -> LearnTask | None:
        """Return what is to be learned now, once."""
        task, self._waiting = self._pending if self._waiting else None, False
        return task

    @property
    def pending(self) -> LearnTask | None:
        """The task that has not come back yet."""
        return self._pending

    def take(self, learned: LearnedStyle) -> Style | None:
        """Return the style of a result for the pending task; None for any other result, which is ignored."""
        task = self._pending
        if task is None or (learned.number, learned.checksum) != (task.number, task.checksum):
            return None
        style = style_from_result(task, learned)
        if style is None:
            return None
        self._pending, self._waiting, self._n_abandoned, self.style = None, False, 0, style
        return style

    def _due(self) -> bool:
        """Return whether there are enough poses to learn from."""
        if self._number and abs(self._t_last_ns - self._t_task_ns) < PAUSE_NS:
            return False
        if self._owed:
            return True
        if self._known is None:
            return self._n_seen * STEP_S >= FIRST_S and self._n_moving >= FIRST_MOVING and len(self._store) >= FIRST_DISTINCT
        return self._n_novel >= NOVEL_POSES

    def _begin(self, t_ns: int) -> None:
        """Make a task of all poses in the store."""
        self._number += 1
        poses = self._store.poses()
        checksum = zlib.crc32(poses.features.tobytes())
        self._pending = LearnTask(self._number, checksum, f"session, {self._number}", self._skeleton, poses, self._options)
        self._waiting, self._owed, self._t_task_ns = True, False, t_ns
        self._known, self._n_novel = compute_keys(poses.features), 0
