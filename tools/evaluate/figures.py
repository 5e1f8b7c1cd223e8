"""Write measured figures as strict JSON."""

import json
import math
from dataclasses import fields, is_dataclass
from pathlib import Path

import numpy as np

from config.files import write_atomically


def write_figures(file: Path, figures: object) -> None:
    """Write figures to a file: dataclasses as objects, arrays as lists, null for NaN and infinity.

    Raises FileFormatError: it cannot be written.
    """
    write_atomically(file, json.dumps(convert_to_plain(figures), indent=1, allow_nan=False) + "\n")


def convert_to_plain(value: object) -> object:
    """Return a value made of JSON's own types: dataclasses as objects, arrays as lists, null for NaN and infinity."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: convert_to_plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {key: convert_to_plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [convert_to_plain(each) for each in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return convert_to_plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value
