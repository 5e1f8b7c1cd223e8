"""Write config/defaults.toml from the dataclasses of config/settings.py and the comments beside their fields.

Run `python -m tools.defaults` in the source folder after changing a setting; a test compares the two.
"""

import inspect
import re
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

import tomli_w

from config import settings
from config.files import write_atomically

HEAD = """# Every setting of duocap with its default and its meaning.
#
# Copy what you want to change into a file of your own and give it with --config FILE,
# or change single values with --set section.key=value, such as --set detector.k_sigma=5.
# A key that does not exist and a value of another type are errors.
#
# Values for one camera only go into sections with the same keys that begin with its name, such as
# [left.detector] or --set right.camera.exposure=-6; cameras are left, right, third, fourth and so on to eighth.
"""
FIELD = re.compile(r"^    (\w+):[^#\n]*#\s*(.+)$", re.MULTILINE)


def format_defaults() -> str:
    """Return the text of defaults.toml; a field without a comment gets none."""
    blocks = [HEAD]
    for name, kind in get_type_hints(settings.Settings).items():
        if kind is settings.SideSettings or not is_dataclass(kind):  # the same keys again, and none of the user's
            continue
        blocks.append(f"# {inspect.cleandoc(kind.__doc__ or '').splitlines()[0]}\n[{name}]\n{_format_section(kind)}")
    return "\n".join(blocks)


def _format_section(kind: Any) -> str:
    """Return one section: a comment and an assignment for every field."""
    assert is_dataclass(kind)
    meaning, lines = read_meanings(kind), []
    for field in fields(kind):
        text = meaning.get(field.name, "")
        lines += [f"# {text[:1].upper()}{text[1:]}"] if text else []
        lines.append(
            tomli_w.dumps({field.name: list(field.default) if isinstance(field.default, tuple) else field.default}).strip()
        )
    return "\n".join(lines) + "\n"


def read_meanings(kind: Any) -> dict[str, str]:
    """Return the comment beside every field of a section that has one, by the field's name."""
    return dict(FIELD.findall(inspect.getsource(kind)))


if __name__ == "__main__":
    write_atomically(Path(settings.__file__).with_name("defaults.toml"), format_defaults())
