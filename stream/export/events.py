"""Events of a take, such as a foot that strikes the ground, for formats that can store them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from config.arrays import Floats, Ints

MAX_EVENTS = 255  # in one parameter of C3D; further ones are in LABELS2 and so on
SIDES = ("Left", "Right")


class GaitEventKind(StrEnum):
    """What a foot does, as C3D files call it."""

    FOOT_STRIKE = "Foot Strike"
    FOOT_OFF = "Foot Off"


@dataclass(frozen=True, slots=True)
class GaitEvent:
    """An event of a foot. seconds: since the first frame; foot: 0 for the left one, 1 for the right."""

    seconds: float
    foot: int
    kind: GaitEventKind


EventValue = int | Sequence[str] | Floats | Ints


def describe_events(events: Sequence[GaitEvent], subject: str) -> Mapping[str, EventValue]:
    """Return the parameters of the group EVENT of a C3D file; subject: name in its group SUBJECTS."""
    out: dict[str, EventValue] = {"USED": len(events)}
    for number, first in enumerate(range(0, len(events), MAX_EVENTS), 1):
        part = events[first : first + MAX_EVENTS]
        suffix = str(number) if number > 1 else ""
        n = len(part)
        out |= {
            f"CONTEXTS{suffix}": [SIDES[event.foot] for event in part],
            f"LABELS{suffix}": [event.kind.value for event in part],
            f"DESCRIPTIONS{suffix}": [""] * n,
            f"TIMES{suffix}": np.array([divmod(event.seconds, 60.0) for event in part]),
            f"SUBJECTS{suffix}": [subject] * n,
            f"ICON_IDS{suffix}": np.array([1 if event.kind is GaitEventKind.FOOT_STRIKE else 2 for event in part], np.int64),
            f"GENERIC_FLAGS{suffix}": np.zeros(n, np.int64),
        }
    return out
