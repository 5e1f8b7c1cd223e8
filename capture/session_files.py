"""Which files the folder of a recorded session has: session.toml, and left.mkv, left.2.mkv and so on, part after part."""

import re
from pathlib import Path

SESSION = "session.toml"
PART = re.compile(r"(?P<stem>left|right|take)(?:\.(?P<part>[2-9]|[1-9]\d{1,3}))?\.(?P<suffix>mkv|mcap)")


def is_session(path: Path) -> bool:
    """Tell whether a path is the folder of a session."""
    return (path / SESSION).is_file()


def parts_of(folder: Path, stem: str, suffix: str) -> list[Path]:
    """Give the files of a camera or take in their order. suffix: mkv or mcap."""
    found = {}
    for file in folder.iterdir():
        match = PART.fullmatch(file.name)
        if match and match["stem"] == stem and match["suffix"] == suffix:
            found[int(match["part"] or 1)] = file
    return [found[part] for part in sorted(found)]
