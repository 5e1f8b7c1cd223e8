"""Labels of a take decided once more, by poses that are solved without the tracks whose labels are in doubt.

A wrong label draws the pose to itself and then seems right. So tracks that could have another label are left out, the take is
solved without them, closing their gaps by the motion on both sides, and only then they are labelled.
"""

from collections.abc import Sequence

import numpy as np

from calibration.camera import Rig
from capture.packets import MarkerFrame, PairedBlobs
from capture.stereo.matching import match
from config.arrays import Bools, Ints
from config.settings import MatchSettings
from reconstruct.offline.labels import NO_LABEL, assigned, doubtful, labelled_frame, live_votes, track_costs
from reconstruct.offline.motion import TakeMotion
from reconstruct.offline.take import Progress, TakeSolver
from reconstruct.offline.tracks import join_points


def relabelled(
    frames: Sequence[MarkerFrame],
    pairs: Sequence[PairedBlobs],
    tracked: Bools,
    motion: TakeMotion,
    solver: TakeSolver,
    rig: Rig,
    settings: MatchSettings,
    progress: Progress = lambda done, total: None,
) -> tuple[list[MarkerFrame], TakeMotion]:
    """Return consecutive frames with labels that were decided with past and future, and the motion solved on the way.

    frames: as labelled live; pairs: what they were labelled from; tracked: frames whose labels are to be believed, (N,); motion:
    solved from these labels.
    """
    n_frames, n_markers = len(frames), len(frames[0].valid)
    marker_m = solver.markers(motion)
    points = [match(pair, rig, settings, expected) for pair, expected in zip(pairs, marker_m, strict=True)]
    tracks = join_points(points, motion.seconds, marker_m)
    if not tracks.count:
        return list(frames), motion
    votes = live_votes(tracks, frames, tracked)

    def with_labels(label: Ints) -> list[MarkerFrame]:
        choices = (tracks.choice(n, label, n_markers) for n in range(n_frames))
        return [labelled_frame(f, pair, seen, rig, c) for f, pair, seen, c in zip(frames, pairs, points, choices, strict=True)]

    def known(labelled: Sequence[MarkerFrame]) -> Bools:
        return np.array([frame.valid for frame in labelled])

    free = np.full(tracks.count, NO_LABEL)
    costs = track_costs(tracks, marker_m, motion.seconds, known(frames) & tracked[:, None])
    label = assigned(tracks, costs, votes, free)
    doubt = doubtful(tracks, costs, label)
    if not doubt.any():
        return with_labels(label), motion
    sure = np.where(doubt, NO_LABEL, label)
    without = with_labels(sure)
    motion = solver.solve(without, motion, progress, rounds=1).motion
    costs = track_costs(tracks, solver.markers(motion), motion.seconds, known(without))
    return with_labels(assigned(tracks, costs, votes, sure)), motion
