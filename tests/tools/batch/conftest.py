"""A folder of takes that tests share."""

import shutil
from pathlib import Path

import pytest

from tests.tools.commands.walked import Walked


@pytest.fixture
def studio(walked: Walked, tmp_path: Path) -> Path:
    """Return a folder with a job file, two good takes and one without a right video worth the name."""
    for name in ("a", "b", "broken"):
        take = tmp_path / "takes" / name
        take.mkdir(parents=True)
        for side in ("left", "right"):
            shutil.copy(walked.folder / f"clip_{side}.avi", take / f"{side}.avi")
        shutil.copy(walked.folder / "clip.csv", take / "timestamps.csv")
    (tmp_path / "takes" / "broken" / "right.avi").write_bytes(b"no video")
    shutil.copy(walked.folder / "rig.toml", tmp_path)
    shutil.copy(walked.folder / "ann.toml", tmp_path / "subject.toml")
    shutil.copy(walked.folder / "small.db", tmp_path)
    (tmp_path / "job.toml").write_text(
        'out = "done"\n[[replay]]\ntakes = ["takes/*"]\ndatabase = "small.db"\nout = ["bvh", "csv"]\n'
    )
    return tmp_path
