"""`duocap landmarks get`: models out of packages made here, and what is said where they cannot be had."""

import hashlib
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from capture.landmarks import weights
from capture.landmarks.network import LandmarksUnavailableError
from capture.landmarks.weights import PERSON_FILE
from tools import landmarks
from tools.landmarks import check_landmarks, get_weights

FULL, LITE = "pose_landmark_full.tflite", "pose_landmark_lite.tflite"
CONTENTS = {PERSON_FILE: b"person", FULL: b"full", LITE: b"lite"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's folder, and hashes of the files that the tests make."""
    monkeypatch.setenv("DUOCAP_LANDMARKS", str(tmp_path / "own"))
    for name, content in CONTENTS.items():
        monkeypatch.setitem(weights.SHA256, name, hashlib.sha256(content).hexdigest())
    return tmp_path / "own"


def make_wheel(file: Path, contents: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in contents.items():
            archive.writestr(f"mediapipe/modules/pose/{name}", content)
        archive.writestr("mediapipe/__init__.py", "")
    return file


def make_archive(file: Path, contents: dict[str, bytes]) -> Path:
    source = file.parent / "package"
    source.mkdir()
    for name, content in contents.items():
        (source / name).write_bytes(content)
    with tarfile.open(file, "w:gz") as archive:
        archive.add(source, "package")
    return file


class PackageTool:
    """Stands for pip: writes a wheel to the folder it is told, or fails."""

    def __init__(self, contents: dict[str, bytes] | None) -> None:
        self.contents, self.calls = contents, list[list[str]]()

    def __call__(self, words: list[str]) -> "subprocess.CompletedProcess[str]":
        self.calls.append(words)
        if self.contents is None:
            return subprocess.CompletedProcess(words, 1, "", "WARNING: a\nERROR: No matching distribution found")
        make_wheel(Path(words[-1]) / "mediapipe-0.10.21.whl", self.contents)
        return subprocess.CompletedProcess(words, 0, "", "")


def silent(words: str) -> None:
    """Tell nobody."""


def test_pip_fetches_what_is_missing_once(folder: Path) -> None:
    pip = PackageTool({PERSON_FILE: b"person", FULL: b"full"})
    written = get_weights("full", None, silent, pip)
    assert {file.name: file.read_bytes() for file in written} == {PERSON_FILE: b"person", FULL: b"full"}
    assert "download" in pip.calls[0] and "--no-deps" in pip.calls[0] and "install" not in pip.calls[0]
    assert get_weights("full", None, silent, pip) == [] and len(pip.calls) == 1


def test_a_wheel_an_archive_and_a_model_on_disk_are_read(folder: Path, tmp_path: Path) -> None:
    get_weights("full", make_wheel(tmp_path / "m.whl", {PERSON_FILE: b"person", FULL: b"full"}), silent)
    get_weights("lite", make_archive(tmp_path / "m.tgz", {LITE: b"lite"}), silent)
    assert {file.name for file in folder.iterdir()} == set(CONTENTS)
    (folder / FULL).write_bytes(b"broken")
    model = tmp_path / "renamed.tflite"
    model.write_bytes(b"full")
    assert get_weights("full", model, silent) == [folder / FULL]


def test_a_model_with_an_archive_behind_it_is_a_model(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = make_wheel(tmp_path / "person.tflite", {"labels.txt": b"person"})
    content = b"\x1c\0\0\0TFL3" + model.read_bytes()
    model.write_bytes(content)
    monkeypatch.setitem(weights.SHA256, PERSON_FILE, hashlib.sha256(content).hexdigest())
    (folder / FULL).parent.mkdir(parents=True, exist_ok=True)
    (folder / FULL).write_bytes(b"full")
    assert get_weights("full", model, silent) == [folder / PERSON_FILE]


def test_what_cannot_be_had_is_said(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LandmarksUnavailableError, match=r"failed \(ERROR: No matching distribution found\).*--from"):
        get_weights("full", None, silent, PackageTool(None))
    with pytest.raises(LandmarksUnavailableError, match="another version"):
        get_weights("full", make_wheel(tmp_path / "other.whl", {FULL: b"newer"}), silent)
    with pytest.raises(LandmarksUnavailableError, match="holds none of"):
        get_weights("full", make_wheel(tmp_path / "none.whl", {}), silent)
    with pytest.raises(LandmarksUnavailableError, match="cannot be read"):
        get_weights("full", tmp_path / "missing.whl", silent)
    with pytest.raises(LandmarksUnavailableError, match=f"still missing.*{FULL}"):
        get_weights("full", make_wheel(tmp_path / "part.whl", {PERSON_FILE: b"person"}), silent)
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(LandmarksUnavailableError, match="npm is not installed"):
        get_weights("lite", None, silent, PackageTool({PERSON_FILE: b"person"}))


def test_a_run_asks_first_where_somebody_can_answer(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ai_edge_litert", reason="landmarks: ai-edge-litert is not installed")
    asked: list[str] = []
    monkeypatch.setattr(landmarks, "get_weights", lambda model, given, tell: asked.append(f"get {model}"))

    def answer_no(question: str) -> bool:
        asked.append(question)
        return False

    check_landmarks("off", answer_no, silent)
    with pytest.raises(LandmarksUnavailableError, match="duocap landmarks get"):
        check_landmarks("full", None, silent)
    assert not asked
    with pytest.raises(LandmarksUnavailableError, match="duocap landmarks get"):
        check_landmarks("full", answer_no, silent)
    assert len(asked) == 1 and "Apache" in asked[0]
    with pytest.raises(LandmarksUnavailableError):
        check_landmarks("full", lambda question: True, silent)
    assert asked[-1] == "get full"
