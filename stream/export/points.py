"""The points of a take for TRC and C3D: joint centres, then measured markers, under names that are valid there."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from config.arrays import Floats
from config.joints import JOINTS
from stream.take.take import Take

MAX_NAME = 60
JOINT_DESCRIPTION, MARKER_DESCRIPTION = "joint centre, from the pose", "marker, measured"


@dataclass(frozen=True, slots=True)
class PointTable:
    """Points by frame.

    Attributes:
        names: P, unique, of letters, digits, `_`, `.` and `-`.
        descriptions: (P,).
        point_m: (N, P, 3) [m], zero where not valid.
        valid: (N, P).
        cameras: cameras that saw each point, one bit for every camera, (N, P); 0 for computed points.
        measured: points of which nobody knows which cameras measured them, (N, P).
    """

    names: tuple[str, ...]
    descriptions: tuple[str, ...]
    point_m: Floats
    valid: NDArray[np.bool_]
    cameras: NDArray[np.uint8]
    measured: NDArray[np.bool_]


def points_from_take(take: Take) -> PointTable:
    """Return joint centres, valid except in lost frames, and markers, valid where they were measured."""
    joint_m = take.positions_m()
    known = np.repeat(~take.lost[:, None], len(JOINTS), axis=1)
    joint_m = np.where(known[..., None], joint_m, 0.0)
    computed = np.zeros(known.shape, np.uint8)
    if take.markers is None:
        return PointTable(JOINTS, (JOINT_DESCRIPTION,) * len(JOINTS), joint_m, known, computed, computed > 0)
    n, cameras = len(take.markers.names), take.markers.cameras
    seen = np.zeros(take.markers.valid.shape, np.uint8) if cameras is None else cameras
    filled = take.markers.filled
    measured = np.zeros(seen.shape, bool) if filled is None else take.markers.valid & ~filled & (seen == 0)
    return PointTable(
        names=make_names_unique([*JOINTS, *take.markers.names]),
        descriptions=(JOINT_DESCRIPTION,) * len(JOINTS) + (MARKER_DESCRIPTION,) * n,
        point_m=np.concatenate([joint_m, np.where(take.markers.valid[..., None], take.markers.point_m, 0.0)], axis=1),
        valid=np.concatenate([known, take.markers.valid], axis=1),
        cameras=np.concatenate([computed, seen], axis=1),
        measured=np.concatenate([computed > 0, measured], axis=1),
    )


def make_names_unique(names: Sequence[str]) -> tuple[str, ...]:
    """Return names in ASCII, unique without regard to case: a repeated one gets the suffix `_marker`, then a number."""
    taken: set[str] = set()
    result = []
    for name in names:
        plain = _replace_special_characters(name)
        tries = [plain, f"{plain}_marker", *(f"{plain}_{k}" for k in range(2, len(names) + 2))]
        chosen = next(text for text in tries if text.lower() not in taken)
        taken.add(chosen.lower())
        result.append(chosen)
    return tuple(result)


def _replace_special_characters(name: str) -> str:
    """Replace everything but letters, digits, `_`, `.` and `-`."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", convert_to_ascii(name)).strip("_")[:MAX_NAME] or "point"


def convert_to_ascii(text: str) -> str:
    """Remove accents and all other characters outside ASCII."""
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")
