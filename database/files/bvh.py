"""Reader of Biovision hierarchies (BVH): each joint rotates by its channels' Euler angles, the first listed outermost.

Position channels of a joint replace its OFFSET, as in most programs; where they stay near zero beside an OFFSET that does not,
they are added to it. Channels of an End Site and of scales take their columns and are not used.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

import numpy as np

from config.arrays import Floats
from config.errors import FileFormatError
from config.text import read_text
from config.words import format_count
from database.files.source_motion import RATES_HZ, SourceMotion
from database.geometry.rotations import matrix_from_euler

SURELY = 1.5e-5  # of a frame time: so far from a whole rate is rounding
CHANNEL = re.compile(r"[xyz](position|rotation|scale)")
HEADER_LINE = re.compile(r"\s*(frames?(?:\s+time)?)\s*:?\s*(\S*)\s*", re.IGNORECASE)


@dataclass(slots=True)
class _Hierarchy:
    """The joints read so far, parents first; columns: whose each column is (-1: nobody's) and its channel, in their order."""

    names: list[str] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    offsets: list[Floats] = field(default_factory=list)
    ends: dict[int, Floats] = field(default_factory=dict)
    columns: list[tuple[int, str]] = field(default_factory=list)

    def find_columns(self, joint: int, kind: str) -> list[tuple[int, str]]:
        """Return columns and axes ("x", "y", "z") of a joint's channels of one kind."""
        return [(n, name[0]) for n, (of, name) in enumerate(self.columns) if of == joint and name.endswith(kind)]


@dataclass(frozen=True, slots=True)
class _Header:
    """The motion's header: announced number of frames, rate [Hz], lines after it begin at `first`; notes: what was doubted."""

    n_frames: int
    fps: float
    first: int
    notes: tuple[str, ...]


def read_bvh(path: Path) -> SourceMotion:
    """Read a motion of any hierarchy, rest pose, channel order and unit.

    Raises FileFormatError, with file and line: not BVH, or NaN in it.
    """
    lines = read_text(path).split("\n")
    motion_line = next((n for n, text in enumerate(lines) if text.split()[:1] and text.split()[0].upper() == "MOTION"), -1)
    if motion_line < 0:
        raise FileFormatError(f"{path}, line {_count_lines(lines)}: no MOTION section; expected HIERARCHY, MOTION and frames")
    tree = _read_hierarchy(path, lines[:motion_line])
    lines[motion_line] = lines[motion_line].split(maxsplit=1)[1] if len(lines[motion_line].split()) > 1 else ""
    header = _read_motion_header(path, lines, motion_line)
    values, notes = _read_channel_values(path, lines, header, len(tree.columns))
    offsets = np.array([np.zeros(3) if p < 0 else o for p, o in zip(tree.parents, tree.offsets, strict=True)])
    moves = {k: move for k in range(1, len(tree.names)) if (move := _find_positions(tree, k, values)) is not None}
    for k, move in moves.items():
        offsets[k] = np.median(move, axis=0)
    root = _find_positions(tree, 0, values)
    return SourceMotion(
        name=path.stem,
        subject=path.stem,
        fps=header.fps,
        names=tuple(tree.names),
        parents=tuple(tree.parents),
        offsets=offsets,
        ends=tree.ends,
        rotations=tuple(_compute_channel_rotations(tree, k, values) for k in range(len(tree.names))),
        root=np.tile(tree.offsets[0], (len(values), 1)) if root is None else root,
        moves=moves,
        notes=(*header.notes, *notes),
    )


def _find_positions(tree: _Hierarchy, joint: int, values: Floats) -> Floats | None:
    """Return a joint's positions relative to its parent, (N, 3), or None if it has no position channels."""
    columns = tree.find_columns(joint, "position")
    if not columns:
        return None
    positions = np.tile(tree.offsets[joint], (len(values), 1))
    for column, axis in columns:
        positions[:, "xyz".index(axis)] = values[:, column]
    offset = float(np.linalg.norm(tree.offsets[joint]))
    is_added = joint > 0 and len(columns) == 3 and np.linalg.norm(np.median(positions, axis=0)) < 0.1 * offset
    return positions + tree.offsets[joint] if is_added else positions


def _compute_channel_rotations(tree: _Hierarchy, joint: int, values: Floats) -> Floats | None:
    """Return (N, 3, 3), or None for a joint without rotation channels."""
    columns = tree.find_columns(joint, "rotation")
    angles = np.deg2rad(values[:, [column for column, _ in columns]])
    return matrix_from_euler(angles, [axis for _, axis in columns]) if columns else None


def _read_hierarchy(path: Path, lines: Sequence[str]) -> _Hierarchy:
    """Return the tree of joints."""
    tree, stack, pending = _Hierarchy(), list[int](), -1
    for number, text in enumerate(lines, start=1):
        try:
            for words in _split_statements(text):
                pending = _apply_statement(tree, stack, pending, words)
        except (ValueError, IndexError) as error:
            raise FileFormatError(f"{path}, line {number}: {error}, found {text.strip()[:60]!r}") from error
    if not tree.names or stack:
        raise FileFormatError(f"{path}, line {len(lines)}: no hierarchy or an open brace; expected ROOT name {{ ... }}")
    return tree


def _split_statements(text: str) -> list[list[str]]:
    """Return the statements of a line; a brace is a statement of its own, a line that begins with # is a comment."""
    if text.lstrip().startswith("#"):
        return []
    return [words for part in text.replace("{", "\n{\n").replace("}", "\n}\n").split("\n") if (words := part.split())]


def _apply_statement(tree: _Hierarchy, stack: list[int], pending: int, words: list[str]) -> int:
    """Apply one statement; return the joint that waits for its brace (-2 for an End Site). Raises ValueError, IndexError."""
    key = words[0].upper()
    if key in ("ROOT", "JOINT"):
        if key == "ROOT" and tree.names:
            raise ValueError("expected a single ROOT")
        tree.names.append(" ".join(words[1:]) or f"joint{len(tree.names)}")
        tree.parents.append(stack[-1] if stack else -1)
        tree.offsets.append(np.zeros(3))
        return len(tree.names) - 1
    if key in ("END", "ENDSITE"):
        return -2
    if key == "{":
        stack.append(pending)
    elif key == "}":
        stack.pop()
    elif key == "OFFSET":
        _apply_offset(tree, stack, words)
    elif key == "CHANNELS":
        tree.columns += [(max(stack[-1], -1), channel) for channel in _parse_channels(words)]
    elif key != "HIERARCHY":
        raise ValueError("expected ROOT, JOINT, End Site, OFFSET, CHANNELS or a brace")
    return pending


def _apply_offset(tree: _Hierarchy, stack: list[int], words: list[str]) -> None:
    """Apply an OFFSET to the joint or End Site that is open. Raises ValueError, IndexError."""
    vector = np.array([float(word.replace(",", ".")) for word in words[1:4]])
    if len(vector) != 3 or not np.isfinite(vector).all():
        raise ValueError("expected OFFSET and three finite numbers")
    if stack[-1] == -2:
        tree.ends[stack[-2]] = vector
    else:
        tree.offsets[stack[-1]] = vector


def _parse_channels(words: list[str]) -> list[str]:
    """Return channel names in lower case. Raises ValueError."""
    channels = [word.lower() for word in words[2:]]
    if int(words[1]) != len(channels) or not all(CHANNEL.fullmatch(channel) for channel in channels):
        raise ValueError(f"expected {words[1]} channels such as Xposition or Zrotation")
    return channels


def _read_motion_header(path: Path, lines: list[str], line: int) -> _Header:
    """Return the header; `line` (0-based) is that of MOTION."""
    found: dict[str, str] = {}
    while line < len(lines) and (not lines[line].strip() or lines[line].lower().lstrip().startswith("frame")):
        hit = HEADER_LINE.fullmatch(lines[line])
        if hit:
            found[" ".join(hit[1].lower().split())] = hit[2]
        line += 1
    printed = found.get("frame time", "").replace(",", ".")
    try:
        n_frames, seconds = int(found["frames"]), float(printed)
    except (KeyError, ValueError) as error:
        raise FileFormatError(f"{path}, line {line}: expected 'Frames: count' and 'Frame Time: seconds' after MOTION") from error
    if n_frames < 1 or not (seconds > 0 and math.isfinite(seconds)):
        raise FileFormatError(
            f"{path}, line {line}: {format_count(n_frames, 'frame')} of {seconds} s; expected one or more, above 0 s"
        )
    fps, notes = _find_likely_rate(printed)
    return _Header(n_frames, fps, line, notes)


def _find_likely_rate(frame_time: str) -> tuple[float, tuple[str, ...]]:
    """Return frames a second of a frame time as it is printed, and what was doubted about it."""
    seconds, fps = float(frame_time), _compute_rate_hz(frame_time)
    if RATES_HZ[0] <= fps <= RATES_HZ[1]:
        return fps, ()
    said = f"Frame Time {frame_time} would be {fps:.3g} frames a second"
    if fps < RATES_HZ[0]:
        # Milliseconds are printed with digits, a rate mostly as a whole number; 24 or 30 of either is a rate.
        usual = (24.0, 25.0, 30.0, 48.0, 50.0, 60.0, 90.0, 100.0, 120.0, 240.0)
        if seconds in usual or seconds > 1e3 / RATES_HZ[0]:
            return seconds, (f"{said}; taken as the rate, {seconds:g} Hz (--rate overrides)",)
        if 1e3 / seconds >= RATES_HZ[0]:
            whole = round(1e3 / seconds)
            rate = float(whole) if abs(1e3 / whole - seconds) < 5e-3 * seconds else 1e3 / seconds
            return rate, (f"{said}; taken as milliseconds, {rate:g} Hz (--rate overrides)",)
        return fps, (f"{said}: believed, but give --rate if it is not so",)
    return 30.0, (f"{said}, which nobody records; taken as 30 Hz, give the right one by --rate",)


def _compute_rate_hz(frame_time: str) -> float:
    """Return frames a second of a frame time [s] as it is printed: a whole rate where its last digit leaves room for one.

    0.0333 and 0.033333 are 30 Hz, 0.0333667 is 29.97 Hz.
    """
    seconds = float(frame_time)
    whole = max(1, round(1.0 / seconds))
    digit_s = 10.0 ** int(Decimal(frame_time).as_tuple().exponent)
    return float(whole) if abs(1.0 / whole - seconds) < max(digit_s, SURELY * seconds) else 1.0 / seconds


def _read_channel_values(path: Path, lines: list[str], header: _Header, n_channels: int) -> tuple[Floats, tuple[str, ...]]:
    """Return the channel values, (N, n_channels), and what was forgiven. Raises FileFormatError, with the line."""
    tokens = " ".join(lines[header.first :]).split()
    try:
        values = np.fromiter(map(float, tokens), float, len(tokens))
    except ValueError:
        values = np.full(len(tokens), np.nan)
    if len(tokens) == header.n_frames * n_channels and np.isfinite(values).all():
        return values.reshape(header.n_frames, n_channels), ()
    return _read_rows(path, lines, header, n_channels)


def _read_rows(path: Path, lines: list[str], header: _Header, n_channels: int) -> tuple[Floats, tuple[str, ...]]:
    """Return the values row by row: decimal commas, a row too many or too few and a last one that is cut are forgiven."""
    notes, rows = list[str](), list[list[float]]()
    numbered = [(n, text) for n, text in enumerate(lines[header.first :], start=header.first + 1) if text.strip()]
    commas = any("," in text for _, text in numbered) and not any("." in text for _, text in numbered)
    for number, text in numbered:
        words = (text.replace(",", ".") if commas else text).split()
        is_last = number == numbered[-1][0]
        if is_last and rows and len(words) < n_channels:
            notes.append(
                f"line {number}: the last frame is cut short and left out; "
                f"{format_count(len(rows), 'frame remains', 'frames remain')}"
            )
        else:
            rows.append(_parse_frame(f"{path}, line {number}", words, n_channels))
    n_read = len(rows) + len(notes)
    if not rows or abs(n_read - header.n_frames) > 1:
        found = f"{len(rows)} found; is the file cut short?"
        raise FileFormatError(f"{path}, line {_count_lines(lines)}: 'Frames: {header.n_frames}' announced, {found}")
    if commas:
        notes.append("its numbers have commas for points")
    if n_read != header.n_frames:
        notes.append(f"'Frames: {header.n_frames}' announced, {n_read} found and taken")
    return np.array(rows), tuple(notes)


def _parse_frame(where: str, words: list[str], n_channels: int) -> list[float]:
    """Return the numbers of one frame. Raises FileFormatError."""
    numbers = list[float]()
    for column, word in enumerate(words, start=1):
        try:
            number = float(word)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            at = f"{where}, column {column}"
            raise FileFormatError(f"{at}: expected a finite number, found {word[:20]!r}; repair or leave out this clip")
        numbers.append(number)
    if len(words) != n_channels:
        raise FileFormatError(f"{where}: expected {n_channels} numbers, one a channel, found {len(words)}")
    return numbers


def _count_lines(lines: Sequence[str]) -> int:
    """Return the number of the last line that is not empty."""
    return max((n for n, text in enumerate(lines, start=1) if text.strip()), default=1)
