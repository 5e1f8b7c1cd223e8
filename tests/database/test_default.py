"""The default database is built once, survives damage, and two builders at once do not harm each other."""

import os
import tempfile
import threading
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import platformdirs
import pytest

from database import default
from database.builtin import make_builtin_clip
from database.clips import Clip
from database.store import PoseDatabase, find_damaged_arrays
from database.tpose import make_tpose_clips


@pytest.fixture
def few_clips(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Keep the cache in a folder of the test and build from two clips and one T-pose only."""

    def clips(fps: float) -> Iterator[Clip]:
        yield make_builtin_clip("squat", fps=fps)
        yield make_builtin_clip("slash", fps=fps)

    monkeypatch.setattr(default, "make_database_clips", clips)
    monkeypatch.setattr(default, "make_tpose_clips", lambda skeleton, fps: islice(make_tpose_clips(skeleton, fps), 1))
    monkeypatch.setattr(platformdirs, "user_cache_dir", lambda *args, **kwargs: str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_it_is_built_once_with_t_poses_and_then_only_opened(few_clips: Path) -> None:
    told: list[str] = []
    first = default.open_default_database(lambda done, total, name: told.append(f"{done} {name}"))
    assert told == ["1 squat", "2 slash"]
    assert first.path == default.find_default_database_path() and default.find_default_database_path().parent == few_clips
    assert first.fps == 60.0 and first.clip_names[:2] == ("squat", "slash")
    assert first.generated.sum() == first.n_clips - 2 == 1
    assert find_damaged_arrays(default.find_default_database_path()) == []
    poses = np.array(first.rotvec)
    del first
    told.clear()
    again = default.open_default_database(lambda done, total, name: told.append(name))
    assert told == [] and np.array_equal(again.rotvec, poses)
    del again
    default.find_default_database_path().write_bytes(b"half a file")
    assert np.array_equal(default.open_default_database().rotvec, poses)  # damaged: made again


def test_a_cache_that_cannot_be_written_falls_back_to_a_temporary_folder(
    few_clips: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    few_clips.write_text("a file where the folder should be", encoding="utf-8")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    path = default.find_default_database_path()
    assert path.parent.parent == tmp_path and path.parent.name.startswith("duocap-")
    assert default.open_default_database().path == path


def test_two_that_build_at_once_both_get_a_whole_one(few_clips: Path) -> None:
    found: list[PoseDatabase] = []
    threads = [threading.Thread(target=lambda: found.append(default.open_default_database())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 2 and np.array_equal(found[0].rotvec, found[1].rotvec)
    assert [entry.suffix for entry in few_clips.iterdir()] == [".db"]


def test_the_name_tells_the_recipe(few_clips: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = default.find_default_database_path().name
    monkeypatch.setattr(default, "FPS", 50.0)
    assert default.find_default_database_path().name != name


def test_those_of_other_versions_do_not_pile_up(few_clips: Path) -> None:
    few_clips.mkdir()
    for second, name in enumerate(("builtin-old.db", "builtin-other.db", "protocol-1.db")):
        (few_clips / name).write_bytes(b"x")
        os.utime(few_clips / name, (second, second))
    path = default.open_default_database().path
    assert path is not None
    assert {file.name for file in few_clips.iterdir()} == {path.name, "builtin-other.db", "protocol-1.db"}
    os.utime(path, (0, 0))
    default.open_default_database()
    assert path.stat().st_mtime > 1e9  # opened is used
