"""Measure how well models restore noisy and incomplete poses (Lai, Yuen & Lee 2012, section 4.2 and 4.3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import process_time

import numpy as np

from config.arrays import Floats
from config.errors import DatabaseError
from tools.cluster import ALONE, WorkerPlan
from tools.evaluate.parallel import run_tasks
from tools.evaluate.poses.mixtures import TradeOff
from tools.evaluate.poses.models import MODELS, SMALL_ONLY, ModelKind, RestoringModel, model_names
from tools.evaluate.poses.poses import ALL, read_poses, subjects
from tools.evaluate.poses.tasks import Corrupted, Task, corrupt, mean_distance_mm, mean_squared_error, standardisation
from tools.evaluate.protocol import cmu_folder

TASK_OF_TABLE = {2: Task.DENSE, 3: Task.SPARSE, 4: Task.COMPLETION}
TABLES = (1, *TASK_OF_TABLE)
MIN_SHARE = 4  # at most one training pose in so many chooses trade-offs


@dataclass(frozen=True, slots=True)
class PosesOptions:
    """What is measured. Nothing named: all. poses: test poses at most, 0: all; tuning: poses that choose a trade-off."""

    tables: tuple[int, ...] = ()
    subjects: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    poses: int = 0
    tuning: int = 2000
    seeds: int = 3
    workers: WorkerPlan = ALONE


@dataclass(frozen=True, slots=True)
class PosesRun:
    """One model on one task of the poses of one subject, or all, split by one seed.

    error: mean squared error of standardised coordinates; unrestored: that of the poses as observed, missing ones at the mean;
    distance_mm: mean distance of joints from the truth; fit_s: processor time of learning; pose_ms: of restoring a pose.
    """

    data: str
    task: str
    model: str
    seed: int
    trade_off: TradeOff
    error: float
    unrestored: float
    distance_mm: float
    n_train: int
    n_test: int
    n_tuning: int
    fit_s: float
    pose_ms: float


@dataclass(frozen=True, slots=True)
class SplitPoses:
    """Standardised poses: training half and test half, (N, D) each; scale_m: of their coordinates, (D,) [m]."""

    train: Floats
    test: Floats
    scale_m: Floats


@dataclass(frozen=True, slots=True)
class _Job:
    """One model on the poses of one subject, or all, split by one seed, for some tasks."""

    data: str
    model: str
    seed: int
    tasks: tuple[Task, ...]


def table_numbers(words: Sequence[str]) -> tuple[int, ...]:
    """Return the numbers of tables. Raises DatabaseError: no such table."""
    for word in words:
        if word not in map(str, TABLES):
            raise DatabaseError(f"there is no table {word!r}; take {', '.join(map(str, TABLES))}")
    return tuple(int(word) for word in words)


def measure_poses(motion: Path, options: PosesOptions) -> list[PosesRun]:
    """Measure models on subjects. Raises DuocapError: no motions, an unknown table, subject or model."""
    jobs = _jobs(options)
    cmu_folder(motion)
    found = run_tasks([partial(_measured, job, motion, options) for job in jobs], options.workers, "poses")
    return [run for runs in found for run in runs]


def _jobs(options: PosesOptions) -> list[_Job]:
    """Return what is to be measured, the large data last. Raises DatabaseError: an unknown subject or model."""
    tables, models, known = options.tables or TABLES, model_names(options.models), subjects(options.subjects)
    small = tuple(TASK_OF_TABLE[table] for table in tables if table != 1)
    jobs = [_Job(s.key, m, seed, small) for s in known for seed in range(options.seeds) for m in models if small]
    if 1 in tables:
        large = [name for name in models if name not in SMALL_ONLY]
        jobs += [_Job(ALL, model, seed, tuple(Task)) for seed in range(options.seeds) for model in large]
    if not jobs:
        raise DatabaseError(f"Table 1 has no {', '.join(models)}; take another model, or Tables 2 to 4")
    return jobs


def split_poses(poses_m: Floats, seed: int) -> SplitPoses:
    """Split poses, (N, D) [m], at random into halves and standardise both by the first. Raises DatabaseError: too few."""
    if len(poses_m) < 200:
        raise DatabaseError(f"{len(poses_m)} poses are too few to learn from half of them; give motions of 200 or more")
    order = np.random.default_rng(seed).permutation(len(poses_m))
    train, test = np.array_split(poses_m[order], 2)
    standard = standardisation(train)
    return SplitPoses(standard.apply(train), standard.apply(test), standard.scale_m)


def choose_trade_off(model: RestoringModel, trade_offs: Sequence[TradeOff], given: Corrupted, true: Floats) -> TradeOff:
    """Return the trade-off with which a model restores corrupted poses best; true: (N, D)."""
    errors = [mean_squared_error(model.restore(given.observed, given.weight, each), true) for each in trade_offs]
    return trade_offs[int(np.argmin(errors))]


def _measured(job: _Job, motion: Path, options: PosesOptions) -> list[PosesRun]:
    """Choose the trade-off of each task on training poses, then learn from all of them and restore the test poses."""
    kind = MODELS[job.model]
    split = split_poses(read_poses(job.data, motion), job.seed)
    n_tuning = min(options.tuning, len(split.train) // MIN_SHARE)
    chosen = _trade_offs(kind, split.train[n_tuning:], split.train[:n_tuning], job)
    begin_s = process_time()
    model = kind.fit(split.train, job.seed)
    fit_s = process_time() - begin_s
    test = split.test[: min(options.poses or len(split.test), kind.most or len(split.test))]
    runs = []
    for task, trade_off in chosen.items():
        given = corrupt(task, test, _noise(job, task, 1))
        begin_s = process_time()
        restored = model.restore(given.observed, given.weight, trade_off)
        pose_ms = 1e3 * (process_time() - begin_s) / len(test)
        errors = (mean_squared_error(restored, test), mean_squared_error(given.observed, test))
        sizes = len(split.train), len(test), n_tuning
        distance_mm = mean_distance_mm(restored, test, split.scale_m)
        runs.append(PosesRun(job.data, task, job.model, job.seed, trade_off, *errors, distance_mm, *sizes, fit_s, pose_ms))
    return runs


def _trade_offs(kind: ModelKind, learned: Floats, tuning: Floats, job: _Job) -> dict[Task, TradeOff]:
    """Return the best trade-off of each task on some poses, (N, D), of a model learned from others, (M, D)."""
    model, chosen = kind.fit(learned, job.seed), {}
    for task in job.tasks:
        chosen[task] = choose_trade_off(model, kind.trade_offs, corrupt(task, tuning, _noise(job, task, 0)), tuning)
    return chosen


def _noise(job: _Job, task: Task, use: int) -> np.random.Generator:
    """Return the generator of a task's noise, the same for every model."""
    return np.random.default_rng((job.seed, list(Task).index(task), use))
