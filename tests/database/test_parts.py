"""A database of several files: the same poses as in one, kept when interrupted, added to, thinned; what does not fit is told."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from config.errors import DatabaseError
from database.build import BuildReport, build_database
from database.container import open_container, write_container
from database.graph.build import build_graph
from database.graph.neighbours import find_graph, summarise_graph
from database.parts import BuildOptions, add_part, build_in_parts, build_part, is_built, plan_parts
from database.store import compute_poses_checksum, find_damaged_arrays, list_database_files, open_database, write_parts
from tests.support.files.motion import random_values, write_amc

LENGTHS = (9, 30, 5, 17, 12)
OPTIONS = BuildOptions(120.0, processes=1)
CLIP_ARRAYS = ("rotvec", "root_m", "clip_start", "generated")


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of five clips of two subjects."""
    folder = tmp_path_factory.mktemp("motions")
    for k, n in enumerate(LENGTHS, start=1):
        write_amc(folder / f"7{k % 2}", random_values(np.random.default_rng(k), n), f"7{k % 2}_0{k}")
    return folder


@pytest.mark.parametrize("n_parts", [1, 3, 7])
def test_poses_are_those_of_one_file_to_the_bit(sources: Path, tmp_path: Path, n_parts: int) -> None:
    options = replace(OPTIONS, graph=False)
    one = build_database([sources], tmp_path / "one.db", 120.0, processes=1, graph=False)
    several = build_in_parts([sources], tmp_path / "several.db", n_parts, options)
    whole, joined = open_database(tmp_path / "one.db"), open_database(tmp_path / "several.db")
    for name in CLIP_ARRAYS:
        assert np.array_equal(getattr(whole, name), getattr(joined, name)), name
    assert joined.clip_names == whole.clip_names and not joined.rotvec.flags.writeable
    for k in range(whole.n_clips):
        a, b = whole.clip(k).skeleton, joined.clip(k).skeleton
        assert a.name == b.name and np.array_equal(a.offsets_m, b.offsets_m) and np.array_equal(a.tails_m, b.tails_m)
    assert several.lines() == one.lines() and len(joined.parts) - 1 in range(min(n_parts, 2), n_parts + 1)
    assert find_damaged_arrays(tmp_path / "several.db") == []


def test_the_graph_is_that_of_each_file(sources: Path, tmp_path: Path) -> None:
    build_in_parts([sources], tmp_path / "a.db", 2, OPTIONS)
    database = open_database(tmp_path / "a.db")
    graph = find_graph(database)
    assert graph is not None and graph.n_poses == database.n_poses and len(database.parts) == 3
    first = 0
    for part in database.parts:
        own = build_graph(part.rotvec, part.clip_start, fps=120.0)
        for n in range(part.n_poses):
            assert (graph.of(first + n) - first).tolist() == own.of(n).tolist()
        first += part.n_poses
    assert summarise_graph(graph).degree_mean > 1.0


