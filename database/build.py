"""Build a pose database from motion files, or add more of them: read, cleaned, cut and resampled.

Rules such as `32_*`, `14_31` or `14_02:3001-` name clips or frames to leave out.
"""

import hashlib
import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from config.errors import DatabaseError, DuocapError
from config.logs import find_current_logs, start_logs
from config.words import format_count
from database.clips import Clip, remove_frames
from database.files.cleaning import CleaningReport, clean_clip
from database.files.read import KINDS, has_motion, read_clip
from database.files.resample import resample_clip
from database.files.source_motion import read_file_bytes
from database.geometry.skeleton import Skeleton
from database.graph.build import make_graph_deriver, make_graph_extender
from database.store import Progress, append_clips, open_database, write_database
from database.thinning import THINNED, Thinner
from database.tpose import compute_median_skeleton, make_tpose_clips

logger = logging.getLogger(__name__)
ALL_FRAMES = 1 << 60
PARALLEL_FROM = 24  # files; with fewer, starting a second process costs more than it saves
MAX_AHEAD = 6  # clips read ahead of the one that is written


@dataclass(frozen=True, slots=True)
class LeaveOut:
    """A rule for what is left out: a file stem, with * and ? as in file names, and a half-open range of frames, 0-based."""

    text: str
    stem: str
    start: int
    stop: int

    def matches(self, stem: str) -> bool:
        """Return whether the rule is about a clip."""
        return fnmatchcase(stem, self.stem)


def parse_leave_out(text: str) -> LeaveOut:
    """Return the rule `CLIP` or `CLIP:FIRST-LAST` (frames from 1, either end may be open, `CLIP:7` for one frame).

    Raises DatabaseError: it is neither.
    """
    stem, colon, frames = text.strip().partition(":")
    hit = re.fullmatch(r"(\d*)(-?)(\d*)", frames)
    first, dash, last = hit.groups() if hit else ("", "", "")
    start = int(first) if first else 1
    stop = int(last) if last else (ALL_FRAMES if dash else start)
    if not stem or (colon and not (first or last)) or hit is None or start < 1 or stop < start:
        raise DatabaseError(f"--leave-out {text!r}: expected a clip such as 14_31 or 32_*, or frames from 1 such as 14_02:3001-")
    return LeaveOut(text, stem, start - 1, stop if colon else ALL_FRAMES)


def find_left_out_ranges(rules: Iterable[LeaveOut], stems: Sequence[str]) -> list[tuple[int, int]]:
    """Return the half-open ranges of frames left out of a motion with one or more names."""
    return [(rule.start, rule.stop) for rule in rules if any(rule.matches(stem) for stem in stems)]


@dataclass(frozen=True, slots=True)
class ReadJob:
    """One motion file, the source frames to leave out of it, and a digest of its content."""

    path: Path
    left_out: tuple[tuple[int, int], ...]
    digest: bytes = b""


@dataclass(slots=True)
class BuildReport:
    """Figures of a build; its lines become the database's notes."""

    files: int = 0
    frames: int = 0
    repaired_frames: int = 0
    feet_turned: int = 0
    jumps_left: int = 0
    notes: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        """Return the report for the user."""
        return [
            f"{format_count(self.files, 'file')}, {format_count(self.frames, 'source frame')} read",
            f"{format_count(self.repaired_frames, 'frame')} repaired where a joint jumped away and back, "
            f"{format_count(self.jumps_left, 'impossible jump')} left",
            f"{format_count(self.feet_turned, 'time')} a foot that was upside down turned back",
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
    thin_rad: float = 0.0,
) -> BuildReport:
    """Read, clean, cut and resample motions and write them, with generated T-poses and the neighbour graph, to one file.

    Equal files count once, and what is left out under one of their names is left out. Clips are streamed; only the graph takes
    memory for all poses (450 bytes each; `database.parts` bounds it).

    Args:
        sources: files, or folders that are searched.
        out: the file to write.
        fps: rate of the database.
        leave_out: rules of `parse_leave_out`, in source frames.
        progress: called with files, then poses of the graph.
        skip_bad: leave out files that cannot be read, with a warning.
        processes: that read files.
        graph: with the neighbour graph.
        thin_rad: distance to which captured poses are thinned (`database.thinning`), 0: all are kept.
    Raises: DatabaseError or another DuocapError; nothing is then written.
    """
    check_rate(fps)
    report = BuildReport()
    jobs = plan_jobs(sources, [parse_leave_out(text) for text in leave_out], report)
    skeletons: dict[str, Skeleton] = {}

    def clips() -> Iterator[Clip]:
        read = read_clips(jobs, fps, report, progress, skip_bad, processes)
        for clip in thin_clips(read, thin_rad, report):
            skeletons[compute_skeleton_key(clip.skeleton)] = clip.skeleton
            yield clip

    def generated() -> Iterator[Clip]:
        if skeletons:
            yield from make_tpose_clips(compute_median_skeleton(list(skeletons.values())), fps)

    def notes() -> Iterator[str]:
        yield from report.lines()

    write_database(
        out, clips(), generated(), notes(), make_graph_deriver(progress) if graph else None, lambda: {THINNED: thin_rad}
    )
    return report


