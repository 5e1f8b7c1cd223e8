"""Compile what most tests use, once, before workers would each compile the same: python -m tests.support.compiled PART."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from config.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")  # if not, kernels run as Python, for tests with few cases
compiled_only = pytest.mark.skipif(not COMPILED, reason="too long in plain Python; others run the same kernels")


def limit_examples(n: int) -> settings:
    """Return hypothesis' settings for n generated examples, a quarter of them where kernels run as Python."""
    return settings(deadline=None, max_examples=n if COMPILED else max(n // 4, 3))


def compile_kernels() -> None:
    """Run each part in a process of its own, side by side, and wait; what fails here fails in a test, and says why there."""
    processes = [subprocess.Popen([sys.executable, "-m", "tests.support.compiled", part], cwd=ROOT) for part in PARTS]
    for process in processes:
        process.wait()


def _poses() -> None:
    """Compile what a frame needs from match to finish, with a database in memory and with one in a file, which is read-only."""
    from database.default import open_default_database
    from reconstruct.pipeline import Pipeline
    from tests.support.people import front_rig, person, t_pose_clip, table_of

    subject = person()
    for table in (table_of([t_pose_clip(subject.skeleton, 60)]), open_default_database()):
        Pipeline(front_rig(), subject, table, Settings()).warm()


def _images() -> None:
    """Compile what images and styles need."""
    from capture.background.live import LiveBackground
    from capture.detection.detector import warm_detection
    from capture.timing.synchronise import warm_synchroniser
    from reconstruct.missing.style import compile_style_model

    warm_detection()
    LiveBackground(3.0, 10.0, 0.0).warm()
    warm_synchroniser(Settings().time)
    compile_style_model()


PARTS = {"poses": _poses, "images": _images}

if __name__ == "__main__":
    PARTS[sys.argv[1]]()