def test_an_interrupted_build_goes_on_with_the_files_that_are_there(sources: Path, tmp_path: Path) -> None:
    out, asked = tmp_path / "a.db", list[str]()

    def stop_in_the_second(done: int, total: int, name: str) -> None:
        asked.append(name)
        if name.startswith("file 2"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_in_parts([sources], out, 2, OPTIONS, progress=stop_in_the_second)
    assert not out.exists() and sorted(path.name for path in (tmp_path / "a.parts").iterdir()) == ["part-001.db"]
    kept, asked = asked, []
    build_in_parts([sources], out, 2, OPTIONS, progress=lambda *news: asked.append(news[2]))
    assert kept[0].startswith("file 1 of 2: ") and {name.partition(":")[0] for name in asked} == {"file 2 of 2"}
    build_in_parts([sources], tmp_path / "b.db", 2, OPTIONS)
    assert [path.read_bytes() for path in list_database_files(out)] == [
        path.read_bytes() for path in list_database_files(tmp_path / "b.db")
    ]
    # A part that was made in another way, or of another motion, is made again; one of an earlier build goes.
    (task,) = plan_parts([sources], out, 1, BuildOptions(60.0, processes=1), (), BuildReport())
    assert not is_built(task)
    build_part(task)
    assert is_built(task)
    build_in_parts([sources], out, 1, BuildOptions(60.0, processes=1))
    assert [path.name for path in list_database_files(out)] == ["part-001.db", "t-poses.db"]
    assert len(list((tmp_path / "a.parts").iterdir())) == 2


def test_motions_are_added_as_one_more_file(sources: Path, tmp_path: Path) -> None:
    build_in_parts([sources / "71"], tmp_path / "a.db", 2, OPTIONS, mirrored=True)
    before = {path: path.read_bytes() for path in list_database_files(tmp_path / "a.db")}
    report = add_part(tmp_path / "a.db", [sources], processes=1)
    database = open_database(tmp_path / "a.db")
    assert database.mirrored and database.clip_names[-2:] == ("70_02", "70_04") and find_graph(database) is not None
    assert sum("in the database already" in note for note in report.notes) == 3 and "added later:" in database.notes
    assert all(path.read_bytes() == content for path, content in before.items())
    with pytest.raises(DatabaseError, match="nothing to add"):
        add_part(tmp_path / "a.db", [sources], processes=1)
    assert len(list_database_files(tmp_path / "a.db")) == len(before) + 1 == len(list((tmp_path / "a.parts").iterdir()))


def test_each_file_is_thinned_and_says_so(sources: Path, tmp_path: Path) -> None:
    build_in_parts([sources], tmp_path / "a.db", 2, BuildOptions(120.0, processes=1, thin_rad=0.7))
    build_database([sources / "71"], tmp_path / "b.db", 120.0, processes=1, thin_rad=0.7)
    for path in ("a.db", "b.db"):
        database = open_database(tmp_path / path)
        told = [note for note in database.notes if "thinned to 40.107 degrees, the largest angle of a joint" in note]
        kept = [int(number) for note in told for number in re.findall(r"(\d+) of \d+ poses kept", note)]
        assert len(kept) == max(len(database.parts) - 1, 1)
        assert sum(kept) == np.diff(database.clip_start)[~database.generated].sum()


def test_moved_together_it_still_opens_and_what_does_not_fit_is_told(sources: Path, tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    build_in_parts([sources], tmp_path / "here" / "a.db", 2, OPTIONS)
    marks = {
        compute_poses_checksum(path) for path in (tmp_path / "here" / "a.db", *list_database_files(tmp_path / "here" / "a.db"))
    }
    shutil.move(tmp_path / "here", tmp_path / "there")
    out = tmp_path / "there" / "a.db"
    first, second, _ = list_database_files(out)
    assert len(marks) == 4 and open_database(out).n_poses > sum(LENGTHS)
    write_parts(tmp_path / "m.db", [first, second], mirrored=True)
    write_parts(tmp_path / "n.db", [first, second])
    assert compute_poses_checksum(tmp_path / "m.db") != compute_poses_checksum(tmp_path / "n.db")
    with pytest.raises(DatabaseError, match="itself of several files"):
        write_parts(tmp_path / "c.db", [out])
    build_database([sources / "71"], tmp_path / "slow.db", 60.0, processes=1)
    with pytest.raises(DatabaseError, match=r"all at one rate, came .*at 120 Hz.*at 60 Hz"):
        write_parts(tmp_path / "c.db", [first, tmp_path / "slow.db"])
    with pytest.raises(DatabaseError, match="expected parts"):
        write_parts(tmp_path / "c.db", [])
    assert not (tmp_path / "c.db").exists()
    shutil.copyfile(tmp_path / "slow.db", second)
    with pytest.raises(DatabaseError, match=r"part-002\.db: is not the file that a\.db was made with"):
        open_database(out)
    second.unlink()
    with pytest.raises(DatabaseError, match=r"part-002\.db: cannot be opened"):
        open_database(out)


@pytest.mark.parametrize("spoilt", [{"parts": []}, {"parts": [{"file": 3}]}, {"parts": None}, {"mirrored": 1}, {"notes": "x"}])
def test_a_list_of_files_that_makes_no_sense_is_refused(sources: Path, tmp_path: Path, spoilt: dict[str, object]) -> None:
    build_in_parts([sources], tmp_path / "a.db", 1, OPTIONS)
    fields = json.loads(json.dumps(open_container(tmp_path / "a.db").fields))
    with write_container(tmp_path / "a.db") as writer:
        writer.fields = fields | spoilt
    with pytest.raises(DatabaseError, match="its list of files cannot be right"):
        open_database(tmp_path / "a.db")
