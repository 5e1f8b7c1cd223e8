"""A part of a take, or the same motion on the spot."""

from dataclasses import replace

import numpy as np

from config.errors import DuocapError
from stream.export.take import MarkerTracks, Take


def between(take: Take, from_s: float = 0.0, to_s: float = np.inf) -> Take:
    """Give the frames between two times from the take's first frame; the part begins at 0 again.

    Raises DuocapError: no frame lies between them.
    """
    kept = np.flatnonzero((take.seconds >= from_s - 1e-9) & (take.seconds <= to_s + 1e-9))
    if not len(kept):
        end_s = float(take.seconds[-1]) if len(take) else 0.0
        asked = f"from {from_s:g} s on" if np.isinf(to_s) else f"from {from_s:g} to {to_s:g} s"
        raise DuocapError(f"nothing is left {asked}; the recording is {end_s:.2f} s long, choose other times")
    markers = take.markers
    if markers is not None:
        markers = MarkerTracks(markers.names, markers.point_m[kept], markers.valid[kept])
    return Take(
        skeleton=take.skeleton,
        seconds=take.seconds[kept] - take.seconds[kept[0]],
        states=tuple(take.states[n] for n in kept),
        rotvec=take.rotvec[kept],
        root_m=take.root_m[kept],
        markers=markers,
        info=take.info,
    )


def in_place(take: Take) -> Take:
    """Take out where the hips go over the floor, for engines that move a character themselves; heights stay."""
    away_m = take.root_m * (1.0, 0.0, 1.0)
    markers = take.markers
    if markers is not None:
        point_m = np.where(markers.valid[..., None], markers.point_m - away_m[:, None], 0.0)
        markers = replace(markers, point_m=point_m)
    return replace(take, root_m=take.root_m - away_m, markers=markers)
