"""What is done: in the folder of a task's results, a record of the inputs' content, the command and the versions.

A folder of results appears whole, and replaces none but an earlier one of a batch.
"""

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from config.errors import DuocapError, FileFormatError, describe_reason
from config.files import lock_file, write_atomically
from database.store import list_database_files
from tools.batch.task import BatchTask

DONE: Final = "done.json"
LOCK: Final = ".lock"
TOKEN: Final = ".batch"  # while a batch is at work: what tells a worker that this is the folder that was meant
FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file of an input.

    Attributes:
        name: relative to the input, empty where that is the file itself, beginning with .. for a database's other files.
        mtime_ns: time of its last change [ns].
    """

    input: int
    name: str
    path: Path
    n_bytes: int
    mtime_ns: int

    @property
    def key(self) -> str:
        """What it is called in a record."""
        return f"{self.input}/{self.name}"


def list_input_files(task: BatchTask, inputs: tuple[str, ...] = ()) -> list[InputFile]:
    """Return the files that a task reads, in order; inputs: where they are here. Raises OSError: one is not there."""
    found = []
    for number, place in enumerate(inputs or task.inputs):
        root = Path(place)
        paths = sorted(path for path in root.rglob("*") if path.is_file()) if root.is_dir() else [root]
        for path in (*paths, *_list_database_parts(root)):
            name = Path(os.path.relpath(path, root)).as_posix() if path != root else ""
            if name and name.endswith(task.unread):
                continue
            stat = path.stat()
            found.append(InputFile(number, name, path, stat.st_size, stat.st_mtime_ns))
    return found


def _list_database_parts(file: Path) -> list[Path]:
    """Return the other files of a database that consists of several."""
    if file.suffix != ".db" or not file.is_file():
        return []
    try:
        return [part for part in list_database_files(file) if part != file]
    except DuocapError:
        return []  # the command will say what is wrong with it


def hash_content(path: Path) -> str:
    """Return the SHA-256 of a file's content."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@lru_cache(maxsize=1000)
def _hash_once(path: Path, n_bytes: int, mtime_ns: int) -> str:
    """Return the hash of a file of that size and time, once in a process for those that many tasks read."""
    return hash_content(path)


def hash_files(files: list[InputFile], known: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return [bytes, time of change, hash] of each file; a file of known size and time is not read again.

    known: an earlier result.
    """
    result: dict[str, list[Any]] = {}
    for file in files:
        mark = [file.n_bytes, file.mtime_ns]
        before = known.get(file.key, [])
        result[file.key] = [*mark, before[2] if before[:2] == mark else _hash_once(file.path, file.n_bytes, file.mtime_ns)]
    return result


def compute_digest(task: BatchTask, hashes: Mapping[str, list[Any]], versions: Mapping[str, str]) -> str:
    """Return a hash of all that the results depend on; not of where files are.

    Args:
        task: task that the results belong to.
        hashes: hashes of its inputs, as in a record.
        versions: versions of the packages that results depend on.
    """
    names = [Path(place).name for place in task.inputs]  # what is exported tells the name of its source
    content = [FORMAT, task.kind, task.words, names, {key: mark[2] for key, mark in sorted(hashes.items())}, dict(versions)]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def read_task_record(folder: Path) -> dict[str, Any] | None:
    """Return the record of a folder of results, None where there is none or results are missing."""
    try:
        record = json.loads((folder / DONE).read_text("utf-8"))
        whole = all((folder / name).stat().st_size == size for name, size in record["outputs"].items())
        return dict(record) if whole else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def is_done(task: BatchTask, record: Mapping[str, Any], versions: Mapping[str, str]) -> bool:
    """Return whether a record is of this very task.

    Args:
        task: the task.
        record: record of a folder of results.
        versions: versions of the packages that results depend on.
    """
    try:
        return bool(compute_digest(task, hash_files(list_input_files(task), record["inputs"]), versions) == record["digest"])
    except (OSError, KeyError, TypeError):
        return False


def write_task_record(folder: Path, record: Mapping[str, Any]) -> None:
    """Write the record of the results in a folder, last of all. Raises FileFormatError."""
    outputs = {path.relative_to(folder).as_posix(): path.stat().st_size for path in sorted(folder.rglob("*")) if path.is_file()}
    write_atomically(folder / DONE, json.dumps({**record, "outputs": outputs}, indent=1))


@contextlib.contextmanager
def replace_folder(place: Path) -> Iterator[Path]:
    """Return an empty folder that becomes `place` if the block ends without an exception, in place of earlier results.

    Raises DuocapError: what is there was not made by a batch; OSError.
    """
    if place.exists() and not (place / DONE).is_file() and (not place.is_dir() or any(place.iterdir())):
        raise DuocapError(f"{place}: exists, and was not made by a batch; move it away or choose another folder with --out")
    place.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=f".{place.name}.", suffix=".part", dir=place.parent))
    try:
        part.chmod(0o755)
        yield part
        old = part.with_suffix(".old")
        if place.exists():
            place.rename(old)
        part.rename(place)
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def remove_leftovers(out: Path, task: BatchTask) -> None:
    """Remove what workers that were killed left of a task; call it while no worker is at it."""
    place = out / task.name
    for left in (*place.parent.glob(f".{task.leaf}.*.part"), *place.parent.glob(f".{task.leaf}.*.old")):
        shutil.rmtree(left, ignore_errors=True)


@contextlib.contextmanager
def lock_batch_folder(out: Path) -> Iterator[None]:
    """Keep other batches from a folder, which is made, while the block runs. Raises DuocapError: there is one."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        stream = (out / LOCK).open("a+b")
    except OSError as error:
        raise FileFormatError(
            f"{out}: cannot be written to ({describe_reason(error)}); choose another folder with --out"
        ) from error
    with stream:
        try:
            lock_file(stream.fileno())
        except OSError as error:
            raise DuocapError(
                f"{out}: another `duocap batch` is at work on it; wait until that has ended, or choose another --out"
            ) from error
        yield
