"""Motion files are takes: every kind of file is exported, and every command takes one that needs the most work."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from calibration.subject.labelled import wear_places
from calibration.subject.subject import Subject
from config.optical import read_optical_set
from database.builtin import build_person_skeleton
from database.clips import slice_clip
from stream.export.c3d import write_c3d
from stream.take.read import take_from_clip
from stream.take.recorded import write_recording
from stream.take.take import MarkerTracks
from tests.support.commands import duocap
from tests.support.files.motion import random_values, write_amc
from tests.support.people import walk
from tests.tools.solve.files import write_trc
from tools.solve.motion import place_markers

KINDS = ("bvh", "amc", "glb", "vrma", "c3d", "trc", "mcap")
COMMANDS: dict[str, Callable[[Path, Path, Path], list[object]]] = {
    "export": lambda file, out, _: ["export", file, "--out", out / "a.csv"],
    "pose": lambda file, out, _: ["pose", file, "--out", out / "a.bvh"],
    "physics forces": lambda file, out, _: ["physics", "forces", file, "--out", out / "a.csv", "--cutoff", 6],
    "sparse denoise": lambda file, out, words: ["sparse", "denoise", file, "--dictionary", words, "--out", out / "a.bvh"],
    "database build": lambda file, out, _: ["database", "build", file, "--out", out / "a.db", "--fps", 30, "--no-graph"],
}
TAKEN = [(kind, "export") for kind in KINDS] + [("c3d", command) for command in COMMANDS if command != "export"]


@pytest.fixture(scope="session")
def takes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a walk of a moment in every kind of file, and a dictionary."""
    folder = tmp_path_factory.mktemp("takes")
    clip = slice_clip(walk(build_person_skeleton(1.72)), 20, 32)
    take, worn = take_from_clip(clip, "walk"), wear_places(read_optical_set("plug_in_gait"))
    write_recording(folder / "a.mcap", take)
    still = random_values(np.random.default_rng(1), 1) * 12
    write_amc(folder, still, "a")
    subject = Subject("a", clip.skeleton, worn.marker_set(), worn.offset_m, np.zeros(len(worn.names)))
    point_m = place_markers(subject, clip.rotvec, clip.root_m)
    seen = np.ones(point_m.shape[:2], bool)
    write_trc(folder / "a.trc", worn.names, point_m, seen, clip.fps)
    write_c3d(folder / "a.c3d", replace(take, markers=MarkerTracks(worn.names, point_m, seen)))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "command"), TAKEN)
def test_takes_are_taken(kind: str, command: str, takes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, words = takes / f"a.{kind}", takes / "a.sparse"
    if not file.exists():
        assert duocap(capsys, "export", takes / "a.mcap", "--out", file).status == 0
    if command == "sparse denoise" and not words.exists():
        trained = duocap(capsys, "sparse", "train", "--builtin", "walk", "--atoms", 60, "--iterations", 2, "--out", words)
        assert trained.status == 0, trained.err
    done = duocap(capsys, *COMMANDS[command](file, tmp_path, words))
    assert done.status == 0, done.err
    assert any(path.stat().st_size for path in tmp_path.iterdir())
