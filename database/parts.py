"""Build a database of several files: in chunks of bounded memory, each of which may be made by another process or machine.

`plan_parts` divides motions among tasks, `build_part` does one, `join_parts` makes one database of the files; `build_in_parts`
is all three. Poses are those of a build in one file, in the same order. Each file has a neighbour graph of its own, and is
thinned by itself. A part that is there and was made of the same motions in the same way is not made again, so that an interrupted
build goes on where it was.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np

from config.errors import DatabaseError
from database.build import (
    BuildReport,
    ReadJob,
    check_rate,
    compute_skeleton_key,
    parse_leave_out,
    plan_jobs,
    read_clips,
    read_known_clips,
    select_new_clips,
    thin_clips,
)
from database.clips import Clip
from database.geometry.skeleton import Skeleton
from database.graph.build import make_graph_deriver
from database.store import SCHEMA, Progress, list_database_files, open_database, read_fields, write_database, write_parts
from database.thinning import THINNED
from database.tpose import compute_median_skeleton, make_tpose_clips

FOLDER: Final = ".parts"  # of big.db: big.parts
T_POSES: Final = "t-poses.db"
RECIPE, REPORT = "recipe", "report"


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """How motions become poses; fields as the arguments of `build_database`."""

    fps: float = 60.0
    skip_bad: bool = False
    processes: int = 2
    graph: bool = True
    thin_rad: float = 0.0


@dataclass(frozen=True, slots=True)
class PartTask:
    """One file to build, and of what; for any process that sees the same files."""

    jobs: tuple[ReadJob, ...]
    out: Path
    options: BuildOptions

    @property
    def recipe(self) -> str:
        """What the content of the file depends on."""
        o = self.options
        digest = hashlib.blake2b(
            f"{SCHEMA} {_digest_code()} {o.fps} {o.graph} {o.thin_rad} {o.skip_bad}".encode(), digest_size=16
        )
        for job in self.jobs:
            skeletons = _digest_folder_skeletons(job.path.parent) if job.path.suffix.lower() == ".amc" else ""
            digest.update(f"{job.path.stem} {job.left_out} {skeletons}".encode() + job.digest)
        return digest.hexdigest()


Share = Callable[[Sequence[PartTask], Progress | None], None]  # builds all tasks, or raises


@cache
def _digest_code() -> str:
    """Return a digest of the code that reads and cleans motions."""
    digest, folder = hashlib.blake2b(digest_size=8), Path(__file__).parent
    for path in sorted(path for path in folder.rglob("*.py") if path.parent.name != "builtin"):
        digest.update(path.read_bytes().replace(b"\r\n", b"\n"))
    return digest.hexdigest()


@cache
def _digest_folder_skeletons(folder: Path) -> str:
    """Return a digest of a folder's skeletons, one of which is that of an AMC file."""
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted(path for path in folder.iterdir() if path.suffix.lower() == ".asf"):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def plan_parts(
    sources: Sequence[str | Path], out: Path, n_parts: int, options: BuildOptions, leave_out: Sequence[str], report: BuildReport
) -> list[PartTask]:
    """Divide motions, in their order, among files of about equal size in a folder beside `out`.

    Args:
        sources: files, or folders that are searched.
        out: the file to write.
        n_parts: number of files at most.
        options: how motions become poses.
        leave_out: rules of `parse_leave_out`, in source frames.
        report: gets a line on what was done.
    Raises: DatabaseError: there is no file to read.
    """
    check_rate(options.fps)
    jobs = plan_jobs(sources, [parse_leave_out(text) for text in leave_out], report)
    size = np.cumsum([max(job.path.stat().st_size, 1) for job in jobs])
    share = np.minimum((size - 1) * n_parts // size[-1], n_parts - 1)  # of each job: which part it ends in
    cuts = [0, *(1 + np.flatnonzero(np.diff(share))).tolist(), len(jobs)]
    folder = out.with_suffix(FOLDER)
    return [
        PartTask(tuple(jobs[first:stop]), folder / f"part-{k:03d}.db", options)
        for k, (first, stop) in enumerate(pairwise(cuts), 1)
    ]


def is_built(task: PartTask) -> bool:
    """Return whether a part is there, made of the same and in the same way."""
    try:
        return read_fields(task.out).get(RECIPE) == task.recipe
    except DatabaseError:
        return False


def build_part(task: PartTask, progress: Progress | None = None) -> None:
    """Build one file, unless it is there. Raises DuocapError; nothing is then written."""
    if is_built(task):
        return
    o, report = task.options, BuildReport()

    def clips() -> Iterator[Clip]:
        yield from thin_clips(read_clips(task.jobs, o.fps, report, progress, o.skip_bad, o.processes), o.thin_rad, report)

    told = {RECIPE: task.recipe, THINNED: o.thin_rad}
    _write_part(task.out, clips(), report, told, make_graph_deriver(progress) if o.graph else None)


def _write_part(path: Path, clips: Iterator[Clip], report: BuildReport, told: Mapping[str, Any], derive: Any) -> None:
    """Write one file with what is known of its making; told: beside the report."""

    def notes() -> Iterator[str]:
        yield from report.lines()

    write_database(path, clips, (), notes(), derive, lambda: {**told, REPORT: asdict(report)})


def join_parts(tasks: Sequence[PartTask], out: Path, planned: BuildReport, mirrored: bool) -> BuildReport:
    """Make the database of parts that are built, with generated T-poses; return what was done to all.

    Args:
        tasks: the parts.
        out: the file to write.
        planned: what was done while planning.
        mirrored: it is searched in the mirror images of its poses, too.
    Raises: DatabaseError: as `write_parts`.
    """
    report, skeletons, files = replace(planned, notes=list(planned.notes)), dict[str, Skeleton](), [task.out for task in tasks]
    for file in files:
        part, done = open_database(file), read_fields(file)[REPORT]
        for k in part.clip_skeleton.tolist():
            skeletons[compute_skeleton_key(part.skeletons[k])] = part.skeletons[k]
        for name in ("files", "frames", "repaired_frames", "feet_turned", "jumps_left"):
            setattr(report, name, getattr(report, name) + done[name])
        report.notes += done["notes"]
    options, t_poses = tasks[0].options, out.with_suffix(FOLDER) / T_POSES
    made = make_tpose_clips(compute_median_skeleton(list(skeletons.values())), options.fps)
    derive, told = make_graph_deriver() if options.graph else None, {THINNED: options.thin_rad}
    write_database(t_poses, (), made, ["T-poses, made by rule"], derive, lambda: told)
    write_parts(out, [*files, t_poses], mirrored, report.lines())
    for left in set(t_poses.parent.glob("*.db")) - {*files, t_poses}:  # of an earlier build
        left.unlink()
    return report


def build_in_parts(
    sources: Sequence[str | Path],
    out: str | Path,
    n_parts: int,
    options: BuildOptions,
    leave_out: Sequence[str] = (),
    progress: Progress | None = None,
    mirrored: bool = False,
    share: Share | None = None,
) -> BuildReport:
    """Build a database of several files.

    Args:
        sources: files, or folders that are searched.
        out: the file to write.
        n_parts: number of files at most.
        options: how motions become poses.
        leave_out: rules of `parse_leave_out`, in source frames.
        progress: called with what is done, and of how much.
        mirrored: it is searched in the mirror images of its poses, too.
        share: who builds the files, by default this process, one after the other.
    Raises: DatabaseError or another DuocapError; what is built stays, and the same call goes on from there.
    """
    report, file = BuildReport(), Path(out)
    tasks = plan_parts(sources, file, n_parts, options, leave_out, report)
    (share or _build_one_by_one)(tasks, progress)
    return join_parts(tasks, file, report, mirrored)


def _build_one_by_one(tasks: Sequence[PartTask], progress: Progress | None) -> None:
    """Build files in this process."""
    for k, task in enumerate(tasks, start=1):
        build_part(task, None if progress is None else _number_progress(progress, f"file {k} of {len(tasks)}: "))


def _number_progress(progress: Progress, before: str) -> Progress:
    """Return a progress that says of which file it is."""
    return lambda done, total, name: progress(done, total, before + name)


def add_part(
    path: str | Path,
    sources: Sequence[str | Path],
    leave_out: Sequence[str] = (),
    progress: Progress | None = None,
    skip_bad: bool = False,
    processes: int = 2,
) -> BuildReport:
    """Add motions to a database of several files as one more file; nothing that is there is read into memory or written again.

    Args:
        path: the database.
        sources: files, or folders that are searched.
        leave_out: rules of `parse_leave_out`, in source frames.
        progress: called with what is done, and of how much.
        skip_bad: leave out files that cannot be read, with a warning.
        processes: that read files.
    Raises: DatabaseError: as `add_to_database`.
    """
    file, parts = Path(path), list_database_files(path)
    fields, (fps, known) = read_fields(path), read_known_clips(parts)
    report, new = BuildReport(), _find_unused_name(file.with_suffix(FOLDER))
    jobs = plan_jobs(sources, [parse_leave_out(text) for text in leave_out], report)
    read = read_clips(jobs, fps, report, progress, skip_bad, processes)
    _write_part(new, select_new_clips(known, read, report, path), report, {}, make_graph_deriver(progress))
    write_parts(path, [*parts, new], fields["mirrored"], [*fields["notes"], "added later:", *report.lines()])
    return report


def read_thinning_rad(path: str | Path) -> tuple[float, ...]:
    """Return to what distances a database's files were thinned, each once, ascending; 0: all poses are kept.

    A file that motions were added to later counts as not thinned. Raises DatabaseError, as `open_database`.
    """
    told = [read_fields(file).get(THINNED) for file in list_database_files(path)]
    return tuple(sorted({value if isinstance(value, float) else 0.0 for value in told}))


def _find_unused_name(folder: Path) -> Path:
    """Return the name of a part that is not there yet."""
    numbers = (int(path.stem.removeprefix("added-")) for path in folder.glob("added-*.db"))
    return folder / f"added-{max(numbers, default=0) + 1:03d}.db"
