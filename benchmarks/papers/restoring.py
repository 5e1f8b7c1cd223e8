"""Noisy and incomplete poses restored by models of poses: Tables 1 to 4 of Lai, Yuen & Lee 2012."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import process_time

import numpy as np

from benchmarks.papers.frame import PaperTable, Request
from benchmarks.papers.restoring_models import MODELS, SMALL_ONLY, ModelKind, RestoringModel, TradeOff, make_dictionary_kind
from benchmarks.papers.restoring_poses import (
    ALL,
    SUBJECTS,
    Corrupted,
    Halves,
    SplitPoses,
    Task,
    compute_distance_mm,
    compute_squared_error,
    corrupt_poses,
    read_takes,
    split_poses,
)
from benchmarks.report import Column, Row, group_rows, number_columns, text_columns
from config.arrays import Floats
from tools.evaluate.protocol import cmu_folder

N_SEEDS = 5  # random halves
N_TUNING = 100  # training poses that choose each trade-off
N_TESTS = 2000
N_POSES = 4000  # of a subject, every so many-th one of all: the paper's have 769 to 7,529
N_LARGE = 50_000  # of all, likewise
QUICK_SEEDS, QUICK_POSES, QUICK_TESTS = 1, 800, 200
QUICK_TAKES = 8  # of a person one in so many is read, where all people count
EQUAL_MEMORY, QUICK_MEMORY = 50_000.0, 8_000.0  # numbers of each model
DICTIONARIES = ("omp", "k-svd")  # those that are learned
ATOMS, QUICK_ATOMS = (50, 100, 200, 500, 1000, 2000), (50, 200, 500, 2000)
# In the order of MODELS, of which the paper has no more; Table 1 has no SGPLVM.
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


@dataclass(frozen=True, slots=True)
class RestoringCell:
    """What is restored, and by what.

    Attributes:
        key: subject, or ALL.
        halves: what training and test poses are halves of.
        name: name of the model.
        numbers: how many numbers the model may hold.
        atoms: K of a learned dictionary in place of its own, and of others as many numbers as K atoms are, 0: their own.
        quick: whether fewer poses are taken.
    """

    key: str
    tasks: tuple[Task, ...]
    halves: Halves
    name: str
    seed: int
    numbers: float = np.inf
    atoms: int = 0
    quick: bool = False

    @property
    def kind(self) -> ModelKind:
        """The model."""
        learned = self.atoms and self.name in DICTIONARIES
        return make_dictionary_kind(self.atoms, self.name == "omp") if learned else MODELS[self.name]

    def count_numbers(self, n_coordinates: int) -> float:
        """Return how many numbers the model may hold."""
        return min(self.numbers, self.atoms * (n_coordinates + 1.0)) if self.atoms else self.numbers


def restore_poses(cell: RestoringCell, split: SplitPoses, count: int = 0) -> list[Row]:
    """Choose the trade-off of each task on training poses, then learn from all of them and restore the test poses.

    count: test poses at most, 0: as many as the cell has.
    """

    def make_noise(task: Task, use: int) -> np.random.Generator:
        """Return the generator of a task's noise, the same for every model."""
        return np.random.default_rng((cell.seed, list(Task).index(task), use))

    kind, chosen = cell.kind, dict[Task, TradeOff]()
    tuning = np.random.default_rng(cell.seed).permutation(split.train[split.tuning])[:N_TUNING]
    numbers = cell.count_numbers(split.train.shape[1])
    first = kind.fit(split.train[~split.tuning], cell.seed, numbers)
    for task in cell.tasks:
        chosen[task] = choose_trade_off(first, kind.trade_offs, corrupt_poses(task, tuning, make_noise(task, 0)), tuning)
    begin_s = process_time()
    model = kind.fit(split.train, cell.seed, numbers)
    fit_s = process_time() - begin_s
    count = count or (QUICK_TESTS if cell.quick else N_TESTS)
    test = split.test[: min(count, kind.most or count)]
    rows = list[Row]()
    for task, trade_off in chosen.items():
        given = corrupt_poses(task, test, make_noise(task, 1))
        begin_s = process_time()
        restored = model.restore(given.observed, given.weight, trade_off)
        pose_ms = 1e3 * (process_time() - begin_s) / len(test)
        row: Row = {"task": str(task), "model": cell.name, "train": len(split.train), "fit s": fit_s, "ms": pose_ms}
        row |= {"error": compute_squared_error(restored, test), "as given": compute_squared_error(given.observed, test)}
        rows.append(row | {"mm": compute_distance_mm(restored, test, split.scale_m), "trade-off": trade_off, "tests": len(test)})
    return rows


