"""Run the tasks of a job on workers: what is done stays, what fails is told and stops nothing else."""

import json
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from config.errors import DuocapError
from config.files import write_atomically
from config.words import format_count
from tools.batch.execute import TaskEnd, TaskOutcome, run_task
from tools.batch.job import BatchJob
from tools.batch.record import (
    TOKEN,
    compute_digest,
    hash_content,
    hash_files,
    is_done,
    list_input_files,
    lock_batch_folder,
    read_task_record,
    remove_leftovers,
    replace_folder,
)
from tools.batch.report import FAILED, SUMMARY, TaskRow, write_batch_reports
from tools.batch.send import SentFiles, send_contents
from tools.batch.task import FIRST, BatchTask
from tools.cluster import LostError, WorkerPlan, Workers, check_dask, list_own_versions, open_workers
from tools.progress import Tell

MAX_TRIES: Final = 20  # of a task on workers that do not see its files, or are still to be sent them
Progress = Callable[[int, int, str], None]


@dataclass(slots=True)
class _Run:
    """The state of one batch.

    Attributes:
        failed: messages by the name of the task.
        blind: workers that do not see the folder.
    """

    job: BatchJob
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
    sent: dict[str, SentFiles] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BatchResult:
    """Result of a batch: a row for each task, and how many were to be run now; lost: why it ended early, if it did."""

    rows: list[TaskRow]
    n_run: int
    lost: str = ""

    def count(self, state: str) -> int:
        """Return how many tasks are done, failed or not run."""
        return sum(row.state == state for row in self.rows)


def run_batch(
    job: BatchJob, plan: WorkerPlan, tell: Tell, progress: Progress, *, retry: bool = False, send: bool = False
) -> BatchResult:
    """Run the tasks that are not done, and write the report, also after Ctrl-C or when the cluster is gone.

    Args:
        job: the tasks and their folder.
        plan: who works.
        tell: receives progress messages as text.
        progress: called with the amount done and the whole amount.
        retry: whether to run tasks again that failed last time.
        send: inputs to workers and results back, for workers that share no folder with this machine.
    Raises: DuocapError: another batch is at work here, or there are no workers.
    """
    versions = list_own_versions()
    with lock_batch_folder(job.out):
        before = _read_failed_tasks(job.out)
        todo, failed = [], {}
        for task in job.tasks:
            remove_leftovers(job.out, task)
            record = read_task_record(job.out / task.name)
            if record is not None and is_done(task, record, versions):
                continue
            mark = before.get(task.name, {}).get("mark")
            if not retry and mark is not None and is_done(task, mark, versions):
                failed[task.name] = str(before[task.name]["message"])
                tell(f"{task.name}: {failed[task.name]} (last time; --retry runs it again)")
            else:
                todo.append(task)
        lost = ""
        if todo:
            check_dask()  # before anything is written
            tell(f"{len(todo)} of {format_count(len(job.tasks), 'task')} to run")
        try:
            if todo:
                _run_all(job, todo, plan, versions, failed, tell, progress, send)
        except LostError as error:
            lost = str(error)
        finally:
            for task in todo:
                remove_leftovers(job.out, task)
            rows = [_build_row(job.out, task, failed, versions) for task in job.tasks]
            write_batch_reports(job.out, rows)
    return BatchResult(rows, len(todo), lost)


def _read_failed_tasks(out: Path) -> dict[str, Any]:
    """Return what failed in the last batch of this folder."""
    try:
        rows = json.loads((out / SUMMARY).read_text("utf-8"))["tasks"]
        return {row["task"]: row for row in rows if row["state"] == FAILED and row.get("mark")}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _compute_task_mark(task: BatchTask, versions: dict[str, str]) -> dict[str, Any] | None:
    """Return what tells whether a task that failed is the same still; None: an input is missing."""
    try:
        hashes = hash_files(list_input_files(task), {})
    except OSError:
        return None
    return {"inputs": hashes, "digest": compute_digest(task, hashes, versions)}


def _build_row(out: Path, task: BatchTask, failed: dict[str, str], versions: dict[str, str]) -> TaskRow:
    """Return the row of a task in the report."""
    if task.name in failed:
        return TaskRow.of_failed(task, failed[task.name], _compute_task_mark(task, versions))
    record = read_task_record(out / task.name)
    return TaskRow.of_record(task, record) if record is not None and is_done(task, record, versions) else TaskRow.of_undone(task)


