"""The points of a C3D file over time, from the format's own guide (c3d.org): every count is compared with the file's size first.

Blocks of 512 bytes: a header, the parameters, which are records of a name, a type, dimensions and values in groups, then frames,
each of points (x, y, z and a residual that is negative where the point was not seen) and of samples of other channels.
"""

import math
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from config.arrays import Bools, Floats
from config.errors import FileFormatError
from config.words import format_count
from database.files.source_motion import read_file_bytes
from database.marker_files.checks import check_rate_hz, find_unit_m, strip_subjects

BLOCK = 512
MAGIC = 0x50
INTEL, DEC, MIPS = 84, 85, 86  # processor types: order of bytes, and how floats are stored
MOST_FRAMES = 0xFFFF  # that fit the header; longer takes have this there
TEXT, BYTE, WORD, FLOAT = -1, 1, 2, 4  # types of parameters, the sizes of their elements


@dataclass(frozen=True, slots=True)
class C3dPoints:
    """Points over time, in the file's own axes.

    labels: M, without the subject's name before a colon where there is one subject; fps: frames a second; point_m: (N, M, 3) [m],
    zero where not valid; valid: (N, M); up: the axis that points up on the file's screen, such as `+Z`, empty where the file does
    not say.
    """

    labels: tuple[str, ...]
    fps: float
    point_m: Floats
    valid: Bools
    up: str


@dataclass(frozen=True, slots=True)
class _Parameter:
    """A parameter's type, dimensions and bytes."""

    kind: int
    dimensions: tuple[int, ...]
    data: bytes

    @property
    def is_text(self) -> bool:
        """Whether it is one text or several."""
        return self.kind == TEXT

    @property
    def is_float(self) -> bool:
        """Whether its numbers are not whole ones."""
        return self.kind == FLOAT


