"""The tests that `.ci/run` repeats, of all modules that have kernels or call OpenCV.

`python -m tests.support.repeated_tests kernels|opencv` prints their files.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("config", "numerics", "database", "calibration", "capture", "reconstruct", "stream", "tools")
LINES = {"kernels": r"^@(kernel|inlined)", "opencv": r"^\s*import cv2"}


def find_modules(what: str) -> list[Path]:
    """Return the modules that define a kernel or call OpenCV, relative to the root."""
    files = (file for room in ROOMS for file in sorted((ROOT / room).rglob("*.py")))
    return [file.relative_to(ROOT) for file in files if re.search(LINES[what], file.read_text("utf-8"), re.MULTILINE)]


def find_tests(module: Path) -> list[Path]:
    """Return the test of the module's name; where there is none, those of its room that import it."""
    room = ROOT / "tests" / module.parent
    named = room / f"test_{module.stem}.py"
    imported = re.compile(rf"^from {re.escape('.'.join(module.with_suffix('').parts))} import", re.MULTILINE)
    importing = (file for file in sorted(room.glob("test_*.py")) if imported.search(file.read_text("utf-8")))
    return [file.relative_to(ROOT) for file in ([named] if named.is_file() else importing)]


if __name__ == "__main__":
    print("\n".join(sorted({str(test) for module in find_modules(sys.argv[1]) for test in find_tests(module)})))
