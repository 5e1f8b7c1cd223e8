"""Weights that are missing, or not those that are expected."""

from pathlib import Path

import pytest

from capture.landmarks.network import LandmarksUnavailableError, Network, import_interpreter
from capture.landmarks.weights import PERSON_FILE, find_weights, find_weights_folder, has_weights, name_landmark_file


def test_missing_weights_name_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUOCAP_LANDMARKS", str(tmp_path))
    assert find_weights_folder() == tmp_path and not has_weights("lite")
    with pytest.raises(LandmarksUnavailableError, match=r"missing; get them: duocap landmarks get --model lite"):
        find_weights("lite")


def test_other_weights_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUOCAP_LANDMARKS", str(tmp_path))
    for name in (PERSON_FILE, name_landmark_file("full")):
        (tmp_path / name).write_bytes(b"TFL3 of another version")
    assert has_weights("full")
    with pytest.raises(LandmarksUnavailableError, match="another SHA-256"):
        find_weights("full")


def test_an_unknown_model_names_those_there_are() -> None:
    with pytest.raises(LandmarksUnavailableError, match="lite, full, heavy"):
        name_landmark_file("huge")


def test_a_broken_file_is_told(tmp_path: Path) -> None:
    try:
        import_interpreter()
    except LandmarksUnavailableError:
        pytest.skip("landmarks: ai-edge-litert is not installed")
    file = tmp_path / "broken.tflite"
    file.write_bytes(b"\x1c\x00\x00\x00TFL3" + bytes(40))
    with pytest.raises(LandmarksUnavailableError, match="cannot be used"):
        Network(file, (0,))