def check_rate(fps: float) -> None:
    """Raise DatabaseError for a rate that no camera runs at."""
    if not 1.0 <= fps <= 1000.0:
        raise DatabaseError(f"{fps:g} frames a second is not a rate to build for; expected 1 to 1000, as the cameras run")


def compute_skeleton_key(skeleton: Skeleton) -> str:
    """Return a key of a skeleton's lengths; equal ones count once in the median body of the T-poses."""
    return skeleton.offsets_m.round(6).tobytes().hex()


def thin_clips(clips: Iterable[Clip], distance_rad: float, report: BuildReport) -> Iterator[Clip]:
    """Return what is kept of clips, and add a line to the report.

    Args:
        clips: the clips, one by one.
        distance_rad: to which poses are thinned; 0: all are kept.
        report: gets a line on what was done.
    """
    if distance_rad == 0.0:
        yield from clips
        return
    thinner = Thinner(distance_rad)
    yield from thinner.pieces(clips)
    report.notes.append(thinner.line())


def read_clips(
    jobs: Sequence[ReadJob], fps: float, report: BuildReport, progress: Progress | None, skip_bad: bool, processes: int
) -> Iterator[Clip]:
    """Return the clips of all files at one rate, and add what was done to them to the report.

    Args:
        jobs: the files.
        fps: frames a second.
        report: gets a line on what was done.
        progress: called with the files done.
        skip_bad: leave out files that cannot be read, with a warning.
        processes: that read files.
    Raises: DuocapError: a file cannot be read and `skip_bad` is not set.
    """
    for done, (job, result) in enumerate(_read_all_jobs(jobs, fps, processes), start=1):
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


def plan_jobs(sources: Iterable[str | Path], rules: Sequence[LeaveOut], report: BuildReport) -> list[ReadJob]:
    """Return the files to read, equal ones once, and what to leave out of each.

    Args:
        sources: files, or folders that are searched.
        rules: what to leave out.
        report: gets a line on what was done.
    Raises: DatabaseError: there is no file.
    """
    files = list(dict.fromkeys(path for source in sources for path in _find_motion_files(Path(source))))
    by_content: dict[bytes, list[Path]] = {}
    for path in files:
        by_content.setdefault(_digest_motion_file(path), []).append(path)
    jobs: list[ReadJob] = []
    for digest, same in by_content.items():
        if len(same) > 1:
            report.notes.append(f"{', '.join(path.stem for path in same)}: the same motion, taken once")
        ranges = find_left_out_ranges(rules, [path.stem for path in same])
        if not any(start == 0 and stop >= ALL_FRAMES for start, stop in ranges):
            jobs.append(ReadJob(same[0], tuple(ranges), digest))
    for rule in rules:
        matched = any(rule.matches(path.stem) for path in files)
        report.notes.append(f"left out: {rule.text}" if matched else f"nothing to leave out for {rule.text}: no such clip")
        if not matched:
            logger.warning("--leave-out %s: no clip of that name among the sources", rule.text)
    if not jobs:
        raise DatabaseError(f"no motion files to build from; expected {KINDS}, not all of them left out")
    return jobs


def _find_motion_files(source: Path) -> list[Path]:
    """Return a file, or the motion files in a folder and its subfolders, sorted."""
    if source.is_dir():
        found = sorted(path for path in source.rglob("*") if path.is_file() and has_motion(path))
        if not found:
            raise DatabaseError(f"{source}: no motion files in this folder; expected {KINDS}")
        return found
    if not source.exists():
        raise DatabaseError(f"{source}: no such file or folder; expected motions as {KINDS}")
    # `14/*` on a command line includes the skeleton of the motions.
    return [] if source.suffix.lower() == ".asf" else [source]