class C3dContent:
    """The bytes of a file and its parameters by `GROUP:NAME`, with numbers as its processor has them."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.start = BLOCK * (data[0] - 1)
        self.processor = data[self.start + 3]
        self.order = ">" if self.processor == MIPS else "<"
        self.parameters = self._read_parameters()

    def header(self, kind: str, offset: int) -> int:
        """Return a whole number of the header."""
        return int(struct.unpack_from(self.order + kind, self.data, offset)[0])

    def floats(self, data: bytes) -> Floats:
        """Return bytes as numbers of four bytes each."""
        if self.processor == DEC:  # its halves are swapped, its exponent is larger by two
            data = np.frombuffer(data, "<u2").reshape(-1, 2)[:, ::-1].tobytes()
        with np.errstate(invalid="ignore"):  # of damaged numbers
            return np.frombuffer(data, f"{self.order}f4").astype(float) * (0.25 if self.processor == DEC else 1.0)

    def texts(self, name: str) -> list[str]:
        """Return the texts of a parameter, none if it is missing."""
        found = self.parameters.get(name)
        if found is None or found.kind != TEXT:
            return []
        width = found.dimensions[0] if found.dimensions else 1
        count = len(found.data) // max(width, 1)
        return [_decode_label(found.data[n * width : (n + 1) * width]) for n in range(count)]

    def numbers(self, name: str) -> Floats:
        """Return the numbers of a parameter in the order in which they are stored, none if it is missing."""
        found = self.parameters.get(name)
        if found is None or not found.data or found.kind == TEXT:
            return np.zeros(0)
        if found.kind == FLOAT:
            return self.floats(found.data)
        return np.frombuffer(found.data, f"{self.order}i2" if found.kind == WORD else "u1").astype(float)

    def number(self, name: str) -> float:
        """Return the number of a parameter, of two words the lower one first; NaN if it is missing."""
        found = self.parameters.get(name)
        if found is None or not found.data or found.kind == TEXT:
            return math.nan
        if found.kind == FLOAT:
            return float(self.floats(found.data[:4])[0])
        words = np.frombuffer(found.data, f"{self.order}u2" if found.kind == WORD else "u1").astype(int)
        return float(words[0] + (words[1] << 16 if found.kind == WORD and len(words) == 2 else 0))

    def _read_parameters(self) -> dict[str, _Parameter]:
        """Return all parameters. Raises ValueError, struct.error: a record reaches beyond the file."""
        groups: dict[int, str] = {}
        found: list[tuple[int, str, _Parameter]] = []
        at = self.start + 4
        while at + 2 < len(self.data) and self.data[at]:
            length, group = struct.unpack_from("bb", self.data, at)
            name = _decode_label(self.data[at + 2 : at + 2 + abs(length)]).upper()
            at += 2 + abs(length)
            (step,) = struct.unpack_from(self.order + "H", self.data, at)
            if group < 0:
                groups[-group] = name
            elif group > 0:
                found.append((group, name, self._read_values(name, at + 2)))
            if step == 0:
                break
            at += step
        return {f"{groups.get(group, '')}:{name}": values for group, name, values in found}

    def _read_values(self, name: str, at: int) -> _Parameter:
        """Return the values of a parameter. Raises ValueError."""
        kind, n_dimensions = struct.unpack_from("bB", self.data, at)
        dimensions = tuple(self.data[at + 2 : at + 2 + n_dimensions])
        first, size = at + 2 + n_dimensions, abs(kind) * math.prod(dimensions)
        if kind not in (TEXT, BYTE, WORD, FLOAT) or len(self.data) < first + size:
            raise ValueError(f"parameter {name!r} is cut short or of no known type")
        return _Parameter(kind, dimensions, self.data[first : first + size])


def read_c3d(path: Path, unit: str = "") -> C3dPoints:
    """Read the points of a file.

    Args:
        path: the file.
        unit: of its points, if not the one it names; one of `UNITS_M`.
    Raises: FileFormatError: not C3D, damaged, cut short, without points, of an unknown unit or rate.
    """
    content = open_c3d(path)
    n_points, header_hz = content.header("H", 2), float(content.floats(content.data[20:24])[0])
    if n_points == 0:
        raise FileFormatError(f"{path}: {_describe_other_content(content)}")
    frames, scale = read_frames(path, content), float(content.floats(content.data[12:16])[0])
    # Whole numbers are times the scale, of which floats have none.
    stored = frames[:, : 4 * n_points].reshape(len(frames), n_points, 4) * (1.0 if scale < 0 else abs(scale))
    point, valid = _find_valid(stored)
    rate_hz = next((hz for hz in (header_hz, content.number("POINT:RATE")) if hz > 0.0), header_hz)
    units, up = content.texts("POINT:UNITS"), content.texts("POINT:Y_SCREEN")
    unit_m = find_unit_m(path, units[0] if units else "", point, valid, unit)
    return C3dPoints(
        _read_labels(content, n_points), check_rate_hz(path, rate_hz, "its rate"), point * unit_m, valid, up[0] if up else ""
    )


def open_c3d(path: Path) -> C3dContent:
    """Read a file's parameters. Raises FileFormatError: not C3D, or damaged."""
    data = read_file_bytes(path)
    if len(data) < 2 * BLOCK or data[1] != MAGIC:
        raise FileFormatError(f"{path}: no C3D file; expected byte 2 to be 0x50 and at least {2 * BLOCK} bytes, got {len(data)}")
    start = BLOCK * (data[0] - 1)
    if start < BLOCK or start + 4 > len(data) or data[start + 3] not in (INTEL, DEC, MIPS):
        found = data[start + 3] if 0 <= start < len(data) - 3 else "none"
        raise FileFormatError(
            f"{path}: its parameters, from byte {start} on, are of the processor type {found}; expected 84, 85 or 86"
        )
    try:
        return C3dContent(data)
    except (ValueError, struct.error) as error:
        raise FileFormatError(f"{path}: its header or parameters are damaged ({error}); export it again") from error


def read_analog(path: Path, content: C3dContent) -> tuple[Floats, float]:
    """Return the samples of a file's analog channels, (channels, samples), scaled, and how many there are a second.

    Args:
        path: the file, for messages.
        content: its parameters and data.
    Raises: FileFormatError: there are none.
    """
    frames, n_points = read_frames(path, content), content.header("H", 2)
    per_frame = max(content.header("H", 18), 1)
    n_channels = (frames.shape[1] - 4 * n_points) // per_frame
    if n_channels == 0:
        raise FileFormatError(f"{path}: no analog channels in it")
    raw = frames[:, 4 * n_points :].reshape(-1, n_channels).T
    offset, scale = (
        np.resize(found, n_channels) if len(found := content.numbers(f"ANALOG:{name}")) else default
        for name, default in (("OFFSET", np.zeros(n_channels)), ("SCALE", np.ones(n_channels)))
    )
    general = content.number("ANALOG:GEN_SCALE")
    rate_hz = float(content.floats(content.data[20:24])[0]) * per_frame
    return (raw - offset[:, None]) * scale[:, None] * (general if math.isfinite(general) else 1.0), rate_hz


