"""Run the tasks of a job on workers: what is done stays, what fails is told and stops nothing else."""

import json
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from config.errors import DuocapError
from config.files import atomic_write
from tools.batch.execute import End, Outcome, execute
from tools.batch.job import Job
from tools.batch.record import (
    TOKEN,
    alone,
    content_hash,
    digest,
    hashes_of,
    input_files,
    is_done,
    read_record,
    sweep,
    whole_folder,
)
from tools.batch.report import FAILED, SUMMARY, TaskRow, write_reports
from tools.batch.send import Sent, send_contents
from tools.batch.task import FIRST, BatchTask
from tools.cluster import LostError, WorkerPlan, Workers, open_workers, own_versions

MAX_TRIES: Final = 20  # of a task on workers that do not see its files, or are still to be sent them
Tell = Callable[[str], None]
Progress = Callable[[int, int, str], None]


@dataclass(slots=True)
class _Run:
    """The state of one batch. failed: messages by the name of the task; blind: workers that do not see the folder."""

    job: Job
    workers: Workers
    versions: dict[str, str]
    token: str
    tell: Tell
    send: bool
    kept: frozenset[str] = frozenset()
    contents: dict[str, Path] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    blind: dict[str, str] = field(default_factory=dict)
    tries: dict[str, int] = field(default_factory=dict)
    sent: dict[str, Sent] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What came of a batch: a row for each task, and how many were to be run now; lost: why it ended early, if it did."""

    rows: list[TaskRow]
    n_run: int
    lost: str = ""

    def count(self, state: str) -> int:
        """Return how many tasks are done, failed or not run."""
        return sum(row.state == state for row in self.rows)


def run_batch(
    job: Job, plan: WorkerPlan, tell: Tell, progress: Progress, *, retry: bool = False, send: bool = False
) -> BatchResult:
    """Run what is not done, and write the report, also after Ctrl-C or when the cluster is gone.

    retry: also what failed last time; send: inputs to workers and results back, for workers that share no folder with this
    machine. Raises DuocapError: another batch is at work here, or there are no workers.
    """
    versions = own_versions()
    with alone(job.out):
        before = _failed_before(job.out)
        todo, failed = [], {}
        for task in job.tasks:
            sweep(job.out, task)
            record = read_record(job.out / task.name)
            if record is not None and is_done(task, record, versions):
                continue
            mark = before.get(task.name, {}).get("mark")
            if not retry and mark is not None and is_done(task, mark, versions):
                failed[task.name] = str(before[task.name]["message"])
                tell(f"{task.name}: {failed[task.name]} (last time; --retry runs it again)")
            else:
                todo.append(task)
        lost = ""
        try:
            if todo:
                _run_all(job, todo, plan, versions, failed, tell, progress, send)
        except LostError as error:
            lost = str(error)
        finally:
            for task in todo:
                sweep(job.out, task)
            rows = [_row(job.out, task, failed, versions) for task in job.tasks]
            write_reports(job.out, rows)
    return BatchResult(rows, len(todo), lost)


def _failed_before(out: Path) -> dict[str, Any]:
    """Return what failed in the last batch of this folder."""
    try:
        rows = json.loads((out / SUMMARY).read_text("utf-8"))["tasks"]
        return {row["task"]: row for row in rows if row["state"] == FAILED and row.get("mark")}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _mark(task: BatchTask, versions: dict[str, str]) -> dict[str, Any] | None:
    """Return what tells whether a task that failed is the same still; None: an input is missing."""
    try:
        hashes = hashes_of(input_files(task), {})
    except OSError:
        return None
    return {"inputs": hashes, "digest": digest(task, hashes, versions)}


def _row(out: Path, task: BatchTask, failed: dict[str, str], versions: dict[str, str]) -> TaskRow:
    """Return the row of a task in the report."""
    if task.name in failed:
        return TaskRow.of_failed(task, failed[task.name], _mark(task, versions))
    record = read_record(out / task.name)
    return TaskRow.of_record(task, record) if record is not None and is_done(task, record, versions) else TaskRow.of_undone(task)


def _run_all(
    job: Job,
    todo: Sequence[BatchTask],
    plan: WorkerPlan,
    versions: dict[str, str],
    failed: dict[str, str],
    tell: Tell,
    progress: Progress,
    send: bool,
) -> None:
    """Run tasks, those first whose results others may need. Raises ClusterError."""
    token = uuid.uuid4().hex
    atomic_write(job.out / TOKEN, token)
    n_done = 0
    progress(0, len(todo), "")
    try:
        with open_workers(plan) as workers:
            run = _Run(job, workers, versions, token, tell, send, failed=failed)
            for wave in ([t for t in todo if t.kind == FIRST], [t for t in todo if t.kind != FIRST]):
                if send:
                    wave = _hashed(run, wave)
                named: dict[object, BatchTask] = {task.name: task for task in wave}
                for task in wave:
                    _submit(run, task)
                for name, result in workers.results():
                    task = named[name]
                    if _settled(run, task, result):
                        n_done += 1
                        progress(n_done, len(todo), task.name)
    finally:
        (job.out / TOKEN).unlink(missing_ok=True)


def _hashed(run: _Run, tasks: Sequence[BatchTask]) -> list[BatchTask]:
    """Hash the inputs that are to be sent; return the tasks whose inputs are all there."""
    counts: dict[str, int] = {}
    known: dict[Path, str] = {}
    there = []
    for task in tasks:
        try:
            files = input_files(task)
            for file in files:
                known[file.path] = known.get(file.path) or content_hash(file.path)
        except OSError as error:
            _fail(run, task, f"{error.filename}: no such file or folder")
            continue
        hashes = {file.key: [file.n_bytes, file.mtime_ns, known[file.path]] for file in files}
        run.contents |= {known[file.path]: file.path for file in files}
        for content in {known[file.path] for file in files}:
            counts[content] = counts.get(content, 0) + 1
        run.sent[task.name] = Sent(hashes, frozenset())
        there.append(task)
    run.kept = frozenset(content for content, count in counts.items() if count > 1)
    return there


def _submit(run: _Run, task: BatchTask, only: Sequence[str] = ()) -> None:
    """Hand a task to a worker."""
    sent = Sent(run.sent[task.name].hashes, run.kept) if run.send else None
    run.tries[task.name] = run.tries.get(task.name, 0) + 1
    run.workers.submit(task.name, execute, task, str(run.job.out), run.token, run.versions, sent, only=only)


def _settled(run: _Run, task: BatchTask, result: Any) -> bool:
    """Take what came of a call; return whether the task has ended, done or failed. Raises what is no fault of a task."""
    if isinstance(result, Exception):
        _fail(run, task, " ".join(str(result).split()) or type(result).__name__)
        return True
    assert isinstance(result, Outcome)
    if result.end is End.FAILED:
        _fail(run, task, result.message)
    elif result.end is End.DONE:
        _keep(run, task, result)
    elif run.tries[task.name] >= MAX_TRIES:
        _fail(run, task, result.message or "could not be sent to a worker")
    elif result.end is End.NEEDS:
        return _send(run, task, result)
    else:
        return _elsewhere(run, task, result)
    return True


def _keep(run: _Run, task: BatchTask, outcome: Outcome) -> None:
    """Put results that were sent back into their folder."""
    if not run.send:
        return
    try:
        with whole_folder(run.job.out / task.name) as part:
            for name, content in outcome.files.items():
                (part / name).parent.mkdir(parents=True, exist_ok=True)
                (part / name).write_bytes(content)
    except (DuocapError, OSError) as error:
        _fail(run, task, " ".join(str(error).split()))


def _send(run: _Run, task: BatchTask, outcome: Outcome) -> bool:
    """Send a worker what it lacks, and have it try again; return whether that was in vain."""
    try:
        send_contents(outcome.needs, run.contents, lambda *call: run.workers.tell(outcome.worker, *call))
    except OSError as error:
        if getattr(error, "filename", None):
            _fail(run, task, f"{error.filename}: cannot be sent ({error.strerror})")
            return True
        _submit(run, task)  # the worker has gone
        return False
    except (KeyError, ValueError):
        _submit(run, task)
        return False
    _submit(run, task, [outcome.worker])
    return False


def _elsewhere(run: _Run, task: BatchTask, outcome: Outcome) -> bool:
    """Hand a task of a worker that cannot do it to others; return whether there are none."""
    if outcome.worker not in run.blind:
        run.blind[outcome.worker] = outcome.message
        run.tell(outcome.message)
    others = [address for address in run.workers.addresses() if address not in run.blind]
    if not others:
        _fail(run, task, outcome.message)
        return True
    _submit(run, task, others)
    return False


def _fail(run: _Run, task: BatchTask, message: str) -> None:
    """Report that a task failed."""
    run.failed[task.name] = message
    run.tell(f"{task.name}: {message}")
