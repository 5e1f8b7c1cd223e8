"""A specimen of foreign data: how it is made, and what must come out of it."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from config.errors import DuocapError


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a specimen.

    text: result in a line, such as `54 corners`; error: how wrong it is, in the specimen's unit; refused: whether an error of the
    user's was raised, of which text is the message.
    """

    text: str
    error: float = 0.0
    refused: bool = False


@dataclass(frozen=True, slots=True)
class Specimen:
    """One piece of foreign data, described.

    name: unique in its group, as a user would describe it; make: makes the data in an empty folder, gives them to duocap and
    returns what came out; a DuocapError that it raises is an outcome, too; expect: regular expression that the outcome's text
    must match somewhere; limit: largest error allowed; unit: of the error; refused: whether the data must be refused; slow: more
    than two seconds of processor time.
    """

    name: str
    make: Callable[[Path], Outcome]
    expect: str
    limit: float = 0.0
    unit: str = ""
    refused: bool = False
    slow: bool = False


def examine(specimen: Specimen, folder: Path) -> Outcome:
    """Make a specimen in an empty folder and return what came out."""
    try:
        return specimen.make(folder)
    except DuocapError as error:
        return Outcome(str(error).replace(f"{folder}/", "").replace(str(folder), "FOLDER"), refused=True)


def complaints(specimen: Specimen, outcome: Outcome) -> list[str]:
    """Return how an outcome differs from what was expected; empty if it does not."""
    out = []
    if outcome.refused != specimen.refused:
        out.append("refused" if outcome.refused else "not refused")
    if not re.search(specimen.expect, outcome.text, re.DOTALL):
        out.append(f"expected a text like {specimen.expect!r}")
    if not outcome.error <= specimen.limit:  # NaN is a complaint
        out.append(f"wrong by {outcome.error:.4g} {specimen.unit}, expected at most {specimen.limit:g}")
    return out
