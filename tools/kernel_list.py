"""Write config/kernels.json: the kernels of each command with the types of their arguments, as a start of it compiles them.

Run `python -m tools.kernel_list` in the source folder after changes of kernels (some minutes: everything is compiled anew). A
list that lacks some costs users time at the first start, nothing else.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

from config.files import atomic_write
from config.signatures import plain_type

FILE = Path(__file__).parents[1] / "config" / "kernels.json"
FOLDERS = ("database", "calibration", "capture", "reconstruct")
COMMANDS: dict[str, tuple[str, ...]] = {"demo": ("demo", "--headless", "--seconds", "8")}


def main() -> None:
    """Run each command with an empty cache and list what is in the cache afterwards."""
    found: dict[str, dict[str, Any]] = {}
    FILE.write_text("{}\n", "utf-8")  # or those of the list would be compiled first, needed or not
    for command, words in COMMANDS.items():
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "NUMBA_CACHE_DIR": folder, "XDG_CACHE_HOME": folder}
            subprocess.run([sys.executable, "-m", "tools.launch", *words], env=environment, check=True)
            listing = [sys.executable, "-m", "tools.kernel_list", "--cached"]
            listed = subprocess.run(listing, env=environment, check=True, capture_output=True, text=True)
        for name, entry in json.loads(listed.stdout).items():
            known = found.setdefault(name, {"commands": [], "calls": entry["calls"], "types": []})
            known["commands"].append(command)
            known["types"] += [types for types in entry["types"] if types not in known["types"]]
    atomic_write(FILE, listing_text(found))


def listing_text(found: dict[str, dict[str, Any]]) -> str:
    """Return the file's text, a line an entry."""
    lines = [f"{json.dumps(name)}: {json.dumps(found[name], sort_keys=True)}" for name in sorted(found)]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def cached_kernels() -> dict[str, dict[str, Any]]:
    """Return the kernels that numba's cache holds, with the types they were compiled for and the kernels they call."""
    found: dict[str, dict[str, Any]] = {}
    kernels = dict(_kernels())
    names = {dispatcher: name for name, dispatcher in kernels.items()}
    for name, dispatcher in kernels.items():
        types = []
        for signature, *_ in dispatcher._cache._cache_file._load_index():
            try:
                types.append([plain_type(kind) for kind in signature])
            except ValueError as error:
                print(f"{name}: {error}", file=sys.stderr)
        function = dispatcher.py_func
        called = [function.__globals__.get(word) for word in function.__code__.co_names]
        if types:
            calls = sorted({names[one] for one in called if _is_kernel(one) and one in names and one is not dispatcher})
            found[name] = {"calls": calls, "types": sorted(types, key=json.dumps)}
    for entry in found.values():  # one that is a part of its callers is not compiled by itself
        entry["calls"] = [name for name in entry["calls"] if name in found]
    return found


def _is_kernel(value: object) -> bool:
    """Return whether a value is a compiled kernel with a cache."""
    return hasattr(value, "source_files") and hasattr(getattr(value, "_cache", None), "_cache_file")


def _kernels() -> Iterator[tuple[str, Any]]:
    """Return all kernels by name."""
    for folder in FOLDERS:
        package = import_module(folder)
        for module in walk_packages(package.__path__, f"{folder}."):
            for value in vars(import_module(module.name)).values():
                if _is_kernel(value) and value.py_func.__module__ == module.name:
                    yield f"{module.name}:{value.py_func.__qualname__}", value


def run(words: Sequence[str]) -> None:
    """Print what is cached, or write the list."""
    if "--cached" in words:
        print(json.dumps(cached_kernels()))
    else:
        main()


if __name__ == "__main__":
    run(sys.argv[1:])
