"""Logs on standard error for a person, and with all details in a file on request.

A line reads `18:04:31.250 left-camera capture.video: opened ...`. Every process of a run calls `start_logs` with the
`LogSettings` of its parent, since a spawned process inherits none, and with its own name.
"""

import logging
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from config.errors import SettingsError, describe_reason

# Other libraries stay at warnings: numba alone writes thousands of lines at DEBUG.
PACKAGES = ("config", "numerics", "database", "calibration", "capture", "reconstruct", "stream", "tools")
FORMAT = "%(asctime)s.%(msecs)03d %(process_name)s%(name)s: %(message)s"


@dataclass(frozen=True, slots=True)
class LogSettings:
    """Where logs go: `verbose` shows details on standard error; `file` receives them all."""

    verbose: bool = False
    file: Path | None = None


class _StderrHandler(logging.StreamHandler[TextIO]):
    """Write to the current sys.stderr, which a progress display replaces while it draws."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> TextIO:  # type: ignore[override]
        """The current standard error."""
        return sys.stderr


class _Formatter(logging.Formatter):
    """Add the process's name to each line, and the level to warnings and errors."""

    def __init__(self, process: str) -> None:
        super().__init__(FORMAT, "%H:%M:%S")
        self._process = f"{process} " if process else ""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line, with the traceback if there is one."""
        record.process_name = self._process + (f"{record.levelname} " if record.levelno >= logging.WARNING else "")
        return super().format(record)


_current = LogSettings()


def find_current_logs() -> LogSettings:
    """Return the settings of the last `start_logs` of this process, for its child processes."""
    return _current


def start_logs(logs: LogSettings, process: str = "") -> None:
    """Send this process's logs where `logs` says; a second call replaces the handlers of the first.

    process: a name for every line, such as "left-camera"; empty for the command itself.
    Raises SettingsError: the log file cannot be written.
    """
    global _current
    handlers: list[logging.Handler] = [_StderrHandler()]
    handlers[0].setLevel(logging.DEBUG if logs.verbose else logging.INFO)
    if logs.file is not None:
        handlers.append(_open_log_file(logs.file))
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


def _open_log_file(file: Path) -> logging.Handler:
    """Open a log file for appending; several processes share it, one line a write."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        return logging.FileHandler(file, encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"{file}: cannot write the log ({describe_reason(error)}); choose another --log FILE") from error
