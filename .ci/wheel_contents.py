"""Check that a wheel holds every module and data file of the packages, and nothing else."""

import sys
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KINDS = {".json", ".py", ".toml", ".typed"}


def expected() -> set[str]:
    """Name the files the packages have in the source tree."""
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["packages"]["find"]["include"]
    files = (file for pattern in patterns for file in (ROOT / pattern.rstrip("*")).rglob("*") if file.suffix in KINDS)
    return {file.relative_to(ROOT).as_posix() for file in files}


def main() -> None:
    """Compare, and exit with what is missing or too much."""
    with zipfile.ZipFile(sys.argv[1]) as wheel:
        held = {name for name in wheel.namelist() if ".dist-info/" not in name}
    missing, extra = sorted(expected() - held), sorted(held - expected())
    if missing or extra:
        sys.exit(f"the wheel lacks {missing} and has {extra} too much; see [tool.setuptools] in pyproject.toml")
    print(f"the wheel holds all {len(held)} files")


if __name__ == "__main__":
    main()
