"""Measurements on workers: results in the order of the tasks, the same figures, and whose fault a fault is."""

import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from config.errors import DatabaseError
from tests.support.clusters import Cluster
from tests.support.commands import duocap
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


@needs_dask
@pytest.mark.slow
def test_figures_of_one_and_two_workers_are_the_same(
    motion_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def figures(workers: int) -> Any:
        file = tmp_path / f"{workers}.json"
        words = ("--clip", "07_08", "--clip", "09_09", "--seconds", 1, "--variant", "noise", "--method", "ours")
        result = duocap(capsys, "evaluate", "synthesis", "--motion", motion_dir, *words, "--workers", workers, "--json", file)
        assert result.status == 0, result.err
        return [{key: value for key, value in run.items() if key != "frame_ms"} for run in json.loads(file.read_text("utf-8"))]

    assert figures(1) == figures(2)
