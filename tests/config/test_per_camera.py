"""Settings of one camera: precedence, the file of tuned values, and what a running camera can be given."""

import tomllib
from operator import attrgetter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

import config.per_camera as per_camera
from config.errors import SettingsError
from config.loading import format_settings, load_settings
from config.per_camera import (
    TUNABLE,
    add_tuned_values,
    check_tuning,
    find_camera_settings,
    read_tuned_values,
    remove_tuned_values,
    save_tuned_values,
)
from config.settings import Settings

C270, PHONE = "C270 HD WEBCAM", 'http://10.0.0.3:8080/"video"'


def test_a_cameras_own_section_wins_whatever_the_order(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("[left.detector]\nk_sigma = 5\n\n[detector]\nk_sigma = 4\nmin_area_px = 9.5\n", "utf-8")
    settings = load_settings(file, ["right.camera.exposure=-6", "camera.exposure=-3"])
    left, right = find_camera_settings(settings, 0), find_camera_settings(settings, 1)
    assert (left.detector.k_sigma, right.detector.k_sigma) == (5.0, 4.0)
    assert (left.detector.min_area_px, right.detector.min_area_px) == (9.5, 9.5)
    assert (left.camera.exposure, right.camera.exposure) == ("-3", "-6")
    assert find_camera_settings(left, 0) == left == find_camera_settings(left, 1)  # already a camera's own


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("left.detector.k_sigm=5", "unknown setting 'left.detector.k_sigm'; the closest one is 'left.detector.k_sigma'"),
        ("right.k_sigma=5", "the closest one is 'right.detector.k_sigma'"),
        ("left.stream.xyzw=5", "unknown setting 'left.stream.xyzw'; known sections: left.camera, left.detector"),
        ("left.name=5", "unknown setting 'left.name'"),
        ("given=5", "unknown setting 'given'"),
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


def test_settings_are_written_and_read_again(tmp_path: Path) -> None:
    settings = load_settings(None, ["left.detector.mode=dark", "camera.focus=40", "right.camera.gain=3.5"])
    file = tmp_path / "again.toml"
    file.write_text(format_settings(settings), "utf-8")
    table = tomllib.loads(file.read_text("utf-8"))
    assert table["left"] == {"detector": {"mode": "dark"}} and table["right"] == {"camera": {"gain": "3.5"}}
    assert "given" not in table and load_settings(file) == settings


def test_tuned_values_are_weaker_than_what_the_user_gave(tmp_path: Path) -> None:
    file = tmp_path / "deeper" / "tuned.toml"
    save_tuned_values(
        file, {C270: {"detector": {"k_sigma": 7.5, "min_area_px": 2.0, "mode": "dark"}, "camera": {"exposure": "-4"}}}
    )
    said: list[str] = []
    given = load_settings(None, [f"capture.tuned={file}", "detector.k_sigma=6.0", "left.detector.min_area_px=5"])
    tuned = add_tuned_values(given, (C270, PHONE), said.append)
    left = find_camera_settings(tuned, 0)
    assert (left.detector.k_sigma, left.detector.min_area_px, left.detector.mode) == (6.0, 5.0, "dark")  # 6.0 is the default
    assert left.camera.exposure == "-4"
    assert said == [f"left camera: using tuned settings of {C270} from {file}"]
    assert (tuned.left.name, tuned.right.name) == (C270, PHONE)
    assert find_camera_settings(remove_tuned_values(tuned), 0) == find_camera_settings(given, 0)
    right = find_camera_settings(add_tuned_values(given, (PHONE, C270), said.append), 1)
    assert (right.detector.min_area_px, right.detector.k_sigma) == (2.0, 6.0)


def test_saving_keeps_the_other_cameras_and_forgets_empty_ones(tmp_path: Path) -> None:
    file = tmp_path / "tuned.toml"
    first, second = {"detector": {"k_sigma": 7.5}, "camera": {}}, {"detector": {}, "camera": {"focus": "auto"}}
    save_tuned_values(file, {C270: first})
    save_tuned_values(file, {PHONE: second})
    assert read_tuned_values(file) == {C270: first, PHONE: second}
    save_tuned_values(file, {C270: {"detector": {}, "camera": {}}})
    assert list(read_tuned_values(file)) == [PHONE] and [path.name for path in tmp_path.iterdir()] == ["tuned.toml"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[", "not valid TOML"),
        ("camera = 3", "'camera' should be a camera with sections"),
        ('["C270"]\nwidth = 3', "unknown setting"),
        ('["C270".detector]\nk_sigma = "x"', "C270: detector.k_sigma must be a number"),
    ],
)
def test_a_broken_file_is_reported_and_stops_no_run(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "tuned.toml"
    file.write_text(text, "utf-8")
    said: list[str] = []
    settings = add_tuned_values(load_settings(None, [f"capture.tuned={file}"]), ("C270", ""), said.append)
    assert len(said) == 1 and words in said[0] and str(file) in said[0]
    assert find_camera_settings(settings, 0).detector == Settings().detector
    with pytest.raises(SettingsError):
        save_tuned_values(file, {"C270": {"detector": {"k_sigma": 5.0}, "camera": {}}})
    assert file.read_text("utf-8") == text


def test_the_file_is_the_users_own_unless_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platformdirs.user_config_dir", lambda *_, **__: str(tmp_path / "mine"))
    assert per_camera.find_tuned_file(Settings()) == tmp_path / "mine" / "tuned.toml"
    assert add_tuned_values(Settings(), ("a", "b")).right.name == "b"


def test_tuned_values_get_the_types_of_the_settings() -> None:
    given = {"detector.k_sigma": 5, "detector.mode": "dark", "camera.exposure": -6, "camera.gain": "auto"}
    typed = check_tuning({**given, "camera.focus": " 40.5 "})
    camera = {"exposure": "-6", "gain": "auto", "focus": "40.5"}
    sections = per_camera.nest_by_section(typed)
    assert sections == {"detector": {"k_sigma": 5.0, "mode": "dark"}, "camera": camera}
    assert isinstance(typed["detector.k_sigma"], float)
    assert per_camera.flatten_by_key(sections) == typed
    assert per_camera.flatten_by_key({"camera": {"width": 640, "gain": "3"}}) == {"camera.gain": "3"}


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("camera.width", 1280, "settled when the camera is opened"),
        ("detector.k_sigma", 0.1, "must be within 0.5 and 50, got 0.1"),
        ("detector.min_difference", 256, "must be within 1 and 255"),
        ("camera.exposure", "1e9", "must be within -1e+07 and 1e+07"),
        ("camera.exposure", "1e999", "must be auto or a number"),
        ("detector.mode", "night", "one of 'auto', 'dark', 'background'"),
        ("detector.k_sigma", float("nan"), "finite"),
        ("detector.k_sigma", {"a": 1}, "must be a number"),
        ("detector", {"k_sigma": 5.0}, "no setting of a camera"),
        ("left.detector.k_sigma", 1, "unknown setting"),
        ("name.x", 1, "unknown setting"),
        (".", 1, "no setting of a camera"),
    ],
)
def test_what_cannot_be_tuned_is_refused(key: str, value: object, words: str) -> None:
    with pytest.raises(SettingsError) as caught:
        check_tuning({key: value})
    assert words in str(caught.value)


def test_choices_are_those_of_the_types_and_bounds_hold_the_defaults() -> None:
    assert per_camera.DETECTOR_MODES == ("auto", "dark", "background")
    for key, (low, high) in per_camera.BOUNDS.items():
        default = attrgetter(key)(Settings())
        assert key in TUNABLE and (default == "auto" or low <= default <= high)
    with pytest.raises(SettingsError, match="at most"):
        check_tuning({f"detector.x{n}": 1 for n in range(per_camera.MAX_VALUES + 1)})


VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)


@examples(max_examples=30)
@given(st.dictionaries(st.text(max_size=5) | st.sampled_from(TUNABLE), VALUES, max_size=2))
def test_nothing_but_a_settings_error_comes_of_noise(values: dict[str, object]) -> None:
    try:
        assert set(check_tuning(values)) <= set(TUNABLE)
    except SettingsError as error:
        assert str(error)
