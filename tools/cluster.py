"""Work shared among processes of this machine, or of a cluster: Dask's `distributed` behind a small face (extra duocap[cluster]).

Nothing of Dask is imported before it is wanted. What travels is a function of this program, by its name, and its arguments.
"""

import asyncio
import contextlib
import logging
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import psutil

from config.errors import DuocapError
from stream.protocol.report import list_versions

if TYPE_CHECKING:
    from distributed import Client
    from distributed.security import Security

NEED_BYTES: Final = 1_500_000_000  # of a worker that replays with a database of hundreds of thousands of poses
ANSWER_S: Final = 10.0  # until a scheduler that is there has answered
WORKERS_S: Final = 60.0  # until its first worker is there
ADDRESS: Final = re.compile(r"(tcp|tls)://[^/\s]+:\d+")
SAME: Final = ("duocap", "numpy", "scipy", "numba", "opencv-python")  # what results depend on
LOCAL: Final[dict[str, Any]] = {
    "distributed.scheduler.allowed-failures": 1,  # who crashes a second worker is not tried again
    "distributed.scheduler.worker-saturation": 1.0,  # so that a crash is blamed on what ran, not on what waited
    "distributed.worker.daemon": False,
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.worker.memory.target": False,  # nothing large lies in a worker that could be spilled,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,  # and one that is paused would never go on
    "distributed.worker.memory.terminate": 0.95,
}


class ClusterError(DuocapError):
    """There is nobody to work: no Dask, no scheduler, no worker, or ones of another version."""


class LostError(ClusterError):
    """The scheduler has gone while there was work."""


class CrashedError(DuocapError):
    """A call ended the process it ran in."""


@dataclass(frozen=True, slots=True)
class WorkerPlan:
    """Who works.

    Attributes:
        count: processes on this machine, None: as many as it has cores and memory for.
        scheduler: address of a cluster's instead, such as tcp://host:8786.
        tls_ca, tls_cert, tls_key: files for tls://, by default as Dask is configured.
    """

    count: int | None = None
    scheduler: str = ""
    tls_ca: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None

    @property
    def is_serial(self) -> bool:
        """Whether one process of this machine does all."""
        return not self.scheduler and self.count == 1


ALONE: Final = WorkerPlan(1)


def has_dask() -> bool:
    """Return whether the extra is installed."""
    return find_spec("distributed") is not None


