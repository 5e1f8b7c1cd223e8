"""When a task counts as done, and that results appear whole."""

import os
from pathlib import Path

import numpy as np
import pytest

from config.errors import DuocapError
from database.parts import BuildOptions, build_in_parts
from database.store import open_database
from tests.support.files.motion import random_values, write_amc
from tools.batch.record import (
    compute_digest,
    hash_content,
    hash_files,
    is_done,
    list_input_files,
    lock_batch_folder,
    read_task_record,
    replace_folder,
    write_task_record,
)
from tools.batch.send import SentFiles, place_inputs, take_piece
from tools.batch.task import BatchTask

VERSIONS = {"duocap": "1"}


def task(folder: Path, *words: str) -> BatchTask:
    """Return a task that reads a folder."""
    return BatchTask("take", "export", ("export", "{in0}", *words), (str(folder / "in"),), (".mkv",))


@pytest.fixture
def done(tmp_path: Path) -> Path:
    """Do a task."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "x.csv").write_text("1")
    (tmp_path / "in" / "x.mkv").write_text("1")
    one = task(tmp_path)
    with replace_folder(tmp_path / "out") as part:
        (part / "x.bvh").write_text("motion")
        hashes = hash_files(list_input_files(one), {})
        write_task_record(part, {"digest": compute_digest(one, hashes, VERSIONS), "inputs": hashes})
    return tmp_path


def finished(folder: Path, of: BatchTask, versions: dict[str, str] = VERSIONS) -> bool:
    """Return whether a task counts as done."""
    record = read_task_record(folder / "out")
    return record is not None and is_done(of, record, versions)


def test_done_hangs_on_content_command_and_version_only(done: Path) -> None:
    file = done / "in" / "x.csv"
    assert finished(done, task(done))
    os.utime(file, ns=(1, 1))
    (done / "in" / "x.mkv").write_text("other, and never read")
    assert finished(done, task(done))
    assert not finished(done, task(done, "--fps", "30"))
    assert not finished(done, task(done), {"duocap": "2"})
    file.write_text("2")
    assert not finished(done, task(done))


def test_a_lost_result_is_made_again(done: Path) -> None:
    (done / "out" / "x.bvh").write_text("cut")
    assert not finished(done, task(done))


def test_results_replace_earlier_ones_whole_or_not_at_all(done: Path) -> None:
    with pytest.raises(OSError, match="full"), replace_folder(done / "out") as part:
        (part / "x.bvh").write_text("half")
        raise OSError("full")
    assert (done / "out" / "x.bvh").read_text() == "motion" and {p.name for p in done.iterdir()} == {"in", "out"}
    with pytest.raises(DuocapError, match="not made by a batch"), replace_folder(done / "in"):
        pass


def test_a_second_batch_on_the_folder_is_refused(tmp_path: Path) -> None:
    with lock_batch_folder(tmp_path), pytest.raises(DuocapError, match="another `duocap batch`"), lock_batch_folder(tmp_path):
        pass
    with lock_batch_folder(tmp_path):
        pass


def test_a_database_of_several_files_is_read_and_sent_whole(tmp_path: Path) -> None:
    for name in ("71_01", "71_02"):
        write_amc(tmp_path / "71", random_values(np.random.default_rng(1), 9), name)
    (tmp_path / "a").mkdir()
    build_in_parts([tmp_path / "71"], tmp_path / "a" / "big.db", 2, BuildOptions(120.0, processes=1, graph=False))
    reads = BatchTask("take", "export", ("export", "{in0}"), (str(tmp_path / "a" / "big.db"),))
    files = list_input_files(reads)
    sent = SentFiles(hash_files(files, {}), frozenset())
    for file in files:
        take_piece(hash_content(file.path), file.path.read_bytes(), True, True)
    (place,) = place_inputs(reads, sent, tmp_path / "b")
    assert np.array_equal(open_database(place).rotvec, open_database(tmp_path / "a" / "big.db").rotvec) and len(files) > 2
    with pytest.raises(DuocapError, match="put them together"):
        place_inputs(reads, SentFiles({"0/../../../x.db": sent.hashes["0/"]}, frozenset()), tmp_path / "b")
