"""Logs that a person can follow: on standard error, and with everything in a file if one is wanted.

A line reads `18:04:31.250 left-camera capture.video: opened ...`. Every process of a run starts its own logs with the
`LogSettings` of its parent (a spawned process inherits none) and its own name.
"""

import logging
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from config.errors import SettingsError, reason

# Other libraries keep to warnings: numba alone writes thousands of lines at DEBUG.
PACKAGES = ("config", "database", "calibration", "capture", "reconstruct", "stream", "tools")
FORMAT = "%(asctime)s.%(msecs)03d %(process_name)s%(name)s: %(message)s"


@dataclass(frozen=True, slots=True)
class LogSettings:
    """Where logs go: `verbose` shows details on standard error; `file` receives them all."""

    verbose: bool = False
    file: Path | None = None


class _StderrHandler(logging.StreamHandler[TextIO]):
    """Write to whatever sys.stderr is at the moment: a progress display replaces it while it draws."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> TextIO:  # type: ignore[override]
        """The present standard error."""
        return sys.stderr


class _Formatter(logging.Formatter):
    """Put the process's name into each line; mark warnings and errors."""

    def __init__(self, process: str) -> None:
        super().__init__(FORMAT, "%H:%M:%S")
        self._process = f"{process} " if process else ""

    def format(self, record: logging.LogRecord) -> str:
        """Give one line (and the traceback, if there is one)."""
        record.process_name = self._process + (f"{record.levelname} " if record.levelno >= logging.WARNING else "")
        return super().format(record)


_current = LogSettings()


def current_logs() -> LogSettings:
    """Give what the last `start_logs` of this process set, to hand on to a child process."""
    return _current


def start_logs(logs: LogSettings, process: str = "") -> None:
    """Send this process's logs where `logs` says; calling again replaces the former handlers.

    process: a name for every line, such as "left-camera"; empty for the command itself.
    Raises SettingsError: the log file cannot be written.
    """
    global _current
    handlers: list[logging.Handler] = [_StderrHandler()]
    handlers[0].setLevel(logging.DEBUG if logs.verbose else logging.INFO)
    if logs.file is not None:
        handlers.append(_file_handler(logs.file))
    root = logging.getLogger()
    for handler in [h for h in root.handlers if getattr(h, "from_duocap", False)]:
        root.removeHandler(handler)
        handler.close()
    for handler in handlers:
        handler.from_duocap = True  # type: ignore[attr-defined]
        handler.setFormatter(_Formatter(process))
        root.addHandler(handler)
    for package in PACKAGES:
        logging.getLogger(package).setLevel(logging.DEBUG)
    _current = logs


def _file_handler(file: Path) -> logging.Handler:
    """Open a log file to append to: several processes share it, one line a write."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        return logging.FileHandler(file, encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"{file}: cannot write the log ({reason(error)}); choose another --log FILE") from error
