"""The report of a batch: a row for each task, as JSON and as a page."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from config.files import write_atomically, write_together
from tools.batch.page import format_page
from tools.batch.task import BatchTask

SUMMARY, PAGE = "report.json", "report.html"
DONE, FAILED, UNDONE = "done", "failed", "not run"


@dataclass(frozen=True, slots=True)
class TaskRow:
    """One task in the report.

    Attributes:
        state: done, failed or not run.
        message: why not.
        figures: figures of a replay, by name.
        worst: figures of its worst seconds.
        recording: file for `duocap view`, relative to the folder, empty for none.
        lines: lines that the command printed.
        mark: inputs and digest of what failed, by which the next batch knows that it is the same still.
    """

    task: str
    kind: str
    state: str
    message: str = ""
    figures: Mapping[str, float | None] = field(default_factory=dict)
    worst: Sequence[Mapping[str, float | None]] = ()
    recording: str = ""
    picture: str = ""
    lines: Sequence[str] = ()
    warnings: Sequence[str] = ()
    wall_s: float | None = None
    mark: Mapping[str, Any] | None = None

    @classmethod
    def of_record(cls, task: BatchTask, record: Mapping[str, Any]) -> "TaskRow":
        """Return the row of a task that is done."""
        own = task.recording and not task.recording.startswith("{")
        recording = f"{task.name}/{task.recording}" if own else task.inputs[0] if task.recording else ""
        found: Mapping[str, Any] = record["report"]
        figures = (
            {
                "frames": found["frames"],
                "seconds": found["time"]["seconds"],
                "tracked": found["tracked"],
                "reprojection_px": found["reprojection_px"]["median"],
                "marker_residual_mm": found["marker_residual_mm"]["median"],
                "swaps_suspected": found["swaps_suspected"],
            }
            if found
            else {}
        )
        return cls(
            task.name,
            task.kind,
            DONE,
            figures=figures,
            worst=found.get("worst_seconds", ()),
            recording=recording,
            picture=record["picture"],
            lines=record["lines"],
            warnings=record["warnings"],
            wall_s=record["seconds"],
        )

    @classmethod
    def of_failed(cls, task: BatchTask, message: str, mark: Mapping[str, Any] | None) -> "TaskRow":
        """Return the row of a task that failed.

        Args:
            task: task that failed.
            message: why.
            mark: mark of its inputs, which shows whether they have changed since; None if one is missing.
        """
        return cls(task.name, task.kind, FAILED, message, mark=mark)

    @classmethod
    def of_undone(cls, task: BatchTask) -> "TaskRow":
        """Return the row of a task that was not come to."""
        return cls(task.name, task.kind, UNDONE)


def write_batch_reports(out: Path, rows: Sequence[TaskRow]) -> None:
    """Write the report as JSON and as a page. Raises FileFormatError."""
    counts = {state: sum(row.state == state for row in rows) for state in (DONE, FAILED, UNDONE)}
    when = f"{datetime.now().astimezone():%Y-%m-%d %H:%M}"
    content = {"when": when, "counts": counts, "tasks": [asdict(row) for row in rows]}
    with write_together():
        write_atomically(out / SUMMARY, json.dumps(content, indent=1) + "\n")
        write_atomically(out / PAGE, format_page(out, when, counts, content["tasks"]))  # type: ignore[arg-type]
