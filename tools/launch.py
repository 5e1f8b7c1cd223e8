"""The entry point of the `duocap` command: start safely, and turn every ending into an exit status.

0: done; 1: the input was at fault (one line on standard error); 2: wrong usage; 3: an internal fault; 130: Ctrl-C.
"""

import multiprocessing
import os
import sys
import traceback
from datetime import datetime
from pathlib import Path


def main() -> None:
    """Run the command line and exit."""
    multiprocessing.freeze_support()
    for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(threads, "1")  # our matrices are small: more threads only wait for each other
    shadow = foreign_config()
    if shadow is not None:
        sys.exit(_say(f"another package named 'config' hides duocap's own: {shadow}; remove or rename it, or clear PYTHONPATH"))
    from config.errors import DuocapError
    from tools.cli import run

    try:
        run()
    except DuocapError as error:
        sys.exit(_say(str(error)))
    except BrokenPipeError:
        # Whoever read our output has gone; say nothing more, also not when Python flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:  # noqa: BLE001 - the outermost frame: nothing may end in a bare traceback
        sys.exit(_internal_fault(error))


def foreign_config() -> str | None:
    """Name the file of a `config` that is not ours, None if all is well."""
    try:
        import config
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a stranger's config.py may fail in any way while it is imported
        return f"{_config_file()} ({type(error).__name__} while importing it)"
    if getattr(config, "DUOCAP", False):
        return None
    return _config_file()


def _config_file() -> str:
    """Find the file that `import config` finds."""
    from importlib.util import find_spec

    module = sys.modules.get("config")
    spec = getattr(module, "__spec__", None) if module is not None else find_spec("config")
    places = [spec.origin, *(spec.submodule_search_locations or ())] if spec is not None else []
    return next((str(place) for place in places if place), "an unknown place")


def _say(message: str) -> int:
    """Print one line for the user; give the exit status for faulty input."""
    print(f"duocap: {' '.join(message.split())}", file=sys.stderr)
    return 1


def _show_traceback_if_verbose() -> None:
    """Show where an error came from when details are wanted."""
    if "--verbose" in sys.argv:
        traceback.print_exc()


def _internal_fault(error: Exception) -> int:
    """Keep the traceback in a file, tell the user where; give exit status 3."""
    _show_traceback_if_verbose()
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

    from config.logs import current_logs

    file = current_logs().file or Path(platformdirs.user_log_path("duocap", appauthor=False)) / "faults.log"
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as stream:
        stream.write(f"\n{datetime.now():%Y-%m-%d %H:%M:%S} {' '.join(sys.argv)}\n{traceback.format_exc()}")
    return file


if __name__ == "__main__":
    main()
