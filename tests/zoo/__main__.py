"""Print what comes of every specimen as markdown: `python -m tests.zoo [GROUP ...]`; exit status 1 if one is not as expected."""

import sys
import tempfile
from pathlib import Path

from tests.zoo.registry import GROUPS
from tests.zoo.specimen import Outcome, Specimen, complaints, examine

EXACT = 1e-7


def main(names: list[str]) -> int:
    """Print one table a group and return the exit status."""
    bad = 0
    for group in names or GROUPS:
        print(f"### {group.capitalize()}\n\n| specimen | result | message |\n|---|---|---|")
        for specimen in GROUPS[group]:
            with tempfile.TemporaryDirectory() as folder:
                outcome = examine(specimen, Path(folder))
            wrong = complaints(specimen, outcome)
            bad += bool(wrong)
            print(f"| {specimen.name} | {_result(specimen, outcome, wrong)} | {_cell(outcome.text)} |", flush=True)
        print()
    return int(bad > 0)


def _result(specimen: Specimen, outcome: Outcome, wrong: list[str]) -> str:
    """Return the result in a cell: refused, or how wrong the data came out, and what was not expected."""
    off = "exactly" if outcome.error < EXACT else f"wrong by {outcome.error:.2g} {specimen.unit}"
    good = "refused" if outcome.refused else f"taken, {off}"
    return good if not wrong else f"**NOT AS EXPECTED** ({'; '.join(wrong)})"


def _cell(text: str) -> str:
    """Return a text for a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
