"""subject.toml: what is written comes back, and what is no subject is refused in one line."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from calibration.subject.subject import Subject, read_subject, write_subject
from calibration.world import World
from config.errors import FileFormatError
from config.joints import N_JOINTS
from database.geometry.rigid import RigidMotion
from database.geometry.rotations import matrix_from_rotvec
from tests.support.people import person


def some_subject() -> Subject:
    """Return a subject of odd numbers, two of its markers coloured."""
    subject, rng = person("dark_room"), np.random.default_rng(3)
    color, known = subject.markers.color_rgb.copy(), subject.markers.has_color.copy()
    color[[2, 5]], known[[2, 5]] = [[10.0, 200.0, 30.5], [0.0, 1.0, 255.0]], True
    color[~known] = 0.0
    worn = replace(subject.markers, color_rgb=color, has_color=known)
    motion = RigidMotion(matrix_from_rotvec([0.1, -0.99, 1.0 / 3.0]), np.array([0.1, 1.0 / 3.0, -2.0]))
    world = World(motion, "the T-pose", 1.625, 12.5, ("0123456789abcdef", "fedcba9876543210"))
    return replace(subject, name='Ann "Ü" O', markers=worn, residual_mm=rng.uniform(0, 9, 14).round(3), world=world)


def test_exact_round_trip(tmp_path: Path) -> None:
    subject = some_subject()
    write_subject(tmp_path / "a.toml", subject)
    back = read_subject(tmp_path / "a.toml")
    assert (back.name, back.skeleton.name, back.markers.names) == (subject.name, subject.skeleton.name, subject.markers.names)
    for first, second in (
        (back.skeleton.offsets_m, subject.skeleton.offsets_m),
        (back.skeleton.tails_m, subject.skeleton.tails_m),
        (back.offset_m, subject.offset_m),
        (back.residual_mm, subject.residual_mm),
        (back.markers.joint, subject.markers.joint),
        (back.markers.torso, subject.markers.torso),
        (back.markers.offset_m, subject.markers.offset_m),
        (back.markers.color_rgb, subject.markers.color_rgb),
        (back.markers.has_color, subject.markers.has_color),
    ):
        assert np.array_equal(first, second)
    assert back.world is not None and subject.world is not None
    np.testing.assert_allclose(back.world.from_rig.rotation, subject.world.from_rig.rotation, atol=1e-13)
    np.testing.assert_array_equal(back.world.from_rig.translation_m, subject.world.from_rig.translation_m)
    assert back.world.cameras == subject.world.cameras and back.world.by == "the T-pose"
    assert (back.world.tilt_sigma_deg, back.world.height_sigma_mm) == (1.625, 12.5)
    write_subject(tmp_path / "b.toml", back)
    assert (tmp_path / "a.toml").read_bytes() == (tmp_path / "b.toml").read_bytes()


def test_the_up_of_a_file_of_before_is_a_world_without_a_floor(tmp_path: Path) -> None:
    write_subject(tmp_path / "a.toml", replace(some_subject(), world=None))
    text = (tmp_path / "a.toml").read_text()
    assert read_subject(tmp_path / "a.toml").world is None
    (tmp_path / "a.toml").write_text(text.replace('units = "m"', 'units = "m"\nup = [0.0, -0.6, 0.8]'))
    world = read_subject(tmp_path / "a.toml").world
    assert world is not None and not world.cameras and np.isinf(world.height_sigma_mm)
    np.testing.assert_allclose(world.from_rig.rotation @ [0.0, -0.6, 0.8], [0.0, 1.0, 0.0], atol=1e-12)


def refusal(path: Path) -> str:
    """Return the message with which a file is refused; it is one line and names the file."""
    with pytest.raises(FileFormatError) as caught:
        read_subject(path)
    message = str(caught.value)
    assert str(path) in message and "\n" not in message
    return message


def test_foreign_files(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    assert "cannot read" in refusal(path)
    path.write_bytes(b"\x00binary")
    assert "a.toml:1: a byte 00" in refusal(path)
    path.write_text("[left_hand\njoint = 3", encoding="utf-8")
    assert "not valid TOML" in refusal(path)
    path.write_text('[left_hand]\njoint = "leftHand"\n', encoding="utf-8")
    assert "no schema" in refusal(path)
    path.write_text('schema = "duocap-subject-0"\n', encoding="utf-8")
    assert "duocap-subject-0" in refusal(path)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('joint = "hips"', 'joint = "hip"', "unknown joint 'hip'"),
        ("[skeleton.tails]", "[skeleton.tail]", "tails"),
        ("head = [", "skull = [", "head"),
        ("rotation = [", "rotation = [1.0, ", "the world needs three finite numbers"),
        ("torso = true", "torso = 1", "torso must be true or false"),
        ("offset_m = [", 'offset_m = ["left", ', ""),
        ("residual_mm = ", 'residual_mm = "x"  # ', ""),
    ],
)
def test_damaged_files(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = tmp_path / "a.toml"
    write_subject(path, some_subject())
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    assert said in refusal(path)


@pytest.mark.parametrize("scale", [1000.0, 0.01, float("nan")])
def test_lengths_that_are_no_persons_in_metres(tmp_path: Path, scale: float) -> None:
    subject = some_subject()
    skeleton = replace(subject.skeleton, offsets_m=subject.skeleton.offsets_m * scale, tails_m=subject.skeleton.tails_m * scale)
    write_subject(tmp_path / "a.toml", replace(subject, skeleton=skeleton))
    refusal(tmp_path / "a.toml")


def test_nothing_is_left_where_it_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="cannot be written"):
        write_subject(tmp_path / "no" / "a.toml", some_subject())
    assert list(tmp_path.iterdir()) == []


def test_how_well_lengths_are_known_comes_back(tmp_path: Path) -> None:
    sigma_m = np.random.default_rng(4).integers(0, 4000, (2, N_JOINTS)) * 1e-5
    write_subject(tmp_path / "a.toml", replace(some_subject(), length_sigma_m=sigma_m))
    back = read_subject(tmp_path / "a.toml").length_sigma_m
    assert back is not None
    np.testing.assert_allclose(back, sigma_m, atol=1e-9)
    text = (tmp_path / "a.toml").read_text("utf-8")
    assert "[skeleton.length_sigma_mm.offsets]" in text
    write_subject(tmp_path / "b.toml", some_subject())
    assert "length_sigma_mm" not in (tmp_path / "b.toml").read_text("utf-8")
    assert read_subject(tmp_path / "b.toml").length_sigma_m is None


@pytest.mark.parametrize("bad", ["-1.0", "nan", '"wide"'])
def test_lengths_known_absurdly_are_refused(tmp_path: Path, bad: str) -> None:
    path = tmp_path / "a.toml"
    write_subject(path, replace(some_subject(), length_sigma_m=np.full((2, N_JOINTS), 0.012)))
    path.write_text(path.read_text("utf-8").replace("leftHand = 12.0", f"leftHand = {bad}"), "utf-8")
    assert "damaged subject" in refusal(path)
