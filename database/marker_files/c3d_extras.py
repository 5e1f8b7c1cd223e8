"""What a C3D file has beside its points, as it is, to be written again: analog channels, force plates and events."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from config.arrays import Floats, Ints
from config.units import MM_PER_M
from database.marker_files.c3d import C3dContent, open_c3d, read_frames
from database.marker_files.checks import UNITS_M

GROUPS = ("ANALOG", "FORCE_PLATFORM", "EVENT", "EVENT_CONTEXT")
Value = str | list[str] | Floats | Ints


@dataclass(frozen=True, slots=True)
class C3dExtras:
    """Channels, plates and events.

    Attributes:
        groups: their parameters, by group and name; corners of plates in millimetres with y up, times from the first frame on.
        samples: stored numbers of the channels, all those of a frame in a row, (N, S).
        per_frame: samples of one channel in a frame.
    """

    groups: Mapping[str, Mapping[str, Value]]
    samples: Floats
    per_frame: int


def read_c3d_extras(path: Path, turn: Floats) -> C3dExtras:
    """Read what a file has beside its points.

    Args:
        path: the file.
        turn: from its axes to y up, a rotation, (3, 3).
    Raises: FileFormatError.
    """
    content = open_c3d(path)
    groups: dict[str, dict[str, Value]] = {}
    for name in content.parameters:
        group, _, own = name.partition(":")
        if group in GROUPS:
            groups.setdefault(group, {})[own] = _convert_value(content, name)
    _place_plates(content, groups.get("FORCE_PLATFORM", {}), turn)
    _shift_events(content, groups.get("EVENT", {}))
    samples = read_frames(path, content)[:, 4 * content.header("H", 2) :]
    return C3dExtras(groups, samples, max(content.header("H", 18), 1))


def _convert_value(content: C3dContent, name: str) -> Value:
    """Return a parameter as text, texts or numbers, these with the dimension that changes fastest last."""
    found = content.parameters[name]
    if found.is_text:
        texts = content.texts(name)
        return texts if len(found.dimensions) > 1 else "".join(texts)
    numbers = content.numbers(name).reshape(found.dimensions[::-1])
    return numbers if found.is_float else numbers.astype(np.int64)


def _place_plates(content: C3dContent, plates: dict[str, Value], turn: Floats) -> None:
    """Turn the corners of plates, and bring them and their origins to millimetres."""
    units = content.texts("POINT:UNITS")
    to_mm = MM_PER_M * UNITS_M.get(units[0].lower() if units else "mm", UNITS_M["mm"])
    for name, axes in (("CORNERS", turn), ("ORIGIN", np.eye(3))):
        value = plates.get(name)
        if isinstance(value, np.ndarray) and value.shape[-1:] == (3,):
            plates[name] = to_mm * (value @ axes.T)


def _shift_events(content: C3dContent, events: dict[str, Value]) -> None:
    """Count times, minutes and seconds, from the first frame that is in the file; it may be a later one of the recording."""
    first, rate_hz = content.number("TRIAL:ACTUAL_START_FIELD"), content.number("POINT:RATE")
    late_s = (first - 1.0) / rate_hz if first > 1.0 and rate_hz > 0.0 else 0.0
    for name, value in events.items():
        if name.startswith("TIMES") and isinstance(value, np.ndarray) and value.shape[-1:] == (2,):
            seconds = value @ (60.0, 1.0) - late_s
            events[name] = np.stack([seconds // 60.0, seconds % 60.0], axis=-1)
