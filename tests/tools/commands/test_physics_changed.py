"""Changed physics does what it should: the same scripts with a change and without, on real motions."""

import tomllib
from pathlib import Path

import pytest

from benchmarks.physics.changed import CHANGES, EXAMPLES, measure_change
from reconstruct.models.physics.synthesis.animate import AnimateOptions
from tools.physics.train import FieldTask, read_motions, train_field_file

pytest.importorskip("pinocchio", reason='needs pinocchio: pip install "duocap[physics]"')

FIELDS = {"moon": "jump", "resistance": "run"}
LEAST = {"moon": 0.15, "resistance": 1.5}  # seconds of flight, degrees of lean
OPTIONS = AnimateOptions(2, 4)
MOTIONS = 5  # of a field, so that learning is short


@pytest.mark.slow
@pytest.mark.parametrize("name", FIELDS)
def test_a_change_of_physics_changes_the_motion_as_it_should(name: str, motion_dir: Path, tmp_path: Path) -> None:
    """The moon lengthens flight, resistance leans the body; a heavy foot hardly changes the walk (docs/evaluation-physics.md)."""
    subjects = motion_dir / "cmu" / "subjects"
    files = tomllib.loads((EXAMPLES / "fields.toml").read_text("utf-8"))[FIELDS[name]][:MOTIONS]
    task = FieldTask([subjects / file for file in files], sound=False)
    train_field_file(
        task, read_motions(task, lambda *_: None), FIELDS[name], tmp_path / f"{FIELDS[name]}.forces", lambda *_: None
    )
    usual, changed = (CHANGES[name].measured(each) for each in measure_change(name, [subjects, tmp_path], OPTIONS))
    assert (changed - usual) / LEAST[name] > 1.0
