"""Outside software that judges what we send and write; a test that needs some skips, saying which, where it is absent.

Programs are looked for on the PATH; Python and Node packages where `.ci/run judges` puts them (.ci/judges), or in the folder that
DUOCAP_JUDGES names.
"""

import os
import shutil
import sys
from pathlib import Path

import pytest

FOLDER = Path(os.environ.get("DUOCAP_JUDGES", Path(__file__).resolve().parents[2] / ".ci" / "judges"))


def program(*names: str) -> str:
    """Return the path of the first of some programs that is there; skip the test otherwise."""
    for name in names:
        found = shutil.which(name)
        if found:
            return found
    pytest.skip(f"{' or '.join(names)} is not installed")


def node_modules(*packages: str) -> Path:
    """Return the folder of Node packages (run `node` in its parent) if all of these are in it; skip the test otherwise."""
    program("node")
    folder = FOLDER / "node" / "node_modules"
    missing = [package for package in packages if not (folder / package).is_dir()]
    if missing:
        pytest.skip(f"npm packages are not installed: {', '.join(missing)}")
    return folder


def python_with(package: str) -> str:
    """Return the Python of an environment of its own in which a package is installed; skip the test otherwise."""
    scripts = "Scripts/python.exe" if sys.platform == "win32" else "bin/python"
    python = FOLDER / package / scripts
    if not python.exists():
        pytest.skip(f"the Python package {package} is not installed in an environment of its own")
    return str(python)
