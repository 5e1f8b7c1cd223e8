"""Motions that are like a given one are found by content and left out; other motions of the same kind stay."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from database.build import build_database
from database.builtin import build_person_skeleton
from database.clips import Clip, slice_clip
from database.files.resample import resample_clip
from database.geometry.rotations import matrix_from_rotvec, rotvec_from_matrix
from database.store import open_database, write_database
from tests.support.people import walk
from tests.tools.evaluate.walks import other_manner
from tools.evaluate.protocol import cmu_folder
from tools.evaluate.similar_motions import clips_like, without_like
from tools.evaluate.user_clips import read_given


@pytest.fixture(scope="module")
def whole() -> Clip:
    return walk(build_person_skeleton(1.78))


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


def test_a_copy_that_walks_elsewhere_in_another_body_is_found_and_one_that_stands_is_not(tmp_path: Path, whole: Clip) -> None:
    R = matrix_from_rotvec([0.0, 2.0, 0.0])
    rotvec = whole.rotvec.copy()
    rotvec[:, 0] = rotvec_from_matrix(R @ matrix_from_rotvec(rotvec[:, 0]))
    small = build_person_skeleton(1.66)
    root_m = (whole.root_m @ R.T) * (small.height_m / whole.skeleton.height_m) + [3.0, 0.0, -1.0]
    moved = replace(whole, name="moved", skeleton=small, rotvec=rotvec, root_m=root_m)
    write_database(tmp_path / "a.db", [other_manner(whole), moved])
    database = open_database(tmp_path / "a.db")
    assert clips_like(database, whole) == [1]
    still = replace(whole, rotvec=np.repeat(whole.rotvec[:1], 200, axis=0), root_m=np.repeat(whole.root_m[:1], 200, axis=0))
    assert clips_like(database, still) == []


@pytest.mark.slow
def test_the_own_take_of_real_markers_is_left_out(
    motion_dir: Path, shared_data: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Other takes of the same person stay."""
    file, folder = shared_data / "markers" / "cmu_02_05.c3d", cmu_folder(motion_dir) / "02"
    if not file.is_file() or not (folder / "02_05.amc").is_file():
        pytest.skip(f"no {file}, or no motions in {folder}")
    build_database([folder / f"{stem}.amc" for stem in ("02_01", "02_05", "02_06", "02_10")], tmp_path / "02.db", processes=1)
    path = without_like(tmp_path / "02.db", [read_given(file, None)], tmp_path / "cache")
    kept = {name.partition("+")[0] for name in open_database(path).clip_names if not name.startswith("generated")}
    assert kept == {"02_01", "02_06", "02_10"}
    assert "02_05 is like cmu_02_05 and left out of the database" in caplog.text
