"""Run independent measurements, several at once."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from config.errors import DuocapError
from tools.cluster import CrashedError, WorkerPlan, count_fitting_workers, find_worker_address, open_workers
from tools.progress import open_progress_bar

T = TypeVar("T")


class WorkerTaskError(DuocapError):
    """A measurement that failed on a worker of a cluster."""


def run_tasks(tasks: Sequence[Callable[[], T]], plan: WorkerPlan, title: str = "clips") -> list[T]:
    """Run tasks and return their results in the order of the tasks.

    tasks: functions of this program with arguments that travel; with one worker or one task they run in this process;
    title: title of the progress bar. Raises whatever a task raises; tasks that have not begun are then cancelled.
    """
    results: dict[int, T] = {}
    with open_progress_bar(title) as progress:
        progress(0, len(tasks))
        for index, result in _completed(tasks, plan, title):
            results[index] = result
            progress(len(results), len(tasks))
    return [results[index] for index in range(len(tasks))]


def _completed(tasks: Sequence[Callable[[], T]], plan: WorkerPlan, title: str) -> Iterator[tuple[int, T]]:
    """Yield index and result of each task as it is completed."""
    if plan.is_serial or (len(tasks) < 2 and not plan.scheduler):
        yield from ((index, task()) for index, task in enumerate(tasks))
        return
    if not plan.scheduler:
        plan = replace(plan, count=min(plan.count or count_fitting_workers(), len(tasks)))
    with open_workers(plan) as workers:
        for index, task in enumerate(tasks):
            workers.submit(index, _called, task, bool(plan.scheduler))
        for key, result in workers.results():
            assert isinstance(key, int)
            if isinstance(result, CrashedError):
                raise CrashedError(f"{title}: number {key + 1} of {len(tasks)} {result}")
            if isinstance(result, Exception):
                raise result
            yield key, result


def _called(task: Callable[[], T], remote: bool) -> T:
    """Return what a task returns; runs in a worker. remote: errors say of which, as its files may be others."""
    try:
        return task()
    except DuocapError as error:
        if not remote:
            raise
        raise WorkerTaskError(f"worker {find_worker_address()}: {error}") from error
