"""Doubts about a labelled frame that only the solved pose can raise."""

import numpy as np

from capture.packets import MarkerFrame
from reconstruct.pose import Pose

MIN_GAIN_M = 0.05
NEAR_M = 0.35


def swapped_markers(pose: Pose, frame: MarkerFrame) -> list[tuple[int, int]]:
    """Give pairs of markers whose points fit the pose much better the other way round.

    A pair is suspected when exchanging the two labels lowers the root mean square residual by half and by at least 5 cm.
    """
    valid = np.flatnonzero(pose.measured)
    found = []
    for n, a in enumerate(valid):
        for b in valid[n + 1 :]:
            if np.linalg.norm(frame.point_m[a] - frame.point_m[b]) > NEAR_M:
                continue
            kept = _rms(pose.marker_m[[a, b]], frame.point_m[[a, b]])
            exchanged = _rms(pose.marker_m[[a, b]], frame.point_m[[b, a]])
            if exchanged < 0.5 * kept and kept - exchanged > MIN_GAIN_M:
                found.append((int(a), int(b)))
    return found


def _rms(first: np.ndarray, second: np.ndarray) -> float:
    """Give the root mean square distance of corresponding points."""
    return float(np.sqrt(np.mean(np.sum((first - second) ** 2, axis=1))))
