"""Processes that come up before it is known what they are to do."""

import os
from pathlib import Path

from tools.run.child_start import ONE_THREAD, PreparedProcesses


def write_environment(file: Path, words: str) -> None:
    """Write words and how many threads the numerical libraries may have."""
    file.write_text(f"{words} {' '.join(os.environ[name] for name in ONE_THREAD)}", "utf-8")


def test_a_prepared_process_is_taken_once_for_a_function_of_its_module_and_the_others_end(tmp_path: Path) -> None:
    file = tmp_path / "written"
    with PreparedProcesses([(__name__,), ("tools.run.child_start",)]) as prepared:
        waiting = [process for process, _, _ in prepared._waiting]
        process = prepared.take(write_environment, file, "here")
        assert process is waiting[0]
        assert prepared.take(write_environment, file, "again") is None  # the other one has not imported this module
        process.join()
    assert file.read_text("utf-8") == "here 1 1 1 1 1"
    assert process.exitcode == 0
    waiting[1].join()
    assert waiting[1].exitcode


def test_a_prepared_process_that_has_died_is_no_process(tmp_path: Path) -> None:
    with PreparedProcesses([(__name__,)]) as prepared:
        process = prepared._waiting[0][0]
        process.kill()
        process.join()
        assert prepared.take(write_environment, tmp_path / "never", "") is None
