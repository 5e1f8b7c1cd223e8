"""`database get` killed at any moment goes on, and ends with the same bytes as when it is left alone."""

import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.support.files.motion import amc_text, asf_text, random_values
from tests.support.kept import Kept
from tests.tools.database.publisher import Publisher, publishing

pytestmark = pytest.mark.slow
NAME, PLACES = "cmu-locomotion", 8
MOTIONS = {
    f"/subjects/16/16_{k:02d}.amc": amc_text(random_values(np.random.default_rng(k), 40 + k)).encode() for k in range(1, 13)
}
FILES = {"/subjects/16/16.asf": asf_text().encode(), **MOTIONS}


def digests(home: Path) -> dict[str, str]:
    """Return the SHA-256 of all that lies in the user's folder but the record, which names the address."""
    files = [path for path in home.rglob("*") if path.is_file() and path.name not in ("record.json", "default.toml")]
    return {path.relative_to(home).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_killed_at_eight_places_it_ends_the_same(tmp_path: Path, kept: Kept) -> None:
    with publishing(Publisher(dict(FILES))) as publisher:

        def get(home: Path) -> "subprocess.Popen[str]":
            words = ["-m", "tools.launch", "database", "get", NAME, "--yes", "--set", f"database.mirror={publisher.url}"]
            env = {**os.environ, "DUOCAP_DATABASES": str(home)}
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            return kept.process(subprocess.Popen([sys.executable, *words], env=env, text=True, **quiet))  # type: ignore[call-overload]

        assert get(tmp_path / "alone").wait() == 0
        asked, home, killed = len(publisher.asked), tmp_path / "killed", 0
        places: list[Callable[[], bool]] = [
            lambda before=before: len(publisher.asked) - before >= 0  # type: ignore[misc]
            for before in np.linspace(asked + 1, 2 * asked, PLACES - 4, dtype=int).tolist()
        ]
        places += [lambda: any((home / NAME).glob("motions-*")), lambda: any((home / NAME).glob("motions-*/*.amc"))]
        places += [lambda: any(home.glob(f".{NAME}.db.*"))] * 2
        for place in places:
            process = get(home)
            while process.poll() is None and not place():
                time.sleep(0.002)
            killed += process.poll() is None
            process.kill()
            process.wait()
        assert killed >= PLACES - 4  # the last steps may be over before they are seen
        assert get(home).wait() == 0
    assert digests(home) == digests(tmp_path / "alone") and f"{NAME}.db" in digests(home)
