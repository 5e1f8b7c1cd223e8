"""The offline solution of a replay: what its files hold unless `--as-live` is given."""

from dataclasses import replace

import numpy as np

from calibration.subject.subject import Subject
from config.settings import Settings
from reconstruct.offline.poses import LiveTake, OfflineOptions, solve_take
from reconstruct.pose import TrackingState, find_swapped_markers
from reconstruct.search.examples import PoseTable
from tools.progress import open_progress_bar
from tools.replay.replay import ReplayResult, measure_hidden_errors


def solve_replay_offline(result: ReplayResult, subject: Subject, database: PoseTable, settings: Settings) -> ReplayResult:
    """Return a replay with its labels and poses solved with past and future; one camera's takes stay as they are.

    Markers that were hidden stay so, and their errors, as the suspected swaps, are those of the new poses.

    Args:
        result: result of the replay.
        subject: the performer.
        database: database of motions.
        settings: settings of the replay.
    """
    rig = result.rig
    if rig.is_monocular:
        return result
    visible = np.array([name not in result.hidden_mm for name in subject.markers.names])
    options = OfflineOptions(rig, subject, database, settings, visible)
    with open_progress_bar("offline") as progress:
        solved = solve_take(LiveTake(result.poses, result.markers, result.views), options, progress)
    poses, markers = list(solved.poses), list(solved.markers)
    hidden = measure_hidden_errors(poses, markers, result.hidden_mm, subject, rig)
    tracked = ((p, m) for p, m in zip(poses, markers, strict=True) if p.state is TrackingState.TRACKING)
    swaps = sum(bool(find_swapped_markers(pose, frame)) for pose, frame in tracked)
    return replace(result, poses=poses, markers=markers, hidden_mm=hidden, swaps_suspected=swaps)
