"""The root of every error a user can cause.

A message says what happened, what was expected and what came, and what to do next. The command line prints it as one
line and exits with status 1; anything that is not a `DuocapError` is an internal fault and exits with 3.
"""


class DuocapError(Exception):
    """A fault in the input; the message is meant for the user."""


def describe_reason(error: Exception) -> str:
    """Return why a file could not be read or written, as a phrase for a message."""
    if isinstance(error, FileNotFoundError):
        return "no such file or folder"
    if isinstance(error, UnicodeDecodeError):
        return "not UTF-8 text"
    message = error.strerror if isinstance(error, OSError) else str(error)
    return (message or type(error).__name__).lower()


class SettingsError(DuocapError):
    """A settings file or a `--set` names an unknown key or holds a value of the wrong kind."""


class FileFormatError(DuocapError):
    """A file is not what it should be, or cannot be written; the message holds the file and, for text, the line."""


class CalibrationError(DuocapError):
    """A rig, a marker set or a T-pose does not fit what the cameras see."""


class SourceError(DuocapError):
    """A camera or a video cannot be opened or read."""


class DatabaseError(DuocapError):
    """A motion database is missing, empty, damaged, of another version, or cannot be written."""
