"""The points of a take as TRC and C3D hold them: joint centres first, then measured markers, under names that are legal there."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from config.joints import JOINTS
from database.rotations import Floats
from stream.export.take import Take

MAX_NAME = 60
JOINT_WORDS, MARKER_WORDS = "joint centre, from the pose", "marker, measured"


@dataclass(frozen=True, slots=True)
class Points:
    """What a file of points holds.

    names: P, unique, of letters, digits, `_`, `.` and `-`; words: what each is; measured: which are markers, (P,);
    point_m: (N, P, 3) [m], zero where not valid; valid: (N, P).
    """

    names: tuple[str, ...]
    words: tuple[str, ...]
    measured: NDArray[np.bool_]
    point_m: Floats
    valid: NDArray[np.bool_]


def points_of(take: Take) -> Points:
    """Give joint centres, unknown in lost frames, and markers, unknown where they were not measured."""
    joint_m = take.positions_m()
    known = np.repeat(~take.lost[:, None], len(JOINTS), axis=1)
    joint_m = np.where(known[..., None], joint_m, 0.0)
    if take.markers is None:
        return Points(JOINTS, (JOINT_WORDS,) * len(JOINTS), np.zeros(len(JOINTS), bool), joint_m, known)
    n = len(take.markers.names)
    return Points(
        names=unique_names([*JOINTS, *take.markers.names]),
        words=(JOINT_WORDS,) * len(JOINTS) + (MARKER_WORDS,) * n,
        measured=np.repeat([False, True], [len(JOINTS), n]),
        point_m=np.concatenate([joint_m, np.where(take.markers.valid[..., None], take.markers.point_m, 0.0)], axis=1),
        valid=np.concatenate([known, take.markers.valid], axis=1),
    )


def unique_names(names: Sequence[str]) -> tuple[str, ...]:
    """Give names in plain letters, none twice whatever the case: a later one gets `_marker` behind it, then a number."""
    taken: set[str] = set()
    result = []
    for name in names:
        plain = _plain(name)
        tries = [plain, f"{plain}_marker", *(f"{plain}_{k}" for k in range(2, len(names) + 2))]
        chosen = next(text for text in tries if text.lower() not in taken)
        taken.add(chosen.lower())
        result.append(chosen)
    return tuple(result)


def _plain(name: str) -> str:
    """Replace whatever is no letter, digit, `_`, `.` or `-`."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", ascii_text(name)).strip("_")[:MAX_NAME] or "point"


def ascii_text(text: str) -> str:
    """Take the accents off, and leave out what has no place in ASCII even so."""
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")
