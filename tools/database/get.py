"""From a collection's name to the default database: download, checksums, unpack, build, choose; interrupted, it goes on.

In the user's folder (`installed`) lie `NAME/` with the archives as they came, a folder `motions-...` while a database is built of
them, and `record.json`: whether the licence was agreed to, each archive's SHA-256, and of what the database was built.
"""

import hashlib
import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Final

from config.errors import DatabaseError, describe_reason
from config.files import lock_file, write_atomically
from database.build import build_database
from database.parts import FOLDER, BuildOptions, build_in_parts
from database.store import SCHEMA, Progress
from tools.database.download import MissingFileError, download_file
from tools.database.installed import LOCK, RECORD, SUFFIX, choose_database, find_databases_folder
from tools.database.published import ARCHIVE, MotionCollection
from tools.database.unpack import MOTION_SUFFIXES, DamagedArchiveError, unpack_archive
from tools.progress import Tell

MEGABYTE: Final = 1_000_000
PART_BYTES: Final = 500 * MEGABYTE  # of motion files in one file of the database: about 200,000 poses at 60 Hz
SLACK: Final = 2  # times what is expected: publishers add to their collections


@dataclass(frozen=True, slots=True)
class GetTask:
    """Options of getting a collection.

    Attributes:
        given: archives or motion files that are on disk already, instead of a download.
        mirror: address, if any.
    """

    collection: MotionCollection
    given: tuple[Path, ...] = ()
    mirror: str = ""
    fps: float = 60.0
    processes: int = 2


@dataclass(slots=True)
class CollectionRecord:
    """The record of a collection on this machine.

    Attributes:
        agreed: whether the user has agreed to its terms.
        files: address, size in bytes and SHA-256 of each file, by name.
        built: description of the inputs that its database was built from.
    """

    agreed: bool = False
    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    built: str = ""

    def write(self, folder: Path) -> None:
        """Write it into the collection's folder. Raises FileFormatError."""
        content = {"agreed": self.agreed, "files": self.files, "built": self.built}
        write_atomically(folder / RECORD, json.dumps(content, indent=1))


