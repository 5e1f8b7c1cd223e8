"""A take at equal frame times, for formats with one rate: that of the camera, as its stamps tell it."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from capture.rate import MIN_GAP, count_missing_frames, estimate_frame_period_s
from config.arrays import Floats
from database.geometry.rotations import matrix_from_rotvec, rotvec_from_matrix
from reconstruct.pose import TrackingState
from stream.take.take import MarkerTracks, Take

AT_FRAME = 0.05  # periods within which a marker's position is that of the frame
MAX_BRIDGE_S = 0.25  # gap over which joints may be interpolated


def resample_evenly(take: Take, fps: float | None = None) -> Take:
    """Resample to equal steps: rotations along the shortest arc, positions linearly.

    fps: frames a second; None: the recorded rate (`estimate_frame_period_s`). The last frame is the one nearest to the take's
    end, where the pose is held. A frame has the state of its nearest neighbour in time; next
    to a lost frame it has the pose of the other neighbour. In a gap of the recording it is coasting, in one longer than
    MAX_BRIDGE_S lost. Markers are interpolated between neighbouring frames that both have them, so their gaps remain. An evenly
    timed take is unchanged up to rounding.
    """
    if len(take) < 2:
        return take
    recorded_s = estimate_frame_period_s(take.seconds)
    period_s = recorded_s if fps is None else 1.0 / fps
    count = round(float(take.seconds[-1]) / period_s)
    seconds = take.seconds[0] + np.arange(count + 1) * period_s
    after = np.clip(np.searchsorted(take.seconds, seconds), 1, len(take) - 1)
    gap_s = take.seconds[after] - take.seconds[after - 1]
    share = np.clip((seconds - take.seconds[after - 1]) / gap_s, 0.0, 1.0)
    before, later = take.lost[after - 1], take.lost[after]
    pose_share = np.where(before == later, share, np.where(later, 0.0, 1.0))  # none of a lost pose beside another
    R = matrix_from_rotvec(take.rotvec)
    step = rotvec_from_matrix(np.swapaxes(R[after - 1], -1, -2) @ R[after])
    return Take(
        skeleton=take.skeleton,
        seconds=seconds,
        states=_resample_states(
            take.states, after, share, np.where(count_missing_frames(take.seconds)[after - 1] > 0, gap_s, 0.0), recorded_s
        ),
        rotvec=rotvec_from_matrix(R[after - 1] @ matrix_from_rotvec(pose_share[:, None, None] * step)),
        root_m=_interpolate_linearly(take.root_m, after, pose_share),
        markers=None if take.markers is None else resample_markers(take.markers, take.seconds, seconds),
        info=take.info,
        forces=None if take.forces is None else take.forces.between(after, share),
        error_m=None if take.error_m is None else np.maximum(take.error_m[after - 1], take.error_m[after]),
        props=take.props,
    )


def fill_lost_frames(take: Take) -> Take:
    """Return a take whose lost frames have the last known pose, the first known one at the start: for formats without gaps."""
    known = np.flatnonzero(~take.lost)
    if not len(known) or len(known) == len(take):
        return take
    source = known[np.clip(np.searchsorted(known, np.arange(len(take)), side="right") - 1, 0, None)]
    return replace(take, rotvec=take.rotvec[source], root_m=take.root_m[source])


def _interpolate_linearly(values: Floats, after: NDArray[np.int64], share: Floats) -> Floats:
    """Interpolate linearly between the rows before and at `after`, (K, ...)."""
    s = share.reshape(-1, *[1] * (values.ndim - 1))
    return np.ascontiguousarray(values[after - 1] * (1.0 - s) + values[after] * s)


def _resample_states(
    states: tuple[TrackingState, ...], after: NDArray[np.int64], share: Floats, gap_s: Floats, period_s: float
) -> tuple[TrackingState, ...]:
    """Return the state of every new frame. gap_s: between the frames around it, 0 where none is missing."""
    result = []
    for i, s, gap in zip(after, share, gap_s, strict=True):
        nearest = states[i - 1] if s < 0.5 else states[i]
        invented = min(s, 1.0 - s) * gap > 0.5 * period_s
        if invented and nearest is not TrackingState.LOST:
            nearest = TrackingState.LOST if gap > max(MAX_BRIDGE_S, MIN_GAP * period_s) else TrackingState.COASTING
        result.append(nearest)
    return tuple(result)


def resample_markers(markers: MarkerTracks, own_s: Floats, wanted_s: Floats) -> MarkerTracks:
    """Return markers at other times: interpolated between two neighbouring frames that both have one, or of a frame at that time.

    Args:
        markers: the markers at their own times.
        own_s: times of the frames, increasing, (N,) [s].
        wanted_s: (K,) [s].
    """
    if len(own_s) < 2:
        same = len(wanted_s) == len(own_s) and np.allclose(wanted_s, own_s)
        none = np.zeros((len(wanted_s), len(markers.names)), bool)
        return markers if same else MarkerTracks(markers.names, np.zeros((*none.shape, 3)), none)
    period_s = estimate_frame_period_s(own_s)
    after = np.clip(np.searchsorted(own_s, wanted_s), 1, len(own_s) - 1)
    gap_s = own_s[after] - own_s[after - 1]
    share = (wanted_s - own_s[after - 1]) / gap_s
    before, later = markers.valid[after - 1], markers.valid[after]
    bridged = (count_missing_frames(own_s)[after - 1] == 0) & (share >= 0.0) & (share <= 1.0)
    between = before & later & bridged[:, None]
    first = before & (np.abs(share) * gap_s <= AT_FRAME * period_s)[:, None] & ~between
    second = later & (np.abs(1.0 - share) * gap_s <= AT_FRAME * period_s)[:, None] & ~between & ~first
    point_m = np.where(between[..., None], _interpolate_linearly(markers.point_m, after, share), 0.0)
    point_m = np.where(first[..., None], markers.point_m[after - 1], point_m)
    point_m = np.where(second[..., None], markers.point_m[after], point_m)
    nearest = np.where(share < 0.5, after - 1, after)
    cameras = None if markers.cameras is None else markers.cameras[nearest]
    filled = None if markers.filled is None else markers.filled[nearest]
    return MarkerTracks(markers.names, np.ascontiguousarray(point_m), between | first | second, cameras, filled)