def _run_all(
    job: BatchJob,
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
    write_atomically(job.out / TOKEN, token)
    n_done = 0
    progress(0, len(todo), "")
    try:
        with open_workers(plan) as workers:
            workers.listen(token, lambda line: progress(n_done, len(todo), line))
            run = _Run(job, workers, versions, token, tell, send, failed=failed)
            for wave in ([t for t in todo if t.kind == FIRST], [t for t in todo if t.kind != FIRST]):
                if send:
                    wave = _hash_inputs(run, wave)
                named: dict[object, BatchTask] = {task.name: task for task in wave}
                for task in wave:
                    _submit_task(run, task)
                for name, result in workers.results():
                    task = named[name]
                    if _handle_result(run, task, result):
                        n_done += 1
                        progress(n_done, len(todo), task.name)
    finally:
        (job.out / TOKEN).unlink(missing_ok=True)


def _hash_inputs(run: _Run, tasks: Sequence[BatchTask]) -> list[BatchTask]:
    """Hash the inputs that are to be sent; return the tasks whose inputs are all there."""
    counts: dict[str, int] = {}
    known: dict[Path, str] = {}
    there = []
    for task in tasks:
        try:
            files = list_input_files(task)
            for file in files:
                known[file.path] = known.get(file.path) or hash_content(file.path)
        except OSError as error:
            _report_failure(run, task, f"{error.filename}: no such file or folder")
            continue
        hashes = {file.key: [file.n_bytes, file.mtime_ns, known[file.path]] for file in files}
        run.contents |= {known[file.path]: file.path for file in files}
        for content in {known[file.path] for file in files}:
            counts[content] = counts.get(content, 0) + 1
        run.sent[task.name] = SentFiles(hashes, frozenset())
        there.append(task)
    run.kept = frozenset(content for content, count in counts.items() if count > 1)
    return there


def _submit_task(run: _Run, task: BatchTask, only: Sequence[str] = ()) -> None:
    """Hand a task to a worker."""
    sent = SentFiles(run.sent[task.name].hashes, run.kept) if run.send else None
    run.tries[task.name] = run.tries.get(task.name, 0) + 1
    run.workers.submit(task.name, run_task, task, str(run.job.out), run.token, run.versions, sent, only=only)


def _handle_result(run: _Run, task: BatchTask, result: Any) -> bool:
    """Take what came of a call; return whether the task has ended, done or failed. Raises what is no fault of a task."""
    if isinstance(result, Exception):
        _report_failure(run, task, " ".join(str(result).split()) or type(result).__name__)
        return True
    assert isinstance(result, TaskOutcome)
    if result.end is TaskEnd.FAILED:
        _report_failure(run, task, result.message)
    elif result.end is TaskEnd.DONE:
        _store_results(run, task, result)
    elif run.tries[task.name] >= MAX_TRIES:
        _report_failure(run, task, result.message or "could not be sent to a worker")
    elif result.end is TaskEnd.NEEDS:
        return _send_missing_inputs(run, task, result)
    else:
        return _resubmit_to_others(run, task, result)
    return True


def _store_results(run: _Run, task: BatchTask, outcome: TaskOutcome) -> None:
    """Put results that were sent back into their folder."""
    if not run.send:
        return
    try:
        with replace_folder(run.job.out / task.name) as part:
            for name, content in outcome.files.items():
                (part / name).parent.mkdir(parents=True, exist_ok=True)
                (part / name).write_bytes(content)
    except (DuocapError, OSError) as error:
        _report_failure(run, task, " ".join(str(error).split()))


def _send_missing_inputs(run: _Run, task: BatchTask, outcome: TaskOutcome) -> bool:
    """Send a worker what it lacks, and have it try again; return whether that was in vain."""
    try:
        send_contents(outcome.needs, run.contents, lambda *call: run.workers.tell(outcome.worker, *call))
    except OSError as error:
        if getattr(error, "filename", None):
            _report_failure(run, task, f"{error.filename}: cannot be sent ({error.strerror})")
            return True
        _submit_task(run, task)  # the worker has gone
        return False
    except (KeyError, ValueError):
        _submit_task(run, task)
        return False
    _submit_task(run, task, [outcome.worker])
    return False


def _resubmit_to_others(run: _Run, task: BatchTask, outcome: TaskOutcome) -> bool:
    """Hand a task of a worker that cannot do it to others; return whether there are none."""
    if outcome.worker not in run.blind:
        run.blind[outcome.worker] = outcome.message
        run.tell(outcome.message)
    others = [address for address in run.workers.addresses() if address not in run.blind]
    if not others:
        _report_failure(run, task, outcome.message)
        return True
    _submit_task(run, task, others)
    return False


def _report_failure(run: _Run, task: BatchTask, message: str) -> None:
    """Report that a task failed."""
    run.failed[task.name] = message
    run.tell(f"{task.name}: {message}")
