"""Measurements on workers: results in the order of the tasks, and whose fault a fault is."""

import os
from functools import partial
from pathlib import Path

import pytest

from config.errors import DatabaseError
from tests.support.clusters import Cluster
from tests.support.kept import Kept
from tools.cluster import ClusterError, CrashedError, WorkerPlan
from tools.evaluate.parallel import WorkerTaskError, run_tasks

needs_dask = pytest.mark.skipif("not __import__('tools.cluster').cluster.has_dask()", reason="needs duocap[cluster]")


def crashed(n: int) -> int:
    """End the process of task 1."""
    if n == 1:
        os._exit(9)
    return n


def failed(path: Path) -> None:
    """Raise what a worker without the data raises."""
    raise DatabaseError(f"{path}: no such file")


def test_without_dask_one_worker_is_enough_and_more_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.cluster.has_dask", lambda: False)
    assert run_tasks([partial(abs, -n) for n in range(3)], WorkerPlan(1)) == [0, 1, 2]
    for plan in (WorkerPlan(2), WorkerPlan(), WorkerPlan(scheduler="tcp://127.0.0.1:1")):
        with pytest.raises(ClusterError, match="pip install"):
            run_tasks([partial(abs, -n) for n in range(3)], plan)


@needs_dask
@pytest.mark.slow
def test_two_workers_keep_the_order_and_a_crash_is_told(tmp_path: Path, kept: Kept) -> None:
    assert run_tasks([partial(abs, -n) for n in range(9)], WorkerPlan(2)) == list(range(9))
    with pytest.raises(CrashedError, match="clips: number 2 of 3 ended the process it ran in"):
        run_tasks([partial(crashed, n) for n in range(3)], WorkerPlan(2))
    cluster = Cluster(kept)
    cluster.worker()
    cluster.wait(1)
    with pytest.raises(WorkerTaskError, match=r"worker tcp://127\.0\.0\.1:\d+: .*no such file") as told:
        run_tasks([partial(failed, tmp_path / "x.db")], WorkerPlan(scheduler=cluster.address))
    assert "\n" not in str(told.value)
