"""A download comes out byte for byte, however often it is cut, and says in a line why it cannot."""

from pathlib import Path

import numpy as np
import pytest

from config.errors import DatabaseError
from tests.tools.database.publisher import Publisher, publishing
from tools.database import download as module
from tools.database.download import MissingFileError, download_file

CONTENT = np.random.default_rng(5).bytes(2_000_003)
PLACES = sorted([1, len(CONTENT) - 1, *np.random.default_rng(6).integers(2, len(CONTENT) - 1, 18).tolist()])
LIMIT = 10 * len(CONTENT)


class StoppedError(Exception):
    """Stands for Ctrl-C or a killed process: the download has no part in how it ends."""


def fetch(publisher: Publisher, file: Path, stop_at: float = float("inf"), limit: int = LIMIT) -> list[float]:
    """Download, without waiting; return the pauses that were asked for. Raises StoppedError once `stop_at` bytes are there."""
    pauses: list[float] = []

    def progress(done: int, total: int, name: str) -> None:
        if done >= stop_at:
            raise StoppedError

    download_file(f"{publisher.url}a.zip", file, progress, limit, pauses.append)
    return pauses


def test_cut_twenty_times_in_a_row_it_goes_on_each_time(tmp_path: Path) -> None:
    with publishing(Publisher({"/a.zip": CONTENT}, cuts=np.diff([0, *PLACES]).tolist())) as publisher:
        pauses = fetch(publisher, tmp_path / "a.zip")
    assert (tmp_path / "a.zip").read_bytes() == CONTENT and list(tmp_path.glob("*.part*")) == []
    assert [asked for _, asked in publisher.asked] == ["", *(f"bytes={place}-" for place in PLACES)]
    assert set(pauses) == {1.0}  # what brings something is not in vain


def test_without_a_mark_of_the_version_nothing_tells_whether_the_rest_belongs_to_what_is_there(tmp_path: Path) -> None:
    with publishing(Publisher({"/a.zip": CONTENT}, cuts=[PLACES[9]], etag="")) as publisher:
        fetch(publisher, tmp_path / "a.zip")
    assert (tmp_path / "a.zip").read_bytes() == CONTENT and [asked for _, asked in publisher.asked] == ["", ""]


def test_stopped_at_twenty_places_the_next_call_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", 1000)
    places = [1, *np.random.default_rng(7).choice(np.arange(2000, len(CONTENT) - 2000, 2000), 19, replace=False).tolist()]
    with publishing(Publisher({"/a.zip": CONTENT})) as publisher:
        for place in sorted(places):
            with pytest.raises(StoppedError):
                fetch(publisher, tmp_path / "a.zip", stop_at=place)
            assert not (tmp_path / "a.zip").exists()
        fetch(publisher, tmp_path / "a.zip")
    assert (tmp_path / "a.zip").read_bytes() == CONTENT
    starts = [int(asked.removeprefix("bytes=").rstrip("-") or 0) for _, asked in publisher.asked]
    assert starts == sorted(set(starts)) and len(starts) == 21


@pytest.mark.parametrize(
    "changed",
    [
        {"ranges": False},  # the whole file again, with status 200
        {"etag": '"two"'},  # If-Range does not hold
        {"etag": '"two"', "if_range": False},  # the server sends the rest of another version nevertheless
        {"etag": "", "if_range": False},  # it does not say any more which version it is, but that it is of another length
    ],
)
def test_a_part_of_another_version_is_begun_anew(changed: dict[str, object], tmp_path: Path) -> None:
    other = CONTENT[::-1] if changed.get("etag") != "" else CONTENT[::-1] + b"more"
    with publishing(Publisher({"/a.zip": CONTENT})) as publisher:
        with pytest.raises(StoppedError):
            fetch(publisher, tmp_path / "a.zip", stop_at=900_000)
        publisher.files["/a.zip"] = other
        for name, value in changed.items():
            setattr(publisher, name, value)
        fetch(publisher, tmp_path / "a.zip")
    assert (tmp_path / "a.zip").read_bytes() == other


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"lie": 50}, "broke off after 2000003 of 2000053 bytes, 5 times in a row"),
        ({"cuts": [0] * 50}, "broke off after 0 of 2000003 bytes, 5 times in a row"),
        ({"ranges": False, "cuts": [70_000] * 50}, "5 times in a row"),
        ({"status": 503}, "503 Service Unavailable, 5 times in a row"),
        ({"status": 403}, "403 Forbidden; set database.mirror"),
    ],
)
def test_what_cannot_be_had_ends_in_a_line(wrong: dict[str, object], words: str, tmp_path: Path) -> None:
    with publishing(Publisher({"/a.zip": CONTENT})) as publisher:
        for name, value in wrong.items():
            setattr(publisher, name, value)
        with pytest.raises(DatabaseError, match=words):
            fetch(publisher, tmp_path / "a.zip")
    assert not (tmp_path / "a.zip").exists()


def test_a_length_that_is_not_told_too_much_and_what_is_not_there(tmp_path: Path) -> None:
    with publishing(Publisher({"/a.zip": CONTENT}, length=False)) as publisher:
        fetch(publisher, tmp_path / "a.zip")
        assert (tmp_path / "a.zip").read_bytes() == CONTENT
        for publisher.length in (True, False):
            with pytest.raises(DatabaseError, match="expected at most"):
                fetch(publisher, tmp_path / "b.zip", limit=100_000)
        publisher.files.clear()
        with pytest.raises(MissingFileError, match="404"):
            fetch(publisher, tmp_path / "c.zip")
    with pytest.raises(DatabaseError, match="refused, 5 times in a row"):
        fetch(publisher, tmp_path / "c.zip")
    with pytest.raises(DatabaseError, match="not an address"):
        download_file("file:///etc/passwd", tmp_path / "c.zip", lambda *_: None, LIMIT)
    assert {file.name for file in tmp_path.iterdir() if file.suffix == ".zip"} == {"a.zip"}


def test_a_full_disk_is_a_line_and_what_is_there_is_of_use_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with publishing(Publisher({"/a.zip": CONTENT})) as publisher:
        with pytest.raises(StoppedError):
            fetch(publisher, tmp_path / "a.zip", stop_at=500_000)
        if Path("/dev/full").exists():
            there = module.PartialFile(tmp_path / "a.zip", f"{publisher.url}a.zip")
            saved = there.path.rename(tmp_path / "kept")
            there.path.symlink_to("/dev/full")
            monkeypatch.setattr(module.PartialFile, "start", lambda self: len(saved.read_bytes()))
            with pytest.raises(DatabaseError, match=r"cannot be written \(no space left on device\); make room"):
                fetch(publisher, tmp_path / "a.zip")
            monkeypatch.undo()
            there.path.unlink()
            saved.rename(there.path)
        fetch(publisher, tmp_path / "a.zip")
    assert (tmp_path / "a.zip").read_bytes() == CONTENT
    assert publisher.asked[-1][1].startswith("bytes=")
