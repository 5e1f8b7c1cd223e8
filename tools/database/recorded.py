"""Recordings as sources of a database: what was tracked without a gap becomes motion files while the database is built."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from config.errors import DatabaseError
from database.clips import find_runs
from stream.export.bvh import write_bvh
from stream.export.read import RECORDING, read_take
from stream.export.take import cut_take

SHORTEST_S = 0.1  # of a stretch in which somebody is tracked


@contextmanager
def open_sources(sources: Sequence[Path]) -> Iterator[list[Path]]:
    """Yield sources with motion files in place of recordings; they are gone afterwards. Raises DuocapError."""
    with tempfile.TemporaryDirectory(prefix="duocap-database-") as folder:
        yield [path for source in sources for path in _list_motions(source, Path(folder))]


def _list_motions(source: Path, folder: Path) -> list[Path]:
    """Return a source, or the motion files that a recording becomes in a folder, one for each stretch without a gap."""
    if source.suffix.lower() != RECORDING or not source.is_file():
        return [source]
    take = read_take(source)
    files = []
    for first, stop in find_runs(~take.lost):
        if take.seconds[stop - 1] - take.seconds[first] < SHORTEST_S:
            continue
        file = folder / f"{source.stem}{f'+{first}' if first else ''}.bvh"
        write_bvh(file, cut_take(take, float(take.seconds[first]), float(take.seconds[stop - 1])))
        files.append(file)
    if not files:
        raise DatabaseError(f"{source}: nobody was tracked in it for longer than a moment; leave it out")
    return files
