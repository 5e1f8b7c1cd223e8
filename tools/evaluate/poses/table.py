"""The tables of Lai, Yuen & Lee 2012: tasks or subjects down, models across, the paper's figures beside ours in brackets."""

from collections.abc import Iterator, Sequence

import numpy as np

from tools.evaluate.poses.measure import TASK_OF_TABLE, PosesRun
from tools.evaluate.poses.models import MODELS
from tools.evaluate.poses.poses import ALL, SUBJECTS
from tools.evaluate.poses.tasks import Task

COLUMNS = ("sparse", "mfa", "gaussian", "local-pca", "clusters", "sgplvm", "pca")
WIDTH = 24
# The paper's columns in the order of COLUMNS; Table 1 has no SGPLVM.
PAPER: dict[tuple[str, str], tuple[float, ...]] = {
    (ALL, Task.DENSE): (0.12, 0.26, 0.25, 0.20, 0.95, np.nan, 3.34),
    (ALL, Task.SPARSE): (0.05, 0.15, 0.14, 1.02, 0.17, np.nan, 1.36),
    (ALL, Task.COMPLETION): (0.01, 0.24, 0.30, 0.80, 0.20, np.nan, 4.11),
    ("07 walking", Task.DENSE): (0.02, 0.13, 0.08, 0.07, 0.02, 0.70, 0.07),
    ("09 running", Task.DENSE): (0.03, 0.08, 0.10, 0.06, 0.06, 1.26, 0.09),
    ("63 golf", Task.DENSE): (0.07, 0.41, 2.44, 0.35, 0.34, 3.90, 0.41),
    ("102 basketball", Task.DENSE): (0.10, 1.39, 0.17, 0.08, 0.11, 1.37, 1.28),
    ("07 walking", Task.SPARSE): (0.03, 0.08, 0.05, 0.07, 0.19, 0.26, 0.08),
    ("09 running", Task.SPARSE): (0.04, 0.05, 0.06, 0.06, 0.05, 0.70, 0.05),
    ("63 golf", Task.SPARSE): (0.03, 0.12, 0.47, 0.09, 0.10, 0.99, 0.36),
    ("102 basketball", Task.SPARSE): (0.05, 0.08, 0.09, 0.07, 0.08, 1.34, 1.09),
    ("07 walking", Task.COMPLETION): (0.07, 0.11, 0.23, 0.25, 0.95, 0.31, 0.07),
    ("09 running", Task.COMPLETION): (0.09, 0.09, 0.26, 0.26, 0.25, 0.74, 0.05),
    ("63 golf", Task.COMPLETION): (0.07, 0.18, 0.26, 0.18, 0.21, 3.90, 0.53),
    ("102 basketball", Task.COMPLETION): (0.09, 0.24, 0.28, 0.25, 0.27, 1.48, 1.30),
}


def report(runs: Sequence[PosesRun]) -> Iterator[str]:
    """Yield the tables that were measured, then how."""
    yield "mean squared error of standardised coordinates: mean over seeds ± their standard deviation (the paper's); * least"
    large = [run for run in runs if run.data == ALL]
    if large:
        yield from ("", _title(1, "all CMU and HDM05 poses", large))
        yield from _table([(task, ALL, [run for run in large if run.task == task]) for task in Task], "task", large)
    for table, task in TASK_OF_TABLE.items():
        part = [run for run in runs if run.task == task and run.data != ALL]
        if part:
            yield from ("", _title(table, task, part))
            yield from _table([(s.name, s.name, [run for run in part if run.data == s.key]) for s in SUBJECTS], "subject", part)
            yield from (_paper_line(name, task, part) for name in dict.fromkeys(s.stands_for for s in SUBJECTS if s.stands_for))
    yield ""
    yield from _times(runs)


def _title(table: int, what: str, runs: Sequence[PosesRun]) -> str:
    """Return the line above a table."""
    return f"Table {table}: {what}; seeds: {len({run.seed for run in runs})}"


def _models(runs: Sequence[PosesRun]) -> list[str]:
    """Return the models of some runs in the order of the paper."""
    measured = {run.model for run in runs}
    return [name for name in dict.fromkeys((*COLUMNS, *MODELS)) if name in measured]


def _table(rows: Sequence[tuple[str, str, list[PosesRun]]], what: str, every: Sequence[PosesRun]) -> Iterator[str]:
    """Yield head and rows: label, the paper's row, and its runs."""
    models = _models(every)
    yield f"{what:<18}{'train':>8}{'test':>8}{'as given':>10}" + "".join(f"{name:>{WIDTH}}" for name in models)
    for label, paper, part in rows:
        if part:
            cells = {name: [run for run in part if run.model == name] for name in models}
            means = {name: float(np.mean([run.error for run in cell])) for name, cell in cells.items() if cell}
            best = min(means, key=lambda name: means[name])
            counts = f"{part[0].n_train:>8}{max(run.n_test for run in part):>8}{part[0].unrestored:>10.2f}"
            figures = [
                _cell(cell, _paper(paper, cell[0].task, name), name == best) if cell else "-" for name, cell in cells.items()
            ]
            yield f"{label:<18}{counts}" + "".join(f"{figure:>{WIDTH}}" for figure in figures)


def _cell(runs: Sequence[PosesRun], paper: float, best: bool) -> str:
    """Return mean, spread and the paper's figure of one model."""
    errors = [run.error for run in runs]
    beside = "(  - )" if np.isnan(paper) else f"({paper:.2f})"
    return f"{'*' if best else ''}{np.mean(errors):.4f} ±{np.std(errors):.4f} {beside}"


def _paper(row: str, task: str, model: str) -> float:
    """Return the paper's figure, NaN where it has none."""
    figures = PAPER.get((row, task))
    return figures[COLUMNS.index(model)] if figures and model in COLUMNS else float("nan")


def _paper_line(name: str, task: Task, runs: Sequence[PosesRun]) -> str:
    """Return the paper's figures of a subject that others stand for."""
    figures = [f"({_paper(name, task, model):.2f})" for model in _models(runs)]
    return f"{name + ', paper':<44}" + "".join(f"{figure:>{WIDTH}}" for figure in figures)


def _times(runs: Sequence[PosesRun]) -> Iterator[str]:
    """Yield learning and restoring times, test poses and the trade-offs chosen, of each model and data."""
    names = {s.key: s.name for s in SUBJECTS}
    for data in dict.fromkeys(run.data for run in runs):
        for model in _models(runs):
            part = [run for run in runs if run.data == data and run.model == model]
            if part:
                chosen = ", ".join(
                    f"{task} {'/'.join('-'.join(f'{each:g}' for each in run.trade_off) for run in part if run.task == task)}"
                    for task in dict.fromkeys(run.task for run in part)
                )
                fit_s, pose_ms = (np.mean([getattr(run, name) for run in part]) for name in ("fit_s", "pose_ms"))
                head = f"{names.get(data, 'all poses'):<15} {model:<10} learned in {fit_s:.1f} s, {pose_ms:.2f} ms a pose"
                yield f"{head}, {part[0].n_test} test poses; trade-offs: {chosen}"
