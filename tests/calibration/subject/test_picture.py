"""The picture of a subject: drawn for every kind of fit, face to face with the performer."""

from pathlib import Path

import numpy as np
import pytest

from calibration.subject.picture import FRONT, SIDE, draw_subject
from calibration.subject.quality import judge_subject
from calibration.subject.subject import Subject
from database.builtin import build_person_skeleton
from tests.calibration.subject.takes import fitted, held, hidden
from tests.support.people import person

ANN = person("all_around", 2, build_person_skeleton(1.75))
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize("old", [None, pytest.param(ANN, marks=pytest.mark.slow)], ids=["fitted", "kept"])
def test_drawn_for_every_kind_of_fit(old: Subject | None, tmp_path: Path) -> None:
    tposes = [hidden(held(ANN, 0), np.array([3])), held(ANN, 1)]
    found = fitted(tposes, ANN, old=old)
    path = draw_subject(found, judge_subject(found, tposes, ["one", "two"]), tmp_path / "subject.png")
    drawn = path.read_bytes()
    assert drawn.startswith(PNG) and len(drawn) > 20_000


def test_it_is_seen_face_to_face() -> None:
    """The performer's left (+x) is on the right of the picture, and from the left the front (+z) is on the left."""
    assert FRONT.flat(np.array([0.3, 1.2, 0.1])).tolist() == [0.3, 1.2]
    assert SIDE.flat(np.array([0.3, 1.2, 0.1])).tolist() == [-0.1, 1.2]
