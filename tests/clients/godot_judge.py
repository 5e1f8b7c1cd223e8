"""Godot 3 without a window, as a judge: runs a script beside the client's, and gives what it prints."""

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from tests.support.judges import program

ROOT = Path(__file__).resolve().parents[2]
PROJECT = ROOT / "clients" / "godot" / "godot3"
JUDGES = Path(__file__).resolve().parent / "godot"


def godot_program() -> str:
    """Return the path of Godot 3; skip the test where it is missing."""
    return program("godot3-server", "godot3-headless")


class Judge:
    """A script that runs in Godot, in the project of the client."""

    def __init__(self, script: Path, *arguments: str) -> None:
        command = [godot_program(), "--path", str(PROJECT), "-s", str(script), *arguments]
        self._folder = tempfile.TemporaryDirectory()
        self._out, self._err = Path(self._folder.name, "out"), Path(self._folder.name, "err")  # pipes would fill
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self._process = subprocess.Popen(command, stdout=out, stderr=err)

    def running(self) -> bool:
        """Return whether it has not ended."""
        return self._process.poll() is None

    def printed(self) -> list[str]:
        """Return the lines printed so far."""
        return self._out.read_text(encoding="utf-8").splitlines()

    def result(self, timeout_s: float = 40.0) -> list[dict[str, Any]]:
        """Wait for the end; give the objects it printed as JSON. Fails where a script is at fault or does not end."""
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        lines, complaints = self.printed(), self._err.read_text(encoding="utf-8")
        self._folder.cleanup()
        assert self._process.returncode == 0 and "SCRIPT ERROR" not in complaints, "\n".join([*lines[-5:], complaints[-3000:]])
        return [json.loads(line) for line in lines if line.startswith("{")]
