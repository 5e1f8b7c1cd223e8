"""C3D (c3d.org, the C3D File Format user guide): joint centres and measured markers in millimetres, Y up, at one rate; forces of
the ground as force plates (`plates`), events of the feet as the group EVENT (`events`).

Blocks of 512 bytes, little-endian ("Intel"): a header, parameters in groups, then the frames. A frame has four floats a point: x,
y, z and, in one number, the first seven cameras that saw it (bits, high byte) and its residual (low byte), -1 where it was not
seen; then one float a channel of the plates. Joint centres and filled gaps of markers are computed: no camera, residual 0. Of
measured markers whose cameras nobody knows the residual is 1 unit of the scale. A record of a parameter is the
length of its name, its group's number (negative for the group), the name, the offset of the next record, and for a parameter its
type (-1 text, 2 integer, 4 float), dimensions, values and description.
"""

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from capture.rate import estimate_frame_period_s
from config.arrays import Floats, Ints
from config.files import write_atomically
from config.units import MM_PER_M
from stream.export.events import GaitEvent, describe_events
from stream.export.plates import ForcePlates, plates_from_forces
from stream.export.points import PointTable, convert_to_ascii, points_from_take
from stream.take.resampling import resample_evenly
from stream.take.take import Take, find_software_version

BLOCK = 512
INTEL = 84
MAX_TEXT = 120
MAX_BLOCKS = 255
SEVEN_CAMERAS = 0b1111111  # a word has bits for so many, the eighth is its sign
UNSEEN = -1.0
MAX_WORD = 0xFFFF  # of the header and of integer parameters
MAX_TEXTS = 255  # in one parameter; further names are in LABELS2

Value = str | int | float | Sequence[str] | Sequence[int] | Floats | Ints
Groups = Mapping[str, Mapping[str, Value]]