def read_frames(path: Path, content: C3dContent) -> Floats:
    """Return the stored numbers of all frames, (N, words), after their count was compared with the file's size.

    Args:
        path: the file, for messages.
        content: its parameters and data.
    Raises: FileFormatError.
    """
    n_points, first_byte = content.header("H", 2), BLOCK * (content.header("H", 16) - 1)
    size = 4 if float(content.floats(content.data[12:16])[0]) < 0 else 2
    n_words = 4 * n_points + content.header("H", 4)
    n_stored = max(len(content.data) - max(first_byte, 0), 0) // (size * max(n_words, 1)) if first_byte >= BLOCK else 0
    n_frames = _count_frames(content, n_stored)
    if not 1 <= n_frames <= n_stored:
        found = f"{format_count(n_points, 'point')}, {n_stored} of {format_count(n_frames, 'frame')}"
        raise FileFormatError(f"{path}: no points, or cut short; expected whole frames of points, got {found}: export it again")
    raw = content.data[first_byte : first_byte + n_frames * n_words * size]
    numbers = content.floats(raw) if size == 4 else np.frombuffer(raw, f"{content.order}i2").astype(float)
    return numbers.reshape(n_frames, n_words)


def _find_valid(frames: Floats) -> tuple[Floats, Bools]:
    """Return points, zero where they were not seen, and where they were; frames: (N, M, 4) with the residual last.

    In a file that marks no gap, a point at 0, 0, 0 to the last digit is one.
    """
    valid = np.isfinite(frames).all(axis=2) & (frames[..., 3] >= 0.0)
    if valid.all():
        valid = np.asarray(frames[..., :3].any(axis=2))
    return np.where(valid[..., None], frames[..., :3], 0.0), valid


def _count_frames(content: C3dContent, n_stored: int) -> int:
    """Return the number of frames: of the places that say so, the largest that the file has room for."""
    first, last = content.header("H", 6), content.header("H", 8)
    ends = [content.number(f"TRIAL:ACTUAL_{end}_FIELD") for end in ("START", "END")]
    said = [ends[1] - ends[0] + 1.0, content.number("POINT:LONG_FRAMES"), content.number("POINT:FRAMES")]
    counts = [int(count) for count in said if math.isfinite(count) and count > 0.0 and count != MOST_FRAMES]
    if last != MOST_FRAMES or not counts:
        counts.insert(0, last - first + 1)
    return max((count for count in counts if count <= n_stored), default=counts[0])


def _describe_other_content(content: C3dContent) -> str:
    """Return what a file without points has."""
    segments, n_channels = content.texts("ROTATION:LABELS"), content.number("ANALOG:USED")
    if segments or content.number("ROTATION:USED") > 0:
        listed = ", ".join(segments[:3]) + (", ..." if len(segments) > 3 else "")
        return (
            f"no points, but rotations of segments ({listed or 'without names'}), which are not read; export its markers as well"
        )
    if n_channels > 0:
        return f"no points, but {n_channels:.0f} analog channels; expected markers"
    return "no points in it; expected markers"


def _read_labels(content: C3dContent, n_points: int) -> tuple[str, ...]:
    """Return the points' names; past 255 they go on in LABELS2, LABELS3 and so on."""
    names, more = content.texts("POINT:LABELS"), 2
    while f"POINT:LABELS{more}" in content.parameters:
        names += content.texts(f"POINT:LABELS{more}")
        more += 1
    names = [*names, *[""] * n_points][:n_points]
    return strip_subjects([name.removesuffix(":") or f"point{index}" for index, name in enumerate(names)])


def _decode_label(data: bytes) -> str:
    """Return a text, UTF-8 or Latin-1, without what fills it up."""
    try:
        return data.decode("utf-8").strip(" \0\t")
    except UnicodeDecodeError:
        return data.decode("latin-1").strip(" \0\t")
