"""Batches on processes of this machine and of a cluster: they do what single commands do, whatever happens to some takes."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.clusters import ROOT, Cluster, kill_after
from tests.support.commands import Result, duocap
from tests.support.kept import Kept
from tests.support.ports import free_address
from tests.support.waiting import wait_until
from tests.tools.commands.walked import Walked
from tools.batch.record import DONE
from tools.cluster import ClusterError, WorkerPlan, open_workers, send_line

pytestmark = pytest.mark.slow
Security = pytest.importorskip("distributed.security", reason="needs duocap[cluster]").Security
HOOK = """
import os, sys
crash, blind, full = (os.environ.get("TEST_" + name, "") for name in ("CRASH", "BLIND", "FULL"))
def hook(event, args):
    if event == "open" and isinstance(args[0], str):
        if crash and crash in args[0]:
            os._exit(9)
        if blind and args[0].endswith(".batch"):
            raise FileNotFoundError(2, "no such file", args[0])
sys.addaudithook(hook)
if full:
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(full), int(full)))
    sys.dont_write_bytecode = True  # Python would keep the first half of a module that it compiles now, and read it ever after
"""


def run(capsys: pytest.CaptureFixture[str], studio: Path, *words: object) -> Result:
    """Run the job with one worker, or as the words say."""
    return duocap(capsys, "batch", studio / "job.toml", *(words or ("--workers", 1)))


@pytest.fixture
def hooked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have Python processes that are started meanwhile behave as TEST_CRASH, TEST_BLIND and TEST_FULL tell them."""
    folder = tmp_path / "hook"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(HOOK)
    monkeypatch.setenv("PYTHONPATH", f"{folder}{os.pathsep}{ROOT}")


