"""The cache of examples: the same as computed, made anew when anything it depends on changes or it is damaged, bounded."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import platformdirs
import pytest

from calibration.subject.subject import Subject
from config.arrays import Singles
from database.builtin import build_person_skeleton
from database.store import PoseDatabase, open_database, write_database
from reconstruct.search import index as module
from reconstruct.search.examples import Examples, compute_examples, iterate_marker_blocks
from reconstruct.search.index import MAX_FILES, find_cache_folder, load_examples_and_lists
from reconstruct.search.kernels import Lists
from reconstruct.search.lists import build_lists
from tests.support.people import person, t_pose_clip, table_of, walk


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> PoseDatabase:
    """Return a small database in a file."""
    path = tmp_path_factory.mktemp("database") / "small.db"
    write_database(path, [walk(build_person_skeleton(1.8)), t_pose_clip(build_person_skeleton(1.7), 9)])
    return open_database(path)


def count_computations(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that grows whenever features are computed."""
    made: list[int] = []

    def counted(subject: Subject, table: PoseDatabase) -> Iterator[Singles]:
        made.append(len(table.rotvec))
        return iterate_marker_blocks(subject, table)

    monkeypatch.setattr(module, "iterate_marker_blocks", counted)
    return made


def assert_equal(found: tuple[Examples, Lists], expected: tuple[Examples, Lists]) -> None:
    """Compare every array."""
    for name in ("pose", "marker_m", "clip"):
        assert np.array_equal(getattr(found[0], name), getattr(expected[0], name)), name
    for name in ("center_m", "start", "row", "marker_m", "group_m"):
        a, b = getattr(found[1], name), getattr(expected[1], name)
        assert np.array_equal(a, b) and a.dtype == b.dtype and not a.flags.writeable, name


def test_the_second_time_it_is_read_not_computed(database: PoseDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, subject = count_computations(monkeypatch), person()
    examples = compute_examples(subject, database)
    expected = examples, build_lists(examples.marker_m, seed=0)
    for _ in range(2):
        assert_equal(load_examples_and_lists(subject, database, tmp_path), expected)
    assert made == [database.n_poses] and len(list(tmp_path.iterdir())) == 1


def test_what_the_features_depend_on_makes_another_file(
    database: PoseDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, subject = count_computations(monkeypatch), person()
    others = [
        replace(subject, offset_m=subject.offset_m + 1e-6),
        replace(subject, skeleton=build_person_skeleton(1.72)),
        person("boxing"),
    ]
    for one in (subject, *others):
        found, _ = load_examples_and_lists(one, database, tmp_path)
        assert np.array_equal(found.marker_m, compute_examples(one, database).marker_m)
    shorter = tmp_path / "shorter.db"
    write_database(shorter, [walk(build_person_skeleton(1.8)), t_pose_clip(build_person_skeleton(1.7), 8)])
    load_examples_and_lists(subject, open_database(shorter), tmp_path)
    assert made == [database.n_poses] * 4 + [database.n_poses - 1]


def test_a_name_does_not_matter(database: PoseDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, subject = count_computations(monkeypatch), person()
    for one in (subject, replace(subject, name="other", residual_mm=subject.residual_mm + 1.0)):
        load_examples_and_lists(one, database, tmp_path)
    assert len(made) == 1


@pytest.mark.parametrize("damage", ["cut", "empty", "flipped", "foreign"])
def test_a_damaged_file_is_made_anew(
    database: PoseDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    subject = person()
    expected = load_examples_and_lists(subject, database, tmp_path)
    made = count_computations(monkeypatch)
    (file,) = tmp_path.iterdir()
    content = bytearray(file.read_bytes())
    if damage == "flipped":
        content[len(content) // 2] ^= 4
    spoilt = {"cut": bytes(content[:-50]), "empty": b"", "flipped": bytes(content), "foreign": b"<html>" * 40}[damage]
    file.unlink()  # a mapped file may not be overwritten everywhere
    file.write_bytes(spoilt)
    assert_equal(load_examples_and_lists(subject, database, tmp_path), expected)
    assert len(made) == 1
    assert_equal(load_examples_and_lists(subject, database, tmp_path), expected)
    assert len(made) == 1


def test_the_last_used_are_kept(database: PoseDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subjects = [person(seed=seed) for seed in range(MAX_FILES + 1)]
    for age, subject in enumerate(subjects[:MAX_FILES]):
        before = set(tmp_path.iterdir())
        load_examples_and_lists(subject, database, tmp_path)
        (new,) = set(tmp_path.iterdir()) - before
        os.utime(new, ns=(age * 10**9, age * 10**9))
    load_examples_and_lists(subjects[0], database, tmp_path)  # used again, so that the second is the oldest
    load_examples_and_lists(subjects[MAX_FILES], database, tmp_path)
    assert len(list(tmp_path.iterdir())) == MAX_FILES
    made = count_computations(monkeypatch)
    load_examples_and_lists(subjects[0], database, tmp_path)
    assert not made
    load_examples_and_lists(subjects[1], database, tmp_path)
    assert len(made) == 1


def test_a_folder_that_cannot_be_written_to_costs_time_only(database: PoseDatabase, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    examples, lists = load_examples_and_lists(person(), database, blocked / "examples")
    assert len(examples) == database.n_poses == len(lists.row)


def test_a_table_in_no_file_is_not_kept(tmp_path: Path) -> None:
    table = table_of([t_pose_clip(build_person_skeleton(1.7), 9)])
    assert len(load_examples_and_lists(person(), table, tmp_path)[1].row) == 9 and not list(tmp_path.iterdir())


def test_the_folder_is_in_the_users_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(platformdirs, "user_cache_dir", lambda *args, **kwargs: str(tmp_path / "cache"))
    assert find_cache_folder().parent == tmp_path / "cache"
