"""Compile the kernels of a command side by side before it needs them, where numba's cache lacks them.

A command would compile them by itself, one after the other and some in two processes at once. Which kernels, and for what types
of arguments, is listed in config/kernels.json, written by `python -m tools.kernel_list`. A list that is not up to date costs
time, nothing else.
"""

import gc
import hashlib
import json
import logging
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from importlib import resources
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tools.progress import ProgressState, open_progress_bar
from tools.run.child_start import limit_threads

log = logging.getLogger(__name__)

MAX_WORKERS = 8
LIST = "kernels.json"


def read_kernel_list(command: str) -> dict[str, dict[str, Any]]:
    """Return the kernels of a command: by name, `types` of the arguments of each signature, and the kernels it `calls`."""
    content = json.loads(resources.files("config").joinpath(LIST).read_text("utf-8"))
    return {name: entry for name, entry in content.items() if command in entry["commands"]}


def compile_kernels(command: str, without: Sequence[str] = ()) -> None:
    """Compile the kernels of a command, with a progress bar, unless this was done before.

    If it fails, kernels are compiled when the command calls them. without: prefixes of the names of kernels that are not needed.
    """
    listed = {name: entry for name, entry in read_kernel_list(command).items() if not name.startswith(tuple(without) or "\n")}
    mark = _find_mark_file(listed)
    if not listed or mark is None or mark.exists() or os.environ.get("NUMBA_DISABLE_JIT") == "1":
        return
    try:
        with limit_threads(), open_progress_bar("compiling, once after an installation") as progress:
            compile_listed(listed, progress)
        mark.touch()
    except (OSError, BrokenProcessPool) as error:
        log.debug("kernels are compiled when they are needed: %s", error)


def compile_listed(listed: Mapping[str, Mapping[str, Any]], progress: ProgressState) -> None:
    """Compile kernels in processes, each after those that it calls; those first that the longest chains of callers wait for."""
    order = sorted(listed, key=lambda name: -_compute_chain_work(name, listed))
    waiting = {name: {callee for callee in listed[name]["calls"] if callee in listed} for name in order}
    running: dict[Future[bool], str] = {}
    n_workers = max(1, min(os.cpu_count() or 1, MAX_WORKERS))
    with ProcessPoolExecutor(n_workers, mp_context=get_context("spawn"), initializer=_initialize_worker) as pool:
        try:
            while waiting or running:
                # No more than are at work and one to go on with: what a chain waits for would stand behind all that nothing does.
                ready = (name for name in order if not waiting.get(name, True))
                for name in list(islice(ready, n_workers + 1 - len(running))):
                    running[pool.submit(compile_listed_kernel, name, listed[name]["types"])] = name
                    del waiting[name]
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                compiled = {running.pop(future) for future in done}
                for callees in waiting.values():
                    callees.difference_update(compiled)
                for future in done:
                    future.result()
                progress(len(listed) - len(waiting) - len(running), len(listed))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _find_all_callees(name: str, listed: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """Return the kernels that a kernel calls and those that they call; all are optimised once more as parts of it."""
    callees = {callee for callee in listed[name]["calls"] if callee in listed and callee != name}
    return callees.union(*(_find_all_callees(callee, listed) for callee in callees))


def _compute_chain_work(name: str, listed: Mapping[str, Mapping[str, Any]]) -> int:
    """Return how much there is to compile in the longest chain of callers from a kernel up, itself included."""
    callers = [caller for caller, entry in listed.items() if name in entry["calls"] and caller != name]
    return 1 + len(_find_all_callees(name, listed)) + max((_compute_chain_work(caller, listed) for caller in callers), default=0)


def _initialize_worker() -> None:
    """Leave Ctrl-C to the process that started this one, and collect no garbage: it is 8 % of all compiling.

    All kernels of the demo together leave 1.1 GB then, shared by the workers, where they would leave 0.6.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()


def compile_listed_kernel(name: str, signatures: Sequence[Sequence[Any]]) -> bool:
    """Compile one kernel for all its signatures; return whether that succeeded."""
    from config.signatures import import_named_object, type_from_plain

    try:
        dispatcher = import_named_object(name)
        for signature in signatures:
            dispatcher.compile(tuple(type_from_plain(plain) for plain in signature))
    except Exception as error:  # noqa: BLE001 - whatever is wrong with the list, the command compiles what it needs itself
        log.debug("%s is compiled when it is needed: %s", name, error)
        return False
    return True


def _find_mark_file(listed: Mapping[str, Any]) -> Path | None:
    """Return the file that says that these kernels are in the cache, None where there is no cache.

    It lies in the cache, so that both go together, and its name follows from the content of the kernels' files.
    """
    from importlib.util import find_spec

    import numba

    from database.geometry.kinematics import _write_rotation_and_jacobian as any_kernel

    folder = getattr(getattr(any_kernel, "stats", None), "cache_path", None)
    if folder is None:
        return None
    digest = hashlib.blake2b(f"{numba.__version__} {sys.version} {json.dumps(listed)}".encode(), digest_size=8)
    for module in sorted({name.partition(":")[0] for name in listed}):
        spec = find_spec(module)
        if spec is not None and spec.origin is not None:
            digest.update(Path(spec.origin).read_bytes())
    return Path(folder) / f"duocap-{digest.hexdigest()}.compiled"
