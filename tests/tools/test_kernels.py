"""Kernels of a command, compiled side by side: the list is of this code, and types survive being written."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import typeof, types

from config.signatures import import_named_object, plain_from_type, type_from_plain
from tools import kernels
from tools.kernels import compile_listed, read_kernel_list

pytestmark = pytest.mark.kernels


class Moved(NamedTuple):
    """A tuple with a name."""

    points: np.ndarray[Any, np.dtype[np.float32]]
    shift: float


def test_types_survive_being_written() -> None:
    still = np.zeros((2, 3), order="F")
    still.flags.writeable = False
    values = (1, 2.5, True, None, still, (still, 1), (1, 2), Moved(np.zeros(3, np.float32)[::2], 1.0), np.zeros(2, bool))
    kinds = [*(typeof(value) for value in values), types.Omitted(0.5), types.literal(3), types.uint8]
    assert [type_from_plain(plain_from_type(kind)) for kind in kinds] == kinds
    with pytest.raises(ValueError, match="cannot be written"):
        plain_from_type(types.unicode_type)


@pytest.mark.parametrize(("command", "least"), [("demo", 101), ("style pose", 12)])
def test_the_list_names_kernels_that_are_there_with_types_that_are_there(command: str, least: int) -> None:
    listed = read_kernel_list(command)
    assert len(listed) >= least and all(callee in listed for entry in listed.values() for callee in entry["calls"])
    for name, entry in listed.items():
        n_arguments = import_named_object(name).py_func.__code__.co_argcount
        assert entry["types"] and all(
            len([type_from_plain(one) for one in signature]) == n_arguments for signature in entry["types"]
        )


def test_a_kernel_waits_for_those_that_a_part_of_it_calls() -> None:
    synthesis = "reconstruct.models.style.synthesis"
    assert (
        f"{synthesis}.rows:_add_rows"
        in read_kernel_list("style pose")[f"{synthesis}.minimise:minimise_synthesis_energy"]["calls"]
    )


def test_every_kernel_is_compiled_once_and_after_those_it_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled, told = list[str](), list[tuple[int, int | None]]()

    class Here:
        """A pool of one worker, in this process."""

        def __init__(self, *given: object, **named: object) -> None: ...

        def __enter__(self) -> "Here":
            return self

        def __exit__(self, *error: object) -> None: ...

        def submit(self, work: object, name: str, signatures: Sequence[Any]) -> "kernels.Future[bool]":
            compiled.append(name)
            future: kernels.Future[bool] = kernels.Future()
            future.set_result(True)
            return future

    monkeypatch.setattr(kernels, "ProcessPoolExecutor", Here)
    listed = read_kernel_list("demo")
    compile_listed(listed, lambda done, total, words="": told.append((done, total)))
    assert sorted(compiled) == sorted(listed) and told[-1] == (len(listed), len(listed))
    assert all(compiled.index(callee) < compiled.index(name) for name in listed for callee in listed[name]["calls"])


@pytest.mark.slow
def test_what_is_compiled_in_processes_is_found_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.tools.test_launch import python

    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    name = "database.geometry.kinematics:_write_rotation_and_jacobian"
    compile_listed({name: {**read_kernel_list("demo")[name], "calls": []}}, lambda done, total, words="": None)
    code = f"""
from numba.core import event
from tools.kernels import compile_listed_kernel, read_kernel_list

class Compiled(event.Listener):
    n = 0

    def on_start(self, event):
        Compiled.n += 1

    def on_end(self, event):
        pass

event.register("numba:compile", Compiled())
print(compile_listed_kernel({name!r}, read_kernel_list("demo")[{name!r}]["types"]), Compiled.n)
"""
    assert python(code, tmp_path).stdout.splitlines()[-1] == "True 0"
