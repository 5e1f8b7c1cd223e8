"""Independent pieces of a measurement, several at once."""

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import TypeVar

T = TypeVar("T")


def in_processes(tasks: Sequence[Callable[[], T]], processes: int) -> Iterator[tuple[int, T]]:
    """Run tasks, which must pickle, and give index and result of each as it is done; what a task raises is raised here."""
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
