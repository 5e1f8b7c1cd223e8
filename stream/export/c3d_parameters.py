"""The parameters of a C3D file as bytes: groups of named values, in blocks of 512 bytes, little-endian.

A record is the length of its name, its group's number (below zero for the group itself), the name, the way to the next record,
and for a parameter its type (-1 text, 2 integer, 4 float), its dimensions, its values and a description.
"""

import struct
from collections.abc import Mapping, Sequence

BLOCK = 512
INTEL = 84
MAX_TEXT = 120
MOST_BLOCKS = 255

Value = str | int | float | Sequence[str] | Sequence[int]
Groups = Mapping[str, Mapping[str, Value]]


def parameter_bytes(groups: Groups) -> bytes:
    """Give the parameter section, whole blocks; its size depends on names and lengths alone, not on numbers."""
    records = b""
    for number, (group, parameters) in enumerate(groups.items(), 1):
        records += _named(-number, group, b"\0")
        for name, value in parameters.items():
            records += _named(number, name, _value(value) + b"\0")
    size = 4 + len(records) + 2  # two zeros: no more records
    n_blocks = -(-size // BLOCK)
    assert n_blocks <= MOST_BLOCKS
    return (struct.pack("<4B", 1, 0x50, n_blocks, INTEL) + records).ljust(n_blocks * BLOCK, b"\0")


def _named(group: int, name: str, body: bytes) -> bytes:
    """Give one record; the way to the next counts from where it itself stands."""
    return struct.pack("<bb", len(name), group) + name.encode("ascii") + struct.pack("<H", 2 + len(body)) + body


def _value(value: Value) -> bytes:
    """Give type, dimensions and values; integers are words without sign, as counts of frames past 32767 need."""
    if isinstance(value, str):
        return struct.pack("<bBB", -1, 1, len(_cell(value))) + _cell(value)
    if isinstance(value, int):
        return struct.pack("<bBH", 2, 0, value)
    if isinstance(value, float):
        return struct.pack("<bBf", 4, 0, value)
    if all(isinstance(item, int) for item in value):
        return struct.pack(f"<bBB{len(value)}H", 2, 1, len(value), *value)
    cells = [_cell(str(item)) for item in value]
    width = max((len(cell) for cell in cells), default=1)
    return struct.pack("<bBBB", -1, 2, width, len(cells)) + b"".join(cell.ljust(width) for cell in cells)


def _cell(text: str) -> bytes:
    """Give a text of at least one letter and at most MAX_TEXT, since its length is one byte and some readers fail at zero."""
    return (text[:MAX_TEXT] or " ").encode("ascii", "replace")
