"""The database file and its container: what goes in comes out, and every kind of damage is found."""

import json
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from config.errors import DatabaseError
from config.joints import N_JOINTS
from database.clips import Clip
from database.container import ALIGNMENT, add_arrays, open_container, write_container
from database.geometry.skeleton import Skeleton
from database.store import find_damaged_arrays, open_database, write_database


def clip(name: str, n: int, seed: int, length_m: float = 0.01, fps: float = 60.0, bad: str = "") -> Clip:
    """Return random poses of a skeleton of unequal bones; bad: the array with a NaN."""
    rng = np.random.default_rng(seed)
    offsets = np.arange(N_JOINTS * 3, dtype=float).reshape(N_JOINTS, 3) * length_m
    arrays = {"rotvec": rng.normal(size=(n, N_JOINTS, 3)), "root_m": rng.normal(size=(n, 3))}
    if bad:
        arrays[bad][1, 2] = np.nan
    return Clip(name, Skeleton(f"{length_m:g}", offsets, offsets[::-1].copy() + 0.1), fps, **arrays)


CLIPS = [clip("14_02", 7, 1, 0.012), clip("32_01", 3, 2), clip("14_02+9", 4, 3, 0.012)]
T_POSE = clip("generated_tpose_1", 5, 4, 0.011)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a database of three clips and a generated one."""
    file = tmp_path / "some folder" / "motion.db"
    write_database(file, iter(CLIPS), [T_POSE], ["a note"])
    return file


def test_what_goes_in_comes_out(path: Path) -> None:
    database = open_database(path)
    assert (database.n_poses, database.n_clips, database.fps, database.notes) == (19, 4, 60.0, ("a note",))
    assert database.clip_names == ("14_02", "32_01", "14_02+9", "generated_tpose_1")
    assert database.clip_start.tolist() == [0, 7, 10, 14, 19] and database.clip_skeleton.tolist() == [0, 1, 0, 2]
    assert database.generated.tolist() == [False, False, False, True]
    assert [s.name for s in database.skeletons] == ["0.012", "0.01", "0.011"]  # equal skeletons are one
    np.testing.assert_array_equal(database.skeletons[1].tails_m, CLIPS[1].skeleton.tails_m)
    for k, source in enumerate([*CLIPS, T_POSE]):
        out = database.clip(k)
        assert out.name == source.name
        np.testing.assert_array_equal(out.rotvec, source.rotvec.astype(np.float32))
        np.testing.assert_array_equal(out.root_m, source.root_m.astype(np.float32))
    assert find_damaged_arrays(path) == []
    assert not database.rotvec.flags.writeable and not database.rotvec.flags.owndata
    assert all(array.ctypes.data % ALIGNMENT == 0 for array in open_container(path).arrays.values())


def test_later_stages_add_arrays(path: Path) -> None:
    indices = np.arange(12, dtype=np.int32)
    add_arrays(path, {"graph_indices": indices, "graph_start": np.array([0, 12], np.int64)})
    add_arrays(path, {"graph_start": np.array([0, 5, 12], np.int64)})
    database = open_database(path)
    assert set(database.extra) == {"graph_indices", "graph_start"} and database.extra["graph_start"].tolist() == [0, 5, 12]
    np.testing.assert_array_equal(database.extra["graph_indices"], indices)
    assert (database.n_poses, database.notes) == (19, ("a note",)) and find_damaged_arrays(path) == []


def reheaded(change: dict[str, object]) -> Callable[[bytes], bytes]:
    """Write other fields into the header, checksums right: what another program version might write."""

    def changed(data: bytes) -> bytes:
        start, length = struct.unpack_from("<QQ", data, 24)
        header = json.loads(data[start : start + length])
        header["fields"].update(change)
        text = json.dumps(header).encode()
        preamble = struct.pack("<16sIIQQ", data[:16], 1, zlib.crc32(text), start, len(text))
        return preamble + struct.pack("<I", zlib.crc32(preamble)) + data[44:start] + text

    return changed


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
        (reheaded({"schema": 7}), "schema 7, expected 1"),
        (reheaded({"joints": ["hips"]}), "schema"),
        (reheaded({"reference": np.tile(np.eye(3), (N_JOINTS, 1, 1)).tolist()}), "other joint charts"),
        (reheaded({"clip_names": ["a"]}), "cannot be right"),
    ],
)
def test_damage_and_other_meanings_are_found_on_opening(path: Path, spoil: Callable[[bytes], bytes], words: str) -> None:
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(DatabaseError, match=words) as caught:
        open_database(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_a_flipped_bit_in_an_array_is_found_on_request(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[ALIGNMENT + 100] ^= 1
    path.write_bytes(data)
    assert open_database(path).n_poses == 19  # opening costs no reading of the data
    assert find_damaged_arrays(path) == ["rotvec"]
    for place in (path.parent / "none.db", path.parent):
        with pytest.raises(DatabaseError, match="cannot be opened"):
            open_database(place)


@pytest.mark.parametrize(
    ("clips", "words"),
    [
        ([], "no poses"),
        ([clip("none", 0, 1)], "no poses"),
        ([CLIPS[0], clip("fast", 3, 1, fps=120.0)], "at 120 Hz, expected 60"),
        ([CLIPS[0], clip("bad", 3, 9, bad="rotvec")], "bad holds NaN"),
        ([CLIPS[0], clip("bad", 3, 9, bad="root_m")], "bad holds NaN"),
    ],
)
def test_a_failed_write_leaves_the_old_file_and_nothing_else(path: Path, clips: list[Clip], words: str) -> None:
    def interrupted() -> Iterator[Clip]:
        yield CLIPS[0]
        raise KeyboardInterrupt

    before = path.read_bytes()
    with pytest.raises(DatabaseError, match=words):
        write_database(path, clips)
    with pytest.raises(KeyboardInterrupt):
        write_database(path, interrupted())
    assert path.read_bytes() == before and list(path.parent.iterdir()) == [path]


def test_a_place_that_cannot_be_written_to(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    (tmp_path / "folder.db" / "full").mkdir(parents=True)
    for place in (tmp_path / "file" / "a.db", tmp_path / "folder.db"):
        with pytest.raises(DatabaseError, match="cannot be written"):
            write_database(place, CLIPS)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder.db"]


def test_big_endian_and_empty_arrays(tmp_path: Path) -> None:
    with write_container(tmp_path / "a.bin") as writer:
        writer.add("big", np.array([1.5, -2.0], ">f8"))
        writer.add("none", np.zeros((0, 3), np.int32))
        assert writer.read_back("big").tolist() == [1.5, -2.0]
        writer.fields = {"word": "größe"}
    container = open_container(tmp_path / "a.bin")
    assert container.fields == {"word": "größe"} and container.damaged() == []
    assert container.arrays["big"].dtype == np.dtype("<f8") and container.arrays["big"].tolist() == [1.5, -2.0]
    assert container.arrays["none"].shape == (0, 3)
