"""Databases by what they hold: behaviours of clips by their names, mirrored and cut ones included."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn", reason='needs scikit-learn: pip install "duocap[benchmarks]"')

from benchmarks.papers.mixture import build_mixtures, name_kind, read_behaviours
from database.store import PoseDatabase
from tools.evaluate.protocol import ProtocolClip

NAMES = ("07_01", "07_01_mirrored", "14_02+300", "HDM_bd_sneak2StepsLStart_001_120_mirrored", "16_08", "generated")


def test_a_part_has_the_clips_of_its_behaviour_and_transitions_are_in_neither(tmp_path: Path) -> None:
    file = tmp_path / "cmu" / "manifest.csv"
    (tmp_path / "cmu" / "subjects" / "07").mkdir(parents=True)
    (tmp_path / "cmu" / "subjects" / "07" / "07.asf").touch()
    file.write_text("clip,behaviour\n07_01,walking\n14_02,boxing\n16_08,transitions\n", "utf-8")
    behaviours = read_behaviours(tmp_path)
    assert [behaviours.get(name_kind(name)) for name in NAMES] == ["walking", "walking", "boxing", "walking", "transitions", None]
    start = np.arange(0, 70, 10)
    rotvec = np.repeat(np.arange(6, dtype=np.float32), 10)[:, None, None] * np.ones((1, 23, 3), np.float32)
    zeros = np.zeros(6, np.int64)
    database = PoseDatabase(None, 120.0, rotvec, rotvec[:, 0], start, NAMES, zeros, (), zeros.astype(bool))
    parts = list(build_mixtures(database, ProtocolClip("07_08", "walking"), behaviours, 2))
    held = {name: sorted({int(value) for value in table.rotvec[:, 0, 0]}) for name, _, table in parts}
    assert (held["all"], held["its behaviour"], held["all but it"]) == ([0, 1, 2, 3, 4, 5], [0, 1, 3], [2, 5])
    draws = [table.rotvec[:, 0, 0].tolist() for name, _, table in parts if name == "30 % of all"]
    assert [len(draw) for draw in draws] == [18, 18] and draws[0] != draws[1]
