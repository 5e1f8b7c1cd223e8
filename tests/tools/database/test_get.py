"""From a publisher on this machine to the default database, through damage and interruptions."""

import io
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from config.errors import DatabaseError
from config.loading import load_settings
from database.store import find_damaged_arrays, open_database
from tests.support.commands import Result, duocap
from tests.support.files.motion import amc_text, asf_text, random_values
from tests.tools.database.publisher import Publisher, publishing
from tools.database import get as module
from tools.database.get import GetTask, get_database
from tools.database.installed import ADVICE, find_chosen_database, find_default_database
from tools.database.published import COLLECTIONS, MotionCollection
from tools.database.unpack import unpack_archive
from tools.doctor import machine
from tools.doctor.finding import has_hindrance

TOY = MotionCollection("toy", "two clips", "http://127.0.0.1:9/", ("all/toy.zip",), "For tests only.", "nobody", 30, 30)
SKELETON = asf_text().encode()
MOTIONS = {f"77_0{k}.amc": amc_text(random_values(np.random.default_rng(k), 9 + k)).encode() for k in (1, 2)}
NOTHING = lambda *_: None  # noqa: E731


def archive(members: dict[str, bytes]) -> bytes:
    """Return a .zip."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in members.items():
            opened.writestr(name, content)
    return stream.getvalue()


WHOLE = archive({"all_asfamc/subjects/77/77.asf": SKELETON} | {f"all_asfamc/subjects/77/{k}": v for k, v in MOTIONS.items()})


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of the user's databases, with a collection `toy` that duocap knows."""
    monkeypatch.setenv("DUOCAP_DATABASES", str(tmp_path / "databases"))
    monkeypatch.setitem(COLLECTIONS, "toy", TOY)
    monkeypatch.setattr("tools.database.download.time.sleep", NOTHING)
    return tmp_path / "databases"


@pytest.fixture
def publisher() -> Iterator[Publisher]:
    """Serve the collection."""
    with publishing(Publisher({"/all/toy.zip": WHOLE})) as serving:
        yield serving


def database(capsys: pytest.CaptureFixture[str], *words: object) -> Result:
    """Run `duocap database`."""
    return duocap(capsys, "database", *words)


def names(path: Path) -> set[str]:
    """Return the captured clips of a database."""
    found = open_database(path)
    return {name for name, generated in zip(found.clip_names, found.generated, strict=True) if not generated}


def test_get_list_use_and_remove(home: Path, publisher: Publisher, capsys: pytest.CaptureFixture[str]) -> None:
    mirror = ("--set", f"database.mirror={publisher.url}")
    refused = database(capsys, "get", "toy", *mirror)
    assert refused.status == 1 and "For tests only." in refused.err and "--yes" in refused.last and publisher.asked == []
    done = database(capsys, "get", "toy", "--yes", "--fps", "30", *mirror)
    assert done.status == 0, done.err
    assert "default of all commands" in done.out and find_chosen_database() == home / "toy.db"
    assert names(home / "toy.db") == {"77_01", "77_02"} and open_database(home / "toy.db").fps == 30.0
    assert sorted(entry.name for entry in (home / "toy").iterdir()) == [".lock", "record.json", "toy.zip"]

    again = database(capsys, "get", "toy", "--fps", "30", *mirror)  # agreed to, downloaded and built already
    assert again.status == 0 and "built already" in again.err and "For tests only" not in again.err
    assert len(publisher.asked) == 1

    told: list[str] = []
    assert find_default_database(told.append) == home / "toy.db" and told == []
    assert database(capsys, "use", "builtin").status == 0 and find_chosen_database() is None
    assert find_default_database(told.append).name.startswith("builtin-") and told == [ADVICE]
    assert database(capsys, "use", home / "toy.db").status == 0
    assert "* toy: " in database(capsys, "list").out and "  builtin" in database(capsys, "list").out
    assert "no such database" in database(capsys, "use", "tpy").last
    assert "toy" in database(capsys, "remove", "tpy").last

    removed = database(capsys, "remove", "toy")
    assert removed.status == 0 and "built-in motions are the default again" in removed.out
    assert find_chosen_database() is None and not (home / "toy.db").exists() and not (home / "toy" / "toy.zip").exists()
    publisher.files["/all/toy.zip"] = archive({"77.asf": SKELETON, "77_02.amc": MOTIONS["77_02.amc"]})
    other = database(capsys, "get", "toy", *mirror)
    assert other.status == 0 and "toy.zip: not the same as before" in other.err and names(home / "toy.db") == {"77_02"}


