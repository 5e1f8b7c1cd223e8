"""Fixtures for data that is not part of the project: tests that need it skip, saying so, where it is absent."""

import os
import shutil
import signal
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

import platformdirs
import pytest
from hypothesis import settings

from tests.support.compiled import COMPILED, compile_kernels, limit_examples
from tests.support.kept import Kept

# The same examples in every run, fewer for kernels in Python; no failure because a shared machine was slow for a moment.
settings.register_profile("duocap", limit_examples(60), derandomize=True)
settings.load_profile("duocap")

# A shell that starts the tests in the background has them ignore Ctrl-C, and so would the programs they start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# As the command line does: our matrices are small, and more threads, of two or more workers at that, only wait for each other.
for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

# Containers often forbid bytecode; then every program the tests start would compile all of duocap's modules again.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Which database the user has chosen is nothing to the tests; none lies in this folder.
os.environ["DUOCAP_DATABASES"] = str(Path(tempfile.gettempdir()) / "duocap-tests-without-databases")

FEW_FILES = 4


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Share a long run among the processor's cores; run a few named files in this process, where starting workers would not pay.

    `-n 0` keeps every run in one process, as `--pdb` does by itself; `-n 3` asks for three.
    """
    named = [Path(word.partition("::")[0]) for word in config.args]
    if len(named) <= FEW_FILES and all(path.is_file() for path in named):
        return 0
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, 4) if cores > 1 else 0


def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile once what the workers would else compile each for itself; xdist starts them after this."""
    options = session.config.option
    if options.numprocesses and not options.collectonly and COMPILED:
        compile_kernels()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of real recordings: $DUOCAP_SHARED_DATA, else ../shared/data beside the repository."""
    named = os.environ.get("DUOCAP_SHARED_DATA")
    folder = Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no real recordings: {folder} does not exist (set DUOCAP_SHARED_DATA)")
    return folder


@pytest.fixture(scope="session")
def motion_dir(request: pytest.FixtureRequest) -> Path:
    """Return the folder of real motion (cmu/, hdm05/): $DUOCAP_MOTION, else unpacked once into the user's cache folder."""
    named = os.environ.get("DUOCAP_MOTION")
    if named:
        if not Path(named).is_dir():
            pytest.skip(f"no real motion: DUOCAP_MOTION names {named}, which does not exist")
        return Path(named)
    shared: Path = request.getfixturevalue("shared_data")
    archive = shared / "motion" / "cmu_hdm05.tar.xz"
    if not archive.is_file():
        pytest.skip(f"no real motion: {archive} does not exist (or set DUOCAP_MOTION)")
    return _unpacked(archive, platformdirs.user_cache_path("duocap", appauthor=False) / f"motion-{archive.stat().st_size}")


@pytest.fixture
def kept() -> Iterator[Kept]:
    """Close what a test opens when it ends, also when it fails."""
    with Kept() as things:
        yield things


def _unpacked(archive: Path, folder: Path) -> Path:
    """Unpack `archive` to `folder` unless that was done before; a broken attempt leaves nothing behind."""
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix="motion-", dir=folder.parent))
    try:
        with tarfile.open(archive) as tar:
            tar.extractall(temporary, filter="data")
        try:
            temporary.rename(folder)
        except OSError:
            if not folder.is_dir():  # else another test process was quicker
                raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return folder
