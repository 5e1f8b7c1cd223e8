"""Motions that are like a given one are found by content and left out; other motions of the same kind stay."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from database.builtin import build_person_skeleton
from database.clips import Clip, slice_clip
from database.files.resample import resample_clip
from database.store import open_database, write_database
from tests.support.people import walk
from tools.evaluate.alike import clips_like, without_like


@pytest.fixture(scope="module")
def whole() -> Clip:
    return walk(build_person_skeleton(1.78))


def other_manner(clip: Clip) -> Clip:
    """Return the walk with the arms swung half as far, and the left knee bent more."""
    rotvec = clip.rotvec.copy()
    rotvec[:, 11:19] *= 0.5
    rotvec[:, 2, 0] += 0.3
    return replace(clip, name="manner", rotvec=rotvec)


def test_a_cut_renamed_copy_at_another_rate_with_noise_is_found(tmp_path: Path, whole: Clip) -> None:
    assert whole.seconds > 2.5
    noise = np.radians(0.5) * np.random.default_rng(0).normal(size=whole.rotvec.shape)
    copy = replace(slice_clip(whole, 30, whole.n_frames, "copy"), rotvec=(whole.rotvec + noise)[30:])
    write_database(tmp_path / "a.db", [other_manner(whole), copy])
    database = open_database(tmp_path / "a.db")
    given = resample_clip(whole, 90.0)
    assert clips_like(database, given) == [1]
    path = without_like(tmp_path / "a.db", [given], tmp_path / "cache")
    assert open_database(path).clip_names == ("manner",) and path.parent.name == "cache"
    assert without_like(path, [given], tmp_path / "cache") == path