def test_the_licence_is_agreed_to_by_typing_yes(
    home: Path, publisher: Publisher, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for answer, status in (("no", 1), ("", 1), ("yes", 0)):
        typed = io.StringIO(f"{answer}\n")
        monkeypatch.setattr(typed, "isatty", lambda: True, raising=False)
        monkeypatch.setattr("sys.stdin", typed)
        done = database(capsys, "get", "toy", "--set", f"database.mirror={publisher.url}")
        assert done.status == status and ("not agreed to; nothing is downloaded" in done.err) == bool(status), done.err
    (home / "toy.db").unlink()
    assert "not there any more; choose another" in database(capsys, "list").last
    with pytest.raises(DatabaseError, match="duocap database use builtin"):
        find_default_database()
    assert has_hindrance(machine.examine_database(load_settings()))
    assert database(capsys, "use", "builtin").status == 0 and find_chosen_database() is None


def test_the_list_says_sizes_licences_and_contents(capsys: pytest.CaptureFixture[str]) -> None:
    listed = database(capsys, "get", "--list")
    assert listed.status == 0
    for name in ("cmu", "cmu-locomotion", "hdm05", "hdm05-cuts"):
        assert f"{name}: {COLLECTIONS[name].contents}" in listed.out and COLLECTIONS[name].terms in listed.out
    assert "about 1100 MB" in listed.out
    assert database(capsys, "get", "cmo").status == 2


def test_interrupted_anywhere_it_goes_on(home: Path, publisher: Publisher) -> None:
    whole, told = home.parent / "whole.db", list[str]()
    get_database(GetTask(TOY, mirror=publisher.url), lambda done, total, name: told.append(name), NOTHING)
    (home / "toy.db").rename(whole)
    (home / "toy" / "toy.zip").unlink()

    def stop_at(stage: str, name: str) -> None:
        if name == stage:
            raise KeyboardInterrupt

    for stage in dict.fromkeys(told):  # from the first byte to the neighbours
        with pytest.raises(KeyboardInterrupt):
            get_database(GetTask(TOY, mirror=publisher.url), lambda done, total, name, at=stage: stop_at(at, name), NOTHING)
        assert not (home / "toy.db").exists()
    for left in (".toy.db.1.part", "toy/.toy.zip.1.part", "toy/motions-1/77_01.amc"):  # as a process leaves that is killed
        (home / left).parent.mkdir(exist_ok=True)
        (home / left).write_bytes(b"half")
    get_database(GetTask(TOY, mirror=publisher.url), NOTHING, NOTHING)
    first, last = open_database(whole), open_database(home / "toy.db")
    assert np.array_equal(first.rotvec, last.rotvec) and first.clip_names == last.clip_names
    assert find_damaged_arrays(home / "toy.db") == []
    assert list((home / "toy").glob("motions-*")) == [] and not list(home.rglob("*.part*"))


def test_much_motion_is_built_in_parts_that_are_kept_when_interrupted(
    home: Path, publisher: Publisher, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    get_database(GetTask(TOY, mirror=publisher.url), NOTHING, NOTHING)
    (home / "toy.db").rename(home.parent / "whole.db")
    monkeypatch.setattr(module, "PART_BYTES", len(SKELETON) + len(MOTIONS["77_02.amc"]))

    def stop_in_the_second(done: int, total: int, name: str) -> None:
        if name.startswith("file 2 of 2"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        get_database(GetTask(TOY, mirror=publisher.url), stop_in_the_second, NOTHING)
    assert [file.name for file in (home / "toy.parts").iterdir()] == ["part-001.db"] and not (home / "toy.db").exists()
    made = (home / "toy.parts" / "part-001.db").stat().st_mtime_ns
    get_database(GetTask(TOY, mirror=publisher.url), NOTHING, NOTHING)
    assert (home / "toy.parts" / "part-001.db").stat().st_mtime_ns == made
    first, last = open_database(home.parent / "whole.db"), open_database(home / "toy.db")
    assert np.array_equal(first.rotvec, last.rotvec) and first.clip_names == last.clip_names and len(last.parts) == 3
    assert find_damaged_arrays(home / "toy.db") == []
    assert "* toy: " in database(capsys, "list").out
    assert database(capsys, "remove", "toy").status == 0 and not (home / "toy.parts").exists()


@pytest.mark.parametrize(
    "content",
    [
        WHOLE[:-30],
        WHOLE[:900] + b"\0" * 200 + WHOLE[1100:],
        b"<html>log in to this network first</html>",
        b"",
    ],
    ids=["cut", "damaged", "page", "empty"],
)
def test_a_damaged_archive_is_a_line_and_is_got_again(home: Path, publisher: Publisher, content: bytes) -> None:
    publisher.files["/all/toy.zip"] = content
    with pytest.raises(DatabaseError, match=r"toy\.zip: not a whole archive .*get it again"):
        get_database(GetTask(TOY, mirror=publisher.url), NOTHING, NOTHING)
    assert find_chosen_database() is None and not (home / "toy.db").exists()
    publisher.files["/all/toy.zip"] = WHOLE
    get_database(GetTask(TOY, mirror=publisher.url), NOTHING, NOTHING)
    assert names(home / "toy.db") == {"77_01", "77_02"}
    (home / "toy" / "toy.zip").write_bytes(content)  # the disk's fault
    told: list[str] = []
    get_database(GetTask(TOY, mirror=publisher.url), NOTHING, told.append)
    assert any("not as it was downloaded" in line for line in told)
    assert (home / "toy" / "toy.zip").read_bytes() == WHOLE


def test_a_clip_that_cannot_be_read_is_left_out_with_a_line(home: Path, publisher: Publisher, tmp_path: Path) -> None:
    broken = MOTIONS["77_01.amc"].replace(b"\nlfemur ", b"\nlfemur nan ", 1)
    (tmp_path / "mine.zip").write_bytes(archive({"77.asf": SKELETON, "x/77_01.amc": broken, "77_02.amc": MOTIONS["77_02.amc"]}))
    get_database(GetTask(TOY, (tmp_path / "mine.zip",)), NOTHING, NOTHING)
    assert names(home / "toy.db") == {"77_02"} and publisher.asked == []
    assert any("77_01.amc, line" in note for note in open_database(home / "toy.db").notes)
    with pytest.raises(DatabaseError, match="no such file"):
        get_database(GetTask(TOY, (tmp_path / "none.zip",)), NOTHING, NOTHING)
    (tmp_path / "other.zip").write_bytes(archive({"readme.txt": b"no motions"}))
    with pytest.raises(DatabaseError, match="holds no motions of toy"):
        get_database(GetTask(TOY, (tmp_path / "other.zip",)), NOTHING, NOTHING)
    (tmp_path / "bad.zip").write_bytes(b"PK")
    with pytest.raises(DatabaseError, match="not a whole archive"):
        get_database(GetTask(TOY, (tmp_path / "bad.zip",)), NOTHING, NOTHING)
    assert (tmp_path / "bad.zip").exists()  # what is the user's own stays


def test_single_files_that_were_never_published_are_passed_over(home: Path, publisher: Publisher, tmp_path: Path) -> None:
    files = ("s/77/77.asf", "s/77/77_01.amc", "s/77/77_02.amc", "s/77/77_03.amc")
    single = replace(TOY, files=files)
    publisher.files = {"/s/77/77.asf": SKELETON, "/s/77/77_01.amc": MOTIONS["77_01.amc"], "/s/77/77_03.amc": MOTIONS["77_02.amc"]}
    told: list[str] = []
    get_database(GetTask(single, mirror=publisher.url), NOTHING, told.append)
    assert names(home / "toy.db") == {"77_01", "77_03"} and "not there: 1 of 4 files, such as 77_02.amc" in told
    (tmp_path / "all.zip").write_bytes(archive({"77.asf": SKELETON, "77_09.amc": MOTIONS["77_02.amc"], **MOTIONS}))
    get_database(GetTask(single, (tmp_path / "all.zip",)), NOTHING, NOTHING)  # of the whole collection, its own clips only
    assert names(home / "toy.db") == {"77_01", "77_02"}
    publisher.files = {}
    with pytest.raises(DatabaseError, match="none of the motions of toy"):
        get_database(GetTask(replace(single, name="toy2"), mirror=publisher.url), NOTHING, NOTHING)


def test_nothing_is_unpacked_elsewhere_or_beyond_the_limit(tmp_path: Path) -> None:
    evil = {
        "../../out.amc": b"1",
        "/etc/abs.amc": b"2",
        "C:\\win\\drive.bvh": b"3",
        "a/._77.amc": b"4",
        "run.sh": b"5",
        "..": b"6",
    }
    (tmp_path / "evil.zip").write_bytes(archive(evil))
    folder = tmp_path / "deep" / "motions"
    assert unpack_archive(tmp_path / "evil.zip", folder, lambda name: True, 1000, NOTHING) == 3
    assert {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()} == {
        "evil.zip",
        *(f"deep/motions/{name}" for name in ("out.amc", "abs.amc", "drive.bvh")),
    }
    (tmp_path / "bomb.zip").write_bytes(archive({"a.amc": bytes(50_000_000)}))
    with pytest.raises(DatabaseError, match="unpacks to 50 MB, expected at most 20; nothing is unpacked"):
        unpack_archive(tmp_path / "bomb.zip", tmp_path / "bomb", lambda name: True, 20_000_000, NOTHING)
    assert not (tmp_path / "bomb").exists()
    # A member that claims to be smaller than it is.
    claimed = (50_000_000).to_bytes(4, "little")
    (tmp_path / "bomb.zip").write_bytes((tmp_path / "bomb.zip").read_bytes().replace(claimed, (1000).to_bytes(4, "little")))
    with pytest.raises(DatabaseError, match="not a whole archive"):
        unpack_archive(tmp_path / "bomb.zip", tmp_path / "bomb", lambda name: True, 20_000_000, NOTHING)
    assert list((tmp_path / "bomb").iterdir()) == []


def test_no_room_and_two_at_once_are_told_first(home: Path, publisher: Publisher) -> None:
    with pytest.raises(DatabaseError, match=r"GB free, toy needs 10000000\.0; make room"):
        get_database(GetTask(replace(TOY, download_mb=10**10), mirror=publisher.url), NOTHING, NOTHING)
    busy = pytest.raises(DatabaseError, match="another `duocap database get` is at work")
    with module._lock_collection(module.make_collection_folder(TOY)), busy:
        get_database(GetTask(TOY, mirror=publisher.url), NOTHING, NOTHING)
    assert publisher.asked == []


def test_what_is_published_where() -> None:
    for collection in COLLECTIONS.values():
        assert collection.publisher.endswith("/") and len(set(collection.files)) == len(collection.files) > 0
        stems = [file.rpartition("/")[2] for file in collection.files]
        assert len(set(stems)) == len(stems)  # they lie in one folder
    assert COLLECTIONS["cmu"].takes("01_01.amc") and COLLECTIONS["cmu-locomotion"].takes("16_58.amc")
    assert not COLLECTIONS["cmu-locomotion"].takes("01_01.amc")
