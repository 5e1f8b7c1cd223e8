"""The tests of every module that has kernels; `python -m tests.support.kernel_tests` prints their files."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("config", "numerics", "database", "calibration", "capture", "reconstruct", "stream", "tools")


def modules_with_kernels() -> list[Path]:
    """Return the modules that define a kernel, relative to the root."""
    files = (file for room in ROOMS for file in sorted((ROOT / room).rglob("*.py")))
    return [file.relative_to(ROOT) for file in files if re.search(r"^@(kernel|inlined)", file.read_text("utf-8"), re.MULTILINE)]


def find_tests(module: Path) -> list[Path]:
    """Return the tests of a module: the one of its name, and those of its room that import it."""
    room = Path("tests") / module.parent
    imported = re.compile(rf"^from {re.escape('.'.join(module.with_suffix('').parts))} import", re.MULTILINE)
    return [
        file.relative_to(ROOT)
        for file in sorted((ROOT / room).glob("test_*.py"))
        if file.stem == f"test_{module.stem}" or imported.search(file.read_text("utf-8"))
    ]


if __name__ == "__main__":
    print("\n".join(sorted({str(test) for module in modules_with_kernels() for test in find_tests(module)})))
