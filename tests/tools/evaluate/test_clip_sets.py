"""The tuning and the test set: of different people, whom the database does not know, and of motions that are in it nowhere."""

import numpy as np
import pytest

from config.errors import DatabaseError
from database.build import find_left_out_ranges, parse_leave_out
from tools.evaluate.clip_sets import QUICK, TEST, TUNING, left_out_of_sets, people_of_test, person, set_of, stems_of
from tools.evaluate.protocol import named_clip, set_clip


def test_nobody_of_the_test_set_is_in_the_tuning_set_or_in_the_database() -> None:
    assert len(TUNING) == len(TEST) == 40
    assert not set(people_of_test()) & {person(stem) for stem in TUNING}
    rules = [parse_leave_out(text) for text in left_out_of_sets()]
    for stem in TEST:
        others = (f"{person(stem)}_99", f"{person(stem)}_anything_001_120")
        assert all((0, 1 << 60) in find_left_out_ranges(rules, [name]) for name in (stem, *others)), stem
    for stem in TUNING:
        start = set_clip(stem).start
        assert any(first <= start and stop > 10**6 for first, stop in find_left_out_ranges(rules, [stem])), stem
    assert not find_left_out_ranges(rules, ["07_01"]) and find_left_out_ranges(rules, ["14_02"])[0][0] == 2800


def test_quick_is_some_of_both() -> None:
    parts = stems_of(["quick"])
    assert sorted(stem for stems in parts.values() for stem in stems) == sorted(QUICK)
    assert [{set_of(stem) for stem in stems} for stems in parts.values()] == [{"tuning"}, {"test"}]
    assert list(np.concatenate(list(stems_of(["tuning", "test"]).values()))) == [*TUNING, *TEST]
    with pytest.raises(DatabaseError, match="tuning, test or quick"):
        stems_of(["all"])


def test_a_clip_is_named_or_a_file() -> None:
    assert named_clip("HDM_dg_squat1Reps_025_120").behaviour == "everyday"
    given = named_clip("some/run.bvh")
    assert given.file is not None and (given.stem, given.behaviour, given.skeleton) == ("run", "given", None)
