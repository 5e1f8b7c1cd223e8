"""Training in chunks and clusters, the file, and the body's points."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from config.arrays import Singles
from database.builtin import build_person_skeleton, make_builtin_clip
from database.geometry.kinematics import compute_forward_kinematics
from reconstruct.models.sparse import train as training
from reconstruct.models.sparse.body import build_body_points, normalise_bone_lengths
from reconstruct.models.sparse.dictionary import Dictionary
from reconstruct.models.sparse.learn import DictionaryOptions, SparseError
from reconstruct.models.sparse.model import PoseDictionary, read_dictionary, write_dictionary
from reconstruct.models.sparse.train import TrainOptions, sample_poses, train_pose_dictionary

OPTIONS = TrainOptions(2, DictionaryOptions(n_atoms=60, n_nonzero=6, iterations=4))
SKELETON = build_person_skeleton()


def chunks() -> Iterable[Singles]:
    """Return a walk and a reach, in chunks."""
    for name in ("walk", "punches"):
        rotvec = make_builtin_clip(name, SKELETON, 30.0).rotvec.astype(np.float32)
        yield from (rotvec[first : first + 70] for first in range(0, len(rotvec), 70))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> PoseDictionary:
    """Train a small dictionary."""
    return train_pose_dictionary(chunks, SKELETON, "small", tmp_path_factory.mktemp("work") / "part", OPTIONS)


def test_the_points_of_a_pose_are_those_of_its_joints_and_survive_normalisation() -> None:
    clip, points = make_builtin_clip("walk", SKELETON, 30.0), build_body_points(SKELETON)
    rotvec = clip.rotvec[:6].copy()
    vectors = points.vectors(SKELETON, rotvec)
    G, p = compute_forward_kinematics(SKELETON, rotvec, np.zeros(3))
    local = np.einsum("nij,njk->nik", p, G[:, 0])  # relative to the unrotated root
    np.testing.assert_allclose(vectors.reshape(6, -1, 3)[:, : p.shape[1] - 1], local[:, 1:], atol=1e-9)
    given = vectors.reshape(6, -1, 3)
    lengths = points.lengths_m(SKELETON)
    np.testing.assert_allclose(normalise_bone_lengths(given, points, lengths), given, atol=1e-9)
    stretched = normalise_bone_lengths(given * 1.7 + 1e-3, points, lengths)
    before = np.where(points.before[:, None] >= 0, stretched[:, points.before], 0.0)
    np.testing.assert_allclose(np.linalg.norm(stretched - before, axis=2), np.tile(lengths, (6, 1)), atol=1e-9)
    assert np.isfinite(normalise_bone_lengths(np.zeros_like(given), points, lengths)).all()


def test_a_sample_of_chunks_is_of_all_poses_alike() -> None:
    numbers = [np.full((n, 1, 3), v, np.float32) for v, n in ((0.0, 3000), (1.0, 1000))]
    sample = sample_poses(numbers, 1, size=1000)
    assert sample.n_poses == 4000 and len(sample.rotvec) == 1000
    assert abs(sample.rotvec.mean() - 0.25) < 0.05


def test_a_trained_dictionary_codes_its_poses_and_is_read_as_it_was_written(model: PoseDictionary, tmp_path: Path) -> None:
    assert model.error_m < 0.01 and model.n_poses == sum(map(len, chunks()))
    write_dictionary(tmp_path / "a.sparse", replace(model, sources=("walk",), options={"seed": 1}))
    again = read_dictionary(tmp_path / "a.sparse")
    assert again.sources == ("walk",) and again.options == {"seed": 1} and again.skeleton.name == SKELETON.name
    for name in ("examples", "low", "high", "up_mean", "up_sigma"):
        np.testing.assert_array_equal(getattr(again, name), getattr(model, name))
    np.testing.assert_array_equal(again.dictionary.atoms, model.dictionary.atoms)
    assert again.dictionary.n_nonzero == model.dictionary.n_nonzero
    assert again.dictionary.centring.constant == model.dictionary.centring.constant


def test_an_interrupted_training_goes_on_where_it_stopped(
    model: PoseDictionary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learned, real = [], training.learn_dictionary

    def interrupted(points: Singles, *args: object) -> Dictionary:
        learned.append(len(points))
        if len(learned) == 2:
            raise KeyboardInterrupt
        return real(points, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(training, "learn_dictionary", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train_pose_dictionary(chunks, SKELETON, "small", tmp_path / "part", OPTIONS)
    again = train_pose_dictionary(chunks, SKELETON, "small", tmp_path / "part", OPTIONS)
    assert learned[1] == learned[2] and len(learned) == 3 and not (tmp_path / "part").exists()
    np.testing.assert_array_equal(again.dictionary.atoms, model.dictionary.atoms)


def test_what_another_training_left_is_not_used(model: PoseDictionary, tmp_path: Path) -> None:
    part = tmp_path / "part"
    part.mkdir()
    (part / "recipe").write_text("another")
    (part / "counts.json").write_text("[1, 2]")
    again = train_pose_dictionary(chunks, SKELETON, "small", part, OPTIONS)
    np.testing.assert_array_equal(again.dictionary.atoms, model.dictionary.atoms)


def test_too_few_poses_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SparseError, match="5 poses are too few"):
        train_pose_dictionary(lambda: [next(iter(chunks()))[:5]], SKELETON, "few", tmp_path / "part")


def test_a_file_of_the_version_before_is_refused(model: PoseDictionary, tmp_path: Path) -> None:
    file = tmp_path / "a.sparse"
    write_dictionary(file, model)
    data = bytearray(file.read_bytes())
    data[16] = 1
    file.write_bytes(data)
    with pytest.raises(SparseError, match="written in version 1, expected 2; train it again"):
        read_dictionary(file)


def test_a_dictionary_of_another_skeleton_is_refused(
    model: PoseDictionary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as other:
        other.setattr("reconstruct.models.sparse.model.list_point_names", lambda: ("tail",))
        write_dictionary(tmp_path / "a.sparse", model)
    with pytest.raises(SparseError, match="other joints or points of the body"):
        read_dictionary(tmp_path / "a.sparse")


def test_damaged_and_wrong_files_are_refused(model: PoseDictionary, tmp_path: Path) -> None:
    file = tmp_path / "a.sparse"
    write_dictionary(file, model)
    data = bytearray(file.read_bytes())
    data[200] ^= 0xFF
    file.write_bytes(data)
    with pytest.raises(SparseError, match="damaged"):
        read_dictionary(file)
    bad = replace(model, dictionary=replace(model.dictionary, atoms=model.dictionary.atoms * np.float32(np.nan)))
    write_dictionary(file, bad)
    with pytest.raises(SparseError, match="no numbers"):
        read_dictionary(file)
    write_dictionary(file, replace(model, low=model.low[:-1]))
    with pytest.raises(SparseError, match="do not fit"):
        read_dictionary(file)
