"""What GLB and VRMA say of a take alike: its keys, the height at which its T-pose stands, where it comes from."""

from dataclasses import dataclass
from itertools import groupby

import numpy as np

from config.errors import FileFormatError
from database.rotations import Floats, quaternion_from_matrix
from database.skeleton import Skeleton
from stream.export.gltf import Tree, continuous
from stream.export.take import Take


@dataclass(frozen=True, slots=True)
class Keys:
    """The frames that are not lost, at their own times.

    seconds: rising also as float32, (K,); rotations: local, from the T-pose, (K, J, 3, 3); root_m: the hips' places, (K, 3) [m].
    """

    seconds: Floats
    rotations: Floats
    root_m: Floats


def keys_of(take: Take) -> Keys:
    """Give the frames that become keys; over a lost stretch a player interpolates, before the first and after the last it holds.

    Raises FileFormatError: every frame is lost.
    """
    kept = np.flatnonzero(~take.lost)
    if not len(kept):
        raise FileFormatError(f"no motion to write: all {len(take)} frames are lost; check the report or the calibration first")
    short = take.seconds[kept].astype(np.float32)
    kept = kept[np.concatenate([[True], np.diff(short) > 0])]
    return Keys(take.seconds[kept], take.local_rotations()[kept], take.root_m[kept])


def quaternions_of(rotations: Floats) -> Floats:
    """Give quaternions xyzw without jumps of sign over time: (K, 3, 3) -> (K, 4)."""
    return continuous(quaternion_from_matrix(rotations))


def standing_places_m(skeleton: Skeleton) -> Floats:
    """Give the joints of the T-pose with the feet on the ground below the origin, (J, 3) [m]."""
    rest = skeleton.rest_positions_m()
    return rest - [0.0, float((rest + skeleton.tails_m)[:, 1].min()), 0.0]


def extras_of(take: Take) -> Tree:
    """Give what readers that care find in `extras`: whose motion it is, its units, and the state of each stretch of frames."""
    info, seconds = take.info, take.seconds
    spans = []
    for state, frames in groupby(range(len(take)), key=lambda frame: take.states[frame]):
        run = list(frames)
        spans.append({"state": state.value, "from_s": round(seconds[run[0]], 6), "to_s": round(seconds[run[-1]], 6)})
    tracked = sum(state.value == "tracking" for state in take.states) / len(take)
    said = {"subject": info.subject, "session": info.session, "recorded": info.recorded, "source": info.source}
    return {
        **{name: text for name, text in said.items() if text},
        "units": "m",
        "floor_known": info.floor_known,
        "frames": len(take),
        "tracked": round(tracked, 6),
        "states": spans,
    }