def _digest_motion_file(path: Path) -> bytes:
    """Return a digest of a motion file without its line ends and the comments at its head."""
    data = read_file_bytes(path).replace(b"\r", b"")
    while data.startswith((b"#", b":")):
        data = data.partition(b"\n")[2]
    return hashlib.blake2b(data, digest_size=16).digest()


Result = tuple[list[Clip], CleaningReport, int]


def _read_job(job: ReadJob, fps: float) -> Result | DuocapError:
    """Return the pieces of one file at the database's rate, or the error, which so passes from process to process."""
    try:
        clip, cleaning = clean_clip(read_clip(job.path))
    except DuocapError as error:
        return error
    return [resample_clip(piece, fps) for piece in remove_frames(clip, job.left_out)], cleaning, clip.n_frames


def _read_all_jobs(jobs: Sequence[ReadJob], fps: float, processes: int) -> Iterator[tuple[ReadJob, Result | DuocapError]]:
    """Return the results of all jobs in order, read ahead by other processes if there are many."""
    if processes < 2 or len(jobs) < PARALLEL_FROM:
        yield from ((job, _read_job(job, fps)) for job in jobs)
        return
    with ExitStack() as stack:
        pool = stack.enter_context(ProcessPoolExecutor(processes, get_context("spawn"), start_logs, (find_current_logs(),)))
        # After an error the remaining results are not needed.
        stack.callback(pool.shutdown, wait=True, cancel_futures=True)
        waiting: list[Future[Result | DuocapError]] = []
        for k, job in enumerate(jobs):
            waiting += [pool.submit(_read_job, ahead, fps) for ahead in jobs[k + len(waiting) : k + MAX_AHEAD + 1]]
            yield job, waiting.pop(0).result()


def add_to_database(
    path: str | Path,
    sources: Iterable[str | Path],
    leave_out: Sequence[str] = (),
    progress: Progress | None = None,
    skip_bad: bool = False,
    processes: int = 2,
) -> BuildReport:
    """Add motions at a database's own rate, also to its neighbour graph if it has one, and replace its file when all is done.

    Motions it has already are left out; its T-poses stay.

    Args:
        path: the database.
        sources: files, or folders that are searched.
        leave_out: rules of `parse_leave_out`, in source frames.
        progress: called with what is done, and of how much.
        skip_bad: leave out files that cannot be read, with a warning.
        processes: that read files.
    Raises: DuocapError: as `build_database`; the database is then unchanged.
    """
    fps, known = read_known_clips([path])
    report = BuildReport()
    jobs = plan_jobs(sources, [parse_leave_out(text) for text in leave_out], report)

    def new() -> Iterator[Clip]:
        yield from select_new_clips(known, read_clips(jobs, fps, report, progress, skip_bad, processes), report, path)

    def notes() -> Iterator[str]:
        yield from ("added later:", *report.lines())

    append_clips(path, new(), notes(), make_graph_extender(path, progress))
    return report


def read_known_clips(files: Iterable[str | Path]) -> tuple[float, set[bytes]]:
    """Return the rate of databases and the digests of their clips; nothing of the files stays mapped."""
    fps, known = 0.0, set[bytes]()
    for file in files:
        database = open_database(file)
        fps = database.fps
        known |= {digest_clip(database.clip(k)) for k in range(database.n_clips)}
    return fps, known


def select_new_clips(known: set[bytes], clips: Iterable[Clip], report: BuildReport, path: str | Path) -> Iterator[Clip]:
    """Return the clips that are not known yet, each once.

    Args:
        known: digests of the clips that are known, to which the new ones are added.
        clips: the clips, one by one.
        report: gets a line on what was done.
        path: the database, for messages.
    Raises: DatabaseError: after the last, if there was none.
    """
    added = 0
    for clip in clips:
        digest = digest_clip(clip)
        if digest in known:
            report.notes.append(f"{clip.name}: in the database already")
            continue
        known.add(digest)
        added += 1
        yield clip
    if not added:
        raise DatabaseError(f"{path}: nothing to add; these motions are in it already or left out, expected others")


def digest_clip(clip: Clip) -> bytes:
    """Return a digest of a clip's poses as a database stores them."""
    poses = clip.rotvec.astype(np.float32).tobytes() + clip.root_m.astype(np.float32).tobytes()
    return hashlib.blake2b(poses, digest_size=16).digest()
