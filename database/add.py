"""Add motions to a database that exists: read, cleaned and resampled as when it was built."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from config.errors import DatabaseError
from database.build import BuildReport, Progress, plan, read_clips
from database.clips import Clip
from database.graph_store import graph_extender
from database.leave_out import parse_leave_out
from database.store import append_clips, open_database


def add_to_database(
    path: str | Path,
    sources: Iterable[str | Path],
    leave_out: Sequence[str] = (),
    progress: Progress | None = None,
    skip_bad: bool = False,
    processes: int = 2,
) -> BuildReport:
    """Add motions at a database's own rate, and take them into its neighbour graph if it has one.

    Arguments as of `database.build.build_database`. Motions it holds already are left out. The T-poses stay those it has.
    The database is replaced by the larger one when all is done. Raises DuocapError; the database is then as it was.
    """
    fps = open_database(path).fps
    held = _digests(path)
    report = BuildReport()
    jobs = plan(sources, [parse_leave_out(text) for text in leave_out], report)

    def new() -> Iterator[Clip]:
        added = 0
        for clip in read_clips(jobs, fps, report, progress, skip_bad, processes):
            digest = _digest(clip)
            if digest in held:
                report.notes.append(f"{clip.name}: in the database already")
                continue
            held.add(digest)
            added += 1
            yield clip
        if not added:
            raise DatabaseError(f"{path}: nothing to add; these motions are in it already or left out, expected others")

    def notes() -> Iterator[str]:
        yield from ("added later:", *report.lines())

    append_clips(path, new(), notes(), graph_extender(path, progress))
    return report


def _digests(path: str | Path) -> set[bytes]:
    """Give the digests of all clips of a database."""
    database = open_database(path)
    return {_digest(database.clip(k)) for k in range(database.n_clips)}


def _digest(clip: Clip) -> bytes:
    """Give a digest of a clip's poses as a database stores them."""
    poses = clip.rotvec.astype(np.float32).tobytes() + clip.root_m.astype(np.float32).tobytes()
    return hashlib.blake2b(poses, digest_size=16).digest()
