"""`duocap style train`: every source of motion, what is said of it, and each kind of bad input."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from database.builtin.bodies import build_person_skeleton
from database.builtin.catalog import make_builtin_clip
from database.clips import Clip, slice_clip
from database.store import write_database
from reconstruct.models.style.features import build_training_poses
from reconstruct.models.style.file import read_style, read_style_and_origin
from reconstruct.pose import TrackingState
from stream.take.take import Take
from tests.support.commands import Result, duocap
from tests.support.files.takes import write_clip
from tests.tools.commands.takes.test_export import recording
from tools.style.sources import StyleSources, find_main_skeleton, find_unbroken_ranges, read_motion_sources

QUICK = ("--active", 15, "--steps", 3, "--latent", 2)


def train(capsys: pytest.CaptureFixture[str], *words: object) -> Result:
    """Run `duocap style train`, quickly."""
    return duocap(capsys, "style", "train", *words, *QUICK)


def test_a_builtin_motion(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, curve = tmp_path / "walk.style", tmp_path / "curve.png"
    result = train(capsys, "--builtin", "walk", "--out", out, "--plot", curve, "--frames", 60, "--to", 5)
    assert result.status == 0
    style, origin = read_style_and_origin(out)
    assert style.name == "walk" and style.features.shape[0] == 60 and style.n_latent == 2 and len(style.active) == 15
    assert origin.sources == ("walk (built in)",) and origin.version
    assert origin.options["frames"] == 60 and origin.options["to_s"] == 5.0 and origin.options["method"] == "heuristic"
    assert curve.read_bytes().startswith(b"\x89PNG")
    for words in ("5.0 s of walk (built in)", "60 of 148", "L_GP from", "alpha", f"duocap style plot {out}", "duocap style pose"):
        assert words in result.out


def test_the_same_command_gives_the_same_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [tmp_path / "a.style", tmp_path / "b.style"]
    for file in files:
        assert train(capsys, "--builtin", "wave", "--name", "wave", "--frames", 40, "--out", file).status == 0
    assert files[0].read_bytes() == files[1].read_bytes()


def test_bvh_files_and_a_part_of_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clip = make_builtin_clip("walk", fps=60.0)
    file = write_clip(tmp_path / "steps.bvh", clip)
    assert train(capsys, file, "--from", 1, "--to", 3, "--out", tmp_path / "x.style").status == 0
    style = read_style(tmp_path / "x.style")
    wanted = build_training_poses([slice_clip(clip, 60, 180)])
    assert style.features.shape == wanted.features.shape
    assert np.allclose(style.features, wanted.features, atol=1e-4)


def test_clips_of_a_database(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clips = [
        replace(make_builtin_clip(motion, fps=60.0), name=name)
        for name, motion in (("1_1", "walk"), ("1_2", "kick"), ("2_1", "wave"))
    ]
    write_database(tmp_path / "db", clips)
    chosen = ("--database", tmp_path / "db", "--clip", "1_*", "--clip", "1_1")
    result = train(capsys, *chosen, "--out", tmp_path / "x.style", "--frames", 50)
    assert result.status == 0 and "of 1_1, 1_2;" in result.out
    lost = train(capsys, "--database", tmp_path / "db", "--clip", "7_*", "--out", tmp_path / "y.style")
    assert lost.status == 1 and "no clip '7_*'" in lost.last and "1_1" in lost.last


def test_a_recording_is_learned_from_where_it_was_tracked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clip = recording(tmp_path / "take.mcap")
    result = train(capsys, tmp_path / "take.mcap", "--out", tmp_path / "x.style")
    assert result.status == 0 and "of take.mcap" in result.out
    style = read_style(tmp_path / "x.style")
    assert set(style.times.stretch) == {0, 1}
    pieces = [slice_clip(clip, 0, 40), slice_clip(clip, 44, 120)]
    assert np.allclose(style.features, build_training_poses(pieces).features, atol=2e-4)


def test_a_recording_without_a_floor_is_stood_up(tmp_path: Path) -> None:
    recording(tmp_path / "level.mcap")
    recording(tmp_path / "tilted.mcap", floor_known=False)
    level, tilted = (
        build_training_poses(list(read_motion_sources(StyleSources([tmp_path / name]))[0].clips)).features
        for name in ("level.mcap", "tilted.mcap")
    )
    assert np.abs(level - tilted)[:, :66].max() < 1e-3
    assert np.abs(level - tilted)[:, 66:69].max() < 0.1  # as well as feet that stand tell it


def test_pauses_of_the_cameras_end_a_stretch() -> None:
    seconds = np.concatenate([np.arange(30) / 60.0, 0.2 + np.arange(30, 60) / 60.0, 1.5 + np.arange(60, 63) / 60.0])
    clip = make_builtin_clip("idle", fps=60.0)
    take = Take(clip.skeleton, seconds, (TrackingState.TRACKING,) * 63, clip.rotvec[:63].copy(), clip.root_m[:63].copy())
    assert find_unbroken_ranges(take) == [(0, 30), (30, 60)]


def test_motions_of_different_bodies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    child = make_builtin_clip("wave", build_person_skeleton(1.2))
    files = [
        write_clip(tmp_path / "tall.bvh", make_builtin_clip("walk", build_person_skeleton(1.8))),
        write_clip(tmp_path / "small.bvh", child),
    ]
    result = train(capsys, *files, "--frames", 40, "--out", tmp_path / "x.style")
    assert result.status == 0 and "of 2 bodies" in result.out and "1.8" in result.out
    sources = read_motion_sources(StyleSources(builtin=("walk", "kick")))
    assert find_main_skeleton(sources)[1] == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "no motion to learn from"),
        (("nothing.bvh",), "no such file"),
        (("walk",), "--builtin"),
        (("points.c3d",), "joint angles"),
        (("broken.bvh",), "broken.bvh"),
        (("other.mcap",), "other.mcap"),
        (("folder",), "folder"),
        (("--builtin", "moonwalk"), "no built-in motion 'moonwalk'"),
        (("--builtin", "walk", "--to", "0.3"), "too few to learn a style from; expected 0.7 s or more"),
        (("--builtin", "walk", "--from", "60"), "nothing is left of its"),
        (("--builtin", "walk", "--from", "3", "--to", "2"), "the second after the first"),
        (("--builtin", "walk", "--from", "nan"), "the second after the first"),
        (("still.bvh",), "no joint moves"),
        (("--builtin", "walk", "--frames", "10"), "too few"),
        (("--builtin", "walk", "--plot", "still.bvh"), "--plot still.bvh: expected a name that ends with .png"),
        (("--clip", "07_*"), "go together"),
        (("--database", "nothing.db"), "go together"),
        (("--database", "nothing.db", "--clip", "1"), "no such file"),
        (("--builtin", "walk", "--out", "walk.bvh"), "ends with .style"),
        (("--builtin", "walk", "--out", "no/walk.style"), "cannot be written"),
    ],
)
def test_what_cannot_be_learned_from(
    words: tuple[str, ...], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    idle = make_builtin_clip("idle", fps=30.0)
    still = np.tile(idle.rotvec[0], (40, 1, 1)), np.tile(idle.root_m[0], (40, 1))
    write_clip(Path("still.bvh"), Clip("still", idle.skeleton, 30.0, *still))
    for name in ("points.c3d", "broken.bvh", "other.mcap"):
        Path(name).write_bytes(b"something else")
    Path("folder").mkdir()
    before = set(tmp_path.iterdir())
    result = train(capsys, "--out", "x.style", *words)
    assert result.status == 1 and told in result.last
    assert set(tmp_path.iterdir()) == before
