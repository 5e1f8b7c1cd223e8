"""Write the module lists of ARCHITECTURE.md anew, from the first paragraph of every module's docstring.

`--check` writes nothing and ends with status 1 if they are out of date.
"""

import argparse
import ast
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("config", "database", "calibration", "capture", "reconstruct", "stream", "tools")
HEADING = "## Modules\n"


def first_paragraph(file: Path) -> str:
    """Give what a module says of itself, on one line."""
    text = ast.get_docstring(ast.parse(file.read_text("utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split()).rstrip(".").replace("|", "\\|")


def listing(folder: Path) -> str:
    """Give the section of one folder."""
    files = sorted(file for file in folder.rglob("*.py") if file.name != "__init__.py")
    rows = [f"| `{file.relative_to(folder).as_posix()}` | {first_paragraph(file)} |" for file in files]
    head = [f"### {folder.name}/", "", first_paragraph(folder / "__init__.py") + ".", "", "| module | what |", "|---|---|"]
    return "\n".join(head + rows)


def main(given: Sequence[str] | None = None, page: Path = ROOT / "ARCHITECTURE.md") -> int:
    """Replace everything below the heading, or with --check say whether that would change anything."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; status 1 if the lists are out of date")
    check = parser.parse_args(given).check
    before = page.read_text("utf-8")
    sections = "\n\n".join(listing(ROOT / folder) for folder in FOLDERS)
    after = f"{before.partition(HEADING)[0]}{HEADING}\n{sections}\n"
    if check and after != before:
        print(f"{page.name} is out of date: python .ci/list_modules.py", file=sys.stderr)
    elif after != before:
        page.write_text(after, "utf-8", newline="\n")
    return int(check and after != before)


if __name__ == "__main__":
    sys.exit(main())
