"""The database a command works with: the one named, or the built-in one."""

from pathlib import Path

from database.store import PoseDatabase, open_database


def open_or_default(path: Path | None) -> PoseDatabase:
    """Open a database, or the built-in one, which is made at first use. Raises DatabaseError."""
    if path is not None:
        return open_database(path)
    from database.default import default_database

    return default_database()