@pytest.fixture(scope="module")
def alone(walked: Walked, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return what one `duocap replay` of the take writes, a process of its own as a batch's are.

    In this one kernels may have been compiled before for arrays of another layout, which sum in another order.
    """
    folder = tmp_path_factory.mktemp("alone")
    words = walked.replay_words("--no-publish", "--out", folder / "a.bvh", "--out", folder / "a.csv")
    result = subprocess.run([sys.executable, "-m", "tools.launch", *map(str, words)], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return folder


def same(studio: Path, alone: Path, *names: str) -> bool:
    """Return whether takes are there and equal a single replay to the bit."""
    done = studio / "done" / "takes"
    return all(
        (done / name / f"{name}.{kind}").read_bytes() == (alone / f"a.{kind}").read_bytes()
        for name in names
        for kind in ("bvh", "csv")
    )


def rows(studio: Path) -> dict[str, dict[str, object]]:
    """Return the rows of the report."""
    return {row["task"]: row for row in json.loads((studio / "done" / "report.json").read_text("utf-8"))["tasks"]}


def list_faults(err: str) -> list[str]:
    """Return the lines that name a task's fault; beside them is said how far the batch is."""
    return [line for line in err.splitlines() if line.startswith("takes/")]


def clean(studio: Path) -> bool:
    """Return whether nothing half-written is left."""
    return not [path for path in (studio / "done").rglob(".*") if path.name != ".lock"]


def test_a_batch_equals_single_replays_and_is_not_done_twice(
    studio: Path, alone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = run(capsys, studio)
    assert first.status == 1 and "2 done, 3 of all run now, 1 failed" in first.out
    assert first.last == "duocap: 1 of 3 tasks failed; --retry runs them again"
    (fault,) = list_faults(first.err)
    assert fault.startswith("takes/broken:") and "right.avi" in fault
    assert same(studio, alone, "a", "b") and clean(studio)
    row = rows(studio)["takes/a"]
    assert row["state"] == "done" and row["figures"]["tracked"] > 0.9 and len(row["worst"]) == 2  # type: ignore[index,arg-type]
    assert rows(studio)["takes/broken"]["state"] == "failed"
    page = (studio / "done" / "report.html").read_text("utf-8")
    assert page.count("<svg") == 2 and f"duocap view {studio}/done/takes/a/a.mcap --at" in page and "right.avi" in page
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "") and "https://" not in page

    os.utime(studio / "small.db")  # as caches are, whenever they are used
    assert "2 done, 0 of all run now, 1 failed" in run(capsys, studio).out
    assert "2 done, 1 of all run now, 1 failed" in run(capsys, studio, "--workers", 1, "--retry").out
    before = (studio / "done" / "takes" / "b" / DONE).stat().st_mtime_ns
    (studio / "takes" / "broken" / "right.avi").write_bytes((studio / "takes" / "a" / "right.avi").read_bytes())
    mended = run(capsys, studio)
    assert mended.status == 0 and "3 done, 1 of all run now, 0 failed" in mended.out
    assert same(studio, alone, "broken") and (studio / "done" / "takes" / "b" / DONE).stat().st_mtime_ns == before


@pytest.mark.usefixtures("hooked")
def test_a_take_that_ends_its_process_fails_alone(
    studio: Path, alone: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_CRASH", "takes/broken/timestamps.csv")
    result = run(capsys, studio, "--workers", 2)
    assert result.status == 1 and "2 done, 3 of all run now, 1 failed" in result.out
    assert "takes/broken: ended the process it ran in" in result.err
    assert same(studio, alone, "a", "b") and clean(studio)


@pytest.mark.usefixtures("hooked")
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit of a file's size")
def test_a_full_disk_is_one_line_and_leaves_nothing(
    studio: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_FULL", "6000")
    result = run(capsys, studio)
    assert result.status == 1 and "0 done, 3 of all run now, 3 failed" in result.out
    assert "file too large" in result.err.lower() and len(list_faults(result.err)) == 3
    assert clean(studio) and not list((studio / "done").rglob("*.bvh"))


@pytest.fixture
def cluster(kept: Kept) -> Cluster:
    """Return a scheduler."""
    return Cluster(kept)


def test_the_takes_of_a_killed_worker_are_sent_to_the_other(
    studio: Path, alone: Path, cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    (studio / "takes" / "broken" / "right.avi").write_bytes((studio / "takes" / "a" / "right.avi").read_bytes())
    workers = [cluster.worker(), cluster.worker()]
    cluster.wait(2)
    killer = kill_after(studio / "done", DONE, workers[0])  # by then both are at a take, or one at the last
    result = run(capsys, studio, "--scheduler", cluster.address, "--send")
    killer.join()
    assert result.status == 0 and "3 done, 3 of all run now, 0 failed" in result.out, result.err
    assert same(studio, alone, "a", "b", "broken") and clean(studio)


@pytest.mark.usefixtures("hooked")
def test_a_worker_without_the_data_is_told_and_the_others_do_it(
    studio: Path, alone: Path, cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.worker(TEST_BLIND="yes")
    cluster.wait(1)
    result = run(capsys, studio, "--scheduler", cluster.address)
    assert result.status == 1 and "does not see" in result.err and "share the folder" in result.err
    cluster.worker()
    cluster.wait(2)
    result = run(capsys, studio, "--scheduler", cluster.address, "--retry")
    assert "2 done, 3 of all run now, 1 failed" in result.out and "takes/broken:" in result.err
    assert same(studio, alone, "a", "b") and clean(studio)


def test_a_scheduler_that_dies_is_told_with_what_is_left(
    studio: Path, alone: Path, cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.worker()
    cluster.wait(1)
    killer = kill_after(studio / "done", DONE, cluster.scheduler)
    result = run(capsys, studio, "--scheduler", cluster.address)
    killer.join()
    n_left = 3 - sum(row["state"] == "done" for row in rows(studio).values())
    assert result.status == 1 and n_left > 0 and clean(studio)
    assert result.last.startswith(f"duocap: {n_left} of 3 tasks not run: {cluster.address}: the connection is lost")
    assert "2 done, " in run(capsys, studio).out and same(studio, alone, "a", "b")


def test_tls_keeps_strangers_out(studio: Path, kept: Kept, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keys = Security.temporary().get_tls_config_for_role("client")
    for name, text in (("ca", keys["ca_file"]), ("cert", keys["cert"]), ("key", keys["key"])):
        (tmp_path / f"{name}.pem").write_text(text, encoding="utf-8")
    words = [word for name in ("ca", "cert", "key") for word in (f"--tls-{name}", str(tmp_path / f"{name}.pem"))]
    dask = [word if word != "--tls-ca" else "--tls-ca-file" for word in words]
    cluster = Cluster(kept, keys=dask)
    cluster.worker()
    for name in ("a", "b"):  # that the worker is asked shows in the take that fails
        shutil.rmtree(studio / "takes" / name)
    result = run(capsys, studio, "--scheduler", cluster.address, *words)
    assert "0 done, 1 of all run now, 1 failed" in result.out, result.err
    stranger = run(capsys, studio, "--scheduler", cluster.address, "--retry")
    assert stranger.status == 1 and "needs keys: --tls-ca" in stranger.last


OTHER_VERSION = (
    "import distributed.versions as v; found = v.get_package_info; "
    "v.get_package_info = lambda pkgs: {**found(pkgs), 'distributed': '2024.1.0'}"
)


def test_who_cannot_work_is_told_in_a_line(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    def told(plan: WorkerPlan) -> str:
        with pytest.raises(ClusterError) as error, open_workers(plan):
            pass
        assert "\n" not in str(error.value)
        return str(error.value)

    assert "expected one such as tcp://host:8786" in told(WorkerPlan(scheduler="10.0.0.5"))
    assert "no scheduler answers" in told(WorkerPlan(scheduler=free_address()))
    other = Cluster(kept, OTHER_VERSION)
    assert "the scheduler has distributed 2024.1.0" in told(WorkerPlan(scheduler=other.address))
    assert "name all three" in told(WorkerPlan(scheduler=other.address, tls_ca=Path(__file__)))
    monkeypatch.setattr("tools.cluster.WORKERS_S", 0.5)
    assert "has no workers; start some" in told(WorkerPlan(scheduler=Cluster(kept).address))
    monkeypatch.setattr("tools.cluster.has_dask", lambda: False)
    assert 'pip install "duocap[cluster]"' in told(WorkerPlan(2))


def test_a_line_that_a_worker_sends_while_it_works_is_heard_by_who_asked() -> None:
    heard = list[str]()
    with open_workers(WorkerPlan(1)) as workers:
        workers.listen("mine", heard.append)
        for topic in ("another's", "mine"):
            workers.submit(topic, send_line, topic, f"{topic}: 120 of 853")
        assert [result for _, result in workers.results()] == [None, None]
        wait_until(lambda: heard)
    assert heard == ["mine: 120 of 853"]
