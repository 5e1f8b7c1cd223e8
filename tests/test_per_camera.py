"""Settings by camera: sections left and right, and what was tuned: precedence, errors, a file that is whole or not there."""

import tomllib
from pathlib import Path

import pytest
import tomli_w

from config.errors import SettingsError
from config.loading import load_settings, settings_table
from config.per_camera import read_tuned, save_tuned, settings_of, tuned_file, with_tuned, without_tuned
from config.settings import Settings

C270, PHONE = "C270 HD WEBCAM", 'http://10.0.0.3:8080/"video"'


def test_a_cameras_own_section_wins_whatever_the_order(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("[left.detector]\nk_sigma = 5\n\n[detector]\nk_sigma = 4\nmin_area_px = 9.5\n", "utf-8")
    settings = load_settings(file, ["right.camera.exposure=-6", "camera.exposure=-3"])
    left, right = settings_of(settings, 0), settings_of(settings, 1)
    assert (left.detector.k_sigma, right.detector.k_sigma) == (5.0, 4.0)
    assert (left.detector.min_area_px, right.detector.min_area_px) == (9.5, 9.5)
    assert (left.camera.exposure, right.camera.exposure) == ("-3", "-6")
    assert settings_of(left, 0) == left == settings_of(left, 1)  # already a camera's own


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("left.detector.k_sigm=5", "unknown setting 'left.detector.k_sigm'; the closest one is 'left.detector.k_sigma'"),
        ("right.k_sigma=5", "the closest one is 'right.detector.k_sigma'"),
        ("left.stream.xyzw=5", "unknown setting 'left.stream.xyzw'; known sections: left.camera, left.detector"),
        ("left.name=5", "unknown setting 'left.name'"),
        ("given=5", "unknown setting 'given'"),
        ("left.detector.k_sigma=many", "left.detector.k_sigma must be a number, got 'many'"),
        ("right.detector=5", "right.detector is a section, not a value"),
        ("left=5", "left is a section, not a value"),
        ("left.camera.exposure=short", "left.camera.exposure must be auto or a number, got 'short'"),
        ("camera.gain=true", "camera.gain must be auto or a number, got True"),
        ("camera.gain=nan", "camera.gain must be auto or a number"),
    ],
)
def test_faults_are_named_as_elsewhere(text: str, words: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load_settings(None, [text])
    assert words in str(caught.value)


def test_settings_are_written_and_read_again() -> None:
    settings = load_settings(None, ["left.detector.mode=dark", "camera.focus=40", "right.camera.gain=3.5"])
    text = tomli_w.dumps(settings_table(settings))
    table = tomllib.loads(text)
    assert table["left"] == {"detector": {"mode": "dark"}} and table["right"] == {"camera": {"gain": "3.5"}}
    assert "given" not in table


def test_tuned_values_are_weaker_than_what_the_user_gave(tmp_path: Path) -> None:
    file = tmp_path / "deeper" / "tuned.toml"
    save_tuned(file, {C270: {"detector": {"k_sigma": 7.5, "min_area_px": 2.0, "mode": "dark"}, "camera": {"exposure": "-4"}}})
    said: list[str] = []
    given = load_settings(None, [f"capture.tuned={file}", "detector.k_sigma=6.0", "left.detector.min_area_px=5"])
    left = settings_of(with_tuned(given, (C270, PHONE), said.append), 0)
    assert (left.detector.k_sigma, left.detector.min_area_px, left.detector.mode) == (6.0, 5.0, "dark")  # 6.0 is the default
    assert left.camera.exposure == "-4"
    assert said == [f"left camera: using tuned settings of {C270} from {file}"]
    right = settings_of(with_tuned(given, (PHONE, C270), said.append), 1)
    assert (right.detector.min_area_px, right.detector.k_sigma) == (2.0, 6.0)
    assert settings_of(without_tuned(with_tuned(given, (C270, PHONE), said.append)), 0) == settings_of(given, 0)
    named = with_tuned(given, (C270, PHONE), said.append)
    assert (named.left.name, named.right.name) == (C270, PHONE)


def test_saving_keeps_the_other_cameras_and_forgets_empty_ones(tmp_path: Path) -> None:
    file = tmp_path / "tuned.toml"
    save_tuned(file, {C270: {"detector": {"k_sigma": 7.5}, "camera": {}}})
    save_tuned(file, {PHONE: {"detector": {}, "camera": {"focus": "auto"}}})
    known = read_tuned(file)
    assert known == {
        C270: {"detector": {"k_sigma": 7.5}, "camera": {}},
        PHONE: {"detector": {}, "camera": {"focus": "auto"}},
    }
    save_tuned(file, {C270: {"detector": {}, "camera": {}}})
    assert list(read_tuned(file)) == [PHONE]
    assert [path.name for path in tmp_path.iterdir()] == ["tuned.toml"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[", "not valid TOML"),
        ("camera = 3", "'camera' should be a camera with sections"),
        ('["C270"]\nwidth = 3', "unknown setting"),
        ('["C270".detector]\nk_sigma = "x"', "C270: detector.k_sigma must be a number"),
    ],
)
def test_a_broken_file_is_told_of_and_stops_no_run(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "tuned.toml"
    file.write_text(text, "utf-8")
    said: list[str] = []
    settings = with_tuned(load_settings(None, [f"capture.tuned={file}"]), ("C270", ""), said.append)
    assert len(said) == 1 and words in said[0] and str(file) in said[0]
    assert settings_of(settings, 0).detector == Settings().detector
    with pytest.raises(SettingsError):
        save_tuned(file, {"C270": {"detector": {"k_sigma": 5.0}, "camera": {}}})
    assert file.read_text("utf-8") == text


def test_the_file_is_the_users_own_unless_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platformdirs.user_config_dir", lambda *_, **__: str(tmp_path / "mine"))
    assert tuned_file(Settings()) == tmp_path / "mine" / "tuned.toml"
    assert with_tuned(Settings(), ("a", "b")).right.name == "b"
