"""Measured figures that pages are made from, as they are kept: JSON, a line a row."""

import json
from collections.abc import Sequence

from benchmarks.report import Row
from tools.evaluate.figures import convert_to_plain

LONGEST = 8  # values of a list that is kept of a row


def format_figures(command: str, spent_s: float, rows: Sequence[Row]) -> str:
    """Return what is kept of a table as JSON, a line a row."""
    lines = ",\n".join(json.dumps(row, allow_nan=False) for row in rows)
    return f'{{"command": {json.dumps(command)}, "processor_s": {spent_s:.1f}, "rows": [\n{lines}\n]}}\n'


def keep_figures(row: Row) -> Row:
    """Return a row in JSON's own types, without long lists, of six digits."""
    plain = {name: convert_to_plain(value) for name, value in row.items()}
    return {
        name: float(f"{value:.6g}") if isinstance(value, float) else value
        for name, value in plain.items()
        if not hasattr(value, "__len__") or len(value) <= LONGEST or isinstance(value, str)
    }
