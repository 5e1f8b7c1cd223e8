"""A database built by several processes is, to the byte, the one that a single process builds."""

from pathlib import Path

import numpy as np
import pytest

from config.errors import DuocapError
from database.parts import BuildOptions, build_in_parts, list_database_files
from tests.support.commands import duocap
from tests.support.files.motion import random_values, write_amc
from tools.cluster import WorkerPlan, has_dask
from tools.database.shared import create_worker_build

pytestmark = pytest.mark.skipif(not has_dask(), reason="needs duocap[cluster]")
OPTIONS = BuildOptions(120.0, processes=1)


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """Return four motions of one person."""
    for k in range(1, 5):
        write_amc(tmp_path / "77", random_values(np.random.default_rng(k), 20), f"77_0{k}")
    return tmp_path / "77"


def contents(path: Path) -> list[bytes]:
    """Return the content of a database's files."""
    return [file.read_bytes() for file in list_database_files(path)]


def test_one_that_fails_is_told_when_the_others_are_built_and_these_stay(sources: Path, tmp_path: Path) -> None:
    build_in_parts([sources], tmp_path / "alone.db", 3, OPTIONS)
    whole = (sources / "77_04.amc").read_text("utf-8")
    (sources / "77_04.amc").write_text(whole.replace("\nrfemur ", "\nrfemur nan ", 1), "utf-8")
    out, share = tmp_path / "a.db", create_worker_build(WorkerPlan(2))
    with pytest.raises(DuocapError, match=r"77_04\.amc, line"):
        build_in_parts([sources], out, 3, OPTIONS, share=share)
    assert sorted(file.name for file in (tmp_path / "a.parts").iterdir()) == ["part-001.db", "part-002.db"]
    made = [file.stat().st_mtime_ns for file in sorted((tmp_path / "a.parts").iterdir())]
    (sources / "77_04.amc").write_text(whole, "utf-8")
    told: list[str] = []
    build_in_parts([sources], out, 3, OPTIONS, progress=lambda done, total, name: told.append(f"{done} of {total}"), share=share)
    assert told == ["1 of 1"] and [file.stat().st_mtime_ns for file in list_database_files(out)][:2] == made
    assert contents(out) == contents(tmp_path / "alone.db")


def test_workers_need_parts_to_share(sources: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused = duocap(capsys, "database", "build", sources, "--out", tmp_path / "a.db", "--workers", "2")
    assert refused.status == 2 and "--parts" in refused.err