def count_fitting_workers() -> int:
    """Return how many workers there are cores and free memory for, also in a container with less than its machine; at least one.

    Raises ClusterError.
    """
    check_dask()
    from dask.system import CPU_COUNT
    from distributed.system import MEMORY_LIMIT

    return max(1, min(int(CPU_COUNT), min(psutil.virtual_memory().available, int(MEMORY_LIMIT)) // NEED_BYTES))


def check_dask() -> None:
    """Raise ClusterError where the extra is not installed."""
    if not has_dask():
        raise ClusterError('shared work needs Dask: pip install "duocap[cluster]"')


def list_own_versions() -> dict[str, str]:
    """Return the versions of this process that results depend on; runs on workers, too."""
    found = list_versions()
    return {name: found[name] for name in SAME}


class Workers:
    """Processes that take calls, one each at a time; made by `open_workers`."""

    def __init__(self, client: "Client", plan: WorkerPlan) -> None:
        self._client, self._plan = client, plan
        self._waiting: Any = None
        self._calls: dict[Any, tuple[object, Callable[..., Any], tuple[Any, ...]]] = {}

    def addresses(self) -> list[str]:
        """Return the addresses of the workers that are there now."""
        return sorted(self._client.has_what())

    def submit(self, key: object, call: Callable[..., Any], *arguments: Any, only: Sequence[str] = ()) -> None:
        """Have a function of this program called on any worker, or preferably on those named; `results` returns its result.

        Args:
            key: returned with the result.
            call: a function of this program.
            only: addresses of workers.
        """
        from distributed import as_completed

        on = {"workers": list(only), "allow_other_workers": True} if only else {}
        future = self._client.submit(call, *arguments, pure=False, **on)
        self._calls[future] = (key, call, arguments)
        self._waiting = self._waiting or as_completed(loop=self._client.loop)
        self._waiting.add(future)

    def results(self) -> Iterator[tuple[object, Any]]:
        """Return key and result, or exception, of each call as it ends, until none is left; more may be submitted meanwhile.

        On a cluster a call may be blamed for its neighbour's crash; so who is blamed is tried once more when nothing else runs.
        Raises LostError.
        """
        suspects: list[tuple[object, Callable[..., Any], tuple[Any, ...]]] = []
        alone = False
        while self._waiting is not None and (self._calls or suspects):
            if not self._calls:
                alone = True
                self.submit(suspects[0][0], suspects[0][1], *suspects.pop(0)[2])
            future = next(self._waiting)
            key, call, arguments = self._calls.pop(future)
            result = self._result(future)
            future.release()
            if isinstance(result, CrashedError) and self._plan.scheduler and not alone:
                suspects.append((key, call, arguments))
                continue
            yield key, result

    def _result(self, future: Any) -> Any:
        """Return what a call returned or raised."""
        from distributed import KilledWorker
        from distributed.client import CancelledError

        try:
            return future.result()
        except KilledWorker:
            return CrashedError("ended the process it ran in, on every try: a crash, or out of memory")
        except CancelledError as error:
            raise self._lost() from error
        except Exception as error:
            if isinstance(error, OSError) and future.status != "error":  # the result could not be fetched
                raise self._lost() from error
            return error

    def _lost(self) -> LostError:
        """Return what to raise when the scheduler has gone."""
        return LostError(f"{self._plan.scheduler or 'the workers'}: the connection is lost; start again, the rest follows")

    def tell(self, address: str, call: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function on one worker at once, beside its running task."""
        return self._client.run(call, *arguments, workers=[address])[address]

    def listen(self, topic: str, hear: Callable[[str], None]) -> None:
        """Have a function called, in another thread, with each line that the workers send.

        Args:
            topic: as in `send_line`; on a cluster no other batch's.
            hear: receives the lines.
        """
        self._client.subscribe_topic(topic, lambda event: hear(str(event[1])))

    def cancel(self) -> None:
        """Drop the calls that have not ended."""
        self._client.cancel(list(self._calls), force=True)
        self._calls.clear()


@contextmanager
def open_workers(plan: WorkerPlan) -> Iterator[Workers]:
    """Open workers while the block runs. Raises ClusterError."""
    check_dask()
    import dask
    import distributed  # sets the levels of its logs

    for name in (distributed.__name__, "tornado", *logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("distributed", "tornado"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
    config = {} if plan.scheduler else LOCAL
    with dask.config.set(config), _connect_to_scheduler(plan) if plan.scheduler else _start_local_workers(plan) as client:
        workers = Workers(client, plan)
        try:
            yield workers
        finally:
            workers.cancel()


@contextmanager
def _start_local_workers(plan: WorkerPlan) -> Iterator["Client"]:
    """Start processes on this machine; they talk by TLS with keys made for this run, so that nobody else gives them work."""
    from distributed import Client, LocalCluster
    from distributed.system import MEMORY_LIMIT

    count = plan.count or count_fitting_workers()
    with (
        LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            security=True,
            dashboard_address="127.0.0.1:0",
            memory_limit=MEMORY_LIMIT // count,
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@contextmanager
def _connect_to_scheduler(plan: WorkerPlan) -> Iterator["Client"]:
    """Connect to a scheduler; its workers have to be of this version. Raises ClusterError."""
    from distributed import Client

    if not ADDRESS.fullmatch(plan.scheduler):
        raise ClusterError(f"{plan.scheduler}: no address of a scheduler; expected one such as tcp://host:8786")
    keys = _load_security(plan)
    try:
        asyncio.run(asyncio.wait_for(_request_identity(plan.scheduler, keys), ANSWER_S))  # a client that finds none ends badly
    except Exception as error:
        raise ClusterError(
            f"{plan.scheduler}: no scheduler answers there; start one (dask scheduler) or check address, TLS, firewall, version"
        ) from error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # other versions are told below
        client = Client(plan.scheduler, timeout=ANSWER_S, security=keys, set_as_default=False)
    with client:
        _check_scheduler(client, plan.scheduler)
        try:
            client.wait_for_workers(1, timeout=WORKERS_S)
        except TimeoutError as error:
            raise ClusterError(
                f"{plan.scheduler}: has no workers; start some: dask worker {plan.scheduler} --nthreads 1 --nworkers 4"
            ) from error
        _check_workers(client)
        yield client


async def _request_identity(address: str, keys: "Security") -> Any:
    """Return what a scheduler says of itself. Raises OSError, or whatever comes of talking to something else."""
    from distributed.core import rpc

    async with rpc(address, timeout=ANSWER_S, connection_args=keys.get_connection_args("client")) as scheduler:
        return await scheduler.identity()


def _load_security(plan: WorkerPlan) -> "Security":
    """Return the keys that are named, else as Dask is configured. Raises ClusterError."""
    from distributed.security import Security

    files = (plan.tls_ca, plan.tls_cert, plan.tls_key)
    if not any(files):
        known = Security()
        if plan.scheduler.startswith("tls://") and known.get_connection_args("client")["ssl_context"] is None:
            raise ClusterError(f"{plan.scheduler}: needs keys: --tls-ca, --tls-cert and --tls-key, or Dask's configuration")
        return known
    for file in files:
        if file is None or not file.is_file():
            raise ClusterError(f"TLS: {file or 'a file'} is missing; name all three: --tls-ca, --tls-cert and --tls-key")
    ca, cert, key = map(str, files)
    return Security(tls_ca_file=ca, tls_client_cert=cert, tls_client_key=key, require_encryption=True)


def _check_scheduler(client: "Client", address: str) -> None:
    """Raise ClusterError for a scheduler of another version of Dask or Python."""
    found = client.get_versions(check=False)
    theirs, ours = found["scheduler"], found["client"]
    if theirs is None:
        raise ClusterError(f"{address}: does not tell its version; install the same version of duocap[cluster] everywhere")
    for name, digits in (("distributed", 3), ("python", 2)):
        there, here = (".".join(side["packages"][name].split(".")[:digits]) for side in (theirs, ours))
        if there != here:
            raise ClusterError(
                f"{address}: the scheduler has {name} {there}, this machine {here}; install the same version everywhere"
            )


def _check_workers(client: "Client") -> None:
    """Raise ClusterError for a worker without duocap, or of versions that give other results."""
    ours = list_own_versions()
    for address, theirs in client.run(list_own_versions, on_error="return").items():
        if isinstance(theirs, OSError):
            continue  # it has just gone
        if isinstance(theirs, Exception):
            raise ClusterError(f"worker {address}: cannot run duocap ({theirs}); install duocap[cluster] of this version there")
        other = [name for name in SAME if theirs[name] != ours[name]]
        if other:
            raise ClusterError(
                f"worker {address}: has {other[0]} {theirs[other[0]]}, this machine {ours[other[0]]}; results would differ, "
                "install the same versions everywhere"
            )


def find_worker_address() -> str:
    """Return the address of the worker that runs this, or "here"."""
    if not has_dask():
        return "here"
    from distributed import get_worker

    try:
        return str(get_worker().address)
    except ValueError:
        return "here"


def send_line(topic: str, line: str) -> None:
    """Send a line to who listens to this worker; without a worker it is dropped.

    Args:
        topic: as in `Workers.listen`.
        line: the line.
    """
    from distributed import get_worker

    with contextlib.suppress(ValueError):
        get_worker().log_event(topic, line)
