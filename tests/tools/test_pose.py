"""`duocap pose`: what it is given is checked before anything is opened, and a session is exported without a page."""

from pathlib import Path

import numpy as np
import pytest

from config.joints import JOINT_INDEX
from config.settings import Settings
from reconstruct.constraints import build_point_handles
from reconstruct.models.style.file import write_style
from stream.posing.document import create_document, set_key
from stream.posing.session_file import write_posing_session
from tests.support.commands import duocap
from tests.support.style_posers import style_of
from tools.pose import MODELS, PoseTask, choose_session_file


@pytest.fixture(scope="module")
def style(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("styles") / "wave.style"
    write_style(file, style_of("wave", 3))
    return file


def test_bad_files_are_refused_in_one_line(capsys: pytest.CaptureFixture[str], style: Path, tmp_path: Path) -> None:
    session, text, picture = tmp_path / "a.json", tmp_path / "a.txt", tmp_path / "a.png"
    session.write_text("{}")
    text.write_text("no")
    picture.write_bytes(b"none")
    broken = tmp_path / "b.style"
    broken.write_bytes(style.read_bytes()[:1000])
    cases: dict[str, tuple[object, ...]] = {
        "no such file": (tmp_path / "none.style",),
        "nothing to pose with": (text,),
        "expected schema": (session,),
        "one is posed with at a time": (session, session),
        "not a picture": (style, "--picture", picture),
        "a.txt": (style, "--database", text),
        "unknown; expected one of average, local, sparse, style": (style, "--model", "magic"),
        "give the session's file": (style, "--out", tmp_path / "a.bvh"),
        "b.style": (broken,),
    }
    for words, arguments in cases.items():
        result = duocap(capsys, "pose", *arguments, "--no-browser", "--port", 0)
        assert result.status == 1 and words in result.last, (words, result.err)


def test_a_session_is_exported_without_a_page(capsys: pytest.CaptureFixture[str], style: Path, tmp_path: Path) -> None:
    skeleton, session = style_of("wave", 3).skeleton, tmp_path / "a.json"
    document = create_document(skeleton)
    write_posing_session(session, document, skeleton)
    assert "pose.bvh: 1 frame, 0.00 s (bvh)" in duocap(capsys, "pose", style, session, "--out", tmp_path / "pose.bvh").out
    write_posing_session(session, set_key(set_key(document, 0.0), 0.5), skeleton)
    result = duocap(capsys, "pose", style, session, "--out", tmp_path / "walk.bvh", "--out", tmp_path / "walk.glb")
    assert (
        result.status == 0 and "walk.bvh: 31 frames, 0.50 s (bvh)" in result.out and (tmp_path / "walk.glb").stat().st_size > 1000
    )
    heights = [line.split()[1] for line in (tmp_path / "walk.bvh").read_text().splitlines()[-31:]]
    assert np.ptp(np.array(heights, float)) < 5.0  # somebody who stands, in centimetres


@pytest.mark.parametrize("model", ["average", "local", "sparse", "style"])
def test_every_model_poses_the_built_in_motions(model: str, style: Path) -> None:
    found = MODELS[model](PoseTask(Settings(), (style,) if model == "style" else (), model=model)).poser
    hands = np.array([JOINT_INDEX["leftHand"], JOINT_INDEX["hips"]])
    pose = found.pose(build_point_handles(hands, np.zeros((2, 3)), np.array([[0.3, 1.1, 0.3], [0.0, 0.95, 0.0]])))
    assert pose.reached and pose.error_m.max() < 0.02


def test_new_sessions_have_names_of_their_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tools.pose.platformdirs.user_data_dir", lambda *_, **__: str(tmp_path))
    first = choose_session_file()
    first.write_text("{}")
    assert choose_session_file() != first and first.parent == tmp_path / "poses"
