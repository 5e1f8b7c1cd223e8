"""Write config/kernels.json: the kernels of each command with the types of their arguments, as a start of it compiles them.

Run `python -m tools.kernel_list` in the source folder after changes of kernels (some minutes: everything is compiled anew). A
list that lacks some costs users time at the first start, nothing else.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Container, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

from config.files import write_atomically
from config.signatures import plain_from_type

FILE = Path(__file__).parents[1] / "config" / "kernels.json"
FOLDERS = ("numerics", "database", "calibration", "capture", "reconstruct")
ADDRESS = "tcp://127.0.0.1:5870"  # a stream beside that of a run on this machine
STYLE, POINTS, OUT = "made.style", "points.toml", "pose.csv"  # files in a folder for all commands
COMMANDS: dict[str, tuple[str, ...]] = {
    "demo": ("demo", "--headless", "--seconds", "8", "--set", f"stream.address={ADDRESS}", "--set", "stream.service="),
    "style pose": ("style", "pose", STYLE, "--constraints", POINTS, "--out", OUT),
}
CONSTRAINTS = """
[[point]]
joint = "leftHand"
position_m = [0.25, 1.0, 0.35]
[[point]]
joint = "leftFoot"
position_m = [0.1, 0.09, -0.2]
"""


def main() -> None:
    """Run each command with an empty cache and list the contents of the cache afterwards."""
    before = FILE.read_text("utf-8")
    FILE.write_text("{}\n", "utf-8")  # or those of the list would be compiled first, needed or not
    try:
        found = _run_commands()
    except BaseException:
        write_atomically(FILE, before)
        raise
    write_atomically(FILE, format_kernel_list(found))


def _run_commands() -> dict[str, dict[str, Any]]:
    """Return the kernels that the commands compile, with the commands of each."""
    found: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as files:
        (Path(files) / POINTS).write_text(CONSTRAINTS, "utf-8")
        subprocess.run(_build_command(("style", "train", "--builtin", "punches", "--out", STYLE)), cwd=files, check=True)
        for command, words in COMMANDS.items():
            for name, entry in list_compiled_kernels(words, files).items():
                known = found.setdefault(name, {"commands": [], "calls": entry["calls"], "types": []})
                known["commands"].append(command)
                known["types"] += [types for types in entry["types"] if types not in known["types"]]
    return found


def list_compiled_kernels(words: Sequence[str], files: str) -> dict[str, dict[str, Any]]:
    """Return the kernels that a command compiles where nothing is compiled yet; files: the folder it is run in."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder, "XDG_CACHE_HOME": folder}
        # A demo that a busy machine fails has compiled its kernels all the same; the tests know how many there are at least.
        subprocess.run(_build_command(words), cwd=files, env=environment, check=False)
        listing = [sys.executable, "-m", "tools.kernel_list", "--cached"]
        listed = subprocess.run(listing, env=environment, check=True, capture_output=True, text=True)
    found: dict[str, dict[str, Any]] = json.loads(listed.stdout)
    return found


def _build_command(words: Sequence[str]) -> list[str]:
    """Return a command line of duocap."""
    return [sys.executable, "-m", "tools.launch", *words]


def format_kernel_list(found: dict[str, dict[str, Any]]) -> str:
    """Return a kernel list as JSON text, one line per kernel, sorted by name."""
    lines = [f"{json.dumps(name)}: {json.dumps(found[name], sort_keys=True)}" for name in sorted(found)]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def find_cached_kernels() -> dict[str, dict[str, Any]]:
    """Return the kernels that numba's cache holds, with the types they were compiled for and the kernels they call."""
    found: dict[str, dict[str, Any]] = {}
    kernels = dict(_find_kernels())
    names = {dispatcher: name for name, dispatcher in kernels.items()}
    for name, dispatcher in kernels.items():
        types = []
        for signature, *_ in dispatcher._cache._cache_file._load_index():  # private: numba lists what is cached nowhere else
            try:
                types.append([plain_from_type(kind) for kind in signature])
            except ValueError as error:
                print(f"{name}: {error}", file=sys.stderr)
        if types:
            found[name] = {"calls": [], "types": sorted(types, key=json.dumps)}
    for name, entry in found.items():
        entry["calls"] = sorted(_find_callees(kernels[name], names, found) - {name})
    return found


def _find_callees(dispatcher: Any, names: Mapping[Any, str], found: Container[str]) -> set[str]:
    """Return the kernels that a kernel calls, also from what is a part of it: that is not compiled by itself."""
    function, called = dispatcher.py_func, set[str]()
    for one in (function.__globals__.get(word) for word in function.__code__.co_names):
        if _is_kernel(one) and one in names and one is not dispatcher:
            called |= {names[one]} if names[one] in found else _find_callees(one, names, found)
    return called


def _is_kernel(value: object) -> bool:
    """Return whether a value is a compiled kernel with a cache."""
    return hasattr(value, "source_files") and getattr(getattr(value, "stats", None), "cache_path", None) is not None


def _find_kernels() -> Iterator[tuple[str, Any]]:
    """Return all kernels by name."""
    for folder in FOLDERS:
        package = import_module(folder)
        for module in walk_packages(package.__path__, f"{folder}."):
            for value in vars(import_module(module.name)).values():
                if _is_kernel(value) and value.py_func.__module__ == module.name:
                    yield f"{module.name}:{value.py_func.__qualname__}", value


def run_kernel_list(words: Sequence[str]) -> None:
    """Print the cached kernels, or write the list."""
    if "--cached" in words:
        print(json.dumps(find_cached_kernels()))
    else:
        main()


if __name__ == "__main__":
    run_kernel_list(sys.argv[1:])
