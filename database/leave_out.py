"""Which clips or frames a database shall not hold: `32_*`, `14_31`, `14_02:3001-`."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from config.errors import DatabaseError


@dataclass(frozen=True, slots=True)
class LeaveOut:
    """One rule: a file stem, with * and ? as in file names, and a half-open range of frames, 0-based."""

    text: str
    stem: str
    start: int
    stop: int

    def matches(self, stem: str) -> bool:
        """Tell whether the rule speaks of a clip."""
        return fnmatchcase(stem, self.stem)


ALL_FRAMES = 1 << 60


def parse_leave_out(text: str) -> LeaveOut:
    """Read `CLIP` or `CLIP:FIRST-LAST` (frames from 1, either end may be open, `CLIP:7` for one frame).

    Raises DatabaseError if it is neither.
    """
    stem, colon, frames = text.strip().partition(":")
    hit = re.fullmatch(r"(\d*)(-?)(\d*)", frames)
    first, dash, last = hit.groups() if hit else ("", "", "")
    start = int(first) if first else 1
    stop = int(last) if last else (ALL_FRAMES if dash else start)
    if not stem or (colon and not (first or last)) or hit is None or start < 1 or stop < start:
        raise DatabaseError(f"--leave-out {text!r}: expected a clip such as 14_31 or 32_*, or frames from 1 such as 14_02:3001-")
    return LeaveOut(text, stem, start - 1, stop if colon else ALL_FRAMES)


def left_out_ranges(rules: Iterable[LeaveOut], stems: Sequence[str]) -> list[tuple[int, int]]:
    """Give the half-open ranges of frames left out of a motion that goes by one or more names."""
    return [(rule.start, rule.stop) for rule in rules if any(rule.matches(stem) for stem in stems)]
