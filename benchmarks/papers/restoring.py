"""Noisy and incomplete poses restored by models of poses: Tables 1 to 4 of Lai, Yuen & Lee 2012."""

from collections.abc import Iterator, Sequence
from functools import partial
from time import process_time

import numpy as np

from benchmarks.papers.frame import Column, PaperTable, Request, Row, flatten_lists, number_columns, text_columns
from benchmarks.papers.restoring_models import MODELS, SMALL_ONLY, RestoringModel, TradeOff
from benchmarks.papers.restoring_poses import (
    ALL,
    SUBJECTS,
    Corrupted,
    SplitPoses,
    Task,
    compute_distance_mm,
    compute_squared_error,
    corrupt_poses,
    read_poses,
    split_poses,
)
from config.arrays import Floats
from tools.evaluate.parallel import run_tasks
from tools.evaluate.protocol import cmu_folder

N_SEEDS = 3  # random halves
N_TUNING, MIN_SHARE = 2000, 4  # training poses that choose each trade-off; at most one in so many
# In the order of MODELS; Table 1 has no SGPLVM.
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


def choose_trade_off(model: RestoringModel, trade_offs: Sequence[TradeOff], given: Corrupted, true: Floats) -> TradeOff:
    """Return the trade-off with which a model restores corrupted poses best; true: (N, D)."""
    errors = [compute_squared_error(model.restore(given.observed, given.weight, each), true) for each in trade_offs]
    return trade_offs[int(np.argmin(errors))]


def restore_poses(name: str, tasks: Sequence[Task], split: SplitPoses, seed: int, count: int = 0) -> list[Row]:
    """Choose the trade-off of each task on training poses, then learn from all of them and restore the test poses.

    count: test poses at most, 0: all.
    """

    def make_noise(task: Task, use: int) -> np.random.Generator:
        """Return the generator of a task's noise, the same for every model."""
        return np.random.default_rng((seed, list(Task).index(task), use))

    kind, n_tuning = MODELS[name], min(N_TUNING, len(split.train) // MIN_SHARE)
    tuning, first, chosen = split.train[:n_tuning], kind.fit(split.train[n_tuning:], seed), dict[Task, TradeOff]()
    for task in tasks:
        chosen[task] = choose_trade_off(first, kind.trade_offs, corrupt_poses(task, tuning, make_noise(task, 0)), tuning)
    begin_s = process_time()
    model = kind.fit(split.train, seed)
    fit_s = process_time() - begin_s
    test = split.test[: min(count or len(split.test), kind.most or len(split.test))]
    rows = list[Row]()
    for task, trade_off in chosen.items():
        given = corrupt_poses(task, test, make_noise(task, 1))
        begin_s = process_time()
        restored = model.restore(given.observed, given.weight, trade_off)
        pose_ms = 1e3 * (process_time() - begin_s) / len(test)
        row: Row = {"task": str(task), "model": name, "train": len(split.train), "fit s": fit_s, "ms": pose_ms}
        row |= {"error": compute_squared_error(restored, test), "as given": compute_squared_error(given.observed, test)}
        rows.append(row | {"mm": compute_distance_mm(restored, test, split.scale_m), "trade-off": trade_off, "tests": len(test)})
    return rows


def _restore_data(key: str, tasks: tuple[Task, ...], name: str, seed: int, request: Request) -> list[Row]:
    """Restore the poses of one subject, or all, by one model. Raises DuocapError."""
    behaviour, _, subject = SUBJECTS.get(key, ("poses", "", ALL))
    rows = restore_poses(name, tasks, split_poses(read_poses(key, request.motion), seed), seed, request.count)
    paper = {task: PAPER[subject, task][list(MODELS).index(name)] for task in tasks}
    about: Row = {"data": f"{key} {behaviour}", "seed": seed, "stands for": subject}
    return [about | row | {"paper": paper[Task(row["task"])]} for row in rows]


def compute_restoring(tasks: tuple[Task, ...], keys: tuple[str, ...], request: Request) -> Iterator[Row]:
    """Yield the mean over seeds for each subject, task and model. Raises DuocapError."""
    cmu_folder(request.motion)
    models = [name for name in request.choose(tuple(MODELS)) if keys != (ALL,) or name not in SMALL_ONLY]
    seeds = range(1 if request.quick else N_SEEDS)
    cells = [(key, tasks, name, seed, request) for key in request.choose(keys) for name in models for seed in seeds]
    found = list(flatten_lists(run_tasks([partial(_restore_data, *cell) for cell in cells], request.workers, "restoring")))
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in found:
        groups.setdefault((row["data"], row["task"], row["model"]), []).append(row)
    for rows in groups.values():
        means = {name: float(np.mean([row[name] for row in rows])) for name in ("error", "as given", "mm", "fit s", "ms")}
        yield {**rows[0], **means, "spread": float(np.std([row["error"] for row in rows])), "seeds": rows}


def make_table(number: int, title: str, tasks: tuple[Task, ...], keys: tuple[str, ...]) -> PaperTable:
    """Return one of the paper's tables."""
    return PaperTable(
        f"restoring-{number}",
        f"Lai, Yuen & Lee 2012, Table {number}",
        f"{title}: mean squared error of standardised coordinates, its spread over seeds, the paper's (--count: test poses)",
        (
            *text_columns("data", "stands for", "task"),
            Column("train", 0),
            Column("model"),
            *number_columns(4, "error", "spread"),
            *number_columns(2, "paper"),
        ),
        partial(compute_restoring, tasks, keys),
        choices=(*MODELS, *SUBJECTS),
        spread="model",
        cells=("error", "spread", "paper"),
    )


TABLES = (
    make_table(1, "all CMU and HDM05 poses", tuple(Task), (ALL,)),
    *(make_table(n, task, (task,), tuple(SUBJECTS)) for n, task in enumerate(Task, 2)),
)
