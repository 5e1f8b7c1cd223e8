"""Settings as the text of a file that gives the same settings again, every value written out."""

from dataclasses import fields
from typing import Any

import tomli_w

from config.cameras import CAMERAS
from config.loading import known_keys
from config.settings import Settings

HEAD = "# Every setting as it was. Give this file with --config to have the same again.\n\n"


def settings_text(settings: Settings) -> str:
    """Give all settings as TOML; what is otherwise for one camera stays in its own sections."""
    document: dict[str, Any] = {}
    for key in known_keys():
        section, _, name = key.partition(".")
        document.setdefault(section, {})[name] = getattr(getattr(settings, section), name)
    for side in CAMERAS:
        changes = getattr(settings, side)
        tables = {field.name: dict(value) for field in fields(changes) if isinstance(value := getattr(changes, field.name), dict)}
        if any(tables.values()):
            document[side] = {name: table for name, table in tables.items() if table}
    return HEAD + tomli_w.dumps(document)
