"""ARCHITECTURE.md lists the modules that exist, each once, and says of them what they say of themselves."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("config", "database", "calibration", "capture", "reconstruct", "stream", "tools")


def test_every_module_is_listed_and_no_other() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    for folder in FOLDERS:
        section = text.partition(f"### {folder}/\n")[2].partition("\n### ")[0]
        listed = re.findall(r"^\| `([\w/]+\.py)` \|", section, re.MULTILINE)
        there = [f.relative_to(ROOT / folder).as_posix() for f in (ROOT / folder).rglob("*.py") if f.name != "__init__.py"]
        assert sorted(listed) == sorted(there), f"{folder}/ in ARCHITECTURE.md is out of date: python .ci/list_modules.py"


def test_the_lists_are_checked_without_writing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main = runpy.run_path(str(ROOT / ".ci" / "list_modules.py"))["main"]
    page = tmp_path / "ARCHITECTURE.md"
    page.write_text("# Above\n\n## Modules\n\nstale line\n", encoding="utf-8")
    assert main(["--check"], page) == 1
    assert "out of date" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--chekc"], page)
    assert page.read_text("utf-8").endswith("stale line\n")
    assert main([], page) == 0 and main(["--check"], page) == 0
    text = page.read_text("utf-8")
    assert text.startswith("# Above\n\n## Modules\n\n### config/") and "stale line" not in text
    assert main([], page) == 0 and page.read_text("utf-8") == text
