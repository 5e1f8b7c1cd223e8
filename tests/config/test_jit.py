"""Kernels: their cache on disk, when a file that a kernel calls into is edited and when there is no cache; their tests."""

import importlib.util
import os
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from numba.core import caching
from numba.core.compiler import Flags

from tests.support.repeated_tests import find_modules, find_tests

pytestmark = pytest.mark.kernels
SHAPES = """
from typing import NamedTuple
from config.jit import kernel

class {name}(NamedTuple):
    size: float

@kernel
def scaled(shape):
    return {factor} * shape.size
"""
CALLER = """
from config.jit import kernel
from shapes_of_test_jit import scaled

@kernel
def shifted(shape):
    return scaled(shape) + 1.0
"""


def loaded(folder: Path, name: str) -> ModuleType:
    """Import a module from a file."""
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_an_edited_callee_and_a_renamed_tuple_are_compiled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("shapes_of_test_jit", "caller_of_test_jit"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))  # forgotten afterwards
    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    (before / "shapes_of_test_jit.py").write_text(SHAPES.format(name="Square", factor=2.0), "utf-8")
    (before / "caller_of_test_jit.py").write_text(CALLER, "utf-8")
    square = loaded(before, "shapes_of_test_jit").Square(3.0)
    assert loaded(before, "caller_of_test_jit").shifted(square) == 7.0
    shutil.copytree(before, after)  # with the kernels compiled so far
    (after / "shapes_of_test_jit.py").write_text(SHAPES.format(name="Cube", factor=5.0), "utf-8")
    cube = loaded(after, "shapes_of_test_jit").Cube(3.0)
    assert loaded(after, "caller_of_test_jit").shifted(cube) == 16.0


@pytest.mark.parametrize("where", ["nowhere", "a folder that is gone", "a full disk"])
def test_kernels_are_compiled_without_a_cache(where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lonely_of_test_jit.py").write_text(
        "from config.jit import kernel\n\n@kernel\ndef doubled(x):\n    return 2 * x\n"
    )
    failed = []

    def fail(*arguments: object) -> None:
        failed.append(where)
        raise OSError(28, "No space left on device")

    if where == "nowhere":
        monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    module = loaded(tmp_path, "lonely_of_test_jit")
    if where == "a full disk":
        monkeypatch.setattr(caching.IndexDataCacheFile, "save", fail)
    elif where == "a folder that is gone":
        monkeypatch.setattr(caching.IndexDataCacheFile, "load", fail)
        monkeypatch.setattr(caching.IndexDataCacheFile, "save", fail)
    assert module.doubled(21) == 42
    assert bool(failed) == (where != "nowhere")


def test_flags_of_the_compiler_are_the_same_where_all_their_options_are() -> None:
    given: Any
    other: Any
    given, default, other = Flags(), Flags(), Flags()
    given.release_gil, other.release_gil = False, True  # False is the default
    assert given == default and hash(given) == hash(default)
    assert given != other and other != default and given != "flags"


def test_a_call_is_resolved_anew_for_other_types(tmp_path: Path) -> None:
    (tmp_path / "adding_of_test_jit.py").write_text(
        "from config.jit import kernel\n\n@kernel\ndef added(a, b):\n    return a + b + len((a, b))\n"
    )
    added = loaded(tmp_path, "adding_of_test_jit").added
    assert [added(1, 2), added(0.5, 2), added(1, 2j), added(1, 2)] == [5, 4.5, 3 + 2j, 5]


def test_a_kernel_is_compiled_once_for_all_values_of_an_integer(tmp_path: Path) -> None:
    (tmp_path / "counting_of_test_jit.py").write_text(
        "from config.jit import kernel\n\n@kernel\ndef next_to(n):\n    return n + 1\n\n"
        "@kernel\ndef counted(n):\n    return next_to(0) + next_to(1) + next_to(n) + next_to(n=2)\n"
    )
    module = loaded(tmp_path, "counting_of_test_jit")
    assert module.counted(5) == 12
    if os.environ.get("NUMBA_DISABLE_JIT") != "1":
        assert len(module.next_to.signatures) == 1


def test_every_kernel_has_a_test_that_also_runs_as_plain_python() -> None:
    modules = find_modules("kernels")
    assert modules and [str(module) for module in modules if not find_tests(module)] == []
