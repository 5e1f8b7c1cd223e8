"""Views put through the pipeline of live capture, and the same take solved with past and future."""

from collections.abc import Iterable
from dataclasses import dataclass
from time import process_time

import numpy as np

from capture.packets import MarkerFrame, Views
from config.arrays import Floats
from reconstruct.offline.poses import LiveTake, OfflineOptions, solve_take
from reconstruct.pipeline import Pipeline
from reconstruct.pose import Pose


@dataclass(frozen=True, slots=True)
class TrackedViews:
    """What a pipeline made of views; the views of the take are those that it used. step_ms: processor time of each step, (N,)."""

    take: LiveTake
    step_ms: Floats


def track_views(pipeline: Pipeline, views: Iterable[Views]) -> TrackedViews:
    """Put views through a pipeline, which forgets what was before."""
    poses, markers, used, step_ms = list[Pose](), list[MarkerFrame](), list[Views](), list[float]()

    def note(pose: Pose) -> None:
        """Add a pose with its labels."""
        assert pipeline.markers is not None and pipeline.views is not None
        poses.append(pose)
        markers.append(pipeline.markers)
        used.append(pipeline.views)

    pipeline.forget()
    for each in views:
        begin_s = process_time()
        pose = pipeline.step(each)
        step_ms.append(1e3 * (process_time() - begin_s))
        if pose.t_capture_ns >= 0:  # with a lag the first poses are of before
            note(pose)
    for pose in pipeline.flush():
        note(pose)
    return TrackedViews(LiveTake(poses, markers, used), np.array(step_ms))


def solve_offline_take(pipeline: Pipeline, live: LiveTake) -> LiveTake:
    """Solve what a pipeline has tracked once more, offline."""
    every = np.ones(len(pipeline.subject.markers), bool)
    return solve_take(live, OfflineOptions(pipeline.rig, pipeline.subject, pipeline.database, pipeline.settings, every))
