"""ARCHITECTURE.md lists the modules that exist, each once."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("config", "database", "calibration", "capture", "reconstruct", "stream", "tools")


def test_every_module_is_listed_and_no_other() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    for folder in FOLDERS:
        section = text.partition(f"### {folder}/\n")[2].partition("\n### ")[0]
        listed = re.findall(r"^\| `([\w/]+\.py)` \|", section, re.MULTILINE)
        there = [f.relative_to(ROOT / folder).as_posix() for f in (ROOT / folder).rglob("*.py") if f.name != "__init__.py"]
        assert sorted(listed) == sorted(there), f"{folder}/ in ARCHITECTURE.md is out of date: python .ci/list_modules.py"
