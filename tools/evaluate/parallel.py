"""Run independent measurements, several at once."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from tools.cluster import WorkerPlan, fitting_workers, open_workers
from tools.progress import progress_bar

T = TypeVar("T")


def run_tasks(tasks: Sequence[Callable[[], T]], plan: WorkerPlan, title: str = "clips") -> list[T]:
    """Run tasks and return their results in the order of the tasks.

    tasks: functions of this program with arguments that travel; with one worker or one task they run in this process; title: of
    the progress bar. Raises whatever a task raises; tasks that have not begun are then cancelled.
    """
    results: dict[int, T] = {}
    with progress_bar(title) as progress:
        progress(0, len(tasks))
        for index, result in _completed(tasks, plan):
            results[index] = result
            progress(len(results), len(tasks))
    return [results[index] for index in range(len(tasks))]


def _completed(tasks: Sequence[Callable[[], T]], plan: WorkerPlan) -> Iterator[tuple[int, T]]:
    """Yield index and result of each task as it is completed."""
    if plan.is_serial or (len(tasks) < 2 and not plan.scheduler):
        yield from ((index, task()) for index, task in enumerate(tasks))
        return
    with open_workers(replace(plan, count=min(plan.count or fitting_workers(), len(tasks)))) as workers:
        for index, task in enumerate(tasks):
            workers.submit(index, _called, task)
        for key, result in workers.results():
            if isinstance(result, Exception):
                raise result
            assert isinstance(key, int)
            yield key, result


def _called(task: Callable[[], T]) -> T:
    """Return what a task returns; runs in a worker."""
    return task()
