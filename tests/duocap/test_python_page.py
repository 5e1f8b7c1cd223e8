"""`import duocap`: it is quick, its names are where it says, and the examples of docs/python.md run as they are written."""

import ast
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import duocap
from calibration.board.pattern import Board
from database.builtin import make_builtin_clip
from reconstruct.pose import TrackingState
from stream.export.bvh import write_bvh
from stream.publish.publisher import Publisher
from stream.take.take import Take
from tests.support.board_scenes import Look, render_board, scene_views, usual_rig
from tests.support.kept import Kept
from tests.support.stream_messages import POSE, SKELETON
from tests.tools.commands.walked import ended, made_walk

PAGE = Path(__file__).resolve().parents[2] / "docs" / "python.md"
MAX_WORDS = 900
N_POSES = 5


def test_importing_it_loads_nothing_heavy() -> None:
    words = "import sys, duocap; print([m for m in ('numpy', 'numba', 'cv2', 'zmq', 'typer', 'config') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True, cwd=PAGE.parents[1])
    assert done.stdout.strip() == "[]"


def test_what_type_checkers_see_is_what_is_imported() -> None:
    tree = ast.parse(Path(str(duocap.__file__)).read_text("utf-8"))
    typed = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.asname: f"{node.module}:{alias.name}"
        for node in typed.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == duocap.PLACES
    assert sorted(seen) == duocap.__all__ == dir(duocap)
    assert all(callable(getattr(duocap, name)) for name in duocap.__all__)
    with pytest.raises(AttributeError, match=r"no attribute 'read_takes'; it has .*read_take"):
        _ = duocap.read_takes


def test_the_page_is_short_and_names_every_function() -> None:
    text = PAGE.read_text("utf-8")
    assert len(text.split()) <= MAX_WORDS
    assert [name for name in duocap.__all__ if f"duocap.{name}" not in text and f"`{name}(" not in text] == []


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files that the page names, of built-in motions."""
    place = tmp_path_factory.mktemp("page")
    made_walk(place)
    (place / "ann.toml").unlink()
    (place / "rig.toml").rename(place / "cameras.toml")
    (place / "small.db").rename(place / "motions.db")
    clip = make_builtin_clip("walk", None, 60.0, 3)
    states = (TrackingState.TRACKING,) * 120
    write_bvh(
        place / "walk.bvh", Take(clip.skeleton, np.arange(120) / 60.0, states, clip.rotvec[:120].copy(), clip.root_m[:120].copy())
    )
    options = ("--atoms", "60", "--iterations", "4", "--out", place / "walk.sparse")
    assert ended(["sparse", "train", "--builtin", "walk", *options]).status == 0
    rig, board = usual_rig((400, 300)), Board("chessboard", 7, 4, 0.030)
    poses = scene_views(board, rig, 10, seed=12, share=(0.3, 0.7))
    for name, camera in zip(("left", "right"), rig.cameras, strict=True):
        (place / "board" / name).mkdir(parents=True)
        for k, pose in enumerate(poses):
            image = render_board(board, camera, pose[:3], pose[3:], Look(noise=1.5, clutter=4, samples=2), seed=k)
            cv2.imwrite(str(place / "board" / name / f"{k:02d}.png"), image)
    return place


@pytest.mark.slow
def test_every_example_runs_as_it_is_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], kept: Kept
) -> None:
    pytest.importorskip("pinocchio", reason='needs pinocchio: pip install "duocap[physics]"')
    monkeypatch.chdir(folder)
    page: dict[str, Any] = {}
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 8
    for block in blocks:
        exec(block, page)
    written = ("part.bvh", "part.csv", "clean.bvh", "physical.bvh", "rig.toml", "ann.toml", "replayed.bvh")
    assert [name for name in written if not (folder / name).is_file()] == []
    out = capsys.readouterr().out
    assert "missing.bvh: no such file" in out and "verdict" in out and "50 of 50 frames have a pose" in out
    assert out.count("mm off") == 3
    publisher = kept(Publisher("tcp://127.0.0.1:0"))
    listener = threading.Thread(target=page["print_hips"], args=(publisher.address, N_POSES))
    listener.start()
    while listener.is_alive():
        publisher.serve(0)
        publisher.publish(SKELETON)
        publisher.publish(POSE)
        listener.join(0.02)
    assert len(re.findall(r"^\d+ \S.*\(", capsys.readouterr().out, re.MULTILINE)) >= N_POSES
