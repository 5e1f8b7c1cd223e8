"""Kernels: their cache on disk, when a file that a kernel calls into is edited and when there is no cache; their tests."""

import importlib.util
import os
import shutil
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numba
import pytest

from config import jit
from tests.support.repeated_tests import find_modules, find_tests

pytestmark = pytest.mark.kernels
SHAPES = """
from typing import NamedTuple
from config.jit import kernel

OFFSET = {offset}

class {name}(NamedTuple):
    size: float

@kernel
def scaled(shape):
    return {factor} * shape.size
"""
CALLER = """
from config.jit import kernel
from shapes_of_test_jit import OFFSET, scaled

@kernel
def shifted(shape):
    return scaled(shape) + 1.0

@kernel
def moved(x):
    return x + OFFSET

@kernel
def moved_twice(x):
    return moved(x) + 0.5
"""


def loaded(folder: Path, name: str) -> ModuleType:
    """Import a module from a file."""
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_edited_callees_and_constants_and_renamed_tuples_compile_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("shapes_of_test_jit", "caller_of_test_jit"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))  # forgotten afterwards
    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    (before / "shapes_of_test_jit.py").write_text(SHAPES.format(name="Square", factor=2.0, offset=1.0), "utf-8")
    (before / "caller_of_test_jit.py").write_text(CALLER, "utf-8")
    square = loaded(before, "shapes_of_test_jit").Square(3.0)
    caller = loaded(before, "caller_of_test_jit")
    assert (caller.shifted(square), caller.moved_twice(0.5)) == (7.0, 2.0)
    shutil.copytree(before, after)  # with the kernels compiled so far
    (after / "shapes_of_test_jit.py").write_text(SHAPES.format(name="Cube", factor=5.0, offset=4.0), "utf-8")
    cube = loaded(after, "shapes_of_test_jit").Cube(3.0)
    caller = loaded(after, "caller_of_test_jit")
    assert (caller.shifted(cube), caller.moved_twice(0.5)) == (16.0, 5.0)


@pytest.mark.parametrize("where", ["nowhere", "a folder that is gone", "a full disk"])
def test_kernels_are_compiled_without_a_cache(where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lonely_of_test_jit.py").write_text(
        "from config.jit import kernel\n\n@kernel\ndef doubled(x):\n    return 2 * x\n"
    )
    folder = tmp_path / "__pycache__"
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    if where == "nowhere":
        folder.write_text("no folder", "utf-8")
        monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
    if where == "a full disk":
        monkeypatch.setattr(jit, "disk_usage", lambda path: SimpleNamespace(free=0))
    doubled = loaded(tmp_path, "lonely_of_test_jit").doubled
    if where == "a folder that is gone":
        shutil.rmtree(folder)
    assert doubled(21) == 42
    if os.environ.get("NUMBA_DISABLE_JIT") != "1":
        assert doubled.stats.cache_path == (str(folder) if where == "a folder that is gone" else None)


def test_every_kernel_has_a_test_that_also_runs_as_plain_python() -> None:
    modules = find_modules("kernels")
    assert modules and [str(module) for module in modules if not find_tests(module)] == []
