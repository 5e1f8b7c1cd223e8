"""One task in a worker: the very command, in this process; what it printed, what it read, and a picture of what came of it."""

import contextlib
import io
import json
import tempfile
import threading
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from config.errors import DuocapError
from config.files import DISK_FULL
from tools.batch.picture import draw_recording
from tools.batch.record import TOKEN, InputFile, compute_digest, hash_files, list_input_files, replace_folder, write_task_record
from tools.batch.send import SentFiles, place_inputs
from tools.batch.task import REPORT, BatchTask
from tools.cli import run_application
from tools.cluster import find_worker_address, list_own_versions, send_line
from tools.progress import tell_progress_to

MAX_LINES: Final = 60
_ONE: Final = threading.Lock()  # what a command prints is caught for the whole process


class TaskEnd(StrEnum):
    """How a task ended.

    Attributes:
        BLIND: this worker does not see the files that it should read or write.
        NEEDS: files have to be sent to it.
    """

    DONE = "done"
    FAILED = "failed"
    BLIND = "blind"
    NEEDS = "needs"


@dataclass(frozen=True, slots=True)
class TaskOutcome:
    """Result of a task.

    Attributes:
        message: one line, why not.
        needs: hashes of files to be sent.
        files: results to be sent back, by name.
    """

    end: TaskEnd
    worker: str
    message: str = ""
    seconds: float = 0.0
    needs: tuple[str, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)


def run_task(task: BatchTask, out: str, token: str, versions: Mapping[str, str], sent: SentFiles | None = None) -> TaskOutcome:
    """Run a task and put its results into its folder below `out`.

    Args:
        task: the task.
        out: folder of the results of all tasks.
        token: content of the file `TOKEN` in that folder.
        versions: versions on the machine that asks.
        sent: the inputs, where they are not in a folder that both share: the results then go back with the outcome.
    """
    with _ONE, tell_progress_to(lambda line: send_line(token, f"{task.name}: {line}")):
        worker = find_worker_address()
        mine = list_own_versions()
        other = [name for name in mine if versions.get(name) != mine[name]]
        if other:
            return TaskOutcome(
                TaskEnd.BLIND, worker, f"worker {worker}: has {other[0]} {mine[other[0]]}, not {versions.get(other[0])}"
            )
        try:
            return (
                _run_on_sent_inputs(task, mine, sent, worker)
                if sent is not None
                else _run_in_shared_folder(task, Path(out), token, mine, worker)
            )
        except DuocapError as error:
            return TaskOutcome(TaskEnd.FAILED, worker, _join_lines(str(error)))
        except OSError as error:
            what = "the disk is full" if error.errno in DISK_FULL else "cannot be read or written"
            return TaskOutcome(TaskEnd.FAILED, worker, f"{error.filename or out}: {what} ({error.strerror or error})")


def _run_in_shared_folder(task: BatchTask, out: Path, token: str, versions: Mapping[str, str], worker: str) -> TaskOutcome:
    """Run a task on a folder that this worker shares with who asks."""
    try:
        seen = (out / TOKEN).read_text("utf-8") == token
    except OSError:
        seen = False
    if not seen:  # an input that is nowhere is no fault of the worker
        return TaskOutcome(
            TaskEnd.BLIND, worker, f"worker {worker}: does not see {out}; share the folder under that path, or --send"
        )
    try:
        files = list_input_files(task)
    except FileNotFoundError as error:
        return TaskOutcome(TaskEnd.FAILED, worker, f"{error.filename}: no such file or folder")
    with replace_folder(out / task.name) as part:
        return _run_into_folder(task, task.inputs, part, files, versions, worker)


def _run_on_sent_inputs(task: BatchTask, versions: Mapping[str, str], sent: SentFiles, worker: str) -> TaskOutcome:
    """Run a task on inputs that were sent; give the results back."""
    needs = sent.missing()
    if needs:
        return TaskOutcome(TaskEnd.NEEDS, worker, needs=needs)
    with tempfile.TemporaryDirectory(prefix="duocap-") as folder, replace_folder(Path(folder) / task.leaf) as part:
        inputs = place_inputs(task, sent, Path(folder))
        outcome = _run_into_folder(task, inputs, part, list_input_files(task, inputs), versions, worker, sent)
        files = {path.relative_to(part).as_posix(): path.read_bytes() for path in part.rglob("*") if path.is_file()}
    sent.forget()
    return TaskOutcome(outcome.end, worker, outcome.message, outcome.seconds, files=files)


class _TaskFailedError(DuocapError):
    """A command that did not do what it should."""


def _run_into_folder(
    task: BatchTask,
    inputs: tuple[str, ...],
    part: Path,
    files: list[InputFile],
    versions: Mapping[str, str],
    worker: str,
    sent: SentFiles | None = None,
) -> TaskOutcome:
    """Run the command into a folder, and record what was done. Raises DuocapError: it failed."""
    begun_s = time.perf_counter()
    lines, warnings = _run_command(task.command(inputs, part))
    hashes = hash_files(files, {}) if sent is None else sent.hashes
    seconds = time.perf_counter() - begun_s
    record = {
        "task": task.name,
        "kind": task.kind,
        "digest": compute_digest(task, hashes, versions),
        "inputs": hashes,
        "seconds": seconds,
        "lines": lines,
        "warnings": warnings,
        "report": _read_replay_report(part),
        "picture": draw_recording(_find_recording(task, inputs, part)),
    }
    write_task_record(part, record)
    return TaskOutcome(TaskEnd.DONE, worker, seconds=seconds)


def _run_command(words: list[str]) -> tuple[list[str], list[str]]:
    """Run a command of duocap; return the lines it printed, and its warnings. Raises DuocapError: it failed."""
    out, err = io.StringIO(), io.StringIO()
    status: object = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            run_application(words)
        except SystemExit as end:
            status = end.code
        except OSError as error:
            if error.errno in DISK_FULL:
                raise
            status = _format_fault(error)
        except DuocapError:
            raise
        except Exception as error:  # noqa: BLE001 - a fault of one take is its own
            status = _format_fault(error)
    told = [line for line in err.getvalue().splitlines() if line.strip()]
    if status not in (0, None):
        raise _TaskFailedError(str(status) if isinstance(status, str) else told[-1] if told else f"ended with status {status}")
    warnings = [line for line in told if "WARNING" in line or "warning:" in line]
    return out.getvalue().splitlines()[:MAX_LINES], warnings[:MAX_LINES]


def _format_fault(error: Exception) -> str:
    """Return in words what an internal fault was, and where."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"internal fault ({type(error).__name__}: {_join_lines(str(error)) or 'no message'}{where}); this is a bug"


def _read_replay_report(part: Path) -> dict[str, Any]:
    """Return the report of a replay, empty for other tasks."""
    file = part / REPORT
    return dict(json.loads(file.read_text("utf-8"))) if file.is_file() else {}


def _find_recording(task: BatchTask, inputs: tuple[str, ...], part: Path) -> Path | None:
    """Return the recording that shows a task's take, if any."""
    if not task.recording:
        return None
    return Path(inputs[0]) if task.recording == "{in0}" else part / task.recording


def _join_lines(text: str) -> str:
    """Return a message as one line."""
    return " ".join(text.split())