def read_collection_record(folder: Path) -> CollectionRecord:
    """Return the record of a collection; an empty one if it is absent or damaged."""
    try:
        content = json.loads((folder / RECORD).read_text("utf-8"))
        files = {str(name): dict(entry) for name, entry in content["files"].items()}
        return CollectionRecord(content["agreed"] is True, files, str(content["built"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return CollectionRecord()


def make_collection_folder(collection: MotionCollection) -> Path:
    """Return where a collection's archives lie, made if it is missing. Raises DatabaseError."""
    folder = find_databases_folder() / collection.name
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DatabaseError(
            f"{folder}: cannot be made ({describe_reason(error)}); name another folder in DUOCAP_DATABASES"
        ) from error
    return folder


def get_database(task: GetTask, progress: Progress, tell: Tell) -> Path:
    """Make a collection's database and make it the default; steps that an earlier call has done are not done again.

    Much motion is built in parts, of which those that are finished are kept, too.

    Args:
        task: collection to get, and options of its database.
        progress: called with the amount done and the whole amount.
        tell: receives progress messages as text.
    Raises: DatabaseError or another DuocapError: what there is stays, and the next call goes on from there.
    """
    folder = make_collection_folder(task.collection)
    with _lock_collection(folder):
        record = read_collection_record(folder)
        files = (
            _collect_given(task, record, folder, progress, tell)
            if task.given
            else _download_published(task, record, folder, progress, tell)
        )
        out = folder.parent / f"{task.collection.name}{SUFFIX}"
        key = _compute_database_key(task, record, files)
        if record.built == key and out.is_file():
            tell(f"{out}: built already")
        else:
            _build_collection(task, record, files, folder / f"motions-{key[:12]}", out, progress)
            record.built = key
            record.write(folder)
        for left in folder.glob("motions-*"):
            shutil.rmtree(left, ignore_errors=True)
        unfinished = [*out.parent.glob(f".{out.name}.*.part"), *out.with_suffix(FOLDER).glob(".*.part"), *folder.glob(".*.part")]
        for left in unfinished:  # of a process that was killed
            left.unlink(missing_ok=True)
    choose_database(out)
    return out


def _download_published(task: GetTask, record: CollectionRecord, folder: Path, progress: Progress, tell: Tell) -> list[Path]:
    """Return the collection's files, downloaded unless they are there and as they came. Raises DatabaseError."""
    wanted, collection = task.collection.files, task.collection
    _check_disk_space(folder, collection)
    files, missing = list[Path](), list[str]()
    base = (task.mirror or collection.publisher).rstrip("/") + "/"
    for file in wanted:
        target = folder / PurePosixPath(file).name
        if target.is_file() and target.name in record.files:
            if _compute_sha256(target, progress) == record.files[target.name]["sha256"]:
                files.append(target)
                continue
            tell(f"{target}: not as it was downloaded; it is downloaded again")
            target.unlink()
        try:
            remote = download_file(base + file, target, progress, SLACK * collection.download_mb * MEGABYTE)
        except MissingFileError:
            if PurePosixPath(file).suffix == ARCHIVE:
                raise
            missing.append(target.name)  # a trial that was never published is no reason to stop
            continue
        _record_checksum(record, target, remote.url, progress, tell)
        record.write(folder)
        files.append(target)
    if missing:
        tell(f"not there: {len(missing)} of {len(wanted)} files, such as {missing[0]}")
    if not any(file.suffix.lower() != ".asf" for file in files):
        raise DatabaseError(f"{base}: has none of the motions of {collection.name}; set database.mirror, or give --from FILE")
    return files


def _collect_given(task: GetTask, record: CollectionRecord, folder: Path, progress: Progress, tell: Tell) -> list[Path]:
    """Return the archives and motion files that were named, folders searched, and note their checksums. Raises DatabaseError."""
    files: list[Path] = []
    for given in task.given:
        found = sorted(given.iterdir()) if given.is_dir() else [given]
        files += [file for file in found if file.suffix.lower() in (ARCHIVE, *MOTION_SUFFIXES) and file.is_file()]
        if not given.exists():
            raise DatabaseError(f"{given}: no such file or folder; expected an archive such as {task.collection.files[-1]}")
    if not files:
        raise DatabaseError(f"{task.given[0]}: no archive; expected .zip, or .asf and .amc files, as published for --from")
    for file in files:
        _record_checksum(record, file, str(file.absolute()), progress, tell)
    record.write(folder)
    return files


def _record_checksum(record: CollectionRecord, file: Path, origin: str, progress: Progress, tell: Tell) -> None:
    """Keep a file's checksum; tell if one of that name was another before."""
    digest, known = _compute_sha256(file, progress), record.files.get(file.name)
    if known is not None and known["sha256"] != digest:
        before = f"before {known['bytes']} bytes, {known['sha256'][:12]}... from {known['url']}"
        tell(f"{file.name}: not the same as before: {file.stat().st_size} bytes, SHA-256 {digest[:12]}..., {before}")
    record.files[file.name] = {"url": origin, "bytes": file.stat().st_size, "sha256": digest}


def _build_collection(
    task: GetTask, record: CollectionRecord, files: Sequence[Path], motions: Path, out: Path, progress: Progress
) -> None:
    """Unpack and build. Raises DatabaseError; a downloaded archive that is damaged is removed, to be downloaded again."""
    left = SLACK * task.collection.unpacked_mb * MEGABYTE
    try:
        motions.mkdir(parents=True, exist_ok=True)
        for file in files:
            if file.suffix.lower() != ARCHIVE:
                if task.collection.takes(file.name):
                    shutil.copyfile(file, motions / file.name)
                continue
            try:
                unpack_archive(file, motions, task.collection.takes, left, progress)
            except DamagedArchiveError:
                if not task.given:
                    file.unlink()
                raise
    except OSError as error:
        raise DatabaseError(
            f"{motions}: cannot be written ({describe_reason(error)}); make room and give the same command again"
        ) from error
    if not any(file.suffix.lower() in (".amc", ".bvh") for file in motions.iterdir()):
        raise DatabaseError(f"{files[0]}: holds no motions of {task.collection.name}; expected {task.collection.files[-1]}")
    n_parts = -(-sum(file.stat().st_size for file in motions.iterdir()) // PART_BYTES)
    if n_parts < 2:
        build_database([motions], out, task.fps, (), progress, skip_bad=True, processes=task.processes)
    else:
        options = BuildOptions(task.fps, skip_bad=True, processes=task.processes)
        build_in_parts([motions], out, n_parts, options, progress=progress)


def _compute_database_key(task: GetTask, record: CollectionRecord, files: Sequence[Path]) -> str:
    """Return what tells databases of a collection apart: what they are made of, and how."""
    parts = [str(SCHEMA), f"{task.fps:g}", task.collection.name, *sorted(record.files[file.name]["sha256"] for file in files)]
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()


def _compute_sha256(file: Path, progress: Progress) -> str:
    """Return the SHA-256 of a file, in hexadecimal. Raises DatabaseError: it cannot be read."""
    digest, done = hashlib.sha256(), 0
    try:
        size = file.stat().st_size
        with file.open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
                done += len(block)
                progress(done, size, f"checking {file.name}")
    except OSError as error:
        raise DatabaseError(f"{file}: cannot be read ({describe_reason(error)})") from error
    return digest.hexdigest()


def _check_disk_space(folder: Path, collection: MotionCollection) -> None:
    """Raise DatabaseError unless the disk has room for what is to be downloaded yet and for all of it unpacked."""
    there = sum(file.stat().st_size for file in folder.iterdir() if file.is_file())
    needed = max(collection.download_mb * MEGABYTE - there, 0) + collection.unpacked_mb * MEGABYTE
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise DatabaseError(
            f"{folder}: {free / 1e9:.1f} GB free, {collection.name} needs {needed / 1e9:.1f}; make room, or name another folder "
            "in DUOCAP_DATABASES"
        )


@contextmanager
def _lock_collection(folder: Path) -> Iterator[None]:
    """Keep a second command from the same collection for as long as the block lasts. Raises DatabaseError: there is one."""
    try:
        file = (folder / LOCK).open("a+b")
    except OSError as error:
        raise DatabaseError(
            f"{folder}: cannot be written to ({describe_reason(error)}); name another in DUOCAP_DATABASES"
        ) from error
    with file:
        try:
            lock_file(file.fileno())
        except OSError as error:
            raise DatabaseError(f"{folder}: another `duocap database get` is at work on it; wait until that has ended") from error
        yield
