"""Build a pose database from motion files."""

import hashlib
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

from config.errors import DatabaseError, DuocapError
from config.logs import current_logs, start_logs
from database.asf import read_bytes
from database.asf_amc import DEFAULT_FPS
from database.cleaning import CleaningReport, clean
from database.clips import Clip, without_frames
from database.graph_store import graph_deriver
from database.leave_out import ALL_FRAMES, LeaveOut, left_out_ranges, parse_leave_out
from database.read import SUFFIXES, read_clip
from database.resample import resample
from database.skeleton import Skeleton
from database.store import write_database
from database.tpose import median_skeleton, tpose_clips

logger = logging.getLogger(__name__)
Progress = Callable[[int, int, str], None]  # files or, for the graph, poses done, in all, and what was done last
PARALLEL_FROM = 24  # files; below this a second process costs more to start than it saves
AHEAD = 6  # clips read ahead of the one that is written


@dataclass(frozen=True, slots=True)
class Job:
    """One motion file and the source frames to leave out of it."""

    path: Path
    left_out: tuple[tuple[int, int], ...]


@dataclass(slots=True)
class BuildReport:
    """What a build did; its lines become the database's notes."""

    files: int = 0
    frames: int = 0
    repaired_frames: int = 0
    feet_turned: int = 0
    jumps_left: int = 0
    notes: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        """Give the report in words."""
        return [
            f"{self.files} files, {self.frames} source frames read",
            f"{self.repaired_frames} frames repaired where a joint jumped away and back, {self.jumps_left} impossible jumps left",
            f"{self.feet_turned} times a foot that was upside down turned back",
            *self.notes,
        ]


def build_database(
    sources: Iterable[str | Path],
    out: str | Path,
    fps: float = 60.0,
    leave_out: Sequence[str] = (),
    progress: Progress | None = None,
    skip_bad: bool = False,
    processes: int = 2,
    graph: bool = True,
) -> BuildReport:
    """Read, clean, cut and resample motions and write them, with generated T-poses and the neighbour graph, to one file.

    sources: files, or folders searched through; fps: rate of the database; leave_out: rules of `database.leave_out`, in source
    frames; skip_bad: leave unreadable files out, with a warning, rather than stop; processes: how many read.
    Equal files count once, and what is left out under one name is left out under the other. Clips stream through, so memory
    grows with their number only for the graph (700 bytes a pose). Raises DatabaseError or another DuocapError; nothing is
    then written.
    """
    if not 1.0 <= fps <= 1000.0:
        raise DatabaseError(f"{fps:g} frames a second is not a rate to build for; expected 1 to 1000, as the cameras run")
    report = BuildReport()
    jobs = plan(sources, [parse_leave_out(text) for text in leave_out], report)
    skeletons: dict[str, Skeleton] = {}

    def clips() -> Iterator[Clip]:
        for clip in read_clips(jobs, fps, report, progress, skip_bad, processes):
            skeletons[clip.skeleton.offsets_m.round(6).tobytes().hex()] = clip.skeleton
            yield clip

    def generated() -> Iterator[Clip]:
        if skeletons:
            yield from tpose_clips(median_skeleton(list(skeletons.values())), fps)

    def notes() -> Iterator[str]:
        yield from report.lines()

    write_database(out, clips(), generated(), notes(), derive=graph_deriver(progress) if graph else None)
    return report


def read_clips(
    jobs: Sequence[Job], fps: float, report: BuildReport, progress: Progress | None, skip_bad: bool, processes: int
) -> Iterator[Clip]:
    """Give the clips of all files at one rate, and enter into the report what was done to them.

    Raises DuocapError for a file that cannot be read, unless `skip_bad`.
    """
    for done, (job, result) in enumerate(_read_all(jobs, fps, processes), start=1):
        if isinstance(result, DuocapError):
            if not skip_bad:
                raise result
            logger.warning("left out: %s", result)
            report.notes.append(f"left out: {result}")
        else:
            pieces, cleaning, n_frames = result
            report.files += 1
            report.frames += n_frames
            report.repaired_frames += cleaning.frames
            report.feet_turned += cleaning.feet
            report.jumps_left += cleaning.jumps_left
            yield from pieces
        if progress is not None:
            progress(done, len(jobs), job.path.stem)


