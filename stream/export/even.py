"""A take at equal frame times, for formats that know one rate only."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from database.rotations import Floats, matrix_from_rotvec, rotvec_from_matrix
from reconstruct.pose import State
from stream.export.take import MarkerTracks, Take, frame_period_s

WHOLE_GAP = 1.5  # periods between two frames from which on one is missing between them
AT_FRAME = 0.05  # periods within which a marker's place is that of the frame itself
MAX_BRIDGE_S = 0.25  # through how long a silence joints are believed to have moved straight on


def evenly_timed(take: Take, fps: float | None = None) -> Take:
    """Resample to equal steps: rotations along the shortest arc, places linearly.

    fps: frames a second; None: as the cameras had it (`frame_period_s`). Formats with one fixed frame time would otherwise run
    fast over every gap. A frame takes the state of its nearest neighbour in time; beside a lost frame it holds the pose of the
    other neighbour. Made up in a silence of the cameras it is coasting, in one longer than MAX_BRIDGE_S lost. Markers are
    interpolated between neighbouring frames that both have them: their gaps stay gaps. Evenly timed takes come back as they are,
    up to rounding.
    """
    if len(take) < 2:
        return take
    recorded_s = frame_period_s(take.seconds)
    period_s = recorded_s if fps is None else 1.0 / fps
    # A hair more than whole steps, so that rounding does not cost the last frame.
    count = round(float(take.seconds[-1]) / period_s) if fps is None else int(float(take.seconds[-1]) / period_s + 1e-6)
    seconds = take.seconds[0] + np.arange(count + 1) * period_s
    after = np.clip(np.searchsorted(take.seconds, seconds), 1, len(take) - 1)
    gap_s = take.seconds[after] - take.seconds[after - 1]
    share = np.clip((seconds - take.seconds[after - 1]) / gap_s, 0.0, 1.0)
    pose_share = _away_from_lost(share, take.lost[after - 1], take.lost[after])
    R = matrix_from_rotvec(take.rotvec)
    step = rotvec_from_matrix(np.swapaxes(R[after - 1], -1, -2) @ R[after])
    return Take(
        skeleton=take.skeleton,
        seconds=seconds,
        states=_states(take.states, after, share, gap_s, recorded_s),
        rotvec=rotvec_from_matrix(R[after - 1] @ matrix_from_rotvec(pose_share[:, None, None] * step)),
        root_m=_between(take.root_m, after, pose_share),
        markers=None if take.markers is None else markers_at(take.markers, take.seconds, seconds),
        info=take.info,
    )


def held(take: Take) -> Take:
    """Let lost frames hold the last pose that is known, those at the start the first: for formats that know no gaps."""
    known = np.flatnonzero(~take.lost)
    if not len(known) or len(known) == len(take):
        return take
    source = known[np.clip(np.searchsorted(known, np.arange(len(take)), side="right") - 1, 0, None)]
    return replace(take, rotvec=take.rotvec[source], root_m=take.root_m[source])


def _between(values: Floats, after: NDArray[np.int64], share: Floats) -> Floats:
    """Interpolate linearly between the rows before and at `after`, (K, ...)."""
    s = share.reshape(-1, *[1] * (values.ndim - 1))
    return np.ascontiguousarray(values[after - 1] * (1.0 - s) + values[after] * s)


def _away_from_lost(share: Floats, lost_before: NDArray[np.bool_], lost_after: NDArray[np.bool_]) -> Floats:
    """Keep poses that mean nothing out of the mixture: 0 where only the later one is lost, 1 where only the earlier one is."""
    return np.where(lost_before == lost_after, share, np.where(lost_after, 0.0, 1.0))


def _states(
    states: tuple[State, ...], after: NDArray[np.int64], share: Floats, gap_s: Floats, period_s: float
) -> tuple[State, ...]:
    """Give the state of every new frame."""
    result = []
    for i, s, gap in zip(after, share, gap_s, strict=True):
        nearest = states[i - 1] if s < 0.5 else states[i]
        made_up = gap > WHOLE_GAP * period_s and min(s, 1.0 - s) * gap > 0.5 * period_s
        if made_up and nearest is not State.LOST:
            nearest = State.LOST if gap > max(MAX_BRIDGE_S, WHOLE_GAP * period_s) else State.COASTING
        result.append(nearest)
    return tuple(result)


def markers_at(markers: MarkerTracks, own_s: Floats, wanted_s: Floats) -> MarkerTracks:
    """Give markers at other times: between two neighbouring frames that both have one, or at a frame that has it.

    own_s: times of the frames, rising, (N,) [s]; wanted_s: (K,) [s].
    """
    if len(own_s) < 2:
        same = len(wanted_s) == len(own_s) and np.allclose(wanted_s, own_s)
        none = np.zeros((len(wanted_s), len(markers.names)), bool)
        return markers if same else MarkerTracks(markers.names, np.zeros((*none.shape, 3)), none)
    period_s = frame_period_s(own_s)
    after = np.clip(np.searchsorted(own_s, wanted_s), 1, len(own_s) - 1)
    gap_s = own_s[after] - own_s[after - 1]
    share = (wanted_s - own_s[after - 1]) / gap_s
    before, behind = markers.valid[after - 1], markers.valid[after]
    whole = (gap_s <= WHOLE_GAP * period_s) & (share >= 0.0) & (share <= 1.0)
    between = before & behind & whole[:, None]
    first = before & (np.abs(share) * gap_s <= AT_FRAME * period_s)[:, None] & ~between
    second = behind & (np.abs(1.0 - share) * gap_s <= AT_FRAME * period_s)[:, None] & ~between & ~first
    point_m = np.where(between[..., None], _between(markers.point_m, after, share), 0.0)
    point_m = np.where(first[..., None], markers.point_m[after - 1], point_m)
    point_m = np.where(second[..., None], markers.point_m[after], point_m)
    return MarkerTracks(markers.names, np.ascontiguousarray(point_m), between | first | second)
