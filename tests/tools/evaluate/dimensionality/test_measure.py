"""Dimensionality: the table beside the paper's numbers, the figure, what is refused, and real walking."""

import json
from pathlib import Path

import numpy as np
import pytest

from config.errors import DuocapError
from config.settings import SolveSettings
from database.store import open_database, write_database
from tests.support.commands import duocap
from tests.support.people import person, walk
from tools.evaluate.dimensionality.curves import curve
from tools.evaluate.dimensionality.measure import CASES, FigurePanel, measure_dimensionality, panels_of, table
from tools.evaluate.dimensionality.plot import plot_dimensionality


def made_panels() -> list[FigurePanel]:
    """Return panels of made curves, one of them without a method under a degree."""
    slow = curve("global PCA", np.arange(1, 8), np.radians(np.full((7, 2, 3), 2.5)), np.ones(3, bool))
    fast = curve("local model", np.arange(1, 8), np.radians(np.full((7, 2, 3), 0.5)), np.ones(3, bool), "median K 20")
    return [FigurePanel(case, kind, 1234, 2, 3, (slow, fast)) for case in CASES for kind in ("own", "unseen")]


def test_table_names_the_papers_dimensions_beside_ours() -> None:
    lines = table(made_panels())
    boxing = [line.split() for line in lines if line.startswith("boxing")]
    assert boxing[0][:4] == ["boxing", "1234", "2", "own"]
    # Ours, the paper's, ours by RMS.
    assert boxing[0][6:9] == ["-", "27", "-"] and boxing[1][6:9] == ["1", "6", "1"]


def test_the_figure_is_drawn(tmp_path: Path) -> None:
    path = plot_dimensionality(made_panels(), tmp_path / "new")
    assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n" and path.stat().st_size > 20_000


def test_a_file_in_the_folders_place_is_said(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("x", encoding="utf-8")
    with pytest.raises(DuocapError, match="cannot be written"):
        plot_dimensionality(made_panels(), tmp_path / "taken")


def test_an_unknown_clip_is_said(tmp_path: Path) -> None:
    database = tmp_path / "poses.db"
    write_database(database, [walk(person().skeleton)])
    with pytest.raises(DuocapError, match="99_99: no such clip among the tests; take 07_08"):
        measure_dimensionality(tmp_path, database, SolveSettings(), clips=("07_08", "99_99"))


def test_a_database_without_the_clips_is_said(tmp_path: Path) -> None:
    database = tmp_path / "poses.db"
    clip = walk(person().skeleton)
    write_database(database, [clip])
    with pytest.raises(DuocapError, match="holds none of 07_01"):
        panels_of(CASES[0], open_database(database), [clip], SolveSettings(), quick=True)


@pytest.mark.slow
def test_real_walking(
    motion_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from database.build import build_database
    from tools.evaluate.dimensionality import measure

    folder = motion_dir / "cmu" / "subjects" / "07"
    build_database([folder / f"{stem}.amc" for stem in ("07_01", "07_02")], tmp_path / "walking.db")
    monkeypatch.setattr(measure, "CASES", CASES[:1])
    words = (
        "--database",
        tmp_path / "walking.db",
        "--clip",
        "07_08",
        "--quick",
        "--json",
        tmp_path / "f.json",
        "--plot",
        tmp_path,
    )
    result = duocap(capsys, "evaluate", "dimensionality", "--motion", motion_dir, *words)
    assert result.status == 0 and "walking" in result.out and (tmp_path / "dimensionality.png").is_file()
    own, unseen = json.loads((tmp_path / "f.json").read_text(encoding="utf-8"))
    assert (own["kind"], unseen["kind"]) == ("own", "unseen")
    curves = {curve["method"]: curve for curve in own["curves"]}
    assert (curves["local model"]["dimensions_under_1_deg"] or 99) <= 4  # the paper has 4 and 14 for more walking
    assert (curves["global PCA"]["dimensions_under_1_deg"] or 99) <= 14
    two = curves["GPLVM"]["dimensions"].index(2)
    assert curves["GPLVM"]["mean_deg"][two] < 2.7
