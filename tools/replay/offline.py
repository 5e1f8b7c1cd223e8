"""The offline solution of a replay: what its files hold unless `--as-live` is given."""

from dataclasses import replace

import numpy as np

from calibration.camera import Rig
from calibration.subject.subject import Subject
from capture.packets import MarkerFrame
from config.arrays import Bools
from config.settings import FeetSettings
from reconstruct.offline.poses import solve_poses
from reconstruct.search.examples import PoseTable
from tools.progress import progress_bar
from tools.replay.replay import ReplayResult, hidden_errors


def solved_offline(result: ReplayResult, made_for: tuple[Rig, Subject, PoseTable], feet: FeetSettings) -> ReplayResult:
    """Return a replay with its poses solved with past and future; one camera's takes stay as they are.

    made_for: rig, subject and database. Markers that were hidden stay so, and their errors are those of the new poses.
    """
    rig, subject, _ = made_for
    if rig.is_monocular:
        return result
    visible = np.array([name not in result.hidden_mm for name in subject.markers.names])
    used = [visible_part(markers, visible) for markers in result.markers]
    with progress_bar("offline") as progress:
        poses = solve_poses(result.poses, used, made_for, feet, progress)
    hidden = hidden_errors(poses, result.markers, result.hidden_mm, subject, rig)
    return replace(result, poses=poses, hidden_mm=hidden)


def visible_part(frame: MarkerFrame, visible: Bools) -> MarkerFrame:
    """Return a frame with some of its markers only, (M,)."""
    return frame if visible.all() else replace(frame, valid=frame.valid & visible, seen=frame.seen & visible)
