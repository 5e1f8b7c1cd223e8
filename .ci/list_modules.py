"""Write the module lists of ARCHITECTURE.md anew, from the first paragraph of every module's docstring."""

import ast
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


def main() -> None:
    """Replace everything below the heading."""
    page = ROOT / "ARCHITECTURE.md"
    above = page.read_text("utf-8").partition(HEADING)[0]
    sections = "\n\n".join(listing(ROOT / folder) for folder in FOLDERS)
    page.write_text(f"{above}{HEADING}\n{sections}\n", "utf-8")


if __name__ == "__main__":
    main()
