"""Figures as JSON that any program can read: dataclasses and arrays taken apart, null where there is no number."""

import json
import math
from dataclasses import fields, is_dataclass
from pathlib import Path

import numpy as np

from config.files import atomic_write


def write_figures(file: Path, figures: object) -> None:
    """Write figures to a file. Raises FileFormatError: it cannot be written."""
    atomic_write(file, json.dumps(plain(figures), indent=1, allow_nan=False) + "\n")


def plain(value: object) -> object:
    """Give a value in what JSON knows; NaN and infinity become None."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value
