"""Takes as sources of a database: recordings, markers, and motions of which the user says something, become motion files."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from config.errors import DatabaseError
from database.clips import find_runs
from database.files.read import has_motion
from database.files.retarget import NO_HINTS, ImportHints
from database.marker_files.points import is_marker_file
from stream.export.bvh import write_bvh
from stream.recording.folders import SUFFIX as RECORDING
from stream.take.read import read_take
from stream.take.take import cut_take

SHORTEST_S = 0.1  # of a stretch in which somebody is tracked


@contextmanager
def open_sources(sources: Sequence[Path], hints: ImportHints = NO_HINTS) -> Iterator[list[Path]]:
    """Yield sources with motion files in place of other takes; these are gone afterwards.

    Args:
        sources: files and folders.
        hints: what the user says about motions of other programs.
    Raises: DuocapError.
    """
    with tempfile.TemporaryDirectory(prefix="duocap-database-") as folder:
        yield [path for source in sources for path in _list_motions(source, Path(folder), hints)]


def _list_motions(source: Path, folder: Path, hints: ImportHints) -> list[Path]:
    """Return a source as it stands, or the motion files that it becomes in a folder."""
    if source.is_dir() and hints != NO_HINTS:
        files = sorted(path for path in source.rglob("*") if path.is_file() and has_motion(path))
        return [motion for file in files for motion in _write_motions(file, folder, hints)]
    if not source.is_file():
        return [source]
    is_other = source.suffix.lower() == RECORDING or is_marker_file(source) or (hints != NO_HINTS and has_motion(source))
    return _write_motions(source, folder, hints) if is_other else [source]


def _write_motions(source: Path, folder: Path, hints: ImportHints) -> list[Path]:
    """Write a take as motion files, one for each stretch without a gap, and return these."""
    take, own = read_take(source, hints), Path(tempfile.mkdtemp(dir=folder))
    files = []
    for first, stop in find_runs(~take.lost):
        if take.seconds[stop - 1] - take.seconds[first] < SHORTEST_S:
            continue
        file = own / f"{source.stem}{f'+{first}' if first else ''}.bvh"
        write_bvh(file, cut_take(take, float(take.seconds[first]), float(take.seconds[stop - 1])))
        files.append(file)
    if not files:
        raise DatabaseError(f"{source}: nobody was tracked in it for longer than a moment; leave it out")
    return files
