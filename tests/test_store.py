"""The database file: what goes in comes out, and every kind of damage is told."""

import json
import struct
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from config.errors import DatabaseError
from config.joints import N_JOINTS
from database.clips import Clip
from database.container import ALIGNMENT, ContainerWriter, open_container
from database.skeleton import Skeleton
from database.store import add_arrays, damaged_arrays, open_database, write_database


def body(name: str, length_m: float) -> Skeleton:
    """Give a skeleton of unequal bones."""
    offsets = np.arange(N_JOINTS * 3, dtype=float).reshape(N_JOINTS, 3) * length_m
    return Skeleton(name, offsets, offsets[::-1].copy() + 0.1)


def clip(name: str, n: int, seed: int, skeleton: Skeleton, fps: float = 60.0) -> Clip:
    """Give random poses."""
    rng = np.random.default_rng(seed)
    return Clip(name, skeleton, fps, rng.normal(size=(n, N_JOINTS, 3)), rng.normal(size=(n, 3)))


SMALL, TALL = body("32", 0.01), body("14", 0.012)
CLIPS = [clip("14_02", 7, 1, TALL), clip("32_01", 3, 2, SMALL), clip("14_02+9", 4, 3, body("14", 0.012))]
T_POSE = clip("generated_tpose_1", 5, 4, body("median", 0.011))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Give a database of three clips and a generated one."""
    file = tmp_path / "some folder" / "motion.db"
    write_database(file, iter(CLIPS), [T_POSE], ["a note"])
    return file


def test_what_goes_in_comes_out(path: Path) -> None:
    database = open_database(path)
    assert (database.n_poses, database.n_clips, database.fps, database.notes) == (19, 4, 60.0, ("a note",))
    assert database.clip_names == ("14_02", "32_01", "14_02+9", "generated_tpose_1")
    np.testing.assert_array_equal(database.clip_start, [0, 7, 10, 14, 19])
    np.testing.assert_array_equal(database.generated, [False, False, False, True])
    np.testing.assert_array_equal(database.clip_skeleton, [0, 1, 0, 2])  # equal skeletons are one
    assert [s.name for s in database.skeletons] == ["14", "32", "median"]
    np.testing.assert_array_equal(database.skeletons[1].tails_m, SMALL.tails_m)
    assert database.rotvec.dtype == database.root_m.dtype == np.float32
    for k, source in enumerate([*CLIPS, T_POSE]):
        out = database.clip(k)
        assert out.name == source.name
        np.testing.assert_array_equal(out.rotvec, source.rotvec.astype(np.float32))
        np.testing.assert_array_equal(out.root_m, source.root_m.astype(np.float32))
    np.testing.assert_array_equal(database.clip_of(np.array([0, 6, 7, 9, 10, 18])), [0, 0, 1, 1, 2, 3])
    assert database.skeleton_of(8).name == "32"
    assert damaged_arrays(path) == []


def test_arrays_are_mapped_read_only_and_aligned(path: Path) -> None:
    database = open_database(path)
    assert not database.rotvec.flags.writeable and not database.rotvec.flags.owndata
    for array in open_container(path).arrays.values():
        assert array.ctypes.data % ALIGNMENT == 0


def test_later_stages_add_arrays(path: Path) -> None:
    indices = np.arange(12, dtype=np.int32)
    add_arrays(path, {"graph_indices": indices, "graph_start": np.array([0, 12], np.int64)})
    add_arrays(path, {"graph_start": np.array([0, 5, 12], np.int64)})
    database = open_database(path)
    assert set(database.extra) == {"graph_indices", "graph_start"}
    np.testing.assert_array_equal(database.extra["graph_indices"], indices)
    np.testing.assert_array_equal(database.extra["graph_start"], [0, 5, 12])
    assert (database.n_poses, database.notes) == (19, ("a note",))
    assert damaged_arrays(path) == []


def test_several_processes_read_at_once(path: Path) -> None:
    here = open_database(path)
    code = f"from database.store import open_database; d = open_database({str(path)!r}); print(float(d.rotvec.sum()))"
    root = Path(__file__).resolve().parents[1]
    outputs = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=root) for _ in range(2)]
    assert [float(process.communicate()[0]) for process in outputs] == [float(here.rotvec.sum())] * 2


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda b: b"", "is empty"),
        (lambda b: b[:30], "cut short"),
        (lambda b: b[:500], "cut short"),
        (lambda b: b[:-1], "cut short"),
        (lambda b: b"PK\x03\x04" + b[4:], "not a motion database"),
        (lambda b: b"{}", "not a motion database"),
        (lambda b: b[:16] + struct.pack("<I", 9) + b[20:], "written in version 9, expected 1"),
        (lambda b: b[:24] + b"\x01" + b[25:], "damaged in its first bytes"),
        (lambda b: b[:-5] + b"#" + b[-4:], "table of contents is damaged"),
    ],
)
def test_damage_is_told_on_opening(path: Path, spoil, words: str) -> None:  # type: ignore[no-untyped-def]
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(DatabaseError, match=words) as caught:
        open_database(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_a_flipped_bit_in_an_array_is_found(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[ALIGNMENT + 100] ^= 1
    path.write_bytes(data)
    assert open_database(path).n_poses == 19  # opening costs no reading of the data
    assert damaged_arrays(path) == ["rotvec"]


def reheaded(data: bytes, change: dict[str, object]) -> bytes:
    """Give the file with other fields in its header, checksums right: what another program version might write."""
    start, length = struct.unpack_from("<QQ", data, 24)
    header = json.loads(data[start : start + length])
    header["fields"].update(change)
    text = json.dumps(header).encode()
    preamble = struct.pack("<16sIIQQ", data[:16], 1, zlib.crc32(text), start, len(text))
    return preamble + struct.pack("<I", zlib.crc32(preamble)) + data[44:start] + text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"schema": 7}, "schema 7, expected 1"),
        ({"joints": ["hips"]}, "schema"),
        ({"reference": np.tile(np.eye(3), (N_JOINTS, 1, 1)).tolist()}, "other joint charts"),
        ({"clip_names": ["a"]}, "cannot be right"),
    ],
)
def test_files_of_another_meaning_are_refused(path: Path, change: dict[str, object], words: str) -> None:
    path.write_bytes(reheaded(path.read_bytes(), change))
    with pytest.raises(DatabaseError, match=words):
        open_database(path)


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    for place in (tmp_path / "none.db", tmp_path):
        with pytest.raises(DatabaseError, match="cannot be opened"):
            open_database(place)


def spoilt(array: str) -> Clip:
    """Give a clip that holds a NaN."""
    good = clip("bad", 3, 9, SMALL)
    values = {"rotvec": good.rotvec.copy(), "root_m": good.root_m.copy()}
    values[array][1, 2] = np.nan
    return Clip("bad", SMALL, 60.0, **values)


@pytest.mark.parametrize(
    ("clips", "words"),
    [
        ([], "no poses"),
        ([clip("none", 0, 1, SMALL)], "no poses"),
        ([CLIPS[0], clip("fast", 3, 1, SMALL, 120.0)], "at 120 Hz, expected 60"),
        ([CLIPS[0], spoilt("rotvec")], "bad holds NaN"),
        ([CLIPS[0], spoilt("root_m")], "bad holds NaN"),
    ],
)
def test_a_failed_write_leaves_the_old_file_and_nothing_else(path: Path, clips: list[Clip], words: str) -> None:
    before = path.read_bytes()
    with pytest.raises(DatabaseError, match=words):
        write_database(path, clips)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_an_interruption_leaves_nothing(tmp_path: Path) -> None:
    def interrupted() -> Iterator[Clip]:
        yield CLIPS[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_database(tmp_path / "a.db", interrupted())
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_to(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(DatabaseError, match="cannot be written"):
        write_database(tmp_path / "file" / "a.db", CLIPS)
    (tmp_path / "folder.db" / "full").mkdir(parents=True)
    with pytest.raises(DatabaseError, match="cannot be written"):
        write_database(tmp_path / "folder.db", CLIPS)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder.db"]


def test_big_endian_and_empty_arrays(tmp_path: Path) -> None:
    with ContainerWriter(tmp_path / "a.bin") as writer:
        writer.add("big", np.array([1.5, -2.0], ">f8"))
        writer.add("none", np.zeros((0, 3), np.int32))
        writer.fields = {"word": "größe"}
    container = open_container(tmp_path / "a.bin")
    assert container.fields == {"word": "größe"}
    assert container.arrays["big"].dtype == np.dtype("<f8") and container.arrays["big"].tolist() == [1.5, -2.0]
    assert container.arrays["none"].shape == (0, 3)
    assert container.damaged() == []