def plan(sources: Iterable[str | Path], rules: Sequence[LeaveOut], report: BuildReport) -> list[Job]:
    """Give the files to read, equal ones once, and what to leave out of each.

    Raises DatabaseError if there is none.
    """
    files = list(dict.fromkeys(path for source in sources for path in _motion_files(Path(source))))
    by_content: dict[bytes, list[Path]] = {}
    for path in files:
        by_content.setdefault(_content(path), []).append(path)
    jobs: list[Job] = []
    for same in by_content.values():
        if len(same) > 1:
            report.notes.append(f"{', '.join(path.stem for path in same)}: the same motion, taken once")
        ranges = left_out_ranges(rules, [path.stem for path in same])
        if not any(start == 0 and stop >= ALL_FRAMES for start, stop in ranges):
            jobs.append(Job(same[0], tuple(ranges)))
    for rule in rules:
        matched = any(rule.matches(path.stem) for path in files)
        report.notes.append(f"left out: {rule.text}" if matched else f"nothing to leave out for {rule.text}: no such clip")
        if not matched:
            logger.warning("--leave-out %s: no clip of that name among the sources", rule.text)
    if not jobs:
        raise DatabaseError("no motion files to build from; expected .amc (with its .asf) or .bvh, not all of them left out")
    return jobs


def _motion_files(source: Path) -> list[Path]:
    """Give a file, or the motion files in a folder and below, in order."""
    if source.is_dir():
        found = sorted(path for path in source.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file())
        if not found:
            raise DatabaseError(f"{source}: no motion files in this folder; expected .amc (with its .asf) or .bvh")
        return found
    if not source.exists():
        raise DatabaseError(f"{source}: no such file or folder; expected motions as .amc (with its .asf) or .bvh")
    # `14/*` on a command line names the skeleton beside its motions.
    return [] if source.suffix.lower() == ".asf" else [source]


def _content(path: Path) -> bytes:
    """Give a digest of a motion that does not depend on line ends or on the comments at its head."""
    data = read_bytes(path).replace(b"\r", b"")
    while data.startswith((b"#", b":")):
        data = data.partition(b"\n")[2]
    return hashlib.blake2b(data, digest_size=16).digest()


Result = tuple[list[Clip], CleaningReport, int]


def read_job(job: Job, fps: float) -> Result | DuocapError:
    """Give the pieces of one file at the database's rate, or the error, which travels between processes like that."""
    try:
        clip, cleaning = clean(read_clip(job.path, fps=DEFAULT_FPS))
    except DuocapError as error:
        return error
    return [resample(piece, fps) for piece in without_frames(clip, job.left_out)], cleaning, clip.n_frames


def _read_all(jobs: Sequence[Job], fps: float, processes: int) -> Iterator[tuple[Job, Result | DuocapError]]:
    """Give every job's result, in order, read ahead by other processes when there are many."""
    if processes < 2 or len(jobs) < PARALLEL_FROM:
        for job in jobs:
            yield job, read_job(job, fps)
        return
    with ExitStack() as stack:
        pool = stack.enter_context(ProcessPoolExecutor(processes, get_context("spawn"), start_logs, (current_logs(),)))
        # On an error the results not yet fetched are of no use to anybody.
        stack.callback(pool.shutdown, wait=True, cancel_futures=True)
        waiting: list[tuple[Job, Future[Result | DuocapError]]] = []
        for job in jobs:
            waiting.append((job, pool.submit(read_job, job, fps)))
            if len(waiting) > AHEAD:
                first, future = waiting.pop(0)
                yield first, future.result()
        for first, future in waiting:
            yield first, future.result()
