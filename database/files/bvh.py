"""Reader of Biovision hierarchies (BVH): each joint rotates by its channels' Euler angles, the first listed outermost."""

import math
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import numpy as np

from config.arrays import Floats
from config.errors import FileFormatError
from database.files.source_motion import SourceMotion, read_file_bytes
from database.geometry.rotations import matrix_from_euler

SURELY = 1.5e-5  # of a frame time: so far from a whole rate is rounding


@dataclass(slots=True)
class _Hierarchy:
    """The joints read so far, parents first."""

    names: list[str] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    offsets: list[Floats] = field(default_factory=list)
    channels: list[list[str]] = field(default_factory=list)
    ends: dict[int, Floats] = field(default_factory=dict)


def read_bvh(path: Path) -> SourceMotion:
    """Read a motion of any hierarchy, rest pose, channel order and unit.

    Raises FileFormatError, with file and line: not BVH, or NaN in it.
    """
    lines = read_file_bytes(path).decode("latin-1").splitlines()
    motion_line = next((n for n, text in enumerate(lines) if text.strip().upper() == "MOTION"), -1)
    if motion_line < 0:
        raise FileFormatError(f"{path}, line {len(lines)}: no MOTION section; expected HIERARCHY, MOTION and frames")
    tree = _read_hierarchy(path, lines[:motion_line])
    n_frames, fps, first = _read_motion_header(path, lines, motion_line + 1)
    values = _read_channel_values(path, lines, first, n_frames, sum(len(c) for c in tree.channels))
    starts = np.cumsum([0, *(len(c) for c in tree.channels)])
    blocks = [values[:, a:b] for a, b in pairwise(starts)]
    return SourceMotion(
        name=path.stem,
        subject=path.stem,
        fps=fps,
        names=tuple(tree.names),
        parents=tuple(tree.parents),
        offsets=np.array([np.zeros(3) if p < 0 else o for p, o in zip(tree.parents, tree.offsets, strict=True)]),
        ends=tree.ends,
        rotations=tuple(_compute_channel_rotations(c, block) for c, block in zip(tree.channels, blocks, strict=True)),
        root=_find_root_positions(tree, blocks[0]),
    )


def _find_root_positions(tree: _Hierarchy, block: Floats) -> Floats:
    """Return the root's positions, (N, 3): its position channels, which replace its offset where it has them."""
    root = np.tile(tree.offsets[0], (len(block), 1))
    for k, channel in enumerate(tree.channels[0]):
        if channel.endswith("position"):
            root[:, "xyz".index(channel[0])] = block[:, k]
    return root


def _compute_channel_rotations(channels: list[str], block: Floats) -> Floats | None:
    """Return (N, 3, 3), or None for a joint without rotation channels."""
    columns = [k for k, channel in enumerate(channels) if channel.endswith("rotation")]
    return matrix_from_euler(np.deg2rad(block[:, columns]), [channels[k][0] for k in columns]) if columns else None


def _read_hierarchy(path: Path, lines: list[str]) -> _Hierarchy:
    """Read the HIERARCHY section."""
    tree = _Hierarchy()
    stack: list[int] = []  # open joints; -2 stands for an End Site
    pending = -1
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
    """Return the statements of a line; a brace is a statement of its own."""
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
        tree.channels.append([])
        return len(tree.names) - 1
    if key == "END":
        return -2
    if key == "{":
        stack.append(pending)
    elif key == "}":
        stack.pop()
    elif key == "OFFSET":
        vector = np.array([float(word) for word in words[1:4]])
        if len(vector) != 3 or not np.isfinite(vector).all():
            raise ValueError("expected OFFSET and three finite numbers")
        if stack[-1] == -2:
            tree.ends[stack[-2]] = vector
        else:
            tree.offsets[stack[-1]] = vector
    elif key == "CHANNELS":
        tree.channels[stack[-1]] = _parse_channels(words)
    elif key != "HIERARCHY":
        raise ValueError("expected ROOT, JOINT, End Site, OFFSET, CHANNELS or a brace")
    return pending


def _parse_channels(words: list[str]) -> list[str]:
    """Return channel names in lower case. Raises ValueError."""
    channels = [word.lower() for word in words[2:]]
    known = {axis + kind for axis in "xyz" for kind in ("position", "rotation")}
    if int(words[1]) != len(channels) or set(channels) - known:
        raise ValueError(f"expected {words[1]} channels such as Xposition or Zrotation")
    return channels


def _read_motion_header(path: Path, lines: list[str], line: int) -> tuple[int, float, int]:
    """Return the number of frames, frames a second and the line (0-based) after the header."""
    header: dict[str, tuple[str, int]] = {}
    while line < len(lines) and ("frame" in lines[line].lower() or not lines[line].strip()):
        key, _, value = lines[line].partition(":")
        header[" ".join(key.lower().split())] = (value.strip(), line + 1)
        line += 1
    try:
        n_frames, seconds = int(header["frames"][0]), float(header["frame time"][0])
    except (KeyError, ValueError) as error:
        raise FileFormatError(f"{path}, line {line}: expected 'Frames: count' and 'Frame Time: seconds' after MOTION") from error
    if n_frames < 1 or not (seconds > 0 and math.isfinite(seconds)):
        raise FileFormatError(f"{path}, line {line}: {n_frames} frames of {seconds} s; expected one or more, above 0 s")
    return n_frames, _compute_rate_hz(header["frame time"][0]), line


def _compute_rate_hz(frame_time: str) -> float:
    """Return frames a second of a frame time [s] as it is printed: a whole rate where its last digit leaves room for one.

    0.0333 and 0.033333 are 30 Hz, 0.0333667 is 29.97 Hz.
    """
    seconds = float(frame_time)
    whole = max(1, round(1.0 / seconds))
    digit_s = 10.0 ** int(Decimal(frame_time).as_tuple().exponent)
    return float(whole) if abs(1.0 / whole - seconds) < max(digit_s, SURELY * seconds) else 1.0 / seconds


def _read_channel_values(path: Path, lines: list[str], first: int, n_frames: int, n_channels: int) -> Floats:
    """Return the channel values, (n_frames, n_channels)."""
    tokens = " ".join(lines[first:]).split()
    try:
        values = np.fromiter(map(float, tokens), float, len(tokens))
    except ValueError:
        values = np.full(len(tokens), np.nan)
    if len(tokens) == n_frames * n_channels and np.isfinite(values).all():
        return values.reshape(n_frames, n_channels)
    for number, text in enumerate(lines[first:], start=first + 1):
        _check_frame(f"{path}, line {number}", text.split(), n_channels)
    found = len(tokens) / max(n_channels, 1)
    raise FileFormatError(f"{path}, line {len(lines)}: 'Frames: {n_frames}' announced, {found:g} found; is the file cut short?")


def _check_frame(where: str, words: list[str], n_channels: int) -> None:
    """Raise FileFormatError unless the line is empty or one frame of finite numbers."""
    for word in words:
        try:
            finite = math.isfinite(float(word))
        except ValueError:
            finite = False
        if not finite:
            raise FileFormatError(f"{where}: expected a finite number, found {word[:20]!r}; repair or leave out this clip")
    if words and len(words) != n_channels:
        raise FileFormatError(f"{where}: expected {n_channels} numbers, one a channel, found {len(words)}")
