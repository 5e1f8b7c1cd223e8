"""What an installation of duocap holds: the size of the package and of all that it depends on, without extras.

    python -m benchmarks.run.footprint [--least 1] [--json F]

Every distribution with the size of its files, and what would go if duocap itself no longer asked for it. Bytecode is not counted.
"""

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

from benchmarks.report import build_parser, write_json

OURS = "duocap"
FOLDERS = ("config", "numerics", "database", "calibration", "capture", "reconstruct", "stream", "tools")
HERE = Path(__file__).resolve().parents[2]
MB = 1e-6


@dataclass(frozen=True, slots=True)
class InstalledPackage:
    """One distribution. mb: of its own files; frees_mb: of all that go with it; direct: whether duocap itself asks for it."""

    name: str
    version: str
    mb: float
    frees_mb: float
    direct: bool


def list_requirements(found: Distribution) -> list[str]:
    """Return the names of what a distribution asks for here, extras apart."""
    wanted = [Requirement(text) for text in found.requires or ()]
    return [normalise_name(one.name) for one in wanted if one.marker is None or one.marker.evaluate({"extra": ""})]


def normalise_name(name: str) -> str:
    """Return a name as all indexes spell it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def collect_dependencies(direct: Iterable[str], known: dict[str, Distribution]) -> set[str]:
    """Return the names of all that is pulled in, and fill the table of distributions."""
    seen, waiting = set[str](), list(direct)
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        try:
            known.setdefault(name, distribution(name))
        except PackageNotFoundError:
            continue
        seen.add(name)
        waiting += list_requirements(known[name])
    return seen


def measure_size_mb(found: Distribution) -> float:
    """Return the size of a distribution's files without bytecode."""
    files = [Path(str(file.locate())) for file in found.files or () if file.suffix != ".pyc"]
    return MB * sum(file.stat().st_size for file in files if file.is_file())


def measure_own_mb() -> float:
    """Return the size of the package's own files."""
    files = [file for folder in FOLDERS for file in (HERE / folder).rglob("*") if "__pycache__" not in file.parts]
    return MB * sum(file.stat().st_size for file in files if file.is_file())


def list_installed() -> list[InstalledPackage]:
    """Return all distributions, the largest first."""
    known: dict[str, Distribution] = {}
    direct = list_requirements(distribution(OURS))
    everything = collect_dependencies(direct, known)
    size = {name: measure_size_mb(known[name]) for name in everything}
    rows = []
    for name in everything:
        rest = collect_dependencies([other for other in direct if other != name], known) if name in direct else everything
        freed = sum(size[other] for other in everything - rest)
        rows.append(InstalledPackage(name, known[name].version, size[name], freed, name in direct))
    return sorted(rows, key=lambda row: -row.mb)


def main(given: Sequence[str] | None = None) -> int:
    """Print."""
    parser = build_parser(__doc__)
    parser.add_argument("--least", type=float, default=1.0, help="size of the smallest that is listed [MB] (default 1)")
    options = parser.parse_args(given)
    rows = list_installed()
    print(f"{'':<28}{'MB':>8}{'frees MB':>10}")
    for row in rows:
        if row.mb >= options.least or row.frees_mb >= options.least:
            freed = f"{row.frees_mb:10.1f}" if row.direct else f"{'':>10}"
            print(f"{row.name + ' ' + row.version:<28}{row.mb:8.1f}{freed}")
    print(f"{len(rows)} distributions, {sum(row.mb for row in rows):.0f} MB; duocap itself {measure_own_mb():.1f} MB")
    write_json(options.json, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
