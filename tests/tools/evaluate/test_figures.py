"""Figures are written as strict JSON."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from tools.evaluate.figures import write_figures


@dataclass(frozen=True, slots=True)
class Figures:
    clip: str
    error_mm: tuple[float, float]
    by_frame: dict[str, np.ndarray]


def refuse(constant: str) -> float:
    raise ValueError(constant)


def test_what_is_no_number_is_null(tmp_path: Path) -> None:
    figures = Figures("07_08", (1.5, float("nan")), {"deg": np.array([[1.0, np.inf], [-np.inf, 2.0]])})
    write_figures(tmp_path / "a.json", [figures, np.int64(3), True, None, np.float32("nan")])
    text = (tmp_path / "a.json").read_text("utf-8")
    found = json.loads(text, parse_constant=refuse)
    assert found == [
        {"clip": "07_08", "error_mm": [1.5, None], "by_frame": {"deg": [[1.0, None], [None, 2.0]]}},
        3,
        True,
        None,
        None,
    ]


def test_what_json_does_not_know_is_not_written_by_halves(tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        write_figures(tmp_path / "a.json", {"path": tmp_path})
    assert list(tmp_path.iterdir()) == []