def _restore_cell(cell: RestoringCell, motion: Path, count: int) -> list[Row]:
    """Restore the poses of one subject, or all, by one model. Raises DatabaseError."""
    behaviour, _, subject = SUBJECTS.get(cell.key, ("poses", "", ALL))
    takes = read_takes(cell.key, motion, QUICK_TAKES if cell.quick and cell.key == ALL else 1)
    most = (QUICK_POSES if cell.quick else N_LARGE if cell.key == ALL else N_POSES) + 3 * cell.atoms
    step = -(-sum(map(len, takes)) // most)
    rows = restore_poses(cell, split_poses([take[::step] for take in takes], cell.halves, cell.seed), count)
    column = list(MODELS).index(cell.name)
    about: Row = {"data": f"{cell.key} {behaviour}", "halves": str(cell.halves), "seed": cell.seed, "stands for": subject}
    about |= {"K": cell.atoms or None}
    paper = {task: PAPER[subject, task] for task in cell.tasks}
    return [about | row | {"paper": [*paper[Task(row["task"])], *[None] * 9][column]} for row in rows]


@dataclass(frozen=True, slots=True)
class RestoringPlan:
    """What a table has: fields as in `RestoringCell`, each for all."""

    tasks: tuple[Task, ...] = tuple(Task)
    keys: tuple[str, ...] = tuple(SUBJECTS)
    halves: tuple[Halves, ...] = (Halves.POSES, Halves.TAKES)
    models: tuple[str, ...] = tuple(MODELS)
    numbers: float = np.inf
    atoms: tuple[int, ...] = (0,)
    n_seeds: int = N_SEEDS


def compute_restoring(plan: RestoringPlan, request: Request) -> Iterator[Row]:
    """Yield the mean over seeds for each subject, task and model. Raises DuocapError."""
    cmu_folder(request.motion)
    models = [name for name in request.choose(plan.models) if plan.keys != (ALL,) or name not in SMALL_ONLY]
    numbers = min(plan.numbers, QUICK_MEMORY) if request.quick and np.isfinite(plan.numbers) else plan.numbers
    cells = [
        RestoringCell(key, plan.tasks, halves, name, seed, numbers, atoms, request.quick)
        for key in request.choose(plan.keys)
        for halves in plan.halves
        for name in models
        for atoms in (QUICK_ATOMS if request.quick and plan.atoms == ATOMS else plan.atoms)
        for seed in range(request.seeds or (QUICK_SEEDS if request.quick else plan.n_seeds))
    ]
    tasks = [partial(_restore_cell, cell, request.motion, request.count) for cell in cells]
    measured = request.run(tasks, "restoring")
    for rows in group_rows(measured, "data", "halves", "task", "model", "K"):
        means = {name: float(np.mean([row[name] for row in rows])) for name in ("error", "as given", "mm", "fit s", "ms")}
        errors = [row["error"] for row in rows]
        yield {**rows[0], **means, "spread": float(np.std(errors)), "errors": errors}


def make_table(name: str, paper: str, title: str, plan: RestoringPlan) -> PaperTable:
    """Return a table of restored poses."""
    return PaperTable(
        f"restoring-{name}",
        f"Lai, Yuen & Lee 2012, {paper}",
        f"{title}: mean squared error of standardised coordinates, its spread over seeds, the paper's (--count: test poses)",
        (
            *text_columns("data", "stands for", "halves", "task"),
            Column("K" if plan.atoms != (0,) else "train", 0),
            Column("model"),
            *number_columns(4, "error", "spread"),
            *number_columns(2, "paper"),
        ),
        partial(compute_restoring, plan),
        choices=(*plan.models, *plan.keys),
        spread="model",
        cells=("error", "spread", "paper"),
    )


TABLES = (
    make_table("large", "Table 1", "all CMU and HDM05 poses", RestoringPlan(keys=(ALL,), halves=(Halves.POSES, Halves.PEOPLE))),
    make_table("small", "Tables 2 to 4", "poses of a subject", RestoringPlan()),
    make_table(
        "memory",
        "Tables 2 to 4",
        f"{EQUAL_MEMORY:.0f} numbers a model at most",
        RestoringPlan(numbers=EQUAL_MEMORY, halves=(Halves.TAKES,)),
    ),
    make_table(
        "atoms",
        "section 4.1",
        "learned dictionaries of K atoms, and rivals of as many numbers",
        RestoringPlan(models=(*DICTIONARIES, "local-pca"), atoms=ATOMS, halves=(Halves.TAKES,)),
    ),
)
