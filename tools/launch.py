"""The entry point of the `duocap` command: start safely, and turn every ending into an exit status.

Alone, before a screen, it opens the start page (`duocap start`).

0: done; 1: the input was at fault (one line on standard error); 2: wrong usage; 3: an internal fault; 130: Ctrl-C.
"""

import multiprocessing
import os
import sys
import traceback
from datetime import datetime
from importlib import import_module
from pathlib import Path

OWN = ("config", "numerics")  # packages with names that others may have, too


def main() -> None:
    """Run the command line and exit."""
    multiprocessing.freeze_support()
    for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(threads, "1")  # our matrices are small: more threads only wait for each other
    for package in OWN:
        shadow = find_foreign_package(package)
        if shadow is not None:
            hides = f"another package named '{package}' hides duocap's own"
            sys.exit(_print_error(f"{hides}: {shadow}; remove or rename it, or clear PYTHONPATH"))
    from config.errors import DuocapError
    from tools.cli import run_application

    try:
        run_application(["start"] if wants_start_page(sys.argv) else None)
    except DuocapError as error:
        sys.exit(_print_error(str(error)))
    except BrokenPipeError:
        # Whoever read our output has gone; say nothing more, also not when Python flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:  # noqa: BLE001 - the outermost frame: nothing may end in a bare traceback
        sys.exit(_report_internal_fault(error))


def wants_start_page(words: list[str]) -> bool:
    """Return whether `duocap` was called alone by somebody before a screen: he gets the start page, all others the help."""
    if len(words) > 1 or not sys.stdout.isatty():
        return False
    from tools.viewer import can_browse

    return can_browse()


def find_foreign_package(name: str) -> str | None:
    """Return the file of a package that has the name of one of ours but is another, None if all is well."""
    try:
        package = import_module(name)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a stranger's package may fail in any way while it is imported
        return f"{_find_package_file(name)} ({type(error).__name__} while importing it)"
    return None if getattr(package, "DUOCAP", False) else _find_package_file(name)


def _find_package_file(name: str) -> str:
    """Find the file that is found for a package."""
    from importlib.util import find_spec

    module = sys.modules.get(name)
    spec = getattr(module, "__spec__", None) if module is not None else find_spec(name)
    places = [spec.origin, *(spec.submodule_search_locations or ())] if spec is not None else []
    return next((str(place) for place in places if place), "an unknown place")


def _print_error(message: str) -> int:
    """Print one line for the user; give the exit status for faulty input."""
    print(f"duocap: {' '.join(message.split())}", file=sys.stderr)
    return 1


def _report_internal_fault(error: Exception) -> int:
    """Write the traceback to a file, tell the user where; return exit status 3."""
    if "--verbose" in sys.argv:
        traceback.print_exc()
    try:
        where = f"details: {_write_fault()}"
    except OSError:
        traceback.print_exc()
        where = "details above"
    first_line = " ".join(str(error).split()) or "no message"
    print(f"duocap: internal fault ({type(error).__name__}: {first_line}); this is a bug, {where}", file=sys.stderr)
    return 3


def _write_fault() -> Path:
    """Append the present traceback to the log file, or to the user's log folder, and give that file."""
    import platformdirs

    from config.logs import find_current_logs

    file = find_current_logs().file or Path(platformdirs.user_log_path("duocap", appauthor=False)) / "faults.log"
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as stream:
        stream.write(f"\n{datetime.now():%Y-%m-%d %H:%M:%S} {' '.join(sys.argv)}\n{traceback.format_exc()}")
    return file


if __name__ == "__main__":
    main()