def encode_parameters(groups: Groups) -> bytes:
    """Return the parameter section in whole blocks; its size does not depend on the values of numbers."""
    records = b""
    for number, (group, parameters) in enumerate(groups.items(), 1):
        records += _encode_record(-number, group, b"\0")
        for name, value in parameters.items():
            records += _encode_record(number, name, _encode_value(value) + b"\0")
    size = 4 + len(records) + 2  # two zeros: no more records
    n_blocks = -(-size // BLOCK)
    assert n_blocks <= MAX_BLOCKS
    return (struct.pack("<4B", 1, 0x50, n_blocks, INTEL) + records).ljust(n_blocks * BLOCK, b"\0")


def _encode_record(group: int, name: str, body: bytes) -> bytes:
    """Return one record; the offset of the next is relative to its own position."""
    return struct.pack("<bb", len(name), group) + name.encode("ascii") + struct.pack("<H", 2 + len(body)) + body


def _encode_value(value: Value) -> bytes:
    """Return type, dimensions and values; integers are unsigned words, for more than 32767 frames."""
    if isinstance(value, str):
        return struct.pack("<bBB", -1, 1, len(_encode_cell(value))) + _encode_cell(value)
    if isinstance(value, int):
        return struct.pack("<bBH", 2, 0, value)
    if isinstance(value, float):
        return struct.pack("<bBf", 4, 0, value)
    if isinstance(value, np.ndarray):  # the first dimension changes fastest
        kind, dtype = (2, "<u2") if value.dtype.kind == "i" else (4, "<f4")
        head = struct.pack(f"<bB{value.ndim}B", kind, value.ndim, *reversed(value.shape))
        return head + np.ascontiguousarray(value, dtype).tobytes()
    if all(isinstance(item, int) for item in value):
        return struct.pack(f"<bBB{len(value)}H", 2, 1, len(value), *value)
    cells = [_encode_cell(str(item)) for item in value]
    width = max((len(cell) for cell in cells), default=1)
    return struct.pack("<bBBB", -1, 2, width, len(cells)) + b"".join(cell.ljust(width) for cell in cells)


def _encode_cell(text: str) -> bytes:
    """Return a text of 1 to MAX_TEXT letters: its length is one byte, and some readers fail at zero."""
    return (text[:MAX_TEXT] or " ").encode("ascii", "replace")


def write_c3d(file: Path, take: Take, events: Sequence[GaitEvent] = ()) -> None:
    """Write joint centres and markers, resampled to equal frame times, and events of the take."""
    write_atomically(file, encode_c3d(take, events))


def encode_c3d(take: Take, events: Sequence[GaitEvent] = ()) -> bytes:
    """Return a take, and its events, as the bytes of a C3D file."""
    even = resample_evenly(take)
    points, plates = points_from_take(even), plates_from_forces(even.forces, len(even))
    rate_hz = 1.0 / estimate_frame_period_s(even.seconds)
    largest_mm = float(np.abs(points.point_m).max(initial=0.0)) * MM_PER_M
    # Negative: the data are floats. Its magnitude would scale them as integers.
    scale = -max(largest_mm / 32000.0, 0.01)
    more: dict[str, Mapping[str, Value]] = {}
    channels, per_frame = plates.channels, 1
    if take.extras is not None and len(take.extras.samples) == len(even):
        more, channels, per_frame = dict(take.extras.groups), take.extras.samples, take.extras.per_frame
    if events:
        more["EVENT"] = describe_events(events, convert_to_ascii(take.info.subject))
    n_blocks = len(encode_parameters({**_build_groups(take, points, plates, rate_hz, scale, 0), **more})) // BLOCK
    data_block = 2 + n_blocks
    parameters = encode_parameters({**_build_groups(take, points, plates, rate_hz, scale, data_block), **more})
    n_frames, n_points = points.valid.shape
    counts = struct.pack("<BB5H", 2, 0x50, n_points, channels.shape[1], 1, min(n_frames, MAX_WORD), 10)
    header = (counts + struct.pack("<fHHf", scale, data_block, per_frame, rate_hz)).ljust(BLOCK, b"\0")
    frames = np.concatenate([_build_frames(points), channels], axis=1)
    return header + parameters + frames.astype("<f4").tobytes()


def _build_frames(points: PointTable) -> Floats:
    """Return four numbers a point, (N, 4 P)."""
    fourth = np.where(points.valid, (points.cameras & SEVEN_CAMERAS).astype(float) * 256.0 + points.measured, UNSEEN)
    n_frames, n_points = points.valid.shape
    return np.concatenate([points.point_m * MM_PER_M, fourth[..., None]], axis=2).reshape(n_frames, 4 * n_points)


def _build_groups(take: Take, points: PointTable, plates: ForcePlates, rate_hz: float, scale: float, data_block: int) -> Groups:
    """Return the parameters; take: as recorded, before resampling."""
    n_frames, n_points = points.valid.shape
    info = take.info
    point = {
        "USED": n_points,
        "SCALE": scale,
        "RATE": rate_hz,
        "DATA_START": data_block,
        "FRAMES": min(n_frames, MAX_WORD),
        "LONG_FRAMES": float(n_frames),
        "UNITS": "mm",
        "X_SCREEN": "+X",
        "Y_SCREEN": "+Y",
        **_split_texts("LABELS", points.names),
        **_split_texts("DESCRIPTIONS", points.descriptions),
    }
    trial = {
        "ACTUAL_START_FIELD": [1, 0],
        "ACTUAL_END_FIELD": [n_frames & MAX_WORD, n_frames >> 16],
        "CAMERA_RATE": rate_hz,
        "DATE": info.recorded[:10],
    }
    ours = {
        "SESSION": convert_to_ascii(info.session),
        "RECORDED": convert_to_ascii(info.recorded),
        "SOURCE": convert_to_ascii(info.source),
        "FLOOR_KNOWN": 1,
        "ORIGINAL_FRAMES": float(len(take)),
        "ORIGINAL_SECONDS": float(np.ptp(take.seconds)) if len(take) else 0.0,
        "LONGEST_GAP": float(np.diff(take.seconds).max(initial=0.0)),
        **({} if take.forces is None else {"BODY_MASS": take.forces.mass_kg}),
    }
    return {
        "POINT": point,
        "ANALOG": {"USED": len(plates.labels), "GEN_SCALE": 1.0, "RATE": rate_hz, **plates.analog()},
        "FORCE_PLATFORM": plates.parameters(),
        "TRIAL": trial,
        "SUBJECTS": {"IS_STATIC": 0, "USES_PREFIXES": 0, "USED": 1, "NAMES": [convert_to_ascii(info.subject)]},
        "MANUFACTURER": {"COMPANY": "duocap", "SOFTWARE": "duocap", "VERSION_LABEL": find_software_version()},
        "DUOCAP": ours,
    }


def _split_texts(name: str, texts: Sequence[str]) -> dict[str, Sequence[str]]:
    """Return texts as NAME, NAME2, ... of at most MAX_TEXTS each."""
    starts = range(0, max(len(texts), 1), MAX_TEXTS)
    return {f"{name}{k if k > 1 else ''}": texts[start : start + MAX_TEXTS] for k, start in enumerate(starts, 1)}
