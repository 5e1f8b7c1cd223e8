"""Run independent measurements, several at once."""

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import TypeVar

from tools.progress import progress_bar

T = TypeVar("T")


def run_tasks(tasks: Sequence[Callable[[], T]], processes: int, title: str = "clips") -> list[T]:
    """Run tasks and return their results in the order of the tasks.

    tasks: must pickle; with one process or one task they run in this process; title: of the progress bar.
    Raises whatever a task raises; tasks that have not begun are then cancelled.
    """
    results: dict[int, T] = {}
    with progress_bar(title) as progress:
        progress(0, len(tasks))
        for index, result in _completed(tasks, processes):
            results[index] = result
            progress(len(results), len(tasks))
    return [results[index] for index in range(len(tasks))]


def _completed(tasks: Sequence[Callable[[], T]], processes: int) -> Iterator[tuple[int, T]]:
    """Yield index and result of each task as it is completed."""
    if processes < 2 or len(tasks) == 1:
        yield from ((index, task()) for index, task in enumerate(tasks))
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(processes, max(len(tasks), 1)), mp_context=context) as pool:
        jobs = {pool.submit(task): index for index, task in enumerate(tasks)}
        try:
            for job in as_completed(jobs):
                yield jobs[job], job.result()
        finally:
            for job in jobs:
                job.cancel()
