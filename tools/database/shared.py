"""The files of one database built by several processes, of this machine or of a cluster that sees the same folders."""

from collections.abc import Sequence
from dataclasses import replace

from config.errors import DatabaseError
from database.parts import PartTask, Share, build_part, is_built
from database.store import Progress
from tools.cluster import WorkerPlan, count_fitting_workers, open_workers


def create_worker_build(plan: WorkerPlan) -> Share:
    """Return a function that has workers build the files of a database."""

    def build(tasks: Sequence[PartTask], progress: Progress | None) -> None:
        """Build files. Raises the first error, after the others are built; DatabaseError: they are not to be seen here."""
        left = [task for task in tasks if not is_built(task)]
        errors: list[Exception] = []
        if not left:
            return
        with open_workers(replace(plan, count=min(plan.count or count_fitting_workers(), len(left)))) as workers:
            for k, task in enumerate(left):
                workers.submit(k, build_part, replace(task, options=replace(task.options, processes=1)))
            for done, (key, result) in enumerate(workers.results(), start=1):
                assert isinstance(key, int)
                task = left[key]
                if isinstance(result, Exception):
                    errors.append(result)
                elif not is_built(task):
                    errors.append(DatabaseError(f"{task.out}: built, but not here; give paths that are the same on all workers"))
                if progress is not None:
                    progress(done, len(left), f"{task.out.name}: {'failed' if errors else 'built'}")
        if errors:
            raise errors[0]

    return build
