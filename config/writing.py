"""Settings as the text of a file that gives the same settings again, every value written out."""

import tomli_w

from config.loading import settings_table
from config.settings import Settings

HEAD = "# Every setting as it was. Give this file with --config to have the same again.\n\n"


def settings_text(settings: Settings) -> str:
    """Give all settings as TOML; what is otherwise for one camera stays in its own sections."""
    return HEAD + tomli_w.dumps(settings_table(settings))
